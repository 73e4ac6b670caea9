/*
 * What a meter uses: the number that it began with or what was seen, and when it tries
 * again what it has left.
 */
#include "config.h"

#include "dev/meter_use.h"

enum {
    METER_SURE_TRIAL = 4, /* samples before the mean of a trial, which may cost
                           * much, is believed */
    METER_RATIO = 4, /* a change of more than one in so many is used; ... */
    METER_RATIO_SEEN = 8, /* ... so many, of what is much */
    METER_MUCH = 8, /* so many times the prior, or one in so many, is much */
    METER_MUCH_LESS =
            4,          /* ... and less by one in so many, once it is used: what
                          * lies at the limit does not go to and fro */
    METER_DEAR = 16,    /* a stream both ways is dear when it costs, of so many
                          * parts of what was thought, ... */
    METER_DEAR_ON = 25, /* ... more than so many, ... */
    METER_DEAR_OFF = 20, /* ... until it costs no more than these; ... */
    METER_DEAR_LESS =
            8, /* ... a single copy then costs less by one in so many, ... */
    METER_DEAR_MUCH =
            2, /* ... unless it was seen to cost so many times as much */
    METER_WARM_TRIAL =
            64,         /* copies that are not timed when such a stream is tried
                            * again: the other end comes to try it, too */
    METER_TRIAL = 4096, /* samples of others until the unseen is tried again */
    METER_FADE = 64,    /* samples of others until the unseen fades, by ... */
    METER_FADES = 4     /* ... one in so many of what is between */
};

static bool differs(uint64_t a, uint64_t b, uint64_t ratio)
{
    uint64_t least = a < b ? a : b;
    uint64_t gap = a < b ? b - a : a - b;

    return gap > least / ratio;
}

/* Has a rate been seen that was much, and is it used? */
static bool is_much(const struct am_meter *meter, const struct am_rate *rate)
{
    return meter->learn == AM_LEARN_MUCH && rate->from == AM_FROM_RUN;
}

/* Is a stream, either of its copies, much dearer than it was thought? */
static bool stream_is_much(struct am_meter *meter)
{
    const struct am_rate *rates = am_meter_rates(meter);

    return is_much(meter, &rates[AM_COPY_IN]) ||
           is_much(meter, &rates[AM_COPY_OUT]);
}

/* A single copy's prior is a measurement, which a little cannot outdo. */
static bool differs_much(const struct am_meter *meter,
                         const struct am_rate *rate)
{
    uint64_t much = METER_MUCH_LESS * METER_MUCH;
    uint64_t a = rate->seen_fs, b = rate->prior_fs;

    if (is_much(meter, rate)) {
        much -= much / METER_MUCH_LESS;
    }
    return (a < b ? b : a) * METER_MUCH_LESS / much > (a < b ? a : b);
}

static void use(struct am_rate *rate, uint64_t byte_fs, bool prior)
{
    rate->used_fs = byte_fs;
    rate->from = prior ? rate->prior_from : AM_FROM_RUN;
}

/* A single copy where the stream both ways is dear.  It was dearer than this stream in
 * no place where it was measured, and what one end sees of it while the other end still
 * streams is up to twice what it costs when both make single copies. */
static uint64_t dear_single_fs(const struct am_rate *both)
{
    const struct am_rate *single = &both[AM_COPY_SINGLE];
    uint64_t stream_fs = both[AM_COPY_IN].seen_fs + both[AM_COPY_OUT].seen_fs;

    return single->samples >= METER_SURE &&
                           single->seen_fs > METER_DEAR_MUCH * stream_fs
                   ? single->seen_fs
                   : stream_fs - stream_fs / METER_DEAR_LESS;
}

/* Both copies of a stream both ways are made by one core, so that their sum counts:
 * has it become dear, or does it not cost so much any more? */
static bool dear_changes(const struct am_meter *meter)
{
    const struct am_rate *in = &meter->rates[AM_WAYS_BOTH][AM_COPY_IN];
    const struct am_rate *out = &meter->rates[AM_WAYS_BOTH][AM_COPY_OUT];
    uint64_t limit_fs = (in->prior_fs + out->prior_fs) *
                        (meter->dear ? METER_DEAR_OFF : METER_DEAR_ON) /
                        METER_DEAR;

    return in->samples >= in->sure && out->samples >= out->sure &&
           (in->seen_fs + out->seen_fs > limit_fs) != meter->dear;
}

