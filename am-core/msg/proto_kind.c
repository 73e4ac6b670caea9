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
        kind->perf = perf;
        kind->packet_max = am_peer_payload_max(peer, AM_PROTO_KIND_WORDS);
        am_proto_kind_fill(kind, msg);
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
            am_proto_kind_fill(kind, msg);
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

void am_proto_long_sent(struct am_msg_peer *mp, size_t bytes)
{
    const struct am_proto_kind *kind = mp->kind;

    if (bytes > kind->packet_max && kind->meter != NULL) {
        mp->one_way += mp->one_way < ONE_WAY_MAX;
        am_meter_sent(kind->meter,
                      mp->one_way < ONE_WAY_MAX &&
                              (am_match_posted_count(&mp->msg->match) != 0 ||
                               mp->msg->fetches != 0));
    }
}

void am_proto_long_received(struct am_msg_peer *mp, size_t bytes)
{
    if (bytes > mp->kind->packet_max) {
        mp->one_way = 0;
    }
}
