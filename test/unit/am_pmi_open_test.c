/*
 * PMI-1: the job that the environment names, and what is said of one that cannot
 * be.
 */
#include "support/cm.h"

#include "am/pmi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect_open_error(const char *text)
{
    struct am_pmi *pmi = malloc(sizeof(*pmi));

    assert_int_equal(am_pmi_open(pmi, 0), AM_ERR_SYSTEM);
    assert_non_null(strstr(pmi->error, text));
    assert_int_equal(pmi->fd, -1);
    free(pmi);
}

static void test_environment(void **state)
{
    struct am_pmi *pmi = malloc(sizeof(*pmi));

    unsetenv("PMI_FD");
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
    unsetenv("PMI_PORT");
    assert_int_equal(am_pmi_open(pmi, 0), AM_OK);
    assert_int_equal(pmi->size, 1);
    assert_int_equal(pmi->rank, 0);
    assert_int_equal(am_pmi_barrier_enter(pmi), AM_OK);
    assert_int_equal(am_pmi_barrier_test(pmi, -1), AM_OK);
    setenv("PMI_RANK", "0", 1);
    expect_open_error("PMI_SIZE is not set");
    setenv("PMI_PORT", "host:1", 1);
    expect_open_error("PMI_PORT is set but PMI_FD is not");
    unsetenv("PMI_PORT");
    setenv("PMI_SIZE", "two", 1);
    expect_open_error("PMI_SIZE is \"two\"");
    setenv("PMI_SIZE", "\033[2Jtwo\n", 1);
    expect_open_error("PMI_SIZE is \"?[2Jtwo?\"; expected");
    setenv("PMI_SIZE", "0", 1);
    expect_open_error("PMI_SIZE is 0");
    setenv("PMI_SIZE", "2", 1);
    setenv("PMI_RANK", "2", 1);
    expect_open_error("PMI_RANK is \"2\"; expected a number of 0 to 1");
    setenv("PMI_RANK", "1", 1);
    expect_open_error("PMI_FD is not set");
    setenv("PMI_FD", "-1", 1);
    expect_open_error("PMI_FD is \"-1\"");
    setenv("PMI_FD", "987654", 1); /* not open */
    expect_open_error("PMI_FD is 987654, which is not open to a launcher");
    free(pmi);
}

/* The number of a connection that ended with exec is now that of a file, which
 * stays as it is. */
static void test_file(void **state)
{
    FILE *file = tmpfile();
    char number[16];

    assert_non_null(file);
    snprintf(number, sizeof(number), "%d", fileno(file));
    setenv("PMI_FD", number, 1);
    expect_open_error("no socket and no pipe");
    assert_int_equal(lseek(fileno(file), 0, SEEK_END), 0);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_environment),
            cmocka_unit_test(test_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
