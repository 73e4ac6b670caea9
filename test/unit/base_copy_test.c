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

static unsigned char from[BYTES + 2 * EDGE] __attribute__((aligned(4096)));
static unsigned char to[BYTES + 2 * EDGE] __attribute__((aligned(4096)));

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

static void any(void *target, const void *source, size_t bytes)
{
    am_copy(target, source, bytes);
}

static void move(void *target, const void *source, size_t bytes)
{
    am_move(target, source, bytes);
}

static void check(size_t bytes, size_t from_at, size_t to_at)
{
    check_one(any, bytes, from_at, to_at);
    check_one(move, bytes, from_at, to_at);
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

/* A target up to 63 bytes behind its source, each in its page, is one; nothing else. */
static void test_unlucky(void **state)
{
    char *const page = (char *)(uintptr_t)0x10000;

    for (int distance = -200; distance <= 200; distance++) {
        bool expected = distance >= 1 && distance <= 63;

        assert_int_equal(am_copy_is_unlucky(page + distance, page), expected);
        assert_int_equal(am_copy_is_unlucky(page + 40960 + distance, page + 7),
                         distance >= 8 && distance <= 70);
        assert_int_equal(am_copy_is_unlucky(page + distance - 8192, page),
                         expected);
    }
}

/* Memory that overlaps, either way, by all but a little and by a little. */
static void test_overlap(void **state)
{
    const size_t distances[] = {1, 16, 63, 2048, 4096 + 16, BYTES - 1, BYTES};

    for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        for (int back = 0; back < 2; back++) {
            size_t bytes = sizeof(to) - distances[i];
            size_t from_at = back ? distances[i] : 0;

            memcpy(to, from, sizeof(to));
            am_move(to + (distances[i] - from_at), to + from_at, bytes);
            assert_memory_equal(to + (distances[i] - from_at), from + from_at,
                                bytes);
            memcpy(to, from, sizeof(to)); /* as puts within a process may be */
            am_copy_pieces(to + (distances[i] - from_at), to + from_at, bytes);
            assert_memory_equal(to + (distances[i] - from_at), from + from_at,
                                bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_lengths),
            cmocka_unit_test(test_offsets),
            cmocka_unit_test(test_unlucky),
            cmocka_unit_test(test_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
