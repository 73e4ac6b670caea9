/*
 * The seeded generator (known values, bounds, rate of chances) and ratios as
 * text.
 */
#include "base/prng.h"

#include "support/cm.h"

#include <string.h>

/* First outputs of splitmix64 for seed 1234567, as published with it. */
static void test_known_values(void **state)
{
    static const uint64_t expected[] = {
            UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
            UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
            UINT64_C(16408922859458223821)};
    struct am_prng prng;

    am_prng_seed(&prng, 1234567);
    for (int i = 0; i < 5; i++) {
        assert_true(am_prng_next(&prng) == expected[i]);
    }
}

static void test_bounds(void **state)
{
    struct am_prng prng;
    uint32_t seen[7] = {0};

    am_prng_seed(&prng, 1);
    for (int i = 0; i < 7000; i++) {
        seen[am_prng_below(&prng, 7)]++;
        assert_in_range(am_prng_between(&prng, 5, 9), 5, 9);
        assert_int_equal(am_prng_below(&prng, 1), 0);
        assert_int_equal(am_prng_between(&prng, 3, 3), 3);
    }
    for (int i = 0; i < 7; i++) {
        assert_in_range(seen[i], 900, 1100);
    }
}

static void test_chance(void **state)
{
    struct am_prng prng;
    struct am_ratio tenth = {1, 10};
    uint32_t hits = 0;
    uint64_t before;

    am_prng_seed(&prng, 99);
    for (int i = 0; i < 10000; i++) {
        hits += am_prng_chance(&prng, tenth);
        assert_true(am_prng_chance(&prng, (struct am_ratio){1, 1}));
    }
    assert_in_range(hits, 900, 1100);
    before = prng.state;
    assert_false(am_prng_chance(&prng, (struct am_ratio){0, 1}));
    assert_true(prng.state == before); /* a fault that is off draws nothing */
}

static void test_ratio_text(void **state)
{
    static const char *const bad[] = {
            "",     "x",    "1/0", "2/1", "-1/2",          "1/", "/2",
            "1/2x", "1 /2", "0.5", "2",   "1/99999999999", " 1", "4294967296"};
    struct am_ratio ratio = {7, 8};
    char accepted[100] = "";

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(am_ratio_parse(bad[i], &ratio), AM_ERR_CONFIG);
        assert_int_equal(ratio.numerator, 7); /* untouched */
    }
    assert_int_equal(am_ratio_parse("1/100", &ratio), AM_OK);
    assert_int_equal(ratio.numerator, 1);
    assert_int_equal(ratio.denominator, 100);
    assert_int_equal(am_ratio_parse("0", &ratio), AM_OK);
    assert_int_equal(ratio.numerator, 0);
    assert_int_equal(am_ratio_parse("4294967295/4294967295", &ratio), AM_OK);
    assert_int_equal(am_ratio_check("1/3", accepted, sizeof(accepted)), AM_OK);
    assert_string_equal(accepted, "");
    assert_int_equal(am_ratio_check("3", accepted, sizeof(accepted)),
                     AM_ERR_CONFIG);
    assert_non_null(strstr(accepted, "1/100"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_known_values),
            cmocka_unit_test(test_bounds),
            cmocka_unit_test(test_chance),
            cmocka_unit_test(test_ratio_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
