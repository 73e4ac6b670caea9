/*
 * The meter takes and times the samples; meter_use.c says what follows from them.
 */
#include "config.h"

#include "dev/meter_use.h"

enum {
    METER_WARM = 8,   /* streams: so many copies are not timed first, as the
                       * pages of a ring that is new take a fault each */
    METER_EVERY = 16, /* streams: of so many copies one is timed, ... */
    /* single copies: of so many one, once they are known */
    METER_EVERY_SINGLE = 8,
    METER_EVERY_SHORT = 64, /* ... of those below METER_SHORT fewer, ... */
    METER_SHORT = 16 * 1024,
    METER_ODD = 4,    /* ... unless the last took so many times what is used */
    METER_LONGER = 2, /* copies that take longer by one in so many than expected
                       * may have had page faults; to ask is a system call */
    METER_MEAN = 16,  /* a sample moves the mean by one in so many, at first
                       * by more: it is the mean of the first ones */
    METER_LEAP = 2,   /* a sample counts as so many times the mean at most: a
                       * core that was taken away says nothing about copies; ... */
    METER_LEAP_FIRST = 4, /* ... each of the first AM_METER_SURE as so many */
    METER_PUT_MORE = 8,   /* a put costs by one in so many more than a get */
    METER_REST = 32,      /* samples between two changes */
    METER_TURN = 256 * 1024, /* who shares a core may lose it in a longer copy */
    METER_BUSY_ALL = 256, /* the share that goes both ways, of so many: ... */
    METER_BUSY_PART = 8,  /* ... of the last messages, about so many */
    METER_BUSY_ON = 160,  /* both ways from here ... */
    METER_BUSY_OFF = 64,  /* ... until below this */
    METER_WEIGHT_ALL = 256, /* copies take what a prior says, ... */
    METER_WEIGHT_PART = 4,  /* ... of the last ones, about so many: ... */
    METER_LIGHT_ON = 180,   /* the prior before from here down ... */
    METER_LIGHT_OFF = 217,  /* ... until above this, ... */
    METER_FAR_ON = 320,     /* ... or this for the last */
    METER_WEIGHT_SINGLE = 32 * 1024 /* longer single copies hardly tell */
};

/* The end of a stream that has not seen the other end's copies takes its own for them where the
 * two share a core, which makes both: not beside a profile, and not while its own are tried
 * anew. */
static bool is_of_other(const struct am_meter *meter, am_copy_t copy,
                        am_copy_t other)
{
    const struct am_rate *rates = meter->rates[am_meter_ways(meter)];

    return meter->perf.shared_core && meter->distance < AM_DISTANCE_NODE &&
           rates[copy].from == AM_FROM_DEFAULT &&
           rates[copy].sure == AM_METER_SURE &&
           rates[other].from == AM_FROM_RUN;
}

const struct am_rate *am_meter_used(const struct am_meter *meter,
                                    am_copy_t copy)
{
    const struct am_rate *rates = meter->rates[am_meter_ways(meter)];
    am_copy_t other = copy == AM_COPY_IN ? AM_COPY_OUT : AM_COPY_IN;
    bool by_other = copy != AM_COPY_SINGLE && is_of_other(meter, copy, other);

    return &rates[by_other ? other : copy];
}

static void perf_update(struct am_meter *meter)
{
    struct am_dev_perf *perf = &meter->perf;
    uint64_t single_fs = am_meter_used(meter, AM_COPY_SINGLE)->used_fs;

    perf->send_overhead.per_byte_fs = am_meter_used(meter, AM_COPY_IN)->used_fs;
    perf->recv_overhead.per_byte_fs =
            am_meter_used(meter, AM_COPY_OUT)->used_fs;
    /* a put took 1.0 to 1.6 times as long as a get where both were measured */
    perf->put.per_byte_fs = single_fs + single_fs / METER_PUT_MORE;
    perf->get.per_byte_fs = single_fs;
}

static void perf_changed(struct am_meter *meter)
{
    perf_update(meter);
    meter->rest = meter->trial ? 0 : METER_REST;
    meter->trial = false;
    meter->changes++;
    if (meter->changed != NULL) {
        meter->changed(meter->arg);
    }
}

