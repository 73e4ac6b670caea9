/*
 * Flow control of I-nirx: go-back-N between NIs.  Packets to a peer have
 * numbers and stay in SRAM until acknowledged, at most `window` of them.  The
 * receiver's buffers are one pool for all senders.  It takes packets in order
 * only; acknowledgements ride on packets, or go alone for half of a window, or
 * after a delay.  It asks for packets again once for each gap, and when it had
 * no room for a packet, as soon as there is some.  What is not acknowledged in
 * time is sent again anyway; the time doubles until something is acknowledged,
 * so that a time that is too short ends no run.
 *
 * A multicast that goes on keeps its buffer until the children's NIs have taken
 * it.  If such packets could have all buffers, NIs of several trees would wait
 * for each other for ever.  So each peer may always have one of them here: along
 * a tree a packet comes from farther and farther away, so that the last ones that
 * wait do so for nobody.
 *
 * And of I-hrx, where the NI has none: it drops what is spoilt or finds no
 * room, and the host sees to the rest.
 */
#include "nic/lanai/lanai.h"

enum {
    BACKOFF_MAX = 6
};

static uint64_t now(const struct ns_lanai *lanai)
{
    return ns_engine_now(lanai->component.engine);
}

/* How far number `a` is after `b`; negative: before. */
static int16_t after(uint16_t a, uint16_t b)
{
    return (int16_t)(uint16_t)(a - b);
}

/* -------------------------------------------------------------------- timer */

