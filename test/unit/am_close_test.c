/*
 * A context that closes with work left: what waits for space, for an answer or
 * for its user takes nothing with it, and no done function is called.  The rank
 * that stays behind hears of no death.
 */
#include "config.h"

#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"

#include <am.h>
#include <am_client.h>
#include <am_msg.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LONG = 300000,
    POLLS_MAX = 200000000,
    H_ECHO = AM_HANDLER_USER,
    H_NOTHING
};

static void never(void *arg, am_status_t status)
{
    fail_msg("a done function was called");
}

static void never_msg(void *arg, const struct am_msg_status *status)
{
    fail_msg("a done function was called");
}

static am_status_t on_receive(void *arg, struct am_recv *recv, uint32_t source,
                              const void *info, size_t info_bytes, size_t bytes,
                              struct am_data *landing, am_done_fn *done,
                              void **done_arg)
{
    ++*(int *)arg;
    return AM_ERR_AGAIN; /* and never supplied */
}

static int nothings; /* that came */

static void on_nothing(struct am_token *token, const uint64_t *words,
                       uint32_t count, void *data, size_t bytes)
{
    nothings++;
}

/* More requests than there is space for. */
static void on_echo(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(am_ctx_request(am_token_ctx(token),
                                        am_token_source(token), H_NOTHING,
                                        words, count, data, bytes),
                         AM_OK);
    }
}

/* Operations of rank 0 that only rank 1 could end. */
static void start_onesided(struct world *world, char *memory)
{
    struct am_ctx *ctx = world->ctx[0];
    struct am_data data = am_data_contig(memory, LONG);
    struct am_region *region;
    struct am_key key;
    static uint64_t old;

    assert_int_equal(am_region_register(world->ctx[1], memory, LONG, &region),
                     AM_OK);
    am_region_key(region, &key);
    key.w[3] = 0; /* by the stream */
    assert_int_equal(am_ctx_put(ctx, 1, &data, &key, 0, never, NULL), AM_OK);
    assert_int_equal(am_ctx_rget(ctx, 1, &data, &key, 0, never, NULL), AM_OK);
    assert_int_equal(am_ctx_store_async(ctx, 1, memory, memory, LONG, 0, NULL,
                                        0, never, NULL),
                     AM_OK);
    assert_int_equal(am_ctx_fetch_add(ctx, 1, &key, 0, 1, &old, never, NULL),
                     AM_OK);
}

static void start_messages(struct world *world, char *memory)
{
    const struct am_msg_envelope envelope = {1, 0, 1}, other = {1, 0, 2};
    const struct am_msg_mask mask = MASK_EXACT;
    struct am_data large = am_data_contig(memory, LONG);
    struct am_data small = am_data_contig(memory, 1000);
    struct am_msg_status status;
    struct am_msg_req *req;

    for (int i = 0; i < 3; i++) {
        (void)am_msg_isend(world->ctx[0], 1, &envelope, &small, 0, NULL, NULL,
                           &req);
    }
    assert_int_equal(am_msg_isend(world->ctx[0], 1, &envelope, &large, 0,
                                  never_msg, NULL, &req),
                     AM_OK);
    assert_int_equal(am_msg_irecv(world->ctx[0], &other, &mask, &large,
                                  never_msg, NULL, &status, &req),
                     AM_OK);
}

/* All kinds of work, and then the end of everybody. */
static void leave_work(char *memory)
{
    static const uint32_t both[] = {1, 0};
    const struct am_data large = am_data_contig(memory, LONG);
    const struct am_data small = am_data_contig(memory, 100);
    struct am_client *client[2];
    struct am_many many[] = {{1, large}, {1, small}};
    unsigned char blob[AM_ADDRESS_BYTES];
    struct world world, late;
    uint32_t peer;
    int received = 0;

    world_open(&world, 2, NULL);
    world_open(&late, 1, NULL);
    for (int i = 0; i < 2; i++) {
        am_handler_register(world.ctx[i], H_ECHO, on_echo, NULL, "echo");
        am_handler_register(world.ctx[i], H_NOTHING, on_nothing, NULL, "none");
        assert_int_equal(am_client_register(world.ctx[i], AM_ORDERED,
                                            on_receive, &received, &client[i]),
                         AM_OK);
    }
    /* a first one, as some devices' windows connect by it */
    assert_int_equal(
            am_ctx_request(world.ctx[0], 1, H_NOTHING, NULL, 0, NULL, 0),
            AM_OK);
    for (nothings = 0; nothings == 0;) {
        world_poll(&world);
    }
    world_settle(&world);
    /* deferred by rank 1: one with a copy, one that is only announced */
    assert_int_equal(am_send(client[0], 1, NULL, 0, &small, NULL, NULL), AM_OK);
    assert_int_equal(am_send(client[0], 1, NULL, 0, &large, never, NULL),
                     AM_OK);
    assert_int_equal(am_ctx_request(world.ctx[0], 1, H_ECHO, NULL, 0, NULL, 0),
                     AM_OK);
    start_messages(&world, memory);
    while (received < 2) {
        (void)am_ctx_poll(world.ctx[1]); /* rank 0 makes no room */
    }
    assert_int_equal(received, 2);
    assert_true(world_counter(&world, 1, "queued") > 0);
    assert_int_equal(
            am_multicast(client[0], both, 1, NULL, 0, &large, never, NULL),
            AM_OK);
    assert_int_equal(am_many_to_many(client[0], many, 2, NULL, 0, never, NULL),
                     AM_OK);
    start_onesided(&world, memory);
    assert_int_equal(am_address(late.ctx[0], blob), AM_OK);
    assert_int_equal(am_connect(world.ctx[0], blob, &peer), AM_OK);
    am_close(world.ctx[0]);
    am_close(world.ctx[1]);
    am_close(late.ctx[0]);
}