void am_meter_prior(struct am_meter *meter, am_ways_t ways, am_copy_t copy,
                    uint64_t byte_fs, am_from_t from)
{
    meter->rates[ways][copy] = (struct am_rate){.prior_fs = byte_fs,
                                                .seen_fs = byte_fs,
                                                .used_fs = byte_fs,
                                                .sure = AM_METER_SURE,
                                                .prior_from = from,
                                                .from = from};
    perf_update(meter);
}

void am_meter_init(struct am_meter *meter, const struct am_dev_perf *perf,
                   am_distance_t distance)
{
    const uint64_t byte_fs[AM_COPY_COUNT] = {
            [AM_COPY_IN] = perf->send_overhead.per_byte_fs,
            [AM_COPY_OUT] = perf->recv_overhead.per_byte_fs,
            [AM_COPY_SINGLE] = perf->get.per_byte_fs,
    };

    *meter = (struct am_meter){
            .perf = *perf, .distance = distance, .stands = 1, .singles = 1};
    meter->wait[AM_COPY_IN] = meter->wait[AM_COPY_OUT] = METER_WARM;
    for (int ways = 0; ways < AM_WAYS_COUNT; ways++) {
        for (int copy = 0; copy < AM_COPY_COUNT; copy++) {
            am_meter_prior(meter, (am_ways_t)ways, (am_copy_t)copy,
                           byte_fs[copy], AM_FROM_DEFAULT);
        }
    }
}

void am_meter_priors(struct am_meter *meter,
                     const struct am_dev_perf *const *priors, uint8_t count,
                     uint8_t at)
{
    meter->priors = priors;
    meter->prior_count = count;
    meter->prior_at = at;
    for (int i = 0; i < count; i++) {
        meter->weights[i] = i > at ? METER_WEIGHT_ALL / 2 : METER_WEIGHT_ALL;
    }
}

static void prior_use(struct am_meter *meter, const struct am_dev_perf *prior)
{
    struct am_dev_perf *perf = &meter->perf;

    perf->send_overhead.fixed_ps = prior->send_overhead.fixed_ps;
    perf->recv_overhead.fixed_ps = prior->recv_overhead.fixed_ps;
    perf->wire = prior->wire;
    perf->gap_ps = prior->gap_ps;
    perf->get.fixed_ps = am_meter_fixed_ps(meter, prior->get.fixed_ps);
    perf->put.fixed_ps = am_meter_fixed_ps(meter, prior->put.fixed_ps);
    for (int ways = 0; ways < AM_WAYS_COUNT; ways++) {
        am_meter_prior(meter, (am_ways_t)ways, AM_COPY_IN,
                       prior->send_overhead.per_byte_fs, AM_FROM_DEFAULT);
        am_meter_prior(meter, (am_ways_t)ways, AM_COPY_OUT,
                       prior->recv_overhead.per_byte_fs, AM_FROM_DEFAULT);
    }
}

/* What a prior says of a copy. */
static uint64_t prior_ps(const struct am_meter *meter,
                         const struct am_dev_perf *prior, am_copy_t copy,
                         size_t bytes)
{
    const struct am_rate *single = &meter->rates[AM_WAYS_ONE][AM_COPY_SINGLE];

    return copy == AM_COPY_IN ? bytes * prior->send_overhead.per_byte_fs / 1000
           : copy == AM_COPY_OUT
                   ? bytes * prior->recv_overhead.per_byte_fs / 1000
                   : am_meter_fixed_ps(meter, prior->get.fixed_ps) +
                             bytes * single->prior_fs / 1000;
}

static void weights_see(struct am_meter *meter, am_copy_t copy, size_t bytes,
                        uint64_t elapsed_ps)
{
    const uint64_t most = METER_WEIGHT_ALL / 2 * 3; /* as METER_LEAP */

    for (int i = 1; i < meter->prior_count; i++) {
        uint64_t weight = elapsed_ps * METER_WEIGHT_ALL /
                          prior_ps(meter, meter->priors[i], copy, bytes);

        /* between the first two a single copy's constant part does not tell */
        if (copy != AM_COPY_SINGLE || i > 1) {
            meter->weights[i] = (uint32_t)am_meter_toward(
                    meter->weights[i], weight < most ? weight : most,
                    METER_WEIGHT_PART);
        }
    }
}

