/*
 * Two devices in one context: which a peer is reached by, keys that are good
 * for one device only, connections that come twice, devices that do not open,
 * counters of each.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/two_devs.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RANKS = 4, /* on the nodes 0 1 | 2 3 */
    NEAR = 1,
    FAR = 2,
    H_USER = AM_HANDLER_USER,
    BYTES = 200000,
    SOUND = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED,
    COPIES = SOUND | AM_DEV_CAP_PUT | AM_DEV_CAP_GET
};

static void on_user(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    ++*(uint32_t *)am_token_arg(token);
}

static void on_done(void *arg, am_status_t status)
{
    *(am_status_t *)arg = status;
}

static void wait_for(struct world *world, const am_status_t *status)
{
    for (int i = 0; i < 1000000 && *status == AM_DONE; i++) {
        world_poll(world);
    }
    assert_int_equal(*status, AM_OK);
}

/* The device that `from` reaches `to` by, once it has sent something. */
static uint32_t device_of(struct world *world, uint32_t from, uint32_t to)
{
    am_status_t status;
    const struct am_peer *peer = am_peer_get(world->ctx[from], to, &status);

    assert_non_null(peer);
    return peer->dev->bottom->number;
}

static void each_to_each(struct world *world, uint32_t *calls)
{
    world_settle(world); /* they wait for the segment, which rank 0 makes */
    for (uint32_t from = 0; from < world->size; from++) {
        am_handler_register(world->ctx[from], H_USER, on_user, calls, "user");
        for (uint32_t to = 0; to < world->size; to++) {
            assert_int_equal(am_ctx_request(world->ctx[from], to, H_USER, NULL,
                                            0, NULL, 0),
                             AM_OK);
        }
    }
    world_settle(world);
}

/* ------------------------------------------------------------------- choice */

static void test_near_and_far(void **state)
{
    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_NEAR, SOUND);
    world_open(&world, RANKS, NULL);
    each_to_each(&world, &calls);
    assert_int_equal(calls, RANKS * RANKS);
    for (uint32_t from = 0; from < RANKS; from++) {
        for (uint32_t to = 0; to < RANKS; to++) {
            assert_int_equal(device_of(&world, from, to),
                             from == to           ? AM_DEV_NUMBER_SELF
                             : from / 2 == to / 2 ? AM_DEV_NUMBER_SHM
                                                  : AM_DEV_NUMBER_TEST);
        }
    }
    world_close(&world);
}

/* One end says that shared memory costs it more than the network: both then
 * take the network, whoever connects first. */
static void test_dear_at_one_end(void **state)
{
    for (uint32_t first = 0; first < 2; first++) {
        uint8_t blobs[2][AM_ADDRESS_BYTES];
        struct world world = {.size = 2};
        uint32_t calls = 0;

        two_devs_init(TWO_NEAR, SOUND);
        for (uint32_t i = 0; i < 2; i++) {
            struct am_params params = {
                    .rank = i, .size = 2, .env = world_env()};

            assert_int_equal(am_open(&params, &world.ctx[i]), AM_OK);
            if (i == 1) {
                struct am_ctx *ctx = world.ctx[i];

                assert_int_equal(ctx->slots[1].ops->number, AM_DEV_NUMBER_SHM);
                ctx->slots[1].short_ns = UINT32_MAX;
            }
            am_address(world.ctx[i], blobs[i]);
        }
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(am_connect_all(world.ctx[i], blobs), AM_OK);
            am_handler_register(world.ctx[i], H_USER, on_user, &calls, "user");
        }
        assert_int_equal(device_of(&world, first, 1 - first),
                         AM_DEV_NUMBER_TEST);
        world_settle(&world);
        assert_int_equal(am_ctx_request(world.ctx[first], 1 - first, H_USER,
                                        NULL, 0, NULL, 0),
                         AM_OK);
        world_settle(&world);
        assert_int_equal(calls, 1);
        assert_int_equal(device_of(&world, 1 - first, first),
                         AM_DEV_NUMBER_TEST);
        world_close(&world);
    }
}

