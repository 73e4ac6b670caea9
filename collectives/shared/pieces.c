/*
 * Data that passes through the slots, a piece of each block in a turn: one copy in
 * by who gives it, one out by each who takes it.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/shared/way.h"

#include <string.h>

/* What goes in this turn. */
struct piece {
    size_t offset, bytes; /* of each block */
    size_t written;       /* bytes in a slot */
};

static struct piece piece_of(const struct am_coll_req *req)
{
    size_t offset = req->shared.stage * req->shared.piece;
    size_t left = am_shared_bytes_of(req) - offset;
    size_t bytes = left < req->shared.piece ? left : req->shared.piece;

    return (struct piece){
            .offset = offset,
            .bytes = bytes,
            .written = bytes *
                       am_shared_blocks(req->call.kind, req->group->size)};
}

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

static uint32_t pieces_open(struct am_coll_req *req)
{
    uint32_t blocks = am_shared_blocks(req->call.kind, req->group->size);
    size_t bytes = am_shared_bytes_of(req), unit, room;

    if (bytes * blocks <= AM_SHARED_SLOT_BYTES) { /* and no division */
        req->shared.piece = bytes;
        return 1;
    }
    unit = am_shared_unit_of(req);
    room = AM_SHARED_SLOT_BYTES / blocks;
    req->shared.piece = room - room % unit;
    return am_piece_count(bytes, req->shared.piece);
}

static size_t pieces_give(const struct am_coll_req *req)
{
    switch (req->call.kind) {
    case AM_COLL_BCAST:
        return am_shared_is_root(req) ? piece_of(req).written : 0;
    default:
        return piece_of(req).written;
    }
}

/* Some of the blocks that I give, which lie at `from`, side by side. */
static char *blocks_write(const struct am_coll_req *req,
                          const struct piece *piece, const void *from,
                          uint32_t count, char *to)
{
    size_t block = am_shared_bytes_of(req);

    if (piece->bytes == block) { /* in one piece, as they lie */
        am_copy_to_far(to, from, count * block, req->group->shared->is_near);
        return to + count * block;
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to, am_at(from, i * block + piece->offset), piece->bytes);
        to += piece->bytes;
    }
    return to;
}

static void pieces_write(const struct am_coll_req *req, void *to)
{
    const struct am_coll_call *call = &req->call;
    struct piece piece = piece_of(req);
    size_t block = am_shared_bytes_of(req);
    uint32_t rank = req->group->rank, size = req->group->size;
    const void *from = call->kind == AM_COLL_BCAST ? call->recv
                       : call->kind == AM_COLL_ALLGATHER && call->send == NULL
                               ? am_at(call->recv, rank * block)
                               : am_given(call);

    if (am_shared_is_cut(call->kind)) { /* all but my own */
        to = blocks_write(req, &piece, from, rank, to);
        (void)blocks_write(req, &piece, am_at(from, (rank + 1) * block),
                           size - 1 - rank, to);
    } else {
        (void)blocks_write(req, &piece, from, 1, to);
    }
}

static am_shared_whose_t pieces_whose(const struct am_coll_req *req)
{
    switch (req->call.kind) {
    case AM_COLL_BCAST:
        return am_shared_is_root(req) ? AM_SHARED_NOBODYS : AM_SHARED_ROOTS;
    case AM_COLL_REDUCE:
        return am_shared_is_root(req) ? AM_SHARED_ALL : AM_SHARED_NOBODYS;
    default:
        return AM_SHARED_ALL;
    }
}

/* One in so many pieces of a length for which it matters tells how far others are. */
#define TAKES_TIMED 16

/* `from`, which another member has written, is about to be read from its start on. */
static void learn_near(struct am_coll_req *req, const struct piece *piece,
                       const void *from)
{
    struct am_shared *shared = req->group->shared;

    if (am_copy_is_far(piece->written) && shared->is_light &&
        shared->takes++ % TAKES_TIMED == 0) {
        size_t middle = piece->bytes / 2 / sizeof(uint64_t) * sizeof(uint64_t);

        shared->is_near = am_copy_is_near(req->coll->env, am_at(from, middle),
                                          AM_COPY_NEAR_PS);
    }
}

/* Where `block` of what a member gives lies, to be read now: in its slot, which lacks the
 * member's own; or what I give myself, where I have it, unless that is in place. */
static const void *given_by(struct am_coll_req *req, const struct piece *piece,
                            uint32_t member, uint32_t block)
{
    const struct am_coll_call *call = &req->call;
    bool is_mine = member == req->group->rank;
    const void *slot;

    if (is_mine && call->send != NULL) {
        return am_at(call->send,
                     block * am_shared_bytes_of(req) + piece->offset);
    }
    slot = am_shared_payload(req->group->shared, member, req->shared.turn,
                             piece->written);
    slot = am_at(slot, (block - (block > member)) * piece->bytes);
    if (!is_mine) {
        learn_near(req, piece, slot);
    }
    return slot;
}

static void copy_from(struct am_coll_req *req, const struct piece *piece,
                      uint32_t member, uint32_t block, void *to)
{
    if (piece->bytes > 0) {
        am_copy_far(to, given_by(req, piece, member, block), piece->bytes);
        am_shared_copied(req->coll, piece->bytes);
    }
}

/* From the last member's values to the first's, so that they meet in order. */
static void reduce_all(struct am_coll_req *req, const struct piece *piece,
                       uint32_t block)
{
    char *to = am_at_mutable(req->call.recv, piece->offset);
    size_t count = piece->bytes == am_shared_bytes_of(req)
                           ? req->call.count
                           : piece->bytes / req->op.element_bytes;

    if (count == 0) {
        return;
    }
    copy_from(req, piece, req->group->size - 1, block, to);
    for (uint32_t i = req->group->size - 1; i-- > 0;) {
        req->op.reduce(req->op.arg, given_by(req, piece, i, block), to, count);
        am_shared_copied(req->coll, piece->bytes);
    }
}

static bool pieces_take(struct am_coll_req *req)
{
    const struct am_coll_call *call = &req->call;
    struct piece piece = piece_of(req);
    uint32_t rank = req->group->rank, size = req->group->size;
    char *to = am_at_mutable(call->recv, piece.offset);

    switch (call->kind) {
    case AM_COLL_BCAST:
        copy_from(req, &piece, call->root, 0, to);
        break;
    case AM_COLL_REDUCE:
    case AM_COLL_ALLREDUCE:
        reduce_all(req, &piece, 0);
        break;
    case AM_COLL_REDUCE_SCATTER:
        reduce_all(req, &piece, rank);
        break;
    case AM_COLL_ALLGATHER:
        for (uint32_t i = 0; i < size; i++) {
            if (i != rank || call->send != NULL) {
                copy_from(req, &piece, i, 0,
                          am_at_mutable(to, i * call->count));
            }
        }
        break;
    case AM_COLL_ALLTOALL:
        for (uint32_t i = 0; i < size; i++) {
            copy_from(req, &piece, i, rank, am_at_mutable(to, i * call->count));
        }
        break;
    default:
        break;
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
