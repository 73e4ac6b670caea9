/*
 * The rule of the trials.
 */
#include "config.h"

#include "msg/proto_trial.h"

enum {
    /* a round moves a mean by one in so many, at first by more, ... */
    TRIAL_MEAN = 16,
    /* ... and counts as so many times what is used, at most */
    TRIAL_CLIP = 2,
    /* what is faster by less than one in so many is not used */
    TRIAL_GAIN = 32,
    /* slower by one in so many is much; the second: in the first round of many messages */
    TRIAL_SLOWER = 4,
    TRIAL_SLOWER_COLD = 2,
    /* what has lost by one in so many is tried again later, and so at the next size */
    TRIAL_SLOW = 8,
    /* what loses is tried again after so many times the rest; if it was much slower */
    TRIAL_LOST = 2,
    TRIAL_LOST_MUCH = 8,
    TRIAL_REST_MAX = 64, /* times the first rest */
    /* a trial is longer by so much where the two hardly differ; at most TRIAL_MEAN rounds */
    TRIAL_NEAR = 2,
    /* what is used takes longer by one in so many than when it was found: try again */
    TRIAL_OLD = 2,
    /* rounds of one message that are not seen between two that are: to see one costs 100 to
     * 200 ns where the clock does (Zen 5, kvm-clock; a message of 8 KiB takes 1,300) */
    TRIAL_UNSEEN = 14
};

/* All but `messages` in rounds.  Those of one message cost little each and differ much. */
static const struct {
    uint32_t first;  /* before the first trial, ... */
    uint32_t later;  /* ... if it is not to be soon */
    uint32_t known;  /* ... or a profile says what is faster */
    uint32_t second; /* more, for the second of two ends */
    uint32_t rest;   /* between two trials, at first */
    uint32_t trial;  /* of a trial */
    uint32_t slow;   /* much slower ones in a row, and a trial is lost */
    uint32_t cold[AM_BY_COUNT]; /* before those of a trial, which take longer */
    uint32_t messages;          /* of a trial that has no rounds */
} rounds[AM_FLOW_COUNT] = {
        [AM_FLOW_ALONE] = {12, 256, 1024, 32, 64, 6, 2, {0, 1, 2}, 64},
        [AM_FLOW_SERIES] = {3, 32, 128, 4, 16, 1, 1, {0, 1, 1}, 1024},
        [AM_FLOW_BOTH] = {3, 32, 128, 0, 16, 2, 1, {0, 1, 1}, 512},
};

static am_by_t other(am_by_t by)
{
    return by == AM_BY_STREAM ? AM_BY_SINGLE : AM_BY_STREAM;
}

/* What goes before any trial: what the profile says, or the costs, unless they were wrong at
 * the next smaller size. */
static am_by_t first_by(const struct am_trial_start *start)
{
    const struct am_trial_size *smaller = start->smaller;

    if (start->known != AM_BY_COST) {
        return start->known;
    }
    return smaller == NULL || smaller->best == smaller->cost ||
                           smaller->best == start->cost
                   ? AM_BY_COST
                   : smaller->best;
}

void am_trial_begin(struct am_trial_size *at,
                    const struct am_trial_start *start)
{
    const struct am_trial_size *smaller = start->smaller;
    am_by_t best = first_by(start);
    am_by_t by = best == AM_BY_COST ? start->cost : best;
    bool later = (start->later && by == AM_BY_STREAM) ||
                 (smaller != NULL && smaller->slow == other(by));

    *at = (struct am_trial_size){
            .flow = start->flow,
            .begun = true,
            .later = later || start->known != AM_BY_COST,
            .second = start->second,
            .best = best,
            .cost = start->cost,
            .rest = rounds[start->flow].rest,
            .rounds_left = start->known != AM_BY_COST
                                   ? rounds[start->flow].known
                           : later ? rounds[start->flow].later
                                   : rounds[start->flow].first,
    };
}

static am_by_t by_of(const struct am_trial_size *at, am_by_t cost)
{
    return at->tried != AM_BY_COST  ? at->tried
           : at->best != AM_BY_COST ? at->best
                                    : cost;
}

static am_trial_event_t end(struct am_trial_size *at, am_by_t cost, bool won)
{
    uint32_t first = rounds[at->flow].rest;
    uint64_t before_fs = at->means[other(at->tried)].byte_fs;
    bool slow = !won && (at->slow_rounds > 0 ||
                         at->means[at->tried].byte_fs >
                                 before_fs + before_fs / TRIAL_SLOW);

    at->best = won ? at->tried : other(at->tried);
    at->best_fs = at->means[at->best].byte_fs;
    at->slow = slow ? at->tried : AM_BY_COST;
    at->cost = cost;
    if (won) {
        at->rest = first;
    } else if (at->rest < first * TRIAL_REST_MAX) {
        at->rest *= slow ? TRIAL_LOST_MUCH : TRIAL_LOST;
    }
    at->tried = AM_BY_COST;
    at->rounds_left = at->rest + (at->second ? rounds[at->flow].second : 0);
    return won ? AM_TRIAL_WON : AM_TRIAL_LOST;
}

am_by_t am_trial_send(struct am_trial_size *at, am_by_t cost)
{
    if (at->tried != AM_BY_COST &&
        at->messages++ >= rounds[at->flow].messages) {
        (void)end(at, cost, false); /* it has no rounds that tell anything */
    }
    return by_of(at, cost);
}

