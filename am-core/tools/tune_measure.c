/*
 * The numbers of a profile, measured between two cores.  Copies through shared
 * memory are timed by the meters of the contexts that make them, as they are
 * while a program runs; the kernel's copy is called as the device calls it.
 */
#include "config.h"

#include "tools/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    SHORT_COUNT = 64,  /* messages in a burst: they fit the slots */
    HALVES = 100,      /* round trips of short messages in a round */
    LONG_COUNT = 544,  /* long messages in a round: the first 32 packets and
                        * 15 of 16 others are not timed (dev/meter.c) */
    SINGLE_COUNT = 16, /* single copies in a round */
};

#define LONG_BYTES   ((size_t)64 * 1024 - 256) /* one packet each */
#define HALF_LEAST   ((size_t)8192)
#define HALF_MOST    ((size_t)32768)
#define SINGLE_MOST  ((size_t)1024 * 1024)
#define SINGLE_LEAST ((size_t)4096)

uint64_t tune_least(const uint64_t *values, int count)
{
    uint64_t least = values[0];

    for (int i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
    }
    return least;
}

/* ---------------------------------------------------------- short messages */

/* Rank 0 sends a burst, then rank 1 takes it: what each pays for a message. */
static int burst(struct tune_pair *pair, struct am_ctx *ctx, uint64_t *each_ps)
{
    uint64_t start;
    char word = 0;
    int result;

    if (tune_swap(pair, &word, &word, 1) != 0) {
        return -1;
    }
    if (pair->rank == 1 && tune_swap(pair, &word, &word, 1) != 0) {
        return -1; /* until all are sent */
    }
    start = am_env_now(pair->env);
    result = pair->rank == 0 ? tune_move(pair, ctx, 8, SHORT_COUNT, 0)
                             : tune_move(pair, ctx, 8, 0, SHORT_COUNT);
    *each_ps = (am_env_now(pair->env) - start) / SHORT_COUNT;
    if (result == 0 && pair->rank == 0) {
        result = tune_swap(pair, &word, &word, 1);
    }
    return result;
}

static int measure_short(struct tune_pair *pair, struct am_profile_row *row)
{
    static const struct am_option options[] = {{"AM_PROFILE", "none"},
                                               {"AM_PROTO", "eager"},
                                               {"AM_WAIT", "spin"},
                                               {NULL, NULL}};
    uint64_t half[TUNE_ROUNDS], each[TUNE_ROUNDS], mine, theirs, both;
    struct am_ctx *ctx = tune_ctx_open(pair, options);
    int result = ctx == NULL ? -1 : 0;

    for (int i = 0; i < TUNE_ROUNDS && result == 0; i++) {
        result = tune_half(pair, ctx, 8, HALVES, &half[i]);
        if (result == 0) {
            result = burst(pair, ctx, &each[i]);
        }
    }
    if (result == 0) {
        mine = tune_least(each, TUNE_ROUNDS);
        result = tune_swap(pair, &mine, &theirs, sizeof(mine));
    }
    am_close(ctx);
    if (result != 0) {
        return -1;
    }
    row->send_ps = pair->rank == 0 ? mine : theirs;
    row->recv_ps = pair->rank == 0 ? theirs : mine;
    row->gap_ps = row->send_ps > row->recv_ps ? row->send_ps : row->recv_ps;
    both = row->send_ps + row->recv_ps;
    mine = tune_least(half, TUNE_ROUNDS);
    row->wire_ps = mine > both + 1000 ? mine - both : 1000;
    return 0;
}

/* ------------------------------------------------------- through the ring */

/* What the meter of the only other rank has of a copy. */
struct looked {
    uint64_t seen_fs;  /* 0: none was timed; each may have met a page fault */
    uint64_t prior_fs; /* built in */
};

static struct looked look(struct am_ctx *ctx, am_ways_t ways, am_copy_t copy)
{
    struct looked looked = {0, 0};
    const struct am_rate *rate;
    am_status_t status;
    struct am_peer *peer = am_peer_get(ctx, 1 - am_rank(ctx), &status);

    if (peer != NULL && peer->ep->meter != NULL) {
        rate = &peer->ep->meter->rates[ways][copy];
        looked.seen_fs = rate->samples == 0 ? 0 : rate->seen_fs;
        looked.prior_fs = rate->prior_fs;
    }
    return looked;
}

