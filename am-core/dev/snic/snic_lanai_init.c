/*
 * The LANai's driver: set-up, and the trees of multicasts.
 */
#include "dev/snic/snic_lanai.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------- trees */

/* Relative to the root, a node's children are 2r + 1 and 2r + 2 (binary), or
 * r + 1, r + 2, r + 4... from the power of two above r on (binomial): those
 * that it sends to in the rounds after the one in which it was reached. */
uint32_t lanai_children(const struct ns_lanai_facts *facts, uint32_t nodes,
                        uint32_t root, uint32_t node, uint32_t *children)
{
    uint32_t r = (node + nodes - root) % nodes;
    uint32_t count = 0;

    if (facts->binomial == 0) {
        for (uint32_t i = 2 * r + 1; i <= 2 * r + 2 && i < nodes; i++) {
            children[count++] = (root + i) % nodes;
        }
        return count;
    }
    for (uint32_t step = 1; r + step < nodes && count < NS_LANAI_CHILDREN_MAX;
         step *= 2) {
        if (step > r) {
            children[count++] = (root + r + step) % nodes;
        }
    }
    return count;
}

/* With reliability in the host, each packet to each child needs its window. */
static bool lanai_multicasts(struct snic_dev *snic)
{
    const struct lanai *lanai = snic->nic_data;

    return lanai->facts->reliability != NS_LANAI_HOST && snic->port->nodes > 1;
}

/* The NI's forwarding table. */
static void forward_write(struct snic_dev *snic)
{
    const struct lanai *lanai = snic->nic_data;
    struct ns_port *port = snic->port;
    uint32_t children[NS_LANAI_CHILDREN_MAX];

    for (uint32_t root = 0; root < port->nodes; root++) {
        uint32_t count = lanai_children(lanai->facts, port->nodes, root,
                                        port->node, children);

        for (uint32_t i = 0; i < count; i++) {
            port->ops->pio_store(port, NS_LANAI_REG_FORWARD,
                                 root << 16 | children[i], 4);
        }
    }
}

/* ------------------------------------------------------------------- set-up */

static void attr_set(struct am_dev_attr *attr,
                     const struct ns_lanai_facts *facts)
{
    uint64_t byte_fs = UINT64_C(1000000000000000) / facts->bytes_per_second;
    bool copies = facts->transfer == NS_LANAI_RCPY;

    *attr = (struct am_dev_attr){
            .caps = facts->reliability == NS_LANAI_HOST
                            ? AM_DEV_CAP_TIMER
                            : AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED |
                                      (copies ? AM_DEV_CAP_PUT : 0),
            .packet_bytes_max = facts->mtu_bytes - NS_LANAI_HEADER_BYTES,
            .reply_bytes_max = facts->mtu_bytes - NS_LANAI_HEADER_BYTES,
            .hdr_bytes_max = SNIC_HDR_BYTES,
            .depth = facts->send_slots / 2,
            .perf = {.send_overhead = {facts->send_ps, facts->copy_byte_fs},
                     .recv_overhead = {facts->receive_ps, facts->copy_byte_fs},
                     .wire = {facts->wire_ps, 2 * byte_fs},
                     .gap_ps = facts->packet_ps,
                     .gap_byte_fs = byte_fs,
                     .put = {copies ? facts->put_ps : 0,
                             copies ? facts->put_byte_fs : 0}},
    };
}

/* Levels of the tree, and, as an NI sends to two children or more, its gap. */
static void network_set(struct snic_dev *snic,
                        const struct ns_lanai_facts *facts)
{
    struct am_dev_attr *attr = &snic->base.attr;
    uint64_t levels = 0;

    if (!lanai_multicasts(snic)) {
        return;
    }
    for (uint32_t reached = 1; reached < snic->port->nodes; reached *= 2) {
        levels++;
    }
    attr->caps |= AM_DEV_CAP_MULTICAST;
    attr->network = (struct am_dev_network){
            .members = snic->port->nodes,
            .multicast_ps = facts->send_ps + facts->wire_ps +
                            (levels - 1) * facts->forward_ps +
                            facts->receive_ps,
            .multicast_per_byte_fs = attr->perf.wire.per_byte_fs +
                                     (levels - 1) * facts->forward_byte_fs,
            .multicast_gap_ps = 2 * facts->packet_ps,
    };
}

