/*
 * Puts and gets, by the provider's writes and reads of remote memory.  A put ends
 * when its bytes are in the peer's memory (FI_DELIVERY_COMPLETE).
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#include <rdma/fi_rma.h>
#include <stdlib.h>

/* NULL: as many as there may be are out, or there is no memory. */
static struct ofi_rma *rma_take(struct ofi_dev *dev)
{
    struct am_list *link = am_list_pop(&dev->rmas_free);
    struct ofi_rma *rma;

    if (link != NULL) {
        return am_container(link, struct ofi_rma, link);
    }
    if (dev->rma_count == OFI_RMAS_MAX) {
        return NULL;
    }
    rma = calloc(1, sizeof(*rma));
    dev->rma_count += rma != NULL;
    return rma;
}

/* Providers over TCP answer a key that is no good by the end of the connection,
 * with all that was on it, so what is not plainly refused is a peer's end. */
static am_status_t status_of(int error)
{
    switch (error) {
    case 0:
        return AM_OK;
    case FI_EACCES:
    case FI_EINVAL:
    case FI_ENOKEY:
        return AM_ERR_INVALID;
    default:
        return AM_ERR_PEER;
    }
}

void ofi_rma_done(struct ofi_dev *dev, struct ofi_rma *rma, int error)
{
    am_status_t status = status_of(error);
    am_dev_done_fn done = rma->done;
    struct ofi_ep *ep = rma->ep;
    void *arg = rma->arg;

    ep->rmas--;
    ofi_local_give(dev, rma);
    am_list_remove(&rma->link);
    if (rma->lost) {
        free(rma);
        return;
    }
    am_list_push(&dev->rmas_free, &rma->link);
    if (dev->closing) {
        return;
    }
    if (status == AM_ERR_PEER) {
        ofi_ep_doom(dev, ep, error);
    }
    done(arg, status);
}

/* The structure and its registrations stay until the provider gives them back or
 * is closed; as many others may be out as before.  Of the caller's memory there is
 * a promise only with ofi_rxm, which has cut the connection (ep_cut in ofi_alive.c).
 * Other providers may write into the memory of a get later, if a peer that was only
 * silent goes on, and may read that of a put. */
void ofi_rmas_lose(struct ofi_dev *dev, uint64_t before_ps)
{
    struct am_list *link = dev->rmas.next;

    while (link != &dev->rmas) {
        struct ofi_rma *rma = am_container(link, struct ofi_rma, link);

        link = link->next;
        if (!rma->lost && rma->ep->told && rma->ep->told_ps <= before_ps) {
            rma->lost = true;
            dev->rma_count--;
            rma->done(rma->arg, AM_ERR_PEER);
            link = dev->rmas.next; /* that may have changed the list */
        }
    }
}

void ofi_rmas_free(struct ofi_dev *dev)
{
    struct am_list *link;

    while ((link = am_list_pop(&dev->rmas_free)) != NULL ||
           (link = am_list_pop(&dev->rmas)) != NULL) {
        free(am_container(link, struct ofi_rma, link));
    }
}

/* The pieces that are not empty: their count, which may be too many. */
static uint32_t pieces_take(const struct iovec *local, uint32_t count,
                            struct iovec *pieces, size_t *bytes_p)
{
    uint32_t taken = 0;

    *bytes_p = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (local[i].iov_len > 0) {
            if (taken < OFI_IOV_MOST) {
                pieces[taken] = local[i];
            }
            taken++;
            *bytes_p += local[i].iov_len;
        }
    }
    return taken;
}

static am_status_t rma_post(struct ofi_dev *dev, struct ofi_rma *rma,
                            const struct iovec *pieces, uint32_t count,
                            const struct fi_rma_iov *remote)
{
    void *descs[OFI_IOV_MOST] = {NULL};
    struct fi_msg_rma message = {.msg_iov = pieces,
                                 .desc = descs,
                                 .iov_count = count,
                                 .addr = rma->ep->to,
                                 .rma_iov = remote,
                                 .rma_iov_count = 1,
                                 .context = &rma->context};
    ssize_t said = -FI_ENOMEM;

    if (ofi_local_take(dev, rma, pieces, count, descs)) {
        said = rma->put ? fi_writemsg(dev->ep, &message,
                                      FI_COMPLETION | FI_DELIVERY_COMPLETE)
                        : fi_readmsg(dev->ep, &message, FI_COMPLETION);
    }
    if (said == 0) {
        rma->ep->used = true;
        rma->ep->rmas++;
        am_list_push(&dev->rmas, &rma->link);
        dev->stats[rma->put ? AM_DEV_STAT_PUT : AM_DEV_STAT_GET]++;
        return AM_OK;
    }
    ofi_local_give(dev, rma);
    am_list_push(&dev->rmas_free, &rma->link);
    return said == -FI_EAGAIN ? AM_ERR_AGAIN : AM_ERR_UNSUPPORTED;
}

/* Can the provider carry it out, in one piece, with this key? */
static bool is_possible(const struct ofi_dev *dev, const struct am_dev_key *key,
                        bool put, uint32_t pieces, size_t bytes)
{
    return (dev->base.attr.caps & (put ? AM_DEV_CAP_PUT : AM_DEV_CAP_GET)) !=
                   0 &&
           pieces <= OFI_IOV_MOST && pieces <= dev->info->tx_attr->iov_limit &&
           bytes <= dev->info->ep_attr->max_msg_size &&
           ofi_key_allows(key, put);
}

static am_status_t transfer(struct ofi_ep *ep, bool put,
                            const struct iovec *local, uint32_t count,
                            const struct am_dev_key *key, size_t offset,
                            am_dev_done_fn done, void *arg)
{
    struct ofi_dev *dev = ofi_dev_of(ep->base.dev);
    struct fi_rma_iov remote = {key->w[0] + offset, 0, key->w[1]};
    struct iovec pieces[OFI_IOV_MOST];
    uint32_t taken = pieces_take(local, count, pieces, &remote.len);
    struct ofi_rma *rma;

    if (ep->dead || ep->left || dev->forked) {
        return AM_ERR_PEER;
    }
    if (!ofi_key_is_sound(key, offset, remote.len)) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_INVALID;
    }
    if (taken == 0) {
        return AM_DONE;
    }
    if (!is_possible(dev, key, put, taken, remote.len)) {
        return AM_ERR_UNSUPPORTED;
    }
    rma = rma_take(dev);
    if (rma == NULL) {
        return AM_ERR_AGAIN;
    }
    rma->context.kind = OFI_KIND_RMA;
    rma->put = put;
    rma->lost = false;
    rma->ep = ep;
    rma->done = done;
    rma->arg = arg;
    return rma_post(dev, rma, pieces, taken, &remote);
}

am_status_t ofi_put(struct am_dev_ep *ep, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg)
{
    return transfer(ofi_ep_of(ep), true, local, count, key, offset, done, arg);
}

am_status_t ofi_get(struct am_dev_ep *ep, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg)
{
    return transfer(ofi_ep_of(ep), false, local, count, key, offset, done, arg);
}
