/*
 * Blocks that members take from what others give, all of one length or each of its
 * own: by reads of the givers' memory, or, where that is short, out of their slots.
 *
 *   slot:  keys | bytes given | where each member's block begins | what is given
 *
 * Where each block begins is said by those who give blocks of different lengths to
 * different members; others know it.  What is not longer than the rest of the slot
 * is in it, and who gives that need not wait until it is taken.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/shared/read.h"

#include <string.h>

struct given {
    struct am_key keys[AM_SHARED_KEYS];
    uint64_t bytes;
    uint64_t begins[];
};

/* One block: in the giver's memory, and in call->recv. */
struct block {
    size_t from, to, bytes;
};

static size_t head_of(uint32_t size)
{
    return sizeof(struct given) + size * sizeof(uint64_t);
}

static size_t head_bytes(const struct am_coll_req *req)
{
    return head_of(req->group->size);
}

bool am_shared_blocks_fit(uint32_t size)
{
    return head_of(size) <= AM_SHARED_SLOT_BYTES;
}

static bool is_in_slot(const struct am_coll_req *req, size_t bytes)
{
    return bytes <= AM_SHARED_SLOT_BYTES - head_bytes(req);
}

/* Does each member get another part of what one gives? */
static bool is_cut(const struct am_coll_req *req)
{
    return req->call.kind == AM_COLL_ALLTOALL ||
           req->call.kind == AM_COLL_SCATTER;
}

/* ------------------------------------------------------------ what is given */

static struct am_block sent_to(const struct am_coll_call *call, uint32_t member)
{
    return am_block_at(call->is_vector ? call->send_counts : NULL,
                       call->is_vector ? call->send_offsets : NULL, call->count,
                       1, member);
}

static struct am_block got_from(const struct am_coll_call *call,
                                uint32_t member)
{
    return am_block_at(call->is_vector ? call->recv_counts : NULL,
                       call->is_vector ? call->recv_offsets : NULL, call->count,
                       1, member);
}

/* The bytes of all blocks that I send, with the gaps between them. */
static size_t sent_bytes(const struct am_coll_req *req)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < req->group->size; i++) {
        struct am_block block = sent_to(&req->call, i);

        if (block.bytes > 0 && block.offset + block.bytes > bytes) {
            bytes = block.offset + block.bytes;
        }
    }
    return bytes;
}

bool am_shared_blocks_gives(const struct am_coll_req *req)
{
    switch (req->call.kind) {
    case AM_COLL_GATHER:
        return !am_shared_is_root(req);
    case AM_COLL_SCATTER:
        return am_shared_is_root(req);
    default:
        return true;
    }
}

/* My own, unless it is in its place. */
static void own_copy(struct am_coll_req *req)
{
    const struct am_coll_call *call = &req->call;
    uint32_t rank = req->group->rank;
    struct am_block from = {0, call->count}, to = {0, call->count};

    if (is_cut(req)) {
        from = sent_to(call, rank);
    }
    if (call->kind != AM_COLL_SCATTER) {
        to = got_from(call, rank);
    }
    if (call->send != NULL && call->recv != NULL && to.bytes > 0) {
        am_copy(am_at_mutable(call->recv, to.offset),
                am_at(call->send, from.offset), to.bytes);
        am_shared_copied(req->coll, to.bytes);
    }
}

bool am_shared_blocks_open(struct am_coll_req *req)
{
    struct am_shared_reads *reads = &req->shared.reads;
    const struct am_coll_call *call = &req->call;

    reads->given = call->send;
    reads->given_bytes = 0;
    if (!am_shared_blocks_gives(req)) {
        return true;
    }
    if (call->kind == AM_COLL_SCATTER) { /* the root takes nothing */
        own_copy(req);
    }
    if (is_cut(req)) {
        reads->given_bytes = sent_bytes(req);
    } else if (call->kind == AM_COLL_GATHER) {
        reads->given_bytes = call->count;
    } else {
        struct am_block mine = got_from(call, req->group->rank);

        reads->given_bytes = mine.bytes;
        if (call->send == NULL) {
            reads->given = am_at(call->recv, mine.offset);
        }
    }
    return is_in_slot(req, reads->given_bytes) ||
           am_shared_open(req, AM_SHARED_GIVEN, reads->given,
                          reads->given_bytes);
}

