/*
 * Myrinet: where each switch sends a packet on.
 */
#include "net/myrinet.h"

#include <stdlib.h>

/* Coordinate of a switch in a dimension. */
static uint64_t coordinate(uint64_t side, uint32_t index, int dimension)
{
    uint64_t at = index;

    for (int i = 0; i < dimension; i++) {
        at /= side;
    }
    return at % side;
}

/* The way from switch `at` towards `to`; NS_MYRINET_WAYS: it is there. */
static uint32_t way_to(uint64_t side, uint32_t at, uint32_t to)
{
    for (int dimension = 0; dimension < 3; dimension++) {
        uint64_t here = coordinate(side, at, dimension);
        uint64_t there = coordinate(side, to, dimension);

        if (here != there) {
            return (uint32_t)(2 * dimension) + (there < here);
        }
    }
    return NS_MYRINET_WAYS;
}

uint32_t ns_myrinet_nodes_max(const struct ns_myrinet_settings *settings)
{
    uint64_t side = settings->side;

    return (uint32_t)(settings->clos != 0 ? side * side : side * side * side);
}

uint32_t ns_myrinet_switches(const struct ns_myrinet_settings *settings,
                             uint32_t from, uint32_t to)
{
    uint32_t count = 1;

    if (settings->clos != 0) {
        return from / settings->side == to / settings->side ? 1 : 3;
    }
    for (int dimension = 0; dimension < 3; dimension++) {
        uint64_t a = coordinate(settings->side, from, dimension);
        uint64_t b = coordinate(settings->side, to, dimension);

        count += (uint32_t)(a > b ? a - b : b - a);
    }
    return count;
}

/* A head has come to a switch. */
static void switch_sink(void *arg, struct ns_link *link,
                        struct ns_packet *packet)
{
    struct ns_myrinet_port *port = arg;
    uint32_t way =
            way_to(port->net->settings.side, port->index, packet->destination);

    (void)link;
    ns_link_send(way == NS_MYRINET_WAYS ? &port->eject : &port->mesh[way],
                 packet);
}

/* A head has come from a host to its leaf. */
static void leaf_sink(void *arg, struct ns_link *link, struct ns_packet *packet)
{
    struct ns_myrinet_port *port = arg;
    struct ns_myrinet *net = port->net;
    uint32_t side = (uint32_t)net->settings.side;
    uint32_t leaf = port->index / side;
    uint32_t middle = (packet->source + packet->destination) % side;

    (void)link;
    if (packet->destination / side == leaf) {
        ns_link_send(&net->ports[packet->destination].eject, packet);
    } else {
        ns_link_send(&net->ports[leaf * side + middle].mesh[NS_MYRINET_UP],
                     packet);
    }
}

/* A head has come to a middle switch, by the link of a leaf: down to the
 * destination's leaf. */
static void middle_sink(void *arg, struct ns_link *link,
                        struct ns_packet *packet)
{
    struct ns_myrinet_port *port = arg;
    uint32_t side = (uint32_t)port->net->settings.side;
    uint32_t leaf = packet->destination / side;

    (void)link;
    ns_link_send(&port->net->ports[leaf * side + port->index % side]
                          .mesh[NS_MYRINET_DOWN],
                 packet);
}

/* A head has come down to a leaf. */
static void down_sink(void *arg, struct ns_link *link, struct ns_packet *packet)
{
    struct ns_myrinet_port *port = arg;

    (void)link;
    ns_link_send(&port->net->ports[packet->destination].eject, packet);
}

/* A head has come to a NI. */
static void host_sink(void *arg, struct ns_link *link, struct ns_packet *packet)
{
    struct ns_myrinet_port *port = arg;

    (void)link;
    port->net->delivered++;
    port->net->delivered_bytes += packet->bytes;
    port->deliver(port->nic, packet);
}

static void inject_left(void *arg)
{
    struct ns_myrinet_port *port = arg;

    port->left(port->nic);
}

