/*
 * The choice of protocols: what the variables say, at every size; what the
 * model says when they say nothing; bad values; and that messages pass with
 * any of it, on equal and unequal ranks.
 */
#include "config.h"

#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"
#include "msg/proto_choice.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define E AM_PROTO_EAGER
#define B AM_PROTO_BUFFERED
#define P AM_PROTO_PREFIX
#define G AM_PROTO_GET
#define U AM_PROTO_PUT
#define ROUNDED_PS 8 /* of a sum of costs */

/* Settings, and the protocol of some sizes. */
struct expected {
    struct am_option options[5];

    struct {
        size_t bytes;
        am_proto_t proto;
    } at[8];

    int at_count;
};

static const struct expected table[] = {
        {{{"AM_PROTO", "put"}}, {{0, U}, {1, U}, {SIZE_MAX, U}}, 3},
        {{{"AM_PROTO", "eager"}}, {{0, E}, {1 << 20, E}, {SIZE_MAX, E}}, 3},
        {{{"AM_PROTO", "eager:1k,buffered:8k,prefix:256k,get"}},
         {{0, E},
          {1024, E},
          {1025, B},
          {8192, B},
          {8193, P},
          {262144, P},
          {262145, G},
          {SIZE_MAX, G}},
         8},
        /* a list may be in any order, and end below the largest message */
        {{{"AM_PROTO", "put:100,eager:200"},
          {"AM_RNDV", "get"},
          {"AM_EAGER_MAX", "50"},
          {"AM_BUFFERED_MAX", "0"}},
         {{0, U}, {100, U}, {101, E}, {200, E}, {1 << 30, G}},
         5},
        {{{"AM_EAGER_MAX", "0"},
          {"AM_BUFFERED_MAX", "0"},
          {"AM_PREFIX_MAX", "0"},
          {"AM_RNDV", "get"}},
         {{0, E}, {1, G}, {SIZE_MAX, G}},
         3},
        {{{"AM_EAGER_MAX", "10"},
          {"AM_BUFFERED_MAX", "20"},
          {"AM_PREFIX_MAX", "30"},
          {"AM_RNDV", "put"}},
         {{10, E}, {11, B}, {20, B}, {21, P}, {30, P}, {31, U}, {SIZE_MAX, U}},
         7},
        /* thresholds out of order: the earlier protocol wins */
        {{{"AM_EAGER_MAX", "100"},
          {"AM_BUFFERED_MAX", "50"},
          {"AM_PREFIX_MAX", "max"}},
         {{50, E}, {100, E}, {101, P}, {SIZE_MAX, P}},
         4},
        {{{"AM_EAGER_MAX", "18446744073709551614"}, {"AM_RNDV", "put"}},
         {{SIZE_MAX - 1, E}, {SIZE_MAX, U}},
         2},
        {{{"AM_BUFFERING", "cmmd"}, {"AM_PROTO", "eager"}},
         {{0, U}, {SIZE_MAX, U}},
         2},
        {{{"AM_BUFFERING", "nx"}, {"AM_PROTO", "put"}},
         {{0, E}, {SIZE_MAX, E}},
         2},
        {{{"AM_BUFFERING", "pvm"}}, {{0, E}, {SIZE_MAX, E}}, 2},
};

static const struct am_proto_kind *kind_at(struct world *world)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(world->ctx[0], 1, &status);
    const struct am_proto_kind *kind;

    assert_non_null(peer);
    kind = am_proto_kind_of(am_msg_of(world->ctx[0]), peer);
    assert_non_null(kind);
    return kind;
}

static void test_settings(void **state)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct am_option *lists[] = {table[i].options, NULL};
        struct world world;

        world_open(&world, 2, lists);
        for (int k = 0; k < table[i].at_count; k++) {
            am_proto_t proto = am_proto_select(kind_at(&world),
                                               table[i].at[k].bytes, k % 2);

            if (proto != table[i].at[k].proto) {
                fail_msg("setting %zu: %zu bytes go by protocol %d, not %d", i,
                         table[i].at[k].bytes, (int)proto,
                         (int)table[i].at[k].proto);
            }
        }
        world_close(&world);
    }
}