/* What the queued requests take would show as memory that grows with each turn;
 * a small leak is told by a sanitizer, whose allocator is not counted here. */
static void test_work_left(void **state)
{
    enum {
        TURNS = 20, /* a pool may grow once in the first half */
        NOISE = 64 << 10
    };

    static char memory[LONG];
    size_t used[2];

    for (int i = 0; i < TURNS; i++) {
        leave_work(memory);
        used[i >= TURNS / 2] = mallinfo2().uordblks;
        print_message("%zu\n", mallinfo2().uordblks);
    }
    assert_true(used[1] <= used[0] + NOISE);
}

/* Programs whose am_params is another one than this libam's. */
static void test_params_of_other_age(void **state)
{
    struct {
        struct am_params params;
        uint64_t more;
    } newer = {0};
    const struct am_option options[] = {{"AM_DEVICES", "self"}};
    char error[256] = "";
    struct am_ctx *ctx = NULL;

    newer.params = (struct am_params){.size = 1,
                                      .options = options,
                                      .option_count = 1,
                                      .error = error,
                                      .error_bytes = sizeof(error)};
    assert_int_equal(am_open_sized(&newer.params, sizeof(newer), &ctx), AM_OK);
    am_close(ctx);
    assert_int_equal((am_open)(&newer.params, &ctx), AM_OK);
    am_close(ctx);
    newer.more = UINT64_C(1) << 63;
    ctx = NULL;
    assert_int_equal(am_open_sized(&newer.params, sizeof(newer), &ctx),
                     AM_ERR_UNSUPPORTED);
    assert_non_null(strstr(error, "am_params"));
    assert_int_equal(am_open_sized(&newer.params,
                                   sizeof(newer.params) - sizeof(size_t), &ctx),
                     AM_ERR_INVALID);
    assert_null(ctx);
}

/* Contexts of one process that write their counters to one file. */
static void test_counters_of_several(void **state)
{
    char path[] = "am_close_test.XXXXXX";
    const struct am_option stats[] = {{"AM_STATS", path}, {NULL, NULL}};
    const struct am_option *options[] = {stats, stats, stats};
    int fd = mkstemp(path);
    struct world world;
    char text[65536];
    ssize_t length;

    assert_true(fd >= 0);
    world_open(&world, 3, options);
    for (uint32_t rank = 0; rank < 3; rank++) {
        am_handler_register(world.ctx[rank], H_NOTHING, on_nothing, NULL, "no");
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(am_ctx_request(world.ctx[rank], rank, H_NOTHING, NULL,
                                        0, NULL, 0),
                         AM_OK);
    }
    world_settle(&world);
    world_close(&world);
    length = read(fd, text, sizeof(text) - 1);
    close(fd);
    unlink(path);
    assert_true(length > 0);
    text[length] = '\0';
    assert_non_null(strstr(text, "rank 0 tx_requests 1 packets\n"));
    assert_non_null(strstr(text, "rank 1 tx_requests 1 packets\n"));
    assert_non_null(strstr(text, "rank 2 tx_requests 1 packets\n"));
}

#if defined(AM_UDP) && !defined(main)
#define ONE_LEAVES /* in am_close_two the devices are others */

/* Rank 1 closes in order, and rank 0 polls too late: its answer to the goodbye finds a
 * closed port.  That is no death, but who waits for it then is told. */
static void test_one_leaves(void **state)
{
    static const struct am_option udp[] = {{"AM_DEVICES", "udp"},
                                           {"AM_UDP_IF", "lo"},
                                           {"AM_LOG", "none"},
                                           {NULL, NULL}};
    const struct am_option *options[] = {udp, udp};
    const struct am_msg_envelope envelope = {1, 1, 1};
    const struct am_data none = am_data_contig(NULL, 0);
    struct ended ended = {0};
    struct world world;

    world_open(&world, 2, options);
    world_send(&world, 1, 0, envelope, &none, 0, &ended);
    world_wait(&world, &ended);
    ended.count = 0;
    world_recv(&world, 0, envelope, MASK_EXACT, &none, &ended);
    world_wait(&world, &ended);
    world_settle(&world);
    am_close(world.ctx[1]);
    for (int i = 0; !am_peer_is_dead(world.ctx[0], 1); i++) {
        assert_true(i < POLLS_MAX);
        assert_true(am_ctx_poll(world.ctx[0]) >= 0);
    }
    assert_int_equal(am_check(world.ctx[0]), AM_OK);
    assert_int_equal(world_counter(&world, 0, "peers_dead"), 0);
    ended.count = 0;
    world_recv(&world, 0, envelope, MASK_EXACT, &none, &ended);
    for (int i = 0; ended.count == 0; i++) {
        assert_true(i < POLLS_MAX);
        (void)am_ctx_poll(world.ctx[0]);
    }
    assert_int_equal(ended.status.status, AM_ERR_PEER);
    assert_non_null(strstr(am_peer_death(world.ctx[0], 1), "rank 1 is gone"));
    am_close(world.ctx[0]);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_work_left),
#ifdef ONE_LEAVES
            cmocka_unit_test(test_one_leaves),
#endif
            cmocka_unit_test(test_params_of_other_age),
            cmocka_unit_test(test_counters_of_several),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
