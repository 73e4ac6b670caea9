/*
 * Put, get and fetch-and-add of the shm device, and memory that peers may
 * write directly.
 */
#include "config.h"

#include "base/binalloc.h"
#include "base/copy.h"
#include "dev/shm/shm_mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define PROBE_BYTES 65536

/* Where a single copy is slow for where its two memories lie, it goes through memory of
 * its own that is so long and lies well. */
#define DETOUR_BYTES ((size_t)32768)
#define DETOUR_FROM  ((size_t)1024)

/* One copy within this process in ps, the best of so many: others may want the core.
 * UINT64_MAX: the kernel does not allow it. */
static uint64_t probe_ps(struct shm_dev *dev, char *to, char *from,
                         size_t bytes, int count)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < count; i++) {
        struct iovec local = {to, bytes};
        struct iovec remote = {from, bytes};
        uint64_t start = am_env_now(dev->env), elapsed;

        if (process_vm_readv((pid_t)dev->pid, &local, 1, &remote, 1, 0) !=
            (ssize_t)bytes) {
            return UINT64_MAX;
        }
        elapsed = am_env_now(dev->env) - start;
        best = elapsed < best ? elapsed : best;
    }
    return best;
}

/* Does the kernel copy slowly what am_copy_is_unlucky?  Then there is a detour. */
static void probe_unlucky(struct shm_dev *dev, char *to, char *from)
{
    const size_t bytes = 8192;
    uint64_t best = probe_ps(dev, to, from, bytes, 4);

    if (probe_ps(dev, to + 16, from, bytes, 4) / 2 > best) {
        dev->detour = aligned_alloc(SHM_PAGE, SHM_PAGE + DETOUR_BYTES);
    }
}

/* A system call takes 0.2 to 1 us, and what it does for each page is of either part. */
static void probe_cost(struct shm_dev *dev, char *to, char *from,
                       uint64_t long_ps)
{
    const size_t bytes = 64;
    uint64_t short_ps = probe_ps(dev, to, from, bytes, 8);

    if (short_ps < long_ps) {
        dev->single_ps = short_ps;
        dev->single_fs = (long_ps - short_ps) * 1000 / (PROBE_BYTES - bytes);
    }
}

void shm_mem_probe(struct shm_dev *dev)
{
    uint64_t best;
    char *from;

    if (dev->config.cma == SHM_CMA_OFF) {
        return;
    }
    from = aligned_alloc(SHM_PAGE, 2 * PROBE_BYTES);
    if (from == NULL) {
        return;
    }
    memset(from, 1, 2 * PROBE_BYTES);
    best = probe_ps(dev, from + PROBE_BYTES, from, PROBE_BYTES, 16);
    dev->cma = best != UINT64_MAX;
    if (dev->cma) {
        dev->base.attr.caps |=
                AM_DEV_CAP_PUT | AM_DEV_CAP_GET | AM_DEV_CAP_KEY_BYTES;
        probe_cost(dev, from + PROBE_BYTES, from, best);
        probe_unlucky(dev, from + PROBE_BYTES, from);
    } else {
        am_log(dev->log, AM_LOG_INFO,
               "shm: process_vm_readv is not allowed here (%m): "
               "messages are copied through shared memory");
    }
    free(from);
}

void shm_mem_close(struct shm_dev *dev)
{
    if (dev->heap != NULL) {
        am_binalloc_close(dev->heap);
    }
    free(dev->detour);
}

am_status_t shm_mem_register(struct am_dev *adev, void *base, size_t bytes,
                             uint32_t rights, struct am_dev_key *key)
{
    struct shm_dev *dev = shm_dev_of(adev);
    uint32_t serial = ++dev->registered;

    shm_withdrawn_age(dev, serial);
    key->w[0] = (uintptr_t)base;
    key->w[1] = bytes;
    key->w[2] = SHM_KEY_VM | (uint64_t)dev->pid << SHM_KEY_OWNER_AT |
                (uint64_t)serial << SHM_KEY_SERIAL_AT;
    return AM_OK;
}

void shm_mem_deregister(struct am_dev *dev, const struct am_dev_key *key)
{
}

/* The allocator has a word for each unit of the heap: with units of a page these words
 * would take 16 pages, written when the first group or window takes memory. */
#define HEAP_ALIGN ((size_t)8 * SHM_PAGE)

void *shm_alloc(struct am_dev *adev, size_t bytes, struct am_dev_key *key)
{
    struct shm_dev *dev = shm_dev_of(adev);
    size_t offset;

    if (dev->job == NULL) {
        return NULL;
    }
    if (dev->heap == NULL) {
        struct am_binalloc_params heap = {.region_bytes =
                                                  dev->job->header.heap_bytes,
                                          .align = HEAP_ALIGN};

        if (am_binalloc_open(&heap, &dev->heap) != AM_OK) {
            return NULL;
        }
    }
    if (am_binalloc_get(dev->heap, bytes, &offset) != AM_OK) {
        return NULL;
    }
    key->w[0] = offset;
    key->w[1] = bytes;
    key->w[2] = SHM_KEY_HEAP | (uint64_t)dev->local_index << SHM_KEY_OWNER_AT;
    return shm_seg_heap(dev->job, dev->job->self) + offset;
}