/* Would a prefix that goes ahead save a packet?  Where packets cost much that is so for
 * a few sizes between others. */
static bool prefix_saves(const struct am_cost_in *in, size_t bytes)
{
    return bytes > in->packet_max &&
           bytes % in->packet_max <= in->prefix_bytes &&
           bytes % in->packet_max != 0;
}

/* Each size goes by a protocol whose cost is above the lowest by at most one part in
 * so many. */
static void table_check(const struct am_proto_kind *kind, uint64_t parts)
{
    for (int contiguous = 0; contiguous < 2; contiguous++) {
        struct am_cost_in in = kind->cost;

        in.contiguous = contiguous == 1;
        for (size_t bytes = 0; bytes < (size_t)1 << 35;
             bytes += bytes / 7 + 1) {
            am_proto_t proto = am_proto_select(kind, bytes, contiguous == 1);
            uint64_t cost = am_proto_cost_ps(&in, proto, bytes);

            for (int i = 0; i < AM_PROTO_COUNT; i++) {
                uint64_t other = am_proto_cost_ps(&in, (am_proto_t)i, bytes);

                if (i == P && prefix_saves(&in, bytes)) {
                    continue;
                }
                assert_true(cost <= other || cost - other <= other / parts);
            }
        }
    }
}

/* With nothing set: a fiftieth is the margin against rows of near ties. */
static void test_model(void **state)
{
    struct world world;

    world_open(&world, 2, NULL);
    table_check(kind_at(&world), 50);
    world_close(&world);
}

/* A number of up to so many digits, each length as likely. */
static uint64_t digits(struct am_prng *prng, uint32_t most)
{
    uint64_t limit = 1;

    for (uint32_t i = am_prng_below(prng, most) + 1; i > 0; i--) {
        limit *= 10;
    }
    return am_prng_next(prng) % limit;
}

/* Up to the limit a series is no slower as eager messages, and beyond it is; by what
 * the model says of one packet more and of a single copy. */
static void series_check(const struct am_proto_kind *kind)
{
    const struct am_cost_in *in = &kind->cost;
    const size_t packet = in->packet_max,
                 at[] = {kind->series_max, kind->series_max + 1};

    if ((in->caps & AM_DEV_CAP_MAPPED) == 0 ||
        (in->caps & AM_DEV_CAP_GET) == 0 || in->perf.shared_core) {
        assert_int_equal(kind->series_max, 0);
        return;
    }
    for (int i = 0; i < 2 && at[i] <= packet; i++) {
        uint64_t eager_ps =
                am_cost_stream_ps(&in->perf, packet, packet + at[i]) -
                am_cost_stream_ps(&in->perf, packet, packet);
        uint64_t single_ps =
                am_cost_short_ps(&in->perf) +
                am_cost_single_ps(&in->perf, in->caps, AM_COST_GET, at[i]);

        assert_true(at[i] == 0 || (eager_ps <= single_ps) == (i == 0));
    }
    assert_true(kind->series_max <= packet);
}

/* The same for any costs, up to a twentieth: the sizes at which protocols are
 * compared lie apart. */
static void test_any_costs(void **state)
{
    struct am_prng prng = test_prng("msg_choice_test any costs");
    struct am_dev_perf perf;
    struct am_proto_kind kind;
    struct world world;

    world_open(&world, 2, NULL);
    for (int i = 0; i < 200; i++) {
        kind = *kind_at(&world);
        perf = *kind.perf;
        kind.perf = &perf;
        perf.send_overhead =
                (struct am_linfn){digits(&prng, 6), digits(&prng, 6)};
        perf.recv_overhead =
                (struct am_linfn){digits(&prng, 6), digits(&prng, 6)};
        perf.wire.fixed_ps = digits(&prng, 7);
        perf.get = (struct am_linfn){digits(&prng, 7), digits(&prng, 6)};
        perf.put = (struct am_linfn){digits(&prng, 7), digits(&prng, 6)};
        perf.turn_ps = am_prng_below(&prng, 2) == 0 ? 0 : digits(&prng, 8);
        am_proto_kind_fill(&kind, am_msg_of(world.ctx[0]));
        table_check(&kind, 20);
        series_check(&kind);
    }
    world_close(&world);
}

