/*
 * The kinds of peer that a context has met, each with its table of protocols,
 * which follows the costs.
 */
#include "config.h"

#include "msg/proto_choice.h"

#include <stdlib.h>
#include <string.h>

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
