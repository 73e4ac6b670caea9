/*
 * What lies in the memory that processes of a node share.  One segment holds
 * the ranks of a job on this node (n = their number), or a pair that connected
 * late (n = 2).  Nothing in it is a pointer.
 *
 *   +--------+----------+----------------+-------------------+-------+
 *   | header | ranks[n] | attach bitmaps | lanes[to][from]   | heaps |
 *   +--------+----------+----------------+-------------------+-------+
 *
 *   lane (from -> to):
 *   +---------------+------------+---------------+-------------+-----------+
 *   | request head  | reply head | request slots | reply slots | data ring |
 *   | (by receiver) |            | depth * 64 B  |             | of each   |
 *   +---------------+------------+---------------+-------------+-----------+
 *
 * A slot is one cache line.  Its stamp, written last, says that it is full;
 * no count is shared on the way of a short message.  A payload that does not
 * fit the slot lies in the lane's data ring, contiguous, and is freed in the
 * order of the slots.  Pages of lanes that are never used are never touched.
 */
#ifndef AM_DEV_SHM_SHM_LAYOUT_H
#define AM_DEV_SHM_SHM_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define SHM_MAGIC      0x616d2d73686d3031ull /* "am-shm01" */
#define SHM_LINE       64
#define SHM_SLOT_BYTES 56 /* header, words and payload inside a slot */
#define SHM_EXT_BYTES  48 /* header and words in a slot with a payload out */
#define SHM_CPU_WORDS  4  /* 256 CPUs of affinity; more count as all */
#define SHM_PAGE       4096

/* Slot kinds: all inside; payload in the data ring; header there as well. */
enum {
    SHM_INLINE = 0,
    SHM_DATA = 1,
    SHM_ALL_DATA = 2
};

struct shm_slot {
    _Atomic uint64_t ctl; /* stamp:32 | hdr_bytes:8 | bytes:8 | kind:8 */

    union {
        uint64_t w[SHM_SLOT_BYTES / 8];

        struct {
            uint64_t hdr[SHM_EXT_BYTES / 8];
            uint32_t offset; /* in the data ring */
            uint32_t bytes;
        } ext;
    } u;
};

static_assert(sizeof(struct shm_slot) == SHM_LINE, "a slot is a cache line");

/* What the receiver has consumed; on a line of its own. */
struct shm_head {
    _Atomic uint64_t slots;
    _Atomic uint64_t data_bytes;
    char pad[SHM_LINE - 16];
};

static_assert(sizeof(struct shm_head) == SHM_LINE, "a head is a cache line");

enum {
    SHM_RANK_OPEN = 0,
    SHM_RANK_CLOSED = 1
};

struct shm_rank {
    /* line 0: written by the owner, read by every sender */
    _Atomic uint32_t sleeping;
    _Atomic uint32_t state;
    _Atomic uint32_t pid; /* 0 until the rank has mapped the segment */
    _Atomic uint32_t core; /* 1 + the CPU on which it waits; 0: not awake */
    _Atomic uint64_t cpus[SHM_CPU_WORDS];
    char pad0[SHM_LINE - 16 - 8 * SHM_CPU_WORDS];
    /* line 1: written by senders that ring or attach */
    _Atomic uint32_t bell;
    _Atomic uint32_t attached; /* lanes opened to this rank, counted */
    char pad1[SHM_LINE - 8];
};

static_assert(sizeof(struct shm_rank) == 2 * SHM_LINE, "two cache lines");

struct shm_header {
    uint64_t magic;
    uint64_t nonce;         /* of the context that made the segment */
    uint32_t count;         /* n */
    uint32_t depth[2];      /* slots of a class, power of two */
    uint32_t ring_bytes[2]; /* data ring of a class, power of two */
    uint32_t packet_bytes[2];
    uint32_t pad;
    uint64_t heap_bytes; /* of each rank */
};

/* Offsets that follow from a header. */
struct shm_geometry {
    uint64_t ranks, bitmaps, lanes, heaps, total;
    uint64_t bitmap_bytes, lane_bytes;
    uint64_t slots[2], data[2]; /* inside a lane */
};

/* Compute the offsets; returns -1 when a field is out of its range. */
int shm_geometry_compute(const struct shm_header *header,
                         struct shm_geometry *geometry);

#endif