/* A rank that is connected comes by the other device, once more by the same, as
 * the very rank that it comes to: it is refused, and all stays as it was. */
static void test_comes_twice(void **state)
{
    uint32_t calls = 0;
    struct world world;
    struct am_ctx *ctx;

    two_devs_init(TWO_NEAR, SOUND);
    world_open(&world, RANKS, NULL);
    each_to_each(&world, &calls);
    ctx = world.ctx[0];
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct am_dev_ep *before = ctx->peers[rank]->ep;

        for (uint32_t d = 0; d < ctx->dev_count; d++) {
            struct am_dev_ep ep = {.dev = ctx->devs[d]};

            assert_null(am_peer_accept(ctx, &ep, rank));
        }
        assert_ptr_equal(ctx->peers[rank]->ep, before);
    }
    assert_int_equal(world_counter(&world, 0, "rx_bad_connection"),
                     RANKS * ctx->dev_count);
    world_close(&world);
}

/* --------------------------------------------------------------------- keys */

/* Put to, and get from, a rank's region with this key. */
static void copy_both_ways(struct world *world, uint32_t from, uint32_t to,
                           const struct am_key *key,
                           const unsigned char *memory)
{
    unsigned char *data = malloc(BYTES), *back = calloc(1, BYTES);
    struct am_data out = am_data_contig(data, BYTES);
    struct am_data in = am_data_contig(back, BYTES);
    am_status_t put = AM_DONE, get = AM_DONE;

    memset(data, (int)(from + 1), BYTES);
    assert_int_equal(
            am_ctx_put(world->ctx[from], to, &out, key, 0, on_done, &put),
            AM_OK);
    wait_for(world, &put);
    assert_memory_equal(memory, data, BYTES);
    assert_int_equal(
            am_ctx_rget(world->ctx[from], to, &in, key, 0, on_done, &get),
            AM_OK);
    wait_for(world, &get);
    assert_memory_equal(back, data, BYTES);
    free(data);
    free(back);
}

static uint64_t pipe_copies(struct world *world)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < world->size; i++) {
        const uint64_t *stats = world->ctx[i]->slots[2].stats;

        assert_int_equal(world->ctx[i]->slots[2].ops->number,
                         AM_DEV_NUMBER_TEST);
        assert_int_equal(stats[AM_DEV_STAT_RX_BAD], 0);
        count += stats[AM_DEV_STAT_PUT] + stats[AM_DEV_STAT_GET];
    }
    return count;
}

/* Keys of one region for each peer, in the right hands and in wrong ones: only
 * the device that a key was made for sees it; by others bytes go as packets.
 * A region is registered with a device when the first peer of it asks. */
static void test_keys(void **state)
{
    unsigned char *memory = calloc(1, BYTES);
    struct am_region *region;
    struct am_key any, near, far, far_again, own;
    struct world world;

    two_devs_init(TWO_NEAR, COPIES);
    two_net.perf.put = two_net.perf.get = (struct am_linfn){1000, 1};
    world_open(&world, RANKS, NULL);
    assert_int_equal(am_region_register(world.ctx[0], memory, BYTES, &region),
                     AM_OK);
    assert_int_equal(two_net.registered, 0);
    am_region_key(region, &any);
    assert_int_equal(am_region_key_to(region, NEAR, &near), AM_OK);
    assert_int_equal(am_region_key_to(region, 0, &own), AM_OK);
    assert_int_equal(two_net.registered, 0);
    assert_int_equal(am_region_key_to(region, FAR, &far), AM_OK);
    assert_int_equal(two_net.registered, 1);
    assert_int_equal(am_region_key_to(region, FAR + 1, &far_again), AM_OK);
    assert_int_equal(two_net.registered, 1); /* kept */
    assert_memory_equal(&far, &far_again, sizeof(far));
    assert_int_equal(am_region_key_to(region, RANKS, &any), AM_ERR_INVALID);
    assert_int_equal(am_key_device(&far), AM_DEV_NUMBER_TEST);
    assert_int_equal(am_key_device(&own), AM_DEV_NUMBER_NONE);
    if (am_key_device(&near) != AM_DEV_NUMBER_NONE) { /* no cross-memory copy */
        assert_int_equal(am_key_device(&near), AM_DEV_NUMBER_SHM);
        assert_int_equal(am_key_device(&any), AM_DEV_NUMBER_SHM);
    }
    copy_both_ways(&world, 0, 0, &own, memory);
    copy_both_ways(&world, NEAR, 0, &near, memory);
    copy_both_ways(&world, NEAR, 0, &far, memory); /* of the pipe */
    copy_both_ways(&world, FAR, 0, &near, memory); /* of shared memory */
    assert_int_equal(pipe_copies(&world), 0);
    copy_both_ways(&world, FAR, 0, &far, memory);
    assert_int_equal(pipe_copies(&world), 2);
    copy_both_ways(&world, FAR + 1, 0, &far, memory);
    assert_int_equal(pipe_copies(&world), 4);
    am_region_deregister(world.ctx[0], region);
    assert_int_equal(two_net.registered, 0);
    world_close(&world);
    free(memory);
}

