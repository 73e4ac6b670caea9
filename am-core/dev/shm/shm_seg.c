/*
 * Segments of the shm device: layout, creation, mapping, checking.  A segment
 * is a memfd: it has no name, so nothing is left behind whoever dies, and it is
 * sealed against resizing, so no peer can make an access fault.
 */
#include "config.h"

#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"
#include "dev/shm/shm_wait.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHM_HEAP_BYTES (64ull << 20) /* address space; pages come when used */

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

int shm_geometry_compute(const struct shm_header *header,
                         struct shm_geometry *g)
{
    uint64_t n = header->count;
    uint64_t at = SHM_SLOTS_AT;

    if (header->magic != SHM_MAGIC || n < 1 || n > 65536 ||
        header->heap_bytes > (1ull << 40) ||
        header->heap_bytes % SHM_PAGE != 0) {
        return -1;
    }
    for (int c = 0; c < 2; c++) {
        if (!is_power_of_two(header->depth[c]) || header->depth[c] > 65536 ||
            !is_power_of_two(header->ring_bytes[c]) ||
            header->ring_bytes[c] / 4 < header->packet_bytes[c] ||
            header->ring_bytes[c] > (1u << 30) ||
            header->packet_bytes[c] < 256) {
            return -1;
        }
        g->slots[c] = at;
        at += (uint64_t)header->depth[c] * sizeof(struct shm_slot);
    }
    g->lane_bytes = round_up(at, SHM_PAGE);
    at = 0;
    for (int c = 0; c < 2; c++) {
        g->data[c] = round_up(at, SHM_PAGE);
        if (header->ring_bytes[c] >= SHM_RING_LARGE) {
            g->data[c] += SHM_RING_ASIDE;
        }
        at = g->data[c] + header->ring_bytes[c];
    }
    g->rings_bytes = round_up(at, SHM_PAGE);
    g->ranks = SHM_PAGE;
    g->bitmap_bytes = round_up((n + 7) / 8, SHM_LINE);
    g->bitmaps = g->ranks + n * sizeof(struct shm_rank);
    g->lanes = round_up(g->bitmaps + n * g->bitmap_bytes, SHM_PAGE);
    g->rings = g->lanes +
               round_up(n, SHM_TILE) * round_up(n, SHM_TILE) * g->lane_bytes;
    g->heaps = g->rings + n * n * g->rings_bytes;
    g->total = g->heaps + n * header->heap_bytes;
    return 0;
}

/* A line that the receiver's own cache still holds takes twice as long to write as
 * one that has left for the cache of all cores: a long ring is twice the cache of a
 * core (of 1 MiB; from 32 KiB on a stream then ran at 28 GB/s, and at 13 with half
 * of it), at least 1 MiB, so that a window of 64 messages of 16 KiB fits. */
static size_t large_ring(void)
{
    const size_t most = (size_t)4 << 20;
    size_t cache = shm_near_core_cache("/sys"), bytes = SHM_RING_LARGE;

    while (bytes < most && bytes < 2 * cache) {
        bytes *= 2;
    }
    return bytes;
}

/* A rank has as many rings as there are others, so that with many ranks they are
 * smaller: 4 MiB for each rank until the least size is reached.  That size it is
 * at once where ranks outnumber the CPUs: a sender fills the ring before the
 * receiver has its turn, and what the rings take of the caches is lost to what the
 * ranks compute on (NAS FT class W on 4 ranks over 2 cores: 9% less time than with
 * 1 MiB). */
size_t shm_seg_ring_bytes(const struct shm_dev *dev, uint32_t count)
{
    size_t bytes = SHM_RING_LARGE;

    if (dev->config.ring_bytes != 0) {
        return dev->config.ring_bytes;
    }
    if (dev->local_count > shm_cpu_count()) {
        return SHM_RING_LEAST;
    }
    while (bytes > SHM_RING_LEAST && bytes * count > 4 * SHM_RING_LARGE) {
        bytes /= 2;
    }
    return bytes < SHM_RING_LARGE ? bytes : large_ring();
}

/* Replies carry at most a quarter of what a request may (am.h). */
static void seg_header_fill(struct shm_dev *dev, uint32_t count,
                            size_t packet_bytes, struct shm_header *header)
{
    size_t ring_bytes =
            shm_seg_ring_bytes(dev, count > dev->size ? count : dev->size);

    if (packet_bytes > SHM_PACKET_MOST) {
        packet_bytes = SHM_PACKET_MOST; /* more no peer can have meant */
    }
    if (packet_bytes < dev->config.packet_bytes) {
        packet_bytes = dev->config.packet_bytes;
    }
    while (ring_bytes < 4 * packet_bytes) {
        ring_bytes *= 2;
    }
    *header = (struct shm_header){
            .magic = SHM_MAGIC,
            .nonce = dev->nonce,
            .count = count,
            .heap_bytes = SHM_HEAP_BYTES,
    };
    for (int c = 0; c < 2; c++) {
        header->depth[c] = (uint32_t)dev->config.slots;
        header->ring_bytes[c] = (uint32_t)(ring_bytes >> 2 * c);
        header->packet_bytes[c] = (uint32_t)(packet_bytes >> 2 * c);
    }
}

