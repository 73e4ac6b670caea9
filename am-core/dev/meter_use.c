/*
 * What a meter uses: the numbers that it began with or what was seen, and when it tries
 * again what it has left.  Each number is judged by itself, except both ways with
 * AM_LEARN_MUCH, where the stream as a whole is judged beside the single copy.
 */
#include "config.h"

#include "dev/meter_use.h"

enum {
    /* samples before the mean of a trial, which may cost much, is believed */
    METER_SURE_TRIAL = 4,
    /* a change of more than one in so many is used; of what is much, the second */
    METER_RATIO = 4,
    METER_RATIO_SEEN = 8,
    /* so many times the prior, or one in so many, is much; and less by one in so many
     * once it is used: what lies at the limit does not go to and fro */
    METER_MUCH = 8,
    METER_MUCH_LESS = 4,
    /* A stream both ways is dear when its two copies cost 5/4 of what a single copy was
     * measured to cost, until they cost no more than that: where it was measured last, they
     * took 2 to 3 times as much between far cores, and 0.6 to 1.1 between near ones. */
    METER_DEAR = 4,
    METER_DEAR_ON = 5,
    METER_DEAR_OFF = 4,
    /* A stream both ways that costs a third of its prior, which is a wrong profile,
     * counts as it is seen, until it costs half. */
    METER_CHEAP_ON = 3,
    METER_CHEAP_OFF = 2,
    /* What has not been seen is tried again after so many samples of others. */
    METER_TRIAL = 4096,
    /* A dear stream after more: while messages that were sent before the trial are
     * under way the ends go different ways, which takes 3 ms with a window of 64
     * messages of 512 KiB.  So its first copies are not timed. */
    METER_TRIAL_DEAR = 16384,
    METER_WARM_TRIAL = 64,
    /* AM_LEARN_YES: samples of others until the unseen fades, by one in so many of what
     * is between */
    METER_FADE = 64,
    METER_FADES = 4
};

static bool differs(uint64_t a, uint64_t b, uint64_t ratio)
{
    uint64_t least = a < b ? a : b;
    uint64_t gap = a < b ? b - a : a - b;

    return gap > least / ratio;
}

static bool is_sure(const struct am_rate *rate)
{
    return rate->samples >= rate->sure;
}

static void use(struct am_rate *rate, uint64_t byte_fs, am_from_t from)
{
    rate->used_fs = byte_fs;
    rate->from = from;
}

static void forget(struct am_rate *rate, uint32_t sure)
{
    rate->unseen = rate->samples = 0;
    rate->sure = sure;
}

/* ------------------------------------------------- each number by itself */

/* Is what is seen of it used? */
static bool uses_seen(const struct am_meter *meter, const struct am_rate *rate)
{
    return meter->learn == AM_LEARN_MUCH && rate->from == AM_FROM_RUN;
}

/* Is a stream, either of its copies, much dearer than it was thought? */
static bool stream_is_much(struct am_meter *meter)
{
    const struct am_rate *rates = am_meter_rates(meter);

    return rates[AM_COPY_IN].much || rates[AM_COPY_OUT].much;
}

/* A little more or less does not outdo a prior, except where ranks take turns on a core: there
 * copies hardly wait for the other end, and take what they cost. */
static bool differs_much(const struct am_meter *meter,
                         const struct am_rate *rate)
{
    uint64_t much = METER_MUCH_LESS * METER_MUCH;
    uint64_t a = rate->seen_fs, b = rate->prior_fs;

    if (meter->perf.shared_core) {
        return true;
    }
    if (uses_seen(meter, rate)) {
        much -= much / METER_MUCH_LESS;
    }
    return (a < b ? b : a) * METER_MUCH_LESS / much > (a < b ? a : b);
}

/* Use what was seen if it is far from what is used, and not just after a
 * change: a table of protocols depends on it. */
static bool adopt(struct am_meter *meter, struct am_rate *rate)
{
    bool prior;
    uint64_t wanted;

    if (meter->rest > 0 || !is_sure(rate)) {
        return false;
    }
    rate->much = meter->learn == AM_LEARN_MUCH && differs_much(meter, rate);
    /* what made one copy of a stream dear, cores that are far say, makes the other and a
     * single copy dear as well: then all are compared as they were seen */
    prior = meter->learn == AM_LEARN_MUCH && !rate->much &&
            !stream_is_much(meter);
    wanted = prior ? rate->prior_fs : rate->seen_fs;
    if (!differs(wanted, rate->used_fs,
                 uses_seen(meter, rate) ? METER_RATIO_SEEN : METER_RATIO) &&
        !(meter->perf.shared_core && rate->from != AM_FROM_RUN)) {
        return false;
    }
    use(rate, wanted, prior ? rate->prior_from : AM_FROM_RUN);
    return true;
}

/* The prior for some samples, after which what they tell counts at once: where
 * two ways are far apart, a longer trial of the worse one would cost more. */
static bool try_prior(struct am_meter *meter, struct am_rate *rate)
{
    forget(rate, METER_SURE_TRIAL);
    rate->much = false;
    if (!differs(rate->prior_fs, rate->used_fs, METER_RATIO)) {
        return false;
    }
    if (rate != &am_meter_rates(meter)[AM_COPY_SINGLE]) {
        meter->cold_bytes = AM_METER_COLD;
    }
    use(rate, rate->prior_fs, rate->prior_from);
    meter->trial = true;
    return true;
}

/* What is not chosen is not seen, and what was seen of it grows old: it goes
 * back to its prior, and is tried again when it looks cheaper. */
