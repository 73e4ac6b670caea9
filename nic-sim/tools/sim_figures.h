/*
 * am_sim's figures: each is a small program of two or more nodes whose result
 * is one number in virtual time.  The targets among them are compared with a
 * machine's .expect file; the others are what the simulated machine predicts.
 */
#ifndef AM_TOOLS_SIM_FIGURES_H
#define AM_TOOLS_SIM_FIGURES_H

#include "nicsim_sim.h"

#include <am.h>

struct figure {
    const char *name;
    const char *unit; /* "ps" or "B/s" */
    uint32_t nodes;
    /* Runs on every node; node 0 sets *value_p. */
    int (*run)(struct ns_sim_node *node, uint64_t *value_p, char *error,
               size_t error_bytes);
    const char *help;
    const char *nic; /* only machines with this NIC have it; NULL: all */
};

extern const struct figure figures[]; /* ends with a NULL name */

/*
 * One simulation of `figure` on the machine.  `params` gives all but the
 * number of nodes.  0, or -1 with one sentence.
 */
int figure_run(const struct figure *figure, const struct ns_machine *machine,
               const struct ns_sim_params *params, uint64_t *value_p,
               struct ns_sim_result *result, struct ns_marks *marks,
               char *error, size_t error_bytes);

/*
 * Bandwidth of moving `total` bytes in transfers of `bytes`, in B/s:
 * "store_async" and "get_async" pipelined, "store" and "get" one by one.
 */
int figure_bandwidth(const char *op, size_t bytes, size_t total,
                     const struct ns_machine *machine,
                     const struct ns_sim_params *params, uint64_t *value_p,
                     struct ns_sim_result *result, char *error,
                     size_t error_bytes);

/* Time until all of `nodes` have got `bytes` from node 0; Myrinet only. */
int figure_multicast(size_t bytes, uint32_t nodes,
                     const struct ns_machine *machine,
                     const struct ns_sim_params *params, uint64_t *value_p,
                     struct ns_sim_result *result, char *error,
                     size_t error_bytes);

#endif
