/*
 * What the LANai's tasks do when their time is over, and how long they take.
 * A packet costs a part that it always has, flow control, and starting a host
 * DMA when there is one; the sum is all that the machine file calibrates.
 */
#include "nic/lanai/lanai.h"

#include <string.h>

/* --------------------------------------------------------------- send slots */

/* A slot is free again.  The host is told at once when it waits for its memory;
 * when it has put the data here itself, for a quarter of the slots at a time,
 * or when there is nothing else to do. */
static void slot_free(struct ns_lanai *lanai)
{
    bool idle = lanai->slot_cleanups == 0 && lanai->fetched_cleanups == 0;

    lanai->send_done++;
    if (!lanai->open ||
        (lanai->settings->transfer == NS_LANAI_PIO && !idle &&
         lanai->send_done - lanai->send_told < lanai->facts.send_slots / 4)) {
        return;
    }
    lanai->send_told = lanai->send_done;
    ns_lanai_job_queue(lanai,
                       (struct ns_lanai_job){.address = lanai->status_address});
}

void ns_lanai_frees(struct ns_lanai *lanai, uint32_t route)
{
    if (route >= NS_LANAI_FREES_GROUP) {
        ns_lanai_group_part(lanai, route - NS_LANAI_FREES_GROUP);
    } else if (route == NS_LANAI_FREES_FETCHED) {
        lanai->fetched_cleanups++;
    } else if (route == NS_LANAI_FREES_SLOT) {
        lanai->slot_cleanups++;
    }
}

/* --------------------------------------------------------------------- SEND */

static uint32_t *descriptor_of(const struct ns_lanai *lanai)
{
    return &lanai->descriptors[4 * lanai->send_next];
}

static uint32_t kind_of(const uint32_t *descriptor)
{
    return descriptor[1] >> NS_LANAI_KIND_SHIFT & 7;
}

static bool fetches(uint32_t kind)
{
    return kind == NS_LANAI_SEND_FETCH || kind == NS_LANAI_SEND_MCAST ||
           kind == NS_LANAI_SEND_COPY;
}

uint64_t ns_lanai_send_cycles(const struct ns_lanai *lanai)
{
    const struct ns_lanai_settings *settings = lanai->settings;
    const uint32_t *descriptor = descriptor_of(lanai);
    uint32_t kind = kind_of(descriptor);
    uint64_t one = settings->send_cycles + ns_lanai_flow_cycles(lanai);
    uint64_t cycles = fetches(kind) ? settings->host_dma_cycles : 0;

    if (kind == NS_LANAI_SEND_COPY || kind == NS_LANAI_SEND_COPY_SLOT) {
        cycles += settings->remote_cycles;
    }
    /* A multicast's packets to children are tasks of their own. */
    return kind == NS_LANAI_SEND_MCAST || kind == NS_LANAI_SEND_MCAST_SLOT
                   ? cycles + settings->send_cycles
                   : cycles + one;
}

/* The packet that a descriptor asks for; it holds the slot. */
static struct ns_packet *send_packet(struct ns_lanai *lanai,
                                     const uint32_t *descriptor)
{
    static const uint8_t types[] = {
            [NS_LANAI_SEND_FETCH] = NS_LANAI_DATA,
            [NS_LANAI_SEND_SLOT] = NS_LANAI_DATA,
            [NS_LANAI_SEND_FETCH_ADD] = NS_LANAI_FADD,
            [NS_LANAI_SEND_MCAST] = NS_LANAI_MCAST,
            [NS_LANAI_SEND_MCAST_SLOT] = NS_LANAI_MCAST,
            [NS_LANAI_SEND_COPY] = NS_LANAI_COPY,
            [NS_LANAI_SEND_COPY_SLOT] = NS_LANAI_COPY,
            [NS_LANAI_SEND_COPIED] = NS_LANAI_COPIED,
    };
    uint32_t kind = kind_of(descriptor);
    uint8_t type = types[kind];
    bool copy = type == NS_LANAI_COPY;
    uint32_t value = type == NS_LANAI_FADD ? descriptor[0]
                     : copy                ? descriptor[2]
                                           : descriptor[3];
    struct ns_packet *packet =
            ns_lanai_packet_new(lanai, descriptor[1] >> 16, type, value,
                                descriptor[1] & NS_LANAI_BYTES_MASK);
    struct ns_lanai_wire *wire = ns_lanai_wire_of(packet);

    wire->root = (uint16_t)((copy ? descriptor[3] : descriptor[1]) >> 16);
    wire->notice = copy ? (uint8_t)descriptor[3] : 0;
    packet->route =
            fetches(kind) ? NS_LANAI_FREES_FETCHED : NS_LANAI_FREES_SLOT;
    return packet;
}

