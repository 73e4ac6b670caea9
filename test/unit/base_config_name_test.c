/*
 * Configuration: the warning for misspelt names, from the environment and from a
 * program's options, with the name that is nearest.
 */
#include "base/config.h"

#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

static const struct am_config_row rows[] = {{.name = "AM_T_BYTES", .def = ""},
                                            {.name = "AM_T_TEXT", .def = ""}};
static const struct am_config_table table = {rows, 2};

static char warnings[1024];

static void on_warning(void *arg, const char *text)
{
    assert_ptr_equal(arg, &table);
    strncat(warnings, text, sizeof(warnings) - strlen(warnings) - 2);
    strcat(warnings, "\n");
}

static void check(const struct am_option *options, uint32_t count)
{
    static const struct am_config_row more_rows[] = {
            {.name = "AM_EAGER_MAX", .def = "0"},
            {.name = "AM_PREFIX_MAX", .def = "0"}};
    static const struct am_config_table more = {more_rows, 2};
    const struct am_config_table *tables[] = {&table, &more};

    warnings[0] = '\0';
    am_config_check_names(tables, 2, options, count, on_warning,
                          (void *)(uintptr_t)&table);
}

static void test_typos(void **state)
{
    struct am_option options[] = {{"AM_T_TEXT", "1"}, {"AM_T_TEXTS", "1"}};
    char name[200];

    check(NULL, 0);
    assert_string_equal(warnings, ""); /* the test's own AM_* are known */
    setenv("AM_EAGER_MAX", "1", 1);
    setenv("AMY_EAGER", "1", 1);
    setenv("AM_SRCDIR", "x", 1);
    setenv("AM_BUILDDIR", "x", 1);
    setenv("AM_TEST_ANY", "x", 1);
    check(NULL, 0);
    assert_string_equal(warnings, "");
    setenv("AM_EAGR_MAX", "1", 1);
    check(NULL, 0);
    assert_string_equal(warnings,
                        "AM_EAGR_MAX is not a variable of libam; the nearest "
                        "is AM_EAGER_MAX\n");
    unsetenv("AM_EAGR_MAX");
    check(options, 2);
    assert_string_equal(warnings,
                        "AM_T_TEXTS is not a variable of libam; the nearest "
                        "is AM_T_TEXT\n");
    memset(name, 'A', sizeof(name));
    memcpy(name, "AM_EAGER_MAX_", 13);
    name[sizeof(name) - 1] = '\0';
    setenv(name, "1", 1);
    check(NULL, 0);
    assert_non_null(strstr(warnings, "is not a variable of libam"));
    unsetenv(name);
    unsetenv("AM_EAGER_MAX");
    unsetenv("AMY_EAGER");
}

/* Names that agree in all that is compared are still told apart. */
static void test_long_names(void **state)
{
    char known[81], typed[91];
    struct am_config_row row = {.name = known, .def = ""};
    struct am_config_table long_table = {&row, 1};
    const struct am_config_table *tables[] = {&long_table};
    struct am_option option = {typed, ""};

    memset(known, 'L', sizeof(known));
    memset(typed, 'L', sizeof(typed));
    known[80] = typed[90] = '\0';
    warnings[0] = '\0';
    am_config_check_names(tables, 1, &option, 1, on_warning,
                          (void *)(uintptr_t)&table);
    assert_non_null(strstr(warnings, "is not a variable"));
    warnings[0] = '\0';
    am_config_check_names(NULL, 0, &option, 1, on_warning,
                          (void *)(uintptr_t)&table);
    assert_non_null(strstr(warnings, "is not a variable"));
    typed[80] = '\0';
    warnings[0] = '\0';
    am_config_check_names(tables, 1, &option, 1, on_warning,
                          (void *)(uintptr_t)&table);
    assert_string_equal(warnings, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_typos),
            cmocka_unit_test(test_long_names),
    };

    /* the suite sets them; no table of this test has them */
    unsetenv("AM_PROFILE");
    unsetenv("AM_LEARN");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
