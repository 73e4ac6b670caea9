/*
 * The Blue Gene/P driver's set-up: its memory, the DMA's registers, what the
 * device tells of itself; and its end.
 */
#include "dev/snic/snic_bgp.h"

#include <stdlib.h>

/* So many looks without progress: the peer takes nothing any more. */
#define CLOSE_POLLS_MAX 1000000

/* A core stores a packet word by word, and loads its result so. */
static void network_set(struct am_dev_network *network,
                        const struct ns_bgp_facts *facts, uint32_t members)
{
    uint64_t words_ps = (AM_DEV_NETWORK_WORDS + 1) * facts->pio_ps;

    *network = (struct am_dev_network){
            /* else some have no port */
            .members = facts->processes == 1 ? members : 0,
            .meet_ps = facts->pio_ps + facts->barrier_ps + facts->poll_ps,
            .combine_ps = facts->put_ps + 2 * words_ps + facts->tree_ps +
                          facts->poll_ps,
            .combine_gap_ps = facts->put_ps + 2 * words_ps + facts->poll_ps,
    };
}

static void attr_set(struct am_dev_attr *attr, const struct ns_bgp_facts *facts)
{
    uint64_t byte_fs = UINT64_C(1000000000000000) / facts->bytes_per_second;
    const uint32_t remote_caps = AM_DEV_CAP_PUT | AM_DEV_CAP_GET;
    struct am_linfn remote = {facts->put_ps + 2 * facts->wire_ps, byte_fs};

    *attr = (struct am_dev_attr){
            .caps = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED |
                    (facts->tree_packets > 0 ? AM_DEV_CAP_COLLECTIVE : 0) |
                    (facts->put ? remote_caps : 0),
            .packet_bytes_max = facts->mtu_bytes,
            .reply_bytes_max = facts->mtu_bytes,
            .hdr_bytes_max = SNIC_HDR_BYTES,
            .depth = facts->injection_entries / 2,
            .perf = {.send_overhead = {facts->send_ps, facts->copy_byte_fs},
                     .recv_overhead = {facts->receive_ps, facts->copy_byte_fs},
                     .wire = {facts->wire_ps, byte_fs},
                     .gap_ps = facts->packet_ps,
                     .gap_byte_fs = byte_fs,
                     .put = facts->put ? remote : (struct am_linfn){0, 0},
                     .get = facts->put ? remote : (struct am_linfn){0, 0}},
    };
}

/* All of the memory that the DMA uses; false: there is not so much. */
static bool memory_alloc(struct snic_dev *snic, struct bgp *bgp)
{
    const struct ns_bgp_facts *facts = bgp->facts;
    struct ns_port *port = snic->port;
    size_t entries = facts->injection_entries;

    bgp->slot_bytes = (facts->mtu_bytes + 31) / 32 * 32;
    bgp->status_at = port->ops->alloc(port, NS_BGP_STATUS_BYTES, 32);
    bgp->injection = port->ops->alloc(
            port, bgp->own * entries * NS_BGP_DESCRIPTOR_BYTES, 32);
    bgp->slots = port->ops->alloc(port, entries * bgp->slot_bytes, 32);
    bgp->reception = port->ops->alloc(port, facts->reception_bytes, 32);
    bgp->remote = port->ops->alloc(port,
                                   (size_t)facts->remote_fifos *
                                           facts->remote_entries_max *
                                           NS_BGP_DESCRIPTOR_BYTES,
                                   32);
    return bgp->status_at != NS_ADDRESS_NONE &&
           bgp->injection != NS_ADDRESS_NONE && bgp->slots != NS_ADDRESS_NONE &&
           bgp->reception != NS_ADDRESS_NONE && bgp->remote != NS_ADDRESS_NONE;
}

static void registers_set(struct snic_dev *snic, const struct bgp *bgp)
{
    const struct ns_bgp_facts *facts = bgp->facts;

    for (uint32_t i = 0; i < bgp->own; i++) {
        snic_bgp_write(snic, NS_BGP_INJECTION, i, NS_BGP_FIFO_START,
                       bgp->injection + i * facts->injection_entries *
                                                NS_BGP_DESCRIPTOR_BYTES);
        snic_bgp_write(snic, NS_BGP_INJECTION, i, NS_BGP_FIFO_SIZE,
                       facts->injection_entries);
    }
    for (uint32_t i = 0; i < facts->remote_fifos; i++) {
        uint32_t fifo = bgp->own + i;

        snic_bgp_write(snic, NS_BGP_INJECTION, fifo, NS_BGP_FIFO_START,
                       bgp->remote + i * facts->remote_entries_max *
                                             NS_BGP_DESCRIPTOR_BYTES);
        snic_bgp_write(snic, NS_BGP_INJECTION, fifo, NS_BGP_FIFO_SIZE,
                       facts->remote_entries);
        snic_bgp_write(snic, NS_BGP_INJECTION, fifo, NS_BGP_FIFO_SIZE_MAX,
                       facts->remote_entries_max);
    }
    snic_bgp_write(snic, NS_BGP_RECEPTION, 0, NS_BGP_FIFO_START,
                   bgp->reception);
    snic_bgp_write(snic, NS_BGP_RECEPTION, 0, NS_BGP_FIFO_SIZE,
                   facts->reception_bytes);
    snic_bgp_write(snic, NS_BGP_GROUP, 0, NS_BGP_GROUP_STATUS, bgp->status_at);
}

static void bgp_free(struct bgp *bgp)
{
    free(bgp->parts);
    free(bgp->next);
    free(bgp);
}

am_status_t snic_bgp_open(struct snic_dev *snic)
{
    struct bgp *bgp = calloc(1, sizeof(*bgp));

    if (bgp == NULL) {
        return AM_ERR_MEMORY;
    }
    bgp->facts = snic->port->facts;
    bgp->own = NS_BGP_INJECTION_FIFOS - bgp->facts->remote_fifos;
    bgp->parts = calloc(snic->port->nodes, sizeof(*bgp->parts));
    bgp->next = calloc(bgp->facts->injection_entries, sizeof(*bgp->next));
    if (bgp->parts == NULL || bgp->next == NULL || !memory_alloc(snic, bgp)) {
        bgp_free(bgp);
        return AM_ERR_MEMORY;
    }
    bgp->free_count = bgp->facts->injection_entries;
    for (uint32_t i = 0; i + 1 < bgp->free_count; i++) {
        bgp->next[i] = i + 1;
    }
    snic->nic_data = bgp;
    attr_set(&snic->base.attr, bgp->facts);
    network_set(&snic->base.attr.network, bgp->facts, snic->port->nodes);
    registers_set(snic, bgp);
    return AM_OK;
}

void snic_bgp_close(struct snic_dev *snic)
{
    struct bgp *bgp = snic->nic_data;
    struct ns_port *port = snic->port;

    for (uint32_t idle = 0;
         bgp->status.injected != bgp->sent && idle < CLOSE_POLLS_MAX; idle++) {
        uint32_t injected = bgp->status.injected;

        port->ops->charge(port, NS_WORK_POLL, 1);
        snic_bgp_look(snic);
        idle = bgp->status.injected == injected ? idle : 0;
    }
    snic_bgp_write(snic, NS_BGP_GROUP, 0, NS_BGP_GROUP_CLOSE, 0);
    while (port->ops->pio_load(
                   port, NS_BGP_REG(0, NS_BGP_GROUP, 0, NS_BGP_GROUP_BUSY),
                   4) != 0) {
    }
    port->ops->release(port);
    for (uint32_t i = 0; i < port->nodes; i++) {
        free(bgp->parts[i]);
    }
    bgp_free(bgp);
}
