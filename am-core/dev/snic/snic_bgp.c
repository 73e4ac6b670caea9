/*
 * The host's half of Blue Gene/P, DCMF's eager protocol: a descriptor for each
 * message in the injection FIFO of its destination, so that all to one node
 * stay in order, its packets in the receiver's memory FIFO; the heads of the
 * injection FIFOs tell what has been sent.  Puts and gets are snic_bgp_put.c,
 * set-up is snic_bgp_init.c.
 */
#include "dev/snic/snic_bgp.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* The driver's part of a descriptor and of a packet's header. */
enum {
    USER_CLASS,
    USER_HDR_BYTES,
    USER_CREDITS
};

AM_STATIC_ASSERT(sizeof(struct ns_bgp_descriptor) == NS_BGP_DESCRIPTOR_BYTES,
                 "a descriptor");
AM_STATIC_ASSERT(sizeof(struct ns_bgp_header) == NS_BGP_HEADER_BYTES,
                 "a packet's header");
AM_STATIC_ASSERT(sizeof(struct ns_bgp_status) == NS_BGP_STATUS_BYTES,
                 "the status block");

/* Room that has been taken out of the reception FIFO is told in such parts. */
#define RELEASE_PART 8

void snic_bgp_write(struct snic_dev *snic, uint32_t block, uint32_t index,
                    uint32_t reg, uint32_t value)
{
    snic->port->ops->pio_store(snic->port, NS_BGP_REG(0, block, index, reg),
                               value, 4);
}

/* ------------------------------------------------------------------ sending */

static uint32_t fifo_of(const struct bgp *bgp, uint32_t destination)
{
    return destination % bgp->own;
}

/* The slots of a FIFO's first `count` descriptors are free again. */
static void slots_free(struct bgp *bgp, uint32_t index, uint32_t count)
{
    struct bgp_fifo *fifo = &bgp->fifo[index];

    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = fifo->first;

        fifo->first = bgp->next[slot];
        bgp->next[slot] = bgp->free;
        bgp->free = slot;
    }
    bgp->free_count += count;
    fifo->passed += count;
    if (fifo->passed == fifo->tail) {
        bgp->busy &= ~(1u << index);
    }
}

/* Load the status block, its heads too if slots are short and some are free. */
void snic_bgp_look(struct snic_dev *snic)
{
    struct bgp *bgp = snic->nic_data;
    bool heads = bgp->free_count <= bgp->facts->injection_entries / 2;

    snic->port->ops->load(snic->port, bgp->status_at, &bgp->status,
                          heads ? NS_BGP_STATUS_BYTES : NS_BGP_STATUS_SHORT);
    if (!heads && bgp->status.injected != bgp->sent) {
        return;
    }
    for (uint32_t left = bgp->busy; left != 0; left &= left - 1) {
        uint32_t index = (uint32_t)__builtin_ctz(left);
        const struct bgp_fifo *fifo = &bgp->fifo[index];
        uint32_t head = bgp->status.injected == bgp->sent
                                ? fifo->tail
                                : bgp->status.heads[index];

        slots_free(bgp, index, head - fifo->passed);
    }
}

/* As the last poll saw it: what has been sent since shows in the next. */
bool snic_bgp_room(const struct snic_dev *snic, uint32_t count, uint32_t spare)
{
    const struct bgp *bgp = snic->nic_data;

    return count + spare <= bgp->free_count;
}

static bool bgp_room(struct snic_dev *snic, uint32_t spare)
{
    return snic_bgp_room(snic, 1, spare);
}

uint32_t snic_bgp_slot(const struct bgp *bgp)
{
    return bgp->slots + bgp->free * bgp->slot_bytes;
}

void snic_bgp_post(struct snic_dev *snic,
                   const struct ns_bgp_descriptor *descriptor)
{
    struct bgp *bgp = snic->nic_data;
    uint32_t entries = bgp->facts->injection_entries;
    uint32_t index = fifo_of(bgp, descriptor->destination);
    struct bgp_fifo *fifo = &bgp->fifo[index];
    uint32_t slot = bgp->free;
    uint32_t at = index * entries + fifo->tail % entries;

    AM_ASSERT(bgp->free_count > 0);
    snic->port->ops->store(snic->port,
                           bgp->injection + at * NS_BGP_DESCRIPTOR_BYTES,
                           descriptor, sizeof(*descriptor));
    bgp->free = bgp->next[slot];
    bgp->free_count--;
    if (fifo->passed == fifo->tail) {
        fifo->first = slot;
    } else {
        bgp->next[fifo->last] = slot;
    }
    fifo->last = slot;
    fifo->tail++;
    bgp->busy |= 1u << index;
    bgp->sent++;
}

void snic_bgp_ring(struct snic_dev *snic, uint32_t destination)
{
    const struct bgp *bgp = snic->nic_data;
    uint32_t index = fifo_of(bgp, destination);

    snic->port->ops->mark(snic->port, NS_STAGE_BUILD);
    snic_bgp_write(snic, NS_BGP_INJECTION, index, NS_BGP_FIFO_TAIL,
                   bgp->fifo[index].tail);
}

static void bgp_transmit(struct snic_dev *snic, struct snic_tx *tx)
{
    struct ns_port *port = snic->port;
    const struct ns_bgp_descriptor descriptor = {
            .kind = NS_BGP_MEMORY_FIFO,
            .flags = NS_BGP_SHARED,
            .count = NS_BGP_COUNTER_NONE,
            .user = {[USER_CLASS] = (uint8_t)tx->info.class,
                     [USER_HDR_BYTES] = (uint8_t)tx->info.hdr_bytes,
                     [USER_CREDITS] = (uint8_t)tx->info.credits},
            .destination = tx->info.node,
            .bytes = tx->info.hdr_bytes + tx->info.data_bytes,
            .address = snic_bgp_slot(snic->nic_data),
    };

    port->ops->charge(port, NS_WORK_SEND, 1);
    port->ops->store(port, (uint32_t)descriptor.address, tx->body,
                     descriptor.bytes);
    snic_bgp_post(snic, &descriptor);
    snic_bgp_ring(snic, descriptor.destination);
}

