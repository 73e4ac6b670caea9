/*
 * The SP switch: where each hop leads.
 */
#include "net/sp.h"

#include <stdlib.h>

static uint32_t chip_of(const struct ns_sp *sp, uint32_t node)
{
    return node / (uint32_t)sp->settings.chip_ports;
}

/* Boards have as many leaf chips as a chip has nodes. */
static uint32_t board_of(const struct ns_sp_settings *settings, uint32_t node)
{
    return node / (uint32_t)(settings->chip_ports * settings->chip_ports);
}

uint32_t ns_sp_hops(const struct ns_sp_settings *settings, uint32_t from,
                    uint32_t to)
{
    return board_of(settings, from) == board_of(settings, to) ? NS_SP_HOPS
                                                              : NS_SP_HOPS + 2;
}

static uint32_t middle_link(const struct ns_sp *sp, uint32_t node,
                            uint32_t route)
{
    return chip_of(sp, node) * (uint32_t)sp->settings.routes + route;
}

/* The link of `board` with the third-stage chip that packets of this sender
 * and route pass: there is one chip for each route and each leaf of a board. */
static uint32_t third_link(const struct ns_sp *sp, uint32_t board,
                           const struct ns_packet *packet)
{
    uint32_t leaves = (uint32_t)sp->settings.chip_ports;
    uint32_t leaf = chip_of(sp, packet->source) % leaves;

    return (board * leaves + leaf) * (uint32_t)sp->settings.routes +
           packet->route;
}

static void sp_arrive(struct ns_sp_port *port, struct ns_packet *packet)
{
    port->sp->delivered++;
    port->sp->delivered_bytes += packet->bytes;
    port->deliver(port->nic, packet);
}

/* A head has passed `hop` links; those that stay on a board skip two. */
static void sp_sink(void *arg, struct ns_link *link, struct ns_packet *packet)
{
    struct ns_sp_port *from = arg;
    struct ns_sp *sp = from->sp;
    uint32_t source = packet->source, destination = packet->destination;
    uint32_t hop = packet->hop;

    (void)link;
    if (hop >= 2 && board_of(&sp->settings, source) ==
                            board_of(&sp->settings, destination)) {
        hop += 2;
    }
    switch (hop) {
    case 1:
        ns_link_send(&sp->up[middle_link(sp, source, packet->route)], packet);
        break;
    case 2:
        ns_link_send(&sp->out[third_link(sp, board_of(&sp->settings, source),
                                         packet)],
                     packet);
        break;
    case 3:
        ns_link_send(&sp->in[third_link(
                             sp, board_of(&sp->settings, destination), packet)],
                     packet);
        break;
    case 4:
        ns_link_send(&sp->down[middle_link(sp, destination, packet->route)],
                     packet);
        break;
    case 5:
        ns_link_send(&sp->ports[destination].eject, packet);
        break;
    default:
        NS_CHECK(hop == NS_SP_HOPS + 2);
        sp_arrive(&sp->ports[destination], packet);
        break;
    }
}

static void sp_left(void *arg)
{
    struct ns_sp_port *port = arg;

    port->left(port->nic);
}

static void ports_init(struct ns_sp *sp, struct ns_engine *engine,
                       uint32_t eject_credits)
{
    const struct ns_sp_settings *settings = &sp->settings;

    for (uint32_t i = 0; i < sp->nodes; i++) {
        struct ns_sp_port *port = &sp->ports[i];

        port->sp = sp;
        ns_link_init(&port->inject, engine, "inject", NS_NODE_NONE,
                     settings->hop_ps, settings->link_bytes_per_second,
                     (uint32_t)settings->buffer_packets, sp_sink, port);
        ns_link_init(&port->eject, engine, "eject", NS_NODE_NONE,
                     settings->hop_ps, settings->link_bytes_per_second,
                     eject_credits, sp_sink, port);
    }
}

static void middle_init(struct ns_sp *sp, struct ns_engine *engine,
                        struct ns_link *links, uint64_t count, const char *name)
{
    const struct ns_sp_settings *settings = &sp->settings;