void shm_release(struct am_dev *adev, void *base, size_t bytes)
{
    struct shm_dev *dev = shm_dev_of(adev);
    char *heap = shm_seg_heap(dev->job, dev->job->self);

    (void)am_binalloc_put(dev->heap, (size_t)((char *)base - heap));
}

void *shm_map(struct am_dev_ep *dep, const struct am_dev_key *key,
              size_t offset, size_t bytes)
{
    struct shm_ep *ep = shm_ep_of(dep);
    struct shm_dev *dev = shm_dev_of(dep->dev);

    if (shm_key_kind(key) != SHM_KEY_HEAP || ep->seg == NULL ||
        ep->seg != dev->job || shm_key_owner(key) != ep->index ||
        offset > key->w[1] || bytes > key->w[1] - offset ||
        key->w[0] > ep->seg->header.heap_bytes ||
        key->w[1] > ep->seg->header.heap_bytes - key->w[0]) {
        return NULL;
    }
    return shm_seg_heap(ep->seg, ep->index) + key->w[0] + offset;
}

/* A single copy took so long: a mean over the last ones, of which each counts as so much
 * at most, as the core may have been another's. */
static void copy_took(struct shm_dev *dev, size_t bytes, uint64_t elapsed_ps)
{
    const uint64_t most_ps = 16000000, last = 16;
    const struct am_linfn *get = &dev->base.attr.perf.get;
    uint64_t said_ps = get->fixed_ps + bytes * get->per_byte_fs / 1000;
    uint64_t more_ps = elapsed_ps > said_ps ? elapsed_ps - said_ps : 0;

    dev->pages.more_ps -= dev->pages.more_ps / last;
    dev->pages.more_ps += (more_ps < most_ps ? more_ps : most_ps) / last;
}

/* As process_vm_readv and writev of one piece, which may stop early. */
static ssize_t vm_direct(struct shm_ep *ep, bool put, char *mine, char *theirs,
                         size_t bytes)
{
    struct iovec local = {mine, bytes}, remote = {theirs, bytes};
    pid_t pid = (pid_t)ep->pid;

    return put ? process_vm_writev(pid, &local, 1, &remote, 1, 0)
               : process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

/* The same by way of memory that begins in its page where the peer's does. */
static ssize_t vm_detour(struct shm_ep *ep, bool put, char *mine, char *theirs,
                         size_t bytes)
{
    char *by = shm_dev_of(ep->ep.dev)->detour + (uintptr_t)theirs % SHM_PAGE;
    ssize_t got;

    bytes = bytes < DETOUR_BYTES ? bytes : DETOUR_BYTES;
    if (put) {
        am_copy(by, mine, bytes);
    }
    got = vm_direct(ep, put, by, theirs, bytes);
    if (!put && got > 0) {
        am_copy(mine, by, (size_t)got);
    }
    return got;
}

/* Move all of `local` with process_vm_*; the kernel moves at most IOV_MAX
 * pieces and may stop early, so go on until all is done.
 *
 * ESRCH says that the process has no memory any more.  It is at its end, or its
 * first thread alone is: the peer's CPU is asked then, and if it has died, those who
 * wait are told once it is known to have. */
static am_status_t vm_copy(struct shm_ep *ep, bool put,
                           const struct iovec *local, uint32_t count,
                           char *remote)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);

    for (uint32_t i = 0; i < count; i++) {
        bool counts =
                dev->pages.ready_bytes > 0 &&
                !am_meter_rests(ep->ep.meter, AM_COPY_SINGLE, local[i].iov_len);
        uint64_t start = am_meter_start(ep->ep.meter, dev->env, AM_COPY_SINGLE,
                                        local[i].iov_len);
        uint64_t began = counts ? am_env_now(dev->env) : 0;
        size_t done = 0;

        while (done < local[i].iov_len) {
            char *mine = (char *)local[i].iov_base + done;
            size_t left = local[i].iov_len - done;
            bool unlucky = dev->detour != NULL && left >= DETOUR_FROM &&
                           (put ? am_copy_is_unlucky(remote, mine)
                                : am_copy_is_unlucky(mine, remote));
            ssize_t got = (unlucky ? vm_detour : vm_direct)(ep, put, mine,
                                                            remote, left);

            if (got <= 0) {
                return AM_ERR_UNSUPPORTED;
            }
            done += (size_t)got;
            remote += got;
            dev->stats[AM_DEV_STAT_COPY_BYTES] += (uint64_t)got;
        }
        am_meter_stop(ep->ep.meter, dev->env, AM_COPY_SINGLE, done, start);
        if (began > 0) {
            copy_took(dev, done, am_env_now(dev->env) - began);
        }
    }
    return AM_OK;
}

