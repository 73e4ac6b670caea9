/*
 * Algorithms: each turns a call into a schedule, at one member, knowing only
 * what the call and the group's size say.  Pure but for the schedule that it
 * writes; calls topo and sched.
 *
 * Tags: a build numbers its messages so that between two members each has its
 * own; AM_TAG keeps the phases of an algorithm apart.
 */
#ifndef AM_COLLECTIVES_ALGO_H
#define AM_COLLECTIVES_ALGO_H

#include "collectives/sched/sched.h"
#include "collectives/topo/cube.h"

#define AM_TAG(_phase, _index) ((uint32_t)(_phase) << 28 | (uint32_t)(_index))

/* Where the members of a group are: for algorithms that go from node to node, and
 * within each.  Nodes are numbered in the order of their first members. */
struct am_coll_nodes {
    uint32_t count;
    uint32_t *node;  /* of each member */
    uint32_t *place; /* of each member, among those of its node; the first has 0 */
    uint32_t *first; /* member of each node, and, at the end, how many members */
    struct am_coll_group *inner; /* of my node */
    struct am_coll_group *outer; /* of all first members; NULL: I am none */
};

/* What a build is given. */
struct am_coll_build {
    struct am_sched *sched;
    const struct am_coll_call *call;
    uint32_t rank, size;
    am_tree_shape_t shape;
    size_t chunk_bytes; /* of pipelines; SIZE_MAX: one piece */
    size_t eager_max;   /* of a message in one packet */
    size_t unit;        /* bytes of one of call->count */
    bool is_crowded;    /* members share cores */
    const struct am_coll_nodes *nodes; /* of algorithms that have levels */
};

typedef void (*am_coll_build_fn)(const struct am_coll_build *b);

/* Numbers of devices and groups that a cost is made of; see select/cost.h. */
struct am_coll_cost;
struct am_shared_way;
typedef uint64_t (*am_coll_cost_fn)(const struct am_coll_cost *cost);

/* What an algorithm wants of the network itself: net/net.h. */
typedef enum {
    AM_COLL_NETWORK_UNUSED,
    AM_COLL_NETWORK_CASTS,
    AM_COLL_NETWORK_COMBINES /* and no schedule */
} am_coll_network_use_t;

struct am_coll_algorithm {
    const char *name;
    am_coll_build_fn build;
    am_coll_cost_fn cost;
    am_coll_cost_fn
            crowd; /* the same where members share cores; NULL: `cost` */
    am_tree_shape_t shape; /* of trees */
    bool has_shape;        /* the user may say how many children: name:K */
    bool has_chunk;        /* ... and the length of pieces: name/64k */
    bool keeps_order;      /* fit for operators that do not commute */
    bool takes_vector;     /* fit for blocks of different lengths */
    bool has_levels;       /* for members on several nodes: algo/nodes.c */
    const struct am_shared_way *way; /* no schedule: shared/ does it so */
    am_coll_network_use_t network;
};

/* The algorithms of a kind; the last has no name.  The first is fit for all
 * calls. */
extern const struct am_coll_algorithm *const am_coll_algorithms[AM_COLL_KINDS];
extern const char *const am_coll_kind_names[AM_COLL_KINDS];

/* ------------------------------------------------------------ shared by them */

/* `bytes` in pieces of `chunk` (the last is shorter): how many (at least one),
 * and the length of piece `index`. */
uint32_t am_piece_count(size_t bytes, size_t chunk);
size_t am_piece_bytes(size_t bytes, size_t chunk, uint32_t index);

/* The piece of whole elements that is nearest below the chunk of the build. */
size_t am_chunk_of_units(const struct am_coll_build *b);

/* Where block `index` lies, and its bytes: by counts and offsets (in units), or
 * all of `count` one after the other. */
struct am_block {
    size_t offset, bytes;
};

struct am_block am_block_at(const size_t *counts, const size_t *offsets,
                            size_t count, size_t unit, uint32_t index);
/* Block `index` of `bytes` that are shared out among `parts` in whole units. */
struct am_block am_block_of(size_t bytes, size_t unit, uint32_t parts,
                            uint32_t index);

static inline const void *am_at(const void *base, size_t offset)
{
    return base == NULL ? NULL : (const char *)base + offset;
}

static inline void *am_at_mutable(void *base, size_t offset)
{
    return base == NULL ? NULL : (char *)base + offset;
}

/* What a member gives: `send`, or in place `recv`. */
static inline const void *am_given(const struct am_coll_call *call)
{
    return call->send != NULL ? call->send : call->recv;
}

/* The parts that other algorithms are made of. */

/* Broadcast of `bytes` at `buffer` down the tree from member `root`.  `ready`
 * (NULL: nothing): step after which piece i may be sent at the root, and
 * overwritten elsewhere. */
void am_bcast_tree(const struct am_coll_build *b, void *buffer, size_t bytes,
                   size_t chunk, uint32_t root, const uint32_t *ready);
/* Reduction of call->send up the tree to call->recv of member `root`; `ends`
 * (NULL: not wanted; as many as pieces) gets the step after which a member does
 * not need piece i of what it gave any more, and at the root has its result. */
void am_reduce_tree(const struct am_coll_build *b, size_t chunk, uint32_t root,
                    uint32_t *ends);
/* All blocks to all members, round the ring.  Block i is at its place in
 * `buffer` of member (i + rotation) % size, after the step `ready` there, or at
 * `own`. */
void am_allgather_ring(const struct am_coll_build *b, void *buffer,
                       const struct am_block *blocks, uint32_t rotation,
                       uint32_t ready, const void *own);
/* Block i of what all give, reduced, to member i, round the ring: at its place in
 * `result`, which may be `given` itself; or, `is_scatter`, `result` has room for
 * the own block only.  Returns the step after which it is there and nothing of
 * what was given is needed any more.  Operators must commute. */
uint32_t am_reduce_ring(const struct am_coll_build *b, const void *given,
                        void *result, const struct am_block *blocks,
                        bool is_scatter);

#endif
