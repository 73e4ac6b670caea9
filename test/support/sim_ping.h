/*
 * Round trips and floods on the drivers of simulated NICs, without contexts.
 */
#ifndef AM_TEST_SUPPORT_SIM_PING_H
#define AM_TEST_SUPPORT_SIM_PING_H

#include "nicsim_machine.h"
#include "nicsim_sim.h"

/* What one run does, and what it found. */
struct scene {
    struct ns_machine *machine;
    struct ns_sim_params params;
    uint32_t pings;       /* round trips between nodes 0 and 1 */
    uint32_t flood;       /* packets from each other node to node 0 */
    uint32_t flood_bytes; /* data of each */
    bool slow;            /* node 0 does not poll while they come */
    bool not_ready;       /* node 0 refuses requests for a while */
    const char *set;      /* key=value, or NULL */
    /* results */
    uint64_t half_round_trip_ps;
    uint64_t flood_received;
    struct ns_marks marks;
    struct ns_sim_result result;
};

/* Run it, on at most 16 nodes; the hash of its trace. */
uint64_t ping_run(struct scene *scene, const char *machine);
void ping_close(struct scene *scene);

#endif