/* The switch next to `index` on the way, itself at the grid's edge. */
static uint32_t neighbour(uint64_t side, uint32_t index, uint32_t way)
{
    uint64_t step = 1;
    uint64_t here = coordinate(side, index, (int)(way / 2));

    for (uint32_t i = 0; i < way / 2; i++) {
        step *= side;
    }
    if (way % 2 == 0) {
        return here + 1 < side ? (uint32_t)(index + step) : index;
    }
    return here > 0 ? (uint32_t)(index - step) : index;
}

static void port_init(struct ns_myrinet *net, struct ns_engine *engine,
                      uint32_t index, uint32_t eject_credits)
{
    const struct ns_myrinet_settings *settings = &net->settings;
    struct ns_myrinet_port *port = &net->ports[index];
    uint64_t rate = settings->link_bytes_per_second;
    uint32_t buffer = (uint32_t)settings->buffer_packets;
    bool clos = settings->clos != 0;

    port->net = net;
    port->index = index;
    ns_link_init(&port->inject, engine, "inject", NS_NODE_NONE,
                 settings->fibre_ps, rate, buffer,
                 clos ? leaf_sink : switch_sink, port);
    ns_link_init(&port->eject, engine, "eject", NS_NODE_NONE,
                 settings->switch_ps + settings->fibre_ps, rate, eject_credits,
                 host_sink, port);
    for (uint32_t way = 0; way < NS_MYRINET_WAYS; way++) {
        struct ns_myrinet_port *to =
                clos ? port
                     : &net->ports[neighbour(settings->side, index, way)];

        ns_link_init(&port->mesh[way], engine, "mesh", NS_NODE_NONE,
                     settings->switch_ps, rate, buffer,
                     !clos                  ? switch_sink
                     : way == NS_MYRINET_UP ? middle_sink
                                            : down_sink,
                     to);
    }
}

struct ns_myrinet *ns_myrinet_open(struct ns_engine *engine,
                                   const struct ns_myrinet_settings *settings,
                                   uint32_t eject_credits)
{
    struct ns_myrinet *net = calloc(1, sizeof(*net));

    if (net == NULL) {
        return NULL;
    }
    net->settings = *settings;
    am_crc32c_init(&net->crc32c);
    net->nodes = ns_myrinet_nodes_max(settings);
    net->ports = calloc(net->nodes, sizeof(*net->ports));
    if (net->ports == NULL) {
        free(net);
        return NULL;
    }
    for (uint32_t i = 0; i < net->nodes; i++) {
        port_init(net, engine, i, eject_credits);
    }
    return net;
}

void ns_myrinet_close(struct ns_myrinet *net)
{
    ns_packet_pool_fini(&net->pool);
    free(net->ports);
    free(net);
}

void ns_myrinet_attach(struct ns_myrinet *net, uint32_t node, void *nic,
                       ns_myrinet_deliver_fn deliver, void (*left)(void *nic))
{
    struct ns_myrinet_port *port = &net->ports[node];

    port->nic = nic;
    port->deliver = deliver;
    port->left = left;
    port->inject.left = inject_left;
}

void ns_myrinet_inject(struct ns_myrinet *net, struct ns_packet *packet)
{
    NS_CHECK(packet->source < net->nodes && packet->destination < net->nodes);
    net->injected++;
    net->injected_bytes += packet->bytes;
    ns_link_send(&net->ports[packet->source].inject, packet);
}

void ns_myrinet_taken(struct ns_myrinet *net, uint32_t node)
{
    ns_link_credit(&net->ports[node].eject, 0, 1);
}

bool ns_myrinet_quiet(const struct ns_myrinet *net)
{
    bool quiet =
            net->pool.out == 0 &&
            net->injected == net->delivered + net->pool.lost &&
            net->injected_bytes == net->delivered_bytes + net->pool.lost_bytes;

    for (uint32_t i = 0; i < net->nodes && quiet; i++) {
        const struct ns_myrinet_port *port = &net->ports[i];

        quiet = ns_link_home(&port->inject) && ns_link_home(&port->eject);
        for (uint32_t way = 0; way < NS_MYRINET_WAYS; way++) {
            quiet = quiet && ns_link_home(&port->mesh[way]);
        }
    }
    return quiet;
}
