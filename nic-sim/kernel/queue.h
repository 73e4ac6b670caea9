/*
 * The queue of pending events, in total order (time, then order).
 *
 *   near: a heap of what comes before near_end_ps
 *   wheel: buckets of the following 2^shift ps each, unordered
 *   far: a heap of what comes after the wheel
 *
 *   now ... [near] near_end | b | b | b | ... | b | [far] ...
 *                             ^ next
 *
 * When `near` is empty the next bucket that is not is put in order there, so
 * an event costs a link into a bucket and a short sift, however many are
 * pending.  While few are, all of them are near.  Nothing is allocated for an
 * event; heaps and wheel grow by doubling.
 */
#ifndef NS_KERNEL_QUEUE_H
#define NS_KERNEL_QUEUE_H

#include "nicsim.h"

struct ns_heap_entry {
    uint64_t time_ps;
    uint64_t order;
    struct ns_event *event;
};

struct ns_heap {
    struct ns_heap_entry *entries;
    uint32_t count, max;
};

struct ns_queue {
    struct ns_heap near, far;
    uint64_t near_end_ps; /* NS_NEVER: there is no wheel */
    uint32_t shift;       /* a bucket is 2^shift ps */
    uint64_t next;        /* the first bucket that may hold events */
    uint32_t in_wheel;
    uint32_t buckets; /* a power of two; 0: none yet */
    uint64_t *used;   /* a bit for each bucket */
    struct ns_event **bucket;
    uint32_t drains;  /* buckets put in order since the width was chosen, */
    uint64_t drained; /* and events that came near meanwhile */
};

/* Where an event is: ns_event.where. */
enum {
    NS_WHERE_NONE,
    NS_WHERE_NEAR,
    NS_WHERE_FAR,
    NS_WHERE_WHEEL
};

/* heap.c: 0, or -1 when out of memory. */
int ns_heap_init(struct ns_heap *heap);
void ns_heap_add(struct ns_heap *heap, struct ns_event *event, uint8_t where);
/* Take out the entry at `index`. */
void ns_heap_remove(struct ns_heap *heap, uint32_t index);

/* 0, or -1 when out of memory. */
int ns_queue_init(struct ns_queue *queue);
void ns_queue_fini(struct ns_queue *queue);
/* The event's time_ps and order are set; it is not pending. */
void ns_queue_add(struct ns_queue *queue, struct ns_event *event);
void ns_queue_remove(struct ns_queue *queue, struct ns_event *event);
/* The first event, NULL when none is pending.  It stays. */
const struct ns_heap_entry *ns_queue_first(struct ns_queue *queue);
/* Take the first event out; there is one. */
void ns_queue_pop(struct ns_queue *queue);

#endif
