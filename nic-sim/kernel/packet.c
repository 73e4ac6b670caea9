/*
 * The pool of packets.
 */
#include "nicsim_link.h"

#include <stdlib.h>

#define SLAB_PACKETS 64

static size_t packet_stride(const struct ns_packet_pool *pool)
{
    size_t data =
            pool->data_bytes == 0 ? NS_PACKET_BYTES_MAX : pool->data_bytes;

    return (sizeof(struct ns_packet) + data + 63) / 64 * 64;
}

static bool slab_add(struct ns_packet_pool *pool)
{
    size_t stride = packet_stride(pool);
    void **slabs =
            realloc(pool->slabs, (pool->slab_count + 1) * sizeof(*pool->slabs));
    char *slab;

    if (slabs == NULL) {
        return false;
    }
    pool->slabs = slabs;
    slab = calloc(SLAB_PACKETS, stride);
    if (slab == NULL) {
        return false;
    }
    pool->slabs[pool->slab_count++] = slab;
    for (uint32_t i = 0; i < SLAB_PACKETS; i++) {
        struct ns_packet *packet = (struct ns_packet *)(slab + i * stride);

        packet->free_next = pool->free;
        pool->free = packet;
    }
    return true;
}

struct ns_packet *ns_packet_get(struct ns_packet_pool *pool)
{
    struct ns_packet *packet;

    if (pool->free == NULL && !slab_add(pool)) {
        return NULL;
    }
    packet = pool->free;
    pool->free = packet->free_next;
    pool->out++;
    am_list_init(&packet->link);
    packet->event.where = 0;
    packet->hop = 0;
    packet->at = NULL;
    packet->vc = 0;
    packet->spare = 0;
    packet->tail_ps = 0;
    packet->corrupt = false;
    packet->pool = pool;
    return packet;
}

void ns_packet_put(struct ns_packet_pool *pool, struct ns_packet *packet)
{
    NS_CHECK(pool->out > 0 && !ns_event_pending(&packet->event));
    packet->free_next = pool->free;
    pool->free = packet;
    pool->out--;
}

void ns_packet_pool_fini(struct ns_packet_pool *pool)
{
    for (uint32_t i = 0; i < pool->slab_count; i++) {
        free(pool->slabs[i]);
    }
    free(pool->slabs);
    *pool = (struct ns_packet_pool){0};
}
