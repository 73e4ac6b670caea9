/*
 * The ways in which collectives use their turns (shared.h): flags alone
 * (shared/barrier.c), pieces of the data that pass through the slots
 * (shared/pieces.c), or reads of each other's memory (shared/reads.c).  The turns
 * themselves are shared/turn.c's, and shared/once.c's where a call is done at
 * once.
 */
#ifndef AM_COLLECTIVES_SHARED_WAY_H
#define AM_COLLECTIVES_SHARED_WAY_H

#include "collectives/coll.h"
#include "collectives/shared/layout.h"

/* Whose data a member takes in a turn. */
typedef enum {
    AM_SHARED_NOBODYS,
    AM_SHARED_ROOTS,
    AM_SHARED_ALL
} am_shared_whose_t;

struct am_shared_way {
    /* Can it do this at all?  Of what all members know alike. */
    bool (*fits)(const struct am_coll_wish *wish);
    /* Prepare it; the number of turns, the same at all members.  0: no memory. */
    uint32_t (*open)(struct am_coll_req *req);
    /* Bytes that I give in this turn, at most am_shared_room; and write them. */
    size_t (*gives)(const struct am_coll_req *req);
    void (*write)(const struct am_coll_req *req, void *to);
    am_shared_whose_t (*whose)(const struct am_coll_req *req);
    /* All that is wanted is there: take it.  False: something of it is on its way
     * (req->flying), or the request has failed. */
    bool (*take)(struct am_coll_req *req);
    bool is_long; /* who takes does not know how much was given */
    /* It has ended, or cannot go on. */
    void (*close)(struct am_coll_req *req, bool at_close);
};

/* Does a member give each of the others a block of its own?  The member's own
 * block stays with it. */
static inline bool am_shared_is_cut(am_coll_kind_t kind)
{
    return kind == AM_COLL_ALLTOALL || kind == AM_COLL_REDUCE_SCATTER;
}

/* Blocks that a member gives at once. */
static inline uint32_t am_shared_blocks(am_coll_kind_t kind, uint32_t size)
{
    return am_shared_is_cut(kind) && size > 1 ? size - 1 : 1;
}

/* Bytes that a member writes at most in a turn of a collective of so many: a slot's; but where
 * members share cores the root of a longer broadcast, which alone writes, has the room of all.
 * It then runs ahead of the others, and seldom waits until they have read; what fits two slots
 * stays in these, which fit a core's first cache. */
static inline size_t am_shared_room(const struct am_coll_numbers *numbers,
                                    am_coll_kind_t kind, uint32_t size,
                                    size_t bytes)
{
    return kind == AM_COLL_BCAST && am_coll_is_crowded(numbers) &&
                           bytes > (size_t)2 * AM_SHARED_SLOT_BYTES
                   ? (size_t)size * AM_SHARED_SLOT_BYTES
                   : AM_SHARED_SLOT_BYTES;
}

/* What members agree on in a barrier that one leads: all must find the same
 * leader. */
static inline uint32_t am_shared_led_print(uint32_t print, uint32_t leader)
{
    return print + 1 + leader;
}

/* What goes through the memory of a group in one turn of a collective: of each block
 * the bytes from `offset` on.  `bytes` is not 0 where the part is written or
 * taken. */
struct am_shared_part {
    struct am_coll_group *group;
    const struct am_coll_call *call;
    uint32_t turn;
    size_t block;         /* bytes of a whole one */
    size_t offset, bytes; /* of each that go in this turn */
    size_t written;       /* bytes that a member writes, if it gives */
    bool is_cold;         /* what is taken goes to memory that no cache holds */
};

/* Is such a collective one turn, of nothing or of pieces?  And how much a member writes
 * in it that gives. */
bool am_shared_is_one_turn(const struct am_coll_numbers *numbers,
                           const struct am_shared_way *way,
                           const struct am_coll_wish *wish, size_t *written_p);

/* Does this member give anything; and whose does it take? */
static inline bool am_shared_part_gives(const struct am_coll_group *group,
                                        const struct am_coll_call *call)
{
    return call->kind != AM_COLL_BCAST || group->rank == call->root;
}

am_shared_whose_t am_shared_part_whose(const struct am_coll_group *group,
                                       const struct am_coll_call *call);
/* Write what I give; take what is wanted, which is there. */
void am_shared_part_write(const struct am_shared_part *part, void *to);
void am_shared_part_take(const struct am_shared_part *part);

extern const struct am_shared_way am_shared_by_flags;
extern const struct am_shared_way am_shared_by_pieces;
extern const struct am_shared_way am_shared_by_reads;

enum {
    /* Bytes that are read at a time to be reduced: a part of a core's cache, which several
     * members may share, and else enough that a read's system call is little of it. */
    AM_SHARED_READ_CROWDED = 32 << 10,
    AM_SHARED_READ_BYTES = 128 << 10,
    /* Of two members more: of 1 MiB 150 us in one read, 165 in two, 185 in eight. */
    AM_SHARED_READ_PAIR = 1 << 20,
    /* That are reduced for one other at a time. */
    AM_SHARED_MADE_BYTES = 128 << 10,
    /* An all-reduce of two members that is longer is made in parts: in place its result
     * waits in memory of its own. */
    AM_SHARED_KEPT_BYTES = 1 << 20
};

static inline size_t am_shared_read_bytes(const struct am_coll_numbers *numbers,
                                          bool is_of_pair)
{
    return am_coll_is_crowded(numbers) ? AM_SHARED_READ_CROWDED
           : is_of_pair                ? AM_SHARED_READ_PAIR
                                       : AM_SHARED_READ_BYTES;
}

/* So much has been copied or reduced. */
static inline void am_shared_copied(struct am_coll *coll, size_t bytes)
{
    am_env_charge(coll->env, AM_COST_COPY, bytes);
    coll->stats[AM_COLL_STAT_COPY_BYTES] += bytes;
}

/* What a member has written, of which `word` is a part, is read for the first time: one
 * in so many takes of a length for which it matters tells how far that member is. */
void am_shared_learn_near(struct am_coll_group *group, uint32_t member,
                          const _Atomic uint64_t *word);

/* The data may be cut at multiples of so many bytes. */
static inline size_t am_shared_unit_of(const struct am_coll_req *req)
{
    bool reduces = req->call.kind == AM_COLL_REDUCE ||
                   req->call.kind == AM_COLL_ALLREDUCE ||
                   req->call.kind == AM_COLL_REDUCE_SCATTER;

    return reduces ? req->op.element_bytes : 1;
}

/* Bytes of the whole, or of a block: what call->count means. */
static inline size_t am_shared_bytes_of(const struct am_coll_req *req)
{
    return req->call.count * am_shared_unit_of(req);
}

static inline bool am_shared_is_root(const struct am_coll_req *req)
{
    return req->group->rank == req->call.root;
}

#endif
