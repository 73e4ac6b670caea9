/*
 * The SP switch: where each hop leads.
 */
#include "net/sp.h"

#include <stdlib.h>

static uint32_t chip_of(const struct ns_sp *sp, uint32_t node)
{
    return node / (uint32_t)sp->settings.chip_ports;
}

static uint32_t middle_link(const struct ns_sp *sp, uint32_t node,
                            uint32_t route)
{
    return chip_of(sp, node) * (uint32_t)sp->settings.routes + route;
}

/* A head has passed `hop` links. */
static void sp_sink(void *arg, struct ns_link *link, struct ns_packet *packet)
{
    struct ns_sp_port *from = arg;
    struct ns_sp *sp = from->sp;
    struct ns_sp_port *port = &sp->ports[packet->destination];

    (void)link;
    switch (packet->hop) {
    case 1:
        ns_link_send(&sp->up[middle_link(sp, packet->source, packet->route)],
                     packet);
        break;
    case 2:
        ns_link_send(
                &sp->down[middle_link(sp, packet->destination, packet->route)],
                packet);
        break;
    case 3:
        ns_link_send(&port->eject, packet);
        break;
    default:
        NS_CHECK(packet->hop == NS_SP_HOPS);
        sp->delivered++;
        port->deliver(port->nic, packet);
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
                        struct ns_link *links, const char *name)
{
    const struct ns_sp_settings *settings = &sp->settings;

    for (uint32_t i = 0; i < sp->chips * settings->routes; i++) {
        ns_link_init(&links[i], engine, name, NS_NODE_NONE, settings->hop_ps,
                     settings->link_bytes_per_second,
                     (uint32_t)settings->buffer_packets, sp_sink,
                     &sp->ports[0]);
    }
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
    middle = sp->chips * settings->routes;
    sp->ports = calloc(nodes, sizeof(*sp->ports));
    sp->up = calloc(middle, sizeof(*sp->up));
    sp->down = calloc(middle, sizeof(*sp->down));
    if (sp->ports == NULL || sp->up == NULL || sp->down == NULL) {
        ns_sp_close(sp);
        return NULL;
    }
    ports_init(sp, engine, eject_credits);
    middle_init(sp, engine, sp->up, "up");
    middle_init(sp, engine, sp->down, "down");
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
           links_home(sp->up, middle) && links_home(sp->down, middle);
}
