/*
 * The table is sorted by address.  Registrations may overlap, so the one that
 * holds an address can begin far before it: a search goes back from there as far
 * as the longest reaches.
 */
#include "config.h"

#include "base/assert.h"
#include "dev/ofi/ofi_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ofi_cache_init(struct ofi_cache *cache)
{
    am_list_init(&cache->kept);
}

/* ---------------------------------------------------------------- the table */

/* The first that begins after `at`. */
static uint32_t after(const struct ofi_cache *cache, uintptr_t at)
{
    uint32_t low = 0, high = cache->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (cache->sorted[middle]->base <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool insert(struct ofi_cache *cache, struct ofi_mr *mr)
{
    uint32_t at;

    if (cache->count == cache->room) {
        uint32_t room = 2 * cache->room + 16;
        void *sorted = realloc(cache->sorted, room * sizeof(*cache->sorted));

        if (sorted == NULL) {
            return false;
        }
        cache->sorted = sorted;
        cache->room = room;
    }
    at = after(cache, mr->base);
    memmove(cache->sorted + at + 1, cache->sorted + at,
            (cache->count - at) * sizeof(*cache->sorted));
    cache->sorted[at] = mr;
    cache->count++;
    if (mr->bytes > cache->longest) {
        cache->longest = mr->bytes;
    }
    return true;
}

static void take_out(struct ofi_cache *cache, struct ofi_mr *mr)
{
    uint32_t at = after(cache, mr->base);

    do {
        AM_CHECK(at > 0);
        at--;
    } while (cache->sorted[at] != mr);
    cache->count--;
    memmove(cache->sorted + at, cache->sorted + at + 1,
            (cache->count - at) * sizeof(*cache->sorted));
}

static bool serves(const struct ofi_mr *mr, uintptr_t base, size_t bytes,
                   uint64_t access, bool exact)
{
    return (mr->access & access) == access && mr->base <= base &&
           bytes <= mr->bytes && base - mr->base <= mr->bytes - bytes &&
           (!exact || (mr->bytes == bytes && mr->access == access));
}

static struct ofi_mr *find(const struct ofi_cache *cache, uintptr_t base,
                           size_t bytes, uint64_t access, bool exact)
{
    for (uint32_t i = after(cache, base); i > 0; i--) {
        struct ofi_mr *mr = cache->sorted[i - 1];

        if (base - mr->base >= cache->longest) {
            return NULL;
        }
        if (serves(mr, base, bytes, access, exact)) {
            return mr;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------ registrations */

static void mr_close(struct ofi_cache *cache, struct ofi_mr *mr)
{
    if (!mr->stale) {
        take_out(cache, mr);
    }
    cache->close(cache->arg, mr);
    free(mr);
}

static void unkeep(struct ofi_cache *cache, struct ofi_mr *mr)
{
    am_list_remove(&mr->link);
    cache->kept_count--;
    cache->kept_bytes -= mr->bytes;
}

static void oldest_out(struct ofi_cache *cache)
{
    struct ofi_mr *mr = am_container(cache->kept.next, struct ofi_mr, link);

    unkeep(cache, mr);
    mr_close(cache, mr);
}

static int mr_open(struct ofi_cache *cache, struct ofi_mr *mr)
{
    int failed = cache->open(cache->arg, mr);

    /* what is kept may be what the provider has no space for */
    while (failed != 0 && cache->kept_count > 0) {
        oldest_out(cache);
        failed = cache->open(cache->arg, mr);
    }
    if (failed == 0 && !insert(cache, mr)) {
        cache->close(cache->arg, mr);
        failed = -ENOMEM;
    }
    cache->opened += failed == 0;
    return failed;
}

int ofi_cache_take(struct ofi_cache *cache, const void *base, size_t bytes,
                   uint64_t access, bool exact, struct ofi_mr **mr_p)
{
    struct ofi_mr *mr = find(cache, (uintptr_t)base, bytes, access, exact);
    int failed;

    if (mr != NULL) {
        cache->found++;
        if (mr->users++ == 0) {
            unkeep(cache, mr);
        }
        *mr_p = mr;
        return 0;
    }
    mr = calloc(1, sizeof(*mr));
    if (mr == NULL) {
        return -ENOMEM;
    }
    mr->base = (uintptr_t)base;
    mr->bytes = bytes;
    mr->access = access;
    mr->users = 1;
    am_list_init(&mr->link);
    failed = mr_open(cache, mr);
    if (failed != 0) {
        free(mr);
        return failed;
    }
    *mr_p = mr;
    return 0;
}

void ofi_cache_give(struct ofi_cache *cache, struct ofi_mr *mr)
{
    if (--mr->users > 0) {
        return;
    }
    if (mr->stale || cache->kept_max == 0 ||
        mr->bytes > cache->kept_bytes_max) {
        mr_close(cache, mr);
        return;
    }
    am_list_push(&cache->kept, &mr->link);
    cache->kept_count++;
    cache->kept_bytes += mr->bytes;
    while (cache->kept_count > cache->kept_max ||
           cache->kept_bytes > cache->kept_bytes_max) {
        oldest_out(cache);
    }
}

void ofi_cache_drop(struct ofi_cache *cache, const void *base, size_t bytes)
{
    uintptr_t first = (uintptr_t)base, last = first + bytes - 1;
    uint32_t i = bytes == 0 ? 0 : after(cache, last);

    while (i > 0) {
        struct ofi_mr *mr = cache->sorted[--i];

        if (mr->base < first && first - mr->base >= mr->bytes) {
            if (first - mr->base >= cache->longest) {
                return;
            }
            continue;
        }
        if (mr->users == 0) {
            unkeep(cache, mr);
            mr_close(cache, mr);
        } else {
            take_out(cache, mr);
            mr->stale = true;
        }
    }
}

void ofi_cache_clear(struct ofi_cache *cache)
{
    while (cache->kept_count > 0) {
        oldest_out(cache);
    }
}

void ofi_cache_free(struct ofi_cache *cache)
{
    free(cache->sorted);
    cache->sorted = NULL;
}
