/*
 * Regions and gets, by the provider's reads of remote memory (FI_RMA).  What a
 * key names is the provider's word and a length; the provider at the owner
 * checks both again.  There are no puts: not all providers tell when what they
 * wrote is there.
 *
 *   key  | address, or 0 where offsets count | provider's key | bytes |
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#include <rdma/fi_rma.h>
#include <stdlib.h>

#define KEY_TRIES 8 /* random keys may be taken */
#define IOV_MOST  4

/* ------------------------------------------------------------------- regions */

static struct ofi_region **bucket_of(struct ofi_dev *dev, uint64_t key)
{
    return &dev->regions[key % OFI_REGION_BUCKETS];
}

/* The key is the provider's, or one that strangers do not guess. */
static uint64_t key_wanted(const struct ofi_dev *dev)
{
    size_t bytes = dev->info->domain_attr->mr_key_size;
    uint64_t key = am_env_random(dev->env);

    return bytes < sizeof(key) ? key & ((UINT64_C(1) << 8 * bytes) - 1) : key;
}

static int region_open(struct ofi_dev *dev, struct ofi_region *region,
                       void *base, size_t bytes)
{
    int failed = -FI_ENOKEY;

    for (int i = 0; i < KEY_TRIES && failed == -FI_ENOKEY; i++) {
        failed = fi_mr_reg(dev->domain, base, bytes, FI_REMOTE_READ, 0,
                           key_wanted(dev), 0, &region->mr, NULL);
    }
    if (failed == 0 &&
        (dev->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        failed = fi_mr_bind(region->mr, &dev->ep->fid, 0);
        failed = failed != 0 ? failed : fi_mr_enable(region->mr);
        if (failed != 0) {
            (void)fi_close(&region->mr->fid);
        }
    }
    return failed;
}

am_status_t ofi_mem_register(struct am_dev *base, void *memory, size_t bytes,
                             struct am_dev_key *key)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    bool by_address =
            (dev->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    struct ofi_region *region, **bucket;

    if ((dev->base.attr.caps & AM_DEV_CAP_GET) == 0 || dev->forked ||
        bytes == 0 || bytes >> AM_DEV_KEY_BITS != 0) {
        return AM_ERR_UNSUPPORTED;
    }
    region = calloc(1, sizeof(*region));
    if (region == NULL) {
        return AM_ERR_MEMORY;
    }
    if (region_open(dev, region, memory, bytes) != 0) {
        free(region);
        return AM_ERR_SYSTEM;
    }
    region->key = fi_mr_key(region->mr);
    bucket = bucket_of(dev, region->key);
    region->next = *bucket;
    *bucket = region;
    *key = (struct am_dev_key){
            {by_address ? (uintptr_t)memory : 0, region->key, bytes}};
    return AM_OK;
}

static void region_close(struct ofi_region **at)
{
    struct ofi_region *region = *at;

    *at = region->next;
    (void)fi_close(&region->mr->fid);
    free(region);
}

void ofi_mem_deregister(struct am_dev *base, const struct am_dev_key *key)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    struct ofi_region **at = bucket_of(dev, key->w[1]);

    while (*at != NULL && (*at)->key != key->w[1]) {
        at = &(*at)->next;
    }
    if (*at != NULL && !dev->forked) {
        region_close(at);
    }
}

void ofi_regions_close(struct ofi_dev *dev)
{
    for (size_t i = 0; i < OFI_REGION_BUCKETS; i++) {
        while (dev->regions[i] != NULL) {
            region_close(&dev->regions[i]);
        }
    }
}

/* ---------------------------------------------------------------------- gets */

/* NULL: as many as there may be are out, or there is no memory. */
static struct ofi_read *read_take(struct ofi_dev *dev)
{
    struct am_list *link = am_list_pop(&dev->reads_free);
    struct ofi_read *read;

