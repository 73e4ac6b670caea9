/*
 * Collectives of libam (am_coll.h) on a simulated machine: the programs whose
 * times --reproduce prints.
 */
#ifndef AM_TOOLS_SIM_COLL_H
#define AM_TOOLS_SIM_COLL_H

#include "tools/sim.h"
#include "tools/sim_run.h"

#include <am_coll.h>

struct coll_test;

enum {
    COLL_STAGES = 3,
    COLL_OPTIONS = 3
};

/* One process, and one group of all. */
struct coll_node {
    struct run run;
    const struct coll_test *test;
    struct am_coll_group *group;
    struct am_coll_group *local; /* of the processes of a node; or NULL */
    void *send, *recv; /* test->bytes from, or for, each node */
    uint32_t stage;    /* of the round, which is timed by itself */
};

typedef am_status_t (*coll_round_fn)(struct coll_node *node);

struct coll_test {
    am_coll_kind_t kind;
    const char *algorithm; /* as AM_COLL_*; NULL: by cost */
    uint32_t nodes;
    size_t bytes; /* of the whole, or of one block, as am_coll.h counts; of a
                   * kind with an operator whole doubles, which are added, or */
    bool words;   /* ... words of 32 bits, whose sums are checked */
    coll_round_fn round; /* NULL: the collective `kind` */
    /* for rounds: */
    uint32_t stages; /* 0: one */
    uint32_t local;  /* processes of a node that make a group; 0: none */
    size_t piece;    /* bytes of a pipeline's pieces */
    uint64_t work_ps; /* computation of a node, and ... */
    uint32_t polls;   /* ... into how many parts polls divide it */
    struct am_option options[COLL_OPTIONS]; /* more of them; names NULL: none */
    /* Nodes that have ended rest until all have: faster here, but for
     * collectives only that need nobody who has ended. */
    bool rests;
    /* results, of each stage: from the first node's call to the last node's end;
     * of the first */
    uint64_t stage_ps[COLL_STAGES], ps;
};

/* The call of test->kind, for rounds that do more than run it; sums are of doubles. */
struct am_coll_call coll_call(const struct coll_node *node);

/* A round: the collective test->kind. */
am_status_t coll_kind(struct coll_node *node);

/* Run it, all rounds but the first taken together.  The exit status. */
int coll_run(const struct sim_options *options,
             const struct ns_machine *machine, struct coll_test *test);

#endif
