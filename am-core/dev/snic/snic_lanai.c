/*
 * The host's half of the LANai (the LCI paper): send slots, which the NI
 * fetches by DMA or the host writes into NI memory, a queue of receive buffers
 * whose addresses the NI is told, arrival seen by a number at the head buffer.
 * The host's cache is coherent, so nothing is flushed.
 */
#include "dev/snic/snic_lanai.h"

#include "base/assert.h"

#include <string.h>

/* The driver's part of a slot's header. */
enum {
    USER_KIND,
    USER_CLASS,
    USER_HDR_BYTES,
    USER_CREDITS
};

AM_STATIC_ASSERT(sizeof(struct ns_lanai_header) == NS_LANAI_HEADER_BYTES,
                 "the NI's header");

/* ------------------------------------------------------------------ sending */

uint32_t lanai_slots_used(struct snic_dev *snic)
{
    struct lanai *lanai = snic->nic_data;

    return lanai->sent - lanai->done;
}

void lanai_status_look(struct snic_dev *snic)
{
    struct lanai *lanai = snic->nic_data;

    snic->port->ops->load(snic->port, lanai->status, &lanai->done,
                          sizeof(lanai->done));
}

bool lanai_room(struct snic_dev *snic, uint32_t spare)
{
    struct lanai *lanai = snic->nic_data;

    if (lanai_slots_used(snic) + spare >= lanai->facts->send_slots) {
        lanai_status_look(snic);
    }
    return lanai_slots_used(snic) + spare < lanai->facts->send_slots;
}

uint32_t lanai_slot(const struct lanai *lanai)
{
    return NS_LANAI_SLOTS +
           lanai->sent % lanai->facts->send_slots * lanai->facts->mtu_bytes;
}

void lanai_descriptor(struct snic_dev *snic, uint32_t node, uint32_t kind,
                      uint32_t bytes, uint32_t address)
{
    struct lanai *lanai = snic->nic_data;
    struct ns_port *port = snic->port;
    uint32_t at = lanai->sent % lanai->facts->send_slots * NS_LANAI_DESC_BYTES;

    if (kind != NS_LANAI_SEND_SLOT && kind != NS_LANAI_SEND_MCAST_SLOT) {
        port->ops->pio_store(port, at + NS_LANAI_DESC_ADDRESS, address, 4);
    }
    port->ops->pio_store(port, at + NS_LANAI_DESC_LENGTH,
                         node << 16 | kind << NS_LANAI_KIND_SHIFT | bytes, 4);
    lanai->sent++;
}

void lanai_transmit(struct snic_dev *snic, struct snic_tx *tx)
{
    struct lanai *lanai = snic->nic_data;
    struct ns_port *port = snic->port;
    const struct ns_lanai_header header = {
            .bytes = (uint16_t)(tx->info.hdr_bytes + tx->info.data_bytes),
            .user = {[USER_CLASS] = (uint8_t)tx->info.class,
                     [USER_HDR_BYTES] = (uint8_t)tx->info.hdr_bytes,
                     [USER_CREDITS] = (uint8_t)tx->info.credits},
    };
    uint8_t *image = tx->body - NS_LANAI_HEADER_BYTES;
    uint32_t bytes = NS_LANAI_HEADER_BYTES + header.bytes;
    uint32_t slot = lanai->tx_base +
                    lanai->sent % lanai->facts->send_slots * lanai->slot_bytes;
    bool pio = lanai->writes;
    bool mcast = tx->info.class == SNIC_CLASS_MULTICAST;

    memcpy(image, &header, sizeof(header));
    port->ops->charge(port, NS_WORK_SEND, 1);
    if (lanai->facts->reliability == NS_LANAI_HOST) {
        port->ops->charge(port, NS_WORK_RELIABLE_SEND, 1);
    }
    if (pio) {
        port->ops->pio_write(port, lanai_slot(lanai), image, bytes);
    } else {
        port->ops->charge(port, NS_WORK_FETCH, 1);
        port->ops->store(port, slot, image, bytes);
    }
    port->ops->mark(port, NS_STAGE_BUILD);
    lanai_descriptor(snic, tx->info.node,
                     pio ? mcast ? NS_LANAI_SEND_MCAST_SLOT : NS_LANAI_SEND_SLOT
                     : mcast ? NS_LANAI_SEND_MCAST
                             : NS_LANAI_SEND_FETCH,
                     bytes, slot);
}

void snic_lanai_write(struct am_dev *dev, bool on)
{
    struct lanai *lanai = snic_of(dev)->nic_data;

    lanai->writes = on || lanai->facts->transfer == NS_LANAI_PIO;
}

am_status_t lanai_fetch_add(struct snic_dev *snic, uint32_t node,
                            uint64_t value, uint64_t *old_p,
                            am_dev_done_fn done, void *arg)
{
    struct lanai *lanai = snic->nic_data;

    if (lanai->facts->reliability == NS_LANAI_HOST) {
        return AM_ERR_UNSUPPORTED; /* the NI may lose it */
    }
    if (lanai->fetch_count == LANAI_FETCH_MAX || !lanai_room(snic, 0)) {
        return AM_ERR_AGAIN;
    }
    lanai->fetches[(lanai->fetch_head + lanai->fetch_count++) %
                   LANAI_FETCH_MAX] = (struct lanai_fetch){old_p, done, arg};
    snic->port->ops->charge(snic->port, NS_WORK_SEND, 1);
    lanai_descriptor(snic, node, NS_LANAI_SEND_FETCH_ADD, 0, (uint32_t)value);
    return AM_OK;
}

