/*
 * One node of a figure: its context, handlers that count, ways to wait.
 */
#ifndef AM_TOOLS_SIM_RUN_H
#define AM_TOOLS_SIM_RUN_H

#include "tools/sim_figures.h"

#include "dev/dev.h"

enum {
    H_PING = AM_HANDLER_USER, /* replies with its words */
    H_PONG,
    H_COUNT,
    H_GOT
};

struct run {
    struct ns_sim_node *node;
    struct am_ctx *ctx;
    char *error;
    size_t error_bytes;
    uint64_t pings, pongs, counted, done;
};

/* Open a context for `run`, which must stay where it is; all nodes. */
int run_open(struct run *run, struct ns_sim_node *node, char *error,
             size_t error_bytes);
/* The same with options of libam. */
int run_open_with(struct run *run, struct ns_sim_node *node,
                  const struct am_option *options, uint32_t option_count,
                  char *error, size_t error_bytes);
/* The same without handlers. */
int run_open_bare(struct run *run, struct ns_sim_node *node, char *error,
                  size_t error_bytes);
void run_close(struct run *run);
/* Virtual time, ps. */
uint64_t run_now(const struct run *run);
/* An am_done_fn: counts in `done` of the run that is its arg. */
void run_done(void *arg, am_status_t status);
/* Poll until *count is `wanted`. */
void run_wait(struct run *run, const uint64_t *count, uint64_t wanted);
/* Poll until the windows have nothing to say any more. */
void run_settle(struct run *run);
/* All nodes reach this point, polling. */
void run_meet(struct run *run);

/* One node of a figure on the bare device: no window, no context. */
struct raw {
    struct am_dev *dev;
    struct am_dev_ep *ep;
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint64_t packets;
};

int raw_open(struct raw *raw, struct ns_sim_node *node, char *error,
             size_t error_bytes);

/* Receive overheads are measured behind so much computation: far more than a
 * round trip, but on a machine of one's own. */
#define LOGP_COMPUTE_PS (200 * UINT64_C(1000000))

/* What the LogP figures are made of. */
struct logp {
    uint64_t os_ps, or_ps, half_ps, g_ps;
};

/* sim_copy.c: does this machine's host use remote copies?  Their LogP. */
bool figure_is_copy(const struct ns_sim_node *node);
int copy_logp(struct ns_sim_node *node, struct logp *logp, char *error,
              size_t error_bytes);

/* sim_mcast.c, on Myrinet only.  Is reliability the host's? */
bool host_is_reliable(const struct ns_sim_node *node);
/* Fetch-and-add by the other host. */
int host_fetch_add(struct ns_sim_node *node, uint64_t *value_p, char *error,
                   size_t error_bytes);
/* Time until all nodes have got `bytes` from node 0. */
int mcast_run(struct ns_sim_node *node, uint64_t *value_p, size_t bytes,
              char *error, size_t error_bytes);
int figure_mcast(struct ns_sim_node *node, uint64_t *value_p, char *error,
                 size_t error_bytes);

/* sim_logp.c */
int figure_os(struct ns_sim_node *node, uint64_t *value_p, char *error,
              size_t error_bytes);
int figure_or(struct ns_sim_node *node, uint64_t *value_p, char *error,
              size_t error_bytes);
int figure_latency(struct ns_sim_node *node, uint64_t *value_p, char *error,
                   size_t error_bytes);
int figure_gap(struct ns_sim_node *node, uint64_t *value_p, char *error,
               size_t error_bytes);
int figure_end_to_end(struct ns_sim_node *node, uint64_t *value_p, char *error,
                      size_t error_bytes);
int figure_ni_fetch_add(struct ns_sim_node *node, uint64_t *value_p,
                        char *error, size_t error_bytes);

/* sim_bgp.c */
int figure_eager(struct ns_sim_node *node, uint64_t *value_p, char *error,
                 size_t error_bytes);
int figure_put(struct ns_sim_node *node, uint64_t *value_p, char *error,
               size_t error_bytes);
int figure_get(struct ns_sim_node *node, uint64_t *value_p, char *error,
               size_t error_bytes);
int figure_mpi_eager(struct ns_sim_node *node, uint64_t *value_p, char *error,
                     size_t error_bytes);
/* What MPI's isend, irecv and wait do; *done counts. */
void mpi_send_start(struct run *run, uint32_t to, const void *from,
                    size_t bytes, uint64_t *done);
void mpi_receive_start(struct run *run, uint32_t source, void *to, size_t bytes,
                       uint64_t *done);
void mpi_wait(struct run *run, const uint64_t *done, uint64_t wanted);
/* Half a round trip between two nodes, ps. */
uint64_t mpi_pingpong(struct run *run, void *to, const void *from, size_t bytes,
                      uint32_t rounds);

/* Bandwidth of one 1 MiB transfer; figures. */
int figure_store_bandwidth(struct ns_sim_node *node, uint64_t *value_p,
                           char *error, size_t error_bytes);
int figure_get_bandwidth(struct ns_sim_node *node, uint64_t *value_p,
                         char *error, size_t error_bytes);

struct bandwidth {
    const char *op;
    size_t bytes, total;
};

/* Move `total` bytes in transfers of `bytes`; node 0 sets B/s. */
int bandwidth_run(struct ns_sim_node *node, uint64_t *value_p,
                  const struct bandwidth *bandwidth, char *error,
                  size_t error_bytes);

#endif
