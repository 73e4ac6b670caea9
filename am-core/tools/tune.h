/*
 * am_tune's parts: two processes bound to cores, what they measure, and the
 * comparison of every protocol with the one that is chosen.
 */
#ifndef AM_TOOLS_TUNE_H
#define AM_TOOLS_TUNE_H

#include "am/ctx.h"
#include "dev/profile.h"
#include "tools/perf.h"

enum {
    TUNE_LOSS_PERCENT = 5, /* more is told */
    TUNE_ROUNDS = 15, /* of each measurement; the best counts, as others may
                       * want the cores */
    TUNE_ROUNDS_MOST = 64,
    TUNE_WINDOW = 4   /* long messages under way at a time */
};

/* The longest message: in windows to and fro both processes have buffers for 16 of
 * these together, which is 1 GiB. */
#define TUNE_BYTES_MOST ((size_t)64 << 20)

/* What --check compares. */
struct tune_plan {
    size_t sizes[PERF_SIZES_MAX];
    uint32_t size_count;
    int rounds; /* 1 to TUNE_ROUNDS_MOST */
};

/* This process is one of the two; each function that takes a pair is called by
 * both.  They return 0, or -1 after a sentence on stderr. */
struct tune_pair {
    uint32_t rank; /* 0: it goes on after tune_pair_close, 1: it ends there */
    int socket;    /* to the other */
    int child;     /* rank 0's: its pid */
    struct tune_meeting *meeting; /* memory that both have */
    struct am_env *env;
};

int tune_pair_open(struct tune_pair *pair, const uint16_t cores[2]);
/* For rank 1 this does not return. */
int tune_pair_close(struct tune_pair *pair, int result);
/* Give the other `bytes` and get as many from it; both wait for each other. */
int tune_swap(struct tune_pair *pair, const void *mine, void *theirs,
              size_t bytes);
/* Wait for the other to be here as well: both go on within a fraction of a
 * microsecond, or, where they share a core, one after the other. */
int tune_meet(struct tune_pair *pair);
/* A context connected to the other's, or NULL.  The list ends with a NULL name;
 * AM_DEVICES is shm. */
struct am_ctx *tune_ctx_open(struct tune_pair *pair,
                             const struct am_option *options);

/* Send `count` messages of `bytes` to the other, receive as many from it, or
 * both; wait for all. */
int tune_move(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
              int sends, int receives);
/* Half a round trip, the mean over some iterations. */
int tune_half(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
              int iterations, uint64_t *half_ps);
/* Send `count` messages to the other, or each to the other, in windows that are
 * waited for. */
int tune_stream(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                int count, bool both);
/* The same in one window and with one buffer, as the usual benchmarks do it. */
int tune_window(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                int count, bool both);

/* What is between the two took so long, from when the first of both began to when
 * the last had ended: where they share a core, nothing is left out because the other
 * did it before this one could look at the clock. */
int tune_timed_start(struct tune_pair *pair, uint64_t *start_ps);
int tune_timed_stop(struct tune_pair *pair, uint64_t start_ps,
                    uint64_t *elapsed_ps);

/* tune_measure.c: fill all of the row but `cores`. */
int tune_measure(struct tune_pair *pair, struct am_profile_row *row);
/* tune_faster.c: by which long messages go faster. */
int tune_faster(struct tune_pair *pair, struct am_profile_row *row);
/* tune_check.c: print a line for each size. */
int tune_check(struct tune_pair *pair, const struct tune_plan *plan);

uint64_t tune_least(const uint64_t *values, int count);

/* tune_ratio.c: the choice to another, in thousandths: the middle of the rounds,
 * and between what the true one lies. */
struct tune_ratio {
    uint64_t low, middle, high;
};

/* At most TUNE_ROUNDS_MOST rounds; in each the times of both. */
struct tune_ratio tune_ratio_of(const uint64_t *choice, const uint64_t *other,
                                int rounds);
/* Does the choice lose more than TUNE_LOSS_PERCENT, whatever the noise? */
bool tune_ratio_loses(const struct tune_ratio *ratio);
uint64_t tune_median(const uint64_t *values, int count);

#endif
