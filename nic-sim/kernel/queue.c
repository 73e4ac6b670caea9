/*
 * The queue of pending events: two heaps and a wheel of buckets.
 */
#include "kernel/queue.h"

#include <stdlib.h>
#include <string.h>

enum {
    NEAR_MAX = 24,     /* more than these need a wheel */
    NEAR_MIN = 8,      /* so few need none */
    BUCKET_WANTED = 8, /* events in a bucket */
    DRAINS = 4096,     /* the width is looked at so often */
    SHIFT_MAX = 50,
    BUCKETS_MIN = 1024,
    BUCKETS_MAX = 1 << 20
};

/* -------------------------------------------------------------------- wheel */

static void wheel_add(struct ns_queue *queue, struct ns_event *event)
{
    uint32_t at =
            (uint32_t)(event->time_ps >> queue->shift) & (queue->buckets - 1);

    event->where = NS_WHERE_WHEEL;
    event->next = queue->bucket[at];
    queue->bucket[at] = event;
    queue->used[at / 64] |= UINT64_C(1) << at % 64;
    queue->in_wheel++;
}

static void wheel_remove(struct ns_queue *queue, struct ns_event *event)
{
    uint32_t at =
            (uint32_t)(event->time_ps >> queue->shift) & (queue->buckets - 1);
    struct ns_event **link = &queue->bucket[at];

    while (*link != event) {
        link = &(*link)->next;
    }
    *link = event->next;
    event->where = NS_WHERE_NONE;
    if (queue->bucket[at] == NULL) {
        queue->used[at / 64] &= ~(UINT64_C(1) << at % 64);
    }
    queue->in_wheel--;
}

/* The first bucket from `next` on that holds events; there is one. */
static uint64_t wheel_find(const struct ns_queue *queue)
{
    uint32_t from = (uint32_t)queue->next & (queue->buckets - 1);
    uint32_t word = from / 64;
    uint64_t bits = queue->used[word] & ~UINT64_C(0) << from % 64;
    uint32_t at;

    while (bits == 0) {
        word = (word + 1) % (queue->buckets / 64);
        bits = queue->used[word];
    }
    at = word * 64 + (uint32_t)__builtin_ctzll(bits);
    return queue->next + ((at - from) & (queue->buckets - 1));
}

/* Bucket `next` has moved on: what is no longer too far goes into the wheel. */
static void far_come(struct ns_queue *queue)
{
    while (queue->far.count > 0) {
        struct ns_heap_entry first = queue->far.entries[0];

        if (first.time_ps >> queue->shift >= queue->next + queue->buckets) {
            break;
        }
        ns_heap_remove(&queue->far, 0);
        wheel_add(queue, first.event);
    }
}

static void near_end_set(struct ns_queue *queue, uint64_t bucket)
{
    queue->next = bucket;
    queue->near_end_ps = bucket << queue->shift;
}

/* Put one event where it belongs now. */
static void sort_in(struct ns_queue *queue, struct ns_event *event)
{
    if (event->time_ps < queue->near_end_ps) {
        ns_heap_add(&queue->near, event, NS_WHERE_NEAR);
        queue->drained++;
    } else if (event->time_ps >> queue->shift < queue->next + queue->buckets) {
        wheel_add(queue, event);
    } else {
        ns_heap_add(&queue->far, event, NS_WHERE_FAR);
    }
}

/* Put the next bucket in order. */
static void bucket_drain(struct ns_queue *queue)
{
    struct ns_event *event, *next;
    uint64_t bucket;
    uint32_t at;

    if (queue->in_wheel == 0) {
        near_end_set(queue, queue->far.entries[0].time_ps >> queue->shift);
        far_come(queue);
    }
    bucket = wheel_find(queue);
    at = (uint32_t)bucket & (queue->buckets - 1);
    event = queue->bucket[at];
    queue->bucket[at] = NULL;
    queue->used[at / 64] &= ~(UINT64_C(1) << at % 64);
    for (; event != NULL; event = next) {
        next = event->next;
        queue->in_wheel--;
        queue->drained++;
        ns_heap_add(&queue->near, event, NS_WHERE_NEAR);
    }
    near_end_set(queue, bucket + 1);
    far_come(queue);
    queue->drains++;
}

/* ---------------------------------------------------- how wide, if at all */

static uint32_t pending(const struct ns_queue *queue)
{
    return queue->near.count + queue->in_wheel + queue->far.count;
}

static void heap_gather(struct ns_heap *heap, struct ns_event **all)
{
    for (uint32_t i = 0; i < heap->count; i++) {
        heap->entries[i].event->next = *all;
        *all = heap->entries[i].event;
    }
    heap->count = 0;
}

/* All events as a list; the queue is empty. */
static struct ns_event *gather(struct ns_queue *queue)
{
    struct ns_event *all = NULL;

    heap_gather(&queue->near, &all);
    heap_gather(&queue->far, &all);
    for (uint32_t i = 0; i < queue->buckets; i++) {
        while (queue->bucket[i] != NULL) {
            struct ns_event *event = queue->bucket[i];

            queue->bucket[i] = event->next;
            event->next = all;
            all = event;
        }
    }
    if (queue->buckets > 0) {
        memset(queue->used, 0, queue->buckets / 8);
    }
    queue->in_wheel = 0;
    queue->near_end_ps = NS_NEVER;
    return all;
}