static void send_one(struct ns_lanai *lanai, const uint32_t *descriptor)
{
    struct ns_packet *packet = send_packet(lanai, descriptor);
    uint32_t kind = kind_of(descriptor);
    const uint8_t *slot =
            lanai->slots + ns_lanai_mtu(lanai->settings) * lanai->send_next;

    if (fetches(kind)) {
        ns_lanai_job_queue(lanai,
                           (struct ns_lanai_job){.packet = packet,
                                                 .address = descriptor[0]});
        return;
    }
    memcpy(packet->data + NS_LANAI_WIRE_BYTES, slot,
           packet->bytes - NS_LANAI_WIRE_BYTES);
    if (kind == NS_LANAI_SEND_MCAST_SLOT) {
        ns_lanai_mcast_start(lanai, packet, descriptor[1] >> 16, packet->route);
        return;
    }
    if (kind == NS_LANAI_SEND_FETCH_ADD || kind == NS_LANAI_SEND_COPIED) {
        packet->route = NS_LANAI_FREES_NOTHING; /* no buffer to clean up */
        slot_free(lanai);
    }
    ns_lanai_flow_send(lanai, packet);
}

void ns_lanai_send_finish(struct ns_lanai *lanai)
{
    uint32_t *descriptor = descriptor_of(lanai);
    uint32_t kind = kind_of(descriptor);
    uint32_t to = descriptor[1] >> 16;
    bool mcast =
            kind == NS_LANAI_SEND_MCAST || kind == NS_LANAI_SEND_MCAST_SLOT;

    ns_lanai_mark(lanai, NS_STAGE_FW_OUT);
    if (to >= lanai->nodes || (to == lanai->component.node && !mcast)) {
        lanai->stats[NS_LANAI_STAT_BAD]++;
        lanai->slot_cleanups++;
    } else {
        send_one(lanai, descriptor);
    }
    descriptor[1] = 0;
    lanai->send_next = (lanai->send_next + 1) % lanai->facts.send_slots;
    ns_lanai_wake(lanai);
}

/* ------------------------------------------------------------------ RECEIVE */

uint64_t ns_lanai_receive_cycles(const struct ns_lanai *lanai)
{
    const struct ns_lanai_settings *settings = lanai->settings;
    struct ns_packet *packet =
            am_container(lanai->in_queue.next, struct ns_packet, link);
    const struct ns_lanai_wire *wire = ns_lanai_wire_of(packet);
    uint64_t flow = ns_lanai_flow_cycles(lanai);
    uint64_t cycles = settings->receive_cycles + flow;
    uint64_t answer = settings->send_cycles + flow;

    switch (wire->type) {
    case NS_LANAI_TOLD:
    case NS_LANAI_AGAIN:
        return cycles;
    case NS_LANAI_FADD:
        return cycles + settings->fetch_add_cycles + answer;
    case NS_LANAI_COPY:
        cycles += settings->remote_cycles + (wire->notice != 0 ? answer : 0);
        break;
    default:
        break;
    }
    return cycles + settings->host_dma_cycles;
}

void ns_lanai_release(struct ns_lanai *lanai, struct ns_packet *packet)
{
    uint32_t from = packet->source;

    if (lanai->settings->reliability == NS_LANAI_NI &&
        packet->route >= NS_LANAI_FREES_GROUP) {
        ns_lanai_forwarding_end(lanai, &lanai->peers[from]);
    }
    ns_packet_put(&lanai->net->pool, packet);
    ns_myrinet_taken(lanai->net, lanai->component.node);
    ns_lanai_flow_released(lanai, from);
}

void ns_lanai_host_queue_run(struct ns_lanai *lanai)
{
    uint32_t max = (uint32_t)lanai->settings->host_buffers;

    while (lanai->free_count > 0 && !am_list_is_empty(&lanai->host_queue)) {
        struct ns_packet *packet = am_container(am_list_pop(&lanai->host_queue),
                                                struct ns_packet, link);
        uint8_t *at = packet->data + NS_LANAI_WIRE_BYTES;
        struct ns_lanai_header header;

        memcpy(&header, at, sizeof(header));
        header.sequence = ++lanai->sequence;
        memcpy(at, &header, sizeof(header));
        ns_lanai_job_queue(
                lanai, (struct ns_lanai_job){
                               .packet = packet,
                               .address = lanai->free_buffers[lanai->free_head],
                               .in = true,
                       });
        lanai->free_head = (lanai->free_head + 1) % max;
        lanai->free_count--;
    }
}

