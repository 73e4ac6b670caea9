/*
 * The formulas of cost.h for what goes through the memory of a group.
 */
#include "config.h"

#include "collectives/select/cost.h"
#include "collectives/shared/way.h"

static uint64_t copy_ps(const struct am_coll_cost *c, size_t bytes)
{
    return am_cost_copy_ps(&c->numbers->perf, bytes);
}

/* A flag that others see: a message that neither end copies. */
static uint64_t flag_ps(const struct am_coll_cost *c)
{
    const struct am_dev_perf *perf = &c->numbers->perf;

    return am_cost_short_ps(perf) / 2 +
           (c->size - 1) * (perf->recv_overhead.fixed_ps / 2) + perf->turn_ps;
}

static uint64_t turns(size_t bytes)
{
    return am_piece_count(bytes, AM_SHARED_SLOT_BYTES);
}

/* Every member writes `in` bytes and reads `out`, in turns. */
static uint64_t shared_ps(const struct am_coll_cost *c, size_t in, size_t out)
{
    return turns(in) * flag_ps(c) + copy_ps(c, in) + copy_ps(c, out);
}

/* The root writes a piece while the others read the one before.  Before it uses a slot
 * again, it waits until each of them has had its turn. */
uint64_t am_cost_shared_bcast(const struct am_coll_cost *c)
{
    size_t piece =
            c->bytes < AM_SHARED_SLOT_BYTES ? c->bytes : AM_SHARED_SLOT_BYTES;
    uint64_t count = turns(c->bytes);
    uint64_t round = flag_ps(c) + (c->size - 1) * c->numbers->perf.turn_ps;

    return flag_ps(c) + count / AM_SHARED_DEPTH * round + copy_ps(c, piece) +
           copy_ps(c, c->bytes) +
           (count - 1) * c->numbers->perf.send_overhead.fixed_ps;
}

uint64_t am_cost_shared_exchange(const struct am_coll_cost *c)
{
    return shared_ps(c, c->bytes, c->size * c->bytes);
}

uint64_t am_cost_shared_alltoall(const struct am_coll_cost *c)
{
    return shared_ps(c, c->size * c->bytes, c->size * c->bytes);
}

uint64_t am_cost_shared_reduce(const struct am_coll_cost *c)
{
    return shared_ps(c, c->bytes, c->size * c->bytes);
}

uint64_t am_cost_shared_reduce_scatter(const struct am_coll_cost *c)
{
    return am_cost_shared_alltoall(c);
}

/* A read of `bytes` by the device, from each of `count` members. */
static uint64_t reads_ps(const struct am_coll_cost *c, uint64_t count,
                         size_t bytes)
{
    const struct am_coll_numbers *n = c->numbers;

    return count * am_cost_line_ps(&n->perf.get, bytes);
}

/* `turns` of flags, and what else it costs, if the device reads at all. */
static uint64_t by_reads(const struct am_coll_cost *c, uint64_t turns,
                         uint64_t ps)
{
    return (c->numbers->caps & AM_DEV_CAP_GET) == 0 ? AM_COST_NEVER
                                                    : turns * flag_ps(c) + ps;
}

uint64_t am_cost_reads_bcast(const struct am_coll_cost *c)
{
    return by_reads(c, 2, reads_ps(c, 1, c->bytes));
}

/* `given` bytes that `count` others take, each `bytes` of them: out of the giver's
 * slot if they are short. */
static uint64_t blocks_ps(const struct am_coll_cost *c, size_t given,
                          uint64_t count, size_t bytes)
{
    return given <= AM_SHARED_SLOT_BYTES / 2
                   ? by_reads(c, 1, copy_ps(c, given + count * bytes))
                   : by_reads(c, 2, reads_ps(c, count, bytes));
}

uint64_t am_cost_reads_gather(const struct am_coll_cost *c)
{
    return blocks_ps(c, c->bytes, c->size - 1, c->bytes) + copy_ps(c, c->bytes);
}

uint64_t am_cost_reads_scatter(const struct am_coll_cost *c)
{
    return blocks_ps(c, c->size * c->bytes, 1, c->bytes);
}

uint64_t am_cost_reads_exchange(const struct am_coll_cost *c)
{
    return by_reads(c, 2,
                    reads_ps(c, c->size - 1, c->bytes) + copy_ps(c, c->bytes));
}

/* What a member pays for `bytes` of the result: to read them of all others, in
 * pieces, and to reduce them. */
static uint64_t part_ps(const struct am_coll_cost *c, size_t bytes)
{
    size_t piece = bytes < AM_SHARED_READ_BYTES ? bytes : AM_SHARED_READ_BYTES;

    return am_piece_count(bytes, AM_SHARED_READ_BYTES) *
                   reads_ps(c, c->size - 1, piece) +
           copy_ps(c, c->size * bytes);
}

uint64_t am_cost_reads_reduce_scatter(const struct am_coll_cost *c)
{
    return by_reads(c, 2, part_ps(c, c->bytes));
}

uint64_t am_cost_reads_reduce(const struct am_coll_cost *c)
{
    size_t part = c->bytes / c->size;
    uint64_t segments = am_piece_count(part, AM_SHARED_MADE_BYTES);

    return by_reads(c, 2 + segments,
                    part_ps(c, part) + reads_ps(c, c->size - 1, part));
}

uint64_t am_cost_reads_allreduce(const struct am_coll_cost *c)
{
    size_t part = c->bytes / c->size;

    return by_reads(c, 3, part_ps(c, part) + reads_ps(c, c->size - 1, part));
}