static void spread(struct ns_queue *queue, struct ns_event *all)
{
    while (all != NULL) {
        struct ns_event *next = all->next;

        sort_in(queue, all);
        all = next;
    }
    queue->drains = 0;
    queue->drained = 0;
}

/* Room for `buckets`, a power of two. */
static void buckets_set(struct ns_queue *queue, uint32_t buckets)
{
    if (buckets == queue->buckets) {
        return;
    }
    free(queue->bucket);
    free(queue->used);
    queue->bucket = calloc(buckets, sizeof(struct ns_event *));
    queue->used = calloc(buckets / 64, sizeof(*queue->used));
    NS_CHECK(queue->bucket != NULL && queue->used != NULL);
    queue->buckets = buckets;
}

/* Begin a wheel that is wide enough for all that is pending now. */
static void wheel_start(struct ns_queue *queue, uint32_t shift)
{
    uint64_t first_ps = ns_queue_first(queue)->time_ps;
    uint32_t buckets = BUCKETS_MIN;
    uint32_t count = pending(queue);
    struct ns_event *all = gather(queue);

    while (buckets < count / 2 && buckets < BUCKETS_MAX) {
        buckets *= 2;
    }
    buckets_set(queue, buckets);
    queue->shift = shift;
    near_end_set(queue, (first_ps >> shift) + 1);
    spread(queue, all);
}

/* A width at which about BUCKET_WANTED of the events that are near, half of
 * which come before the median, fall into a bucket. */
static uint32_t shift_guess(const struct ns_heap *heap)
{
    uint64_t first_ps = heap->entries[0].time_ps;
    uint64_t low_ps = 0, high_ps = UINT64_MAX;
    uint64_t width_ps;
    uint32_t shift = 0;

    /* the median by halving the range of what it can be */
    while (low_ps < high_ps) {
        uint64_t middle_ps = low_ps + (high_ps - low_ps) / 2;
        uint32_t below = 0;

        for (uint32_t i = 0; i < heap->count; i++) {
            below += heap->entries[i].time_ps <= middle_ps;
        }
        if (below * 2 >= heap->count) {
            high_ps = middle_ps;
        } else {
            low_ps = middle_ps + 1;
        }
    }
    width_ps = (low_ps - first_ps) * 2 / heap->count * BUCKET_WANTED;
    while (shift < SHIFT_MAX && (UINT64_C(1) << shift) < width_ps) {
        shift++;
    }
    return shift;
}

/* Buckets hold far more or far fewer events than wanted, or are too few for
 * what is pending: begin anew. */
static void width_look(struct ns_queue *queue)
{
    uint64_t wanted = (uint64_t)queue->drains * BUCKET_WANTED;
    uint32_t shift = queue->shift;

    while (queue->drained > 2 * wanted && shift > 0) {
        wanted *= 2;
        shift--;
    }
    while (queue->drained * 2 < wanted && shift < SHIFT_MAX) {
        wanted /= 2;
        shift++;
    }
    queue->drains = 0;
    queue->drained = 0;
    if (shift != queue->shift ||
        (pending(queue) > 2 * queue->buckets && queue->buckets < BUCKETS_MAX)) {
        wheel_start(queue, shift);
    }
}

/* `near` is empty and there is a wheel. */
static void refill(struct ns_queue *queue)
{
    if (queue->in_wheel + queue->far.count == 0) {
        return;
    }
    if (queue->in_wheel + queue->far.count < NEAR_MIN) {
        spread(queue, gather(queue)); /* all are near */
        return;
    }
    bucket_drain(queue);
    if (queue->drains == DRAINS) {
        width_look(queue);
    }
}

/* --------------------------------------------------------------------- both */

int ns_queue_init(struct ns_queue *queue)
{
    memset(queue, 0, sizeof(*queue));
    queue->near_end_ps = NS_NEVER;
    return ns_heap_init(&queue->near) != 0 || ns_heap_init(&queue->far) != 0
                   ? -1
                   : 0;
}

void ns_queue_fini(struct ns_queue *queue)
{
    free(queue->near.entries);
    free(queue->far.entries);
    free(queue->bucket);
    free(queue->used);
}

void ns_queue_add(struct ns_queue *queue, struct ns_event *event)
{
    sort_in(queue, event);
    if (queue->near_end_ps == NS_NEVER && queue->near.count > NEAR_MAX) {
        wheel_start(queue, shift_guess(&queue->near));
    }
}

void ns_queue_remove(struct ns_queue *queue, struct ns_event *event)
{
    if (event->where == NS_WHERE_WHEEL) {
        wheel_remove(queue, event);
    } else {
        ns_heap_remove(event->where == NS_WHERE_NEAR ? &queue->near
                                                     : &queue->far,
                       event->slot);
    }
}

const struct ns_heap_entry *ns_queue_first(struct ns_queue *queue)
{
    if (queue->near.count == 0 && queue->near_end_ps != NS_NEVER) {
        refill(queue);
    }
    return queue->near.count == 0 ? NULL : &queue->near.entries[0];
}

void ns_queue_pop(struct ns_queue *queue)
{
    ns_heap_remove(&queue->near, 0);
}