void ns_lanai_to_host(struct ns_lanai *lanai, struct ns_packet *packet)
{
    const struct ns_lanai_wire *wire = ns_lanai_wire_of(packet);
    uint8_t *at = packet->data + NS_LANAI_WIRE_BYTES;
    struct ns_lanai_header header;

    memcpy(&header, at, sizeof(header));
    header.node = (uint16_t)(wire->type == NS_LANAI_MCAST ? wire->root
                                                          : packet->source);
    memcpy(at, &header, sizeof(header));
    am_list_push(&lanai->host_queue, &packet->link);
    ns_lanai_host_queue_run(lanai);
}

/* A word from the NI itself, as the host sees it. */
static void word_to_host(struct ns_lanai *lanai, struct ns_packet *packet,
                         uint8_t user, uint32_t word)
{
    struct ns_lanai_header header = {.user = {user}};

    memcpy(header.user + 4, &word, sizeof(word));
    memcpy(packet->data + NS_LANAI_WIRE_BYTES, &header, sizeof(header));
    packet->bytes = NS_LANAI_WIRE_BYTES + sizeof(header);
    ns_lanai_to_host(lanai, packet);
}

static void fetch_add(struct ns_lanai *lanai, struct ns_packet *packet,
                      uint32_t value)
{
    uint32_t before = lanai->variable;
    uint32_t source = packet->source;

    lanai->variable += value;
    lanai->stats[NS_NIC_STAT_RECEIVED]++;
    ns_lanai_release(lanai, packet);
    ns_lanai_flow_send(lanai, ns_lanai_packet_new(lanai, source,
                                                  NS_LANAI_FADDED, before, 0));
}

static void receive_taken(struct ns_lanai *lanai, struct ns_packet *packet)
{
    const struct ns_lanai_wire wire = *ns_lanai_wire_of(packet);

    if (wire.type == NS_LANAI_FADD) {
        fetch_add(lanai, packet, wire.value);
    } else if (!lanai->open) {
        lanai->stats[NS_NIC_STAT_CLOSED]++;
        ns_lanai_release(lanai, packet);
    } else if (wire.type == NS_LANAI_FADDED) {
        word_to_host(lanai, packet, NS_LANAI_USER_FETCHED, wire.value);
    } else if (wire.type == NS_LANAI_COPIED) {
        word_to_host(lanai, packet, NS_LANAI_USER_COPIED, wire.value);
    } else if (wire.type == NS_LANAI_MCAST) {
        ns_lanai_mcast_receive(lanai, packet, wire.root);
    } else if (wire.type == NS_LANAI_COPY) {
        ns_lanai_copy_receive(lanai, packet, &wire);
    } else {
        ns_lanai_to_host(lanai, packet);
    }
}

void ns_lanai_receive_finish(struct ns_lanai *lanai)
{
    struct ns_packet *packet =
            am_container(am_list_pop(&lanai->in_queue), struct ns_packet, link);
    const struct ns_lanai_wire wire = *ns_lanai_wire_of(packet);

    ns_lanai_mark(lanai, NS_STAGE_FW_IN);
    if (ns_lanai_flow_receive(lanai, packet, &wire)) {
        receive_taken(lanai, packet);
    }
    ns_lanai_wake(lanai);
}

/* ------------------------------------------------------------------ CLEANUP */

/* The first cleanup: a released packet, whose sender waits for it; then slots
 * that the host waits for. */
static uint64_t cleanup_cycles(const struct ns_lanai *lanai)
{
    const struct ns_lanai_settings *settings = lanai->settings;
    bool fetched =
            am_list_is_empty(&lanai->done_queue) && lanai->fetched_cleanups > 0;

    return settings->done_cycles + (fetched ? settings->fetched_cycles : 0);
}

uint64_t ns_lanai_cleanup_step(const struct ns_lanai *lanai)
{
    uint64_t whole = cleanup_cycles(lanai);
    uint64_t left =
            whole > lanai->cleaned_cycles ? whole - lanai->cleaned_cycles : 0;

    return left < lanai->settings->step_cycles ? left
                                               : lanai->settings->step_cycles;
}

void ns_lanai_cleanup_finish(struct ns_lanai *lanai)
{
    struct am_list *link;

    lanai->cleaned_cycles += lanai->settings->step_cycles;
    if (lanai->cleaned_cycles < cleanup_cycles(lanai)) {
        return;
    }
    lanai->cleaned_cycles = 0;
    link = am_list_pop(&lanai->done_queue);
    if (link != NULL) {
        ns_lanai_release(lanai, am_container(link, struct ns_packet, link));
        return;
    }
    if (lanai->fetched_cleanups > 0) {
        lanai->fetched_cleanups--;
    } else {
        lanai->slot_cleanups--;
    }
    slot_free(lanai);
}