/* Why there is no segment. */
static __attribute__((format(printf, 2, 3))) void
seg_error(struct shm_dev *dev, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(dev->error, sizeof(dev->error), format, args);
    va_end(args);
    dev->base.error = dev->error;
}

static am_status_t seg_map(struct shm_dev *dev, int fd, uint32_t self,
                           const struct shm_header *header,
                           struct shm_seg **seg_p)
{
    struct shm_seg *seg = calloc(1, sizeof(*seg));

    if (seg == NULL) {
        seg_error(dev, "shm: no memory for what a segment needs");
        return AM_ERR_MEMORY;
    }
    seg->dev = dev;
    seg->fd = -1;
    seg->header = *header;
    seg->self = self;
    shm_geometry_compute(header, &seg->geometry);
    seg->eps = calloc(header->count, sizeof(struct shm_ep *));
    seg->base = mmap(NULL, seg->geometry.total, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (seg->eps == NULL || seg->base == MAP_FAILED) {
        seg_error(dev,
                  "shm: cannot map %llu bytes of shared memory: %m (is there a "
                  "limit of address space, ulimit -v?)",
                  (unsigned long long)seg->geometry.total);
        if (seg->base != MAP_FAILED) {
            munmap(seg->base, seg->geometry.total);
        }
        free(seg->eps);
        free(seg);
        return AM_ERR_MEMORY;
    }
    seg->me = shm_seg_rank(seg, self);
    shm_cpus_publish(seg->me);
    shm_costs_near(dev, seg->me);
    atomic_store(&seg->me->pid, dev->pid);
    *seg_p = seg;
    return AM_OK;
}

/* A limit of the size of files counts for shared memory as well, and who passes
 * it gets a signal.  Is there room for so much? */
static bool file_limit_allows(struct shm_dev *dev, uint64_t bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes) {
        return true;
    }
    seg_error(
            dev,
            "the limit of the size of files (ulimit -f) is %llu bytes, and the "
            "shared memory of this node's ranks needs %llu",
            (unsigned long long)limit.rlim_cur, (unsigned long long)bytes);
    return false;
}

am_status_t shm_seg_create(struct shm_dev *dev, uint32_t count, uint32_t self,
                           size_t packet_bytes, struct shm_seg **seg_p)
{
    struct shm_header header;
    struct shm_geometry geometry;
    am_status_t status;
    int fd;

    seg_header_fill(dev, count, packet_bytes, &header);
    if (shm_geometry_compute(&header, &geometry) != 0) {
        seg_error(dev, "shm: AM_SHM_RING must be at least 4 x AM_SHM_PACKET");
        return AM_ERR_CONFIG;
    }
    if (!file_limit_allows(dev, geometry.total)) {
        return AM_ERR_MEMORY;
    }
    fd = memfd_create("libam", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        seg_error(dev, "shm: memfd_create failed: %m");
        return AM_ERR_SYSTEM;
    }
    if (ftruncate(fd, (off_t)geometry.total) != 0 ||
        pwrite(fd, &header, sizeof(header), 0) != sizeof(header)) {
        seg_error(dev, "shm: no shared memory for a segment of %llu bytes: %m",
                  (unsigned long long)geometry.total);
        status = AM_ERR_MEMORY;
        goto err_close;
    }
    /* A peer that could shrink the file could make our accesses fault. */
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    status = seg_map(dev, fd, self, &header, seg_p);
    if (status != AM_OK) {
        goto err_close;
    }
    (*seg_p)->fd = fd;
    return AM_OK;

err_close:
    close(fd);
    return status;
}

am_status_t shm_seg_attach(struct shm_dev *dev, int fd, uint32_t count,
                           uint32_t self, uint64_t nonce,
                           struct shm_seg **seg_p)
{
    struct shm_header header;
    struct shm_geometry geometry;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(fd, &st) != 0 ||
        pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        shm_geometry_compute(&header, &geometry) != 0 ||
        header.count != count || self >= count || header.nonce != nonce ||
        (uint64_t)st.st_size != geometry.total) {
        am_log(dev->log, AM_LOG_ERROR,
               "shm: a peer passed a descriptor that is not a segment");
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_PEER;
    }
    return seg_map(dev, fd, self, &header, seg_p);
}

void shm_seg_add(struct shm_dev *dev, struct shm_seg *seg)
{
    seg->next = dev->segs;
    dev->segs = dev->seg_at = seg;
}

