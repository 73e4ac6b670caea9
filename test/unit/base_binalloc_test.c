/*
 * The binned allocator: its layout by example, bad frees, and random runs
 * against an oracle that knows nothing but a byte map of the region.
 */
#include "base/binalloc.h"

#include "support/cm.h"
#include "support/seed.h"

#include <stdlib.h>
#include <string.h>

static struct am_binalloc *open_alloc(size_t region, size_t bin, uint64_t count,
                                      size_t align)
{
    struct am_binalloc_params params = {.region_bytes = region,
                                        .bin_bytes = bin,
                                        .bin_count = count,
                                        .align = align};
    struct am_binalloc *alloc = NULL;

    assert_int_equal(am_binalloc_open(&params, &alloc), AM_OK);
    assert_true(am_binalloc_is_valid(alloc));
    return alloc;
}

static size_t get_ok(struct am_binalloc *alloc, size_t bytes)
{
    size_t offset = SIZE_MAX;

    assert_int_equal(am_binalloc_get(alloc, bytes, &offset), AM_OK);
    assert_true(am_binalloc_is_valid(alloc));
    return offset;
}

static void put_ok(struct am_binalloc *alloc, size_t offset)
{
    assert_int_equal(am_binalloc_put(alloc, offset), AM_OK);
    assert_true(am_binalloc_is_valid(alloc));
}

/* SP AM: 16 KB for each peer, 8 bins of 1 KB, first-fit for the rest. */
static void test_sp_am_layout(void **state)
{
    struct am_binalloc *alloc = open_alloc(16384, 1024, 8, 64);
    size_t offset = 0;

    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(get_ok(alloc, 1 + i * 100), i * 1024);
    }
    /* bins are out: small ones go first-fit after them */
    assert_int_equal(get_ok(alloc, 100), 8192);
    assert_int_equal(get_ok(alloc, 2000), 8192 + 128);
    assert_int_equal(am_binalloc_used_bytes(alloc), 8192 + 128 + 2048);
    put_ok(alloc, 3 * 1024);
    assert_int_equal(get_ok(alloc, 1024), 3 * 1024);
    /* no space for 8 KB now, though there was in the empty region */
    assert_int_equal(am_binalloc_get(alloc, 8192, &offset), AM_ERR_AGAIN);
    assert_int_equal(am_binalloc_get(alloc, 8193, &offset), AM_ERR_INVALID);
    assert_int_equal(am_binalloc_bytes_max(alloc), 8192);
    assert_int_equal(offset, 0); /* written only on success */
    am_binalloc_close(alloc);
}

static void test_first_fit_and_coalescing(void **state)
{
    struct am_binalloc *alloc = open_alloc(640, 0, 0, 64);
    size_t at[10];

    for (size_t i = 0; i < 10; i++) {
        at[i] = get_ok(alloc, 64);
        assert_int_equal(at[i], i * 64);
    }
    put_ok(alloc, at[2]);
    put_ok(alloc, at[4]);
    put_ok(alloc, at[7]);
    assert_int_equal(get_ok(alloc, 10), at[2]); /* the first that fits */
    put_ok(alloc, at[2]);
    put_ok(alloc, at[3]); /* joins 2, 3 and 4 */
    assert_int_equal(get_ok(alloc, 192), at[2]);
    put_ok(alloc, at[8]); /* joins 7 on the left */
    put_ok(alloc, at[6]); /* joins 7 on the right */
    assert_int_equal(get_ok(alloc, 192), at[6]);
    put_ok(alloc, at[2]);
    put_ok(alloc, at[6]);
    put_ok(alloc, at[0]);
    put_ok(alloc, at[1]);
    put_ok(alloc, at[5]);
    put_ok(alloc, at[9]);
    assert_int_equal(am_binalloc_used_bytes(alloc), 0);
    assert_int_equal(get_ok(alloc, 640), 0);
    am_binalloc_close(alloc);
}

