/*
 * One-sided operations: regions of memory that peers may reach, and store, get,
 * put, fetch-and-add on them.  Any size and, where the device has no such thing,
 * by packets that the target's polls put in place.  Comes with am.h.
 *
 * Store and get follow SP AM (Chang et al. 1996, section 1.1), regions, put and
 * get DCMF (Kumar et al., ICS 2008), fetch-and-add LCI (Verstoep et al., TOCS
 * 2004).
 */
#ifndef AM_ONESIDED_H
#define AM_ONESIDED_H

#include <am.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A memory region makes [base, base + bytes) reachable by peers; every access
 * of a peer is checked against it.  base NULL with bytes SIZE_MAX opens the
 * whole address space, which is what GAM programs that pass bare addresses
 * want; it must be asked for.  The memory stays the caller's and must live as
 * long as the region.
 */
struct am_region; /* owned by the context until am_region_deregister */

#define AM_KEY_BYTES 32

struct am_key { /* names a region to a peer; plain bytes, send it anyhow */
    uint64_t w[AM_KEY_BYTES / 8];
};

/* Make a region.  AM_ERR_MEMORY, AM_ERR_FORKED. */
AM_API am_status_t am_region_register(struct am_ctx *ctx, void *base,
                                      size_t bytes, struct am_region **r_p);
/* Close and free it; what peers still send to it is counted as rx_bad_region
 * and dropped, and a copy that a peer would make by itself ends there with
 * AM_ERR_INVALID.
 * Waits for such copies under way, which take as long as a system call.  Legal in a
 * handler. */
AM_API void am_region_deregister(struct am_ctx *ctx, struct am_region *r);
/*
 * Write a key of it, which is valid until the region is closed, in any peer's
 * hands.  A device that can put and get by itself does so with a key that was
 * made for one of its peers: am_region_key_to makes one for `peer`, and may
 * register the memory with that peer's device; am_region_key makes one for the
 * peers of the first such device, those on this node as a rule.  All others use
 * it as well, by packets.  Errors of am_region_key_to: AM_ERR_INVALID,
 * AM_ERR_PEER, AM_ERR_MEMORY (no such peer, or it cannot be reached).
 */
AM_API void am_region_key(struct am_region *r, struct am_key *key);
AM_API am_status_t am_region_key_to(struct am_region *r, uint32_t peer,
                                    struct am_key *key);

/*
 * Copy `bytes` local bytes to [remote, remote + bytes) in the address space of
 * `dest` (inside one of its regions), then run `handler` there with 0 to 4
 * words (and `remote`, `bytes` as its data); handler 0: none.  Any size.
 * am_ctx_store polls until `local` may be reused; am_ctx_store_async returns at
 * once, and `done` (NULL: none) is called here when the transfer has ended at
 * the receiver; `local` is untouched until then.  Errors, at once or given to
 * `done`: AM_ERR_INVALID (an argument; the receiver refused the address),
 * AM_ERR_PEER, AM_ERR_MEMORY, AM_ERR_FORKED.  am_ctx_store is not legal in a
 * handler (AM_ERR_HANDLER), and does not learn that the receiver refused.
 */
AM_API am_status_t am_ctx_store(struct am_ctx *ctx, uint32_t dest,
                                const void *local, void *remote, size_t bytes,
                                uint32_t handler, const uint64_t *words,
                                uint32_t word_count);
AM_API am_status_t am_ctx_store_async(struct am_ctx *ctx, uint32_t dest,
                                      const void *local, void *remote,
                                      size_t bytes, uint32_t handler,
                                      const uint64_t *words,
                                      uint32_t word_count, am_done_fn done,
                                      void *arg);

/*
 * Fetch [remote, remote + bytes) of `dest` into `local`, then run the local
 * `handler` with 0 to AM_WORDS_MAX words (and `local`, `bytes` as its data).
 * Returns at once: am_get is split-phase in GAM.  The handler does not run when
 * the peer refuses the address or dies.  Errors: AM_ERR_INVALID, AM_ERR_PEER,
 * AM_ERR_MEMORY, AM_ERR_FORKED.
 */
AM_API am_status_t am_ctx_get(struct am_ctx *ctx, uint32_t dest,
                              const void *remote, void *local, size_t bytes,
                              uint32_t handler, const uint64_t *words,
                              uint32_t word_count);

/* GAM's names: the same with one word of 32 bits on the default context;
 * AM_ERR_INVALID before am_init. */
AM_API am_status_t am_store(uint32_t dest, const void *local, void *remote,
                            size_t bytes, uint32_t handler, uint32_t a0);
AM_API am_status_t am_store_async(uint32_t dest, const void *local,
                                  void *remote, size_t bytes, uint32_t handler,
                                  uint32_t a0, am_done_fn done, void *arg);
AM_API am_status_t am_get(uint32_t dest, const void *remote, void *local,
                          size_t bytes, uint32_t handler, uint32_t a0);

/*
 * One-sided put and get between `data` (any kind, copied; what it points to
 * lives until `done`) and [offset, offset + data->bytes) of a peer's region.
 * `done` (NULL: none) is called when the bytes are in place (put: at the
 * target), or with AM_ERR_INVALID (outside the region), AM_ERR_PEER or AM_ERR_MEMORY.  Errors
 * at once: AM_ERR_INVALID (no such peer), AM_ERR_PEER, AM_ERR_MEMORY,
 * AM_ERR_FORKED.
 */
AM_API am_status_t am_ctx_put(struct am_ctx *ctx, uint32_t dest,
                              const struct am_data *data,
                              const struct am_key *key, size_t offset,
                              am_done_fn done, void *arg);
AM_API am_status_t am_ctx_rget(struct am_ctx *ctx, uint32_t dest,
                               const struct am_data *data,
                               const struct am_key *key, size_t offset,
                               am_done_fn done, void *arg);

/*
 * Add `value` to the 8-byte aligned uint64_t at `offset` of a region,
 * atomically among all fetch-and-adds on it; *old_p is written before `done`
 * (NULL: none) is called.  Polls once unless in a handler, and `done` may come
 * before it returns.  Errors as of put; AM_ERR_INVALID also for a word that is not aligned.
 */
AM_API am_status_t am_ctx_fetch_add(struct am_ctx *ctx, uint32_t dest,
                                    const struct am_key *key, size_t offset,
                                    uint64_t value, uint64_t *old_p,
                                    am_done_fn done, void *arg);

#ifdef __cplusplus
}
#endif
#endif