/* The prior to use: the next one if copies take nearly what it says, and the one before
 * if they take much less than what is used says, or have not been seen for long.  Copies
 * from memory that is in no cache take long, too; then lines come soon. */
static uint8_t prior_wanted(struct am_meter *meter)
{
    uint8_t at = meter->prior_at;
    bool is_last = at + 2 == meter->prior_count;

    if (at + 1 < meter->prior_count &&
        meter->weights[at + 1] > (is_last ? METER_FAR_ON : METER_LIGHT_OFF) &&
        !(at == 0 && meter->lines_near)) {
        return at + 1;
    }
    if (at > 0 && meter->unproved >= AM_METER_UNPROVED) {
        meter->weights[at] = METER_WEIGHT_ALL / 2;
    }
    return at > 0 && meter->weights[at] <= METER_LIGHT_ON ? at - 1 : at;
}

/* Is another prior used from now on? */
static bool weigh(struct am_meter *meter, am_copy_t copy, size_t bytes,
                  uint64_t elapsed_ps)
{
    uint8_t wanted;

    if (meter->priors == NULL || meter->learn != AM_LEARN_MUCH ||
        meter->perf.both_ways || meter->perf.shared_core) {
        return false;
    }
    meter->unproved =
            copy == AM_COPY_SINGLE ? meter->unproved + meter->stands : 0;
    if (copy != AM_COPY_SINGLE || bytes <= METER_WEIGHT_SINGLE) {
        weights_see(meter, copy, bytes, elapsed_ps);
    }
    wanted = meter->rest > 0 ? meter->prior_at : prior_wanted(meter);
    if (wanted == meter->prior_at) {
        return false;
    }
    meter->prior_at = wanted;
    meter->unproved = 0;
    prior_use(meter, meter->priors[wanted]);
    return true;
}

/* What was seen on a core that was shared, or not, says nothing now. */
static void seen_forget(struct am_meter *meter)
{
    for (int ways = 0; ways < AM_WAYS_COUNT; ways++) {
        for (int copy = 0; copy < AM_COPY_COUNT; copy++) {
            const struct am_rate *rate = &meter->rates[ways][copy];

            am_meter_prior(meter, (am_ways_t)ways, (am_copy_t)copy,
                           rate->prior_fs, rate->prior_from);
        }
    }
    meter->cold_bytes = AM_METER_COLD;
    meter->unproved = 0;
    meter->dear = false;
}

void am_meter_turns(struct am_meter *meter, bool shared_core, uint64_t turn_ps)
{
    struct am_dev_perf *perf = &meter->perf;
    bool is_another = perf->shared_core != shared_core;
    uint32_t rest = meter->rest; /* which is for what samples change */

    if (!is_another && perf->turn_ps == turn_ps) {
        return;
    }
    if (is_another) {
        seen_forget(meter);
    }
    perf->shared_core = shared_core;
    perf->turn_ps = turn_ps;
    perf_changed(meter);
    meter->rest = rest;
}

static void rate_see(struct am_rate *rate, uint64_t byte_fs)
{
    uint64_t most =
            rate->seen_fs *
            (rate->samples < AM_METER_SURE ? METER_LEAP_FIRST : METER_LEAP);

    if (most == 0 || most > AM_METER_BYTE_FS_MAX) {
        most = AM_METER_BYTE_FS_MAX;
    }
    byte_fs = byte_fs > most ? most : byte_fs;
    rate->samples += rate->samples < AM_METER_SURE;
    rate->seen_fs = am_meter_toward(rate->seen_fs, byte_fs,
                                    rate->samples < METER_MEAN ? rate->samples
                                                               : METER_MEAN);
    rate->unseen = 0;
}

/* What of it each byte took.  The constant part is an estimate, and most of a short one. */
static uint64_t each_byte_fs(const struct am_meter *meter, am_copy_t copy,
                             size_t bytes, uint64_t elapsed_ps)
{
    uint64_t fixed_ps = copy == AM_COPY_SINGLE ? meter->perf.get.fixed_ps : 0;

    elapsed_ps -= fixed_ps < elapsed_ps / 2 ? fixed_ps : elapsed_ps / 2;
    return elapsed_ps * 1000 / bytes;
}

