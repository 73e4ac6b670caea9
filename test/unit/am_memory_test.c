/*
 * No memory: am_open fails in order whichever of its allocations does.  The
 * linker puts __wrap_malloc and the others before the C library's.
 */
#include "support/cm.h"

#include <am.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    OPENS_MAX = 10000
};

static bool counts;
static uint32_t count, fails_at; /* allocations while `counts`; from 1 */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t items, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t items, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static bool fails(void)
{
    return counts && ++count == fails_at;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t items, size_t bytes)
{
    return fails() ? NULL : __real_calloc(items, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* The n-th allocation fails, for each n; then none is left to fail. */
static void test_open(void **state)
{
    const struct am_option options[] = {{"AM_DEVICES", "shm"},
                                        {"AM_LOG", "none"}};
    char error[256];
    struct am_params params = {.size = 1,
                               .options = options,
                               .option_count = 2,
                               .error = error,
                               .error_bytes = sizeof(error)};
    bool failed = true;

    for (fails_at = 1; failed; fails_at++) {
        struct am_ctx *ctx;
        am_status_t status;

        assert_true(fails_at < OPENS_MAX);
        count = 0;
        counts = true;
        status = am_open(&params, &ctx);
        counts = false;
        failed = count >= fails_at;
        if (status == AM_OK) {
            am_close(ctx);
        } else {
            assert_true(failed);
        }
    }
    assert_true(fails_at > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