static void dear_set(struct am_meter *meter, bool dear)
{
    struct am_rate *both = meter->rates[AM_WAYS_BOTH];

    meter->dear = dear;
    for (int i = 0; i < AM_COPY_COUNT; i++) {
        use(&both[i], dear ? both[i].seen_fs : both[i].prior_fs, !dear);
    }
    if (dear) { /* what was seen of it before was beside streams */
        both[AM_COPY_SINGLE].samples = 0;
        both[AM_COPY_SINGLE].used_fs = dear_single_fs(both);
    }
}

/* Both ways nothing but the sum of the stream's copies decides (AM_LEARN_MUCH). */
static bool by_sum(const struct am_meter *meter)
{
    return meter->learn == AM_LEARN_MUCH && meter->perf.both_ways;
}

/* What a copy costs by what was seen; *prior: as it was thought. */
static uint64_t wanted_fs(struct am_meter *meter, struct am_rate *rate,
                          bool *prior)
{
    /* what made a stream dear, memory that no cache holds say, may make a single
     * copy dear as well: then the two are compared as they were seen */
    bool single = rate == &am_meter_rates(meter)[AM_COPY_SINGLE];

    if (by_sum(meter) && (meter->dear || !single)) {
        *prior = !meter->dear;
        return *prior   ? rate->prior_fs
               : single ? dear_single_fs(am_meter_rates(meter))
                        : rate->seen_fs;
    }
    *prior = meter->learn == AM_LEARN_MUCH && !differs_much(meter, rate) &&
             !(single && stream_is_much(meter));
    return *prior ? rate->prior_fs : rate->seen_fs;
}

/* Use what was seen if it is far from what is used, and not just after a
 * change: a table of protocols depends on it. */
bool am_meter_adopt(struct am_meter *meter, struct am_rate *rate)
{
    bool prior;
    uint64_t wanted = wanted_fs(meter, rate, &prior);

    if (meter->rest > 0 || rate->samples < rate->sure) {
        return false;
    }
    if (by_sum(meter) && dear_changes(meter)) {
        dear_set(meter, !meter->dear);
        return true;
    }
    if (!differs(wanted, rate->used_fs,
                 is_much(meter, rate) ? METER_RATIO_SEEN : METER_RATIO)) {
        return false;
    }
    use(rate, wanted, prior);
    if (meter->dear && by_sum(meter)) {
        am_meter_rates(meter)[AM_COPY_SINGLE].used_fs =
                dear_single_fs(am_meter_rates(meter));
    }
    return true;
}

static void rate_forget(struct am_rate *rate, uint32_t sure)
{
    rate->unseen = rate->samples = 0;
    rate->sure = sure;
}

/* The prior for some samples, after which what they tell counts at once: where
 * two ways are far apart, a longer trial of the worse one would cost more. */
static bool try_prior(struct am_meter *meter, struct am_rate *rate)
{
    rate_forget(rate, METER_SURE_TRIAL);
    if (!differs(rate->prior_fs, rate->used_fs, METER_RATIO)) {
        return false;
    }
    use(rate, rate->prior_fs, true);
    meter->trial = true;
    return true;
}

/* A dear stream is tried again as a whole, and after a while in which both ends have
 * come to do so; of a single copy what was seen is forgotten. */
static bool try_dear(struct am_meter *meter, struct am_rate *rate)
{
    struct am_rate *both = meter->rates[AM_WAYS_BOTH];

    meter->trial = true;
    if (rate == &both[AM_COPY_SINGLE]) {
        rate_forget(rate, METER_SURE);
        rate->used_fs = dear_single_fs(both);
        return true;
    }
    meter->dear = false;
    for (int i = AM_COPY_IN; i <= AM_COPY_OUT; i++) {
        rate_forget(&both[i], METER_SURE);
        use(&both[i], both[i].prior_fs, true);
        meter->wait[i] = METER_WARM_TRIAL;
    }
    return true;
}

/* What is not chosen is not seen, and what was seen of it grows old: it goes
 * back to its prior, and is tried again when it looks cheaper. */
bool am_meter_fade(struct am_meter *meter, struct am_rate *rate)
{
    bool much = meter->learn == AM_LEARN_MUCH;

    if (++rate->unseen < (much ? METER_TRIAL : METER_FADE)) {
        return false;
    }
    if (much) {
        return meter->dear && by_sum(meter) ? try_dear(meter, rate)
                                            : try_prior(meter, rate);
    }
    rate->unseen = 0;
    rate->seen_fs = am_meter_toward(rate->seen_fs, rate->prior_fs, METER_FADES);
    return am_meter_adopt(meter, rate);
}