/* ---------------------------------------------------------------- receiving */

static void bgp_begin(struct snic_dev *snic)
{
    snic->port->ops->charge(snic->port, NS_WORK_POLL, 1);
    snic_bgp_look(snic);
}

static bool header_good(const struct snic_dev *snic,
                        const struct ns_bgp_header *header)
{
    uint32_t total = header->u.message.total, place = header->u.message.place;

    return header->source < snic->port->nodes &&
           header->u.message.user[USER_CLASS] <= SNIC_CLASS_CREDIT &&
           header->u.message.user[USER_HDR_BYTES] <= SNIC_HDR_BYTES &&
           header->u.message.user[USER_HDR_BYTES] <= total &&
           total <= snic->base.attr.packet_bytes_max &&
           place + header->payload <= total;
}

/* Where this packet's payload goes: a whole message into `rx`, a part to the
 * others of its sender.  NULL: no memory. */
static uint8_t *payload_place(struct bgp *bgp,
                              const struct ns_bgp_header *header,
                              struct snic_rx *rx)
{
    struct bgp_part **part = &bgp->parts[header->source];

    if (header->payload == header->u.message.total) {
        return (uint8_t *)rx->buffer;
    }
    if (*part == NULL) {
        *part = malloc(sizeof(**part));
    }
    return *part == NULL ? NULL
                         : (uint8_t *)(*part)->buffer + header->u.message.place;
}

/* The packet's payload out of the FIFO, which goes round. */
static void payload_load(struct snic_dev *snic, uint32_t at, void *to,
                         uint32_t bytes)
{
    const struct bgp *bgp = snic->nic_data;
    struct ns_port *port = snic->port;
    uint32_t from = at + NS_BGP_HEADER_BYTES;
    uint32_t first = bgp->facts->reception_bytes - from;

    first = bytes < first ? bytes : first;
    port->ops->load(port, bgp->reception + from, to, first);
    if (first < bytes) {
        port->ops->load(port, bgp->reception, (uint8_t *)to + first,
                        bytes - first);
    }
}

static void packet_release(struct snic_dev *snic,
                           const struct ns_bgp_header *header)
{
    struct bgp *bgp = snic->nic_data;

    bgp->received +=
            (NS_BGP_HEADER_BYTES + header->payload + NS_BGP_GRANULE - 1u) /
            NS_BGP_GRANULE * NS_BGP_GRANULE;
    if (bgp->received - bgp->released >=
        bgp->facts->reception_bytes / RELEASE_PART) {
        bgp->released = bgp->received;
        snic_bgp_write(snic, NS_BGP_RECEPTION, 0, NS_BGP_FIFO_HEAD,
                       bgp->released);
    }
}

static void rx_fill(struct snic_dev *snic, const struct ns_bgp_header *header,
                    struct snic_rx *rx)
{
    const struct bgp *bgp = snic->nic_data;
    uint32_t total = header->u.message.total;

    if (header->payload != total) {
        memcpy(rx->buffer, bgp->parts[header->source]->buffer, total);
    }
    rx->info.node = header->source;
    rx->info.class = header->u.message.user[USER_CLASS];
    rx->info.credits = header->u.message.user[USER_CREDITS];
    rx->info.hdr_bytes = header->u.message.user[USER_HDR_BYTES];
    rx->info.data_bytes = total - rx->info.hdr_bytes;
    rx->hdr = (const uint8_t *)rx->buffer;
    rx->data = (uint8_t *)rx->buffer + rx->info.hdr_bytes;
    snic->port->ops->charge(snic->port, NS_WORK_RECEIVE, 1);
    snic->port->ops->mark(snic->port, NS_STAGE_COPIED);
}

/* Take packets until one ends a message. */
static bool bgp_receive(struct snic_dev *snic, struct snic_rx *rx)
{
    struct bgp *bgp = snic->nic_data;
    struct ns_port *port = snic->port;

    while (bgp->received != bgp->status.received) {
        uint32_t at = bgp->received % bgp->facts->reception_bytes;
        struct ns_bgp_header header;
        uint8_t *to = NULL;

        port->ops->load(port, bgp->reception + at, &header, sizeof(header));
        port->ops->mark(port, NS_STAGE_POLLED);
        if (header_good(snic, &header)) {
            to = payload_place(bgp, &header, rx);
        }
        if (to == NULL) {
            snic->stats[AM_DEV_STAT_RX_BAD]++;
            packet_release(snic, &header);
            continue;
        }
        payload_load(snic, at, to, header.payload);
        packet_release(snic, &header);
        if (header.u.message.place + header.payload == header.u.message.total) {
            rx_fill(snic, &header, rx);
            return true;
        }
        port->ops->charge(port, NS_WORK_POLL, 1);
    }
    return false;
}

const struct snic_nic snic_bgp = {
        .name = "bgp",
        .open = snic_bgp_open,
        .close = snic_bgp_close,
        .room = bgp_room,
        .transmit = bgp_transmit,
        .begin = bgp_begin,
        .receive = bgp_receive,
        .mem_register = snic_bgp_mem_register,
        .mem_deregister = snic_bgp_mem_deregister,
        .put = snic_bgp_put,
        .get = snic_bgp_get,
        .complete = snic_bgp_complete,
};
