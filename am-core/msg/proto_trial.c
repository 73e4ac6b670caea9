/*
 * The trials of proto_trial.h, and the rounds of a peer that they are made in.
 */
#include "config.h"

#include "msg/proto_trial.h"

#include "dev/meter.h"
#include "msg/msg_core.h"
#include "msg/proto_choice.h"

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
    /* what loses is tried again after so many times the rest; if it was much slower */
    TRIAL_LOST = 2,
    TRIAL_LOST_MUCH = 4,
    TRIAL_REST_MAX = 64, /* times the first rest */
    TRIAL_SERIES = 16,   /* a series has so many messages, or is none */
    TRIAL_BOTH = 64      /* messages of a round where both ends send */
};

/* A longer round is not about messages. */
#define TRIAL_ROUND_MAX_PS UINT64_C(1000000000000)

/* All in rounds.  Those of one message cost little each and differ much. */
static const struct {
    uint32_t first; /* before the first trial, ... */
    uint32_t
            later; /* ... if what is tried was much slower at the next smaller size */
    uint32_t rest;   /* between two trials, at first */
    uint32_t trial;  /* of a trial */
    uint32_t slower; /* much slower ones in a row, and a trial is lost */
    uint32_t cold[AM_BY_COUNT]; /* before those of a trial, which take longer */
} rounds[AM_TRIAL_FLOWS] = {
        [AM_TRIAL_ALONE] = {12, 256, 64, 6, 2, {0, 1, 2}},
        [AM_TRIAL_SERIES] = {3, 32, 16, 1, 1, {0, 1, 1}},
        [AM_TRIAL_BOTH] = {3, 32, 16, 2, 1, {0, 1, 1}},
};

static am_by_t other(am_by_t by)
{
    return by == AM_BY_STREAM ? AM_BY_SINGLE : AM_BY_STREAM;
}

static am_by_t used(const struct am_trial_size *at, am_by_t cost)
{
    return at->by == AM_BY_COST ? cost : at->by;
}

am_by_t am_trial_by(const struct am_trial_size *at, am_by_t cost)
{
    return at->tried == AM_BY_COST ? used(at, cost) : at->tried;
}

static void mean_see(struct am_trial_mean *mean, uint64_t byte_fs)
{
    uint32_t part;

    mean->count += mean->count < TRIAL_MEAN;
    part = mean->count;
    if (part == 1) {
        mean->byte_fs = byte_fs;
        return;
    }
    mean->off_fs =
            am_meter_toward(mean->off_fs,
                            byte_fs > mean->byte_fs ? byte_fs - mean->byte_fs
                                                    : mean->byte_fs - byte_fs,
                            part - 1);
    mean->byte_fs = am_meter_toward(mean->byte_fs, byte_fs, part);
}

static am_trial_event_t try_other(struct am_trial_size *at, am_by_t by)
{
    at->tried = other(by);
    at->means[at->tried] = (struct am_trial_mean){0};
    at->left = rounds[at->flow].trial;
    at->slower = 0;
    at->cold = rounds[at->flow].cold[at->tried];
    return AM_TRIAL_BEGINS;
}

/* Is what was tried faster, by more than rounds differ? */
static bool is_faster(const struct am_trial_mean *tried,
                      const struct am_trial_mean *before)
{
    uint64_t gain_fs = before->byte_fs / TRIAL_GAIN;
    uint64_t off_fs = (tried->off_fs + before->off_fs) / 2;

    return tried->count > 0 &&
           tried->byte_fs + (gain_fs > off_fs ? gain_fs : off_fs) <
                   before->byte_fs;
}

static am_trial_event_t judge(struct am_trial_size *at, am_by_t cost)
{
    am_by_t before = other(at->tried);
    uint32_t first = rounds[at->flow].rest;
    bool won = is_faster(&at->means[at->tried], &at->means[before]);

    at->by = won ? at->tried : before;
    at->against = at->by != cost;
    at->lost = won || at->slower == 0 ? AM_BY_COST : at->tried;
    if (won) {
        at->rest = first;
    } else if (at->rest < first * TRIAL_REST_MAX) {
        at->rest *= at->slower == 0 ? TRIAL_LOST : TRIAL_LOST_MUCH;
    }
    at->tried = AM_BY_COST;
    at->left = at->rest;
    return won ? AM_TRIAL_WON : AM_TRIAL_LOST;
}

