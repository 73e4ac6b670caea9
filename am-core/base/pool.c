/*
 * Pool: growth by slabs, the quota, and the poison of debug builds.
 * Calls libc only.
 */
#include <config.h>

#include "base/pool.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POOL_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(POOL_ASAN)
#include <sanitizer/asan_interface.h>
#define POOL_POISON              true
#define hide(_address, _bytes)   __asan_poison_memory_region(_address, _bytes)
#define unhide(_address, _bytes) __asan_unpoison_memory_region(_address, _bytes)
#else
#ifdef AM_DEBUG
#define POOL_POISON true
#else
#define POOL_POISON false
#endif
#define hide(_address, _bytes)   ((void)(_address), (void)(_bytes))
#define unhide(_address, _bytes) ((void)(_address), (void)(_bytes))
#endif

#define POISON_BYTE   0xdb
#define ALIGN_DEFAULT 64
#define ALIGN_MAX     4096

/* The objects begin at the first multiple of the alignment after it.  Fresh ones
 * are at its end, and nothing is written there: a slab may be of more pages than are
 * ever used, and each costs a page fault.  With poison none is fresh. */
struct am_pool_slab {
    struct am_pool_slab *next;
    uint64_t object_count;
    uint64_t fresh_count; /* never taken, and not on the free list */
};

static size_t round_up(size_t bytes, size_t align)
{
    return (bytes + align - 1) & ~(align - 1);
}

void am_pool_init(struct am_pool *pool, size_t object_bytes, size_t align,
                  uint32_t slab_objects, uint64_t objects_max)
{
    align = align != 0 ? align : ALIGN_DEFAULT;
    AM_CHECK((align & (align - 1)) == 0 && align <= ALIGN_MAX);
    AM_CHECK(object_bytes > 0 && slab_objects > 0);
    if (align < sizeof(struct am_pool_object)) {
        align = sizeof(struct am_pool_object);
    }
    *pool = (struct am_pool){
            .poison = POOL_POISON,
            .slab_objects = slab_objects,
            .object_bytes = round_up(object_bytes, align),
            .align = align,
            .objects_max = objects_max,
    };
}

void am_pool_fini(struct am_pool *pool)
{
    struct am_pool_slab *slab = pool->slabs;

    while (slab != NULL) {
        struct am_pool_slab *next = slab->next;

        unhide(slab, round_up(sizeof(*slab), pool->align) +
                             slab->object_count * pool->object_bytes);
        free(slab);
        slab = next;
    }
    pool->slabs = NULL;
    pool->free = NULL;
    pool->object_count = pool->used_count = 0;
}

/* ----------------------------------------------------------------- poison */

static unsigned char *body_of(struct am_pool_object *object)
{
    return (unsigned char *)(object + 1);
}

static size_t body_bytes(const struct am_pool *pool)
{
    return pool->object_bytes - sizeof(struct am_pool_object);
}

/* Has the whole of a free object's body the pattern? */
static bool is_poisoned(const struct am_pool *pool,
                        struct am_pool_object *object)
{
    const unsigned char *body = body_of(object);
    size_t bytes = body_bytes(pool);

    return bytes == 0 ||
           (body[0] == POISON_BYTE && memcmp(body, body + 1, bytes - 1) == 0);
}

/* Put an object on the free list, with the pattern if poison is on. */
static void push_free(struct am_pool *pool, struct am_pool_object *object)
{
    object->next = pool->free;
    pool->free = object;
    if (pool->poison) {
        memset(body_of(object), POISON_BYTE, body_bytes(pool));
        hide(object, pool->object_bytes);
    }
}

/* The next free object; a free object may be hidden from ASan. */
static const struct am_pool_object *next_of(const struct am_pool *pool,
                                            const struct am_pool_object *object)
{
    const struct am_pool_object *next;

    if (!pool->poison) {
        return object->next;
    }
    unhide(object, sizeof(*object));
    next = object->next;
    hide(object, sizeof(*object));
    return next;
}

