/*
 * Puts and gets on Blue Gene/P, without the target's processor:
 *
 *   put   DIRECT_PUT(data) ---------------> memory of the region
 *         REMOTE_GET(descriptor) ---------> behind the data, as both go the
 *         counter <------- DIRECT_PUT(8)    same way: then all is in place
 *
 *   get   REMOTE_GET(descriptor) ---------> injected there
 *         memory, counter <- DIRECT_PUT(data), by any minimal route
 *
 * A counter counts the bytes that are still to come back.  While none is free,
 * or the injection FIFO is full, an operation waits above (AM_ERR_AGAIN).
 */
#include "dev/snic/snic_bgp.h"

#define BYTES_MAX (UINT64_C(1) << 31)

/* A key names the memory itself. */

static void memory_write(struct snic_dev *snic, const struct am_dev_key *key,
                         uint32_t what)
{
    for (uint32_t i = 0; i < 4; i++) {
        snic_bgp_write(snic, NS_BGP_MEMORY, 0, NS_BGP_MEMORY_BASE + i,
                       (uint32_t)(key->w[i / 2] >> 32 * (i % 2)));
    }
    snic_bgp_write(snic, NS_BGP_MEMORY, 0, what, 0);
}

am_status_t snic_bgp_mem_register(struct snic_dev *snic, void *base,
                                  size_t bytes, struct am_dev_key *key)
{
    *key = (struct am_dev_key){{(uintptr_t)base, bytes, 0}};
    key->w[2] = snic_key_check(key);
    memory_write(snic, key, NS_BGP_MEMORY_ADD);
    return AM_OK;
}

void snic_bgp_mem_deregister(struct snic_dev *snic,
                             const struct am_dev_key *key)
{
    memory_write(snic, key, NS_BGP_MEMORY_REMOVE);
}

/* A free counter, set to `bytes` that come to [base, base + limit). */
static uint32_t counter_take(struct snic_dev *snic, uint64_t base,
                             uint64_t limit, uint64_t bytes)
{
    struct bgp *bgp = snic->nic_data;
    uint32_t counter = (uint32_t)__builtin_ctzll(~bgp->counters);
    const uint32_t values[] = {
            [NS_BGP_COUNTER_LOW] = (uint32_t)base,
            [NS_BGP_COUNTER_HIGH] = (uint32_t)(base >> 32),
            [NS_BGP_COUNTER_LIMIT] = (uint32_t)limit,
            [NS_BGP_COUNTER_VALUE] = (uint32_t)bytes,
    };

    bgp->counters |= UINT64_C(1) << counter;
    bgp->status.hits &= ~(UINT64_C(1) << counter);
    for (uint32_t i = 0; i <= NS_BGP_COUNTER_VALUE; i++) {
        snic_bgp_write(snic, NS_BGP_COUNT_IN, counter, i, values[i]);
    }
    return counter;
}

/* The link on which packets of `from` to `to`, or most of them, begin. */
static uint32_t link_of(const struct ns_bgp_facts *facts, uint32_t from,
                        uint32_t to)
{
    from /= facts->processes;
    to /= facts->processes;
    for (uint32_t d = 0; d < 3; d++) {
        uint32_t side = facts->side[d];
        uint32_t up = (to % side + side - from % side) % side;

        if (up != 0) {
            return 2 * d + (2 * up > side);
        }
        from /= side;
        to /= side;
    }
    return 0; /* in the same node */
}

/* Let `node` put `bytes` at `address` of its memory at `offset` of my counter.
 */
static void remote_get(struct snic_dev *snic, uint32_t node, uint64_t address,
                       uint32_t bytes, uint32_t counter, uint64_t offset,
                       uint8_t flags)
{
    struct bgp *bgp = snic->nic_data;
    const struct ns_bgp_descriptor there = {
            .kind = NS_BGP_DIRECT_PUT,
            .flags = flags,
            .index = (uint8_t)counter,
            .count = NS_BGP_COUNTER_NONE,
            .destination = snic->port->node,
            .bytes = bytes,
            .address = address,
            .offset = offset,
    };
    const struct ns_bgp_descriptor here = {
            .kind = NS_BGP_REMOTE_GET,
            .flags = NS_BGP_SHARED,
            .index = (uint8_t)(bgp->own +
                               link_of(bgp->facts, node, snic->port->node) %
                                       bgp->facts->remote_fifos),
            .count = NS_BGP_COUNTER_NONE,
            .destination = node,
            .bytes = sizeof(there),
            .address = snic_bgp_slot(bgp),
    };

    snic->port->ops->store(snic->port, (uint32_t)here.address, &there,
                           sizeof(there));
    snic_bgp_post(snic, &here);
}

/* Bytes of all pieces; how many are not empty. */
static uint64_t pieces_bytes(const struct iovec *local, uint32_t count,
                             uint32_t *pieces_p)
{
    uint64_t bytes = 0;

    *pieces_p = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += local[i].iov_len;
        *pieces_p += local[i].iov_len > 0;
    }
    return bytes;
}