/* A peer that puts another device's number on a key, or one of none: it is the
 * bytes of the wrong device that are not used, and nothing is written. */
static void test_forged_number(void **state)
{
    unsigned char *memory = calloc(1, BYTES);
    struct am_region *region;
    struct am_key key, forged;
    struct world world;
    uint64_t copies;

    two_devs_init(TWO_NEAR, COPIES);
    two_net.perf.put = two_net.perf.get = (struct am_linfn){1000, 1};
    world_open(&world, RANKS, NULL);
    assert_int_equal(am_region_register(world.ctx[0], memory, BYTES, &region),
                     AM_OK);
    assert_int_equal(am_region_key_to(region, FAR, &key), AM_OK);
    copies = pipe_copies(&world);
    for (uint64_t number = 0; number <= AM_DEV_NUMBER_MAX; number++) {
        forged = key;
        forged.w[3] = (key.w[3] & ((UINT64_C(1) << AM_DEV_KEY_BITS) - 1)) |
                      number << AM_DEV_KEY_BITS;
        if (number != AM_DEV_NUMBER_TEST) {
            copy_both_ways(&world, FAR, 0, &forged, memory);
        }
    }
    assert_int_equal(pipe_copies(&world), copies);
    am_region_deregister(world.ctx[0], region);
    world_close(&world);
    free(memory);
}

/* Rendezvous in both directions over each device, with its own keys. */
static void test_rendezvous(void **state)
{
    static const char *const protos[] = {"get", "put", "prefix"};

    for (uint32_t i = 0; i < 3; i++) {
        const struct am_option list[] = {{"AM_PROTO", protos[i]}, {NULL, NULL}};
        const struct am_option *options[] = {list, list, list, list};
        struct world world;

        two_devs_init(TWO_NEAR, COPIES);
        two_net.perf.put = two_net.perf.get = (struct am_linfn){1000, 1};
        world_open(&world, RANKS, options);
        for (uint32_t to = 0; to < RANKS; to++) {
            const struct am_msg_envelope envelope = {1, FAR, to};
            struct shaped source, target;
            struct ended sent, received;

            shaped_open(&source, SHAPE_CONTIG, BYTES);
            shaped_open(&target, SHAPE_CONTIG, BYTES);
            shaped_fill(&source, to);
            world_send(&world, FAR, to, envelope, &source.data, 0, &sent);
            world_recv(&world, to, envelope, MASK_EXACT, &target.data,
                       &received);
            world_wait(&world, &sent);
            world_wait(&world, &received);
            assert_int_equal(received.status.status, AM_OK);
            shaped_check(&target, to, BYTES);
            shaped_close(&source);
            shaped_close(&target);
        }
        assert_true(pipe_copies(&world) > 0);
        world_close(&world);
        assert_int_equal(two_net.registered, 0);
    }
}

