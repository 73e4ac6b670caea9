/*
 * am_tune --check: the protocol that is chosen, beside each that could be, at
 * every size, there and back, one way and both ways, in rings that are warm and
 * in new ones; and what the model says.
 */
#include "config.h"

#include "tools/tune.h"

#include "base/prng.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CANDIDATES = 1 + AM_PROTO_COUNT, /* the choice, then each forced */
    COLD_COUNT = 8,                  /* messages in new rings, ... */
    COLD_BEFORE = 2, /* ... after so many empty round trips: in them the two connect,
                      * and make their tables of protocols; a get, which is forced, makes
                      * no copy in them, the first of which takes some 10 us */
    /* messages before those that count: the meters have seen some; and streams, in which
     * both ways to send long messages have been tried */
    WARM_LEAST = 48,
    WARM_STREAMS = 10
};

/* What the messages do, and how many follow one another for each of the count. */
struct pattern {
    const char *name;
    int (*run)(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
               int count);
    int each;
};

struct check {
    struct tune_pair *pair;
    const struct tune_plan *plan;
    struct am_ctx *ctx; /* that is measured */
    const struct pattern *pattern;
    bool cold;
    struct am_prng prng;
    /* what rank 0's choice was, and what the model says that it costs */
    am_proto_t choice;
    uint64_t choice_ps;
    uint32_t losses, rows;
};

static int there_and_back(struct tune_pair *pair, struct am_ctx *ctx,
                          size_t bytes, int count)
{
    uint64_t half_ps;

    return tune_half(pair, ctx, bytes, count, &half_ps);
}

static int one_way(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                   int count)
{
    return tune_stream(pair, ctx, bytes, count, false);
}

static int both_ways(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                     int count)
{
    return tune_stream(pair, ctx, bytes, count, true);
}

static const struct pattern patterns[] = {
        {"there and back, half of it", there_and_back, 2},
        {"one way, each message of a stream", one_way, 1},
        {"both ways, each message of a stream", both_ways, 1},
};

static int ctx_open(struct check *check, int i)
{
    const struct am_option options[] = {
            {"AM_PROTO", i == 0 ? "auto" : am_protos[i - 1]->name},
            {NULL, NULL}};

    check->ctx = tune_ctx_open(check->pair, options);
    return check->ctx == NULL ? -1 : 0;
}

/* In new rings the first messages, else fewer of long ones: some milliseconds. */
static int iterations(const struct check *check, size_t bytes)
{
    return check->cold           ? COLD_COUNT
           : bytes <= 4096       ? 400
           : bytes <= 256 * 1024 ? 60
                                 : 8;
}

/* What the choice is now: meters may change it as messages go by. */
static void choice_look(struct check *check, size_t bytes)
{
    struct am_ctx *ctx = check->ctx;
    am_status_t status;
    const struct am_proto_kind *kind = am_proto_kind_of(
            am_msg_of(ctx), am_peer_get(ctx, 1 - am_rank(ctx), &status));
    struct am_cost_in in = kind->cost;

    in.contiguous = true;
    check->choice = am_proto_select_behind(
            kind, bytes, check->pattern->run == one_way ? AM_PROTO_SERIES : 0);
    check->choice_ps = am_proto_cost_ps(&in, check->choice, bytes);
}

/* So many messages: half a round trip, or the time for each of a stream. */
static int run_timed(struct check *check, int i, size_t bytes, int count,
                     uint64_t *each_ps)
{
    const struct pattern *pattern = check->pattern;
    uint64_t start_ps, elapsed_ps;

    if (tune_timed_start(check->pair, &start_ps) != 0 ||
        pattern->run(check->pair, check->ctx, bytes, count) != 0 ||
        tune_timed_stop(check->pair, start_ps, &elapsed_ps) != 0) {
        return -1;
    }
    *each_ps = elapsed_ps / (uint64_t)(count * pattern->each);
    return 0;
}

/* What comes ahead of the messages that count: where rings are to be warm, more of
 * the same. */
static int run_before(struct check *check, size_t bytes, int count)
{
    uint64_t half_ps;
    int result = 0;

    if (check->cold) {
        return tune_half(check->pair, check->ctx, 0, COLD_BEFORE, &half_ps);
    }
    if (check->pattern->each > 1) {
        return check->pattern->run(check->pair, check->ctx, bytes,
                                   count > WARM_LEAST ? count : WARM_LEAST);
    }
    for (int i = 0; i < WARM_STREAMS && result == 0; i++) {
        result = check->pattern->run(check->pair, check->ctx, bytes, count);
    }
    return result;
}