/* One way, or both, in a context of its own: the copies in of rank 0 and the
 * copies out of rank 1. */
static int stream(struct tune_pair *pair, am_ways_t ways, struct looked *in,
                  struct looked *out)
{
    static const struct am_option options[] = {{"AM_PROFILE", "none"},
                                               {"AM_PROTO", "eager"},
                                               {"AM_LEARN", "yes"},
                                               {NULL, NULL}};
    struct am_ctx *ctx = tune_ctx_open(pair, options);
    am_copy_t copy = pair->rank == 0 ? AM_COPY_IN : AM_COPY_OUT;
    bool both = ways == AM_WAYS_BOTH;
    struct looked mine, theirs;
    int result;

    if (ctx == NULL) {
        return -1;
    }
    result = tune_move(pair, ctx, LONG_BYTES,
                       both || pair->rank == 0 ? LONG_COUNT : 0,
                       both || pair->rank == 1 ? LONG_COUNT : 0);
    mine = look(ctx, ways, copy);
    if (mine.seen_fs == 0 && both) { /* not noticed: they took turns */
        mine = look(ctx, AM_WAYS_ONE, copy);
    }
    if (result == 0) {
        result = tune_swap(pair, &mine, &theirs, sizeof(mine));
    }
    am_close(ctx);
    *in = pair->rank == 0 ? mine : theirs;
    *out = pair->rank == 0 ? theirs : mine;
    return result;
}

/* The least of the rounds in which one was timed. */
static uint64_t least_seen(const struct tune_pair *pair,
                           const struct looked rounds[TUNE_ROUNDS],
                           const char *what)
{
    uint64_t least = 0;

    for (int i = 0; i < TUNE_ROUNDS; i++) {
        uint64_t seen_fs = rounds[i].seen_fs;

        if (seen_fs != 0 && (least == 0 || seen_fs < least)) {
            least = seen_fs;
        }
    }
    if (least == 0 && pair->rank == 0) {
        printf("no %s could be timed: the number that is built in is kept\n",
               what);
    }
    return least == 0 ? rounds[0].prior_fs : least;
}

static int measure_streams(struct tune_pair *pair, struct am_profile_row *row)
{
    for (int ways = 0; ways < AM_WAYS_COUNT; ways++) {
        struct looked in[TUNE_ROUNDS], out[TUNE_ROUNDS];
        uint64_t *fs = row->byte_fs[ways];

        for (int i = 0; i < TUNE_ROUNDS; i++) {
            if (stream(pair, (am_ways_t)ways, &in[i], &out[i]) != 0) {
                return -1;
            }
        }
        fs[AM_COPY_IN] = least_seen(pair, in, "copy in");
        fs[AM_COPY_OUT] = least_seen(pair, out, "copy out");
    }
    return 0;
}

/* Half a round trip by packets through the ring, the least of the rounds. */
static int half_by_ring(struct tune_pair *pair, struct am_ctx *ctx,
                        size_t bytes, uint64_t *half_ps)
{
    uint64_t each[TUNE_ROUNDS];

    for (int i = 0; i < TUNE_ROUNDS; i++) {
        if (tune_half(pair, ctx, bytes, HALVES, &each[i]) != 0) {
            return -1;
        }
    }
    *half_ps = tune_least(each, TUNE_ROUNDS);
    return 0;
}

/* What both copies of a byte take of half a round trip, in which each waits for the other's
 * lines; in a stream, where the meters look, they take less.  Where that is more, each copy
 * counts as half of it. */
static int measure_halves(struct tune_pair *pair, struct am_profile_row *row)
{
    static const struct am_option options[] = {{"AM_PROFILE", "none"},
                                               {"AM_PROTO", "eager"},
                                               {"AM_SHM_CMA", "off"},
                                               {"AM_LEARN", "no"},
                                               {NULL, NULL}};
    struct am_ctx *ctx = tune_ctx_open(pair, options);
    uint64_t *fs = row->byte_fs[AM_WAYS_ONE];
    uint64_t sum_fs = fs[AM_COPY_IN] + fs[AM_COPY_OUT], both_fs = 0;
    uint64_t least_ps, most_ps;
    int result = ctx == NULL ? -1 : 0;

    if (result == 0) {
        result = half_by_ring(pair, ctx, HALF_LEAST, &least_ps);
    }
    if (result == 0) {
        result = half_by_ring(pair, ctx, HALF_MOST, &most_ps);
    }
    am_close(ctx);
    if (result == 0 && most_ps > least_ps) {
        both_fs = (most_ps - least_ps) * 1000 / (HALF_MOST - HALF_LEAST);
    }
    if (both_fs > sum_fs) {
        fs[AM_COPY_IN] = fs[AM_COPY_OUT] = both_fs / 2;
    }
    return result;
}

