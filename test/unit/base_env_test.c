/*
 * The real environment: a clock that never goes back and agrees with the
 * system's, numbers that differ between processes, relax that returns; and
 * the words of status codes and counters.
 */
#include "base/env.h"
#include "base/list.h"
#include "base/stats.h"

#include "support/cm.h"

#include <am_types.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t system_ps(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return ((uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec) * 1000;
}

static void test_clock(void **state)
{
    struct am_env *env = am_env_real();
    uint64_t last_ps = am_env_now(env);
    uint64_t start_ps = am_env_now(env);
    uint64_t system_start_ps = system_ps();
    uint64_t system_passed_ps, passed_ps;

    assert_ptr_equal(env, am_env_real());
    assert_false(env->simulated);
    do {
        uint64_t now_ps = am_env_now(env);

        assert_true(now_ps >= last_ps);
        last_ps = now_ps;
        system_passed_ps = system_ps() - system_start_ps;
    } while (system_passed_ps < UINT64_C(20000000000)); /* 20 ms */
    passed_ps = am_env_now(env) - start_ps;
    /* Ours begin before the system's and end after them, so only a rate error
     * makes them shorter; a tenth is far beyond any. */
    assert_true(passed_ps > system_passed_ps / 10 * 9);
    am_env_charge(env, AM_COST_COPY, 1000); /* nothing to be seen */
}

static void test_relax(void **state)
{
    struct am_env *env = am_env_real();
    uint64_t deadline_ps = am_env_now(env) + UINT64_C(3000000000);

    am_env_relax(env, 0);          /* past: returns */
    am_env_relax(env, UINT64_MAX); /* never: returns too, to be asked again */
    while (am_env_now(env) < deadline_ps) {
        am_env_relax(env, deadline_ps);
    }
}

static void test_random_differs(void **state)
{
    struct am_env *env = am_env_real();
    uint64_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t mine[16];
    int status = 1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 16; i++) {
            shared[i] = am_env_random(env);
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int i = 0; i < 16; i++) {
        mine[i] = am_env_random(env);
        for (int j = 0; j < i; j++) {
            assert_true(mine[i] != mine[j]);
        }
        for (int j = 0; j < 16; j++) {
            assert_true(mine[i] != shared[j]);
        }
    }
    munmap(shared, 4096);
}

/* Threads draw from one sequence: no number comes twice. */
#define DRAWS 5000

static void *draw(void *arg)
{
    uint64_t *to = arg;

    for (int i = 0; i < DRAWS; i++) {
        to[i] = am_env_random(am_env_real());
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void test_random_threads(void **state)
{
    static uint64_t drawn[3 * DRAWS];
    pthread_t threads[3];

    for (int i = 0; i < 3; i++) {
        assert_int_equal(
                pthread_create(&threads[i], NULL, draw, drawn + i * DRAWS), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    qsort(drawn, 3 * DRAWS, sizeof(drawn[0]), compare);
    for (int i = 1; i < 3 * DRAWS; i++) {
        assert_true(drawn[i] != drawn[i - 1]);
    }
}

static void test_status_text(void **state)
{
    for (int i = AM_ERR_FORKED; i <= AM_DONE; i++) {
        const char *text = am_status_text((am_status_t)i);

        assert_string_not_equal(text, "unknown status");
        for (int j = AM_ERR_FORKED; j < i; j++) {
            assert_string_not_equal(text, am_status_text((am_status_t)j));
        }
    }
    assert_string_equal(am_status_text((am_status_t)99), "unknown status");
    assert_string_equal(am_status_text((am_status_t)-99), "unknown status");
}

static void test_stats_print(void **state)
{
    static const struct am_stat_row rows[] = {{"tx", "messages", "sent"},
                                              {"rx", "messages", "received"},
                                              {"copied", "bytes", "copied"}};
    uint64_t values[] = {3, 0, UINT64_MAX};
    char text[256] = "";
    FILE *file = fmemopen(text, sizeof(text), "w");

    am_stats_print(file, "am 1", rows, values, 3);
    fclose(file);
    assert_string_equal(text, "am 1 tx 3 messages\n"
                              "am 1 copied 18446744073709551615 bytes\n");
}

static void test_list(void **state)
{
    struct node {
        int value;
        struct am_list link;
    } nodes[3] = {{.value = 0}, {.value = 1}, {.value = 2}};
    struct am_list list;

    am_list_init(&list);
    assert_true(am_list_is_empty(&list));
    assert_null(am_list_pop(&list));
    for (int i = 0; i < 3; i++) {
        am_list_push(&list, &nodes[i].link);
    }
    am_list_remove(&nodes[1].link);
    am_list_remove(&nodes[1].link); /* on no list: harmless */
    for (int i = 0; i < 3; i += 2) {
        struct am_list *link = am_list_pop(&list);

        assert_int_equal(am_container(link, struct node, link)->value, i);
    }
    assert_true(am_list_is_empty(&list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_clock),
            cmocka_unit_test(test_relax),
            cmocka_unit_test(test_random_differs),
            cmocka_unit_test(test_random_threads),
            cmocka_unit_test(test_status_text),
            cmocka_unit_test(test_stats_print),
            cmocka_unit_test(test_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
