/*
 * What of the LANai must be in order: its buffers fit into SRAM at the start; at
 * the end all credits, buffers and numbers are where they belong.
 */
#include "nic/lanai/lanai.h"

#include <inttypes.h>

/* --------------------------------------------------------------------- SRAM */

uint32_t ns_lanai_buffers(const struct ns_lanai_settings *settings)
{
    return (uint32_t)(settings->receive_bytes / ns_lanai_mtu(settings));
}

uint32_t ns_lanai_share(const struct ns_lanai_settings *settings,
                        uint32_t nodes)
{
    return ns_lanai_buffers(settings) / (nodes > 1 ? nodes - 1 : 1);
}

uint64_t ns_lanai_slots(const struct ns_lanai_settings *settings)
{
    return settings->send_bytes / ns_lanai_mtu(settings);
}

/* Firmware, packets, descriptors, free list, table of peers, forwarding table,
 * TLB. */
static uint64_t sram_used(const struct ns_machine *machine, uint64_t nodes)
{
    const struct ns_lanai_settings *settings = &machine->lanai;

    return settings->firmware_bytes + settings->receive_bytes +
           settings->send_bytes +
           ns_lanai_slots(settings) * NS_LANAI_DESC_BYTES +
           settings->host_buffers * 4 + nodes * 32 +
           nodes * 2 * NS_LANAI_CHILDREN_MAX +
           (settings->transfer == NS_LANAI_RCPY ? NS_LANAI_TLB_ENTRIES * 8 : 0);
}

bool ns_lanai_fits(const struct ns_machine *machine, uint32_t nodes,
                   char *error, size_t error_bytes)
{
    const struct ns_lanai_settings *settings = &machine->lanai;
    uint64_t used = sram_used(machine, nodes);

    if (used > settings->sram_bytes) {
        snprintf(error, error_bytes,
                 "%s: %" PRIu32 " nodes need %" PRIu64 " B of SRAM, of which "
                 "packets %" PRIu64 " B, and nic.sram is %" PRIu64 " B",
                 machine->name, nodes, used,
                 settings->receive_bytes + settings->send_bytes,
                 settings->sram_bytes);
        return false;
    }
    if ((ns_lanai_slots(settings) + settings->host_buffers + 4) *
                ns_lanai_mtu(settings) >
        machine->host.shared_bytes) {
        snprintf(error, error_bytes,
                 "%s: %" PRIu64 " send slots and %" PRIu64
                 " host buffers of %" PRIu32
                 " B do not fit into host.shared_memory",
                 machine->name, ns_lanai_slots(settings),
                 settings->host_buffers, ns_lanai_mtu(settings));
        return false;
    }
    if (settings->reliability == NS_LANAI_NONE &&
        ns_lanai_share(settings, nodes) == 0) {
        snprintf(error, error_bytes,
                 "%s: %" PRIu32 " nodes need a buffer of %" PRIu32
                 " B for each sender, and nic.receive_memory holds %" PRIu32,
                 machine->name, nodes, ns_lanai_mtu(settings),
                 ns_lanai_buffers(settings));
        return false;
    }
    /* A packet tells of credits in 16 bits. */
    if (ns_lanai_buffers(settings) < 4 ||
        ns_lanai_buffers(settings) > UINT16_MAX ||
        ns_lanai_slots(settings) < 32 ||
        ns_lanai_slots(settings) > NS_LANAI_SLOTS_MAX) {
        snprintf(error, error_bytes,
                 "%s: nic.receive_memory must hold 4 to %d packets and "
                 "nic.send_memory 32 to %d; a packet is %" PRIu32 " B",
                 machine->name, UINT16_MAX, NS_LANAI_SLOTS_MAX,
                 ns_lanai_mtu(settings));
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------- checks */

bool ns_lanai_busy(const void *nic)
{
    const struct ns_lanai *lanai = nic;
    bool busy = lanai->task != NS_LANAI_IDLE || lanai->job_count > 0 ||
                lanai->slot_cleanups > 0 || lanai->fetched_cleanups > 0 ||
                lanai->descriptors[4 * lanai->send_next + 1] != 0 ||
                !am_list_is_empty(&lanai->in_queue) ||
                !am_list_is_empty(&lanai->forward_queue) ||
                !am_list_is_empty(&lanai->host_queue) ||
                !am_list_is_empty(&lanai->done_queue);

    for (uint32_t i = 0; i < lanai->nodes && !busy; i++) {
        busy = !am_list_is_empty(&lanai->peers[i].blocked) ||
               lanai->peers[i].unacked_count > 0;
    }
    return busy;
}

/* The credits that `a` has for `b` and those that `b` owes are all there are;
 * or what `a` has numbered is what `b` has taken. */
static bool pair_whole(const struct ns_lanai *a, const struct ns_lanai *b)
{
    const struct ns_lanai_peer *at = &a->peers[b->component.node];
    const struct ns_lanai_peer *back = &b->peers[a->component.node];

    switch (a->settings->reliability) {
    case NS_LANAI_NONE:
        return at->credits + back->owed == a->window;
    case NS_LANAI_NI:
        return at->number == back->wanted;
    default:
        return true;
    }
}

static uint32_t groups_free(const struct ns_lanai *lanai)
{
    uint32_t count = 0;

    for (uint32_t i = lanai->group_free; i != NS_LANAI_NO_GROUP;
         i = lanai->groups[i].next_free) {
        count++;
    }
    return count;
}

bool ns_lanai_whole(void *const *nics, uint32_t count, char *error,
                    size_t error_bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct ns_lanai *lanai = nics[i];

        if (lanai->taken > 0 && lanai->settings->reliability != NS_LANAI_NONE) {
            snprintf(error, error_bytes,
                     "node %" PRIu32 ": %" PRIu32 " buffers are not released",
                     i, lanai->taken);
            return false;
        }
        if (groups_free(lanai) !=
            lanai->facts.send_slots + ns_lanai_buffers(lanai->settings)) {
            snprintf(error, error_bytes,
                     "node %" PRIu32 ": a multicast is not over", i);
            return false;
        }
        for (uint32_t k = 0; k < count; k++) {
            if (k != i && !pair_whole(lanai, nics[k])) {
                snprintf(error, error_bytes,
                         "credits or packets are missing between nodes %" PRIu32
                         " and %" PRIu32,
                         i, k);
                return false;
            }
        }
    }
    return true;
}
