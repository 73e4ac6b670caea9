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

/* As one number, which is compared without a jump: which child is the first no
 * processor can foretell. */
static unsigned __int128 key_of(const struct ns_heap_entry *entry)
{
    return (unsigned __int128)entry->time_ps << 64 | entry->order;
}

static bool key_before(const struct ns_heap_entry *a,
                       const struct ns_heap_entry *b)
{
    return key_of(a) < key_of(b);
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

/* The first of the children from `first` on; there is one. */
static uint32_t child_first(const struct ns_heap *heap, uint32_t first)
{
    const struct ns_heap_entry *child = &heap->entries[first];
    uint32_t count = heap->count - first;
    uint32_t best = 0;

    if (count >= WAYS) {
        uint32_t low = key_before(&child[1], &child[0]);
        uint32_t high = 2 + (uint32_t)key_before(&child[3], &child[2]);

        return first + (key_before(&child[high], &child[low]) ? high : low);
    }
    for (uint32_t i = 1; i < count; i++) {
        best = key_before(&child[i], &child[best]) ? i : best;
    }
    return first + best;
}

static void heap_down(struct ns_heap *heap, uint32_t index,
                      struct ns_heap_entry entry)
{
    for (;;) {
        uint32_t first = WAYS * index + 1;
        uint32_t best;

        if (first >= heap->count) {
            break;
        }
        best = child_first(heap, first);
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