size_t am_shared_blocks_room(const struct am_coll_req *req)
{
    size_t bytes = req->shared.reads.given_bytes;

    return head_bytes(req) + (is_in_slot(req, bytes) ? bytes : 0);
}

void am_shared_blocks_write(const struct am_coll_req *req, void *to)
{
    const struct am_shared_reads *reads = &req->shared.reads;
    struct given *given = to;

    memcpy(given->keys, reads->keys, sizeof(given->keys));
    given->bytes = reads->given_bytes;
    for (uint32_t i = 0;
         is_cut(req) && req->call.is_vector && i < req->group->size; i++) {
        given->begins[i] = sent_to(&req->call, i).offset;
    }
    if (is_in_slot(req, reads->given_bytes) && reads->given_bytes > 0) {
        am_copy((char *)to + head_bytes(req), reads->given, reads->given_bytes);
    }
}

/* ------------------------------------------------------------ what is taken */

/* What I take from a member that has given. */
static struct block block_from(const struct am_coll_req *req, uint32_t member,
                               const struct given *given)
{
    const struct am_coll_call *call = &req->call;
    uint32_t rank = req->group->rank;
    struct block block = {0, 0, call->count};

    if (call->kind != AM_COLL_SCATTER) {
        struct am_block to = got_from(call, member);

        block.to = to.offset;
        block.bytes = to.bytes;
    }
    if (is_cut(req)) {
        block.from = call->is_vector ? given->begins[rank] : rank * call->count;
    }
    return block;
}

/* Is the block what a member has given, of so many bytes, or in it? */
static bool is_given(const struct am_coll_req *req, const struct block *block,
                     size_t bytes)
{
    if (!is_cut(req)) {
        return block->bytes == bytes;
    }
    return block->bytes == 0 ||
           (block->from <= bytes && block->bytes <= bytes - block->from);
}

/* False: it is on its way, or the request has failed. */
static bool block_take(struct am_coll_req *req, uint32_t member)
{
    uint32_t first = req->shared.turn - req->shared.stage;
    const struct given *given = am_shared_payload(req->group->shared, member,
                                                  first, AM_SHARED_SLOT_BYTES);
    struct block block = block_from(req, member, given);
    size_t bytes = given->bytes; /* read once */
    char *to = am_at_mutable(req->call.recv, block.to);

    if (!is_given(req, &block, bytes)) {
        am_coll_req_fail(req, AM_ERR_TRUNCATE);
        return false;
    }
    if (block.bytes == 0) {
        return true;
    }
    if (!is_in_slot(req, bytes)) {
        return am_shared_read(req, member, AM_SHARED_GIVEN, block.from, to,
                              block.bytes);
    }
    am_copy(to, (const char *)given + head_bytes(req) + block.from,
            block.bytes);
    am_shared_copied(req->coll, block.bytes);
    return true;
}

bool am_shared_blocks_take(struct am_coll_req *req)
{
    struct am_shared_reads *reads = &req->shared.reads;
    uint32_t size = req->group->size, rank = req->group->rank;

    if (req->call.kind == AM_COLL_SCATTER) {
        return block_take(req, req->call.root);
    }
    for (; reads->item < size - 1; reads->item++) {
        if (!block_take(req, (uint32_t)(rank + 1 + reads->item) % size)) {
            return false;
        }
    }
    own_copy(req);
    return true;
}

bool am_shared_blocks_waits(const struct am_coll_req *req)
{
    return !is_in_slot(req, req->shared.reads.given_bytes);
}