static void timer_set(struct ns_lanai *lanai, uint64_t time_ps)
{
    if (ns_event_pending(&lanai->timer)) {
        if (lanai->timer.time_ps <= time_ps) {
            return;
        }
        ns_event_cancel(lanai->component.engine, &lanai->timer);
    }
    ns_event_schedule(&lanai->component, &lanai->timer, NS_PHASE_NIC, time_ps);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void timer_run(struct ns_event *event)
{
    struct ns_lanai *lanai = am_container(event, struct ns_lanai, timer);
    uint64_t next_ps = NS_NEVER;

    for (uint32_t i = 0; i < lanai->nodes; i++) {
        struct ns_lanai_peer *peer = &lanai->peers[i];

        if (peer->resend_at_ps <= now(lanai)) {
            peer->resend = true;
            peer->resend_at_ps = NS_NEVER;
            peer->backoff += peer->backoff < BACKOFF_MAX;
        }
        next_ps = earlier(next_ps, peer->resend_at_ps);
        if (peer->tell_at_ps > now(lanai)) {
            next_ps = earlier(next_ps, peer->tell_at_ps);
        }
    }
    if (next_ps != NS_NEVER) {
        timer_set(lanai, next_ps);
    }
    ns_lanai_wake(lanai);
}

void ns_lanai_goback_init(struct ns_lanai *lanai)
{
    ns_event_init(&lanai->timer, timer_run);
}

/* ------------------------------------------------------------------ sending */

static void resend_timer(struct ns_lanai *lanai, struct ns_lanai_peer *peer)
{
    peer->resend_at_ps = NS_NEVER;
    if (peer->unacked_count > 0) {
        peer->resend_at_ps =
                now(lanai) + (lanai->settings->retransmit_ps << peer->backoff);
        timer_set(lanai, peer->resend_at_ps);
    }
}

/* As many as the window lets go. */
static void advance(struct ns_lanai *lanai, struct ns_lanai_peer *peer)
{
    while (peer->unacked_count < lanai->window &&
           !am_list_is_empty(&peer->blocked)) {
        struct ns_packet *packet = am_container(am_list_pop(&peer->blocked),
                                                struct ns_packet, link);

        ns_lanai_wire_of(packet)->number = peer->number++;
        am_list_push(&peer->unacked, &packet->link);
        if (peer->unacked_count++ == 0) {
            resend_timer(lanai, peer);
        }
        ns_lanai_inject(lanai, ns_lanai_packet_copy(lanai, packet));
    }
}

void ns_lanai_goback_send(struct ns_lanai *lanai, struct ns_packet *packet)
{
    struct ns_lanai_peer *peer = &lanai->peers[packet->destination];

    if (peer->unacked_count == lanai->window) {
        lanai->stats[NS_LANAI_STAT_WAIT]++;
    }
    am_list_push(&peer->blocked, &packet->link);
    advance(lanai, peer);
}

/* All before number `wanted` are in. */
static void acknowledged(struct ns_lanai *lanai, struct ns_lanai_peer *peer,
                         uint16_t wanted)
{
    uint32_t before = peer->unacked_count;

    while (peer->unacked_count > 0) {
        struct ns_packet *packet =
                am_container(peer->unacked.next, struct ns_packet, link);

        if (after(ns_lanai_wire_of(packet)->number, wanted) >= 0) {
            break;
        }
        am_list_remove(&packet->link);
        peer->unacked_count--;
        ns_lanai_frees(lanai, packet->route);
        ns_packet_put(&lanai->net->pool, packet);
    }
    if (peer->unacked_count != before) {
        peer->backoff = 0;
        resend_timer(lanai, peer);
        advance(lanai, peer);
    }
}

/* From `resend_next` on, so that all have their turn. */
uint32_t ns_lanai_resend_peer(const struct ns_lanai *lanai)
{
    if (lanai->settings->reliability != NS_LANAI_NI) {
        return lanai->nodes;
    }
    for (uint32_t i = 0; i < lanai->nodes; i++) {
        uint32_t node = (lanai->resend_next + i) % lanai->nodes;

        if (lanai->peers[node].resend) {
            return node;
        }
    }
    return lanai->nodes;
}

void ns_lanai_resend_finish(struct ns_lanai *lanai)
{
    struct ns_lanai_peer *peer = &lanai->peers[lanai->resending];

    lanai->resend_next = (lanai->resending + 1) % lanai->nodes;
    peer->resend = false;
    for (struct am_list *link = peer->unacked.next; link != &peer->unacked;
         link = link->next) {
        lanai->stats[NS_LANAI_STAT_RESENT]++;
        ns_lanai_inject(
                lanai,
                ns_lanai_packet_copy(
                        lanai, am_container(link, struct ns_packet, link)));
    }
    resend_timer(lanai, peer);
}

/* ---------------------------------------------------------------- receiving */

/* There is room again: ask those whose packets found none. */
void ns_lanai_room(struct ns_lanai *lanai)
{
    if (lanai->settings->reliability != NS_LANAI_NI ||
        lanai->taken >= lanai->room) {
        return;
    }
    for (uint32_t i = 0; i < lanai->nodes; i++) {
        struct ns_lanai_peer *peer = &lanai->peers[i];

        peer->ask = peer->ask || peer->refused;
        peer->refused = false;
    }
}

static void told_later(struct ns_lanai *lanai, struct ns_lanai_peer *peer)
{
    if (peer->tell_at_ps == NS_NEVER) {
        peer->tell_at_ps = now(lanai) + lanai->settings->ack_delay_ps;
        timer_set(lanai, peer->tell_at_ps);
    }
}

/* Not the one that is wanted: an old one whose acknowledgement was lost, or one
 * after a gap. */
static void out_of_order(struct ns_lanai *lanai, struct ns_packet *packet,
                         struct ns_lanai_peer *peer)
{
    if (after(ns_lanai_wire_of(packet)->number, peer->wanted) < 0) {
        told_later(lanai, peer);
    } else if (!peer->asked && !peer->refused) {
        peer->ask = true;
    }
    ns_lanai_drop(lanai, packet, NS_LANAI_STAT_NUMBER);
}

void ns_lanai_forwarding_begin(struct ns_lanai *lanai,
                               struct ns_lanai_peer *peer)
{
    lanai->forwarders += peer->forwarding++ == 0;
    lanai->forwarding++;
}

void ns_lanai_forwarding_end(struct ns_lanai *lanai, struct ns_lanai_peer *peer)
{
    lanai->forwarding--;
    lanai->forwarders -= --peer->forwarding == 0;
}

/* Is there a buffer for a packet that came?  One that goes on leaves one to each
 * peer that has none here, if there are so many. */
static bool has_room(const struct ns_lanai *lanai,
                     const struct ns_lanai_peer *peer,
                     const struct ns_lanai_wire *wire)
{
    uint32_t others = lanai->nodes - 1;

    if (wire->type != NS_LANAI_MCAST || peer->forwarding == 0 ||
        !ns_lanai_forwards(lanai, wire->root) || lanai->room < others) {
        return lanai->taken < lanai->room;
    }
    return lanai->taken < lanai->room &&
           lanai->forwarding + others - lanai->forwarders < lanai->room;
}

bool ns_lanai_goback_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                             const struct ns_lanai_wire *wire)
{
    struct ns_lanai_peer *peer = &lanai->peers[packet->source];

    if (!ns_lanai_crc_good(lanai, packet)) {
        ns_lanai_drop(lanai, packet, NS_LANAI_STAT_CORRUPT);
        return false;
    }
    acknowledged(lanai, peer, wire->told);
    if (wire->type == NS_LANAI_TOLD || wire->type == NS_LANAI_AGAIN) {
        if (wire->type == NS_LANAI_AGAIN && peer->unacked_count > 0) {
            peer->resend = true;
        }
        lanai->stats[NS_NIC_STAT_RECEIVED]++;
        ns_packet_put(&lanai->net->pool, packet);
        ns_myrinet_taken(lanai->net, lanai->component.node);
        return false;
    }
    if (wire->number != peer->wanted) {
        out_of_order(lanai, packet, peer);
        return false;
    }
    if (!has_room(lanai, peer, wire)) {
        peer->refused = true;
        ns_lanai_drop(lanai, packet, NS_LANAI_STAT_NO_ROOM);
        return false;
    }
    peer->wanted++;
    peer->owed++;
    peer->asked = false;
    peer->refused = false;
    lanai->taken++;
    told_later(lanai, peer);
    return true;
}

bool ns_lanai_host_receive(struct ns_lanai *lanai, struct ns_packet *packet)
{
    if (!ns_lanai_crc_good(lanai, packet)) {
        ns_lanai_drop(lanai, packet, NS_LANAI_STAT_CORRUPT);
        return false;
    }
    if (lanai->taken == lanai->room) {
        ns_lanai_drop(lanai, packet, NS_LANAI_STAT_NO_ROOM);
        return false;
    }
    lanai->taken++;
    return true;
}