    if (link != NULL) {
        return am_container(link, struct ofi_read, link);
    }
    if (dev->read_count == OFI_READS_MAX) {
        return NULL;
    }
    read = calloc(1, sizeof(*read));
    dev->read_count += read != NULL;
    return read;
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

void ofi_read_done(struct ofi_dev *dev, struct ofi_read *read, int error)
{
    am_status_t status = status_of(error);
    am_dev_done_fn done = read->done;
    struct ofi_ep *ep = read->ep;
    void *arg = read->arg;

    ep->flying--;
    am_list_remove(&read->link);
    am_list_push(&dev->reads_free, &read->link);
    if (dev->closing) {
        return;
    }
    if (status == AM_ERR_PEER) {
        ofi_ep_doom(dev, ep, error);
    }
    done(arg, status);
}

void ofi_reads_free(struct ofi_dev *dev)
{
    struct am_list *link;

    while ((link = am_list_pop(&dev->reads_free)) != NULL ||
           (link = am_list_pop(&dev->reads)) != NULL) {
        free(am_container(link, struct ofi_read, link));
    }
}

static bool key_is_sound(const struct am_dev_key *key, size_t offset,
                         size_t bytes)
{
    return key->w[2] >> AM_DEV_KEY_BITS == 0 && offset <= key->w[2] &&
           bytes <= key->w[2] - offset;
}

/* The pieces that are not empty: their count, which may be too many. */
static uint32_t pieces_take(const struct iovec *local, uint32_t count,
                            struct iovec *pieces, size_t *bytes_p)
{
    uint32_t taken = 0;

    *bytes_p = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (local[i].iov_len > 0) {
            if (taken < IOV_MOST) {
                pieces[taken] = local[i];
            }
            taken++;
            *bytes_p += local[i].iov_len;
        }
    }
    return taken;
}

static am_status_t read_post(struct ofi_dev *dev, struct ofi_read *read,
                             const struct iovec *pieces, uint32_t count,
                             const struct fi_rma_iov *remote)
{
    void *descs[IOV_MOST] = {NULL};
    struct fi_msg_rma message = {.msg_iov = pieces,
                                 .desc = descs,
                                 .iov_count = count,
                                 .addr = read->ep->to,
                                 .rma_iov = remote,
                                 .rma_iov_count = 1,
                                 .context = &read->context};
    ssize_t said = fi_readmsg(dev->ep, &message, FI_COMPLETION);

    if (said == 0) {
        read->ep->used = true;
        read->ep->flying++;
        am_list_push(&dev->reads, &read->link);
        dev->stats[AM_DEV_STAT_GET]++;
        return AM_OK;
    }
    am_list_push(&dev->reads_free, &read->link);
    return said == -FI_EAGAIN ? AM_ERR_AGAIN : AM_ERR_UNSUPPORTED;
}

am_status_t ofi_get(struct am_dev_ep *base, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg)
{
    struct ofi_dev *dev = ofi_dev_of(base->dev);
    struct ofi_ep *ep = ofi_ep_of(base);
    struct fi_rma_iov remote = {key->w[0] + offset, 0, key->w[1]};
    struct iovec pieces[IOV_MOST];
    uint32_t taken = pieces_take(local, count, pieces, &remote.len);
    struct ofi_read *read;

    if (ep->dead || ep->left || dev->forked) {
        return AM_ERR_PEER;
    }
    if (!key_is_sound(key, offset, remote.len)) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_INVALID;
    }
    if (taken == 0) {
        return AM_DONE;
    }
    if ((dev->base.attr.caps & AM_DEV_CAP_GET) == 0 || taken > IOV_MOST ||
        taken > dev->info->tx_attr->iov_limit) {
        return AM_ERR_UNSUPPORTED;
    }
    read = read_take(dev);
    if (read == NULL) {
        return AM_ERR_AGAIN;
    }
    read->context.kind = OFI_KIND_READ;
    read->ep = ep;
    read->done = done;
    read->arg = arg;
    return read_post(dev, read, pieces, taken, &remote);
}
