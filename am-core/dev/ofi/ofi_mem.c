/*
 * Regions: memory that peers read and write by the provider (FI_RMA), and memory
 * here that such a transfer begins or ends in, where the provider wants that
 * registered (FI_MR_LOCAL).  Both are registrations of ofi_cache.c.
 *
 *   key  | address, or 0 where offsets count | provider's key | rights, bytes |
 *
 * The owner's provider checks a key again, and what it was registered for.  The
 * rights in it are for honest peers: providers over TCP answer what is not allowed
 * by the end of the connection.
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#define KEY_TRIES      8                 /* random keys may be taken */
#define CACHE_BYTES    ((size_t)1 << 30) /* kept at most */
#define KEY_BYTES_BITS 53
#define KEY_GET        (UINT64_C(1) << 53)
#define KEY_PUT        (UINT64_C(1) << 54)
#define KEY_OWN        (UINT64_C(1) << 55) /* a region of the program's */

/* ---------------------------------------------------------- with the provider */

static struct ofi_mr **bucket_of(struct ofi_dev *dev, uint64_t key)
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

static int mr_open(void *arg, struct ofi_mr *mr)
{
    struct ofi_dev *dev = arg;
    struct ofi_mr **bucket;
    struct fid_mr *fid;
    int failed = -FI_ENOKEY;

    for (int i = 0; i < KEY_TRIES && failed == -FI_ENOKEY; i++) {
        failed = fi_mr_reg(dev->domain, (void *)mr->base, mr->bytes, mr->access,
                           0, key_wanted(dev), 0, &fid, NULL);
    }
    if (failed == 0 &&
        (dev->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        failed = fi_mr_bind(fid, &dev->ep->fid, 0);
        failed = failed != 0 ? failed : fi_mr_enable(fid);
        if (failed != 0) {
            (void)fi_close(&fid->fid);
        }
    }
    if (failed == 0) {
        mr->handle = fid;
        mr->key = fi_mr_key(fid);
        bucket = bucket_of(dev, mr->key);
        mr->next = *bucket;
        *bucket = mr;
    }
    return failed;
}

static void mr_close(void *arg, struct ofi_mr *mr)
{
    struct ofi_mr **at = bucket_of(arg, mr->key);
    struct fid_mr *fid = mr->handle;

    while (*at != mr) {
        at = &(*at)->next;
    }
    *at = mr->next;
    (void)fi_close(&fid->fid);
}

void ofi_mem_init(struct ofi_dev *dev)
{
    dev->cache.open = mr_open;
    dev->cache.close = mr_close;
    dev->cache.arg = dev;
    dev->cache.kept_max = (uint32_t)dev->config.cache_count;
    dev->cache.kept_bytes_max = CACHE_BYTES;
    ofi_cache_init(&dev->cache);
}

void ofi_mem_close(struct ofi_dev *dev)
{
    dev->cache.kept_max = 0;
    ofi_cache_clear(&dev->cache);
    for (size_t i = 0; i < OFI_REGION_BUCKETS; i++) {
        while (dev->regions[i] != NULL) {
            dev->regions[i]->users = 1; /* whoever they were */
            ofi_cache_give(&dev->cache, dev->regions[i]);
        }
    }
    ofi_cache_free(&dev->cache);
}

static bool local_is_wanted(const struct ofi_dev *dev)
{
    return (dev->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
}

/* ------------------------------------------------------------ what peers reach */

/* What the provider is asked for.  Transfers of this end may use the same, as far
 * as it does to the memory what peers may do: it may be read-only. */
static uint64_t access_of(const struct ofi_dev *dev, uint32_t rights)
{
    uint32_t caps = dev->base.attr.caps & rights;
    uint64_t access = 0;

    if ((caps & AM_DEV_CAP_GET) != 0) {
        access |= FI_REMOTE_READ | (local_is_wanted(dev) ? FI_WRITE : 0);
    }
    if ((caps & AM_DEV_CAP_PUT) != 0) {
        access |= FI_REMOTE_WRITE | (local_is_wanted(dev) ? FI_READ : 0);
    }
    return access;
}

am_status_t ofi_mem_register(struct am_dev *base, void *memory, size_t bytes,
                             uint32_t rights, struct am_dev_key *key)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    uint64_t access = access_of(dev, rights), flags = 0;
    bool by_address = (dev->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    struct ofi_mr *mr;

    if (access == 0 || dev->forked || bytes == 0 ||
        bytes >> KEY_BYTES_BITS != 0) {
        return AM_ERR_UNSUPPORTED;
    }
    if (ofi_cache_take(&dev->cache, memory, bytes, access, true, &mr) != 0) {
        return AM_ERR_SYSTEM;
    }
    flags |= (access & FI_REMOTE_READ) != 0 ? KEY_GET : 0;
    flags |= (access & FI_REMOTE_WRITE) != 0 ? KEY_PUT : 0;
    flags |= rights == AM_DEV_RIGHTS_ALL ? KEY_OWN : 0;
    *key = (struct am_dev_key){
            {by_address ? (uintptr_t)memory : 0, mr->key, bytes | flags}};
    return AM_OK;
}

static struct ofi_mr *mr_of(struct ofi_dev *dev, const struct am_dev_key *key)
{
    struct ofi_mr *mr = *bucket_of(dev, key->w[1]);

    while (mr != NULL && mr->key != key->w[1]) {
        mr = mr->next;
    }
    return dev->forked ? NULL : mr;
}

/* Else it would be kept, open, for the next that registers the memory. */
void ofi_mem_withdraw(struct am_dev *base, const struct am_dev_key *key,
                      am_status_t why)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    struct ofi_mr *mr = mr_of(dev, key);

    if (mr != NULL) {
        ofi_cache_drop(&dev->cache, (void *)mr->base, mr->bytes);
    }
}

/* A program that deregisters a region may unmap its memory next. */
void ofi_mem_deregister(struct am_dev *base, const struct am_dev_key *key)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    struct ofi_mr *mr = mr_of(dev, key);

    if (mr == NULL) {
        return;
    }
    if ((key->w[2] & KEY_OWN) != 0) {
        ofi_cache_drop(&dev->cache, (void *)mr->base, mr->bytes);
    }
    ofi_cache_give(&dev->cache, mr);
}

