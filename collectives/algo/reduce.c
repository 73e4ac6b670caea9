/*
 * Reduction up a tree, in pieces.  A member receives what its children send, and
 * puts the values together from one end of its span to the other, so that no
 * operator needs to commute: the piece of one child is received where the result
 * is to be, and the others are reduced into it.
 *
 *   commutes: the children in the order in which they are done (small subtrees
 *   first), then my own; else from the last child to the first, then my own,
 *   which are all further left.
 *
 * Two pieces are under way at a time, whatever the length (Dawson and
 * Strazdins).  An operator that does not commute is reduced towards member 0,
 * which sends the result to the root.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    SLOTS = 2,
    TAG_UP = 10,
    TAG_ROOT
};

struct up {
    const struct am_coll_build *b;
    struct am_tree_span span;
    uint32_t parent; /* relative to `root` */
    uint32_t root, child_count;
    size_t bytes, chunk;
    const char *given;
    char *result;        /* where the whole goes; NULL: its slots */
    bool apart;          /* own values lie where the result is to be */
    uint32_t slot_count; /* SLOTS; or 1, of one piece */
    char *slots;         /* so many pieces for each child, then for the sum */
    uint32_t *freed;     /* for each slot: the step after which it is free */
};

static size_t slot_bytes(const struct up *up)
{
    return up->chunk < up->bytes ? up->chunk : up->bytes;
}

static char *slot_at(const struct up *up, uint32_t which, uint32_t piece)
{
    size_t index = (size_t)which * up->slot_count + piece % up->slot_count;

    return am_at_mutable(up->slots, index * slot_bytes(up));
}

static uint32_t *slot_freed(const struct up *up, uint32_t which, uint32_t piece)
{
    return &up->freed[(size_t)which * up->slot_count + piece % up->slot_count];
}

/* Receive a piece of a child in slot `which`, or at `to`. */
static uint32_t piece_recv(const struct up *up, uint32_t child, uint32_t which,
                           uint32_t piece, void *to)
{
    const struct am_coll_build *b = up->b;
    uint32_t from = am_tree_child(b->shape, up->span, child).first;
    uint32_t recv = am_sched_recv(
            b->sched, am_ring_after(from, b->size, up->root),
            AM_TAG(TAG_UP, piece), to != NULL ? to : slot_at(up, which, piece),
            am_piece_bytes(up->bytes, up->chunk, piece));

    am_sched_edge(b->sched, *slot_freed(up, which, piece), recv);
    return recv;
}

/* One piece at an inner member; `sum` gets where it comes to be.  Returns the
 * step after which it is there. */
static uint32_t piece_reduce(const struct up *up, uint32_t piece, void **sum)
{
    const struct am_coll_build *b = up->b;
    bool commutes = b->call->op.is_commutative;
    size_t bytes = am_piece_bytes(up->bytes, up->chunk, piece);
    size_t at = piece == 0 ? 0 : piece * up->chunk;
    const void *own = am_at(up->given, at);
    uint32_t last = up->child_count - 1, before;

    *sum = up->result != NULL && !up->apart
                   ? am_at_mutable(up->result, at)
                   : slot_at(up, up->child_count, piece);
    before = piece_recv(up, commutes ? 0 : last, up->child_count, piece, *sum);
    for (uint32_t i = 1; i <= last; i++) {
        uint32_t child = commutes ? i : last - i;
        uint32_t recv = piece_recv(up, child, child, piece, NULL);
        uint32_t add = am_sched_reduce(b->sched, slot_at(up, child, piece),
                                       *sum, bytes / b->unit);

        am_sched_edge(b->sched, recv, add);
        am_sched_edge(b->sched, before, add);
        *slot_freed(up, child, piece) = add;
        before = add;
    }
    if (bytes > 0) {
        uint32_t add = am_sched_reduce(b->sched, own, *sum, bytes / b->unit);

        am_sched_edge(b->sched, before, add);
        before = add;
    }
    return before;
}

