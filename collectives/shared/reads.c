/*
 * Members that read from each other's memory: one copy, by the device.
 *
 *   turn 0       everybody who is read from gives the keys of its memory, and
 *                those who want that read it, and reduce it
 *   last turn    everybody has read: the memory is its owner's again
 *
 * Blocks of each member, and for each, are shared/blocks.c's.
 *
 * An all-reduce has one turn more between the two: each member reduces a part of
 * the whole into its `recv`, from which all read that part then.  A reduction to
 * one member goes in segments: in turn t all have reduced their parts of segment
 * t - 1 into one of two scratch buffers, and the root reads these while they reduce
 * the next; its flag of a turn says that it has read what the turn before last made.
 *
 * Of two members each who wants the result reads all of the other's values, unless an
 * all-reduce is very long: what the other had just reduced lies in the cache of its core,
 * and would take longer to read.  The root of two adds its own values in the last turn, so
 * that the other need not wait for that.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/shared/read.h"

#include <string.h>

/* --------------------------------------------------------------- the parts */

/* Of the whole, what a member reduces. */
static struct am_block part_of(const struct am_coll_req *req, uint32_t member)
{
    if (am_shared_is_pair(req)) {
        bool is_wanted =
                req->call.kind == AM_COLL_ALLREDUCE || member == req->call.root;

        return (struct am_block){0, is_wanted ? am_shared_bytes_of(req) : 0};
    }
    return am_block_of(am_shared_bytes_of(req), am_shared_unit_of(req),
                       req->group->size, member);
}

/* Bytes of a part in a segment, whole units. */
static size_t segment_bytes(const struct am_coll_req *req)
{
    size_t unit = am_shared_unit_of(req);

    if (am_shared_is_pair(req)) {
        return am_shared_bytes_of(req);
    }
    return AM_SHARED_MADE_BYTES < unit
                   ? unit
                   : AM_SHARED_MADE_BYTES - AM_SHARED_MADE_BYTES % unit;
}

/* What a member reduces in a segment: at `offset` of the whole. */
static struct am_block segment_of(const struct am_coll_req *req,
                                  uint32_t member, uint32_t segment)
{
    struct am_block part = part_of(req, member);
    size_t at = segment * segment_bytes(req);
    size_t left = at < part.bytes ? part.bytes - at : 0;

    return (struct am_block){part.offset + at, left < segment_bytes(req)
                                                       ? left
                                                       : segment_bytes(req)};
}

static uint32_t segment_count(const struct am_coll_req *req)
{
    return am_shared_is_pair(req)
                   ? 1
                   : am_piece_count(part_of(req, 0).bytes, segment_bytes(req));
}

/* Where it lies in the maker's scratch. */
static size_t made_at(const struct am_coll_req *req, uint32_t segment)
{
    return segment % 2 * segment_bytes(req);
}

/* Of a reduction whose blocks are scattered, what a member reduces. */
static struct am_block block_of(const struct am_coll_req *req, uint32_t member)
{
    return am_block_at(req->call.is_vector ? req->call.recv_counts : NULL,
                       req->call.is_vector ? req->call.recv_offsets : NULL,
                       req->call.count, req->op.element_bytes, member);
}

/* The bytes of all of them, with the gaps between them. */
static size_t blocks_bytes(const struct am_coll_req *req)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < req->group->size; i++) {
        struct am_block block = block_of(req, i);

        if (block.bytes > 0 && block.offset + block.bytes > bytes) {
            bytes = block.offset + block.bytes;
        }
    }
    return bytes;
}

/* Has the result to wait in scratch memory, as its place holds what the other reads? */
static bool is_kept(const struct am_coll_req *req)
{
    return am_shared_is_pair(req) && req->call.kind == AM_COLL_ALLREDUCE &&
           am_given(&req->call) == req->call.recv;
}

/* --------------------------------------------------------------- the turns */

static bool is_of_blocks(am_coll_kind_t kind)
{
    return kind == AM_COLL_GATHER || kind == AM_COLL_SCATTER ||
           kind == AM_COLL_ALLGATHER || kind == AM_COLL_ALLTOALL;
}

/* The parts that the others have made, each to its place. */
static bool parts_read(struct am_coll_req *req)
{
    struct am_shared_reads *reads = &req->shared.reads;
    bool is_reduce = req->call.kind == AM_COLL_REDUCE;
    uint32_t size = req->group->size, segment = req->shared.stage - 1;

    for (; reads->item < size - 1; reads->item++) {
        uint32_t member = (uint32_t)(req->group->rank + 1 + reads->item) % size;
        struct am_block part = is_reduce ? segment_of(req, member, segment)
                                         : part_of(req, member);

        if (!am_shared_read(req, member, AM_SHARED_MADE,
                            is_reduce ? made_at(req, segment) : part.offset,
                            am_at_mutable(req->call.recv, part.offset),
                            part.bytes)) {
            return false;
        }
    }
    return true;
}