bool ofi_key_is_sound(const struct am_dev_key *key, size_t offset, size_t bytes)
{
    uint64_t whole = key->w[2] & ((UINT64_C(1) << KEY_BYTES_BITS) - 1);

    return key->w[2] >> AM_DEV_KEY_BITS == 0 && offset <= whole &&
           bytes <= whole - offset;
}

bool ofi_key_allows(const struct am_dev_key *key, bool put)
{
    return (key->w[2] & (put ? KEY_PUT : KEY_GET)) != 0;
}

/* ------------------------------------------------------------- what is here */

bool ofi_local_take(struct ofi_dev *dev, struct ofi_rma *rma,
                    const struct iovec *pieces, uint32_t count, void **descs)
{
    uint64_t access = rma->put ? FI_WRITE : FI_READ;

    rma->local_count = 0;
    for (uint32_t i = 0; i < count && local_is_wanted(dev); i++) {
        struct ofi_mr **mr = &rma->local[i];

        if (ofi_cache_take(&dev->cache, pieces[i].iov_base, pieces[i].iov_len,
                           access, false, mr) != 0) {
            ofi_local_give(dev, rma);
            return false;
        }
        rma->local_count++;
        descs[i] = fi_mr_desc((*mr)->handle);
    }
    return true;
}

void ofi_local_give(struct ofi_dev *dev, struct ofi_rma *rma)
{
    while (rma->local_count > 0) {
        ofi_cache_give(&dev->cache, rma->local[--rma->local_count]);
    }
}
