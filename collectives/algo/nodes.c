/*
 * Collectives of two levels: within each node, where members share memory; between
 * the nodes, by their first members; and within each again.  Each part is a
 * collective of the node's own group, or of that of the first members, by what is
 * cheapest there.
 *
 *   up      values, or blocks, of a node's members to its first
 *   across  the first members among themselves
 *   down    the result from the first member to the others of its node
 *
 * In pieces, the parts follow each other in one order at all members of a node, so
 * that they start the collectives of its group alike; meanwhile the first members
 * have another piece between the nodes:
 *
 *   within   up 0   up 1   down 0   up 2   down 1   down 2
 *   across          0      1               2
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    TAG_ROOT = 1
};

/* Where I am. */
struct here {
    const struct am_coll_nodes *nodes;
    uint32_t node, place;
    uint32_t within; /* the last step of my node's group */
    uint32_t across; /* and of the first members' */
};

static struct here here_of(const struct am_coll_build *b)
{
    return (struct here){.nodes = b->nodes,
                         .node = b->nodes->node[b->rank],
                         .place = b->nodes->place[b->rank],
                         .within = AM_STEP_NONE,
                         .across = AM_STEP_NONE};
}

static bool is_first(const struct here *here)
{
    return here->place == 0;
}

/* A collective of my node, after the one before it and after `ready`. */
static uint32_t within(const struct am_coll_build *b, struct here *here,
                       const struct am_coll_call *call, uint32_t ready)
{
    uint32_t step = am_sched_call(b->sched, here->nodes->inner, call);

    am_sched_edge(b->sched, here->within, step);
    am_sched_edge(b->sched, ready, step);
    here->within = step;
    return step;
}

static uint32_t across(const struct am_coll_build *b, struct here *here,
                       const struct am_coll_call *call, uint32_t ready)
{
    uint32_t step = am_sched_call(b->sched, here->nodes->outer, call);

    am_sched_edge(b->sched, here->across, step);
    am_sched_edge(b->sched, ready, step);
    here->across = step;
    return step;
}

static struct am_coll_call bcast_of(void *buffer, size_t bytes, uint32_t root)
{
    return (struct am_coll_call){.kind = AM_COLL_BCAST,
                                 .root = root,
                                 .recv = buffer,
                                 .count = bytes};
}

/* ------------------------------------------------------------------ barrier */

void am_barrier_nodes(const struct am_coll_build *b)
{
    static const struct am_coll_call barrier = {.kind = AM_COLL_BARRIER};
    struct here here = here_of(b);
    char *nothing = am_sched_scratch(b->sched, 1);
    struct am_coll_call release = bcast_of(nothing, 1, 0);
    uint32_t ready = within(b, &here, &barrier, AM_STEP_NONE);

    if (nothing == NULL) {
        return;
    }
    *nothing = 0;
    if (is_first(&here)) {
        ready = across(b, &here, &barrier, ready);
    }
    (void)within(b, &here, &release, ready);
}

/* ------------------------------------------------------------------- bcast */

/* The root's node first, if the root is not its first member. */
static void bcast_piece(const struct am_coll_build *b, struct here *here,
                        char *buffer, size_t bytes)
{
    uint32_t root = b->call->root, node = b->nodes->node[root];
    bool is_roots = here->node == node;
    uint32_t place = is_roots ? b->nodes->place[root] : 0;
    struct am_coll_call in = bcast_of(buffer, bytes, place);
    struct am_coll_call out = bcast_of(buffer, bytes, node);
    uint32_t ready = AM_STEP_NONE;

    if (is_first(here) && place == 0) {
        ready = across(b, here, &out, ready);
    }
    ready = within(b, here, &in, is_roots ? AM_STEP_NONE : ready);
    if (is_first(here) && place != 0) {
        (void)across(b, here, &out, ready);
    }
}

void am_bcast_nodes(const struct am_coll_build *b)
{
    struct here here = here_of(b);
    size_t bytes = b->call->count;
    uint32_t count = am_piece_count(bytes, b->chunk_bytes);

    for (uint32_t i = 0; i < count; i++) {
        bcast_piece(b, &here,
                    am_at_mutable(b->call->recv,
                                  i == 0 ? 0 : i * b->chunk_bytes),
                    am_piece_bytes(bytes, b->chunk_bytes, i));
    }
}

/* -------------------------------------------------------------- reductions */

/* One to member `root` of a group; at the root `send` may be `recv`. */
static struct am_coll_call reduce_of(const struct am_coll_build *b,
                                     const void *send, void *recv,
                                     size_t bytes, uint32_t root)
{
    return (struct am_coll_call){.kind = AM_COLL_REDUCE,
                                 .root = root,
                                 .send = send == recv ? NULL : send,
                                 .recv = recv,
                                 .count = bytes / b->unit,
                                 .op = b->call->op};
}

/* The pieces of a reduction. */
struct pieces {
    size_t bytes, chunk;
    uint32_t count;
    const char *given;
    char *sum; /* a first member: of its node, then of all at the root's */
};

static struct pieces pieces_of(const struct am_coll_build *b, void *sum)
{
    struct pieces p = {.bytes = b->call->count * b->unit,
                       .chunk = am_chunk_of_units(b),
                       .given = am_given(b->call),
                       .sum = sum};

    p.count = am_piece_count(p.bytes, p.chunk);
    return p;
}

static size_t piece_at(const struct pieces *p, uint32_t i)
{
    return i == 0 ? 0 : i * p->chunk;
}

