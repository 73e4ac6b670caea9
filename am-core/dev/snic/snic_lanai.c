/*
 * The host's half of the LANai (I-sdma of the LCI paper): send slots that the
 * NI fetches by DMA, a queue of receive buffers whose addresses the NI is
 * told, arrival seen by a number at the head buffer.  The host's cache is
 * coherent, so nothing is flushed.
 */
#include "base/assert.h"
#include "dev/snic/snic.h"
#include "nicsim_lanai.h"

#include <stdlib.h>
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

/* Of one fetch-and-add that this host waits for; they return in order. */
struct fetch {
    uint64_t *old_p;
    am_dev_done_fn done;
    void *arg;
};

#define FETCH_MAX 64

struct lanai {
    const struct ns_lanai_facts *facts;
    uint32_t slot_bytes;
    uint32_t tx_base, rx_base, status;
    uint32_t sent, done; /* slots ever filled, and known to be free again */
    uint32_t received;   /* buffers ever taken */
    struct fetch fetches[FETCH_MAX];
    uint32_t fetch_head, fetch_count;
};

static uint32_t slots_used(struct snic_dev *snic)
{
    struct lanai *lanai = snic->nic_data;

    return lanai->sent - lanai->done;
}

static void status_look(struct snic_dev *snic)
{
    struct lanai *lanai = snic->nic_data;

    snic->port->ops->load(snic->port, lanai->status, &lanai->done,
                          sizeof(lanai->done));
}

static bool lanai_room(struct snic_dev *snic, uint32_t spare)
{
    struct lanai *lanai = snic->nic_data;

    if (slots_used(snic) + spare >= lanai->facts->send_slots) {
        status_look(snic);
    }
    return slots_used(snic) + spare < lanai->facts->send_slots;
}

/* Two stores into SRAM; the second makes the descriptor valid. */
static void descriptor_write(struct snic_dev *snic, uint32_t address,
                             uint32_t node, uint32_t bytes)
{
    struct lanai *lanai = snic->nic_data;
    struct ns_port *port = snic->port;
    uint32_t at = lanai->sent % lanai->facts->send_slots * NS_LANAI_DESC_BYTES;

    port->ops->pio_store(port, at + NS_LANAI_DESC_ADDRESS, address, 4);
    port->ops->pio_store(port, at + NS_LANAI_DESC_LENGTH, node << 16 | bytes,
                         4);
    lanai->sent++;
}

static void lanai_transmit(struct snic_dev *snic, struct snic_tx *tx)
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

    memcpy(image, &header, sizeof(header));
    port->ops->charge(port, NS_WORK_SEND, 1);
    port->ops->store(port, slot, image, bytes);
    port->ops->mark(port, NS_STAGE_BUILD);
    descriptor_write(snic, slot, tx->info.node, bytes);
}

static am_status_t lanai_fetch_add(struct snic_dev *snic, uint32_t node,
                                   uint64_t value, uint64_t *old_p,
                                   am_dev_done_fn done, void *arg)
{
    struct lanai *lanai = snic->nic_data;

    if (lanai->fetch_count == FETCH_MAX || !lanai_room(snic, 0)) {
        return AM_ERR_AGAIN;
    }
    lanai->fetches[(lanai->fetch_head + lanai->fetch_count++) % FETCH_MAX] =
            (struct fetch){old_p, done, arg};
    snic->port->ops->charge(snic->port, NS_WORK_SEND, 1);
    descriptor_write(snic, (uint32_t)value, node, NS_LANAI_FETCH_ADD);
    return AM_OK;
}

/* ---------------------------------------------------------------- receiving */

static void lanai_begin(struct snic_dev *snic)
{
    snic->port->ops->charge(snic->port, NS_WORK_POLL, 1);
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
    struct fetch fetch = lanai->fetches[lanai->fetch_head];
    uint32_t value;

    if (lanai->fetch_count == 0) {
        return;
    }
    memcpy(&value, header->user + 4, sizeof(value));
    lanai->fetch_head = (lanai->fetch_head + 1) % FETCH_MAX;
    lanai->fetch_count--;
    *fetch.old_p = value;
    fetch.done(fetch.arg, AM_OK);
}

