/*
 * A ring of packets of different lengths in one block of memory.  Each record
 * lies in one piece, so a packet can be filled and delivered in place; the
 * rest at the end of the block is skipped when a record does not fit there.
 *
 *   | record | record |   free   | record | record | skip |
 *                     ^tail      ^head
 *
 * head and tail count bytes ever taken and put; both are multiples of
 * SELF_RECORD_ALIGN.  At the limit self_ring_reserve returns NULL.
 */
#ifndef AM_DEV_SELF_SELF_RING_H
#define AM_DEV_SELF_SELF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SELF_RING_BYTES   ((size_t)64 * 1024)
#define SELF_RECORD_ALIGN ((size_t)16)
#define SELF_SKIP         UINT32_MAX /* hdr_bytes of the rest that is skipped */

struct self_record {
    uint32_t hdr_bytes;
    uint32_t data_bytes;
    uint64_t body[1]; /* header, then data from the next multiple of 8 */
};

struct self_ring {
    uint8_t *block; /* SELF_RING_BYTES */
    size_t head, tail;
};

static inline size_t self_round(size_t bytes, size_t align)
{
    return (bytes + align - 1) & ~(align - 1);
}

static inline size_t self_record_bytes(size_t hdr_bytes, size_t data_bytes)
{
    size_t body_bytes = self_round(hdr_bytes, 8) + data_bytes;

    return self_round(offsetof(struct self_record, body) + body_bytes,
                      SELF_RECORD_ALIGN);
}

/* Bytes to skip at the end of the block before a record of `bytes`. */
static inline size_t self_ring_skip(const struct self_ring *ring, size_t bytes)
{
    size_t rest = SELF_RING_BYTES - ring->tail % SELF_RING_BYTES;

    return rest < bytes ? rest : 0;
}

static inline bool self_ring_fits(const struct self_ring *ring, size_t bytes)
{
    return ring->tail - ring->head + self_ring_skip(ring, bytes) + bytes <=
           SELF_RING_BYTES;
}

static inline struct self_record *self_ring_at(const struct self_ring *ring,
                                               size_t position)
{
    void *at = ring->block + position % SELF_RING_BYTES;

    return at;
}

/* Room for one record, or NULL; it is in the ring when this returns. */
static inline struct self_record *
self_ring_push(struct self_ring *ring, size_t hdr_bytes, size_t data_bytes)
{
    size_t bytes = self_record_bytes(hdr_bytes, data_bytes);
    size_t skip = self_ring_skip(ring, bytes);
    struct self_record *record;

    if (!self_ring_fits(ring, bytes)) {
        return NULL;
    }
    if (skip != 0) {
        self_ring_at(ring, ring->tail)->hdr_bytes = SELF_SKIP;
        ring->tail += skip;
    }
    record = self_ring_at(ring, ring->tail);
    record->hdr_bytes = (uint32_t)hdr_bytes;
    record->data_bytes = (uint32_t)data_bytes;
    ring->tail += bytes;
    return record;
}

/* The oldest record, NULL when the ring is empty. */
static inline struct self_record *self_ring_head(struct self_ring *ring)
{
    struct self_record *record;

    if (ring->head == ring->tail) {
        return NULL;
    }
    record = self_ring_at(ring, ring->head);
    if (record->hdr_bytes == SELF_SKIP) {
        ring->head += SELF_RING_BYTES - ring->head % SELF_RING_BYTES;
        record = self_ring_at(ring, ring->head);
    }
    return record;
}

static inline void self_ring_pop(struct self_ring *ring,
                                 const struct self_record *record)
{
    ring->head += self_record_bytes(record->hdr_bytes, record->data_bytes);
}

static inline void *self_record_data(struct self_record *record)
{
    return (uint8_t *)record->body + self_round(record->hdr_bytes, 8);
}

#endif