/* A core that was taken away says nothing about copies. */
static uint64_t clip(uint64_t byte_fs, uint64_t mean_fs)
{
    return mean_fs != 0 && byte_fs > mean_fs * TRIAL_CLIP ? mean_fs * TRIAL_CLIP
                                                          : byte_fs;
}

static am_trial_event_t see_tried(struct am_trial_size *at, am_by_t cost,
                                  uint64_t byte_fs)
{
    uint64_t before_fs = at->means[other(at->tried)].byte_fs;
    bool slower = byte_fs > before_fs + before_fs / TRIAL_SLOWER;

    if (at->cold > 0) {
        at->cold--;
        at->slower = at->flow != AM_TRIAL_ALONE &&
                     byte_fs > before_fs + before_fs / TRIAL_SLOWER_COLD;
        return at->slower > 0 ? judge(at, cost) : AM_TRIAL_GOES_ON;
    }
    mean_see(&at->means[at->tried], clip(byte_fs, before_fs));
    at->slower = slower ? at->slower + 1 : 0;
    at->left--;
    return at->left == 0 || at->slower == rounds[at->flow].slower
                   ? judge(at, cost)
                   : AM_TRIAL_GOES_ON;
}

am_trial_event_t am_trial_see(struct am_trial_size *at, am_by_t cost,
                              am_by_t by, uint64_t byte_fs)
{
    struct am_trial_mean *mean = &at->means[by];

    if (by != am_trial_by(at, cost)) {
        return AM_TRIAL_GOES_ON; /* it was sent before the last change */
    }
    if (at->tried != AM_BY_COST) {
        return see_tried(at, cost, byte_fs);
    }
    mean_see(mean, clip(byte_fs, mean->byte_fs));
    at->left--;
    return at->left == 0 ? try_other(at, by) : AM_TRIAL_GOES_ON;
}

/* The first message of a size.  Where the costs were wrong at the next smaller one they are
 * likely to be so here, and what was much slower there is not tried so soon. */
static void begin(struct am_trial_size *at, const struct am_trial_size *smaller,
                  am_by_t cost, bool cheap)
{
    am_by_t by = smaller != NULL && smaller->against ? smaller->by : cost;

    at->begun = true;
    at->by = by == cost ? AM_BY_COST : by;
    at->rest = rounds[at->flow].rest;
    at->left = (smaller != NULL && smaller->lost == other(by)) ||
                               (cheap && by == AM_BY_STREAM)
                       ? rounds[at->flow].later
                       : rounds[at->flow].first;
}

struct am_trial_size *am_trial_size_of(struct am_trial *trial, size_t bytes,
                                       am_trial_flow_t flow, am_by_t cost,
                                       bool cheap)
{
    struct am_trial_size *sizes = trial->sizes[flow];
    uint32_t at = am_trial_index(bytes);

    if (!sizes[at].begun) {
        sizes[at].flow = flow;
        begin(&sizes[at], at == 0 ? NULL : &sizes[at - 1], cost, cheap);
    }
    return &sizes[at];
}

/* ----------------------------------------------------------- rounds of a peer */

/* How the costs say that it goes. */
static am_by_t by_cost(const struct am_proto_kind *kind, am_proto_t proto,
                       size_t bytes)
{
    const struct am_cost_in *cost = &kind->cost;
    bool single = false;

    if (proto >= AM_PROTO_PREFIX) {
        (void)am_cost_bulk_ps(&cost->perf, cost->caps, cost->packet_max,
                              proto == AM_PROTO_GET ? AM_COST_GET
                                                    : AM_COST_PUT_TOLD,
                              bytes, &single);
    }
    return single ? AM_BY_SINGLE : AM_BY_STREAM;
}

