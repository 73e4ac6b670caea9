/*
 * One read of another member's memory, and reductions of what is read.  What the
 * device cannot read (the system does not let it, or there is no such memory any
 * more) comes by messages, or the collective ends with the error.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/op/operate.h"
#include "collectives/shared/read.h"

#include <string.h>

/* ------------------------------------------------------------------- a read */

/* What the device could not do at once has ended. */
static void read_done(void *arg, am_status_t status)
{
    struct am_coll_req *req = arg;

    req->flying--;
    req->shared.reads.has_come = true;
    if (status != AM_OK) {
        am_coll_req_fail(req, status);
    }
    am_shared_nudged(req->group);
}

static void read_by_messages(struct am_coll_req *req, struct am_peer *peer,
                             const struct am_key *key, size_t offset, void *to,
                             size_t bytes)
{
    struct am_data data = am_data_contig(to, bytes);

    req->flying++;
    am_bulk_get(&req->shared.reads.bulk, peer,
                &(struct am_transfer){.local = &data,
                                      .key = key,
                                      .offset = offset,
                                      .bytes = bytes,
                                      .done = read_done,
                                      .arg = req});
}

static am_status_t read_by_device(struct am_coll_req *req, struct am_peer *peer,
                                  const struct am_key *key, size_t offset,
                                  void *to, size_t bytes)
{
    struct iovec local = {to, bytes};
    struct am_dev_key dev_key = am_key_for_device(key);
    am_status_t status;

    if (am_key_device(key) != peer->dev->bottom->number) {
        return AM_ERR_UNSUPPORTED;
    }
    req->flying++;
    status = peer->dev->ops->get(peer->ep, &local, 1, &dev_key, offset,
                                 read_done, req);
    req->flying -= status != AM_OK;
    return status;
}

bool am_shared_read(struct am_coll_req *req, uint32_t member, uint32_t which,
                    size_t offset, void *to, size_t bytes)
{
    struct am_shared_reads *reads = &req->shared.reads;
    uint32_t first = req->shared.turn - req->shared.stage;
    struct am_key keys[AM_SHARED_KEYS];
    am_status_t status = AM_ERR_PEER;
    struct am_peer *peer;

    if (reads->has_come || bytes == 0) {
        reads->has_come = false;
        return req->status == AM_OK;
    }
    peer = am_peer_get(req->coll->ctx, am_coll_member(req->group, member),
                       &status);
    if (peer != NULL) {
        const void *given = am_shared_payload(req->group->shared, member, first,
                                              AM_SHARED_SLOT_BYTES);

        if (reads->item == 0 && req->shared.stage == 0) {
            am_shared_learn_near(req->group, member, given);
        }
        memcpy(keys, given, sizeof(keys));
        req->coll->stats[AM_COLL_STAT_READS]++;
        status = read_by_device(req, peer, &keys[which], offset, to, bytes);
    }
    if (status == AM_ERR_UNSUPPORTED) {
        read_by_messages(req, peer, &keys[which], offset, to, bytes);
    } else if (status != AM_OK && status != AM_DONE) {
        am_coll_req_fail(req, status);
    }
    return status == AM_DONE;
}

/* ----------------------------------------------------------- read and reduce */

/* The member whose values come in as number `i`: without an order of operands my
 * own come last, and no two members begin with the same.  Of two that both reduce all both
 * find the same bits. */
static uint32_t member_of(const struct am_coll_req *req, uint32_t i)
{
    uint32_t size = req->group->size;

    bool is_ordered = !req->op.is_commutative ||
                      (size == 2 && req->call.kind == AM_COLL_ALLREDUCE);

    return is_ordered ? size - 1 - i : (req->group->rank + 1 + i) % size;
}

/* One member's values of a piece into the sum of those before.  False: they are
 * on their way. */
static bool values_add(struct am_coll_req *req, uint32_t i, size_t offset,
                       void *to, size_t bytes)
{
    struct am_shared_reads *reads = &req->shared.reads;
    const void *own = am_at(am_given(&req->call), offset);
    bool is_last = i == req->group->size - 1, in_place = own == to;
    uint32_t member = member_of(req, i);
    /* values of mine that lie where the result goes are needed until they are in */
    void *sum = in_place ? reads->sum : to;
    const void *left = member == req->group->rank ? own : reads->values;
    void *read_to = i == 0 ? sum : reads->values;
    size_t count = bytes / req->op.element_bytes;

    if (member != req->group->rank) {
        if (!am_shared_read(req, member, AM_SHARED_GIVEN, offset, read_to,
                            bytes)) {
            return false;
        }
    } else if (i == 0) {
        am_copy(sum, own, bytes);
    }
    if (is_last && in_place && req->op.is_commutative) {
        am_coll_operate(req->coll, &req->op, sum, to,
                        count); /* mine are there */
    } else if (i > 0) {
        am_coll_operate(req->coll, &req->op, left, sum, count);
        if (is_last && in_place) {
            am_copy(to, sum, bytes);
        }
    }
    am_shared_copied(req->coll, i > 0 || left == own ? bytes : 0);
    return true;
}

bool am_shared_reduce(struct am_coll_req *req, size_t offset, size_t bytes,
                      char *to)
{
    struct am_shared_reads *reads = &req->shared.reads;
    uint32_t size = req->group->size;
    size_t items = bytes == 0 ? 0 : am_piece_count(bytes, reads->piece) * size;

    while (reads->item < items) {
        uint32_t piece = (uint32_t)(reads->item / size);
        size_t at = piece * reads->piece;

        if (!values_add(req, (uint32_t)(reads->item % size), offset + at,
                        to + at, am_piece_bytes(bytes, reads->piece, piece))) {
            return false;
        }
        reads->item++;
    }
    return true;
}

bool am_shared_is_pair(const struct am_coll_req *req)
{
    return req->group->size == 2 &&
           (req->call.kind == AM_COLL_REDUCE ||
            (req->call.kind == AM_COLL_ALLREDUCE &&
             am_shared_bytes_of(req) <= AM_SHARED_KEPT_BYTES));
}

bool am_shared_adds_late(const struct am_coll_req *req)
{
    size_t bytes = am_shared_bytes_of(req);

    return am_shared_is_pair(req) && req->call.kind == AM_COLL_REDUCE &&
           am_shared_is_root(req) && bytes > 0 &&
           bytes <= req->shared.reads.piece &&
           member_of(req, 0) != req->group->rank;
}

bool am_shared_reduce_read(struct am_coll_req *req, size_t bytes, char *to)
{
    return values_add(req, 0, 0, to, bytes);
}

void am_shared_reduce_own(struct am_coll_req *req, size_t bytes, char *to)
{
    (void)values_add(req, 1, 0, to, bytes);
}