void am_meter_sample(struct am_meter *meter, am_copy_t copy, size_t bytes,
                     uint64_t elapsed_ps)
{
    meter->rest -= meter->rest > 0;
    rate_see(&am_meter_rates(meter)[copy],
             each_byte_fs(meter, copy, bytes, elapsed_ps));
    if (weigh(meter, copy, bytes, elapsed_ps) || am_meter_use(meter, copy)) {
        perf_changed(meter);
    }
}

void am_meter_sent(struct am_meter *meter, bool receives)
{
    bool both = meter->perf.both_ways;

    if (meter->learns == 0) {
        return;
    }
    meter->busy -= meter->busy / METER_BUSY_PART;
    meter->busy += receives ? METER_BUSY_ALL / METER_BUSY_PART : 0;
    if (meter->busy >= METER_BUSY_ON || meter->busy < METER_BUSY_OFF) {
        meter->perf.both_ways = meter->busy >= METER_BUSY_ON;
    }
    if (both != meter->perf.both_ways) {
        perf_changed(meter);
    }
}

/* Copies until the next that is timed.  Each of the first: cores that are far from
 * each other are not to be found out by hundreds of messages that go the wrong way. */
static uint32_t untimed(struct am_meter *meter, am_copy_t copy, size_t bytes,
                        bool odd)
{
    if (am_meter_rates(meter)[copy].samples < AM_METER_SURE) {
        return 0;
    }
    if (copy == AM_COPY_SINGLE) {
        return meter->perf.shared_core ? 0 : METER_EVERY_SINGLE - 1;
    }
    return (bytes < METER_SHORT && !odd ? METER_EVERY_SHORT : METER_EVERY) - 1;
}

/* Memory that is touched for the first time takes a fault for each page, which
 * costs more than to copy it and says nothing about the next copy. */
static bool has_faulted(struct am_meter *meter, struct am_env *env)
{
    uint64_t before = meter->faults;

    meter->faults = am_env_faults(env);
    return meter->faults != before;
}

/* Longer than expected, which before the mean is believed, as in a trial, is what is
 * used. */
static bool takes_longer(const struct am_rate *rate, uint64_t byte_fs)
{
    uint64_t expected_fs =
            rate->samples < rate->sure ? rate->used_fs : rate->seen_fs;

    return byte_fs > expected_fs + expected_fs / METER_LONGER;
}

/* Where ranks share a core, copies of a stream tell what they cost when its memory is in the
 * cache. */
static bool is_cold(struct am_meter *meter, am_copy_t copy, size_t bytes)
{
    size_t cold = meter->cold_bytes;

    if (!meter->perf.shared_core || copy == AM_COPY_SINGLE || cold == 0) {
        return false;
    }
    meter->cold_bytes -= bytes < cold ? bytes : cold;
    return true;
}

void am_meter_stop(struct am_meter *meter, struct am_env *env, am_copy_t copy,
                   size_t bytes, uint64_t start)
{
    const struct am_rate *rate;
    uint64_t elapsed_ps, byte_fs;

    if (start != 0) {
        rate = &am_meter_rates(meter)[copy];
        elapsed_ps = am_env_now(env) + 1 - start;
        byte_fs = each_byte_fs(meter, copy, bytes, elapsed_ps);
        meter->stands = copy == AM_COPY_SINGLE ? meter->singles : 1;
        meter->wait[copy] = untimed(meter, copy, bytes,
                                    byte_fs >= METER_ODD * rate->used_fs);
        meter->singles = meter->wait[AM_COPY_SINGLE] + 1;
        if (meter->perf.shared_core && bytes > METER_TURN) {
            if (am_meter_passed(meter, copy)) {
                perf_changed(meter);
            }
        } else if (!is_cold(meter, copy, bytes) &&
                   !(takes_longer(rate, byte_fs) && has_faulted(meter, env))) {
            am_meter_sample(meter, copy, bytes, elapsed_ps);
        }
    }
}

const char *am_distance_name(am_distance_t distance)
{
    static const char *const names[AM_DISTANCE_COUNT] = {"core", "cache",
                                                         "node", "far"};

    return names[distance];
}

const char *am_from_text(am_from_t from)
{
    static const char *const texts[AM_FROM_COUNT] = {
            "built in", "profile", "measured at start", "measured in this run"};

    return texts[from];
}