/* A reduction to one member: the root reads the segment before, and all reduce
 * this one. */
static bool segment_take(struct am_coll_req *req)
{
    struct am_shared_reads *reads = &req->shared.reads;
    uint32_t stage = req->shared.stage, size = req->group->size;
    struct am_block mine = segment_of(req, req->group->rank, stage);
    bool is_root = am_shared_is_root(req);
    size_t before = is_root && stage > 0 ? size - 1 : 0;

    if (reads->item < before && !parts_read(req)) {
        return false;
    }
    if (stage < segment_count(req)) {
        char *to = is_root ? am_at_mutable(req->call.recv, mine.offset)
                           : am_at_mutable(reads->made, made_at(req, stage));
        bool is_done;

        reads->item -= before; /* counted apart */
        is_done = am_shared_reduce(req, mine.offset, mine.bytes, to);
        reads->item += before;
        return is_done;
    }
    return true;
}

static bool reads_take(struct am_coll_req *req)
{
    const struct am_coll_call *call = &req->call;
    size_t rank = req->group->rank;
    uint32_t stage = req->shared.stage;
    struct am_block mine;

    if (req->shared.turns_left == 1) {
        if (is_kept(req)) { /* until the other had read what it replaces */
            am_copy(call->recv, req->shared.reads.made,
                    am_shared_bytes_of(req));
        } else if (am_shared_adds_late(req)) {
            am_shared_reduce_own(req, am_shared_bytes_of(req), call->recv);
        }
        return true;
    }
    if (is_of_blocks(call->kind)) {
        return am_shared_blocks_take(req);
    }
    switch (call->kind) {
    case AM_COLL_BCAST:
        return am_shared_read(req, call->root, AM_SHARED_GIVEN, 0, call->recv,
                              am_shared_bytes_of(req));
    case AM_COLL_REDUCE_SCATTER:
        mine = block_of(req, (uint32_t)rank);
        return am_shared_reduce(req, mine.offset, mine.bytes, call->recv);
    case AM_COLL_REDUCE:
        return am_shared_adds_late(req)
                       ? am_shared_reduce_read(req, am_shared_bytes_of(req),
                                               call->recv)
                       : segment_take(req);
    default: /* AM_COLL_ALLREDUCE */
        mine = part_of(req, (uint32_t)rank);
        return stage == 1
                       ? parts_read(req)
                       : am_shared_reduce(req, mine.offset, mine.bytes,
                                          is_kept(req)
                                                  ? req->shared.reads.made
                                                  : am_at_mutable(call->recv,
                                                                  mine.offset));
    }
}

static am_shared_whose_t reads_whose(const struct am_coll_req *req)
{
    bool is_end = req->shared.turns_left == 1;
    bool is_root = am_shared_is_root(req);

    if (is_end && is_of_blocks(req->call.kind) &&
        !am_shared_blocks_waits(req)) {
        return AM_SHARED_NOBODYS;
    }
    switch (req->call.kind) {
    case AM_COLL_GATHER:
        return is_end == is_root ? AM_SHARED_NOBODYS
               : is_root         ? AM_SHARED_ALL
                                 : AM_SHARED_ROOTS;
    case AM_COLL_SCATTER:
    case AM_COLL_BCAST:
        return is_end == is_root ? (is_root ? AM_SHARED_ALL : AM_SHARED_ROOTS)
                                 : AM_SHARED_NOBODYS;
    case AM_COLL_REDUCE:
        return is_end || is_root || req->shared.stage == 0 ? AM_SHARED_ALL
                                                           : AM_SHARED_ROOTS;
    default:
        return AM_SHARED_ALL;
    }
}

/* -------------------------------------------------------- begin and end */

static bool reads_fit(const struct am_coll_wish *wish)
{
    switch (wish->kind) {
    case AM_COLL_GATHER:
    case AM_COLL_SCATTER:
    case AM_COLL_ALLGATHER:
    case AM_COLL_ALLTOALL:
        return (wish->bytes > 0 || wish->is_vector) &&
               am_shared_blocks_fit(wish->size);
    case AM_COLL_BCAST:
    case AM_COLL_REDUCE:
    case AM_COLL_ALLREDUCE:
    case AM_COLL_REDUCE_SCATTER:
        return wish->bytes > 0 || wish->is_vector;
    default:
        return false;
    }
}

bool am_shared_open(struct am_coll_req *req, uint32_t which, const void *base,
                    size_t bytes)
{
    struct am_coll_group *group = req->group;
    struct am_shared_reads *reads = &req->shared.reads;
    struct am_data data =
            am_data_contig((void *)(uintptr_t)base, bytes); /* read only */
    am_status_t status;
    struct am_peer *peer = am_peer_get(
            req->coll->ctx, am_coll_member(group, group->rank == 0 ? 1 : 0),
            &status);

    if (base == NULL || peer == NULL) {
        return base == NULL;
    }
    if (am_region_open(req->coll->ctx, &reads->regions[which], &data,
                       AM_DEV_CAP_GET, NULL) != AM_OK) {
        return false;
    }
    am_region_key_for(&reads->regions[which], peer, &reads->keys[which]);
    return true;
}

