/*
 * Shared memory without room for it.  A late connection waits until there is a
 * descriptor, and addresses, for its segment; the start of a job fails at once,
 * with the cause where it is known.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/process.h"

#include <am.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    H_COUNT = AM_HANDLER_USER,
    POLLS = 40000, /* some of them look at the sockets */
    FLAG_TRIED = 1
};

static struct rlimit before;

/* One descriptor, which the connection takes, and none for what it brings. */
static void limit_descriptors(void)
{
    struct rlimit limit;
    int lowest = dup(0);

    assert_true(lowest >= 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)lowest + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* What is mapped now and a bit for the heap. */
static int limit_addresses(void)
{
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file == NULL || fscanf(file, "%lu", &pages) != 1) {
        return -1;
    }
    fclose(file);
    (void)getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = pages * (rlim_t)getpagesize() + (8 << 20);
    return setrlimit(RLIMIT_AS, &limit);
}

/* --------------------------------------------------------------------- late */

static void on_count(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    ++*(int *)am_token_arg(token);
}

static void polls(struct world world[2], const int *arrived)
{
    for (int i = 0; i < POLLS && *arrived == 0; i++) {
        (void)world_poll(&world[0]);
        (void)world_poll(&world[1]);
    }
}

static void late(bool descriptors)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    struct world world[2];
    uint32_t peer;
    int arrived = 0;

    world_open(&world[0], 1, NULL);
    world_open(&world[1], 1, NULL);
    am_handler_register(world[1].ctx[0], H_COUNT, on_count, &arrived, "count");
    assert_int_equal(am_address(world[1].ctx[0], blob), AM_OK);
    assert_int_equal(am_connect(world[0].ctx[0], blob, &peer), AM_OK);
    assert_int_equal(
            am_ctx_request(world[0].ctx[0], peer, H_COUNT, NULL, 0, NULL, 0),
            AM_OK);
    if (descriptors) {
        limit_descriptors();
    } else {
        assert_int_equal(limit_addresses(), 0);
    }
    polls(world, &arrived);
    assert_int_equal(
            setrlimit(descriptors ? RLIMIT_NOFILE : RLIMIT_AS, &before), 0);
    assert_int_equal(arrived, 0);
    polls(world, &arrived);
    assert_int_equal(arrived, 1);
    assert_int_equal(world_counter(&world[1], 0, "rx_bad"), 0);
    world_close(&world[0]);
    world_close(&world[1]);
}

static void test_late_descriptors(void **state)
{
    late(true);
}

static void test_late_addresses(void **state)
{
    late(false);
}

/* -------------------------------------------------------------------- start */

static uint32_t limited; /* the rank that has no room */

static int exchange(void *arg, const void *mine, void *all, size_t bytes)
{
    struct rank *me = arg;

    (void)rank_exchange(me, mine, all, bytes);
    return me->rank == limited ? limit_addresses() : 0;
}

/* A rank that failed stays there until the other has failed as well, so that the
 * end of its process is not what the other hears of. */
static int start(struct rank *me)
{
    struct am_option quiet = {"AM_LOG", "none"};
    char error[512] = "";
    struct am_params params = {.rank = me->rank,
                               .size = me->size,
                               .allgather = exchange,
                               .allgather_arg = me,
                               .options = &quiet,
                               .option_count = 1,
                               .error = error,
                               .error_bytes = sizeof(error)};
    const char *part = me->rank == limited ? "cannot map"
                       : limited == 0      ? "rank 0 is gone: it has closed"
                                           : "rank 1 is gone";

    if (am_open(&params, &me->ctx) == AM_OK) {
        return 1;
    }
    if (strstr(error, part) == NULL) {
        fprintf(stderr, "rank %u: %s\n", me->rank, error);
        return 2;
    }
    atomic_fetch_add(&me->board->flag[FLAG_TRIED], 1);
    while (limited == 0 && atomic_load(&me->board->flag[FLAG_TRIED]) < 2) {
        usleep(1000);
    }
    return 0;
}

static void test_start_leader(void **state)
{
    limited = 0;
    run_ranks(2, start, NULL);
}

static void test_start_other(void **state)
{
    limited = 1;
    run_ranks(2, start, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_late_descriptors),
            cmocka_unit_test(test_late_addresses),
            cmocka_unit_test(test_start_leader),
            cmocka_unit_test(test_start_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