/* ------------------------------------------------------------------ polling */

static uint64_t polls_of_pipe(struct am_ctx *ctx, uint32_t polls)
{
    uint64_t before = two_net.polls;

    for (uint32_t i = 0; i < polls; i++) {
        (void)am_ctx_poll(ctx);
    }
    return two_net.polls - before;
}

/* A device that reaches nobody is looked at rarely, one that does each time. */
static void test_unused_device(void **state)
{
    enum {
        POLLS = 256 * 64
    };

    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_NEAR, SOUND);
    world_open(&world, 2, NULL);
    each_to_each(&world, &calls);
    assert_int_equal(calls, 4);
    assert_in_range(polls_of_pipe(world.ctx[0], POLLS), 1, POLLS / 256 + 1);
    world_close(&world);
    world_open(&world, 3, NULL);
    each_to_each(&world, &calls);
    assert_int_equal(polls_of_pipe(world.ctx[0], POLLS), POLLS);
    world_close(&world);
}

/* A stranger comes by a device that was not used until then. */
static void test_stranger_by_unused(void **state)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    struct world job, other;
    uint32_t calls = 0, peer;

    two_devs_init(TWO_NEAR, SOUND);
    world_open(&job, 2, NULL);
    world_open(&other, 3, NULL); /* rank 2 is on another node */
    world_settle(&job);
    world_settle(&other);
    am_handler_register(job.ctx[0], H_USER, on_user, &calls, "user");
    assert_int_equal(job.ctx[0]->used_count, 1);
    am_address(job.ctx[0], blob);
    assert_int_equal(am_connect(other.ctx[2], blob, &peer), AM_OK);
    assert_int_equal(
            am_ctx_try_request(other.ctx[2], peer, H_USER, NULL, 0, NULL, 0),
            AM_ERR_AGAIN); /* after the introduction */
    (void)am_ctx_poll(other.ctx[2]);
    assert_int_equal(
            am_ctx_try_request(other.ctx[2], peer, H_USER, NULL, 0, NULL, 0),
            AM_OK);
    for (int i = 0; i < 1000 && calls == 0; i++) {
        (void)am_ctx_poll(job.ctx[0]);
    }
    assert_int_equal(calls, 1);
    assert_int_equal(job.ctx[0]->used_count, 2);
    world_close(&job);
    world_close(&other);
}

/* A stranger of the own host comes to a rank that has no peer there, and so looks
 * at shared memory rarely: within some thousand polls it is let in. */
static void test_stranger_by_unused_memory(void **state)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    struct world job, other;
    uint32_t calls = 0, peer;

    two_devs_init(TWO_FAR, SOUND);
    world_open(&job, 2, NULL);
    world_open(&other, 2, NULL);
    world_settle(&job);
    world_settle(&other);
    am_handler_register(job.ctx[0], H_USER, on_user, &calls, "user");
    am_address(job.ctx[0], blob);
    assert_int_equal(am_connect(other.ctx[0], blob, &peer), AM_OK);
    assert_int_equal(other.ctx[0]->peers[peer]->dev->bottom->number,
                     AM_DEV_NUMBER_SHM);
    assert_int_equal(am_ctx_request(other.ctx[0], peer, H_USER, NULL, 0, NULL,
                                    0),
                     AM_OK);
    for (int i = 0; i < 64 * 256 && calls == 0; i++) {
        (void)am_ctx_poll(other.ctx[0]);
        (void)am_ctx_poll(job.ctx[0]);
    }
    assert_int_equal(calls, 1);
    world_close(&job);
    world_close(&other);
}

/* Empty polls of a device that says that they cost much get rare, down to what
 * it allows; when something came each poll of the context polls it again. */