static bool fade(struct am_meter *meter, struct am_rate *rate)
{
    bool much = meter->learn == AM_LEARN_MUCH;

    rate->unseen += meter->stands;
    if (rate->unseen < (much ? METER_TRIAL : METER_FADE)) {
        return false;
    }
    if (much) {
        return try_prior(meter, rate);
    }
    rate->unseen = 0;
    rate->seen_fs = am_meter_toward(rate->seen_fs, rate->prior_fs, METER_FADES);
    return adopt(meter, rate);
}

bool am_meter_passed(struct am_meter *meter, am_copy_t copy)
{
    struct am_rate *rates = am_meter_rates(meter);
    bool changed = false;

    for (int i = 0; i < AM_COPY_COUNT; i++) {
        changed = (i != (int)copy && fade(meter, &rates[i])) || changed;
    }
    return changed;
}

static bool use_each(struct am_meter *meter, am_copy_t copy)
{
    bool changed = adopt(meter, &am_meter_rates(meter)[copy]);

    return am_meter_passed(meter, copy) || changed;
}

/* ------------------------------------------------- both ways, as a whole */

static bool use_other(struct am_rate *rate, uint64_t byte_fs, am_from_t from)
{
    if (!differs(byte_fs, rate->used_fs, METER_RATIO_SEEN) &&
        rate->from == from) {
        return false;
    }
    use(rate, byte_fs, from);
    return true;
}

static bool use_prior_or_seen(struct am_rate *rate, bool prior)
{
    return prior ? use_other(rate, rate->prior_fs, rate->prior_from)
                 : use_other(rate, rate->seen_fs, AM_FROM_RUN);
}

/* Beside a stream that is dear a single copy costs what was measured before, unless it
 * is seen to take another magnitude: what one end sees while the other end still streams
 * is up to twice what single copies take when both ends make them. */
static bool is_outdone(const struct am_rate *single, uint64_t stream_fs)
{
    uint64_t most_fs =
            single->used_fs > stream_fs ? stream_fs / 2 * 3 : stream_fs * 2;

    return is_sure(single) && single->seen_fs > most_fs;
}

/* Use what follows from whether the stream is dear.  Is it something else now? */
static bool use_both(struct am_meter *meter, uint64_t seen_fs,
                     uint64_t prior_fs)
{
    struct am_rate *both = meter->rates[AM_WAYS_BOTH];
    struct am_rate *single = &both[AM_COPY_SINGLE];
    uint64_t cheap =
            both->from == AM_FROM_RUN ? METER_CHEAP_OFF : METER_CHEAP_ON;
    bool prior = !meter->dear && seen_fs >= prior_fs / cheap;
    bool changed = use_prior_or_seen(&both[AM_COPY_IN], prior);

    changed = use_prior_or_seen(&both[AM_COPY_OUT], prior) || changed;
    prior = meter->dear ? !is_outdone(single, seen_fs)
                        : !is_sure(single) || !differs_much(meter, single);
    return use_prior_or_seen(single, prior) || changed;
}

/* A dear stream is tried again with both its copies, which are timed after a while in
 * which the other end has come to try it as well. */
static void try_stream(struct am_meter *meter)
{
    meter->dear = false;
    for (int i = AM_COPY_IN; i <= AM_COPY_OUT; i++) {
        forget(&meter->rates[AM_WAYS_BOTH][i], AM_METER_SURE);
        meter->wait[i] = METER_WARM_TRIAL;
    }
}

static bool use_stream(struct am_meter *meter, am_copy_t copy)
{
    struct am_rate *both = meter->rates[AM_WAYS_BOTH];
    struct am_rate *in = &both[AM_COPY_IN], *out = &both[AM_COPY_OUT];
    /* one core makes both copies */
    uint64_t prior_fs = in->prior_fs + out->prior_fs;
    uint64_t seen_fs = in->seen_fs + out->seen_fs;
    uint64_t single_fs = both[AM_COPY_SINGLE].prior_fs, limit_fs;

    for (int i = 0; i < AM_COPY_COUNT; i++) {
        both[i].unseen += i != (int)copy ? meter->stands : 0;
    }
    if (both[AM_COPY_SINGLE].unseen >= METER_TRIAL) {
        forget(&both[AM_COPY_SINGLE],
               meter->dear ? AM_METER_SURE : METER_SURE_TRIAL);
    }
    if (meter->dear &&
        (in->unseen >= METER_TRIAL_DEAR || out->unseen >= METER_TRIAL_DEAR)) {
        try_stream(meter);
        meter->trial = use_both(meter, prior_fs, prior_fs);
        return meter->trial;
    }
    if (meter->rest > 0) {
        return false;
    }
    if (!is_sure(in) || !is_sure(out)) {
        return use_both(meter, prior_fs, prior_fs);
    }
    if (prior_fs > single_fs * METER_DEAR_ON / METER_DEAR) {
        return use_both(meter, seen_fs, prior_fs); /* its numbers say so */
    }
    limit_fs = single_fs * (meter->dear ? METER_DEAR_OFF : METER_DEAR_ON) /
               METER_DEAR;
    if (!meter->dear &&
        seen_fs > limit_fs) { /* beside streams it took longer */
        forget(&both[AM_COPY_SINGLE], AM_METER_SURE);
    }
    meter->dear = seen_fs > limit_fs;
    return use_both(meter, seen_fs, prior_fs);
}

bool am_meter_use(struct am_meter *meter, am_copy_t copy)
{
    bool single = (meter->learns >> AM_COPY_SINGLE & 1) != 0;

    return meter->learn == AM_LEARN_MUCH && meter->perf.both_ways && single &&
                           !meter->perf.shared_core
                   ? use_stream(meter, copy)
                   : use_each(meter, copy);
}
