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
    BYTES = 200000,
    SOUND = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED,
    COPIES = SOUND | AM_DEV_CAP_PUT | AM_DEV_CAP_GET
};

/* The device that `from` reaches `to` by, once it has sent something. */
static uint32_t device_of(struct world *world, uint32_t from, uint32_t to)
{
    am_status_t status;
    const struct am_peer *peer = am_peer_get(world->ctx[from], to, &status);

    assert_non_null(peer);
    return peer->dev->bottom->number;
}

/* ------------------------------------------------------------------- choice */

static void test_near_and_far(void **state)
{
    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_NEAR, SOUND);
    world_open(&world, RANKS, NULL);
    two_each_to_each(&world, &calls);
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
            am_handler_register(world.ctx[i], TWO_USER, two_count, &calls,
                                "user");
        }
        assert_int_equal(device_of(&world, first, 1 - first),
                         AM_DEV_NUMBER_TEST);
        world_settle(&world);
        assert_int_equal(am_ctx_request(world.ctx[first], 1 - first, TWO_USER,
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
    two_each_to_each(&world, &calls);
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
    struct world_done put = {0}, get = {0};

    memset(data, (int)(from + 1), BYTES);
    assert_int_equal(
            am_ctx_put(world->ctx[from], to, &out, key, 0, world_on_done, &put),
            AM_OK);
    world_wait_done(world, &put);
    assert_int_equal(put.status, AM_OK);
    assert_memory_equal(memory, data, BYTES);
    assert_int_equal(
            am_ctx_rget(world->ctx[from], to, &in, key, 0, world_on_done, &get),
            AM_OK);
    world_wait_done(world, &get);
    assert_int_equal(get.status, AM_OK);
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
    two_each_to_each(&world, &calls);
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
            cmocka_unit_test(test_devices_that_do_not_open),
            cmocka_unit_test(test_left_out_is_told),
            cmocka_unit_test(test_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