/* Scratch memory, and pointers into it. */
static bool up_open(struct up *up)
{
    const struct am_coll_build *b = up->b;
    uint32_t slots;

    up->slot_count = am_piece_count(up->bytes, up->chunk) > 1 ? SLOTS : 1;
    slots = up->slot_count * (up->child_count + 1);
    up->freed = am_sched_scratch(b->sched, slots * sizeof(*up->freed));
    if (up->freed == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < slots; i++) {
        up->freed[i] = AM_STEP_NONE;
    }
    if (up->child_count > 0 && up->bytes > 0) {
        up->slots = am_sched_scratch(b->sched, slots * slot_bytes(up));
        return up->slots != NULL;
    }
    return true;
}

/* Piece after piece; `ends` as am_reduce_tree says. */
static void up_run(const struct up *up, uint32_t *ends)
{
    const struct am_coll_build *b = up->b;
    uint32_t count = am_piece_count(up->bytes, up->chunk);
    uint32_t to = up->parent == AM_TOPO_NONE
                          ? 0
                          : am_ring_after(up->parent, b->size, up->root);

    for (uint32_t i = 0; i < count; i++) {
        size_t at = i == 0 ? 0 : i * up->chunk;
        size_t bytes = am_piece_bytes(up->bytes, up->chunk, i);
        void *sum = NULL;
        const void *from = am_at(up->given, at);
        uint32_t step = AM_STEP_NONE, end = AM_STEP_NONE;

        if (up->child_count > 0) {
            step = end = piece_reduce(up, i, &sum);
            from = sum;
        }
        if (up->parent != AM_TOPO_NONE) {
            end = am_sched_send(b->sched, to, AM_TAG(TAG_UP, i), from, bytes);
            am_sched_edge(b->sched, step, end);
        } else if (from != am_at(up->result, at)) {
            end = am_sched_copy(b->sched, from, am_at_mutable(up->result, at),
                                bytes);
            am_sched_edge(b->sched, step, end);
        }
        *slot_freed(up, up->child_count, i) = end;
        if (ends != NULL) {
            ends[i] = end;
        }
    }
}

void am_reduce_tree(const struct am_coll_build *b, size_t chunk, uint32_t root,
                    uint32_t *ends)
{
    const struct am_coll_call *call = b->call;
    struct up up = {.b = b,
                    .root = root,
                    .bytes = call->count * b->unit,
                    .chunk = chunk,
                    .given = am_given(call)};

    up.span = am_tree_find(b->shape, b->size,
                           am_ring_before(b->rank, b->size, root), &up.parent);
    up.child_count = am_tree_child_count(b->shape, up.span);
    if (up.parent == AM_TOPO_NONE) {
        up.result = call->recv;
        up.apart = call->send == NULL;
    }
    if (up_open(&up)) {
        up_run(&up, ends);
    }
}

/* Towards member 0 in order, and from there to the root in one piece. */
static void reduce_in_order(const struct am_coll_build *b, size_t chunk)
{
    struct am_coll_call call = *b->call;
    struct am_coll_build inner = *b;
    size_t bytes = call.count * b->unit;
    uint32_t pieces = am_piece_count(bytes, chunk), send, recv;
    uint32_t *ends = am_sched_scratch(b->sched, pieces * sizeof(*ends));

    inner.call = &call;
    if (ends == NULL) {
        return;
    }
    call.send = am_given(b->call);
    if (b->rank == 0) {
        call.recv = am_sched_scratch(b->sched, bytes);
    }
    am_reduce_tree(&inner, chunk, 0, ends);
    if (b->rank == 0) {
        send = am_sched_send(b->sched, call.root, AM_TAG(TAG_ROOT, 0),
                             call.recv, bytes);
        for (uint32_t i = 0; i < pieces; i++) {
            am_sched_edge(b->sched, ends[i], send);
        }
    }
    if (b->rank == call.root) { /* what it gives may be where the result goes */
        recv = am_sched_recv(b->sched, 0, AM_TAG(TAG_ROOT, 0), b->call->recv,
                             bytes);
        for (uint32_t i = 0; i < pieces; i++) {
            am_sched_edge(b->sched, ends[i], recv);
        }
    }
}

void am_reduce_shape(const struct am_coll_build *b)
{
    size_t chunk = am_chunk_of_units(b);

    if (b->call->op.is_commutative || b->call->root == 0) {
        am_reduce_tree(b, chunk, b->call->root, NULL);
    } else {
        reduce_in_order(b, chunk);
    }
}