/* Scratch of a reduction. */
static bool scratch_open(struct am_coll_req *req)
{
    struct am_shared_reads *reads = &req->shared.reads;
    size_t unit = am_shared_unit_of(req);
    size_t made = 0;
    size_t most =
            am_shared_read_bytes(&req->group->numbers, am_shared_is_pair(req));

    if (part_of(req, req->group->rank).bytes == 0 && am_shared_is_pair(req)) {
        return am_sched_is_good(&req->sched); /* the root makes all */
    }
    if (am_shared_is_pair(req) && am_shared_bytes_of(req) < most) {
        most = am_shared_bytes_of(req);
    }
    reads->piece = most < unit ? unit : most - most % unit;
    if (am_shared_is_pair(req)) {
        reads->made =
                is_kept(req) ? am_sched_scratch(&req->sched, segment_bytes(req))
                             : NULL;
    } else if (req->call.kind == AM_COLL_REDUCE && !am_shared_is_root(req)) {
        made = 2 * segment_bytes(req);
        reads->made = am_sched_scratch(&req->sched, made);
    }
    reads->values = am_sched_scratch(&req->sched, reads->piece);
    reads->sum = am_sched_scratch(&req->sched, reads->piece);
    return am_sched_is_good(&req->sched) &&
           (made == 0 ||
            am_shared_open(req, AM_SHARED_MADE, reads->made, made));
}

/* Open what I give. */
static bool given_open(struct am_coll_req *req)
{
    const struct am_coll_call *call = &req->call;
    size_t bytes = am_shared_bytes_of(req);

    if (is_of_blocks(call->kind)) {
        return am_shared_blocks_open(req);
    }
    if (call->kind == AM_COLL_BCAST) {
        return !am_shared_is_root(req) ||
               am_shared_open(req, AM_SHARED_GIVEN, call->recv, bytes);
    }
    if (call->kind == AM_COLL_REDUCE_SCATTER) {
        bytes = blocks_bytes(req);
    }
    return am_shared_open(req, AM_SHARED_GIVEN, am_given(call), bytes);
}

static uint32_t reads_open(struct am_coll_req *req)
{
    struct am_shared_reads *reads = &req->shared.reads;
    const struct am_coll_call *call = &req->call;
    bool reduces = !is_of_blocks(call->kind) && call->kind != AM_COLL_BCAST;

    memset(reads->keys, 0, sizeof(reads->keys));
    reads->regions[AM_SHARED_GIVEN].handle = 0;
    reads->regions[AM_SHARED_MADE].handle = 0;
    reads->made = NULL;
    reads->has_come = false;
    reads->item = 0;
    if (!am_sched_is_good(&req->sched) || !given_open(req) ||
        (call->kind == AM_COLL_ALLREDUCE && !am_shared_is_pair(req) &&
         !am_shared_open(req, AM_SHARED_MADE, call->recv,
                         am_shared_bytes_of(req))) ||
        (reduces && !scratch_open(req))) {
        return 0;
    }
    return am_shared_is_pair(req)            ? 2
           : call->kind == AM_COLL_ALLREDUCE ? 3
           : call->kind == AM_COLL_REDUCE    ? 2 + segment_count(req)
                                             : 2;
}

static size_t reads_give(const struct am_coll_req *req)
{
    if (req->shared.stage > 0) {
        return 0;
    }
    if (is_of_blocks(req->call.kind)) {
        return am_shared_blocks_gives(req) ? am_shared_blocks_room(req) : 0;
    }
    return req->call.kind != AM_COLL_BCAST || am_shared_is_root(req)
                   ? sizeof(req->shared.reads.keys)
                   : 0;
}

static void reads_write(const struct am_coll_req *req, void *to)
{
    if (is_of_blocks(req->call.kind)) {
        am_shared_blocks_write(req, to);
    } else {
        memcpy(to, req->shared.reads.keys, sizeof(req->shared.reads.keys));
    }
}

static void reads_close(struct am_coll_req *req, bool at_close)
{
    struct am_shared_reads *reads = &req->shared.reads;

    for (uint32_t i = 0; i < AM_SHARED_KEYS; i++) {
        if (req->status != AM_OK) { /* members may have the keys */
            am_region_withdraw(&reads->regions[i], req->status);
        }
        am_region_close(&reads->regions[i]);
    }
    if (at_close && req->flying > 0) {
        am_bulk_cancel(&reads->bulk);
    }
}

const struct am_shared_way am_shared_by_reads = {.fits = reads_fit,
                                                 .open = reads_open,
                                                 .gives = reads_give,
                                                 .write = reads_write,
                                                 .whose = reads_whose,
                                                 .take = reads_take,
                                                 .is_long = true,
                                                 .close = reads_close};
