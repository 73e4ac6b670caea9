/*
 * A simulated host's cpu in a process of its own: what the program and libam
 * need of the simulator there.  A part of libam as well.
 */
#ifndef NS_COSIM_RANK_H
#define NS_COSIM_RANK_H

#include "cosim/box.h"

struct ns_rank {
    struct ns_cpu cpu;
    struct ns_box *box;
    int engine;   /* its pidfd */
    size_t (*waits)(void *arg, char *text, size_t bytes); /* or NULL */
    void *waits_arg;
    bool outside; /* since the last ask */
    bool looks;   /* it fetches from memory, and does not write back */
    uint64_t posts_ps, post_ps; /* local time of the first, the last post */
    const struct am_env_ops *cpu_ops; /* the cpu's environment, which settles */
    struct am_env_ops env_ops;        /* before it does anything with time */
    struct ns_port_ops port_ops;
    uint64_t measured_ns; /* processor time up to here is accounted for */
    bool ended;
    void (*interrupt)(void *arg);
    void *interrupt_arg;
};

/*
 * Become the rank of `box`, which is mapped and stays so: waits for the first
 * turn.  0, or -1 with errno.  When the engine ends the run, or is gone, the
 * process ends here or in any later call.
 */
int ns_rank_open(struct ns_rank *rank, struct ns_box *box);
/* What waits in the list is done, or known: so is local time again. */
void ns_rank_settle(struct ns_rank *rank);
/* The list is empty: all that was in it is done. */
void ns_rank_room(struct ns_rank *rank);
/* The same, and then a load from shared memory of at most NS_BOX_DATA. */
void ns_rank_load(struct ns_rank *rank, uint32_t address, void *to,
                  uint32_t bytes);
/* Has the adapter left the host's memory alone up to local time?  Then no turn is
 * needed to touch it; if rank->looks, to fetch from it. */
bool ns_rank_is_ahead(const struct ns_rank *rank);
/* As ns_sim_allgather, ns_sim_meet, ns_sim_compute, ns_sim_interrupts. */
void ns_rank_gather(struct ns_rank *rank, const void *mine, void *all,
                    size_t bytes);
void ns_rank_meet(struct ns_rank *rank, void (*poll)(void *arg), void *arg);
void ns_rank_compute(struct ns_rank *rank, uint64_t ps);
void ns_rank_interrupts(struct ns_rank *rank, void (*fn)(void *arg), void *arg);
/* What the program does begins or ends, for the timeline, if there is one. */
void ns_rank_slice(struct ns_rank *rank, const char *name, bool begins);
/* Where it is measured: what the program has computed since it last did anything
 * on its machine takes its time. */
void ns_rank_measure(struct ns_rank *rank);
/* As am_env_ops says of `outside`. */
void ns_rank_outside(struct ns_rank *rank);
/* End the whole run (the caller goes on); tell that the program is over. */
void ns_rank_abort(struct ns_rank *rank);
void ns_rank_end(struct ns_rank *rank);

#endif
