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
           (c->size - 1) * (perf->recv_overhead.fixed_ps / 2);
}

/* `waits` for flags; each member's part is `each_ps` of work. */
static uint64_t waits_ps(const struct am_coll_cost *c, uint64_t waits,
                         uint64_t each_ps)
{
    return am_cost_is_crowded(c) ? am_crowd_ps(c, waits, c->size * each_ps)
                                 : waits * flag_ps(c) + each_ps;
}

static uint64_t turns(size_t bytes)
{
    return am_piece_count(bytes, AM_SHARED_SLOT_BYTES);
}

/* So many more turns: the others' flags, and a slot's lines, which others have read;
 * three and a half flights, as measured (docs/performance.md). */
static uint64_t more_ps(const struct am_coll_cost *c, uint64_t count)
{
    return count * 7 * am_cost_short_ps(&c->numbers->perf) / 2;
}

/* Every member writes `in` bytes and reads `out` of others and `own`, in turns. */
static uint64_t shared_ps(const struct am_coll_cost *c, size_t in, size_t out,
                          size_t own)
{
    if (am_cost_is_crowded(c)) {
        return waits_ps(c, turns(in), copy_ps(c, in + out + own));
    }
    return flag_ps(c) + more_ps(c, turns(in) - 1) + copy_ps(c, in + out) +
           am_cost_own_ps(&c->numbers->perf, own);
}

/* The root writes a piece while the others read the one before.  Where cores are shared
 * it has written all its slots when the others run, and waits for them, and they for
 * it. */
uint64_t am_cost_shared_bcast(const struct am_coll_cost *c)
{
    size_t piece =
            c->bytes < AM_SHARED_SLOT_BYTES ? c->bytes : AM_SHARED_SLOT_BYTES;
    uint64_t count = turns(c->bytes);

    if (am_cost_is_crowded(c)) {
        return waits_ps(c, 2 * (count / AM_SHARED_DEPTH), copy_ps(c, c->bytes));
    }
    return flag_ps(c) * (1 + count / AM_SHARED_DEPTH) + copy_ps(c, piece) +
           copy_ps(c, c->bytes) +
           (count - 1) * c->numbers->perf.send_overhead.fixed_ps;
}

uint64_t am_cost_shared_exchange(const struct am_coll_cost *c)
{
    size_t others = (c->size - 1) * c->bytes;

    return shared_ps(c, c->bytes, others, c->bytes);
}

uint64_t am_cost_shared_alltoall(const struct am_coll_cost *c)
{
    size_t others = (c->size - 1) * c->bytes;

    return shared_ps(c, others, others, c->bytes);
}

/* To one member, which alone reduces; the others wait for slots.  Those who have a core
 * write the next while it reads. */
uint64_t am_cost_shared_reduce(const struct am_coll_cost *c)
{
    uint64_t count = turns(c->bytes);

    if (am_cost_is_crowded(c)) {
        return waits_ps(c, 1 + (count - 1) / 2, 2 * copy_ps(c, c->bytes));
    }
    return flag_ps(c) +
           more_ps(c, count > AM_SHARED_DEPTH ? count - AM_SHARED_DEPTH : 0) +
           copy_ps(c, (c->size - 1) * c->bytes) +
           am_cost_own_ps(&c->numbers->perf, c->bytes);
}

uint64_t am_cost_shared_allreduce(const struct am_coll_cost *c)
{
    return am_cost_shared_exchange(c);
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

/* `turns` of flags, and what else each member does, if the device reads at all. */
static uint64_t by_reads(const struct am_coll_cost *c, uint64_t turns,
                         uint64_t ps)
{
    return (c->numbers->caps & AM_DEV_CAP_GET) == 0 ? AM_COST_NEVER
                                                    : waits_ps(c, turns, ps);
}

/* The same where one member is read from, or reads: it runs first, or last. */
static uint64_t by_reads_of_one(const struct am_coll_cost *c, uint64_t ps)
{
    return by_reads(c, am_cost_is_crowded(c) ? 1 : 2, ps);
}

/* Where members share cores, all but one read the same bytes one after the other, which
 * then lie in a cache of the cores: 41 to 48 ps for each, where a read of other bytes
 * took 59 (8 and 16 members of two cores, 256 KiB to 4 MiB). */
#define AGAIN_NUM 3
#define AGAIN_DEN 4

uint64_t am_cost_reads_bcast(const struct am_coll_cost *c)
{
    uint64_t ps = reads_ps(c, 1, c->bytes);

    return by_reads_of_one(c, am_cost_is_crowded(c)
                                      ? ps * AGAIN_NUM / AGAIN_DEN *
                                                (c->size - 1) / c->size
                                      : ps);
}

/* `given` bytes that `count` others take, each `bytes` of them, after so many waits: out
 * of the giver's slot if they are short, else one wait more. */
static uint64_t blocks_ps(const struct am_coll_cost *c, uint64_t waits,
                          size_t given, uint64_t count, size_t bytes)
{
    return given <= AM_SHARED_SLOT_BYTES / 2
                   ? by_reads(c, waits, copy_ps(c, given + count * bytes))
                   : by_reads(c, waits + 1, reads_ps(c, count, bytes));
}

/* The root alone takes; where cores are shared, that is its part of all work. */
uint64_t am_cost_reads_gather(const struct am_coll_cost *c)
{
    return blocks_ps(c, 1, c->bytes, am_cost_is_crowded(c) ? 1 : c->size - 1,
                     c->bytes) +
           copy_ps(c, c->bytes);
}

/* The root, which gives, runs first, mostly. */
uint64_t am_cost_reads_scatter(const struct am_coll_cost *c)
{
    return blocks_ps(c, am_cost_is_crowded(c) ? 0 : 1, c->size * c->bytes, 1,
                     c->bytes);
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