void shm_seg_close(struct shm_seg *seg)
{
    if (!seg->dev->forked) {
        atomic_store_explicit(&seg->me->core, 0, memory_order_relaxed);
        am_publish32(&seg->me->state, seg->dev->base.abandoned
                                              ? SHM_RANK_FAILED
                                              : SHM_RANK_CLOSED);
    }
    munmap(seg->base, seg->geometry.total);
    if (seg->fd >= 0) {
        close(seg->fd);
    }
    free(seg->eps);
    free(seg);
}

struct shm_rank *shm_seg_rank(struct shm_seg *seg, uint32_t index)
{
    return (struct shm_rank *)(seg->base + seg->geometry.ranks) + index;
}

char *shm_seg_heap(struct shm_seg *seg, uint32_t index)
{
    return seg->base + seg->geometry.heaps + index * seg->header.heap_bytes;
}

char *shm_seg_lane(struct shm_seg *seg, uint32_t to, uint32_t from)
{
    uint64_t tiles = (seg->header.count + SHM_TILE - 1) / SHM_TILE;
    uint64_t tile = to / SHM_TILE * tiles + from / SHM_TILE;
    uint64_t index =
            (tile * SHM_TILE + from % SHM_TILE) * SHM_TILE + to % SHM_TILE;

    return seg->base + seg->geometry.lanes + index * seg->geometry.lane_bytes;
}

char *shm_seg_rings(struct shm_seg *seg, uint32_t to, uint32_t from)
{
    uint64_t index = (uint64_t)to * seg->header.count + from;

    return seg->base + seg->geometry.rings + index * seg->geometry.rings_bytes;
}

static _Atomic unsigned char *seg_bitmap(struct shm_seg *seg, uint32_t to)
{
    return (_Atomic unsigned char *)(seg->base + seg->geometry.bitmaps +
                                     to * seg->geometry.bitmap_bytes);
}

void shm_ep_bind(struct shm_ep *ep, struct shm_seg *seg, uint32_t index)
{
    char *out = shm_seg_lane(seg, index, seg->self);
    char *in = shm_seg_lane(seg, seg->self, index);
    char *data_out = shm_seg_rings(seg, index, seg->self);
    char *data_in = shm_seg_rings(seg, seg->self, index);

    ep->seg = seg;
    ep->index = index;
    ep->peer = shm_seg_rank(seg, index);
    ep->peer_sleeping = &ep->peer->sleeping;
    ep->reply_room = false;
    ep->tail_out = (struct shm_tail *)(out + SHM_TAIL_AT);
    ep->tail_in = (struct shm_tail *)(in + SHM_TAIL_AT);
    for (int c = 0; c < 2; c++) {
        uint32_t depth = seg->header.depth[c];
        uint32_t ring_bytes = seg->header.ring_bytes[c];

        ep->tx[c] = (struct shm_tx){
                .slots = (struct shm_slot *)(out + seg->geometry.slots[c]),
                .limit = depth, /* no run yet: next and stop are NULL */
                .mask = depth - 1,
                .ring_bytes = ring_bytes,
                .data_limit = ring_bytes,
                .fetched = shm_ring_is_small(ring_bytes) ? ring_bytes : 0,
                .shared = (struct shm_head *)out + c,
                .data = data_out + seg->geometry.data[c],
                /* what a reply finds room for never waits; as in a large ring */
                .made = shm_ring_is_small(ring_bytes) ? ring_bytes : 0,
        };
        ep->rx[c] = (struct shm_rx){
                .slots = (struct shm_slot *)(in + seg->geometry.slots[c]),
                .mask = depth - 1,
                .ring_bytes = ring_bytes,
                .shared = (struct shm_head *)in + c,
                .data = data_in + seg->geometry.data[c],
        };
        shm_rx_start(&ep->rx[c]);
    }
    ep->tx[AM_DEV_REQUEST].front_bytes = seg->front_bytes;
    ep->tx[AM_DEV_REQUEST].made = seg->made_bytes;
    ep->ep.pages = seg->made_bytes == 0 ? shm_pages_of(seg) : NULL;
    seg->eps[index] = ep;
    shm_costs_place(seg->dev, ep);
}

void shm_ep_announce(struct shm_ep *ep)
{
    struct shm_seg *seg = ep->seg;

    atomic_fetch_or(seg_bitmap(seg, ep->index) + seg->self / 8,
                    (unsigned char)(1u << seg->self % 8));
    atomic_fetch_add(&ep->peer->attached, 1);
    ep->tx_open = true;
}

bool shm_ep_is_announced(const struct shm_ep *ep)
{
    struct shm_seg *seg = ep->seg;

    return (atomic_load(seg_bitmap(seg, ep->index) + seg->self / 8) >>
                    seg->self % 8 &
            1) != 0;
}

bool shm_seg_announced(struct shm_seg *seg, uint32_t index)
{
    return (atomic_load(seg_bitmap(seg, seg->self) + index / 8) >> index % 8 &
            1) != 0;
}
