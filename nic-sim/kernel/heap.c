/*
 * A heap of pending events.  Its array holds the keys, so that sifting touches
 * no event but to note its place.
 */
#include "kernel/queue.h"

#include <stdlib.h>

enum {
    HEAP_FIRST = 256,
    WAYS = 4 /* children of a node */
};

static bool key_before(const struct ns_heap_entry *a,
                       const struct ns_heap_entry *b)
{
    return a->time_ps != b->time_ps ? a->time_ps < b->time_ps
                                    : a->order < b->order;
}

static void heap_place(struct ns_heap *heap, uint32_t index,
                       struct ns_heap_entry entry)
{
    heap->entries[index] = entry;
    entry.event->slot = index;
}

static void heap_up(struct ns_heap *heap, uint32_t index,
                    struct ns_heap_entry entry)
{
    while (index > 0) {
        uint32_t parent = (index - 1) / WAYS;

        if (!key_before(&entry, &heap->entries[parent])) {
            break;
        }
        heap_place(heap, index, heap->entries[parent]);
        index = parent;
    }
    heap_place(heap, index, entry);
}

static void heap_down(struct ns_heap *heap, uint32_t index,
                      struct ns_heap_entry entry)
{
    for (;;) {
        uint32_t first = WAYS * index + 1;
        uint32_t last = first + WAYS < heap->count ? first + WAYS : heap->count;
        uint32_t best = first;

        if (first >= heap->count) {
            break;
        }
        for (uint32_t child = first + 1; child < last; child++) {
            if (key_before(&heap->entries[child], &heap->entries[best])) {
                best = child;
            }
        }
        if (!key_before(&heap->entries[best], &entry)) {
            break;
        }
        heap_place(heap, index, heap->entries[best]);
        index = best;
    }
    heap_place(heap, index, entry);
}

void ns_heap_add(struct ns_heap *heap, struct ns_event *event, uint8_t where)
{
    if (heap->count == heap->max) {
        struct ns_heap_entry *entries = realloc(
                heap->entries, 2 * (size_t)heap->max * sizeof(*entries));

        NS_CHECK(entries != NULL);
        heap->entries = entries;
        heap->max *= 2;
    }
    event->where = where;
    heap_up(heap, heap->count++,
            (struct ns_heap_entry){event->time_ps, event->order, event});
}

void ns_heap_remove(struct ns_heap *heap, uint32_t index)
{
    struct ns_heap_entry last = heap->entries[--heap->count];

    heap->entries[index].event->where = NS_WHERE_NONE;
    if (index == heap->count) {
        return;
    }
    if (index > 0 && key_before(&last, &heap->entries[(index - 1) / WAYS])) {
        heap_up(heap, index, last);
    } else {
        heap_down(heap, index, last);
    }
}

int ns_heap_init(struct ns_heap *heap)
{
    heap->entries = malloc(HEAP_FIRST * sizeof(*heap->entries));
    heap->max = HEAP_FIRST;
    heap->count = 0;
    return heap->entries == NULL ? -1 : 0;
}
