/*
 * A storm of forged packets: a peer sends one of the others whatever comes to
 * its mind, for every handler number, while real operations of every kind are
 * under way between all of them.  Nothing may go wrong inside (run it under the
 * sanitizers: make check-asan), nothing ends twice, and what the victim does
 * with an honest peer is right to the last byte.
 *
 * AM_TEST_PACKETS=1000000 sends a million (some minutes under the sanitizers),
 * AM_TEST_SEED repeats a run:
 *
 *   make check-asan
 *   AM_TEST_PACKETS=1000000 build-asan/test/unit/am_forged_random_test
 *
 * All are in one process, where a single copy is a plain one that believes the
 * key; so there is none here (AM_SHM_CMA=off).
 */
#include "support/cm.h"
#include "support/forged_storm.h"
#include "support/seed.h"

#include "am/ctx.h"

#include <am.h>
#include <string.h>

enum {
    STORM = 4000, /* packets of one storm; then all is closed and begins anew */
    PACKETS = 40000,
    WAIT_POLLS = 2000000
};

struct storm storm;

static void storm_open(uint64_t number)
{
    static const char *const protos[] = {"auto",   "eager", "buffered",
                                         "prefix", "get",   "put"};
    bool is_narrow = number / 6 % 2 == 0; /* what it sends often waits */
    const struct am_option list[] = {
            {"AM_SHM_CMA", "off"},
            {"AM_LOG", "none"},
            {"AM_UNEXP_MAX", "1m"},
            {"AM_PROTO", protos[number % 6]},
            {"AM_BUFFERING", number % 5 == 4 ? "pvm" : "mpi"},
            {is_narrow ? "AM_SHM_SLOTS" : NULL, "4"},
            {"AM_SHM_RING", "16k"},
            {"AM_SHM_PACKET", "2k"},
            {NULL, NULL}};
    const struct am_option *options[RANKS] = {list, list, list};

    world_open(&storm.world, RANKS, options);
    storm.kept_count = storm.held_count = 0;
    for (uint32_t i = 0; i < RANKS; i++) {
        struct am_ctx *ctx = storm.world.ctx[i];
        struct am_region *region;

        storm.areas[i] = calloc(OPS, AREA);
        am_region_register(ctx, storm.areas[i], (size_t)OPS * AREA, &region);
        am_region_key(region, &storm.keys[i]);
        am_handler_register(ctx, H_USER, storm_on_user, NULL, "user");
        am_client_register(ctx, AM_ORDERED, storm_on_receive, NULL,
                           &storm.clients[i]);
    }
    for (uint32_t i = 0; i < OPS; i++) {
        struct op *op = &storm.ops[i];

        memset(op, 0, sizeof(*op));
        op->peer = i < FAIR ? HONEST : FORGER;
        op->mine = calloc(1, AREA);
        op->theirs = storm.areas[op->peer] + (size_t)i * AREA;
    }
    world_settle(&storm.world);
    assert_int_equal(am_ctx_try_request(storm.world.ctx[FORGER], VICTIM, H_USER,
                                        NULL, 0, NULL, 0),
                     AM_OK);
    world_settle(&storm.world);
    storm.world.ctx[VICTIM]->devs[0]->up.packet = storm_packet;
}

/* All that the honest peer has to do with must end. */
static void storm_close(void)
{
    for (uint32_t i = 0; i < FAIR; i++) {
        struct op *op = &storm.ops[i];

        for (int n = 0; op->busy; n++) {
            if (n == WAIT_POLLS) {
                fail_msg("operation %d of %zu bytes does not end: %d %d",
                         op->kind, op->bytes, op->out.count, op->in.count);
            }
            world_poll(&storm.world);
            storm_look(op);
        }
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        am_close(storm.world.ctx[i]);
        free(storm.areas[i]);
    }
    for (uint32_t i = 0; i < OPS; i++) {
        free(storm.ops[i].mine);
    }
}

static void storm_run(uint64_t number, uint64_t packets)
{
    storm_open(number);
    for (uint64_t i = 0; i < packets; i++) {
        struct op *op = &storm.ops[below(OPS)];

        storm_look(op);
        if (!op->busy && chance(2)) {
            storm_start(op);
        }
        storm_forge();
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            if (chance(rank == VICTIM ? 2 : 4)) {
                (void)am_ctx_poll(storm.world.ctx[rank]);
            }
        }
        if (chance(16)) {
            storm_supply_held();
            storm_take_unexpected();
            storm_cancel(&storm.ops[below(OPS)]);
        }
    }
    storm_close();
}

static void test_storms(void **state)
{
    const char *text = getenv("AM_TEST_PACKETS");
    uint64_t packets = text != NULL ? strtoull(text, NULL, 0) : PACKETS;

    storm.prng = test_prng("am_forged_random_test");
    for (uint64_t number = 0; storm.sent < packets; number++) {
        uint64_t left = packets - storm.sent;

        storm_run(number, left < STORM ? left : STORM);
    }
    printf("%" PRIu64 " packets forged, %" PRIu64 " operations ended\n",
           storm.sent, storm.ended);
    assert_true(storm.ended > packets / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_storms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
