/*
 * A meter keeps what the copies of a device cost, for the peers at one distance:
 * numbers to begin with (a default, a profile, a measurement at start), and a
 * moving mean of what is seen, which replaces them when it is far from them.
 * A pure state machine: no clock, no memory of its own; the device owns it.
 *
 *   prior  --------------->  used: what the costs say (am_meter.perf)
 *     ^                        ^
 *     | fades to, unseen       | when it differs enough
 *     +-------  seen  ---------+  <---- am_meter_sample
 *
 * With AM_LEARN_YES enough is a quarter.  With AM_LEARN_MUCH, the default, what is
 * seen counts only where it is eight times the prior, and the prior stays in use
 * elsewhere; the unseen does not fade, but is tried for four samples after 4,096 of
 * others.  Both ways a stream is then judged as a whole: when its two copies cost 5/4 of
 * a single copy's prior, and were not known to, it is dear, and is tried again after 16,384
 * single copies.
 *
 * Where ranks share a core a copy hardly waits for the other end, and what is seen of it counts
 * as it is, with AM_LEARN_MUCH, too; a copy that is no longer seen is tried after 4,096 samples
 * of others there as well.
 *
 * Of a distance that is different things on different machines there may be several priors,
 * and with AM_LEARN_MUCH, and a core for each rank, the one is used that copies are
 * nearest to.
 *
 * One way and both ways are told apart, as two ends that stream to each other
 * make both copies of each byte on the same two cores: each way has numbers of
 * its own, and those of the way that is noticed are used.
 */
#ifndef AM_DEV_METER_H
#define AM_DEV_METER_H

#include "dev/dev.h"

/* Copies of fewer bytes are not timed: between far cores 8 KiB is where a single
 * copy begins to be faster than a stream.  Reading the clock twice takes a tenth
 * of so short a copy, so that few of them are timed (meter.c). */
#define AM_METER_BYTES ((size_t)8 * 1024)

/* No copy costs more than 0.1 us for each byte; what takes longer, waits. */
#define AM_METER_BYTE_FS_MAX UINT64_C(100000000)

#define AM_METER_PRIORS 3

/* So many single copies and none of a stream, and what a stream costs is tried again. */
#define AM_METER_UNPROVED 4096

/* So many lines that come late in a row, and a core is far. */
#define AM_METER_FAR_SURE 6

typedef enum {
    AM_COPY_IN,     /* by the sender, into the device's memory */
    AM_COPY_OUT,    /* by the receiver, out of it */
    AM_COPY_SINGLE, /* put and get of the device */
    AM_COPY_COUNT
} am_copy_t;

typedef enum {
    AM_WAYS_ONE,
    AM_WAYS_BOTH,
    AM_WAYS_COUNT
} am_ways_t;

/* Where a number comes from. */
typedef enum {
    AM_FROM_DEFAULT, /* it is built in */
    AM_FROM_PROFILE, /* AM_PROFILE */
    AM_FROM_START,   /* measured when the device was opened */
    AM_FROM_RUN,     /* measured since */
    AM_FROM_COUNT
} am_from_t;

/* How far the cores of two ends are from each other. */
typedef enum {
    AM_DISTANCE_CORE,  /* one core, or two threads of it */
    AM_DISTANCE_CACHE, /* they share a cache; also when it is not known */
    AM_DISTANCE_NODE,  /* they share the memory of a NUMA node */
    AM_DISTANCE_FAR,
    AM_DISTANCE_COUNT
} am_distance_t;

/* One copy: femtoseconds for each byte. */
struct am_rate {
    uint64_t prior_fs, seen_fs, used_fs;
    uint32_t samples; /* since it was forgotten last, up to AM_METER_SURE */
    uint32_t sure;    /* as many are needed before the mean is believed */
    uint32_t unseen;  /* samples of other copies since its last */
    bool much;        /* what is seen is another magnitude than the prior */
    am_from_t prior_from, from;
};

struct am_faster;