/* ------------------------------------------------------------ single copies */

struct place {
    int64_t pid;
    uint64_t address;
};

/* The shortest time of copies out of the other's memory; 0: not allowed. */
static uint64_t single_ps(struct tune_pair *pair, const struct place *from,
                          char *to, size_t bytes)
{
    uint64_t each[SINGLE_COUNT];

    for (int i = 0; i < SINGLE_COUNT; i++) {
        struct iovec local = {to, bytes};
        struct iovec remote = {(void *)(uintptr_t)from->address, bytes};
        uint64_t start = am_env_now(pair->env);

        if (process_vm_readv((pid_t)from->pid, &local, 1, &remote, 1, 0) !=
            (ssize_t)bytes) {
            return 0;
        }
        each[i] = am_env_now(pair->env) - start;
    }
    return tune_least(each, SINGLE_COUNT);
}

/* Rank 0 copies, or both do.  Both go through the same steps, also where the
 * kernel refuses one of them. */
static int single_rounds(struct tune_pair *pair, am_ways_t ways,
                         const struct place *other, char *to,
                         struct am_profile_row *row)
{
    uint64_t few[TUNE_ROUNDS], many[TUNE_ROUNDS], fixed_ps, each_fs;
    char word = 0;

    for (int i = 0; i < TUNE_ROUNDS; i++) {
        bool copies = ways == AM_WAYS_BOTH || pair->rank == 0;

        if (tune_swap(pair, &word, &word, 1) != 0) {
            return -1;
        }
        few[i] = copies ? single_ps(pair, other, to, SINGLE_LEAST) : 0;
        many[i] = copies ? single_ps(pair, other, to, SINGLE_MOST) : 0;
        if (tune_swap(pair, &word, &word, 1) != 0) {
            return -1;
        }
    }
    fixed_ps = tune_least(few, TUNE_ROUNDS);
    each_fs = tune_least(many, TUNE_ROUNDS);
    if (fixed_ps == 0 || each_fs <= fixed_ps) {
        return 0; /* refused, or rank 1 that only looked on */
    }
    each_fs = (each_fs - fixed_ps) * 1000 / (SINGLE_MOST - SINGLE_LEAST);
    row->byte_fs[ways][AM_COPY_SINGLE] = each_fs;
    if (ways == AM_WAYS_ONE) {
        uint64_t bytes_ps = each_fs * SINGLE_LEAST / 1000;

        row->single_ps =
                fixed_ps > bytes_ps + 1000 ? fixed_ps - bytes_ps : 1000;
    }
    return 0;
}

static int measure_single(struct tune_pair *pair, struct am_profile_row *row)
{
    char *memory = malloc(2 * SINGLE_MOST);
    struct place mine = {getpid(), (uintptr_t)memory}, other;
    int result = -1;

    if (memory == NULL) {
        fputs("am_tune: out of memory\n", stderr);
        return -1;
    }
    memset(memory, 1, 2 * SINGLE_MOST);
    result = tune_swap(pair, &mine, &other, sizeof(mine));
    for (int ways = 0; ways < AM_WAYS_COUNT && result == 0; ways++) {
        result = single_rounds(pair, (am_ways_t)ways, &other,
                               memory + SINGLE_MOST, row);
    }
    free(memory);
    return result;
}

int tune_measure(struct tune_pair *pair, struct am_profile_row *row)
{
    row->given = true;
    return measure_short(pair, row) != 0 || measure_streams(pair, row) != 0 ||
                           measure_halves(pair, row) != 0 ||
                           measure_single(pair, row) != 0 ||
                           tune_faster(pair, row) != 0
                   ? -1
                   : 0;
}
