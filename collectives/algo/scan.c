/*
 * Prefix reductions: SCAN (member i gets the values of 0 .. i) and EXSCAN (of
 * 0 .. i - 1; member 0 nothing).  Both algorithms meet the values in order.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    TAG_CHAIN = 1,
    TAG_ROUND
};

static bool is_exclusive(const struct am_coll_build *b)
{
    return b->call->kind == AM_COLL_EXSCAN;
}

/* One piece along the chain: the prefix of those before me comes, mine is put to
 * its right, and it goes on. */
static void piece_pass(const struct am_coll_build *b, const char *own,
                       char *result, char *sum, uint32_t piece, size_t bytes)
{
    uint32_t tag = AM_TAG(TAG_CHAIN, piece);
    uint32_t recv = AM_STEP_NONE, send = AM_STEP_NONE;
    uint32_t ready = am_sched_copy(b->sched, own, sum, bytes);

    if (b->rank > 0) { /* sum = prefix op own */
        char *prefix = is_exclusive(b) && b->call->send != NULL
                               ? result
                               : am_sched_scratch(b->sched, bytes);
        uint32_t add = am_sched_reduce(b->sched, prefix, sum, bytes / b->unit);

        recv = am_sched_recv(b->sched, b->rank - 1, tag, prefix, bytes);
        am_sched_edge(b->sched, recv, add);
        am_sched_edge(b->sched, ready, add);
        if (is_exclusive(b) && prefix != result) {
            am_sched_edge(b->sched, add,
                          am_sched_copy(b->sched, prefix, result, bytes));
        }
        ready = add;
    }
    if (b->rank + 1 < b->size) {
        send = am_sched_send(b->sched, b->rank + 1, tag, sum, bytes);
        am_sched_edge(b->sched, ready, send);
    }
}

void am_scan_chain(const struct am_coll_build *b)
{
    const struct am_coll_call *call = b->call;
    size_t bytes = call->count * b->unit, chunk = am_chunk_of_units(b);
    const char *given = am_given(call);
    char *sum = call->recv;

    if (is_exclusive(b)) { /* recv is for the prefix alone */
        sum = am_sched_scratch(b->sched, bytes);
    }
    for (uint32_t i = 0; i < am_piece_count(bytes, chunk); i++) {
        size_t at = i == 0 ? 0 : i * chunk;

        piece_pass(b, am_at(given, at), am_at_mutable(call->recv, at),
                   am_at_mutable(sum, at), i, am_piece_bytes(bytes, chunk, i));
    }
}

/* What has been put together so far: of the ranks just before me, and me. */
struct prefix {
    char *sum;    /* with mine */
    char *result; /* EXSCAN: without mine; else NULL */
    bool has_result;
    uint32_t ready; /* step after which they are there, and were sent */
};

/* The values of the ranks `distance` before me and further. */
static void prefix_add(const struct am_coll_build *b, struct prefix *p,
                       char *landing, uint32_t from, uint32_t tag,
                       uint32_t send)
{
    size_t count = b->call->count, bytes = count * b->unit;
    uint32_t recv = am_sched_recv(b->sched, from, tag, landing, bytes);
    uint32_t add = am_sched_reduce(b->sched, landing, p->sum, count);
    uint32_t both = am_sched_join(b->sched);

    am_sched_edge(b->sched, p->ready, recv);
    am_sched_edge(b->sched, recv, add);
    am_sched_edge(b->sched, send, add);
    am_sched_edge(b->sched, p->ready, add);
    am_sched_edge(b->sched, add, both);
    if (p->result != NULL) {
        uint32_t step =
                p->has_result
                        ? am_sched_reduce(b->sched, landing, p->result, count)
                        : am_sched_copy(b->sched, landing, p->result, bytes);

        am_sched_edge(b->sched, recv, step);
        am_sched_edge(b->sched, p->ready, step);
        am_sched_edge(b->sched, step, both);
        p->has_result = true;
    }
    p->ready = both;
}

void am_scan_doubling(const struct am_coll_build *b)
{
    const struct am_coll_call *call = b->call;
    size_t bytes = call->count * b->unit;
    char *landing = am_sched_scratch(b->sched, bytes);
    struct prefix p = {.sum = call->recv};
    uint32_t round = 0;

    if (is_exclusive(b)) {
        p.sum = am_sched_scratch(b->sched, bytes);
        p.result = call->recv;
    }
    p.ready = am_sched_copy(b->sched, am_given(call), p.sum, bytes);
    for (uint32_t distance = 1; distance < b->size; round++, distance *= 2) {
        uint32_t tag = AM_TAG(TAG_ROUND, round), send = AM_STEP_NONE;

        if (b->rank + distance < b->size) {
            send = am_sched_send(b->sched, b->rank + distance, tag, p.sum,
                                 bytes);
            am_sched_edge(b->sched, p.ready, send);
        }
        if (b->rank >= distance) {
            prefix_add(b, &p, landing, b->rank - distance, tag, send);
        } else if (send != AM_STEP_NONE) {
            p.ready = send;
        }
    }
}
