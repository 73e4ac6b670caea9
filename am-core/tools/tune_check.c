/*
 * am_tune --check: the protocol that is chosen, beside each that could be, at
 * every size, in turn; and what the model says of it.
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
    LOSS_PERCENT = 5
};

#define CHECK_BYTES_MAX ((size_t)4 << 20)

struct check {
    struct tune_pair *pair;
    struct am_ctx *ctx[CANDIDATES];
    uint32_t losses, sizes;
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

/* Fewer of long messages: some ten milliseconds each. */
static int iterations(size_t bytes)
{
    return bytes <= 4096 ? 400 : bytes <= 256 * 1024 ? 60 : 8;
}

static int size_measure(struct check *check, size_t bytes,
                        uint64_t half_ps[CANDIDATES])
{
    uint64_t all[CANDIDATES][TUNE_ROUNDS];

    for (int round = 0; round < TUNE_ROUNDS; round++) {
        for (int k = 0; k < CANDIDATES; k++) { /* nobody is always first */
            int i = (k + round) % CANDIDATES;

            if (tune_half(check->pair, check->ctx[i], bytes, iterations(bytes),
                          &all[i][round]) != 0) {
                return -1;
            }
        }
    }
    for (int i = 0; i < CANDIDATES; i++) {
        half_ps[i] = tune_least(all[i], TUNE_ROUNDS);
    }
    return 0;
}

static void size_print(struct check *check, size_t bytes,
                       const uint64_t half_ps[CANDIDATES])
{
    struct am_ctx *ctx = check->ctx[0];
    am_status_t status;
    const struct am_proto_kind *kind = am_proto_kind_of(
            am_msg_of(ctx), am_peer_get(ctx, 1 - am_rank(ctx), &status));
    am_proto_t proto = am_proto_select(kind, bytes, true);
    struct am_cost_in in = kind->cost;
    int best = 1;

    in.contiguous = true;
    for (int i = 2; i < CANDIDATES; i++) {
        best = half_ps[i] < half_ps[best] ? i : best;
    }
    printf("%9zu  %-8s %10.2f %10.2f  %-8s %10.2f", bytes,
           am_protos[proto]->name,
           (double)am_proto_cost_ps(&in, proto, bytes) / 1e6,
           (double)half_ps[0] / 1e6, am_protos[best - 1]->name,
           (double)half_ps[best] / 1e6);
    check->sizes++;
    if (half_ps[0] * 100 > half_ps[best] * (100 + LOSS_PERCENT)) {
        check->losses++;
        printf("  loses %.0f%%",
               100.0 * (double)half_ps[0] / (double)half_ps[best] - 100.0);
    }
    printf("\n");
    fflush(stdout);
}

int tune_check(struct tune_pair *pair, const char *profile)
{
    struct check check = {.pair = pair};
    int result = contexts_open(&check, profile == NULL ? "auto" : profile);

    if (pair->rank == 0 && result == 0) {
        printf("# half round trips in us; forced: a protocol cannot carry "
               "every "
               "size, and then goes as the next\n"
               "#   bytes  choice        model       here  best      forced\n");
    }
    for (size_t bytes = 1; bytes <= CHECK_BYTES_MAX && result == 0;
         bytes *= 2) {
        uint64_t half_ps[CANDIDATES];

        result = size_measure(&check, bytes, half_ps);
        if (result == 0 && pair->rank == 0) {
            size_print(&check, bytes, half_ps);
        }
    }
    if (pair->rank == 0 && result == 0) {
        printf("# the choice loses more than %d%% at %u of %u sizes\n",
               LOSS_PERCENT, check.losses, check.sizes);
    }
    for (int i = 0; i < CANDIDATES; i++) {
        am_close(check.ctx[i]);
    }
    return result;
}