struct am_meter {
    struct am_dev_perf perf; /* what costs are computed from */
    am_distance_t distance;
    am_from_t short_from;         /* of perf's numbers that no rate has */
    am_learn_t learn;
    uint32_t learns;              /* bits: 1 << am_copy_t */
    uint32_t wait[AM_COPY_COUNT]; /* copies until the next that is timed */
    uint32_t stands;  /* the last sample: for so many copies that were made */
    uint32_t singles; /* the next one of a single copy: for so many */
    uint32_t busy;                /* share of what goes both ways */
    uint32_t rest;                /* samples until a change is allowed */
    uint64_t faults;              /* page faults when last asked for */
    size_t cold_bytes; /* on a shared core: of a stream, until it is in the cache */
    bool dear;                    /* a stream both ways is */
    bool trial;                   /* the change that is made now is a trial */
    uint32_t changes;             /* times that perf has changed */
    struct am_rate rates[AM_WAYS_COUNT][AM_COPY_COUNT];
    uint64_t
            call_ps; /* so long takes a single copy of next to nothing, at least */
    const struct am_dev_perf *const *priors; /* from near to far, or NULL */
    uint8_t prior_count, prior_at;
    /* by prior: what copies take, in 256ths of what it says: a mean */
    uint32_t weights[AM_METER_PRIORS];
    uint32_t unproved; /* single copies since one of a stream was timed */
    bool lines_near;   /* lines do not come late: it is not the cores */
    const struct am_faster *faster; /* by the profile; NULL: it does not say */
    void (*changed)(void *arg); /* perf has; NULL: nobody asks */
    void *arg;
    void (*seen)(struct am_dev_ep *ep, bool near); /* NULL: nobody asks */
};

/* The way that is noticed. */
static inline am_ways_t am_meter_ways(const struct am_meter *meter)
{
    return meter->perf.both_ways ? AM_WAYS_BOTH : AM_WAYS_ONE;
}

/* A mean that moves by one in `part` of what is between. */
static inline uint64_t am_meter_toward(uint64_t from, uint64_t to,
                                       uint64_t part)
{
    return to > from ? from + (to - from) / part : from - (from - to) / part;
}

/* Begin with `perf`: its rates are the prior of both ways.  Nothing is learned
 * until `learns` is set, with `learn`. */
void am_meter_init(struct am_meter *meter, const struct am_dev_perf *perf,
                   am_distance_t distance);
/* Begin with this number, from there. */
void am_meter_prior(struct am_meter *meter, am_ways_t ways, am_copy_t copy,
                    uint64_t byte_fs, am_from_t from);
/* So many priors, of near cores first, of all but single copies' bytes, in memory that
 * stays; the meter has begun with the one `at`. */
void am_meter_priors(struct am_meter *meter,
                     const struct am_dev_perf *const *priors, uint8_t count,
                     uint8_t at);
/* perf.shared_core and turn_ps: do the ends of this distance take turns on a
 * core?  Then nothing is learned of copies that are so long that others have it
 * meanwhile. */
void am_meter_turns(struct am_meter *meter, bool shared_core, uint64_t turn_ps);

/* perf's constant part of a get or put, where a prior says `fixed_ps`. */
static inline uint64_t am_meter_fixed_ps(const struct am_meter *meter,
                                         uint64_t fixed_ps)
{
    return fixed_ps > meter->call_ps ? fixed_ps : meter->call_ps;
}

/* A copy of `bytes` (at least AM_METER_BYTES) took so long. */
void am_meter_sample(struct am_meter *meter, am_copy_t copy, size_t bytes,
                     uint64_t elapsed_ps);
/* The rate that perf has of this copy, of the way that is noticed: perhaps the other copy's. */
const struct am_rate *am_meter_used(const struct am_meter *meter,
                                    am_copy_t copy);

/* A message of several packets is sent; are such ones received meanwhile? */
void am_meter_sent(struct am_meter *meter, bool receives);

/* A line that the peer had just written came as from a cache that is near, or not. */
static inline void am_meter_seen(struct am_dev_ep *ep, bool near)
{
    if (ep != NULL && ep->meter != NULL && ep->meter->seen != NULL) {
        ep->meter->seen(ep, near);
    }
}

const char *am_distance_name(am_distance_t distance);
const char *am_from_text(am_from_t from);

/* Is the next copy not timed because others were? */
static inline bool am_meter_rests(const struct am_meter *meter, am_copy_t copy,
                                  size_t bytes)
{
    return meter != NULL && bytes >= AM_METER_BYTES && meter->wait[copy] != 0;
}

/* When a copy begins, as am_meter_stop takes it; 0: it is not to be timed. */
static inline uint64_t am_meter_start(struct am_meter *meter,
                                      struct am_env *env, am_copy_t copy,
                                      size_t bytes)
{
    if (__builtin_expect(bytes < AM_METER_BYTES, 1) || meter == NULL ||
        (meter->learns >> copy & 1) == 0 ||
        (meter->wait[copy] != 0 && meter->wait[copy]-- != 0)) {
        return 0;
    }
    return am_env_now(env) + 1;
}

/* ... and when it has ended. */
void am_meter_stop(struct am_meter *meter, struct am_env *env, am_copy_t copy,
                   size_t bytes, uint64_t start);

#endif
