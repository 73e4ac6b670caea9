/*
 * Rounds of messages, and what is told of the trials made in them.
 */
#include "config.h"

#include "msg/proto_round.h"

#include "msg/msg_core.h"
#include "msg/proto_choice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* a series has so many messages behind the first ones, or ... */
    ROUND_SERIES = 12,
    ROUND_BOTH = 64 /* messages of a round where both ends send */
};

/* ... so many bytes, or it is none. */
#define ROUND_SERIES_BYTES ((uint64_t)2 * 1024 * 1024)
/* A longer round is not about messages. */
#define ROUND_MAX_PS UINT64_C(1000000000000)

/* AM_EXPLAIN */
static void explain(const struct am_msg_peer *mp,
                    const struct am_trial_size *at, am_by_t cost)
{
    uint64_t first = at - mp->trial.trial->sizes[at->flow];

    am_log(am_ctx_log(mp->msg->ctx), AM_LOG_INFO,
           "messages of %" PRIu64 " KiB and more to rank %u, %s: %s, as a byte "
           "took %" PRIu64 " ps by a stream and %" PRIu64
           " ps by a single copy%s",
           (uint64_t)(AM_FASTER_BYTES / 1024) << first, mp->peer->index,
           am_flow_text(at->flow), am_by_text(at->best),
           at->means[AM_BY_STREAM].byte_fs / 1000,
           at->means[AM_BY_SINGLE].byte_fs / 1000,
           at->best == cost ? "" : ", though it costs more by the model");
}

/* Did its messages all go by the same, and are they as many as it takes? */
static bool is_whole(const struct am_round *round)
{
    if (round->at == NULL) {
        return false;
    }
    switch (round->at->flow) {
    case AM_FLOW_SERIES:
        return round->count >= ROUND_SERIES ||
               round->bytes >= ROUND_SERIES_BYTES;
    case AM_FLOW_BOTH:
        return round->count >= ROUND_BOTH;
    default:
        return true;
    }
}

/* Do the costs say that a stream is so much faster that a trial would cost more than it is
 * likely to tell? */
static bool streams_surely(const struct am_msg_peer *mp, am_flow_t flow,
                           am_by_t cost, size_t bytes)
{
    const struct am_cost_in *in = &mp->kind->cost;

    if (cost != AM_BY_STREAM) {
        return false;
    }
    return flow == AM_FLOW_ALONE ? am_proto_streams_alone(in, bytes)
                                 : am_proto_streams_in_series(
                                           in, bytes, flow == AM_FLOW_BOTH);
}

static void round_end(struct am_msg_peer *mp)
{
    struct am_round *round = &mp->trial.round;
    uint64_t now_ps = am_env_now(mp->msg->env);
    uint64_t elapsed_ps = now_ps - round->start_ps;
    am_trial_event_t event;

    if (is_whole(round) && elapsed_ps < ROUND_MAX_PS) {
        /* what has been seen since the first message may have changed the costs */
        if (am_trial_is_due(round->at) && round->by == AM_BY_STREAM &&
            streams_surely(mp, round->at->flow, round->cost,
                           round->bytes / round->count)) {
            am_trial_put_off(round->at);
        }
        event = am_trial_see(round->at, round->cost, round->by,
                             elapsed_ps * 1000 / round->bytes);
        mp->msg->stats[AM_MSG_TRIALS] += event == AM_TRIAL_BEGINS;
        mp->msg->stats[AM_MSG_TRIALS_WON] += event == AM_TRIAL_WON;
        mp->trial.rest.left = am_trial_rest(round->at);
        if (event == AM_TRIAL_WON && mp->msg->config->explain) {
            explain(mp, round->at, round->cost);
        }
    }
    *round = (struct am_round){.start_ps = now_ps};
}

/* A message of the round goes so; at NULL: it tells nothing.  Of the first of a series it is
 * not known that they are: the round begins behind them. */
static void round_add(struct am_msg_peer *mp, struct am_trial_size *at,
                      am_by_t by, am_by_t cost, size_t bytes)
{
    struct am_round *round = &mp->trial.round;

    if (at != NULL && at->flow == AM_FLOW_SERIES && !round->series) {
        *round = (struct am_round){.start_ps = am_env_now(mp->msg->env),
                                   .series = true};
    }
    if (round->count == 0) {
        round->at = at;
        round->by = by;
        round->cost = cost;
    } else if (round->at != at || round->by != by) {
        round->at = NULL;
    }
    round->bytes += bytes;
    round->count++;
}

/* What was heard before the last round began is forgotten. */
static void forget(struct am_round_peer *peer)
{
    if (!peer->heard_since) {
        peer->hears = false;
        memset(peer->heard, AM_BY_COST, sizeof(peer->heard));
    }
    peer->heard_since = false;
}

/* Begin a round where the last one is over: the peer has answered, or it was of so many
 * messages. */
static void round_begin(struct am_msg_peer *mp, bool both)
{
    struct am_round *round = &mp->trial.round;
    bool is_other = both != round->both;

    if (is_other) {
        round->at = NULL; /* it was neither */
    }
    if (is_other || (both ? round->count >= ROUND_BOTH : mp->in_row == 0)) {
        if (both) {
            forget(&mp->trial);
        }
        round_end(mp);
        round->both = both;
    }
}

/* By the profile. */
static am_by_t known_of(const struct am_msg_peer *mp, am_flow_t flow,
                        size_t bytes)
{
    const struct am_faster *faster = mp->kind->meter->faster;

    return faster == NULL ? AM_BY_COST
                          : (am_by_t)faster->by[flow][am_faster_index(bytes)];
}

