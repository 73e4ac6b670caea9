/*
 * Pool: objects of one size, in slabs that are allocated when needed and kept
 * until the pool ends, up to a quota.  A get that finds a free object and
 * every put are a few instructions and never allocate.
 *
 *   slab ->  next slab | object | object | object | ...
 *   free ->  object -> object -> NULL          (linked through their first
 *                                               word while they are free;
 *                                               those never taken are not)
 *
 * In debug and AddressSanitizer builds a free object is filled with a pattern
 * that is checked when it is taken again, a second put of it is found, and
 * ASan forbids it to be touched.  A pool belongs to one thread.
 */
#ifndef AM_BASE_POOL_H
#define AM_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_pool_object {
    struct am_pool_object *next;
};

struct am_pool_slab;

struct am_pool {
    struct am_pool_object *free;
    bool poison;           /* debug: take the slow way */
    uint32_t slab_objects; /* objects in one slab */
    size_t object_bytes;   /* rounded up to the alignment */
    size_t align;          /* power of two */
    uint64_t objects_max;  /* quota: most objects that exist */
    uint64_t object_count; /* objects that exist */
    uint64_t used_count;   /* objects that are taken */
    struct am_pool_slab *slabs;
};

/*
 * An empty pool of objects of `object_bytes` (at least 1) at addresses that
 * are multiples of `align` (a power of two, at most 4096; 0 means 64).  It
 * grows by `slab_objects` (at least 1) up to `objects_max` objects.
 */
void am_pool_init(struct am_pool *pool, size_t object_bytes, size_t align,
                  uint32_t slab_objects, uint64_t objects_max);

/* Free all slabs; objects that are still taken go with them. */
void am_pool_fini(struct am_pool *pool);

/* Slow ways; use am_pool_get and am_pool_put. */
void *am_pool_get_slow(struct am_pool *pool);
void am_pool_put_slow(struct am_pool *pool, void *object);

/* Is the pool sound: are counts and free list in agreement?  For tests. */
bool am_pool_is_valid(const struct am_pool *pool);

/* Take an object (contents undefined); NULL at the quota or out of memory. */
static inline void *am_pool_get(struct am_pool *pool)
{
    struct am_pool_object *object = pool->free;

    if (__builtin_expect(object == NULL || pool->poison, 0)) {
        return am_pool_get_slow(pool);
    }
    pool->free = object->next;
    pool->used_count++;
    return object;
}

/* Give back an object of this pool. */
static inline void am_pool_put(struct am_pool *pool, void *object)
{
    struct am_pool_object *free_object = object;

    if (__builtin_expect(pool->poison, 0)) {
        am_pool_put_slow(pool, object);
        return;
    }
    free_object->next = pool->free;
    pool->free = free_object;
    pool->used_count--;
}

#endif
