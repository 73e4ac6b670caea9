/*
 * The end of a failed assertion: one line on stderr, then abort.
 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void am_check_failed(const char *condition, const char *file, uint32_t line)
{
    char text[256];
    int length = snprintf(text, sizeof(text), "am: %s:%u: %s is not true\n",
                          file, line, condition);

    if (length > (int)sizeof(text) - 1) {
        length = (int)sizeof(text) - 1;
    }
    if (write(STDERR_FILENO, text, (size_t)length) < 0) {
        /* nothing is left to say it with */
    }
    abort();
}
