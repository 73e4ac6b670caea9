/*
 * Registrations: found again by address, closed when nobody uses them, or kept as
 * far as they may be, the oldest out first; and gone when their memory may be.
 */
#include "config.h"

#include "base/prng.h"
#include "dev/ofi/ofi_cache.h"
#include "support/cm.h"
#include "support/seed.h"

#include <errno.h>
#include <string.h>

enum {
    READ = 1,
    WRITE = 2,
    USED_MAX = 20,
    STEPS = 200000,
    PAGES = 64
};

/* A provider that counts, and has space for so many. */
struct provider {
    uint32_t open, opens, space;
};

static struct provider provider;
static char memory[4096];

static int provider_open(void *arg, struct ofi_mr *mr)
{
    struct provider *self = arg;

    if (self->open >= self->space) {
        return -ENOSPC;
    }
    self->open++;
    self->opens++;
    mr->handle = mr;
    return 0;
}

static void provider_close(void *arg, struct ofi_mr *mr)
{
    assert_ptr_equal(mr->handle, mr);
    assert_int_equal(mr->users, 0);
    ((struct provider *)arg)->open--;
}

static struct ofi_cache cache_of(uint32_t kept_max, size_t kept_bytes_max)
{
    provider = (struct provider){.space = UINT32_MAX};
    return (struct ofi_cache){.open = provider_open,
                              .close = provider_close,
                              .arg = &provider,
                              .kept_max = kept_max,
                              .kept_bytes_max = kept_bytes_max};
}

static struct ofi_mr *take(struct ofi_cache *cache, size_t at, size_t bytes,
                           uint64_t access, bool exact)
{
    struct ofi_mr *mr = NULL;

    assert_int_equal(
            ofi_cache_take(cache, memory + at, bytes, access, exact, &mr), 0);
    assert_true(mr->base <= (uintptr_t)(memory + at));
    assert_true(mr->base + mr->bytes >= (uintptr_t)(memory + at + bytes));
    assert_int_equal(mr->access & access, access);
    return mr;
}

static void close_all(struct ofi_cache *cache)
{
    ofi_cache_clear(cache);
    assert_int_equal(provider.open, 0);
    assert_int_equal(cache->count, 0);
    ofi_cache_free(cache);
}

/* By default a registration ends with its last user. */
static void test_unkept(void **state)
{
    struct ofi_cache cache = cache_of(0, 0);
    struct ofi_mr *mr, *inside;

    ofi_cache_init(&cache);
    mr = take(&cache, 100, 1000, READ | WRITE, false);
    inside = take(&cache, 600, 500, WRITE, false);
    assert_ptr_equal(mr, inside);
    assert_int_equal(provider.opens, 1);
    ofi_cache_give(&cache, mr);
    assert_int_equal(provider.open, 1);
    ofi_cache_give(&cache, inside);
    assert_int_equal(provider.open, 0);
    close_all(&cache);
}

