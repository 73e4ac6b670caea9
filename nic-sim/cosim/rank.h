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
/* As ns_sim_allgather, ns_sim_meet, ns_sim_compute, ns_sim_interrupts. */
void ns_rank_gather(struct ns_rank *rank, const void *mine, void *all,
                    size_t bytes);
void ns_rank_meet(struct ns_rank *rank, void (*poll)(void *arg), void *arg);
void ns_rank_compute(struct ns_rank *rank, uint64_t ps);
void ns_rank_interrupts(struct ns_rank *rank, void (*fn)(void *arg), void *arg);
/* As am_env_ops says of `outside`. */
void ns_rank_outside(struct ns_rank *rank);
/* End the whole run (the caller goes on); tell that the program is over. */
void ns_rank_abort(struct ns_rank *rank);
void ns_rank_end(struct ns_rank *rank);

#endif