static void test_rest(void **state)
{
    enum {
        REST = 31,
        POLLS = 100 * (REST + 1)
    };

    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_NEAR, SOUND);
    two_net.poll_rest_max = REST;
    world_open(&world, 3, NULL);
    each_to_each(&world, &calls);
    (void)polls_of_pipe(world.ctx[0], 100 * POLLS);
    assert_in_range(polls_of_pipe(world.ctx[0], POLLS), 99, 101);
    assert_int_equal(
            am_ctx_try_request(world.ctx[2], 0, H_USER, NULL, 0, NULL, 0),
            AM_OK);
    calls = 0;
    for (int i = 0; i <= REST; i++) {
        (void)am_ctx_poll(world.ctx[0]);
    }
    assert_int_equal(calls, 1);
    calls = 0;
    assert_int_equal(
            am_ctx_try_request(world.ctx[2], 0, H_USER, NULL, 0, NULL, 0),
            AM_OK);
    while (calls == 0) {
        (void)am_ctx_poll(world.ctx[0]);
    }
    assert_int_equal(polls_of_pipe(world.ctx[0], 10), 10);
    world_close(&world);
}

static bool wait_long(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest)
{
    (void)dev, (void)idle, (void)rest;
    two_net.now_ps += UINT64_C(3000000000); /* others have the core */
    return false;
}

/* After a wait that took long every device is polled, however rare its polls have
 * become: a packet would wait for dozens of such waits. */
static void test_rest_of_a_wait(void **state)
{
    enum {
        WAITS = 100
    };

    const struct am_dev_ops *old[3];
    struct am_dev_ops ops[3];
    uint32_t calls = 0, used;
    struct world world;
    uint64_t polls;

    two_devs_init(TWO_FAR, SOUND);
    two_net.poll_rest_max = 31;
    world_open(&world, 3, NULL);
    each_to_each(&world, &calls);
    (void)polls_of_pipe(world.ctx[1], 100 * 32 * 32);
    used = world.ctx[1]->used_count;
    assert_in_range(used, 2, 3); /* both, and the loop-back */
    for (uint32_t i = 0; i < used; i++) {
        old[i] = world.ctx[1]->used[i].dev->ops;
        ops[i] = *old[i];
        ops[i].wait = wait_long;
        world.ctx[1]->used[i].dev->ops = &ops[i];
    }
    for (int i = 0; i < 10; i++) { /* the first are not asked */
        (void)am_ctx_poll_wait(world.ctx[1]);
    }
    polls = two_net.polls;
    for (int i = 0; i < WAITS; i++) {
        (void)am_ctx_poll_wait(world.ctx[1]);
    }
    assert_in_range(two_net.polls - polls, WAITS, 2 * WAITS);
    for (uint32_t i = 0; i < used; i++) {
        world.ctx[1]->used[i].dev->ops = old[i];
    }
    world_close(&world);
}

/* Who waits with two devices does so as AM_WAIT says, by shared memory, in
 * whatever order the devices came to be used. */
static void test_who_waits(void **state)
{
    const struct am_option list[] = {{"AM_WAIT", "sleep"}, {NULL, NULL}};
    const struct am_option *options[] = {list, list, list};
    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_FAR, SOUND);
    world_open(&world, 3, options);
    each_to_each(&world, &calls);
    assert_int_equal(world.ctx[1]->used[0].dev->bottom->number,
                     AM_DEV_NUMBER_TEST);
    assert_int_equal(world.ctx[1]->used[1].dev->bottom->number,
                     AM_DEV_NUMBER_SHM);
    for (int i = 0; i < 10; i++) {
        (void)am_ctx_poll_wait(world.ctx[1]);
    }
    assert_int_not_equal(world_counter(&world, 1, "shm_sleep"), 0);
    world_close(&world);
}

/* ------------------------------------------------------- opening, counters */

static am_status_t try_open(const char *devices, uint32_t size, char *error,
                            size_t error_bytes)
{
    const struct am_option options[] = {{"AM_LOG", "none"},
                                        {"AM_DEVICES", devices}};
    struct am_params params = {.rank = 0,
                               .size = size,
                               .options = options,
                               .option_count = 2,
                               .env = world_env(),
                               .error = error,
                               .error_bytes = error_bytes};
    struct am_ctx *ctx = NULL;
    am_status_t status = am_open(&params, &ctx);

    if (status == AM_OK) {
        assert_string_equal(error, "");
        am_close(ctx);
    }
    return status;
}