static struct am_trial_size *size_of(struct am_msg_peer *mp, size_t bytes,
                                     am_flow_t flow, am_by_t cost)
{
    struct am_trial_size *sizes = mp->trial.trial->sizes[flow];
    uint32_t i = am_faster_index(bytes);

    if (am_unlikely(!sizes[i].begun)) {
        bool later = streams_surely(mp, flow, cost, bytes);
        struct am_trial_start start = {.flow = flow,
                                       .smaller = i == 0 ? NULL : &sizes[i - 1],
                                       .cost = cost,
                                       .known = known_of(mp, flow, bytes),
                                       .later = later,
                                       .second = mp->peer->index <
                                                 am_rank(mp->msg->ctx)};

        am_trial_begin(&sizes[i], &start);
    }
    return &sizes[i];
}

/* Where both ends send, one that does not try goes as it has heard. */
static am_by_t heard_of(const struct am_msg_peer *mp, size_t bytes)
{
    am_by_t by = (am_by_t)mp->trial.heard[am_faster_index(bytes)];

    return by != AM_BY_COST ? by : known_of(mp, AM_FLOW_BOTH, bytes);
}

static bool is_both(const struct am_msg_peer *mp)
{
    return mp->kind->cost.perf.both_ways || am_msg_receives(mp->msg);
}

static am_by_t by_of(struct am_msg_peer *mp, size_t bytes, am_by_t cost)
{
    bool both = is_both(mp);
    am_flow_t flow;
    struct am_trial_size *at;
    am_by_t by;

    round_begin(mp, both);
    flow = both                            ? AM_FLOW_BOTH
           : mp->in_row >= AM_PROTO_SERIES ? AM_FLOW_SERIES
                                           : AM_FLOW_ALONE;
    if (both && (!mp->trial.hears || mp->peer->index < am_rank(mp->msg->ctx))) {
        by = heard_of(mp, bytes);
        round_add(mp, NULL, by, cost, bytes);
        return by;
    }
    at = size_of(mp, bytes, flow, cost);
    by = am_trial_send(at, cost);
    round_add(mp, at, by, cost, bytes);
    return by;
}

am_by_t am_round_by_cost(struct am_msg_peer *mp, am_proto_t proto, size_t bytes)
{
    const struct am_cost_in *cost = &mp->kind->cost;
    struct am_round_peer *peer = &mp->trial;
    bool single = false;

    if (proto < AM_PROTO_PREFIX) {
        return AM_BY_STREAM;
    }
    if (peer->cost_bytes != bytes || peer->cost_proto != proto ||
        peer->cost_kind != mp->kind || peer->cost_tables != mp->kind->tables) {
        (void)am_cost_bulk_ps(&cost->perf, cost->caps, cost->packet_max,
                              proto == AM_PROTO_GET ? AM_COST_GET
                                                    : AM_COST_PUT_TOLD,
                              bytes, &single);
        peer->cost_bytes = bytes;
        peer->cost_proto = proto;
        peer->cost_kind = mp->kind;
        peer->cost_tables = mp->kind->tables;
        peer->cost_by = single ? AM_BY_SINGLE : AM_BY_STREAM;
    }
    return peer->cost_by;
}

/* By which protocol does one go by `by`? */
static am_proto_t proto_of(const struct am_msg_peer *mp, size_t bytes,
                           am_by_t by)
{
    am_proto_t proto;

    if (by == AM_BY_SINGLE) {
        return AM_PROTO_GET;
    }
    if (mp->trial.round.both || bytes <= mp->kind->packet_max) {
        return AM_PROTO_EAGER;
    }
    proto = am_proto_select(mp->kind, bytes, false);
    return proto == AM_PROTO_GET ? AM_PROTO_PUT : proto;
}

static am_proto_t look(struct am_msg_req *send, am_proto_t proto)
{
    struct am_msg_peer *mp = send->mp;
    size_t bytes = send->data.bytes;
    am_by_t cost = am_round_by_cost(mp, proto, bytes);
    am_by_t by = by_of(mp, bytes, cost);

    if (bytes >= mp->eager_short && cost != AM_BY_SINGLE &&
        by != AM_BY_SINGLE) {
        proto = am_proto_spare(send, proto);
        if (send->info.by == AM_BY_SINGLE) {
            mp->trial.round.at = NULL; /* it tells nothing of a stream */
            return proto;
        }
    }
    send->info.by = by;
    /* where both ends send, the receiver is to see how this one does, to do as much */
    if (by == AM_BY_COST || (by == cost && !mp->trial.round.both)) {
        return proto;
    }
    return proto_of(mp, bytes, by);
}

am_proto_t am_round_proto(struct am_msg_req *send, am_proto_t proto)
{
    struct am_msg_peer *mp = send->mp;
    struct am_round_rest *rest = &mp->trial.rest;
    size_t bytes = send->data.bytes;

    if (am_unlikely(mp->trial.trial == NULL)) {
        mp->trial.trial = calloc(1, sizeof(*mp->trial.trial));
        if (mp->trial.trial == NULL) {
            return proto;
        }
    }
    rest->bytes = 0;
    rest->left = 0;
    proto = look(send, proto);
    if (am_unlikely(rest->left != 0) && proto == AM_PROTO_EAGER &&
        bytes <= mp->kind->packet_max) {
        *rest = (struct am_round_rest){bytes, mp->kind, mp->kind->tables,
                                       rest->left};
    }
    return proto;
}

bool am_round_rests(struct am_msg_peer *mp)
{
    struct am_round_rest *rest = &mp->trial.rest;

    if (rest->left == 0 || mp->eager_limit == 0 || mp->in_row != 0 ||
        rest->kind != mp->kind || rest->tables != mp->kind->tables ||
        is_both(mp)) {
        return false;
    }
    rest->left--;
    mp->trial.round.at = NULL; /* how long it takes is not known */
    return true;
}
