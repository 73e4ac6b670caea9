/*
 * A whole simulated machine: nodes with hosts, buses and NICs, their network,
 * and a program that runs on every node in a fiber.  What am_sim and
 * am_perf --sim are made of.
 */
#ifndef NS_NICSIM_SIM_H
#define NS_NICSIM_SIM_H

#include "nicsim_machine.h"

struct ns_sim;

struct ns_sim_params {
    uint32_t nodes;
    uint64_t seed;
    uint64_t limit_ps;      /* virtual time; 0: none */
    uint32_t trace_records; /* kept for each node; 0: only hashed */
    const char *trace_path; /* the timeline is written there; NULL: not */
    bool no_sleep;          /* clocked components never sleep */
    bool no_jump;           /* idle hosts spin */
    bool threads;           /* hosts are threads and not fibers */
    bool processes;         /* programs run in processes; not with threads */
    uint32_t post_bytes;    /* of a process's list of what the simulator does later;
                             * 0, or more than it has: all */
    /* What a program's own computation takes, in processes that others have
     * started: each operation that it declares, ps; or its processor time times
     * measured / 1000.  0: nothing. */
    uint64_t operation_ps, measured;
    uint64_t patience_seconds; /* of real time that one of them may run on, and
                                * not ask for anything; 0: for ever */
    void (*tick)(void *arg, uint64_t now_ps); /* as ns_engine_params' */
    void *tick_arg;
};

/* One node as its program sees it. */
struct ns_sim_node {
    struct ns_sim *sim;
    uint32_t rank, size;
    struct am_env *env; /* for am_params.env */
};

struct ns_sim_result {
    uint64_t end_ps; /* virtual time at which the last program ended */
    uint64_t events, hardware_events; /* all, and without the hosts' */
    uint64_t hash;
    uint64_t accesses; /* of the hosts: loads, stores and flushes of memory that
                        * adapters share, and accesses to their registers */
    uint64_t turns; /* that processes got from the simulator, and gave back */
    uint64_t packets, dropped;     /* by NICs that were full, or faulty links */
    struct ns_fault_counts faults; /* .resent: were late, and are not lost */
};

/* `machine` is borrowed.  NULL with one sentence in `error`. */
NS_API struct ns_sim *ns_sim_open(const struct ns_machine *machine,
                                  const struct ns_sim_params *params,
                                  char *error, size_t error_bytes);
NS_API void ns_sim_close(struct ns_sim *sim);

/*
 * Run `body(arg, node)` on every node until all have ended.  0, or -1 with one
 * sentence: a node that waits for ever, the limit, or a packet, credit or
 * buffer that is missing at the end.  Once for each ns_sim.  With
 * params.processes each body runs in a child of this process, and what it
 * writes to memory that is not shared (MAP_SHARED) is lost; without a body the
 * processes are those that ns_door_admit has let in.
 */
NS_API int ns_sim_run(struct ns_sim *sim,
                      void (*body)(void *arg, struct ns_sim_node *node),
                      void *arg, struct ns_sim_result *result, char *error,
                      size_t error_bytes);

/*
 * Run `body(arg, nodes)` once, in one fiber that plays all nodes in turn: for
 * programs that hold many contexts and poll them in a loop, such as tests of
 * am-core.  A node's time goes on while the others have their turn, so times
 * mean little; gathers and barriers may not be used.
 */
NS_API int ns_sim_run_shared(struct ns_sim *sim,
                             void (*body)(void *arg,
                                          struct ns_sim_node *const *nodes),
                             void *arg, struct ns_sim_result *result,
                             char *error, size_t error_bytes);

/* An am_allgather_fn; `arg` is the node.  Takes no virtual time of its own. */
NS_API int ns_sim_allgather(void *arg, const void *mine, void *all,
                            size_t bytes);
/*
 * All nodes reach this point.  The first waits without polling its NIC, so
 * what peers send meanwhile stays in the FIFO; the second calls `poll` until
 * all have come.
 */
NS_API void ns_sim_barrier(struct ns_sim_node *node);
NS_API void ns_sim_meet(struct ns_sim_node *node, void (*poll)(void *arg),
                        void *arg);

/*
 * `ps` of computation.  While it lasts, and only then, an adapter that
 * interrupts has `fn` called (as a signal handler is): poll there.  NULL: the
 * program wants none.
 */
NS_API void ns_sim_compute(struct ns_sim_node *node, uint64_t ps);
NS_API void ns_sim_interrupts(struct ns_sim_node *node, void (*fn)(void *arg),
                              void *arg);

/* The same without interrupts: the node is busy for `ps`. */
NS_API void ns_sim_work(struct ns_sim_node *node, uint64_t ps);

/* End the whole run; ns_sim_run then fails.  The caller returns at once. */
NS_API void ns_sim_abort(struct ns_sim_node *node);

/* Is `address` just below the stack of a node, which it is too small for then?
 * Safe in signal handlers; always false of params.threads. */
NS_API bool ns_sim_stack_over(const struct ns_sim *sim, const void *address);

/* A program's own record on the node's timeline (and in the hash). */
NS_API void ns_sim_note(struct ns_sim_node *node, uint64_t a, uint64_t b);

NS_API struct ns_engine *ns_sim_engine(struct ns_sim *sim);
/* Counters of every part that are not zero, one a line. */
NS_API void ns_sim_stats_print(const struct ns_sim *sim, FILE *file);

#endif
