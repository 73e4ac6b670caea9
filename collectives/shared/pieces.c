/*
 * Data that passes through the slots, a piece of each block in a turn: one copy in
 * by who gives it, one out by each who takes it.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/op/operate.h"
#include "collectives/shared/way.h"

#include <string.h>

static bool pieces_fit(const struct am_coll_wish *wish)
{
    switch (wish->kind) {
    case AM_COLL_BCAST:
    case AM_COLL_REDUCE:
    case AM_COLL_ALLREDUCE:
    case AM_COLL_ALLGATHER:
    case AM_COLL_REDUCE_SCATTER:
    case AM_COLL_ALLTOALL:
        return wish->unit <=
               AM_SHARED_SLOT_BYTES / am_shared_blocks(wish->kind, wish->size);
    default:
        return false;
    }
}

/* ------------------------------------------------------------ one turn */

/* Up to AM_COPY_SMALL bytes without a call. */
static inline void copy_in(const struct am_shared_part *part, void *to,
                           const void *from, size_t bytes)
{
    if (bytes <= AM_COPY_SMALL) {
        am_copy_small(to, from, bytes);
    } else {
        am_copy_to_far(to, from, bytes, part->group->shared->is_near);
    }
}

static void copy_from(const struct am_shared_part *part, void *to,
                      const void *from)
{
    if (part->is_cold && part->bytes >= AM_COPY_FAR_FROM) {
        am_copy_string(to, from, part->bytes, false);
    } else {
        am_copy_far(to, from, part->bytes, part->group->shared->is_near);
    }
}

/* Long copies out of a member's memory tell what they cost. */
static __attribute__((noinline)) void
copy_out_long(const struct am_shared_part *part, uint32_t member, void *to,
              const void *from)
{
    const struct am_coll_group *group = part->group;
    struct am_peer *peer;
    am_status_t status;
    uint64_t start;

    if (part->bytes < AM_METER_BYTES || member == group->rank) {
        copy_from(part, to, from);
        return;
    }
    peer = am_peer_get(group->coll->ctx, am_coll_member(group, member),
                       &status);
    start = peer == NULL || peer->ep == NULL
                    ? 0
                    : am_peer_copy_start(peer, part->bytes);
    copy_from(part, to, from);
    if (start != 0) {
        am_peer_copy_stop(peer, part->bytes, start);
    }
}

static inline void copy_out(const struct am_shared_part *part, uint32_t member,
                            void *to, const void *from)
{
    if (part->bytes <= AM_COPY_SMALL) {
        am_copy_small(to, from, part->bytes);
    } else {
        copy_out_long(part, member, to, from);
    }
    am_shared_copied(part->group->coll, part->bytes);
}

/* Some of the blocks that I give, which lie at `from`, side by side. */
static char *blocks_write(const struct am_shared_part *part, const void *from,
                          uint32_t count, char *to)
{
    if (part->bytes == part->block) { /* in one piece, as they lie */
        copy_in(part, to, from, count * part->block);
        return to + count * part->block;
    }
    for (uint32_t i = 0; i < count; i++) {
        am_copy(to, am_at(from, i * part->block + part->offset), part->bytes);
        to += part->bytes;
    }
    return to;
}

/* What I give lies there. */
static const void *given_at(const struct am_shared_part *part)
{
    const struct am_coll_call *call = part->call;

    switch (call->kind) {
    case AM_COLL_BCAST:
        return call->recv;
    case AM_COLL_ALLGATHER:
        return call->send != NULL
                       ? call->send
                       : am_at(call->recv, part->group->rank * part->block);
    default:
        return am_given(call);
    }
}

void am_shared_part_write(const struct am_shared_part *part, void *to)
{
    uint32_t rank = part->group->rank, size = part->group->size;
    const void *from = given_at(part);

    if (am_shared_is_cut(part->call->kind)) { /* all but my own */
        to = blocks_write(part, from, rank, to);
        (void)blocks_write(part, am_at(from, (rank + 1) * part->block),
                           size - 1 - rank, to);
    } else {
        (void)blocks_write(part, from, 1, to);
    }
}

am_shared_whose_t am_shared_part_whose(const struct am_coll_group *group,
                                       const struct am_coll_call *call)
{
    switch (call->kind) {
    case AM_COLL_BCAST:
        return group->rank == call->root ? AM_SHARED_NOBODYS : AM_SHARED_ROOTS;
    case AM_COLL_REDUCE:
        return group->rank == call->root ? AM_SHARED_ALL : AM_SHARED_NOBODYS;
    default:
        return AM_SHARED_ALL;
    }
}

/* `from`, which a member has written, is about to be read from its start on. */
static void learn_near(const struct am_shared_part *part, uint32_t member,
                       const void *from)
{
    size_t middle = part->bytes / 2 / sizeof(uint64_t) * sizeof(uint64_t);

    am_shared_learn_near(part->group, member, am_at(from, middle));
}

/* Where `block` of what a member gives lies, to be read now: in its slot, which lacks the
 * member's own; or what I give myself, where I have it, unless that is in place. */
