/*
 * Runs a test program of am-core, unmodified, in contexts with two devices, of
 * which the pipe has a channel over it.  Its main is test_main here and runs
 * with its first ranks far from each other, then near.
 */
#include "support/two_devs.h"

#include <stdio.h>

#undef main /* the build renames the test's own */
int test_main(void);

int main(void)
{
    int failed;

    two_devs_init(TWO_FAR, 0); /* neither reliable nor ordered */
    failed = test_main();
    if (failed == 0) {
        printf("# ranks 0 and 1 are near\n");
        two_devs_init(TWO_NEAR, 0);
        failed = test_main();
    }
    return failed;
}