/* The same to or from memory that is mapped here. */
static am_status_t mapped_copy(struct shm_ep *ep, bool put,
                               const struct iovec *local, uint32_t count,
                               char *mapped)
{
    for (uint32_t i = 0; i < count; i++) {
        am_copy(put ? mapped : local[i].iov_base,
                put ? local[i].iov_base : mapped, local[i].iov_len);
        mapped += local[i].iov_len;
        shm_dev_of(ep->ep.dev)->stats[AM_DEV_STAT_COPY_BYTES] +=
                local[i].iov_len;
    }
    return AM_OK;
}

/* Does the key name memory of this peer?  Else one that names an address of
 * this very process would have it written by itself. */
static bool key_is_sound(const struct shm_ep *ep, const struct am_dev_key *key)
{
    return shm_key_kind(key) == SHM_KEY_HEAP ||
           (shm_key_kind(key) == SHM_KEY_VM && shm_key_owner(key) == ep->pid);
}

/* A copy to or from memory of the peer's process; as vm_copy, or as shm_copy_begin says. */
static am_status_t vm_transfer(struct shm_ep *ep, bool put,
                               const struct iovec *local, uint32_t count,
                               const struct am_dev_key *key, size_t offset)
{
    char *theirs = (char *)(uintptr_t)key->w[0] + offset;
    am_status_t status;

    if (ep->seg == NULL) {
        return AM_ERR_UNSUPPORTED; /* nobody has sent a key yet */
    }
    status = shm_copy_begin(ep, key);
    if (status == AM_OK) {
        status = ep->pid == shm_dev_of(ep->ep.dev)->pid
                         ? mapped_copy(ep, put, local, count, theirs)
                         : vm_copy(ep, put, local, count, theirs);
    }
    shm_copy_end(ep);
    return status;
}

static am_status_t transfer(struct am_dev_ep *dep, bool put,
                            const struct iovec *local, uint32_t count,
                            const struct am_dev_key *key, size_t offset)
{
    struct shm_dev *dev = shm_dev_of(dep->dev);
    struct shm_ep *ep = shm_ep_of(dep);
    size_t bytes = 0;
    am_status_t status;
    char *mapped;

    for (uint32_t i = 0; i < count; i++) {
        bytes += local[i].iov_len;
    }
    if (ep->dead) {
        return AM_ERR_PEER;
    }
    if (!key_is_sound(ep, key) || offset > key->w[1] ||
        bytes > key->w[1] - offset) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_INVALID;
    }
    dev->stats[put ? AM_DEV_STAT_PUT : AM_DEV_STAT_GET]++;
    mapped = shm_map(dep, key, offset, bytes);
    if (mapped != NULL) {
        (void)mapped_copy(ep, put, local, count, mapped);
        return AM_DONE;
    }
    if (shm_key_kind(key) != SHM_KEY_VM || (!dev->cma && ep->pid != dev->pid)) {
        return AM_ERR_UNSUPPORTED;
    }
    errno = 0;
    status = vm_transfer(ep, put, local, count, key, offset);
    if (status == AM_ERR_UNSUPPORTED && errno != 0 && errno != EFAULT &&
        errno != ESRCH) {
        dev->cma = false;
        dev->base.attr.caps &= ~(uint32_t)(AM_DEV_CAP_PUT | AM_DEV_CAP_GET);
        am_log(dev->log, AM_LOG_INFO,
               "shm: process_vm_%s to process %u is not allowed (%m): "
               "messages are copied through shared memory",
               put ? "writev" : "readv", (unsigned)shm_key_owner(key));
        shm_costs_changed(dev);
    }
    return status == AM_OK ? AM_DONE : status;
}

am_status_t shm_put(struct am_dev_ep *ep, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg)
{
    return transfer(ep, true, local, count, key, offset);
}

am_status_t shm_get(struct am_dev_ep *ep, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg)
{
    return transfer(ep, false, local, count, key, offset);
}

/* Only on memory that is mapped here; elsewhere the target's CPU adds. */
am_status_t shm_fetch_add(struct am_dev_ep *ep, const struct am_dev_key *key,
                          size_t offset, uint64_t value, uint64_t *old_p,
                          am_dev_done_fn done, void *arg)
{
    _Atomic uint64_t *at = shm_map(ep, key, offset, sizeof(uint64_t));

    if (shm_ep_of(ep)->dead) {
        return AM_ERR_PEER;
    }
    if (shm_key_kind(key) == SHM_KEY_VM) {
        return AM_ERR_UNSUPPORTED;
    }
    if (at == NULL || ((uintptr_t)at & 7) != 0) {
        shm_dev_of(ep->dev)->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_INVALID;
    }
    *old_p = atomic_fetch_add(at, value);
    return AM_DONE;
}
