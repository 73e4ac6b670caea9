/*
 * Puts and gets of a NIC with work queues, without the target's processor.
 *
 *   put   WRITE each piece; packets keep their order, so that when the last piece
 *         is there, and has been answered, all are
 *   get   READ each piece; the get is over when all pieces are here
 */
#include "dev/snic/snic_wq.h"

#define BYTES_MAX (UINT64_C(1) << 31)

static bool has_rdma(const struct snic_dev *snic)
{
    return ((const struct wq *)snic->nic_data)->facts->rdma != 0;
}

/* A key names the memory itself. */

static void memory_write(struct snic_dev *snic, const struct am_dev_key *key,
                         uint32_t what)
{
    for (uint32_t i = 0; i < 4; i++) {
        snic->port->ops->pio_store(snic->port, NS_WQ_REG_MEMORY_BASE + 4 * i,
                                   (uint32_t)(key->w[i / 2] >> 32 * (i % 2)),
                                   4);
    }
    snic->port->ops->pio_store(snic->port, what, 0, 4);
}

am_status_t snic_wq_mem_register(struct snic_dev *snic, void *base,
                                 size_t bytes, struct am_dev_key *key)
{
    if (!has_rdma(snic)) {
        return AM_ERR_UNSUPPORTED;
    }
    *key = (struct am_dev_key){{(uintptr_t)base, bytes, 0}};
    key->w[2] = snic_key_check(key);
    memory_write(snic, key, NS_WQ_REG_MEMORY_ADD);
    return AM_OK;
}

void snic_wq_mem_deregister(struct snic_dev *snic, const struct am_dev_key *key)
{
    memory_write(snic, key, NS_WQ_REG_MEMORY_REMOVE);
}

/* May the operation start?  AM_OK and its pieces that are not empty, or what to
 * return.  A get takes a number for each piece. */
static am_status_t op_check(struct snic_dev *snic, const struct iovec *local,
                            uint32_t count, const struct am_dev_key *key,
                            size_t offset, bool is_get)
{
    const struct wq *wq = snic->nic_data;
    uint64_t bytes = 0;
    uint32_t pieces = 0;

    if (!has_rdma(snic)) {
        return AM_ERR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < count; i++) {
        bytes += local[i].iov_len;
        pieces += local[i].iov_len > 0;
    }
    if (!snic_key_reaches(key, offset, bytes)) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_INVALID;
    }
    if (bytes == 0) {
        return AM_DONE;
    }
    if (bytes > BYTES_MAX || pieces > NS_WQ_OPS / 2 ||
        pieces > wq->facts->send_entries / 2) {
        return AM_ERR_UNSUPPORTED;
    }
    if ((uint32_t)__builtin_popcountll(~wq->ops) < (is_get ? pieces : 1) ||
        !snic_wq_room(snic, pieces)) {
        return AM_ERR_AGAIN;
    }
    return AM_OK;
}

static uint32_t op_new(struct wq *wq)
{
    uint32_t index = (uint32_t)__builtin_ctzll(~wq->ops);

    wq->ops |= UINT64_C(1) << index;
    return index;
}

static void piece_put_in(struct snic_dev *snic, ns_wq_kind_t kind,
                         uint32_t node, const struct iovec *piece,
                         uint64_t remote, uint32_t op)
{
    const struct ns_wq_descriptor what = {
            .kind = (uint8_t)kind,
            .op = (uint8_t)op,
            .node = node,
            .bytes = (uint32_t)piece->iov_len,
            .address = (uintptr_t)piece->iov_base,
            .remote = remote,
    };

    snic_wq_put_in(snic, &what, sizeof(what), false);
}

am_status_t snic_wq_put(struct snic_dev *snic, uint32_t node,
                        const struct iovec *local, uint32_t count,
                        const struct am_dev_key *key, size_t offset,
                        am_dev_done_fn done, void *arg)
{
    struct wq *wq = snic->nic_data;
    am_status_t status = op_check(snic, local, count, key, offset, false);
    uint64_t to = key->w[0] + offset;
    uint32_t index;

    if (status != AM_OK) {
        return status;
    }
    while (local[count - 1].iov_len == 0) {
        count--;
    }
    snic->port->ops->charge(snic->port, NS_WORK_PUT, 1);
    index = op_new(wq);
    wq->op[index] = (struct wq_op){done, arg, index, 1, false};
    for (uint32_t i = 0; i < count; i++) {
        if (local[i].iov_len > 0) {
            piece_put_in(snic, NS_WQ_WRITE, node, &local[i], to,
                         i + 1 == count ? index : NS_WQ_OP_NONE);
            to += local[i].iov_len;
        }
    }
    snic_wq_ring(snic);
    snic->stats[AM_DEV_STAT_PUT]++;
    return AM_OK;
}

am_status_t snic_wq_get(struct snic_dev *snic, uint32_t node,
                        const struct iovec *local, uint32_t count,
                        const struct am_dev_key *key, size_t offset,
                        am_dev_done_fn done, void *arg)
{
    struct wq *wq = snic->nic_data;
    am_status_t status = op_check(snic, local, count, key, offset, true);
    uint64_t from = key->w[0] + offset;
    uint32_t leader = NS_WQ_OPS;

    if (status != AM_OK) {
        return status;
    }
    snic->port->ops->charge(snic->port, NS_WORK_PUT, 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index;

        if (local[i].iov_len == 0) {
            continue;
        }
        index = op_new(wq);
        leader = leader == NS_WQ_OPS ? index : leader;
        wq->op[index] = (struct wq_op){done, arg, leader, 0, false};
        wq->op[leader].left++;
        piece_put_in(snic, NS_WQ_READ, node, &local[i], from, index);
        from += local[i].iov_len;
    }
    snic_wq_ring(snic);
    snic->stats[AM_DEV_STAT_GET]++;
    return AM_OK;
}

void snic_wq_op_end(struct snic_dev *snic, uint32_t index, bool fault)
{
    struct wq *wq = snic->nic_data;
    struct wq_op *leader;
    struct wq_op over;

    if (index >= NS_WQ_OPS || (wq->ops >> index & 1) == 0) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return;
    }
    leader = &wq->op[wq->op[index].leader];
    leader->fault = leader->fault || fault;
    if (leader != &wq->op[index]) {
        wq->ops &= ~(UINT64_C(1) << index); /* the leader's goes last */
    }
    if (--leader->left > 0) {
        return;
    }
    over = *leader;
    wq->ops &= ~(UINT64_C(1) << (leader - wq->op));
    snic->stats[AM_DEV_STAT_RX_BAD] += over.fault;
    if (over.done != NULL) {
        over.done(over.arg, over.fault ? AM_ERR_INVALID : AM_OK);
    }
}
