/*
 * am_perf's pure parts: lists of sizes, lists of cores, percentiles, payload
 * patterns.
 */
#include "tools/perf.h"

#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* perf_time.c refers to it; no test here comes so far. */
int perf_barrier(struct perf *perf)
{
    (void)perf;
    return -1;
}

static size_t sizes[PERF_SIZES_MAX];
static char error[256];

static uint32_t parse(const char *text)
{
    uint32_t count = 0;

    return perf_sizes_parse(text, sizes, &count, error, sizeof(error)) == 0
                   ? count
                   : 0;
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(parse("0,8,4k"), 3);
    assert_int_equal(sizes[0], 0);
    assert_int_equal(sizes[2], 4096);
    assert_int_equal(parse("1:16"), 5);
    assert_int_equal(sizes[4], 16);
    assert_int_equal(parse("64:256:+64"), 4);
    assert_int_equal(sizes[3], 256);
    assert_int_equal(parse("1:10:x3"), 4); /* 1 3 9 10 */
    assert_int_equal(sizes[2], 9);
    assert_int_equal(sizes[3], 10);
    assert_int_equal(parse("8:8:x2"), 1);
    assert_int_equal(parse("0:4:x2"), 4); /* 0 1 2 4 */
    assert_int_equal(sizes[1], 1);
}

/* Every step of a factor grows, and the last size is there exactly. */
static void test_sizes_factor(void **state)
{
    uint32_t count = parse("1:4m:x1.4");

    (void)state;
    assert_true(count > 40 && count < 60);
    for (uint32_t i = 1; i < count; i++) {
        assert_true(sizes[i] > sizes[i - 1]);
    }
    assert_int_equal(sizes[0], 1);
    assert_int_equal(sizes[count - 1], 4 << 20);
    assert_int_equal(parse("1:max:x2"), 64); /* ends without overflow */
    assert_true(sizes[63] == SIZE_MAX);
}

static void test_sizes_bad(void **state)
{
    static const char *const bad[] = {
            "",      ",",        "a",        "8:",      "8:4",
            ":8",    "1:8:x1",   "1:8:x0.5", "1:8:x",   "1:8:+0",
            "1:8:3", "1:8:xnan", "8k:1k",    "1:8:x2:", "1:max:+1"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        error[0] = '\0';
        assert_int_equal(parse(bad[i]), 0);
        assert_non_null(strstr(error, "--sizes"));
    }
}

static void test_cores(void **state)
{
    struct perf_cores cores;

    (void)state;
    assert_int_equal(perf_cores_of("0,2-4", 9, &cores, error, 256), 0);
    assert_int_equal(cores.count, 4);
    assert_int_equal(cores.core[0], 0);
    assert_int_equal(cores.core[3], 4);
    assert_int_equal(perf_cores_of("1,1", 2, &cores, error, 256), 0);
    assert_int_equal(cores.count, 2);
    assert_int_equal(perf_cores_of("none", 2, &cores, error, 256), 0);
    assert_int_equal(cores.count, 0);
    assert_int_equal(perf_cores_of("auto", 100000, &cores, error, 256), 0);
    assert_int_equal(cores.count, 0); /* more ranks than cores */
    assert_int_equal(perf_cores_of("auto", 1, &cores, error, 256), 0);
    assert_true(cores.count >= 1);
    assert_int_equal(perf_cores_of("", 2, &cores, error, 256), -1);
    assert_int_equal(perf_cores_of("0,", 2, &cores, error, 256), -1);
    assert_int_equal(perf_cores_of("4-2", 2, &cores, error, 256), -1);
    assert_int_equal(perf_cores_of("x", 2, &cores, error, 256), -1);
    assert_int_equal(perf_cores_of("99999", 2, &cores, error, 256), -1);
    assert_non_null(strstr(error, "--pin"));
}

static void test_percentiles(void **state)
{
    double samples[200];
    struct perf_figure figure = {0};

    (void)state;
    for (int i = 0; i < 200; i++) {
        samples[i] = (i * 37 + 11) % 200 + 1; /* 1..200 in some order */
    }
    perf_percentiles(samples, 200, &figure);
    assert_true(figure.p50 == 100);
    assert_true(figure.p90 == 180);
    assert_true(figure.p99 == 198);
    assert_true(figure.max == 200);
    assert_int_equal(figure.samples, 200);
    perf_percentiles(samples, 1, &figure);
    assert_true(figure.p50 == 1 && figure.max == 1);
    perf_percentiles(samples, 0, &figure);
    assert_int_equal(figure.samples, 0);
}

static void test_pattern(void **state)
{
    struct perf perf = {.rank = 3};
    unsigned char data[100], other[100];

    (void)state;
    perf_pattern(data, sizeof(data), 5);
    perf_pattern(other, sizeof(other), 6);
    assert_int_equal(perf_pattern_check(&perf, data, sizeof(data), 5), 0);
    assert_int_not_equal(memcmp(data, other, sizeof(data)), 0);
    for (size_t i = 0; i < sizeof(data); i++) {
        char where[32];

        data[i] ^= 1;
        assert_int_equal(perf_pattern_check(&perf, data, sizeof(data), 5), -1);
        snprintf(where, sizeof(where), "byte %zu of", i);
        assert_non_null(strstr(perf.error, where));
        assert_non_null(strstr(perf.error, "rank 3"));
        data[i] ^= 1;
    }
    assert_int_equal(perf_pattern_check(&perf, data, 0, 9), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sizes),
            cmocka_unit_test(test_sizes_factor),
            cmocka_unit_test(test_sizes_bad),
            cmocka_unit_test(test_cores),
            cmocka_unit_test(test_percentiles),
            cmocka_unit_test(test_pattern),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