static bool is_on_free_list(const struct am_pool *pool, const void *object)
{
    const struct am_pool_object *at = pool->free;
    bool found = false;

    while (at != NULL && !found) {
        const struct am_pool_object *next = next_of(pool, at);

        found = at == object;
        at = next;
    }
    return found;
}

/* ----------------------------------------------------------------- growth */

static struct am_pool_object *
object_of(const struct am_pool *pool, struct am_pool_slab *slab, uint64_t index)
{
    return (void *)((char *)slab + round_up(sizeof(*slab), pool->align) +
                    index * pool->object_bytes);
}

/* Add one slab, smaller if the quota is near.  False at the quota. */
static bool grow(struct am_pool *pool)
{
    uint64_t count = pool->objects_max - pool->object_count;
    size_t head_bytes = round_up(sizeof(struct am_pool_slab), pool->align);
    struct am_pool_slab *slab = NULL;

    if (count > pool->slab_objects) {
        count = pool->slab_objects;
    }
    if (count == 0 || (SIZE_MAX - head_bytes) / pool->object_bytes < count ||
        posix_memalign((void **)&slab, pool->align,
                       head_bytes + count * pool->object_bytes) != 0) {
        return false;
    }
    slab->next = pool->slabs;
    slab->object_count = count;
    slab->fresh_count = pool->poison ? 0 : count;
    pool->slabs = slab;
    pool->object_count += count;
    for (uint64_t i = pool->poison ? count : 0; i > 0; i--) {
        push_free(pool, object_of(pool, slab, i - 1)); /* the first on top */
    }
    return true;
}

/* Something for the free list, which is empty; only the newest slab has fresh ones. */
static bool refill(struct am_pool *pool)
{
    struct am_pool_slab *slab = pool->slabs;

    if ((slab == NULL || slab->fresh_count == 0) && !grow(pool)) {
        return false;
    }
    slab = pool->slabs;
    if (slab->fresh_count > 0) {
        push_free(pool, object_of(pool, slab,
                                  slab->object_count - slab->fresh_count--));
    }
    return true;
}

void *am_pool_get_slow(struct am_pool *pool)
{
    struct am_pool_object *object;

    if (pool->free == NULL && !refill(pool)) {
        return NULL;
    }
    object = pool->free;
    if (pool->poison) {
        unhide(object, pool->object_bytes);
        AM_CHECK(is_poisoned(pool, object)); /* else written while free */
    }
    pool->free = object->next;
    pool->used_count++;
    return object;
}

void am_pool_put_slow(struct am_pool *pool, void *object)
{
    AM_CHECK(pool->used_count > 0);
    /* An object put twice has the pattern all over, and is on the list. */
    AM_CHECK(body_bytes(pool) == 0 || !is_poisoned(pool, object) ||
             !is_on_free_list(pool, object));
    pool->used_count--;
    push_free(pool, object);
}

/* ------------------------------------------------------------- validation */

/* Is this the address of an object of one of the slabs that is not fresh? */
static bool is_object(const struct am_pool *pool, const void *address)
{
    for (struct am_pool_slab *slab = pool->slabs; slab != NULL;
         slab = slab->next) {
        uintptr_t offset =
                (uintptr_t)address - (uintptr_t)object_of(pool, slab, 0);

        if (offset <
            (slab->object_count - slab->fresh_count) * pool->object_bytes) {
            return offset % pool->object_bytes == 0;
        }
    }
    return false;
}

bool am_pool_is_valid(const struct am_pool *pool)
{
    const struct am_pool_object *object = pool->free;
    uint64_t free_count = 0;
    uint64_t fresh_count = pool->slabs == NULL ? 0 : pool->slabs->fresh_count;

    while (object != NULL) {
        if (!is_object(pool, object) || free_count == pool->object_count) {
            return false;
        }
        free_count++;
        object = next_of(pool, object);
    }
    return pool->object_count <= pool->objects_max &&
           free_count + fresh_count + pool->used_count == pool->object_count;
}
