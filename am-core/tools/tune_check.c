/*
 * am_tune --check: the protocol that is chosen, beside each that could be, at
 * every size, there and back, one way and both ways; and what the model says.
 */
#include "config.h"

#include "tools/tune.h"

#include "msg/proto.h"
#include "msg/proto_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CANDIDATES = 1 + AM_PROTO_COUNT, /* the choice, then each forced */
};

#define CHECK_BYTES_MAX ((size_t)4 << 20)

/* What the messages do; half a round trip, or the time for each of a stream. */
struct pattern {
    const char *name;
    int (*run)(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
               int count, uint64_t *each_ps);
};

struct check {
    struct tune_pair *pair;
    struct am_ctx *ctx[CANDIDATES];
    const struct pattern *pattern;
    uint32_t losses, sizes;
};

static int one_way(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                   int count, uint64_t *each_ps)
{
    return tune_stream(pair, ctx, bytes, count, false, each_ps);
}

static int both_ways(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                     int count, uint64_t *each_ps)
{
    return tune_stream(pair, ctx, bytes, count, true, each_ps);
}

static const struct pattern patterns[] = {
        {"there and back, half of it", tune_half},
        {"one way, each message of a stream", one_way},
        {"both ways, each message of a stream", both_ways},
};

static int contexts_open(struct check *check, const char *profile)
{
    for (int i = 0; i < CANDIDATES; i++) {
        const char *name = i == 0 ? "auto" : am_protos[i - 1]->name;
        const struct am_option options[] = {
                {"AM_PROTO", name}, {"AM_PROFILE", profile}, {NULL, NULL}};

        check->ctx[i] = tune_ctx_open(check->pair, options);
        if (check->ctx[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

/* Fewer of long messages: some milliseconds each. */
static int iterations(size_t bytes)
{
    return bytes <= 4096 ? 400 : bytes <= 256 * 1024 ? 60 : 8;
}

/* Every candidate in each round; the first round, in which memory is touched for
 * the first time, does not count. */
static int size_measure(struct check *check, size_t bytes,
                        uint64_t each_ps[CANDIDATES][TUNE_ROUNDS])
{
    for (int round = -1; round < TUNE_ROUNDS; round++) {
        for (int k = 0; k < CANDIDATES; k++) { /* nobody is always first */
            int i = (k + round + 1) % CANDIDATES;

            if (check->pattern->run(check->pair, check->ctx[i], bytes,
                                    iterations(bytes),
                                    &each_ps[i][round < 0 ? 0 : round]) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* The forced protocol to which the choice loses most. */
static int worst_of(uint64_t each_ps[CANDIDATES][TUNE_ROUNDS],
                    struct tune_ratio *ratio_p)
{
    int worst = 1;

    for (int i = 1; i < CANDIDATES; i++) {
        struct tune_ratio ratio =
                tune_ratio_of(each_ps[0], each_ps[i], TUNE_ROUNDS);

        if (i == 1 || ratio.middle > ratio_p->middle) {
            *ratio_p = ratio;
            worst = i;
        }
    }
    return worst;
}

static void size_print(struct check *check, size_t bytes,
                       uint64_t each_ps[CANDIDATES][TUNE_ROUNDS])
{
    struct am_ctx *ctx = check->ctx[0];
    am_status_t status;
    const struct am_proto_kind *kind = am_proto_kind_of(
            am_msg_of(ctx), am_peer_get(ctx, 1 - am_rank(ctx), &status));
    am_proto_t proto = am_proto_select(kind, bytes, true);
    struct am_cost_in in = kind->cost;
    struct tune_ratio ratio = {0, 0, 0};
    int best = worst_of(each_ps, &ratio);

    in.contiguous = true;
    printf("%9zu  %-8s %10.2f %10.2f  %-8s %5.2f  %5.2f to %.2f", bytes,
           am_protos[proto]->name,
           (double)am_proto_cost_ps(&in, proto, bytes) / 1e6,
           (double)tune_median(each_ps[0], TUNE_ROUNDS) / 1e6,
           am_protos[best - 1]->name, (double)ratio.middle / 1e3,
           (double)ratio.low / 1e3, (double)ratio.high / 1e3);
    check->sizes++;
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
        printf("# %s\n"
               "#   bytes  choice     model us    here us  best      ratio of "
               "the choice to it\n",
               check->pattern->name);
    }
    for (size_t bytes = 1; bytes <= CHECK_BYTES_MAX && result == 0;
         bytes *= 2) {
        uint64_t each_ps[CANDIDATES][TUNE_ROUNDS];

        result = size_measure(check, bytes, each_ps);
        if (result == 0 && check->pair->rank == 0) {
            size_print(check, bytes, each_ps);
        }
    }
    return result;
}

int tune_check(struct tune_pair *pair, const char *profile)
{
    struct check check = {.pair = pair};
    int result = contexts_open(&check, profile == NULL ? "auto" : profile);

    if (pair->rank == 0 && result == 0) {
        printf("# the choice beside the best protocol forced, in %d rounds; a "
               "protocol cannot carry every size, and then goes as the next\n",
               TUNE_ROUNDS);
    }
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        check.pattern = &patterns[i];
        result = result == 0 ? pattern_check(&check) : result;
    }
    if (pair->rank == 0 && result == 0) {
        printf("# the choice loses more than %d%% at %u of %u sizes\n",
               TUNE_LOSS_PERCENT, check.losses, check.sizes);
    }
    for (int i = 0; i < CANDIDATES; i++) {
        am_close(check.ctx[i]);
    }
    return result;
}
