/*
 * All-to-all exchanges.  The SP AM paper asks for one in which not all members
 * send to the same one at a time: member r begins with r + 1, then r + 2.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    SENDS_MAX = 4, /* staggered: blocks on their way */
    TAG_DIRECT = 1,
    TAG_ROUND
};

static struct am_block sent_to(const struct am_coll_build *b, uint32_t member)
{
    return am_block_at(b->call->send_counts, b->call->send_offsets,
                       b->call->count, 1, member);
}

static struct am_block got_from(const struct am_coll_build *b, uint32_t member)
{
    return am_block_at(b->call->recv_counts, b->call->recv_offsets,
                       b->call->count, 1, member);
}

static uint32_t block_send(const struct am_coll_build *b, uint32_t member)
{
    struct am_block block = sent_to(b, member);

    return am_sched_send(b->sched, member, AM_TAG(TAG_DIRECT, 0),
                         am_at(b->call->send, block.offset), block.bytes);
}

static uint32_t block_recv(const struct am_coll_build *b, uint32_t member)
{
    struct am_block block = got_from(b, member);

    return am_sched_recv(b->sched, member, AM_TAG(TAG_DIRECT, 0),
                         am_at_mutable(b->call->recv, block.offset),
                         block.bytes);
}

static void own_copy(const struct am_coll_build *b)
{
    struct am_block from = sent_to(b, b->rank), to = got_from(b, b->rank);

    am_sched_copy(b->sched, am_at(b->call->send, from.offset),
                  am_at_mutable(b->call->recv, to.offset), to.bytes);
}

/* All receives at once; sends to the members from `first` on, round the ring, a few at a
 * time.  All at once where members share cores: the few would wait for members that have
 * none just now (64 KiB to 1 MiB on two cores: 0.9 of the time on 8 ranks, 0.6 to 0.8 on
 * 16). */
static void direct(const struct am_coll_build *b, uint32_t first)
{
    uint32_t sends[SENDS_MAX] = {AM_STEP_NONE, AM_STEP_NONE, AM_STEP_NONE,
                                 AM_STEP_NONE};
    uint32_t count = 0;

    for (uint32_t i = 1; i < b->size; i++) {
        (void)block_recv(b, am_ring_before(b->rank, b->size, i));
    }
    for (uint32_t i = 0; i < b->size; i++) {
        uint32_t member = am_ring_after(first, b->size, i);

        if (member != b->rank) {
            uint32_t send = block_send(b, member);

            if (!b->is_crowded) {
                am_sched_edge(b->sched, sends[count % SENDS_MAX], send);
            }
            sends[count++ % SENDS_MAX] = send;
        }
    }
    own_copy(b);
}

void am_alltoall_staggered(const struct am_coll_build *b)
{
    direct(b, am_ring_after(b->rank, b->size, 1));
}

void am_alltoall_naive(const struct am_coll_build *b)
{
    direct(b, 0);
}

void am_alltoall_pairwise(const struct am_coll_build *b)
{
    uint32_t before = AM_STEP_NONE;

    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t send = block_send(b, am_ring_after(b->rank, b->size, i));
        uint32_t recv = block_recv(b, am_ring_before(b->rank, b->size, i));

        am_sched_edge(b->sched, before, send);
        am_sched_edge(b->sched, before, recv);
        before = am_sched_join(b->sched);
        am_sched_edge(b->sched, send, before);
        am_sched_edge(b->sched, recv, before);
    }
    own_copy(b); /* last: the others need not wait for it */
}

/* The blocks whose distance has the bit of this round, packed, to the member at
 * that distance; and what comes for them put in their place. */
static uint32_t bruck_round(const struct am_coll_build *b, char *by_distance,
                            char *out, char *in, uint32_t round, uint32_t ready)
{
    size_t block = b->call->count;
    uint32_t distance = 1u << round, count = 0;
    uint32_t packed = am_sched_join(b->sched), put = am_sched_join(b->sched);
    uint32_t send, recv;

    for (uint32_t i = distance; i < b->size; i++) {
        if ((i & distance) != 0) {
            uint32_t copy =
                    am_sched_copy(b->sched, am_at(by_distance, i * block),
                                  am_at_mutable(out, count++ * block), block);

            am_sched_edge(b->sched, ready, copy);
            am_sched_edge(b->sched, copy, packed);
        }
    }
    send = am_sched_send(b->sched, am_ring_after(b->rank, b->size, distance),
                         AM_TAG(TAG_ROUND, round), out, count * block);
    recv = am_sched_recv(b->sched, am_ring_before(b->rank, b->size, distance),
                         AM_TAG(TAG_ROUND, round), in, count * block);
    am_sched_edge(b->sched, packed, send);
    am_sched_edge(b->sched, packed, recv);
    count = 0;
    for (uint32_t i = distance; i < b->size; i++) {
        if ((i & distance) != 0) {
            uint32_t copy =
                    am_sched_copy(b->sched, am_at(in, count++ * block),
                                  am_at_mutable(by_distance, i * block), block);

            am_sched_edge(b->sched, recv, copy);
            am_sched_edge(b->sched, copy, put);
        }
    }
    am_sched_edge(b->sched, send, put);
    return put;
}

/* Bruck et al. 1997: log2 P messages instead of P - 1, and each block is copied
 * log2 P / 2 times: for short blocks. */
void am_alltoall_bruck(const struct am_coll_build *b)
{
    size_t block = b->call->count;
    char *by_distance = am_sched_scratch(b->sched, b->size * block);
    char *out = am_sched_scratch(b->sched, b->size * block);
    char *in = am_sched_scratch(b->sched, b->size * block);
    uint32_t ready = am_sched_join(b->sched), head = b->size - b->rank;

    am_sched_edge(b->sched,
                  am_sched_copy(b->sched, am_at(b->call->send, b->rank * block),
                                by_distance, head * block),
                  ready);
    am_sched_edge(b->sched,
                  am_sched_copy(b->sched, b->call->send,
                                am_at_mutable(by_distance, head * block),
                                b->rank * block),
                  ready);
    for (uint32_t i = 0; i < am_cube_rounds(b->size); i++) {
        ready = bruck_round(b, by_distance, out, in, i, ready);
    }
    for (uint32_t i = 0; i < b->size; i++) {
        uint32_t from = am_ring_before(b->rank, b->size, i);

        am_sched_edge(b->sched, ready,
                      am_sched_copy(b->sched, am_at(by_distance, i * block),
                                    am_at_mutable(b->call->recv, from * block),
                                    block));
    }
}
