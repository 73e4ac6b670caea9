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

/* One node, and one group of all nodes. */
struct coll_node {
    struct run run;
    const struct coll_test *test;
    struct am_coll_group *group;
    void *send, *recv; /* test->bytes from, or for, each node */
};

typedef am_status_t (*coll_round_fn)(struct coll_node *node);

struct coll_test {
    am_coll_kind_t kind;
    const char *algorithm; /* as AM_COLL_*; NULL: by cost */
    uint32_t nodes;
    size_t bytes; /* of the whole, or of one block, as am_coll.h counts; of a
                   * kind with an operator whole doubles, which are added */
    coll_round_fn round; /* NULL: the collective `kind` */
    /* result: from the first node's call to the last node's end */
    uint64_t ps;
};

/* Run it, all rounds but the first taken together.  The exit status. */
int coll_run(const struct sim_options *options,
             const struct ns_machine *machine, struct coll_test *test);

#endif