/* Copy a packet out; false, and counted, when it cannot be one. */
static bool packet_take(struct snic_dev *snic, uint32_t buffer,
                        const struct ns_lanai_header *header,
                        struct snic_rx *rx)
{
    struct snic_info info = {
            .node = header->node,
            .class = header->user[USER_CLASS],
            .hdr_bytes = header->user[USER_HDR_BYTES],
            .credits = header->user[USER_CREDITS],
    };

    /* Less data than none is more than a packet holds. */
    info.data_bytes = header->bytes - info.hdr_bytes;
    return snic_take(snic, &info, buffer + NS_LANAI_HEADER_BYTES, rx);
}

static bool lanai_receive(struct snic_dev *snic, struct snic_rx *rx)
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
        if (header.sequence != lanai->received + 1) {
            return false;
        }
        port->ops->mark(port, NS_STAGE_POLLED);
        if (header.user[USER_KIND] == NS_LANAI_USER_FETCHED) {
            port->ops->charge(port, NS_WORK_RECEIVE, 1);
            fetch_end(lanai, &header);
        } else {
            found = packet_take(snic, buffer, &header, rx);
        }
        give_back(snic, buffer);
    }
    port->ops->mark(port, NS_STAGE_COPIED);
    return true;
}

/* ------------------------------------------------------------------- set-up */

static void attr_set(struct am_dev_attr *attr,
                     const struct ns_lanai_facts *facts)
{
    uint64_t byte_fs = UINT64_C(1000000000000000) / facts->bytes_per_second;

    *attr = (struct am_dev_attr){
            .caps = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED,
            .packet_bytes_max = facts->mtu_bytes - NS_LANAI_HEADER_BYTES,
            .reply_bytes_max = facts->mtu_bytes - NS_LANAI_HEADER_BYTES,
            .hdr_bytes_max = SNIC_HDR_BYTES,
            .depth = facts->send_slots / 2,
            .perf = {.send_overhead = {facts->send_ps, facts->copy_byte_fs},
                     .recv_overhead = {facts->receive_ps, facts->copy_byte_fs},
                     .wire = {facts->wire_ps, 2 * byte_fs},
                     .gap_ps = facts->packet_ps},
    };
}

static am_status_t lanai_open(struct snic_dev *snic)
{
    struct lanai *lanai = calloc(1, sizeof(*lanai));
    struct ns_port *port = snic->port;
    const struct ns_lanai_facts *facts = port->facts;

    if (lanai == NULL) {
        return AM_ERR_MEMORY;
    }
    lanai->facts = facts;
    lanai->slot_bytes = (facts->mtu_bytes + 63) / 64 * 64;
    lanai->status = port->ops->alloc(port, 64, 64);
    lanai->tx_base = port->ops->alloc(
            port, (size_t)facts->send_slots * lanai->slot_bytes, 64);
    lanai->rx_base = port->ops->alloc(
            port, (size_t)facts->receive_buffers * lanai->slot_bytes, 64);
    if (lanai->status == NS_ADDRESS_NONE || lanai->tx_base == NS_ADDRESS_NONE ||
        lanai->rx_base == NS_ADDRESS_NONE ||
        facts->mtu_bytes > SNIC_PACKET_BYTES) {
        free(lanai);
        return AM_ERR_MEMORY;
    }
    snic->nic_data = lanai;
    attr_set(&snic->base.attr, facts);
    port->ops->pio_store(port, NS_LANAI_REG_STATUS, lanai->status, 4);
    for (uint32_t i = 0; i < facts->receive_buffers; i++) {
        port->ops->pio_store(port, NS_LANAI_REG_FREE,
                             lanai->rx_base + i * lanai->slot_bytes, 4);
    }
    return AM_OK;
}

static void lanai_close(struct snic_dev *snic)
{
    struct ns_port *port = snic->port;

    while (slots_used(snic) > 0) {
        status_look(snic);
        port->ops->charge(port, NS_WORK_POLL, 1);
    }
    port->ops->pio_store(port, NS_LANAI_REG_CLOSE, 0, 4);
    while (port->ops->pio_load(port, NS_LANAI_REG_BUSY, 4) != 0) {
    }
    port->ops->release(port);
    free(snic->nic_data);
}

const struct snic_nic snic_lanai = {
        .name = "lanai",
        .open = lanai_open,
        .close = lanai_close,
        .room = lanai_room,
        .transmit = lanai_transmit,
        .begin = lanai_begin,
        .receive = lanai_receive,
        .fetch_add = lanai_fetch_add,
};