/* What is not inside, or may not do it, is registered. */
static void test_found(void **state)
{
    static const struct {
        size_t at, bytes;
        uint64_t access;
        bool exact, found;
    } cases[] = {
            {100, 1000, READ, false, true},  {100, 1, READ, false, true},
            {1099, 1, READ, false, true},    {1100, 1, READ, false, false},
            {99, 2, READ, false, false},     {1099, 2, READ, false, false},
            {100, 1001, READ, false, false}, {200, 10, WRITE, false, false},
            {100, 1000, READ, true, true},   {100, 999, READ, true, false},
            {101, 999, READ, true, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ofi_cache cache = cache_of(0, 0);
        struct ofi_mr *mr, *other;

        ofi_cache_init(&cache);
        mr = take(&cache, 100, 1000, READ, false);
        other = take(&cache, cases[i].at, cases[i].bytes, cases[i].access,
                     cases[i].exact);
        assert_int_equal(mr == other, cases[i].found);
        ofi_cache_give(&cache, mr);
        ofi_cache_give(&cache, other);
        close_all(&cache);
    }
}

/* A long one that begins far before is found behind short ones. */
static void test_overlap(void **state)
{
    struct ofi_cache cache = cache_of(100, 1 << 20);
    struct ofi_mr *whole, *pieces[10];

    ofi_cache_init(&cache);
    for (size_t i = 0; i < 10; i++) {
        pieces[i] = take(&cache, 100 * i, 10, READ, false);
    }
    whole = take(&cache, 0, 4096, READ, false);
    assert_ptr_equal(take(&cache, 905, 20, READ, false), whole);
    ofi_cache_give(&cache, whole);
    ofi_cache_give(&cache, whole);
    for (size_t i = 0; i < 10; i++) {
        ofi_cache_give(&cache, pieces[i]);
    }
    assert_int_equal(provider.open, 11);
    close_all(&cache);
}

static void test_kept(void **state)
{
    struct ofi_cache cache = cache_of(3, 1000);
    struct ofi_mr *mr;

    ofi_cache_init(&cache);
    for (size_t i = 0; i < 4; i++) { /* of four the first is out */
        ofi_cache_give(&cache, take(&cache, 100 * i, 50, READ, false));
    }
    assert_int_equal(provider.open, 3);
    mr = take(&cache, 100, 50, READ, false);
    assert_int_equal(provider.opens, 4);
    ofi_cache_give(&cache, mr); /* and is the last now */
    ofi_cache_give(&cache, take(&cache, 0, 50, READ, false));
    ofi_cache_give(&cache, take(&cache, 100, 50, READ, false));
    assert_int_equal(provider.opens, 5);
    ofi_cache_give(&cache, take(&cache, 1000, 900, READ, false)); /* bytes */
    assert_int_equal(provider.open, 3);
    ofi_cache_give(&cache, take(&cache, 1000, 2000, READ, false)); /* never */
    assert_int_equal(provider.open, 3);
    close_all(&cache);
}

/* The provider's own limit: what is kept goes first. */
static void test_space(void **state)
{
    struct ofi_cache cache = cache_of(10, 1 << 20);
    struct ofi_mr *used, *mr;

    ofi_cache_init(&cache);
    provider.space = 3;
    used = take(&cache, 0, 10, READ, false);
    ofi_cache_give(&cache, take(&cache, 100, 10, READ, false));
    ofi_cache_give(&cache, take(&cache, 200, 10, READ, false));
    ofi_cache_give(&cache, take(&cache, 300, 10, READ, false));
    assert_int_equal(provider.open, 3);
    provider.space = 1;
    assert_int_equal(ofi_cache_take(&cache, memory + 400, 10, READ, false, &mr),
                     -ENOSPC);
    ofi_cache_give(&cache, used);
    close_all(&cache);
}

static void test_drop(void **state)
{
    struct ofi_cache cache = cache_of(10, 1 << 20);
    struct ofi_mr *used, *again;

    ofi_cache_init(&cache);
    used = take(&cache, 100, 100, READ, false);
    ofi_cache_give(&cache, take(&cache, 150, 100, READ, false));
    ofi_cache_give(&cache, take(&cache, 250, 100, READ, false));
    ofi_cache_drop(&cache, memory + 199, 51); /* the first two */
    assert_int_equal(provider.open, 2);
    again = take(&cache, 100, 100, READ, false);
    assert_true(again != used);
    ofi_cache_give(&cache, used);
    assert_int_equal(provider.open, 2); /* not kept */
    ofi_cache_give(&cache, again);
    assert_int_equal(provider.open, 2);
    ofi_cache_drop(&cache, memory, 0);
    assert_int_equal(provider.open, 2);
    close_all(&cache);
}

/* --------------------------------------------------------- many, at random */

static bool overlaps(const struct ofi_mr *mr, size_t at, size_t bytes)
{
    uintptr_t first = (uintptr_t)(memory + at);

    return mr->base < first + bytes && first < mr->base + mr->bytes;
}

static void check(const struct ofi_cache *cache, uint32_t stale)
{
    assert_true(cache->kept_count <= cache->kept_max);
    assert_true(cache->kept_bytes <= cache->kept_bytes_max);
    assert_int_equal(cache->count + stale, provider.open);
    for (uint32_t i = 1; i < cache->count; i++) {
        assert_true(cache->sorted[i - 1]->base <= cache->sorted[i]->base);
    }
}

static void test_random(void **state)
{
    struct am_prng prng = test_prng("ofi_cache");
    struct ofi_cache cache = cache_of(8, 1500);
    struct ofi_mr *used[USED_MAX];
    uint32_t count = 0;

    ofi_cache_init(&cache);
    for (int step = 0; step < STEPS; step++) {
        size_t at = PAGES * am_prng_below(&prng, 4096 / PAGES);
        size_t bytes = 1 + am_prng_below(&prng, (uint32_t)(4096 - at));
        uint32_t what = am_prng_below(&prng, 20), stale = 0;

        if (what == 0) {
            bytes = bytes % 200 + 1;
            ofi_cache_drop(&cache, memory + at, bytes);
            for (uint32_t i = 0; i < cache.count; i++) {
                assert_false(overlaps(cache.sorted[i], at, bytes));
            }
        } else if (what < 11 && count < USED_MAX) {
            used[count++] = take(&cache, at, bytes, 1 + am_prng_below(&prng, 3),
                                 what < 5);
            assert_false(used[count - 1]->stale);
        } else if (count > 0) {
            uint32_t which = am_prng_below(&prng, count);
            struct ofi_mr *mr = used[which];

            used[which] = used[--count];
            ofi_cache_give(&cache, mr);
        }
        for (uint32_t i = 0; i < count; i++) { /* each counts once */
            bool first = used[i]->stale;

            for (uint32_t k = 0; k < i; k++) {
                first = first && used[k] != used[i];
            }
            stale += first;
        }
        check(&cache, stale);
    }
    assert_true(cache.found > 0);
    while (count > 0) {
        ofi_cache_give(&cache, used[--count]);
    }
    close_all(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_unkept),  cmocka_unit_test(test_found),
            cmocka_unit_test(test_overlap), cmocka_unit_test(test_kept),
            cmocka_unit_test(test_space),   cmocka_unit_test(test_drop),
            cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
