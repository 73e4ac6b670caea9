/*
 * Ranks as processes: forked from a test, each with a context of one job, some
 * of which may be killed.
 */
#ifndef AM_TEST_SUPPORT_PROCESS_H
#define AM_TEST_SUPPORT_PROCESS_H

#include <am.h>

enum {
    RANKS_MAX = 8
};

/* Memory that the parent and its children share, for the exchange. */
struct board {
    _Atomic uint32_t arrived;
    _Atomic uint32_t flag[4];
    unsigned char blobs[RANKS_MAX][AM_ADDRESS_BYTES];
};

struct rank {
    struct board *board;
    uint32_t rank, size;
    struct am_ctx *ctx;
    uint64_t pings, pongs; /* of rank_open_pings, or for the body's use */
};

/* Open me->ctx, one of the job's. */
am_status_t rank_open(struct rank *me, const struct am_option *options,
                      uint32_t option_count);

/* Handlers of rank_open_pings: a ping is counted and replied to by a pong, which
 * is counted. */
enum {
    RANK_PING = AM_HANDLER_USER,
    RANK_PONG
};

/* The same, with these handlers; 0, or -1 when it cannot be opened. */
int rank_open_pings(struct rank *me, const struct am_option *options,
                    uint32_t option_count);

/* The value of a counter of me->ctx, by name; UINT64_MAX: there is none. */
uint64_t rank_counter(const struct rank *me, const char *name);

/* The allgather of rank_open; `arg` is a struct rank. */
int rank_exchange(void *arg, const void *mine, void *all, size_t bytes);

/* Stay on the first CPU that I may run on; -1 when that cannot be. */
int stay_on_one_core(void);

/* Count flag `index` up and wait, polling, until it is `count`. */
void rank_meet(struct rank *me, uint32_t index, uint32_t count);

/* Run `body` in `size` processes; the exit codes must be as expected (a
 * negative number: killed by that signal; NULL: all 0). */
void run_ranks(uint32_t size, int (*body)(struct rank *me),
               const int *expected);

#endif
