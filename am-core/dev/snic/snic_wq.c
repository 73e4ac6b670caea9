/*
 * The host's half of a NIC with work queues: packets in the send ring, short ones
 * written across the bus with their descriptor, buffers that come back.  Puts and
 * gets are snic_wq_put.c.
 *
 *   send ring   free -> filled, not rung -> rung -> (the NIC has sent it) free
 *                    ^ sent              ^ bell    ^ done
 */
#include "dev/snic/snic_wq.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* The driver's part of a descriptor and of a completion. */
enum {
    USER_CLASS,
    USER_CREDITS,
    USER_HDR_BYTES
};

AM_STATIC_ASSERT(sizeof(struct ns_wq_descriptor) == NS_WQ_REMOTE_BYTES,
                 "a descriptor");
AM_STATIC_ASSERT(sizeof(struct ns_wq_completion) == NS_WQ_COMPLETION_BYTES,
                 "a completion");
AM_STATIC_ASSERT(SNIC_HEAD_BYTES >= NS_WQ_SEND_BYTES, "room before a packet");
AM_STATIC_ASSERT(SNIC_HELD_MAX <= UINT8_MAX && SNIC_HDR_BYTES <= UINT8_MAX,
                 "they fit into the driver's part");

/* ------------------------------------------------------------------ sending */

void snic_wq_ring(struct snic_dev *snic)
{
    struct wq *wq = snic->nic_data;

    if (wq->unrung > 0) {
        wq->unrung = 0;
        snic->port->ops->pio_store(snic->port, NS_WQ_REG_BELL, wq->sent, 4);
    }
}

/* What has the NIC sent? */
static void look(struct snic_dev *snic)
{
    struct wq *wq = snic->nic_data;

    snic->port->ops->load(snic->port, wq->done_at, &wq->done, sizeof(wq->done));
}

bool snic_wq_room(struct snic_dev *snic, uint32_t spare)
{
    struct wq *wq = snic->nic_data;
    uint32_t entries = wq->facts->send_entries;

    if (wq->sent - wq->done + spare < entries) {
        return true;
    }
    snic_wq_ring(snic);
    look(snic);
    return wq->sent - wq->done + spare < entries;
}

void snic_wq_put_in(struct snic_dev *snic, const void *what, uint32_t bytes,
                    bool now)
{
    struct wq *wq = snic->nic_data;
    uint32_t slot = wq->sent % wq->facts->send_entries;

    snic->port->ops->store(snic->port, wq->send_ring + slot * wq->stride, what,
                           bytes);
    wq->sent++;
    wq->unrung++;
    if (now || wq->unrung == wq->facts->bell_batch) {
        snic_wq_ring(snic);
    }
}

static void wq_transmit(struct snic_dev *snic, struct snic_tx *tx)
{
    struct wq *wq = snic->nic_data;
    struct ns_port *port = snic->port;
    uint32_t bytes = tx->info.hdr_bytes + tx->info.data_bytes;
    const struct ns_wq_descriptor what = {
            .kind = NS_WQ_SEND,
            .op = NS_WQ_OP_NONE,
            .user = {[USER_CLASS] = (uint8_t)tx->info.class,
                     [USER_CREDITS] = (uint8_t)tx->info.credits,
                     [USER_HDR_BYTES] = (uint8_t)tx->info.hdr_bytes},
            .node = tx->info.node,
            .bytes = bytes,
    };
    uint8_t *image = tx->body - NS_WQ_SEND_BYTES;

    memcpy(image, &what, NS_WQ_SEND_BYTES);
    port->ops->charge(port, NS_WORK_SEND, 1);
    port->ops->mark(port, NS_STAGE_BUILD);
    if (bytes <= wq->facts->inline_bytes) {
        snic_wq_ring(snic); /* what is in the ring goes first */
        wq->sent++;
        port->ops->pio_write(port, NS_WQ_REG_INLINE, image,
                             NS_WQ_SEND_BYTES + bytes);
        return;
    }
    /* Only full packets wait for others; poll rings for what is left. */
    snic_wq_put_in(snic, image, NS_WQ_SEND_BYTES + bytes,
                   bytes < wq->facts->mtu_bytes);
}

/* ---------------------------------------------------------------- receiving */

static void wq_begin(struct snic_dev *snic)
{
    snic_wq_ring(snic);
    snic->port->ops->charge(snic->port, NS_WORK_POLL, 1);
}

/* The packet's buffer is free again; the NIC is told of several at a time. */
static void buffer_free(struct snic_dev *snic)
{
    struct wq *wq = snic->nic_data;

    wq->taken++;
    if (++wq->unposted == wq->facts->post_batch) {
        wq->unposted = 0;
        snic->port->ops->pio_store(snic->port, NS_WQ_REG_POST,
                                   wq->facts->receive_entries + wq->taken, 4);
    }
}

static bool packet_take(struct snic_dev *snic,
                        const struct ns_wq_completion *entry,
                        struct snic_rx *rx)
{
    const struct wq *wq = snic->nic_data;
    uint32_t buffer = wq->taken % wq->facts->receive_entries;
    const struct snic_info info = {
            .node = entry->node,
            .class = entry->user[USER_CLASS],
            .hdr_bytes = entry->user[USER_HDR_BYTES],
            .data_bytes = entry->bytes - entry->user[USER_HDR_BYTES],
            .credits = entry->user[USER_CREDITS],
    };

    if (entry->bytes < info.hdr_bytes) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return false;
    }
    return snic_take(snic, &info,
                     wq->receive_ring + buffer * wq->facts->mtu_bytes, rx);
}

