/*
 * The LANai's tasks and its processor.
 */
#include "nic/lanai/lanai.h"

#include <string.h>

/* -------------------------------------------------------------------- tasks */

/* A send slot is free again: tell the host. */
static void slot_free(struct ns_lanai *lanai)
{
    lanai->send_done++;
    if (lanai->open) {
        ns_lanai_job_queue(
                lanai, (struct ns_lanai_job){.address = lanai->status_address});
    }
}

static void send_finish(struct ns_lanai *lanai)
{
    uint32_t *descriptor = &lanai->descriptors[2 * lanai->send_next];
    uint32_t to = descriptor[1] >> 16;
    uint32_t bytes = descriptor[1] & 0xffff;

    lanai->send_next =
            (lanai->send_next + 1) % (uint32_t)lanai->settings->send_buffers;
    ns_lanai_mark(lanai, NS_STAGE_FW_OUT);
    descriptor[1] = 0;
    if (to >= lanai->nodes || to == lanai->component.node) {
        lanai->stats[NS_LANAI_STAT_BAD]++;
        lanai->sent_cleanups++;
        ns_lanai_wake(lanai);
        return;
    }
    if (bytes == NS_LANAI_FETCH_ADD) { /* no buffer to clean up after */
        slot_free(lanai);
        ns_lanai_send_with_credit(lanai,
                                  ns_lanai_packet_new(lanai, to, NS_LANAI_FADD,
                                                      descriptor[0], 0));
        ns_lanai_wake(lanai);
        return;
    }
    ns_lanai_job_queue(lanai,
                       (struct ns_lanai_job){
                               .packet = ns_lanai_packet_new(
                                       lanai, to, NS_LANAI_DATA, 0, bytes),
                               .address = descriptor[0],
                       });
}

/* The packet's buffer is free: its sender gets the credit back some day. */
static void release(struct ns_lanai *lanai, struct ns_packet *packet)
{
    lanai->peers[packet->source].owed++;
    ns_packet_put(&lanai->net->pool, packet);
    ns_myrinet_taken(lanai->net, lanai->component.node);
}

/* To the host: header with number and source, then DMA. */
static void to_host(struct ns_lanai *lanai, struct ns_packet *packet)
{
    struct ns_lanai_header header;
    uint8_t *at = packet->data + NS_LANAI_WIRE_BYTES;

    memcpy(&header, at, sizeof(header));
    header.sequence = ++lanai->sequence;
    header.node = (uint16_t)packet->source;
    memcpy(at, &header, sizeof(header));
    NS_CHECK(lanai->free_count > 0);
    ns_lanai_job_queue(lanai,
                       (struct ns_lanai_job){
                               .packet = packet,
                               .address = lanai->free_buffers[lanai->free_head],
                               .in = true,
                       });
    lanai->free_head =
            (lanai->free_head + 1) % (uint32_t)lanai->settings->host_buffers;
    lanai->free_count--;
}

/* The result of a fetch-and-add as the host sees it. */
static void fetched(struct ns_lanai *lanai, struct ns_packet *packet,
                    uint32_t value)
{
    struct ns_lanai_header header = {.user = {NS_LANAI_USER_FETCHED}};

    memcpy(header.user + 4, &value, sizeof(value));
    memcpy(packet->data + NS_LANAI_WIRE_BYTES, &header, sizeof(header));
    packet->bytes = NS_LANAI_WIRE_BYTES + sizeof(header);
    to_host(lanai, packet);
}

static void receive_finish(struct ns_lanai *lanai)
{
    struct ns_packet *packet =
            am_container(am_list_pop(&lanai->in_queue), struct ns_packet, link);
    struct ns_lanai_peer *peer = &lanai->peers[packet->source];
    struct ns_lanai_wire wire;

    memcpy(&wire, packet->data, sizeof(wire));
    ns_lanai_mark(lanai, NS_STAGE_FW_IN);
    peer->credits += wire.credits;
    ns_lanai_unblock(lanai, peer);
    if (wire.type == NS_LANAI_CREDITS) {
        lanai->stats[NS_NIC_STAT_RECEIVED]++;
        ns_packet_put(&lanai->net->pool, packet);
        ns_myrinet_taken(lanai->net, lanai->component.node);
    } else if (wire.type == NS_LANAI_FADD) {
        uint32_t before = lanai->variable;
        uint32_t source = packet->source;

        lanai->variable += wire.value;
        lanai->stats[NS_NIC_STAT_RECEIVED]++;
        release(lanai, packet);
        ns_lanai_send_with_credit(
                lanai,
                ns_lanai_packet_new(lanai, source, NS_LANAI_FADDED, before, 0));
    } else if (!lanai->open) {
        lanai->stats[NS_NIC_STAT_CLOSED]++;
        release(lanai, packet);
    } else if (wire.type == NS_LANAI_FADDED) {
        fetched(lanai, packet, wire.value);
    } else {
        to_host(lanai, packet);
    }
    ns_lanai_wake(lanai);
}

/* The peer, from `ack_next` on, that is owed half a window; nodes: none. */
static uint32_t ack_peer(const struct ns_lanai *lanai)
{
    for (uint32_t i = 0; i < lanai->nodes; i++) {
        uint32_t node = (lanai->ack_next + i) % lanai->nodes;

        if (lanai->peers[node].owed * 2 >= lanai->window) {
            return node;
        }
    }
    return lanai->nodes;
}

