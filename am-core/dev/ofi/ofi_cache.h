/*
 * Memory that is registered with a provider: found again by its addresses while
 * somebody uses it, and, as far as it may be kept, after that.
 *
 *   take -> (found | opened) -> used by one or more -> given -> closed
 *                                  ^                    |
 *                                  '------ kept <-------'  oldest out, or dropped
 *
 * A registration names pages.  When a program gives memory back to the system and
 * gets other pages at the same addresses, a registration that was kept names the
 * old ones, and nobody tells this library.  So nothing is kept by default
 * (AM_OFI_CACHE).  No threads, no provider: those are behind two functions.
 */
#ifndef AM_DEV_OFI_OFI_CACHE_H
#define AM_DEV_OFI_OFI_CACHE_H

#include "base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One registration. */
struct ofi_mr {
    uintptr_t base;
    size_t bytes;
    uint64_t access; /* FI_READ, FI_REMOTE_WRITE, ... */
    uint32_t users;
    bool stale;          /* its memory may have gone: not found any more */
    struct am_list link; /* of those kept */
    struct ofi_mr *next; /* the caller's, from open to close */
    void *handle;        /* the caller's */
    uint64_t key;        /* the caller's */
};

struct ofi_cache {
    /* Register mr->base, bytes, access: 0 or -FI_E...; the other undoes it. */
    int (*open)(void *arg, struct ofi_mr *mr);
    void (*close)(void *arg, struct ofi_mr *mr);
    void *arg;
    uint32_t kept_max; /* without a user */
    size_t kept_bytes_max;
    /* the rest is the cache's */
    struct ofi_mr **sorted; /* by base; a stale one is not in it */
    uint32_t count, room;
    size_t longest;      /* bytes of the longest that ever was in it */
    struct am_list kept; /* the one that was used last is the last */
    uint32_t kept_count;
    size_t kept_bytes;
    uint64_t opened, found; /* counts */
};

void ofi_cache_init(struct ofi_cache *cache);
/* A registration of the memory that allows `access`, for one more user.  `exact`:
 * of this memory and no more, since a peer will get its key.  0 or -FI_E... */
int ofi_cache_take(struct ofi_cache *cache, const void *base, size_t bytes,
                   uint64_t access, bool exact, struct ofi_mr **mr_p);
void ofi_cache_give(struct ofi_cache *cache, struct ofi_mr *mr);
/* The memory may go: what is kept of it is closed, what is used is when its last
 * user gives it. */
void ofi_cache_drop(struct ofi_cache *cache, const void *base, size_t bytes);
/* Close all that is kept; what is still used stays its users'. */
void ofi_cache_clear(struct ofi_cache *cache);
/* After that, when there is none. */
void ofi_cache_free(struct ofi_cache *cache);

#endif
