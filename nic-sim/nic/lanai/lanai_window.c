/*
 * Flow control of I-sdma, and the choice among all of them.  Each NI has W
 * buffers for each sender; a sender has as many credits and uses one for a
 * packet.  Credits come back on packets, or with one of their own for half of a
 * window.  Nothing is lost: a packet that is not as it was sent stops the NI.
 */
#include "nic/lanai/lanai.h"

/* ------------------------------------------------------------------ credits */

/* Packets for which credits have come go, in order. */
static void unblock(struct ns_lanai *lanai, struct ns_lanai_peer *peer)
{
    while (peer->credits > 0 && !am_list_is_empty(&peer->blocked)) {
        peer->credits--;
        ns_lanai_inject(lanai, am_container(am_list_pop(&peer->blocked),
                                            struct ns_packet, link));
    }
}

void ns_lanai_window_send(struct ns_lanai *lanai, struct ns_packet *packet)
{
    struct ns_lanai_peer *peer = &lanai->peers[packet->destination];

    am_list_push(&peer->blocked, &packet->link);
    if (peer->credits == 0) {
        lanai->stats[NS_LANAI_STAT_WAIT]++;
    }
    unblock(lanai, peer);
}

void ns_lanai_window_told(struct ns_lanai *lanai, struct ns_lanai_peer *peer,
                          uint32_t credits)
{
    peer->credits += credits;
    NS_CHECK(peer->credits <= lanai->window);
    unblock(lanai, peer);
}

static bool window_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                           const struct ns_lanai_wire *wire)
{
    if (!ns_lanai_crc_good(lanai, packet)) {
        lanai->failure = "a packet came with a wrong CRC, and with "
                         "lanai.reliability=none the NI trusts the network";
        ns_lanai_drop(lanai, packet, NS_LANAI_STAT_CORRUPT);
        ns_engine_stop(lanai->component.engine);
        return false;
    }
    ns_lanai_window_told(lanai, &lanai->peers[packet->source], wire->told);
    if (wire->type != NS_LANAI_TOLD) {
        return true;
    }
    lanai->stats[NS_NIC_STAT_RECEIVED]++;
    ns_packet_put(&lanai->net->pool, packet);
    ns_myrinet_taken(lanai->net, lanai->component.node);
    return false;
}

/* --------------------------------------------------------------- the choice */

uint64_t ns_lanai_flow_cycles(const struct ns_lanai *lanai)
{
    switch (lanai->settings->reliability) {
    case NS_LANAI_NONE:
        return lanai->settings->window_cycles;
    case NS_LANAI_NI:
        return lanai->settings->retransmit_cycles;
    default:
        return 0;
    }
}

void ns_lanai_flow_send(struct ns_lanai *lanai, struct ns_packet *packet)
{
    switch (lanai->settings->reliability) {
    case NS_LANAI_NONE:
        ns_lanai_window_send(lanai, packet);
        break;
    case NS_LANAI_NI:
        ns_lanai_goback_send(lanai, packet);
        break;
    default:
        ns_lanai_inject(lanai, packet);
        break;
    }
}

bool ns_lanai_flow_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                           const struct ns_lanai_wire *wire)
{
    switch (lanai->settings->reliability) {
    case NS_LANAI_NONE:
        return window_receive(lanai, packet, wire);
    case NS_LANAI_NI:
        return ns_lanai_goback_receive(lanai, packet, wire);
    default:
        return ns_lanai_host_receive(lanai, packet);
    }
}

void ns_lanai_flow_released(struct ns_lanai *lanai, uint32_t from)
{
    if (lanai->settings->reliability == NS_LANAI_NONE) {
        lanai->peers[from].owed++;
    } else {
        lanai->taken--;
        ns_lanai_room(lanai);
    }
}

static bool to_be_told(const struct ns_lanai *lanai,
                       const struct ns_lanai_peer *peer)
{
    return peer->ask || peer->owed * 2 >= lanai->window ||
           peer->tell_at_ps <= ns_engine_now(lanai->component.engine);
}

/* From `tell_next` on, so that all have their turn. */
uint32_t ns_lanai_tell_peer(const struct ns_lanai *lanai)
{
    if (lanai->settings->reliability == NS_LANAI_HOST) {
        return lanai->nodes;
    }
    for (uint32_t i = 0; i < lanai->nodes; i++) {
        uint32_t node = (lanai->tell_next + i) % lanai->nodes;

        if (to_be_told(lanai, &lanai->peers[node])) {
            return node;
        }
    }
    return lanai->nodes;
}

void ns_lanai_tell_finish(struct ns_lanai *lanai)
{
    uint32_t node = ns_lanai_tell_peer(lanai);
    struct ns_lanai_peer *peer;
    uint8_t type;

    if (node == lanai->nodes) {
        return; /* went with a packet meanwhile */
    }
    peer = &lanai->peers[node];
    type = peer->ask ? NS_LANAI_AGAIN : NS_LANAI_TOLD;
    lanai->tell_next = (node + 1) % lanai->nodes;
    peer->asked = peer->ask;
    peer->ask = false;
    lanai->stats[NS_LANAI_STAT_ACKS]++;
    ns_lanai_inject(lanai, ns_lanai_packet_new(lanai, node, type, 0, 0));
}
