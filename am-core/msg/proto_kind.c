/*
 * The kinds of peer that a context has met, each with its table of protocols,
 * which follows the costs.
 */
#include "config.h"

#include "dev/meter.h"
#include "msg/proto_choice.h"

#include <stdlib.h>
#include <string.h>

enum {
    ONE_WAY_MAX = 256 /* messages: more than a window of the usual benchmarks */
};

/* Is it tried what takes less time, where nobody says how messages go? */
static bool tries(const struct am_proto_kind *kind)
{
    const struct am_meter *meter = kind->meter;

    return kind->is_free && meter != NULL && meter->learn == AM_LEARN_MUCH &&
           (meter->learns >> AM_COPY_SINGLE & 1) != 0 &&
           (kind->cost.caps & AM_DEV_CAP_GET) != 0 &&
           !kind->cost.perf.shared_core;
}

static void kind_fill(struct am_proto_kind *kind, struct am_msg *msg)
{
    am_proto_kind_fill(kind, msg);
    kind->tables++;
    kind->tries = tries(kind);
    if (kind->tries && kind->eager_limit > AM_FASTER_BYTES) {
        kind->eager_limit = AM_FASTER_BYTES; /* longer ones ask the trial */
    }
}

const struct am_proto_kind *am_proto_kind_of(struct am_msg *msg,
                                             struct am_peer *peer)
{
    const struct am_dev_perf *perf = am_peer_perf(peer);
    struct am_proto_kind *kind;

    for (kind = msg->kinds; kind != NULL; kind = kind->next) {
        if (kind->dev == peer->dev && kind->perf == perf) {
            return kind;
        }
    }
    kind = calloc(1, sizeof(*kind));
    if (kind != NULL) {
        kind->dev = peer->dev;
        kind->meter = peer->ep == NULL ? NULL : peer->ep->meter;
        kind->pages = peer->ep == NULL ? NULL : peer->ep->pages;
        kind->perf = perf;
        kind->packet_max = am_peer_payload_max(peer, AM_PROTO_KIND_WORDS);
        kind_fill(kind, msg);
        kind->next = msg->kinds;
        msg->kinds = kind;
    }
    return kind;
}

bool am_proto_kinds_update(struct am_msg *msg)
{
    bool any = false;

    for (struct am_proto_kind *kind = msg->kinds; kind != NULL;
         kind = kind->next) {
        if (memcmp(&kind->cost.perf, kind->perf, sizeof(*kind->perf)) != 0 ||
            kind->cost.caps != kind->dev->attr.caps) {
            kind_fill(kind, msg);
            msg->stats[AM_MSG_TABLES]++;
            any = true;
        }
    }
    return any;
}

void am_proto_kinds_free(struct am_msg *msg)
{
    while (msg->kinds != NULL) {
        struct am_proto_kind *kind = msg->kinds;

        msg->kinds = kind->next;
        free(kind);
    }
}

void am_proto_short_set(struct am_msg_peer *mp)
{
    size_t limit = mp->kind->eager_limit;
    size_t ready = am_peer_ready_bytes(mp->peer);

    mp->eager_short = ready < limit ? ready + 1 : limit;
    mp->eager_limit = am_list_is_empty(&mp->held) ? mp->eager_short : 0;
}

am_proto_t am_proto_spare(struct am_msg_req *send, am_proto_t proto)
{
    struct am_msg_peer *mp = send->mp;
    const struct am_cost_in *cost = &mp->kind->cost;
    size_t bytes = send->data.bytes;

    if (bytes <= am_peer_ready_bytes(mp->peer) ||
        am_proto_row_of(mp->kind, bytes, true)->why != AM_WHY_COST) {
        return proto; /* the second: the user says how it goes */
    }
    /* a get, and the sender waits until the receiver had its turn */
    if (am_peer_spares(mp->peer, bytes, am_proto_cost_ps(cost, proto, bytes),
                       5 * am_cost_short_ps(&cost->perf) / 2 +
                               cost->perf.turn_ps +
                               am_cost_single_ps(&cost->perf, cost->caps,
                                                 AM_COST_GET, bytes))) {
        send->info.by = AM_BY_SINGLE;
        return AM_PROTO_GET;
    }
    am_proto_short_set(mp);
    return proto;
}

void am_proto_long_sent(struct am_msg_peer *mp, size_t bytes)
{
    const struct am_proto_kind *kind = mp->kind;

    mp->in_row += bytes >= AM_METER_BYTES && mp->in_row < AM_PROTO_SERIES;
    if (bytes > kind->packet_max && kind->meter != NULL) {
        mp->one_way += mp->one_way < ONE_WAY_MAX;
        am_meter_sent(kind->meter,
                      mp->one_way < ONE_WAY_MAX && am_msg_receives(mp->msg));
    }
}

void am_proto_long_received(struct am_msg_peer *mp,
                            const struct am_msg_info *info)
{
    am_by_t by = info->by == AM_BY_SINGLE           ? AM_BY_SINGLE
                 : info->proto <= AM_PROTO_BUFFERED ? AM_BY_STREAM
                                                    : AM_BY_COST; /* not told */

    mp->in_row = 0;
    am_round_hear(&mp->trial, info->length, by);
    if (info->length > mp->kind->packet_max) {
        mp->one_way = 0;
    }
}