/* May an operation of so many descriptors start?  AM_OK, or what to return. */
static am_status_t op_check(struct snic_dev *snic, uint64_t bytes,
                            const struct am_dev_key *key, size_t offset,
                            uint32_t descriptors)
{
    struct bgp *bgp = snic->nic_data;

    if (!snic_key_reaches(key, offset, bytes)) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_INVALID;
    }
    if (bytes == 0) {
        return AM_DONE;
    }
    if (bytes > BYTES_MAX || descriptors > bgp->facts->injection_entries / 2) {
        return AM_ERR_UNSUPPORTED;
    }
    if (~bgp->counters == 0 || !snic_bgp_room(snic, descriptors, 1)) {
        return AM_ERR_AGAIN;
    }
    return AM_OK;
}

am_status_t snic_bgp_put(struct snic_dev *snic, uint32_t node,
                         const struct iovec *local, uint32_t count,
                         const struct am_dev_key *key, size_t offset,
                         am_dev_done_fn done, void *arg)
{
    struct bgp *bgp = snic->nic_data;
    uint32_t pieces, counter, back;
    uint64_t bytes = pieces_bytes(local, count, &pieces);
    uint64_t to = key->w[0] + offset;
    am_status_t status = op_check(snic, bytes, key, offset, pieces + 1);
    struct bgp_op *op;

    if (status != AM_OK) {
        return status;
    }
    snic->port->ops->charge(snic->port, NS_WORK_PUT, 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct ns_bgp_descriptor descriptor = {
                .kind = NS_BGP_DIRECT_PUT,
                .index = NS_BGP_COUNTER_MEMORY,
                .count = NS_BGP_COUNTER_NONE,
                .destination = node,
                .bytes = (uint32_t)local[i].iov_len,
                .address = (uintptr_t)local[i].iov_base,
                .offset = to,
        };

        if (descriptor.bytes > 0) {
            snic_bgp_post(snic, &descriptor);
            to += descriptor.bytes;
        }
    }
    back = bytes < sizeof(op->landing) ? (uint32_t)bytes
                                       : (uint32_t)sizeof(op->landing);
    counter = (uint32_t)__builtin_ctzll(~bgp->counters);
    op = &bgp->op[counter];
    *op = (struct bgp_op){.done = done, .arg = arg};
    snic_bgp_ring(snic, node); /* the data go while the counter is set */
    (void)counter_take(snic, (uintptr_t)&op->landing, back, back);
    remote_get(snic, node, key->w[0] + offset, back, counter, 0, 0);
    snic_bgp_ring(snic, node);
    snic->stats[AM_DEV_STAT_PUT]++;
    return AM_OK;
}

am_status_t snic_bgp_get(struct snic_dev *snic, uint32_t node,
                         const struct iovec *local, uint32_t count,
                         const struct am_dev_key *key, size_t offset,
                         am_dev_done_fn done, void *arg)
{
    struct bgp *bgp = snic->nic_data;
    uint32_t pieces, counter;
    uint64_t bytes = pieces_bytes(local, count, &pieces);
    uint64_t from = key->w[0] + offset, low = UINT64_MAX, high = 0;
    am_status_t status = op_check(snic, bytes, key, offset, pieces);

    if (status != AM_OK) {
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = (uintptr_t)local[i].iov_base;

        if (local[i].iov_len > 0) {
            low = at < low ? at : low;
            high = at + local[i].iov_len > high ? at + local[i].iov_len : high;
        }
    }
    if (high - low > BYTES_MAX) {
        return AM_ERR_UNSUPPORTED;
    }
    snic->port->ops->charge(snic->port, NS_WORK_PUT, 1);
    counter = counter_take(snic, low, high - low, bytes);
    bgp->op[counter] = (struct bgp_op){.done = done, .arg = arg};
    for (uint32_t i = 0; i < count; i++) {
        if (local[i].iov_len > 0) {
            remote_get(snic, node, from, (uint32_t)local[i].iov_len, counter,
                       (uintptr_t)local[i].iov_base - low, NS_BGP_ADAPTIVE);
            from += local[i].iov_len;
        }
    }
    snic_bgp_ring(snic, node);
    snic->stats[AM_DEV_STAT_GET]++;
    return AM_OK;
}

uint32_t snic_bgp_complete(struct snic_dev *snic)
{
    struct bgp *bgp = snic->nic_data;
    uint64_t hits = bgp->status.hits & bgp->counters;
    uint32_t count = 0;

    for (; hits != 0; hits &= hits - 1, count++) {
        uint32_t counter = (uint32_t)__builtin_ctzll(hits);
        struct bgp_op *op = &bgp->op[counter];
        bool fault = (bgp->status.faults >> counter & 1) != 0;

        snic->stats[AM_DEV_STAT_RX_BAD] += fault;
        bgp->counters &= ~(UINT64_C(1) << counter);
        if (op->done != NULL) {
            op->done(op->arg, fault ? AM_ERR_INVALID : AM_OK);
        }
    }
    return count;
}