/* The values of my node to its first member. */
static uint32_t up(const struct am_coll_build *b, struct here *here,
                   const struct pieces *p, uint32_t i)
{
    const void *given = am_at(p->given, piece_at(p, i));
    void *sum = is_first(here) ? am_at_mutable(p->sum, piece_at(p, i)) : NULL;
    struct am_coll_call call = reduce_of(
            b, given, sum, am_piece_bytes(p->bytes, p->chunk, i), 0);

    return within(b, here, &call, AM_STEP_NONE);
}

static uint32_t allreduce_across(const struct am_coll_build *b,
                                 struct here *here, const struct pieces *p,
                                 uint32_t i, uint32_t ready)
{
    struct am_coll_call call = {
            .kind = AM_COLL_ALLREDUCE,
            .recv = am_at_mutable(p->sum, piece_at(p, i)),
            .count = am_piece_bytes(p->bytes, p->chunk, i) / b->unit,
            .op = b->call->op};

    return is_first(here) ? across(b, here, &call, ready) : AM_STEP_NONE;
}

static void down(const struct am_coll_build *b, struct here *here,
                 const struct pieces *p, uint32_t i, uint32_t ready)
{
    struct am_coll_call call =
            bcast_of(am_at_mutable(b->call->recv, piece_at(p, i)),
                     am_piece_bytes(p->bytes, p->chunk, i), 0);

    (void)within(b, here, &call, ready);
}

void am_allreduce_nodes(const struct am_coll_build *b)
{
    struct here here = here_of(b);
    struct pieces p = pieces_of(b, b->call->recv);
    uint32_t before = AM_STEP_NONE;

    for (uint32_t i = 0; i <= p.count; i++) {
        uint32_t ready = i < p.count ? up(b, &here, &p, i) : AM_STEP_NONE;

        if (i < p.count) {
            ready = allreduce_across(b, &here, &p, i, ready);
        }
        if (i > 0) {
            down(b, &here, &p, i - 1, before);
        }
        before = ready;
    }
}

/* From the first member of the root's node to the root, where it is another; in
 * place, its values lie there until its node has them. */
static void root_tell(const struct am_coll_build *b, const struct pieces *p,
                      uint32_t i, uint32_t ready)
{
    uint32_t root = b->call->root, node = b->nodes->node[root];
    uint32_t first = b->nodes->first[node], step = AM_STEP_NONE;
    size_t bytes = am_piece_bytes(p->bytes, p->chunk, i);

    if (root == first) {
        return;
    }
    if (b->rank == first) {
        step = am_sched_send(b->sched, root, AM_TAG(TAG_ROOT, i),
                             am_at(p->sum, piece_at(p, i)), bytes);
    } else if (b->rank == root) {
        step = am_sched_recv(b->sched, first, AM_TAG(TAG_ROOT, i),
                             am_at_mutable(b->call->recv, piece_at(p, i)),
                             bytes);
    }
    am_sched_edge(b->sched, ready, step);
}

void am_reduce_nodes(const struct am_coll_build *b)
{
    uint32_t root = b->call->root, node = b->nodes->node[root];
    struct here here = here_of(b);
    struct pieces p = pieces_of(b, b->call->recv);

    if (is_first(&here) && b->rank != root) {
        p.sum = am_sched_scratch(b->sched, p.bytes);
    }
    for (uint32_t i = 0; i < p.count; i++) {
        uint32_t ready = up(b, &here, &p, i);

        if (is_first(&here)) {
            void *sum = am_at_mutable(p.sum, piece_at(&p, i));
            struct am_coll_call call = reduce_of(
                    b, sum, here.node == node ? sum : NULL,
                    am_piece_bytes(p.bytes, p.chunk, i), node);

            ready = across(b, &here, &call, ready);
        }
        root_tell(b, &p, i, ready);
    }
}

/* --------------------------------------------------------------- all-gather */

/* Blocks of all nodes between their first members; the members of a node follow
 * each other, so its blocks are one. */
static uint32_t blocks_across(const struct am_coll_build *b, struct here *here,
                              uint32_t ready)
{
    const struct am_coll_nodes *nodes = b->nodes;
    size_t *counts = am_sched_scratch(b->sched, nodes->count * sizeof(*counts));
    struct am_coll_call call = {.kind = AM_COLL_ALLGATHER,
                                .recv = b->call->recv,
                                .is_vector = true,
                                .recv_counts = counts};
    bool are_alike = true;

    if (counts == NULL) {
        return AM_STEP_NONE;
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        counts[i] = (nodes->first[i + 1] - nodes->first[i]) * b->call->count;
        are_alike = are_alike && counts[i] == counts[0];
    }
    if (are_alike) { /* more algorithms are fit then */
        call.is_vector = false;
        call.count = counts[0];
        call.recv_counts = NULL;
    }
    return across(b, here, &call, ready);
}

void am_allgather_nodes(const struct am_coll_build *b)
{
    const struct am_coll_call *call = b->call;
    struct here here = here_of(b);
    uint32_t first = b->nodes->first[here.node], ready;
    struct am_coll_call gather = {
            .kind = AM_COLL_GATHER,
            .send = call->send,
            .recv = is_first(&here)
                            ? am_at_mutable(call->recv, first * call->count)
                            : NULL,
            .count = call->count};
    struct am_coll_call all = bcast_of(call->recv, b->size * call->count, 0);

    if (call->send == NULL && !is_first(&here)) {
        gather.send = am_at(call->recv, b->rank * call->count);
    }
    ready = within(b, &here, &gather, AM_STEP_NONE);
    if (is_first(&here)) {
        ready = blocks_across(b, &here, ready);
    }
    (void)within(b, &here, &all, ready);
}