static struct lanai *lanai_new(struct ns_port *port)
{
    struct lanai *lanai = calloc(1, sizeof(*lanai));
    const struct ns_lanai_facts *facts = port->facts;

    if (lanai == NULL) {
        return NULL;
    }
    lanai->facts = facts;
    lanai->writes = facts->transfer == NS_LANAI_PIO;
    lanai->slot_bytes = (facts->mtu_bytes + 63) / 64 * 64;
    lanai->status = port->ops->alloc(port, 64, 64);
    lanai->tx_base = port->ops->alloc(
            port, (size_t)facts->send_slots * lanai->slot_bytes, 64);
    lanai->rx_base = port->ops->alloc(
            port, (size_t)facts->receive_buffers * lanai->slot_bytes, 64);
    if (facts->transfer == NS_LANAI_RCPY) {
        lanai->copies = lanai_copies_new(port->nodes);
    }
    if (lanai->status == NS_ADDRESS_NONE || lanai->tx_base == NS_ADDRESS_NONE ||
        lanai->rx_base == NS_ADDRESS_NONE ||
        facts->mtu_bytes > SNIC_PACKET_BYTES ||
        (facts->transfer == NS_LANAI_RCPY && lanai->copies == NULL)) {
        lanai_copies_free(lanai->copies);
        free(lanai);
        return NULL;
    }
    return lanai;
}

/* All are empty, which their numbers say, and the NI's.  Their first lines are in
 * the cache from now on, until packets come there. */
static void buffers_offer(struct ns_port *port, const struct lanai *lanai)
{
    static const uint8_t empty[256];

    AM_ASSERT(port->line_bytes <= sizeof(empty));
    for (uint32_t i = 0; i < lanai->facts->receive_buffers; i++) {
        port->ops->store(port, lanai->rx_base + i * lanai->slot_bytes, empty,
                         port->line_bytes);
    }
    for (uint32_t i = 0; i < lanai->facts->receive_buffers; i++) {
        port->ops->pio_store(port, NS_LANAI_REG_FREE,
                             lanai->rx_base + i * lanai->slot_bytes, 4);
    }
}

static am_status_t lanai_open(struct snic_dev *snic)
{
    struct ns_port *port = snic->port;
    const struct ns_lanai_facts *facts = port->facts;
    struct lanai *lanai = lanai_new(port);

    if (lanai == NULL) {
        return AM_ERR_MEMORY;
    }
    snic->nic_data = lanai;
    attr_set(&snic->base.attr, facts);
    network_set(snic, facts);
    port->ops->pio_store(port, NS_LANAI_REG_STATUS, lanai->status, 4);
    buffers_offer(port, lanai);
    forward_write(snic);
    port->ops->pio_store(port, NS_LANAI_REG_INTERRUPT, 1, 4);
    return AM_OK;
}

static void lanai_close(struct snic_dev *snic)
{
    struct lanai *lanai = snic->nic_data;
    struct ns_port *port = snic->port;

    while (lanai_slots_used(snic) > 0) {
        lanai_status_look(snic);
        port->ops->charge(port, NS_WORK_POLL, 1);
    }
    port->ops->pio_store(port, NS_LANAI_REG_CLOSE, 0, 4);
    while (port->ops->pio_load(port, NS_LANAI_REG_BUSY, 4) != 0) {
    }
    lanai_copies_free(lanai->copies);
    port->ops->release(port);
    free(lanai);
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
        .multicasts = lanai_multicasts,
        .mem_register = snic_lanai_register,
        .mem_deregister = snic_lanai_deregister,
        .put = snic_lanai_put,
};
