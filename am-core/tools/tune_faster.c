/*
 * By which long messages go faster between two cores, a stream or a single copy: each is made
 * to go by the one and by the other, in turn, for each size and flow of dev/faster.h.
 */
#include "config.h"

#include "tools/tune.h"

enum {
    /* of both; the median of the ratios in them counts */
    FASTER_ROUNDS = 7,
    /* by a stream, if a single copy takes so many thousandths of it: the first lap of one
     * through new memory takes longer */
    FASTER_STREAM = 1050,
    /* windows at least before those that are timed, and these */
    FASTER_BEFORE = 2,
    FASTER_WINDOWS = 4,
    /* round trips for a window, where each message is answered */
    FASTER_TRIPS = 8,
    /* messages in a window: as many as the usual benchmarks have, but of long ones fewer */
    WINDOW_MOST = 64,
    WINDOW_LEAST = 16
};

/* What a window has at most where messages are not to be fewer. */
#define WINDOW_BYTES ((size_t)16 * 1024 * 1024)
/* After so many a ring is warm: some laps through all of it. */
#define WARM_BYTES ((size_t)8 * 1024 * 1024)

static int window_of(size_t bytes)
{
    size_t count = WINDOW_BYTES / bytes;

    return count > WINDOW_MOST    ? WINDOW_MOST
           : count < WINDOW_LEAST ? WINDOW_LEAST
                                  : (int)count;
}

/* Windows until rings and buffers are warm. */
static int before_of(am_flow_t flow, size_t bytes)
{
    int each = flow == AM_FLOW_ALONE ? FASTER_TRIPS : window_of(bytes);
    int count = (int)(WARM_BYTES / (bytes * (size_t)each));

    return count > FASTER_BEFORE ? count : FASTER_BEFORE;
}

static int windows(struct tune_pair *pair, struct am_ctx *ctx, am_flow_t flow,
                   size_t bytes, int count)
{
    uint64_t half_ps;
    int result = 0;

    if (flow == AM_FLOW_ALONE) {
        return tune_half(pair, ctx, bytes, count * FASTER_TRIPS, &half_ps);
    }
    for (int i = 0; i < count && result == 0; i++) {
        result = tune_window(pair, ctx, bytes, window_of(bytes),
                             flow == AM_FLOW_BOTH);
    }
    return result;
}

/* In a context of its own: what memory a ring has is by chance, and stays. */
static int one_measure(struct tune_pair *pair, am_flow_t flow, am_by_t by,
                       size_t bytes, uint64_t *elapsed_ps)
{
    static const struct am_option streams[] = {{"AM_PROFILE", "none"},
                                               {"AM_LEARN", "no"},
                                               {"AM_SHM_CMA", "off"},
                                               {NULL, NULL}};
    static const struct am_option singles[] = {
            {"AM_PROFILE", "none"},   {"AM_LEARN", "no"},
            {"AM_EAGER_MAX", "4096"}, {"AM_RNDV", "get"},
            {"AM_SHM_CMA", "on"},     {NULL, NULL}};
    struct am_ctx *ctx =
            tune_ctx_open(pair, by == AM_BY_STREAM ? streams : singles);
    uint64_t start_ps;
    int result = ctx == NULL ? -1 : 0;

    if (result == 0) {
        result = windows(pair, ctx, flow, bytes, before_of(flow, bytes));
    }
    if (result == 0) {
        result = tune_timed_start(pair, &start_ps);
    }
    if (result == 0) {
        result = windows(pair, ctx, flow, bytes, FASTER_WINDOWS);
    }
    if (result == 0) {
        result = tune_timed_stop(pair, start_ps, elapsed_ps);
    }
    am_close(ctx);
    return result;
}

static int size_measure(struct tune_pair *pair, am_flow_t flow, size_t bytes,
                        uint8_t *by_p)
{
    uint64_t elapsed_ps[AM_BY_COUNT][FASTER_ROUNDS];
    struct tune_ratio ratio;

    for (int round = 0; round < FASTER_ROUNDS; round++) {
        for (int by = AM_BY_STREAM; by <= AM_BY_SINGLE; by++) {
            if (one_measure(pair, flow, (am_by_t)by, bytes,
                            &elapsed_ps[by][round]) != 0) {
                return -1;
            }
        }
    }
    ratio = tune_ratio_of(elapsed_ps[AM_BY_SINGLE], elapsed_ps[AM_BY_STREAM],
                          FASTER_ROUNDS);
    *by_p = ratio.middle > FASTER_STREAM ? AM_BY_STREAM : AM_BY_SINGLE;
    return 0;
}

int tune_faster(struct tune_pair *pair, struct am_profile_row *row)
{
    uint64_t mine = row->single_ps, theirs;

    if (tune_swap(pair, &mine, &theirs, sizeof(mine)) != 0) {
        return -1;
    }
    if ((pair->rank == 0 ? mine : theirs) == 0) {
        return 0; /* the kernel allows no single copies */
    }
    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        for (int i = 0; i < AM_FASTER_SIZES; i++) {
            if (size_measure(pair, (am_flow_t)flow, AM_FASTER_BYTES << i,
                             &row->faster.by[flow][i]) != 0) {
                return -1;
            }
        }
    }
    row->compared = true;
    return 0;
}