static const void *given_by(const struct am_shared_part *part, uint32_t member,
                            uint32_t block)
{
    bool is_mine = member == part->group->rank;
    const void *slot;

    if (is_mine && part->call->send != NULL) {
        return am_at(part->call->send, block * part->block + part->offset);
    }
    slot = am_shared_payload(part->group->shared, member, part->turn,
                             part->written);
    slot = am_at(slot, (block - (block > member)) * part->bytes);
    if (!is_mine && am_copy_is_far(part->written)) {
        learn_near(part, member, slot);
    }
    return slot;
}

/* From the last member's values to the first's, so that they meet in order. */
static void reduce_all(const struct am_shared_part *part, uint32_t block)
{
    const struct am_coll_operator *op = &part->call->op;
    char *to = am_at_mutable(part->call->recv, part->offset);
    size_t count = part->bytes == part->block ? part->call->count
                                              : part->bytes / op->element_bytes;

    copy_out(part, part->group->size - 1, to,
             given_by(part, part->group->size - 1, block));
    for (uint32_t i = part->group->size - 1; i-- > 0;) {
        am_coll_operate(part->group->coll, op, given_by(part, i, block), to,
                        count);
        am_shared_copied(part->group->coll, part->bytes);
    }
}

void am_shared_part_take(const struct am_shared_part *part)
{
    const struct am_coll_call *call = part->call;
    uint32_t rank = part->group->rank, size = part->group->size;
    char *to = am_at_mutable(call->recv, part->offset);

    switch (call->kind) {
    case AM_COLL_BCAST:
        copy_out(part, call->root, to, given_by(part, call->root, 0));
        break;
    case AM_COLL_REDUCE:
    case AM_COLL_ALLREDUCE:
        reduce_all(part, 0);
        break;
    case AM_COLL_REDUCE_SCATTER:
        reduce_all(part, rank);
        break;
    case AM_COLL_ALLGATHER:
        for (uint32_t i = 0; i < size; i++, to += call->count) {
            if (i != rank || call->send != NULL) {
                copy_out(part, i, to, given_by(part, i, 0));
            }
        }
        break;
    case AM_COLL_ALLTOALL:
        for (uint32_t i = 0; i < size; i++, to += call->count) {
            copy_out(part, i, to, given_by(part, i, rank));
        }
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------ all turns */

/* Do the results of a core's members not fit its cache?  Then lines to be written come
 * from farther away, and a copy that does not fetch them takes less time: an all-gather of
 * 256 KiB by 16 members of two cores 0.7 times as long. */
static bool is_cold(const struct am_coll_req *req, size_t block)
{
    const struct am_coll_numbers *numbers = &req->group->numbers;
    bool is_many = req->call.kind == AM_COLL_ALLGATHER ||
                   req->call.kind == AM_COLL_ALLTOALL;

    return am_coll_is_crowded(numbers) && numbers->perf.cache_bytes > 0 &&
           block * (is_many ? req->group->size : 1) *
                           am_coll_core_ranks(numbers) >
                   numbers->perf.cache_bytes;
}

/* What goes in this turn. */
static struct am_shared_part part_of(const struct am_coll_req *req)
{
    struct am_shared_part part = {.group = req->group,
                                  .call = &req->call,
                                  .turn = req->shared.turn,
                                  .block = am_shared_bytes_of(req),
                                  .offset = req->shared.stage *
                                            req->shared.piece};
    size_t left = part.block - part.offset;

    part.bytes = left < req->shared.piece ? left : req->shared.piece;
    part.written =
            part.bytes * am_shared_blocks(req->call.kind, req->group->size);
    part.is_cold = is_cold(req, part.block);
    return part;
}

static uint32_t pieces_open(struct am_coll_req *req)
{
    uint32_t blocks = am_shared_blocks(req->call.kind, req->group->size);
    size_t bytes = am_shared_bytes_of(req), unit;
    size_t room = am_shared_room(&req->group->numbers, req->call.kind,
                                 req->group->size, bytes);

    if (bytes * blocks <= room) { /* and no division */
        req->shared.piece = bytes;
        return 1;
    }
    unit = am_shared_unit_of(req);
    room /= blocks;
    req->shared.piece = room - room % unit;
    return am_piece_count(bytes, req->shared.piece);
}

static size_t pieces_give(const struct am_coll_req *req)
{
    return am_shared_part_gives(req->group, &req->call) ? part_of(req).written
                                                        : 0;
}

static void pieces_write(const struct am_coll_req *req, void *to)
{
    struct am_shared_part part = part_of(req);

    am_shared_part_write(&part, to);
}

static am_shared_whose_t pieces_whose(const struct am_coll_req *req)
{
    return am_shared_part_whose(req->group, &req->call);
}

static bool pieces_take(struct am_coll_req *req)
{
    struct am_shared_part part = part_of(req);

    if (part.bytes > 0) {
        am_shared_part_take(&part);
    }
    return true;
}

static void pieces_close(struct am_coll_req *req, bool at_close)
{
}

const struct am_shared_way am_shared_by_pieces = {.fits = pieces_fit,
                                                  .open = pieces_open,
                                                  .gives = pieces_give,
                                                  .write = pieces_write,
                                                  .whose = pieces_whose,
                                                  .take = pieces_take,
                                                  .close = pieces_close};
