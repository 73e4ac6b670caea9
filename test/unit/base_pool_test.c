/*
 * Pools: quota, alignment, reuse without growth, and in poison builds the
 * misuse that they find.
 */
#define _DEFAULT_SOURCE
#include "base/pool.h"

#include "support/cm.h"
#include "support/seed.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_quota(void **state)
{
    struct am_pool pool;
    void *objects[10];

    am_pool_init(&pool, 100, 0, 4, 10);
    assert_int_equal(pool.object_count, 0); /* nothing until it is asked */
    for (int i = 0; i < 10; i++) {
        objects[i] = am_pool_get(&pool);
        assert_non_null(objects[i]);
        assert_int_equal((uintptr_t)objects[i] % 64, 0);
        memset(objects[i], i, 100);
    }
    assert_null(am_pool_get(&pool));
    assert_int_equal(pool.object_count, 10); /* 4 + 4 + 2 */
    assert_true(am_pool_is_valid(&pool));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(*(unsigned char *)objects[i], i);
        am_pool_put(&pool, objects[i]);
        assert_true(am_pool_is_valid(&pool));
    }
    assert_int_equal(pool.used_count, 0);
    assert_ptr_equal(am_pool_get(&pool), objects[9]); /* warm one first */
    am_pool_fini(&pool);
}

/* What was never taken costs no page: of 16 objects of 64 KiB one is used. */
static void test_fresh(void **state)
{
    const size_t bytes = 64 << 10;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char is_there;
    struct am_pool pool;
    char *taken;

    am_pool_init(&pool, bytes, 4096, 16, UINT64_MAX);
    taken = am_pool_get(&pool);
    assert_non_null(taken);
    assert_true(am_pool_is_valid(&pool));
    if (!pool.poison) {
        for (int i = 1; i < 15; i++) {
            uintptr_t at = (uintptr_t)(taken + i * bytes) & ~(page - 1);

            assert_int_equal(mincore((void *)at, page, &is_there), 0);
            assert_int_equal(is_there & 1, 0);
        }
    }
    am_pool_put(&pool, taken);
    assert_ptr_equal(am_pool_get(&pool), taken);
    am_pool_fini(&pool);
}

static void test_no_room(void **state)
{
    struct am_pool pool;

    am_pool_init(&pool, 64, 0, 16, 0); /* quota of nothing */
    assert_null(am_pool_get(&pool));
    am_pool_fini(&pool);
    am_pool_init(&pool, SIZE_MAX / 4, 0, 16, UINT64_MAX); /* overflow */
    assert_null(am_pool_get(&pool));
    assert_true(am_pool_is_valid(&pool));
    am_pool_fini(&pool);
}

static void test_align(void **state)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        struct am_pool pool;

        am_pool_init(&pool, 1, align, 3, 100);
        for (int i = 0; i < 7; i++) {
            char *object = am_pool_get(&pool);

            assert_int_equal((uintptr_t)object % align, 0);
            *object = 1;
        }
        assert_true(am_pool_is_valid(&pool));
        am_pool_fini(&pool);
    }
}

static void test_random(void **state)
{
    struct am_prng prng = test_prng("base_pool_test");
    struct am_pool pool;
    uint64_t *live[64];
    uint32_t live_count = 0;

    am_pool_init(&pool, 3 * sizeof(uint64_t), 8, 5, 64);
    for (uint64_t step = 0; step < 20000; step++) {
        if (live_count < 64 && am_prng_below(&prng, 2) == 0) {
            uint64_t *object = am_pool_get(&pool);

            assert_non_null(object);
            for (uint32_t i = 0; i < live_count; i++) {
                assert_ptr_not_equal(object, live[i]);
            }
            object[0] = object[2] = (uintptr_t)object;
            live[live_count++] = object;
        } else if (live_count > 0) {
            uint32_t i = (uint32_t)am_prng_below(&prng, live_count);

            assert_int_equal(live[i][0], (uintptr_t)live[i]);
            assert_int_equal(live[i][2], (uintptr_t)live[i]);
            am_pool_put(&pool, live[i]);
            live[i] = live[--live_count];
        }
        if (step % 100 == 0) {
            assert_true(am_pool_is_valid(&pool));
        }
        assert_int_equal(pool.used_count, live_count);
    }
    am_pool_fini(&pool);
}

/* The validator finds damage: a wrong count, a foreign object, a cycle. */
static void test_validator(void **state)
{
    struct am_pool pool;
    struct am_pool_object foreign = {NULL};
    struct am_pool_object *first;
    char *taken;
    void *others[2];

    am_pool_init(&pool, 64, 0, 4, 8);
    taken = am_pool_get(&pool);
    for (int i = 0; i < 2; i++) {
        others[i] = am_pool_get(&pool);
    }
    for (int i = 0; i < 2; i++) {
        am_pool_put(&pool, others[i]);
    }
    assert_true(am_pool_is_valid(&pool));
    pool.used_count++;
    assert_false(am_pool_is_valid(&pool));
    pool.used_count--;
    pool.objects_max = 3;
    assert_false(am_pool_is_valid(&pool));
    pool.objects_max = 8;
    first = pool.free;
    pool.free = (void *)(taken + 8); /* inside an object */
    assert_false(am_pool_is_valid(&pool));
    pool.free = &foreign;
    assert_false(am_pool_is_valid(&pool));
    pool.free = (void *)(taken + 4 * 64); /* past the last one */
    assert_false(am_pool_is_valid(&pool));
    pool.free = (void *)(taken + 3 * 64); /* never taken */
    assert_false(am_pool_is_valid(&pool));
    if (!pool.poison) { /* else the list may not be touched from here */
        struct am_pool_object *second = first->next;

        pool.free = first;
        first->next = first;
        assert_false(am_pool_is_valid(&pool));
        first->next = second;
    }
    pool.free = first;
    assert_true(am_pool_is_valid(&pool));
    am_pool_fini(&pool);
}

/* ------------------------------------------------- misuse, in poison builds */

static void put_twice(struct am_pool *pool)
{
    void *object = am_pool_get(pool);

    am_pool_get(pool); /* so that the count alone would not tell */
    am_pool_put(pool, object);
    am_pool_put(pool, object);
}

static void write_after_put(struct am_pool *pool)
{
    char *object = am_pool_get(pool);

    am_pool_put(pool, object);
    object[20] = 1;
    am_pool_get(pool);
}

/* Does the process die of it?  Its complaint is not of interest. */
static void assert_dies(void (*misuse)(struct am_pool *pool))
{
    pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        struct am_pool pool;

        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        am_pool_init(&pool, 64, 0, 4, 8);
        misuse(&pool);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_misuse(void **state)
{
    struct am_pool pool;

    am_pool_init(&pool, 64, 0, 4, 8);
    if (!pool.poison) {
        am_pool_fini(&pool);
        skip();
    }
    am_pool_fini(&pool);
    assert_dies(put_twice);
    assert_dies(write_after_put);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_quota),   cmocka_unit_test(test_fresh),
            cmocka_unit_test(test_no_room), cmocka_unit_test(test_align),
            cmocka_unit_test(test_random),  cmocka_unit_test(test_validator),
            cmocka_unit_test(test_misuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