/* What it took counts if its messages went one way, and are as many as it takes. */
static void round_end(struct am_msg_peer *mp)
{
    static const uint32_t least[AM_TRIAL_FLOWS] = {1, TRIAL_SERIES, TRIAL_BOTH};
    struct am_trial_round *round = &mp->trial.round;
    uint64_t now_ps = am_env_now(mp->msg->env);
    uint64_t elapsed_ps = now_ps - round->start_ps;

    if (round->at != NULL && round->count >= least[round->at->flow] &&
        elapsed_ps < TRIAL_ROUND_MAX_PS) {
        am_trial_event_t event = am_trial_see(round->at, round->cost, round->by,
                                              elapsed_ps * 1000 / round->bytes);

        mp->msg->stats[AM_MSG_TRIALS] += event == AM_TRIAL_BEGINS;
        mp->msg->stats[AM_MSG_TRIALS_WON] += event == AM_TRIAL_WON;
    }
    *round = (struct am_trial_round){.start_ps = now_ps};
}

/* A message of the round goes so; NULL: it does not count. The first of a series are not known
 * to be of one. */
static void round_add(struct am_trial_round *round, struct am_trial_size *at,
                      am_by_t by, am_by_t cost, size_t bytes)
{
    bool becomes_series = round->count == AM_PROTO_SERIES && at != NULL &&
                          at->flow == AM_TRIAL_SERIES;

    if (round->count == 0 || (round->at != NULL && becomes_series)) {
        round->at = at;
        round->by = by;
        round->cost = cost;
    } else if (round->at != at || round->by != by) {
        round->at = NULL;
    }
    round->bytes += bytes;
    round->count++;
}

/* Both ends are likely to send. */
static bool goes_both_ways(const struct am_msg_peer *mp)
{
    const struct am_msg *msg = mp->msg;

    return mp->kind->cost.perf.both_ways || msg->fetches != 0 ||
           am_match_posted_count(&msg->match) != 0;
}

/* Begin a round where the last one is over: the peer has answered, or it was of so many
 * messages. */
static am_trial_flow_t flow_of(struct am_msg_peer *mp)
{
    struct am_trial_round *round = &mp->trial.round;
    bool both = goes_both_ways(mp);

    if (both != round->both) {
        round->at = NULL;
    }
    if (both != round->both ||
        (both ? round->count >= TRIAL_BOTH : mp->in_row == 0)) {
        round_end(mp);
        round->both = both;
    }
    return both                            ? AM_TRIAL_BOTH
           : mp->in_row >= AM_PROTO_SERIES ? AM_TRIAL_SERIES
                                           : AM_TRIAL_ALONE;
}

static am_by_t by_of(struct am_msg_peer *mp, size_t bytes, am_by_t cost)
{
    const struct am_proto_kind *kind = mp->kind;
    am_trial_flow_t flow = flow_of(mp);
    struct am_trial_size *at = NULL;
    am_by_t by = mp->trial.heard[am_trial_index(bytes)];

    if (flow != AM_TRIAL_BOTH || mp->peer->index > am_rank(mp->msg->ctx)) {
        at = am_trial_size_of(
                kind->trial, bytes, flow, cost,
                flow != AM_TRIAL_ALONE &&
                        am_proto_streams_in_series(&kind->cost, bytes,
                                                   flow == AM_TRIAL_BOTH));
        by = am_trial_by(at, cost);
    }
    round_add(&mp->trial.round, at, by, cost, bytes);
    return by;
}

am_proto_t am_trial_proto(struct am_msg_req *send, am_proto_t proto)
{
    struct am_msg_peer *mp = send->mp;
    size_t bytes = send->data.bytes;
    am_by_t cost = by_cost(mp->kind, proto, bytes);
    am_by_t by = by_of(mp, bytes, cost);

    if (by == AM_BY_COST ||
        (by == cost && (by == AM_BY_STREAM || !mp->trial.round.both))) {
        return proto;
    }
    send->info.by = by;
    if (by == AM_BY_SINGLE) {
        return AM_PROTO_GET; /* which tells the receiver, who may do as much */
    }
    proto = am_proto_select(mp->kind, bytes, false);
    return proto == AM_PROTO_GET ? AM_PROTO_PUT : proto;
}