/* A peer may return any offset: only true ones count. */
static void test_bad_puts(void **state)
{
    struct am_binalloc *alloc = open_alloc(4096, 256, 4, 64);
    size_t bin = get_ok(alloc, 200);
    size_t extent = get_ok(alloc, 1000);
    size_t used = am_binalloc_used_bytes(alloc);
    size_t bad[] = {bin + 1,
                    bin + 64,
                    bin + 256,
                    1024 - 256,
                    extent + 64,
                    extent + 960,
                    extent + 1024,
                    4095,
                    4096,
                    4096 + 64,
                    SIZE_MAX,
                    SIZE_MAX - 63,
                    (size_t)UINT32_MAX * 64,
                    (size_t)UINT32_MAX * 64 + 64};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(am_binalloc_put(alloc, bad[i]), AM_ERR_INVALID);
    }
    assert_true(am_binalloc_is_valid(alloc));
    assert_int_equal(am_binalloc_used_bytes(alloc), used);
    put_ok(alloc, bin);
    put_ok(alloc, extent);
    assert_int_equal(am_binalloc_put(alloc, bin), AM_ERR_INVALID);
    assert_int_equal(am_binalloc_put(alloc, extent), AM_ERR_INVALID);
    am_binalloc_close(alloc);
}

static void test_odd_regions(void **state)
{
    struct am_binalloc_params params = {.region_bytes = 100, .align = 48};
    struct am_binalloc *alloc = NULL;
    size_t offset;

    assert_int_equal(am_binalloc_open(&params, &alloc), AM_ERR_INVALID);
    for (size_t region = 0; region < 64; region++) {
        alloc = open_alloc(region, 1024, 8, 64);
        assert_int_equal(am_binalloc_bytes_max(alloc), 0);
        assert_int_equal(am_binalloc_get(alloc, 0, &offset), AM_ERR_INVALID);
        assert_int_equal(am_binalloc_put(alloc, 0), AM_ERR_INVALID);
        am_binalloc_close(alloc);
    }
    alloc = open_alloc(64, SIZE_MAX, SIZE_MAX, 64); /* no such bin fits */
    assert_int_equal(get_ok(alloc, 64), 0);
    am_binalloc_close(alloc);
    alloc = open_alloc(1024, 1024, 2, 64); /* one bin and no more */
    assert_int_equal(get_ok(alloc, 1000), 0);
    assert_int_equal(am_binalloc_used_bytes(alloc), 1024);
    assert_int_equal(am_binalloc_put(alloc, 64), AM_ERR_INVALID);
    am_binalloc_close(alloc);
    alloc = open_alloc(1000, 1, SIZE_MAX, 64); /* all of it bins */
    assert_int_equal(am_binalloc_bytes_max(alloc), 64);
    for (size_t i = 0; i < 15; i++) {
        assert_int_equal(get_ok(alloc, 64), i * 64);
    }
    assert_int_equal(am_binalloc_get(alloc, 1, &offset), AM_ERR_AGAIN);
    assert_int_equal(am_binalloc_get(alloc, 65, &offset), AM_ERR_INVALID);
    assert_int_equal(am_binalloc_get(alloc, SIZE_MAX, &offset), AM_ERR_INVALID);
    am_binalloc_close(alloc);
    alloc = open_alloc(100, 10, 3, 1); /* alignment of one byte */
    assert_int_equal(get_ok(alloc, 10), 0);
    assert_int_equal(get_ok(alloc, 70), 30);
    am_binalloc_close(alloc);
    am_binalloc_close(NULL);
}

/* A bin costs one step whatever else is taken. */
static void test_steps(void **state)
{
    struct am_binalloc *alloc = open_alloc(65536, 1024, 8, 64);

    for (size_t i = 0; i < 20; i++) {
        get_ok(alloc, 2000);
    }
    am_binalloc_take_steps(alloc);
    get_ok(alloc, 1000);
    assert_int_equal(am_binalloc_take_steps(alloc), 1);
    assert_int_equal(am_binalloc_take_steps(alloc), 0);
    get_ok(alloc, 2000); /* the hint leads to the free extent at the end */
    assert_int_equal(am_binalloc_take_steps(alloc), 1);
    am_binalloc_close(alloc);
}

/* ------------------------------------------------------ random, with oracle */

#define LIVE_MAX 512

/* The oracle: which byte of the region belongs to which allocation. */
struct oracle {
    size_t region_bytes;
    uint16_t *map; /* 0: free */

    struct {
        size_t offset, bytes;
    } live[LIVE_MAX];