static void ack_finish(struct ns_lanai *lanai)
{
    uint32_t node = ack_peer(lanai);

    if (node == lanai->nodes) {
        return; /* went with a packet meanwhile */
    }
    lanai->ack_next = (node + 1) % lanai->nodes;
    lanai->stats[NS_LANAI_STAT_ACKS]++;
    ns_lanai_inject(lanai,
                    ns_lanai_packet_new(lanai, node, NS_LANAI_CREDITS, 0, 0));
}

/* Released packets first: their senders wait for the credit. */
static void cleanup_finish(struct ns_lanai *lanai)
{
    struct am_list *link;

    lanai->cleaned_cycles += lanai->settings->step_cycles;
    if (lanai->cleaned_cycles < lanai->settings->cleanup_cycles) {
        return;
    }
    lanai->cleaned_cycles = 0;
    link = am_list_pop(&lanai->done_queue);
    if (link != NULL) {
        release(lanai, am_container(link, struct ns_packet, link));
        return;
    }
    lanai->sent_cleanups--;
    slot_free(lanai);
}

/* ---------------------------------------------------------------- processor */

static struct ns_lanai *lanai_of(struct ns_clocked *clocked)
{
    return am_container(clocked, struct ns_lanai, processor);
}

/* Can the first packet be taken?  Data for an open host need a buffer. */
static bool may_receive(const struct ns_lanai *lanai)
{
    const struct ns_packet *packet;

    if (am_list_is_empty(&lanai->in_queue)) {
        return false;
    }
    packet = am_container(lanai->in_queue.next, struct ns_packet, link);
    return !lanai->open || lanai->free_count > 0 ||
           packet->data[0] == NS_LANAI_CREDITS ||
           packet->data[0] == NS_LANAI_FADD;
}

static void processor_sample(struct ns_clocked *clocked)
{
    struct ns_lanai *lanai = lanai_of(clocked);

    if (may_receive(lanai)) {
        lanai->latched = NS_LANAI_RECEIVE;
    } else if (lanai->descriptors[2 * lanai->send_next + 1] != 0) {
        lanai->latched = NS_LANAI_SEND;
    } else if (ack_peer(lanai) != lanai->nodes) {
        lanai->latched = NS_LANAI_ACK;
    } else if (lanai->sent_cleanups > 0 ||
               !am_list_is_empty(&lanai->done_queue)) {
        lanai->latched = NS_LANAI_CLEANUP;
    } else {
        lanai->latched = NS_LANAI_IDLE;
    }
}

static uint64_t task_cycles(const struct ns_lanai *lanai)
{
    const struct ns_lanai_settings *settings = lanai->settings;
    const struct ns_packet *packet;
    uint64_t left;

    switch (lanai->task) {
    case NS_LANAI_RECEIVE:
        packet = am_container(lanai->in_queue.next, struct ns_packet, link);
        return settings->receive_cycles + (packet->data[0] == NS_LANAI_FADD
                                                   ? settings->fetch_add_cycles
                                                   : 0);
    case NS_LANAI_CLEANUP:
        left = settings->cleanup_cycles - lanai->cleaned_cycles;
        return left < settings->step_cycles ? left : settings->step_cycles;
    default:
        return settings->send_cycles;
    }
}

static uint64_t processor_evaluate(struct ns_clocked *clocked)
{
    struct ns_lanai *lanai = lanai_of(clocked);
    uint64_t now_ps = ns_engine_now(lanai->component.engine);

    if (lanai->task != NS_LANAI_IDLE) {
        if (now_ps < lanai->busy_until_ps) {
            return lanai->busy_until_ps;
        }
        lanai->finished = lanai->task;
        lanai->task = NS_LANAI_IDLE;
        return 0;
    }
    lanai->task = lanai->latched;
    if (lanai->task == NS_LANAI_IDLE) {
        return NS_NEVER;
    }
    if (lanai->task == NS_LANAI_SEND) {
        ns_lanai_mark(lanai, NS_STAGE_SEEN);
    } else if (lanai->task == NS_LANAI_RECEIVE) {
        ns_lanai_mark(lanai, NS_STAGE_FW_WAIT);
    }
    lanai->busy_until_ps = now_ps + task_cycles(lanai) * lanai->clock.period_ps;
    lanai->stats[NS_LANAI_STAT_BUSY] += lanai->busy_until_ps - now_ps;
    return lanai->busy_until_ps;
}

static void processor_commit(struct ns_clocked *clocked)
{
    struct ns_lanai *lanai = lanai_of(clocked);
    ns_lanai_task_t finished = lanai->finished;

    lanai->finished = NS_LANAI_IDLE;
    if (finished == NS_LANAI_IDLE) {
        return;
    }
    ns_trace(&lanai->component, NS_TRACE_FW, finished, 0);
    switch (finished) {
    case NS_LANAI_RECEIVE:
        receive_finish(lanai);
        break;
    case NS_LANAI_SEND:
        send_finish(lanai);
        break;
    case NS_LANAI_ACK:
        ack_finish(lanai);
        break;
    default:
        cleanup_finish(lanai);
        break;
    }
}

const struct ns_clocked_ops ns_lanai_processor_ops = {
        .sample = processor_sample,
        .evaluate = processor_evaluate,
        .commit = processor_commit,
};