/* In a context of its own: how much of a ring is in use, and what memory it has, is
 * by chance, and stays. */
static int one_measure(struct check *check, int i, size_t bytes,
                       uint64_t *each_ps)
{
    int count = iterations(check, bytes);
    int result = ctx_open(check, i);

    if (result == 0) {
        result = run_before(check, bytes, count);
    }
    if (result == 0) {
        result = run_timed(check, i, bytes, count, each_ps);
    }
    if (result == 0 && i == 0) {
        choice_look(check, bytes);
    }
    am_close(check->ctx);
    return result;
}

/* In each round an order of its own, the same for both ranks: what one leaves behind
 * is not always for the same one. */
static void order_draw(struct check *check, int order[CANDIDATES])
{
    for (int i = 0; i < CANDIDATES; i++) {
        int at = (int)am_prng_below(&check->prng, (uint32_t)i + 1);

        order[i] = order[at];
        order[at] = i;
    }
}

/* Every candidate in each round. */
static int size_measure(struct check *check, size_t bytes,
                        uint64_t each_ps[CANDIDATES][TUNE_ROUNDS_MOST])
{
    int order[CANDIDATES] = {0};

    for (int round = 0; round < check->plan->rounds; round++) {
        order_draw(check, order);
        for (int k = 0; k < CANDIDATES; k++) {
            int i = order[k];

            if (one_measure(check, i, bytes, &each_ps[i][round]) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* The forced protocol to which the choice loses most. */
static int worst_of(int rounds, uint64_t each_ps[CANDIDATES][TUNE_ROUNDS_MOST],
                    struct tune_ratio *ratio_p)
{
    int worst = 1;

    for (int i = 1; i < CANDIDATES; i++) {
        struct tune_ratio ratio = tune_ratio_of(each_ps[0], each_ps[i], rounds);

        if (i == 1 || ratio.middle > ratio_p->middle) {
            *ratio_p = ratio;
            worst = i;
        }
    }
    return worst;
}

static void size_print(struct check *check, size_t bytes,
                       uint64_t each_ps[CANDIDATES][TUNE_ROUNDS_MOST])
{
    struct tune_ratio ratio = {0, 0, 0};
    int best = worst_of(check->plan->rounds, each_ps, &ratio);

    printf("%9zu  %-8s %10.2f %10.2f  %-8s %5.2f  %5.2f to %.2f", bytes,
           am_protos[check->choice]->name, (double)check->choice_ps / 1e6,
           (double)tune_median(each_ps[0], check->plan->rounds) / 1e6,
           am_protos[best - 1]->name, (double)ratio.middle / 1e3,
           (double)ratio.low / 1e3, (double)ratio.high / 1e3);
    check->rows++;
    if (tune_ratio_loses(&ratio)) {
        check->losses++;
        printf("  loses");
    }
    printf("\n");
    fflush(stdout);
}

static int pattern_check(struct check *check)
{
    int result = 0;

    if (check->pair->rank == 0) {
        printf("# %s, %s\n"
               "#   bytes  choice     model us    here us  best      ratio of "
               "the choice to it\n",
               check->pattern->name,
               check->cold ? "the first messages in new rings" : "warm");
    }
    for (uint32_t i = 0; i < check->plan->size_count && result == 0; i++) {
        uint64_t each_ps[CANDIDATES][TUNE_ROUNDS_MOST];

        result = size_measure(check, check->plan->sizes[i], each_ps);
        if (result == 0 && check->pair->rank == 0) {
            size_print(check, check->plan->sizes[i], each_ps);
        }
    }
    return result;
}

static int patterns_check(struct check *check)
{
    int result = 0;

    for (size_t i = 0;
         i < sizeof(patterns) / sizeof(patterns[0]) && result == 0; i++) {
        check->pattern = &patterns[i];
        result = pattern_check(check);
    }
    return result;
}

int tune_check(struct tune_pair *pair, const struct tune_plan *plan)
{
    struct check check = {.pair = pair, .plan = plan};
    int result = 0;

    am_prng_seed(&check.prng, 1);

    if (pair->rank == 0) {
        printf("# the choice beside the best protocol forced, in %d rounds; a "
               "protocol cannot carry every size, and then goes as the next\n",
               plan->rounds);
    }
    for (int cold = 0; cold < 2 && result == 0; cold++) {
        check.cold = cold != 0;
        result = patterns_check(&check);
    }
    if (pair->rank == 0 && result == 0) {
        printf("# the choice loses more than %d%% in %u of %u rows\n",
               TUNE_LOSS_PERCENT, check.losses, check.rows);
    }
    return result;
}