/* The next completion, if it is in. */
static bool completion_load(struct snic_dev *snic,
                            struct ns_wq_completion *entry)
{
    const struct wq *wq = snic->nic_data;
    uint32_t at = wq->completed % ns_wq_completions(wq->facts->receive_entries);

    snic->port->ops->load(snic->port,
                          wq->completions + at * NS_WQ_COMPLETION_BYTES, entry,
                          sizeof(*entry));
    return entry->count == wq->completed + 1;
}

static bool wq_receive(struct snic_dev *snic, struct snic_rx *rx)
{
    struct wq *wq = snic->nic_data;
    struct ns_port *port = snic->port;
    struct ns_wq_completion entry;

    while (completion_load(snic, &entry)) {
        bool taken;

        wq->completed++;
        port->ops->mark(port, NS_STAGE_POLLED);
        if (entry.done != 0) {
            snic_wq_op_end(snic, entry.op, entry.fault != 0);
            continue;
        }
        taken = packet_take(snic, &entry, rx);
        buffer_free(snic);
        if (taken) {
            port->ops->mark(port, NS_STAGE_COPIED);
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- set-up */

/* Hints for the choice of protocols, from the machine's own numbers. */
static void attr_set(struct am_dev_attr *attr, const struct ns_wq_facts *facts)
{
    uint64_t byte_fs = UINT64_C(1000000000000000) / facts->bytes_per_second;
    struct am_linfn remote = {facts->put_ps + 2 * facts->wire_ps, byte_fs};

    if (facts->rdma == 0) {
        remote = (struct am_linfn){0, 0};
    }
    *attr = (struct am_dev_attr){
            .caps = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED |
                    (facts->rdma != 0 ? AM_DEV_CAP_PUT | AM_DEV_CAP_GET : 0),
            .packet_bytes_max = facts->mtu_bytes,
            .reply_bytes_max = facts->mtu_bytes,
            .hdr_bytes_max = SNIC_HDR_BYTES,
            .depth = facts->send_entries / 2,
            .perf = {.send_overhead = {facts->send_ps, facts->copy_byte_fs},
                     .recv_overhead = {facts->receive_ps, facts->copy_byte_fs},
                     .wire = {facts->wire_ps, byte_fs},
                     .gap_ps = facts->packet_ps,
                     .gap_byte_fs = byte_fs,
                     .put = remote,
                     .get = remote},
    };
}

/* All of the memory that the NIC uses; false: there is not so much. */
static bool memory_alloc(struct ns_port *port, struct wq *wq)
{
    const struct ns_wq_facts *facts = wq->facts;
    size_t completions = ns_wq_completions(facts->receive_entries);

    wq->done_at = port->ops->alloc(port, 64, 64);
    wq->completions =
            port->ops->alloc(port, completions * NS_WQ_COMPLETION_BYTES, 64);
    wq->send_ring = port->ops->alloc(
            port, (size_t)facts->send_entries * wq->stride, 64);
    wq->receive_ring = port->ops->alloc(
            port, (size_t)facts->receive_entries * facts->mtu_bytes, 64);
    return wq->done_at != NS_ADDRESS_NONE &&
           wq->completions != NS_ADDRESS_NONE &&
           wq->send_ring != NS_ADDRESS_NONE &&
           wq->receive_ring != NS_ADDRESS_NONE;
}

static am_status_t wq_open(struct snic_dev *snic)
{
    struct wq *wq = calloc(1, sizeof(*wq));
    struct ns_port *port = snic->port;

    if (wq == NULL) {
        return AM_ERR_MEMORY;
    }
    wq->facts = port->facts;
    wq->stride = ns_wq_stride(wq->facts->mtu_bytes);
    if (!memory_alloc(port, wq)) {
        free(wq);
        return AM_ERR_MEMORY;
    }
    snic->nic_data = wq;
    attr_set(&snic->base.attr, wq->facts);
    port->ops->pio_store(port, NS_WQ_REG_SEND, wq->send_ring, 4);
    port->ops->pio_store(port, NS_WQ_REG_RECEIVE, wq->receive_ring, 4);
    port->ops->pio_store(port, NS_WQ_REG_COMPLETE, wq->completions, 4);
    port->ops->pio_store(port, NS_WQ_REG_DONE, wq->done_at, 4);
    port->ops->pio_store(port, NS_WQ_REG_OPEN, 1, 4);
    return AM_OK;
}

/* So many looks without an end: the peer takes nothing any more. */
#define CLOSE_POLLS_MAX 1000000

static void wq_close(struct snic_dev *snic)
{
    struct wq *wq = snic->nic_data;
    struct ns_port *port = snic->port;

    snic_wq_ring(snic);
    look(snic);
    for (uint32_t i = 0; wq->done != wq->sent && i < CLOSE_POLLS_MAX; i++) {
        port->ops->charge(port, NS_WORK_POLL, 1);
        look(snic);
    }
    port->ops->pio_store(port, NS_WQ_REG_OPEN, 0, 4);
    port->ops->release(port);
    free(wq);
}

const struct snic_nic snic_wq = {
        .name = "wq",
        .open = wq_open,
        .close = wq_close,
        .room = snic_wq_room,
        .transmit = wq_transmit,
        .begin = wq_begin,
        .receive = wq_receive,
        .mem_register = snic_wq_mem_register,
        .mem_deregister = snic_wq_mem_deregister,
        .put = snic_wq_put,
        .get = snic_wq_get,
};
