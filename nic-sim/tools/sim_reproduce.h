/*
 * The parts of --reproduce: a paper has one or more charts on each machine.
 */
#ifndef AM_TOOLS_SIM_REPRODUCE_H
#define AM_TOOLS_SIM_REPRODUCE_H

#include "tools/sim_chart.h"

/* A machine with the settings of the command line, and up to two more (NULL
 * ends them); NULL after saying why. */
struct ns_machine *reproduce_machine(const struct sim_options *options,
                                     const char *name, const char *const *sets);

/* All charts of a paper on a machine.  The exit status. */
typedef int (*reproduce_fn)(const struct sim_options *options,
                            const char *machine, struct sim_chart *charts);

/* sim_reproduce_sp.c */
int reproduce_sp_mpi(const struct sim_options *options, const char *machine,
                     struct sim_chart *charts);
/* sim_reproduce_buffering.c */
int reproduce_buffering(const struct sim_options *options, const char *machine,
                        struct sim_chart *charts);

/* sim_reproduce_coll.c */
int reproduce_sp_alltoall(const struct sim_options *options,
                          const char *machine, struct sim_chart *charts);

/* sim_reproduce_lci.c */
int reproduce_lci_bcast(const struct sim_options *options, const char *machine,
                        struct sim_chart *charts);

/* sim_reproduce_bgp.c */
int reproduce_bgp_allreduce(const struct sim_options *options,
                            const char *machine, struct sim_chart *charts);

/* sim_reproduce_patterns.c: there are fewer charts where there are fewer
 * nodes; the last ones stay empty. */
int reproduce_patterns(const struct sim_options *options, const char *machine,
                       struct sim_chart *charts);

/* sim_reproduce_scaling.c: up to as many nodes as the options say. */
int reproduce_scaling(const struct sim_options *options, const char *machine,
                      struct sim_chart *charts);

/* sim_reproduce_overlap.c */
int reproduce_overlap(const struct sim_options *options, const char *machine,
                      struct sim_chart *charts);

/* sim_reproduce_nas.c: jobs of --mpi, printed one by one; no chart. */
int reproduce_sp_nas(const struct sim_options *options, const char *machine,
                     struct sim_chart *chart);

struct coll_test;
/* Fill a series, in us, with runs of `test` at each size of the chart. */
int reproduce_series(const struct sim_options *options,
                     const struct ns_machine *machine, struct coll_test *test,
                     uint32_t series, const size_t *sizes,
                     struct sim_chart *chart);

#endif
