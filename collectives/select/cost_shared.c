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

/* `waits` for flags; each member's part is `each_ps` of work, with so many bytes copied. */
static uint64_t waits_ps(const struct am_coll_cost *c, uint64_t waits,
                         uint64_t each_ps, uint64_t copied)
{
    return am_cost_is_crowded(c)
                   ? am_crowd_ps(c, waits, c->size * each_ps, c->size * copied)
                   : waits * flag_ps(c) + each_ps;
}

static uint64_t copies_ps(const struct am_coll_cost *c, uint64_t waits,
                          uint64_t copied)
{
    return waits_ps(c, waits, copy_ps(c, copied), copied);
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

/* Where cores are shared: the waits of one more turn, until all have written it, and until
 * all have read the one before whose slots it takes (4 and 8 members of two cores). */
#define CROWD_TURN 3

/* Every member writes `in` bytes and reads `out` of others and `own`, in turns. */
static uint64_t shared_ps(const struct am_coll_cost *c, size_t in, size_t out,
                          size_t own)
{
    if (am_cost_is_crowded(c)) {
        return copies_ps(c, 1 + (turns(in) - 1) * CROWD_TURN, in + out + own);
    }
    return flag_ps(c) + more_ps(c, turns(in) - 1) + copy_ps(c, in + out) +
           am_cost_own_ps(&c->numbers->perf, own);
}

/* The root writes a piece while the others read the one before.  Where cores are shared
 * it has written all turns that there is room for when the others run, and if that is not all,
 * it waits for them in each, and they for it (4 and 8 members of two cores). */
uint64_t am_cost_shared_bcast(const struct am_coll_cost *c)
{
    size_t room = am_shared_room(c->numbers, AM_COLL_BCAST, c->size, c->bytes);
    size_t piece = c->bytes < room ? c->bytes : room;
    uint64_t count = am_piece_count(c->bytes, room);

    if (am_cost_is_crowded(c)) {
        return copies_ps(c, count < AM_SHARED_DEPTH ? 0 : 2 * (count - 1),
                         c->bytes);
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

/* Do copies between the members' cores cost so many times what one in a core's cache does? Then
 * these share none. */
#define APART 3

static bool is_apart(const struct am_dev_perf *perf)
{
    return perf->recv_overhead.per_byte_fs > APART * perf->own_byte_fs;
}

/* To one member, which alone reduces; the others wait for slots.  Those who have a core
 * write the next while it reads; but where the cores share no cache, the lines of a slot
 * go to and fro, and the two copies take as long as one after the other (16 and 32 KiB, two
 * members). */
uint64_t am_cost_shared_reduce(const struct am_coll_cost *c)
{
    uint64_t count = turns(c->bytes);
    bool apart = is_apart(&c->numbers->perf);

    if (am_cost_is_crowded(c)) {
        return copies_ps(c, count < 3 ? 1 : 1 + (count - 2) * CROWD_TURN / 2,
                         2 * c->bytes);
    }
    return flag_ps(c) +
           more_ps(c, count > AM_SHARED_DEPTH ? count - AM_SHARED_DEPTH : 0) +
           copy_ps(c, (c->size - 1) * c->bytes + (apart ? c->bytes : 0)) +
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

/* `turns` of flags, and what else each member does, if the device reads at all: so many
 * bytes are copied. */
static uint64_t by_reads(const struct am_coll_cost *c, uint64_t turns,
                         uint64_t ps, uint64_t copied)
{
    return (c->numbers->caps & AM_DEV_CAP_GET) == 0
                   ? AM_COST_NEVER
                   : waits_ps(c, turns, ps, copied);
}

/* Where members share cores, the same bytes are read again and again.  They lie in a
 * core's cache when one of its members has read them, and to read them then costs a third
 * of what it is said to (4, 8 and 16 members of two cores). */
#define AGAIN 3

/* One member is read from: it runs first, mostly. */
uint64_t am_cost_reads_bcast(const struct am_coll_cost *c)
{
    uint64_t ps = reads_ps(c, 1, c->bytes);
    uint64_t others = c->size - 1, first = am_crowd_cores(c);

    if (!am_cost_is_crowded(c)) {
        return by_reads(c, 2, ps, 0);
    }
    first = first < others ? first : others;
    return by_reads(c, 1,
                    (first * ps + (others - first) * ps / AGAIN) / c->size, 0);
}

/* `given` bytes that `count` others take, each `bytes` of them, after so many waits: out
 * of the giver's slot if they are short, else one wait more. */
static uint64_t blocks_ps(const struct am_coll_cost *c, uint64_t waits,
                          size_t given, uint64_t count, size_t bytes)
{
    return given <= AM_SHARED_SLOT_BYTES / 2
                   ? by_reads(c, waits, copy_ps(c, given + count * bytes),
                              given + count * bytes)
                   : by_reads(c, waits + 1, reads_ps(c, count, bytes),
                              count * bytes);
}

/* The root alone takes; where cores are shared, that is its part of all work. */
uint64_t am_cost_reads_gather(const struct am_coll_cost *c)
{
    uint64_t ps = blocks_ps(c, 1, c->bytes,
                            am_cost_is_crowded(c) ? 1 : c->size - 1, c->bytes);

    return ps == AM_COST_NEVER
                   ? ps
                   : ps + am_cost_own_ps(&c->numbers->perf, c->bytes);
}

/* The root, which gives, runs first, mostly. */
uint64_t am_cost_reads_scatter(const struct am_coll_cost *c)
{
    return blocks_ps(c, am_cost_is_crowded(c) ? 0 : 1, c->size * c->bytes, 1,
                     c->bytes);
}

/* Neither what is read nor where it goes was used by the reader's core before, where what
 * is put was: it misses the cache as if there were twice as much. */
#define AFAR_READ 2

uint64_t am_cost_reads_exchange(const struct am_coll_cost *c)
{
    return by_reads(c, 2,
                    reads_ps(c, c->size - 1, c->bytes) +
                            am_cost_own_ps(&c->numbers->perf, c->bytes),
                    AFAR_READ * c->size * c->bytes);
}

/* What a member pays for `bytes` of the result: to read them of all others, in
 * pieces, and to reduce them; and how many it copies then. */
static uint64_t part_ps(const struct am_coll_cost *c, size_t bytes,
                        bool is_of_pair)
{
    size_t most = am_shared_read_bytes(c->numbers, is_of_pair);
    size_t piece = bytes < most ? bytes : most;

    return am_piece_count(bytes, most) * reads_ps(c, c->size - 1, piece) +
           am_cost_own_ps(&c->numbers->perf, c->size * bytes);
}

static uint64_t part_copied(const struct am_coll_cost *c, size_t bytes)
{
    return (2 * (uint64_t)c->size - 1) * bytes;
}

uint64_t am_cost_reads_reduce_scatter(const struct am_coll_cost *c)
{
    return by_reads(c, 2, part_ps(c, c->bytes, false),
                    part_copied(c, c->bytes));
}

/* What others have just made lies in the caches of their cores, and a read of it takes so
 * many copies longer than one of what nobody has written for a while (64 and 128 KiB, far
 * cores). */
#define MADE 3

static uint64_t made_ps(const struct am_coll_cost *c, size_t part)
{
    uint64_t late = am_cost_is_crowded(c) ? 0 : MADE * copy_ps(c, part);

    return reads_ps(c, c->size - 1, part) + (c->size - 1) * late;
}

/* Of two members who wants the result reads all. */
static uint64_t pair_ps(const struct am_coll_cost *c, uint64_t waits)
{
    return by_reads(c, waits, part_ps(c, c->bytes, true),
                    part_copied(c, c->bytes));
}

uint64_t am_cost_reads_reduce(const struct am_coll_cost *c)
{
    size_t part = c->bytes / c->size;
    uint64_t segments = am_piece_count(part, AM_SHARED_MADE_BYTES);

    if (c->size == 2) { /* the root tells the other when it has read */
        return pair_ps(c, 3);
    }
    return by_reads(c, 2 + segments, part_ps(c, part, false) + made_ps(c, part),
                    part_copied(c, part) + part);
}

uint64_t am_cost_reads_allreduce(const struct am_coll_cost *c)
{
    size_t part = c->bytes / c->size;

    if (c->size == 2 && c->bytes <= AM_SHARED_KEPT_BYTES) {
        return pair_ps(c, 2);
    }
    return by_reads(c, 3, part_ps(c, part, false) + made_ps(c, part),
                    part_copied(c, part) + (c->size - 1) * part);
}