    size_t live_count;
};

static void oracle_add(struct oracle *oracle, size_t offset, size_t bytes)
{
    bytes = bytes > 0 ? bytes : 1;
    assert_true(offset <= oracle->region_bytes);
    assert_true(bytes <= oracle->region_bytes - offset);
    for (size_t i = offset; i < offset + bytes; i++) {
        assert_int_equal(oracle->map[i], 0);
        oracle->map[i] = 1;
    }
    oracle->live[oracle->live_count].offset = offset;
    oracle->live[oracle->live_count].bytes = bytes;
    oracle->live_count++;
}

static size_t oracle_remove(struct oracle *oracle, size_t index)
{
    size_t offset = oracle->live[index].offset;

    memset(oracle->map + offset, 0,
           oracle->live[index].bytes * sizeof(oracle->map[0]));
    oracle->live[index] = oracle->live[--oracle->live_count];
    return offset;
}

/* Is there an aligned hole of `bytes` beyond the bins?  Then an AGAIN is
 * wrong: first-fit with coalescing finds every hole. */
static bool oracle_has_hole(const struct oracle *oracle, size_t from,
                            size_t bytes, size_t align)
{
    size_t need = (bytes + align - 1) / align * align;
    size_t end = oracle->region_bytes / align * align;

    for (size_t at = from; at + need <= end; at += align) {
        size_t run = 0;

        /* a unit is taken if any byte in it is */
        while (run < need && oracle->map[at + run] == 0) {
            run++;
        }
        if (run == need) {
            return true;
        }
    }
    return false;
}

static void one_run(struct am_prng *prng, size_t steps)
{
    static const size_t aligns[] = {1, 8, 64, 256};
    size_t align = aligns[am_prng_below(prng, 4)];
    size_t region = am_prng_below(prng, 8192);
    size_t bin = am_prng_below(prng, 3) * am_prng_below(prng, 600);
    size_t bins = am_prng_below(prng, 10);
    struct am_binalloc *alloc = open_alloc(region, bin, bins, align);
    struct oracle oracle = {.region_bytes = region,
                            .map = calloc(region + 1, sizeof(uint16_t))};
    size_t bin_units = (bin + align - 1) / align;
    size_t fit = bin_units == 0 ? 0 : region / align / bin_units;
    size_t bin_area = (bins < fit ? bins : fit) * bin_units * align;

    assert_non_null(oracle.map);
    for (size_t i = 0; i < steps; i++) {
        size_t bytes = am_prng_below(prng, 1 + am_prng_below(prng, 2000));
        size_t offset;

        if (am_prng_below(prng, 5) < 2 && oracle.live_count > 0) {
            put_ok(alloc,
                   oracle_remove(&oracle,
                                 am_prng_below(prng, oracle.live_count)));
        } else if (oracle.live_count < LIVE_MAX) {
            switch (am_binalloc_get(alloc, bytes, &offset)) {
            case AM_OK:
                assert_int_equal(offset % align, 0);
                oracle_add(&oracle, offset, bytes);
                break;
            case AM_ERR_AGAIN:
                assert_false(oracle_has_hole(&oracle, bin_area,
                                             bytes > 0 ? bytes : 1, align));
                break;
            default:
                assert_true(bytes > am_binalloc_bytes_max(alloc) ||
                            am_binalloc_bytes_max(alloc) == 0);
            }
            assert_true(am_binalloc_is_valid(alloc));
        }
        am_binalloc_put(alloc, am_prng_next(prng) | 1 << (i % 8)); /* rubbish */
    }
    while (oracle.live_count > 0) {
        put_ok(alloc, oracle_remove(&oracle, 0));
    }
    assert_int_equal(am_binalloc_used_bytes(alloc), 0);
    free(oracle.map);
    am_binalloc_close(alloc);
}

static void test_random(void **state)
{
    struct am_prng prng = test_prng("base_binalloc_test");

    for (int i = 0; i < 60; i++) {
        one_run(&prng, 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sp_am_layout),
            cmocka_unit_test(test_first_fit_and_coalescing),
            cmocka_unit_test(test_bad_puts),
            cmocka_unit_test(test_odd_regions),
            cmocka_unit_test(test_steps),
            cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
