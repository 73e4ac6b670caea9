/*
 * The simulated NIC's device: open, addresses, endpoints.  Each node has one
 * context; its address is the node's number.  May call base and
 * nic-sim/include only.
 */
#include "dev/snic/snic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNIC_ADDRESS_MAGIC UINT32_C(0x736e6963)

struct snic_address {
    uint32_t magic, node;
    uint64_t nonce; /* of the context */
    uint64_t check; /* of the others: a spoilt address is nobody's */
};

static uint64_t address_check(const struct snic_address *address)
{
    uint64_t mix =
            address->nonce ^ (uint64_t)address->magic << 32 ^ address->node;

    return (mix ^ mix >> 29) * UINT64_C(0x9e3779b97f4a7c15);
}

static const struct snic_nic *const nics[] = {&snic_tb2, &snic_lanai, &snic_bgp,
                                              &snic_wq, NULL};

static void snic_free(struct snic_dev *snic)
{
    free(snic->eps);
    free(snic->ranks);
    free(snic->held);
    free(snic);
}

static const struct snic_nic *nic_find(const char *name)
{
    for (int i = 0; nics[i] != NULL; i++) {
        if (strcmp(nics[i]->name, name) == 0) {
            return nics[i];
        }
    }
    return NULL;
}

static struct snic_dev *snic_new(const struct am_dev_params *params,
                                 struct ns_port *port)
{
    struct snic_dev *snic = calloc(1, sizeof(*snic));

    if (snic == NULL) {
        return NULL;
    }
    snic->base.ops = &am_dev_snic_ops;
    snic->base.up = params->up;
    snic->port = port;
    snic->env = params->env;
    snic->stats = params->stats;
    snic->nonce = params->nonce;
    snic->nic = nic_find(port->nic);
    snic->eps = calloc(port->nodes, sizeof(struct snic_ep *));
    snic->ranks = malloc(port->nodes * sizeof(*snic->ranks));
    snic->held_max = SNIC_HELD_MAX * port->nodes;
    snic->held = malloc(snic->held_max * sizeof(*snic->held));
    if (snic->eps == NULL || snic->ranks == NULL || snic->held == NULL) {
        snic_free(snic);
        return NULL;
    }
    for (uint32_t i = 0; i < port->nodes; i++) {
        snic->ranks[i] = UINT32_MAX;
    }
    return snic;
}

am_status_t snic_open(const struct am_dev_params *params, struct am_dev **dev_p)
{
    struct ns_port *port = params->env->port;
    struct snic_dev *snic;
    am_status_t status;

    if (port == NULL) {
        snprintf(params->error, params->error_bytes,
                 "AM_DEVICES asks for sim, but this program does not run on a "
                 "simulated machine; am_sim and am_perf --sim do that");
        return AM_ERR_UNSUPPORTED;
    }
    snic = snic_new(params, port);
    if (snic == NULL) {
        return AM_ERR_MEMORY;
    }
    if (snic->nic == NULL) {
        snprintf(params->error, params->error_bytes,
                 "this build has no driver for the NIC %s", port->nic);
        snic_free(snic);
        return AM_ERR_UNSUPPORTED;
    }
    status = snic->nic->open(snic);
    if (status != AM_OK) {
        if (status == AM_ERR_MEMORY) {
            snprintf(params->error, params->error_bytes,
                     "the driver finds no room for its FIFOs and packets; "
                     "the machine's host.shared_memory is too small for %u "
                     "nodes, or memory is out here",
                     (unsigned)port->nodes);
        }
        snic_free(snic);
        return status;
    }
    *dev_p = &snic->base;
    return AM_OK;
}

void snic_close(struct am_dev *dev)
{
    struct snic_dev *snic = snic_of(dev);

    snic->nic->close(snic);
    for (uint32_t i = 0; i < snic->port->nodes; i++) {
        free(snic->eps[i]);
    }
    snic_free(snic);
}

size_t snic_address(struct am_dev *dev, void *to, size_t bytes_max)
{
    struct snic_address address = {.magic = SNIC_ADDRESS_MAGIC,
                                   .node = snic_of(dev)->port->node,
                                   .nonce = snic_of(dev)->nonce};

    if (bytes_max < sizeof(address)) {
        return 0;
    }
    address.check = address_check(&address);
    memcpy(to, &address, sizeof(address));
    return sizeof(address);
}

/* The node that an address part names, UINT32_MAX if it is not ours. */
static uint32_t address_node(const struct snic_dev *snic, const void *part,
                             size_t bytes)
{
    struct snic_address address;

    if (part == NULL || bytes != sizeof(address)) {
        return UINT32_MAX;
    }
    memcpy(&address, part, sizeof(address));
    return address.magic == SNIC_ADDRESS_MAGIC &&
                           address.check == address_check(&address) &&
                           address.node < snic->port->nodes
                   ? address.node
                   : UINT32_MAX;
}

bool snic_reachable(struct am_dev *dev, const void *address, size_t bytes)
{
    return address_node(snic_of(dev), address, bytes) != UINT32_MAX;
}

am_status_t snic_connect_all(struct am_dev *dev, const void *const *parts,
                             const size_t *part_bytes, uint32_t count)
{
    struct snic_dev *snic = snic_of(dev);

    for (uint32_t rank = 0; rank < count; rank++) {
        uint32_t node = address_node(snic, parts[rank], part_bytes[rank]);

        if (node != UINT32_MAX) {
            snic->ranks[node] = rank;
        }
    }
    return AM_OK;
}

struct snic_ep *snic_ep_new(struct snic_dev *snic, uint32_t node, void *user)
{
    struct snic_ep *ep = calloc(1, sizeof(*ep));

    if (ep != NULL) {
        ep->base.dev = &snic->base;
        ep->base.user = user;
        ep->node = node;
        snic->eps[node] = ep;
    }
    return ep;
}

am_status_t snic_connect(struct am_dev *dev, const void *address, size_t bytes,
                         uint32_t rank, void *user, struct am_dev_ep **ep_p)
{
    struct snic_dev *snic = snic_of(dev);
    uint32_t node = address_node(snic, address, bytes);
    struct snic_ep *ep;

    if (node == UINT32_MAX || snic->eps[node] != NULL) {
        return AM_ERR_PEER;
    }
    ep = snic_ep_new(snic, node, user);
    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    *ep_p = &ep->base;
    return AM_OK;
}

void snic_disconnect(struct am_dev_ep *base)
{
    struct snic_ep *ep = am_container(base, struct snic_ep, base);

    snic_of(base->dev)->eps[ep->node] = NULL;
    free(ep);
}