/* ---------------------------------------------------------------- receiving */

void lanai_begin(struct snic_dev *snic)
{
    struct lanai *lanai = snic->nic_data;

    snic->port->ops->charge(snic->port, NS_WORK_POLL, 1);
    if (lanai->copies != NULL) {
        lanai_copies_run(snic);
    }
}

/* The head buffer has been copied out: the NI may fill it again. */
static void give_back(struct snic_dev *snic, uint32_t buffer)
{
    struct lanai *lanai = snic->nic_data;

    snic->port->ops->pio_store(snic->port, NS_LANAI_REG_FREE, buffer, 4);
    lanai->received++;
}

static void fetch_end(struct lanai *lanai, const struct ns_lanai_header *header)
{
    struct lanai_fetch fetch = lanai->fetches[lanai->fetch_head];
    uint32_t value;

    if (lanai->fetch_count == 0) {
        return;
    }
    memcpy(&value, header->user + 4, sizeof(value));
    lanai->fetch_head = (lanai->fetch_head + 1) % LANAI_FETCH_MAX;
    lanai->fetch_count--;
    *fetch.old_p = value;
    fetch.done(fetch.arg, AM_OK);
}

/* A multicast that the host forwards goes on as it came: one copy into a slot,
 * one transfer to the NI, for all children. */
static void forward(struct snic_dev *snic, const struct snic_rx *rx)
{
    struct snic_tx tx;

    tx.info = rx->info;
    tx.body = (uint8_t *)tx.image + SNIC_HEAD_BYTES;
    memcpy(tx.body, rx->buffer, rx->info.hdr_bytes + rx->info.data_bytes);
    lanai_transmit(snic, &tx);
}

static bool is_forwarded(const struct snic_dev *snic,
                         const struct ns_lanai_header *header)
{
    const struct lanai *lanai = snic->nic_data;
    uint32_t children[NS_LANAI_CHILDREN_MAX];

    return lanai->facts->multicast_host != 0 &&
           header->user[USER_CLASS] == SNIC_CLASS_MULTICAST &&
           header->node < snic->port->nodes &&
           lanai_children(lanai->facts, snic->port->nodes, header->node,
                          snic->port->node, children) > 0;
}

/* Copy a packet out; false, and counted, when it cannot be one. */
static bool packet_take(struct snic_dev *snic, uint32_t buffer,
                        const struct ns_lanai_header *header,
                        struct snic_rx *rx)
{
    const struct lanai *lanai = snic->nic_data;
    struct snic_info info = {
            .node = header->node,
            .class = header->user[USER_CLASS],
            .hdr_bytes = header->user[USER_HDR_BYTES],
            .credits = header->user[USER_CREDITS],
    };

    /* Less data than none is more than a packet holds. */
    info.data_bytes = header->bytes - info.hdr_bytes;
    if (!snic_take(snic, &info, buffer + NS_LANAI_HEADER_BYTES, rx)) {
        return false;
    }
    if (lanai->facts->reliability == NS_LANAI_HOST) {
        snic->port->ops->charge(snic->port, NS_WORK_RELIABLE_RECEIVE, 1);
    }
    if (is_forwarded(snic, header)) {
        forward(snic, rx);
    }
    return true;
}

/* The head buffer: a packet for the layer above (true), or the NI's own. */
static bool buffer_take(struct snic_dev *snic, uint32_t buffer,
                        const struct ns_lanai_header *header,
                        struct snic_rx *rx)
{
    struct lanai *lanai = snic->nic_data;
    bool found = false;

    switch (header->user[USER_KIND]) {
    case NS_LANAI_USER_FETCHED:
        snic->port->ops->charge(snic->port, NS_WORK_RECEIVE, 1);
        fetch_end(lanai, header);
        break;
    case NS_LANAI_USER_COPIED:
        snic->port->ops->charge(snic->port, NS_WORK_RECEIVE, 1);
        lanai_copied(snic, header);
        break;
    case NS_LANAI_USER_MISS:
        snic->port->ops->charge(snic->port, NS_WORK_RECEIVE, 1);
        lanai_missed(snic, buffer, header);
        break;
    default:
        found = packet_take(snic, buffer, header, rx);
        break;
    }
    give_back(snic, buffer);
    return found;
}

bool lanai_receive(struct snic_dev *snic, struct snic_rx *rx)
{
    struct lanai *lanai = snic->nic_data;
    struct ns_port *port = snic->port;
    bool found = false;

    while (!found) {
        uint32_t buffer = lanai->rx_base +
                          lanai->received % lanai->facts->receive_buffers *
                                  lanai->slot_bytes;
        struct ns_lanai_header header;

        port->ops->load(port, buffer, &header, sizeof(header));
        if (header.sequence != lanai->received + 1 ||
            (is_forwarded(snic, &header) && !lanai_room(snic, 0))) {
            return false;
        }
        port->ops->mark(port, NS_STAGE_POLLED);
        found = buffer_take(snic, buffer, &header, rx);
    }
    if (lanai->facts->transfer != NS_LANAI_PIO) {
        lanai_status_look(snic); /* whose slots it may fill again */
    }
    port->ops->mark(port, NS_STAGE_COPIED);
    return true;
}
