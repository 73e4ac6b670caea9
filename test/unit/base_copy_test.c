/*
 * The copies of what another core has, and will read: all lengths about its limits,
 * aligned or not, and not a byte beside them.
 */
#include "base/copy.h"

#include "support/cm.h"

enum {
    BYTES = 8448,
    EDGE = 64
};

static unsigned char from[BYTES + 2 * EDGE], to[BYTES + 2 * EDGE];

typedef void (*copy_fn)(void *to, const void *from, size_t bytes);

static void check_one(copy_fn copy, size_t bytes, size_t from_at, size_t to_at)
{
    memset(to, 0xa5, sizeof(to));
    copy(to + to_at, from + from_at, bytes);
    assert_memory_equal(to + to_at, from + from_at, bytes);
    for (size_t i = 0; i < sizeof(to); i++) {
        if (i < to_at || i >= to_at + bytes) {
            assert_int_equal(to[i], 0xa5);
        }
    }
}

static void from_far(void *target, const void *source, size_t bytes)
{
    am_copy_far(target, source, bytes, false);
}

static void from_near(void *target, const void *source, size_t bytes)
{
    am_copy_far(target, source, bytes, true);
}

static void to_far(void *target, const void *source, size_t bytes)
{
    am_copy_to_far(target, source, bytes, false);
}

static void to_near(void *target, const void *source, size_t bytes)
{
    am_copy_to_far(target, source, bytes, true);
}

static void check(size_t bytes, size_t from_at, size_t to_at)
{
    check_one(from_far, bytes, from_at, to_at);
    check_one(from_near, bytes, from_at, to_at);
    check_one(to_far, bytes, from_at, to_at);
    check_one(to_near, bytes, from_at, to_at);
}

static void test_lengths(void **state)
{
    for (size_t i = 0; i < sizeof(from); i++) {
        from[i] = (unsigned char)(i % 251);
    }
    for (size_t bytes = 0; bytes <= BYTES; bytes += bytes < 500 ? 97 : 1) {
        check(bytes, 0, EDGE);
    }
}

static void test_offsets(void **state)
{
    const size_t bytes[] = {AM_COPY_NEAR_FROM - 1,
                            AM_COPY_NEAR_FROM,
                            1000,
                            AM_COPY_FAR_FROM - 1,
                            AM_COPY_FAR_FROM,
                            3000,
                            5000,
                            AM_COPY_FAR_MOST,
                            AM_COPY_FAR_MOST + 1};

    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        for (size_t at = 0; at < EDGE; at += 7) {
            check(bytes[i], at, EDGE);
            check(bytes[i], 0, at);
            check(bytes[i], at, EDGE - at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_lengths),
            cmocka_unit_test(test_offsets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
