/*
 * Links of the torus that fail, where a run asks for it.  They are reliable:
 * each packet has a CRC, and its sender keeps it until the far end has taken
 * it.  A spoilt packet is answered by a negative acknowledgement; to a lost one
 * nothing comes, so the sender waits for longer.  Then it sends again, and the
 * link does nothing else meanwhile, so packets keep their order:
 *
 *   packet --hop--> (CRC wrong)
 *          <--hop-- nack              packet + 2 hops + nack, then once more
 *   packet --x
 *          ........ resend time       ... + resend time, then once more
 *
 * A try that failed frees nothing and takes no room but its own behind the
 * link, and no router passes it on.
 */
#include "net/torus_inner.h"

#include <stdlib.h>

int ns_torus_fault_init(struct ns_torus *torus)
{
    static const char *const names[NS_TORUS_WAYS] = {"x+", "x-", "y+",
                                                     "y-", "z+", "z-"};
    struct ns_engine *engine = torus->clock.component.engine;
    uint64_t stream = (torus->clock.component.id + UINT64_C(1)) << 32;

    if (!ns_engine_faulty(engine)) {
        return 0;
    }
    torus->ports =
            calloc(torus->nodes, NS_TORUS_WAYS * sizeof(struct ns_fault_port));
    if (torus->ports == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < torus->nodes * NS_TORUS_WAYS; i++) {
        (void)ns_fault_port_init(&torus->ports[i], engine,
                                 names[i % NS_TORUS_WAYS], stream + i);
    }
    return 0;
}

uint64_t ns_torus_fault_cycles(struct ns_torus *torus, uint32_t node,
                               uint32_t way,
                               const struct ns_torus_packet *packet)
{
    const struct ns_torus_settings *settings = &torus->settings;
    struct ns_fault_port *port = &torus->ports[node * NS_TORUS_WAYS + way];
    uint64_t period_ps = torus->clock.period_ps;
    uint64_t answered_ps = (packet->route.cycles + 2 * torus->hop_cycles +
                            settings->nack_bytes) *
                           period_ps;
    const struct ns_resend resend = {
            .head_ps = torus->hop_cycles * period_ps,
            .spoilt_ps = answered_ps,
            .lost_ps = answered_ps + settings->resend_ps,
            .packet = packet->id,
            .bytes = packet->bytes,
    };
    uint64_t late_ps;

    if (port->fault == NULL) {
        return 0;
    }
    late_ps = ns_fault_resend_ps(port, &torus->clock.component, &resend);
    if (late_ps == NS_NEVER) {
        torus->broken = true;
        ns_engine_stop(torus->clock.component.engine);
        return 0;
    }
    return (late_ps + period_ps - 1) / period_ps;
}

bool ns_torus_broken(const struct ns_torus *torus)
{
    return torus->broken;
}