/* A device that cannot open is an error if it was named, else left out. */
static void test_devices_that_do_not_open(void **state)
{
    static const am_status_t machine[] = {AM_ERR_UNSUPPORTED, AM_ERR_SYSTEM};
    static const am_status_t user[] = {AM_ERR_CONFIG, AM_ERR_MEMORY};
    char error[256];

    two_devs_init(TWO_NEAR, SOUND);
    for (int i = 0; i < 2; i++) {
        two_broken = machine[i];
        assert_int_equal(try_open("auto", 2, error, sizeof(error)), AM_OK);
        assert_int_equal(try_open("shm,broken", 2, error, sizeof(error)),
                         two_broken);
        assert_non_null(strstr(error, "it is broken"));
        assert_int_equal(try_open("shm,pipe", 2, error, sizeof(error)), AM_OK);
        two_broken = user[i];
        assert_int_equal(try_open("auto", 2, error, sizeof(error)), two_broken);
    }
    two_broken = AM_ERR_UNSUPPORTED;
}

/* The log has one line of a device that is left out. */
static void test_left_out_is_told(void **state)
{
    char path[] = "am_devices_test.XXXXXX", level[64], line[256];
    const struct am_option options[] = {{"AM_LOG", level}};
    struct am_params params = {.rank = 0,
                               .size = 2,
                               .options = options,
                               .option_count = 1,
                               .env = world_env()};
    struct am_ctx *ctx;
    int told = 0, fd = mkstemp(path);
    FILE *file;

    two_devs_init(TWO_NEAR, SOUND);
    assert_true(fd >= 0);
    close(fd);
    snprintf(level, sizeof(level), "warn:%s", path);
    two_broken = AM_ERR_SYSTEM;
    assert_int_equal(am_open(&params, &ctx), AM_OK);
    am_close(ctx);
    two_broken = AM_ERR_UNSUPPORTED;
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        told += strstr(line, "broken is left out: it is broken") != NULL;
    }
    fclose(file);
    unlink(path);
    assert_int_equal(told, 1);
}

/* A counter of one device counts what that device did, and the one of all of
 * them the sum; their numbers do not depend on what is open. */
static void test_counters(void **state)
{
    struct am_counter_info all, here;
    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_NEAR, SOUND);
    world_open(&world, RANKS, NULL);
    each_to_each(&world, &calls);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const struct am_dev_slot *slots = world.ctx[rank]->slots;
        uint64_t pipe_packets = slots[2].stats[AM_DEV_STAT_TX_PACKETS];

        assert_int_equal(pipe_packets, RANKS - 2);
        assert_int_equal(world_counter(&world, rank, "shm_tx_packets"), 1);
        assert_int_equal(world_counter(&world, rank, "self_tx_packets"), 1);
        assert_int_equal(world_counter(&world, rank, "tx_packets"), RANKS);
    }
    for (uint32_t i = 0; am_counter(NULL, i, &all) == AM_OK; i++) {
        assert_int_equal(am_counter(world.ctx[0], i, &here), AM_OK);
        assert_string_equal(all.name, here.name);
        assert_int_equal(all.value, 0);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_near_and_far),
            cmocka_unit_test(test_dear_at_one_end),
            cmocka_unit_test(test_comes_twice),
            cmocka_unit_test(test_keys),
            cmocka_unit_test(test_forged_number),
            cmocka_unit_test(test_rendezvous),
            cmocka_unit_test(test_unused_device),
            cmocka_unit_test(test_stranger_by_unused),
            cmocka_unit_test(test_stranger_by_unused_memory),
            cmocka_unit_test(test_rest),
            cmocka_unit_test(test_rest_of_a_wait),
            cmocka_unit_test(test_who_waits),
            cmocka_unit_test(test_devices_that_do_not_open),
            cmocka_unit_test(test_left_out_is_told),
            cmocka_unit_test(test_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