static void mean_see(struct am_trial_mean *mean, uint64_t byte_fs)
{
    uint64_t off_fs = byte_fs > mean->byte_fs ? byte_fs - mean->byte_fs
                                              : mean->byte_fs - byte_fs;

    mean->count += mean->count < TRIAL_MEAN;
    if (mean->count == 1) {
        mean->byte_fs = byte_fs;
        return;
    }
    mean->off_fs = am_meter_toward(mean->off_fs, off_fs, mean->count - 1);
    mean->byte_fs = am_meter_toward(mean->byte_fs, byte_fs, mean->count);
}

/* A core that was taken away says nothing about copies. */
static uint64_t clip(uint64_t byte_fs, uint64_t mean_fs)
{
    return mean_fs != 0 && byte_fs > mean_fs * TRIAL_CLIP ? mean_fs * TRIAL_CLIP
                                                          : byte_fs;
}

/* What differs by less is not told from what rounds differ by, or does not matter. */
static uint64_t margin_fs(const struct am_trial_mean *tried,
                          const struct am_trial_mean *before)
{
    uint64_t gain_fs = before->byte_fs / TRIAL_GAIN;
    uint64_t off_fs = (tried->off_fs + before->off_fs) / 2;

    return gain_fs > off_fs ? gain_fs : off_fs;
}

/* More rounds are needed, which cost little, as the two hardly differ. */
static bool is_near(const struct am_trial_mean *tried,
                    const struct am_trial_mean *before)
{
    uint64_t a = tried->byte_fs, b = before->byte_fs;

    return (a < b ? b - a : a - b) <= margin_fs(tried, before);
}

static am_trial_event_t see_cold(struct am_trial_size *at, am_by_t cost,
                                 uint64_t byte_fs, uint64_t before_fs)
{
    at->cold_rounds--;
    if (at->flow == AM_FLOW_ALONE ||
        byte_fs <= before_fs + before_fs / TRIAL_SLOWER_COLD) {
        return AM_TRIAL_GOES_ON;
    }
    at->slow_rounds = 1;
    return end(at, cost, false);
}

static am_trial_event_t see_tried(struct am_trial_size *at, am_by_t cost,
                                  uint64_t byte_fs)
{
    struct am_trial_mean *tried = &at->means[at->tried];
    const struct am_trial_mean *before = &at->means[other(at->tried)];
    uint64_t before_fs = before->byte_fs;

    if (at->cold_rounds > 0) {
        return see_cold(at, cost, byte_fs, before_fs);
    }
    mean_see(tried, clip(byte_fs, before_fs));
    at->slow_rounds = byte_fs > before_fs + before_fs / TRIAL_SLOWER
                              ? at->slow_rounds + 1
                              : 0;
    at->rounds_left--;
    if (at->slow_rounds == rounds[at->flow].slow) {
        return end(at, cost, false);
    }
    if (at->rounds_left > 0) {
        return AM_TRIAL_GOES_ON;
    }
    if (is_near(tried, before) &&
        tried->count < TRIAL_NEAR * rounds[at->flow].trial) {
        at->rounds_left = 1;
        return AM_TRIAL_GOES_ON;
    }
    return end(at, cost, tried->byte_fs + margin_fs(tried, before) < before_fs);
}

/* What was found may be so no more: the costs say something else, or it takes much longer. */
static void grow_old(struct am_trial_size *at, am_by_t cost)
{
    uint32_t first = rounds[at->flow].first;
    bool known = at->best != AM_BY_COST;

    if ((known && at->best_fs == 0) ||
        (cost == at->cost &&
         !(known && at->means[at->best].byte_fs >
                            at->best_fs + at->best_fs / TRIAL_OLD))) {
        return;
    }
    at->cost = cost;
    at->best_fs = known ? at->means[at->best].byte_fs : 0;
    at->rest = rounds[at->flow].rest;
    at->rounds_left = at->rounds_left < first ? at->rounds_left : first;
}

static am_trial_event_t try_other(struct am_trial_size *at, am_by_t by)
{
    at->tried = other(by);
    at->means[at->tried] = (struct am_trial_mean){0};
    at->later = true; /* that was for the first one */
    at->rounds_left = rounds[at->flow].trial;
    at->slow_rounds = at->messages = 0;
    at->cold_rounds = rounds[at->flow].cold[at->tried];
    return AM_TRIAL_BEGINS;
}

am_trial_event_t am_trial_see(struct am_trial_size *at, am_by_t cost,
                              am_by_t by, uint64_t byte_fs)
{
    struct am_trial_mean *mean = &at->means[by];

    if (by != by_of(at, cost)) {
        return AM_TRIAL_GOES_ON; /* it was sent before the last change */
    }
    if (at->tried != AM_BY_COST) {
        return see_tried(at, cost, byte_fs);
    }
    mean_see(mean, clip(byte_fs, mean->byte_fs));
    grow_old(at, cost);
    at->rounds_left--;
    return at->rounds_left == 0 ? try_other(at, by) : AM_TRIAL_GOES_ON;
}

bool am_trial_is_due(const struct am_trial_size *at)
{
    return at->flow != AM_FLOW_ALONE && !at->later && at->tried == AM_BY_COST &&
           at->rounds_left == 1;
}

void am_trial_put_off(struct am_trial_size *at)
{
    at->later = true;
    at->rounds_left += rounds[at->flow].later - rounds[at->flow].first;
}

uint32_t am_trial_rest(struct am_trial_size *at)
{
    if (at->flow != AM_FLOW_ALONE || at->tried != AM_BY_COST ||
        at->best == AM_BY_COST || at->means[at->best].count < TRIAL_MEAN ||
        at->rounds_left <= TRIAL_UNSEEN) {
        return 0;
    }
    at->rounds_left -= TRIAL_UNSEEN;
    return TRIAL_UNSEEN;
}