/* The costs of longer messages are never lower: no formula has a dip, but for what
 * its terms are rounded by. */
static void test_monotone(void **state)
{
    struct world world;
    struct am_cost_in in;

    world_open(&world, 2, NULL);
    in = kind_at(&world)->cost;
    for (int i = 0; i < AM_PROTO_COUNT; i++) {
        uint64_t last = 0;

        for (size_t bytes = 0; bytes < (size_t)1 << 24;
             bytes += bytes / 50 + 1) {
            uint64_t cost = am_proto_cost_ps(&in, (am_proto_t)i, bytes);

            assert_true(cost >= last || last - cost <= ROUNDED_PS);
            last = cost;
        }
    }
    world_close(&world);
}

/* Keep to the first CPUs that this process may use; how many there are. */
static int keep_cpus(int count, cpu_set_t *before)
{
    cpu_set_t set;
    int kept = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(*before), before), 0);
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE && kept < count; cpu++) {
        if (CPU_ISSET(cpu, before)) {
            CPU_SET(cpu, &set);
            kept++;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
    return kept;
}

static bool has_ring(struct world *world, const char *ring)
{
    char text[4096];

    (void)am_describe(world->ctx[0], "devices", text, sizeof(text));
    return strstr(text, ring) != NULL;
}

/* The size from which on a message waits for an answer; nothing below it goes
 * through the region unless `buffered`. */
static size_t eager_end(struct world *world, bool buffered)
{
    const struct am_proto_kind *kind = kind_at(world);
    size_t bytes = 0;
    am_proto_t proto;

    while ((proto = am_proto_select(kind, bytes, true)) <= B) {
        assert_true(proto == E || buffered);
        bytes += bytes / 50 + 1;
    }
    return bytes;
}

/* The same ranks when all goes by rendezvous: a short message is fetched by its
 * receiver, where it can without the sender; a long one streams. */
static void test_turns_rndv(void)
{
    static const struct am_option none[] = {{"AM_EAGER_MAX", "0"},
                                            {"AM_BUFFERED_MAX", "0"},
                                            {"AM_PREFIX_MAX", "0"},
                                            {NULL, NULL}};
    const struct am_option *lists[] = {none, none, none, NULL};
    const struct am_proto_kind *kind;
    struct world world;
    bool single;

    world_open(&world, 3, lists);
    world_settle(&world);
    (void)am_ctx_poll_wait(world.ctx[0]);
    kind = kind_at(&world);
    single = (kind->cost.caps & AM_DEV_CAP_GET) != 0;
    /* where a system call takes long a single copy costs more than a turn */
    if (!single || kind->cost.perf.get.fixed_ps <= 1000000) {
        assert_int_equal(am_proto_select(kind, 12, true), single ? G : U);
    }
    assert_int_equal(am_proto_select(kind, 12, false), U);
    assert_int_equal(am_proto_select(kind, 1 << 20, true), U);
    world_close(&world);
}

/* Two that have one CPU: what an answer costs is measured; and not for those who may
 * run on others, too. */
static void test_turns_core(uint32_t cpus, bool measured)
{
    static const uint64_t round_ps = 12000000;
    struct world world;
    cpu_set_t before;

    assert_int_equal(keep_cpus((int)cpus, &before), cpus);
    world_open(&world, cpus + 1, NULL);
    world_settle(&world);
    (void)am_ctx_poll_wait(world.ctx[0]);
    assert_in_range(kind_at(&world)->cost.perf.turn_ps, 1, round_ps - 1);
    shm_costs_guess(shm_dev_of(world.ctx[0]->devs[0]), round_ps);
    world_poll(&world);
    assert_int_equal(kind_at(&world)->cost.perf.turn_ps == round_ps, measured);
    world_close(&world);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* Ranks that outnumber the CPUs: short rings, no region that one message
 * fills, and no long message that comes before its receive. */
static void test_turns(void **state)
{
    struct world world;
    cpu_set_t before;
    size_t alone = SIZE_MAX;

    if (world_env != NULL) {
        return; /* simulated hosts do not share CPUs */
    }
    if (keep_cpus(2, &before) == 2) {
        world_open(&world, 2, NULL);
        assert_true(has_ring(&world, "ring 1048576 B") ||
                    has_ring(&world, "ring 2097152 B") ||
                    has_ring(&world, "ring 4194304 B"));
        assert_int_equal(kind_at(&world)->cost.perf.turn_ps, 0);
        alone = eager_end(&world, true);
        world_close(&world);
    }
    world_open(&world, 3, NULL);
    world_settle(&world);
    (void)am_ctx_poll_wait(
            world.ctx[0]); /* who waits looks who else is there */
    assert_true(has_ring(&world, "ring 262144 B"));
    assert_true(kind_at(&world)->cost.perf.turn_ps > 0);
    assert_true(eager_end(&world, false) < alone);
    world_close(&world);
    test_turns_rndv();
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    test_turns_core(1, true);
    if (alone < SIZE_MAX) { /* there are two */
        test_turns_core(2, false);
    }
}

static void test_bad_values(void **state)
{
    static const char *const bad[][2] = {
            {"AM_PROTO", "eagre"},
            {"AM_PROTO", "eager:,get"},
            {"AM_PROTO", ""},
            {"AM_PROTO", "eager:1k,"},
            {"AM_PROTO", "eager:4k,get:1k"},
            {"AM_PROTO", "get,eager:1k"},
            {"AM_EAGER_MAX", "many"},
            {"AM_BUFFERED_MAX", "-1"},
            {"AM_PREFIX_MAX", "1q"},
            {"AM_PREFIX_BYTES", "auto"},
            {"AM_RNDV", "fast"},
            {"AM_BUFFER_BINS", "8"},
            {"AM_BUFFER_BINS", "x1k"},
            {"AM_BUFFER_BINS", "8x"},
            {"AM_BUFFERING", "tcgmsg"},
            {"AM_UNEXP_MAX", "lots"},
            {"AM_EAGER_MAX", "99999999999999999999"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct am_option option = {bad[i][0], bad[i][1]};
        char error[512] = "";
        struct am_params params = {.size = 1,
                                   .options = &option,
                                   .option_count = 1,
                                   .error = error,
                                   .error_bytes = sizeof(error)};
        struct am_ctx *ctx;

        assert_int_equal(am_open(&params, &ctx), AM_ERR_CONFIG);
        assert_non_null(strstr(error, bad[i][0])); /* names the variable */
    }
}

static void pass(struct world *world, uint32_t from, uint32_t to, size_t bytes)
{
    const struct am_msg_envelope envelope = {1, from, 5};
    struct shaped source, target;
    struct ended sent, received;

    shaped_open(&source, SHAPE_CONTIG, bytes);
    shaped_open(&target, SHAPE_CONTIG, bytes);
    shaped_fill(&source, (uint32_t)bytes);
    world_recv(world, to, envelope, MASK_EXACT, &target.data, &received);
    world_send(world, from, to, envelope, &source.data, 0, &sent);
    world_wait(world, &received);
    world_wait(world, &sent);
    shaped_check(&target, (uint32_t)bytes, bytes);
    shaped_close(&source);
    shaped_close(&target);
}

/* Every variable at 0, at the largest size_t, and between, on both ranks or
 * on one: messages of all sizes pass. */
static void test_extremes(void **state)
{
    static const char *const names[] = {"AM_EAGER_MAX",    "AM_BUFFERED_MAX",
                                        "AM_PREFIX_MAX",   "AM_PREFIX_BYTES",
                                        "AM_BUFFER_BYTES", "AM_UNEXP_MAX"};
    static const char *const values[] = {"0", "1", "100", "5k", "max"};
    static const size_t sizes[] = {0, 1, 99, 4096, 20000, 300000};

    for (int i = 0; i < 6 * 5 * 2; i++) {
        const struct am_option options[] = {
                {names[i % 6], values[i / 6 % 5]},
                {i % 6 == 3 ? "AM_PROTO" : NULL, "prefix"},
                {NULL, NULL}};
        const struct am_option *lists[] = {options,
                                           i / 30 == 0 ? options : NULL};
        struct world world;

        world_open(&world, 2, lists);
        for (int k = 0; k < 18; k++) {
            pass(&world, (uint32_t)k % 2, 1 - (uint32_t)k % 2, sizes[k % 6]);
        }
        world_close(&world);
    }
}

static void test_describe(void **state)
{
    struct world world;
    char text[8192];
    size_t length;

    world_open(&world, 2, NULL);
    length = am_describe(world.ctx[0], "protocols", text, sizeof(text));
    assert_in_range(length, 100, sizeof(text) - 1);
    assert_int_equal(strlen(text), length);
    assert_non_null(strstr(text, world_env == NULL ? "device shm" : "device "));
    assert_non_null(strstr(text, "lowest cost"));
    /* too short a buffer gets a beginning, and the full length is told */
    assert_int_equal(am_describe(world.ctx[0], "protocols", text, 20), length);
    assert_int_equal(strlen(text), 19);
    world_close(&world);
}

static uint64_t sent_by(const struct world *world, am_proto_t proto)
{
    return am_msg_of(world->ctx[0])->stats[AM_MSG_TX_MESSAGES + proto];
}

/* Far from each other a single message of 24 KiB is fetched, and of a series those
 * behind the first four are eager, until one comes back; not where the user says
 * what is eager. */
static void test_series(void **state)
{
    enum {
        BYTES = 24 * 1024,
        MORE = 6
    };
    static const struct am_option free_list[] = {{"AM_LEARN", "no"},
                                                 {NULL, NULL}};
    static const struct am_option set_list[] = {
            {"AM_LEARN", "no"}, {"AM_EAGER_MAX", "1k"}, {NULL, NULL}};

    for (int set = 0; set < 2 && world_env == NULL; set++) {
        const struct am_option *lists[] = {set == 1 ? set_list : free_list,
                                           NULL};
        struct world world;
        struct am_proto_kind *kind;
        struct am_dev_perf *perf;
        uint64_t series = set == 1 ? 0 : MORE;

        world_open(&world, 2, lists);
        kind = (struct am_proto_kind *)(uintptr_t)kind_at(&world);
        perf = (struct am_dev_perf *)(uintptr_t)kind->perf;
        perf->send_overhead.per_byte_fs = perf->recv_overhead.per_byte_fs =
                100000;
        perf->wire.fixed_ps = 100000;
        perf->get = perf->put = (struct am_linfn){2000000, 20000};
        am_proto_kind_fill(kind, am_msg_of(world.ctx[0]));
        assert_int_equal(am_proto_select(kind, BYTES, true), G);
        for (int i = 0; i < AM_PROTO_SERIES + MORE; i++) {
            pass(&world, 0, 1, BYTES);
        }
        assert_int_equal(sent_by(&world, E), series);
        for (size_t answer = 8; answer <= BYTES; answer += BYTES - 8) {
            pass(&world, 1, 0, answer);
            pass(&world, 0, 1, BYTES);
            assert_int_equal(sent_by(&world, E), series);
        }
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_settings),   cmocka_unit_test(test_model),
            cmocka_unit_test(test_any_costs),  cmocka_unit_test(test_monotone),
            cmocka_unit_test(test_bad_values), cmocka_unit_test(test_extremes),
            cmocka_unit_test(test_describe),   cmocka_unit_test(test_turns),
            cmocka_unit_test(test_series),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
