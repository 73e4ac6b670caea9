/*
 * Memory of peers: put, get and fetch-and-add of the shm device, the keys that name
 * memory, and taking keys back.
 */
#ifndef AM_DEV_SHM_SHM_MEM_H
#define AM_DEV_SHM_SHM_MEM_H

#include "dev/shm/shm.h"

/*
 * A key is {base, bytes, kind:2 | owner:22 | serial:32}.  SHM_KEY_VM names memory of a
 * process, the owner, reached with one copy by process_vm_readv and writev where the kernel
 * allows it (the Yama module, seccomp filters and containers may not; then the first attempt
 * says so, and the layer above streams packets instead); the serial tells it from keys made
 * before of the same memory.  SHM_KEY_HEAP names a block of the owner's heap in the job's
 * segment, the owner being a rank's index there.
 */
enum {
    SHM_KEY_VM = 1,
    SHM_KEY_HEAP = 2
};

#define SHM_KEY_OWNER_AT  2
#define SHM_KEY_SERIAL_AT 24

/* Linux has no process ids of more bits. */
static inline uint64_t shm_key_owner(const struct am_dev_key *key)
{
    return key->w[2] >> SHM_KEY_OWNER_AT & 0x3fffff;
}

static inline unsigned shm_key_kind(const struct am_dev_key *key)
{
    return (unsigned)(key->w[2] & 3);
}

static inline uint32_t shm_key_serial(const struct am_dev_key *key)
{
    return (uint32_t)(key->w[2] >> SHM_KEY_SERIAL_AT);
}

/* ------------------------------------------------------------- shm_mem.c */

/* Is single copy there, and what does it take from one buffer of this process to another
 * (dev->single_ps, single_fs)? */
void shm_mem_probe(struct shm_dev *dev);
void shm_mem_close(struct shm_dev *dev);
am_status_t shm_mem_register(struct am_dev *dev, void *base, size_t bytes,
                             uint32_t rights, struct am_dev_key *key);
void shm_mem_deregister(struct am_dev *dev, const struct am_dev_key *key);
void *shm_alloc(struct am_dev *dev, size_t bytes, struct am_dev_key *key);
void shm_release(struct am_dev *dev, void *base, size_t bytes);
am_status_t shm_put(struct am_dev_ep *ep, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg);
am_status_t shm_get(struct am_dev_ep *ep, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg);
am_status_t shm_fetch_add(struct am_dev_ep *ep, const struct am_dev_key *key,
                          size_t offset, uint64_t value, uint64_t *old_p,
                          am_dev_done_fn done, void *arg);
void *shm_map(struct am_dev_ep *ep, const struct am_dev_key *key, size_t offset,
              size_t bytes);

/* -------------------------------------------------------- shm_withdraw.c */

void shm_mem_withdraw(struct am_dev *dev, const struct am_dev_key *key,
                      am_status_t why);
/* Around a single copy to or from memory of the peer, which is mapped.  AM_OK, or nothing
 * may be copied: AM_ERR_PEER, AM_ERR_INVALID: it has taken the key back, as somebody has
 * died, or for another reason; AM_ERR_UNSUPPORTED: it may have, long ago. */
am_status_t shm_copy_begin(struct shm_ep *ep, const struct am_dev_key *key);
void shm_copy_end(struct shm_ep *ep);
/* A key with this serial is made: what was taken back half a circle of serials ago is
 * forgotten, before it looks new. */
void shm_withdrawn_age(struct shm_dev *dev, uint32_t serial);

#endif