    for (uint64_t i = 0; i < count; i++) {
        ns_link_init(&links[i], engine, name, NS_NODE_NONE, settings->hop_ps,
                     settings->link_bytes_per_second,
                     (uint32_t)settings->buffer_packets, sp_sink,
                     &sp->ports[0]);
    }
}

/* Links between boards and the third stage; none when there is one board. */
static uint64_t third_count(const struct ns_sp *sp)
{
    return sp->boards == 1
                   ? 0
                   : sp->boards * sp->settings.chip_ports * sp->settings.routes;
}

struct ns_sp *ns_sp_open(struct ns_engine *engine,
                         const struct ns_sp_settings *settings, uint32_t nodes,
                         uint32_t eject_credits)
{
    struct ns_sp *sp = calloc(1, sizeof(*sp));
    uint64_t middle;

    if (sp == NULL) {
        return NULL;
    }
    sp->settings = *settings;
    sp->nodes = nodes;
    sp->chips = chip_of(sp, nodes - 1) + 1;
    sp->boards = board_of(settings, nodes - 1) + 1;
    middle = sp->chips * settings->routes;
    sp->ports = calloc(nodes, sizeof(*sp->ports));
    sp->up = calloc(middle, sizeof(*sp->up));
    sp->down = calloc(middle, sizeof(*sp->down));
    sp->out = calloc(third_count(sp) + 1, sizeof(*sp->out));
    sp->in = calloc(third_count(sp) + 1, sizeof(*sp->in));
    if (sp->ports == NULL || sp->up == NULL || sp->down == NULL ||
        sp->out == NULL || sp->in == NULL) {
        ns_sp_close(sp);
        return NULL;
    }
    ports_init(sp, engine, eject_credits);
    middle_init(sp, engine, sp->up, middle, "up");
    middle_init(sp, engine, sp->down, middle, "down");
    middle_init(sp, engine, sp->out, third_count(sp), "out");
    middle_init(sp, engine, sp->in, third_count(sp), "in");
    return sp;
}

void ns_sp_close(struct ns_sp *sp)
{
    if (sp == NULL) {
        return;
    }
    ns_packet_pool_fini(&sp->pool);
    free(sp->ports);
    free(sp->up);
    free(sp->down);
    free(sp->out);
    free(sp->in);
    free(sp);
}

void ns_sp_attach(struct ns_sp *sp, uint32_t node, void *nic,
                  ns_sp_deliver_fn deliver, void (*left)(void *nic))
{
    struct ns_sp_port *port = &sp->ports[node];

    port->nic = nic;
    port->deliver = deliver;
    port->left = left;
    port->inject.left = sp_left;
}

void ns_sp_inject(struct ns_sp *sp, struct ns_packet *packet)
{
    NS_CHECK(packet->source < sp->nodes && packet->destination < sp->nodes &&
             packet->route < sp->settings.routes);
    sp->injected++;
    sp->injected_bytes += packet->bytes;
    ns_link_send(&sp->ports[packet->source].inject, packet);
}

void ns_sp_taken(struct ns_sp *sp, uint32_t node)
{
    ns_link_credit(&sp->ports[node].eject, 0, 1);
}

static bool links_home(const struct ns_link *links, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!ns_link_home(&links[i])) {
            return false;
        }
    }
    return true;
}

bool ns_sp_quiet(const struct ns_sp *sp)
{
    uint64_t middle = sp->chips * sp->settings.routes;

    for (uint32_t i = 0; i < sp->nodes; i++) {
        if (!links_home(&sp->ports[i].inject, 1) ||
            !links_home(&sp->ports[i].eject, 1)) {
            return false;
        }
    }
    return sp->pool.out == 0 && sp->injected == sp->delivered + sp->pool.lost &&
           sp->injected_bytes == sp->delivered_bytes + sp->pool.lost_bytes &&
           links_home(sp->up, middle) && links_home(sp->down, middle) &&
           links_home(sp->out, third_count(sp)) &&
           links_home(sp->in, third_count(sp));
}
