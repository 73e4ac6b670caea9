/*
 * What lies in the memory that processes of a node share.  One segment holds
 * the ranks of a job on this node (n = their number), or a pair that connected
 * late (n = 2).  Nothing in it is a pointer.
 *
 *   +--------+----------+----------------+-------+-----------------+-------+
 *   | header | ranks[n] | attach bitmaps | lanes | rings[to][from] | heaps |
 *   +--------+----------+----------------+-------+-----------------+-------+
 *
 *   lane (from -> to):                                         rings of a lane:
 *   +------------+-----------+---------------+-------------+   +-----------+
 *   | heads of   | tails     | request slots | reply slots |   | data ring |
 *   | both       | of both   | depth * 64 B  |             |   | of each   |
 *   | (receiver) | (sender)  |               |             |   | class     |
 *   +------------+-----------+---------------+-------------+   +-----------+
 *
 * The lanes of eight ranks to eight others are neighbours, in the order of the
 * senders: what the system keeps to find pages (a page of its own for each 2 MiB, and
 * a record for each 256 KiB) then serves several lanes, whether a rank sends to many
 * or receives from many.  The first message to a peer then takes a fifth less time.
 *
 * A slot is one cache line.  Its stamp, written last, says that it is full;
 * no count is shared on the way of a short message: the tails are written now
 * and then, so that a stamp that got lost can be told from one that is still to
 * come.  A payload that does not
 * fit the slot lies in the lane's data ring, contiguous, and is freed in the
 * order of the slots.  Pages of lanes that are never used are never touched.
 */
#ifndef AM_DEV_SHM_SHM_LAYOUT_H
#define AM_DEV_SHM_SHM_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define SHM_MAGIC      0x616d2d73686d3036ull /* "am-shm06" */
#define SHM_LINE       64
#define SHM_SLOT_BYTES 56 /* header, words and payload inside a slot */
#define SHM_EXT_BYTES  48 /* header and words in a slot with a payload out */
#define SHM_TILE       8  /* lanes lie in squares of so many ranks */
#define SHM_CPU_WORDS  16 /* 1024 CPUs of affinity; 1024 counts as 0 */
#define SHM_PAGE       4096

/* A large data ring begins so far behind the begin of a page, and so do most of its long
 * payloads.  Memory of the receiver often begins 16 bytes behind a page: malloc's does if it
 * is much.  From a page's begin to there a copy would be an unlucky one (base/copy.h). */
#define SHM_RING_LARGE ((uint32_t)1 << 20)
#define SHM_RING_ASIDE ((uint32_t)128)

/*
 * The control word of a slot: no field can change alone and leave one that is
 * accepted.
 *
 *   bits   0..31   32..39      40..47         48..55         56..63
 *          stamp   hdr_bytes   payload bytes  stamp's low 8  SHM_SLOT_BYTES less
 *                                                            both lengths
 *          stamp   hdr_bytes   check          stamp's low 8  SHM_DATA
 *
 * The second form is of a packet whose payload is in the data ring, and its
 * header as well if it does not fit the slot: shm_inl.h has the check of both
 * lengths and the place.
 */
#define SHM_DATA 0x80

struct shm_slot {
    _Atomic uint64_t ctl;

    union {
        uint64_t w[SHM_SLOT_BYTES / 8];

        struct {
            uint64_t hdr[SHM_EXT_BYTES / 8];
            uint64_t place; /* offset in the data ring:32 | bytes:32 */
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

/* What the sender has sent as it said last, by class; and whether it has
 * declared the lanes of the two broken.  On a line of its own. */
struct shm_tail {
    _Atomic uint64_t slots[2];
    _Atomic uint32_t broken;
    char pad[SHM_LINE - 20];
};

static_assert(sizeof(struct shm_tail) == SHM_LINE, "a tail is a cache line");

/* In a lane: two heads, a tail, the slots. */
#define SHM_TAIL_AT  (2 * sizeof(struct shm_head))
#define SHM_SLOTS_AT (SHM_TAIL_AT + sizeof(struct shm_tail))

/* No word that is wrong by chance says that a rank has closed, or that it could
 * not open the job. */
enum {
    SHM_RANK_OPEN = 0,
    SHM_RANK_CLOSED = 0x636c6f73,
    SHM_RANK_FAILED = 0x6661696c
};

/* How a rank that sleeps is woken. */
enum {
    SHM_SLEEP_FUTEX = 1,    /* by its bell */
    SHM_SLEEP_DATAGRAM = 2, /* by a byte to its socket: shm_event.c */
};

#define SHM_WITHDRAWN_KEYS  64
#define SHM_WITHDRAWN       (UINT64_C(1) << 32)
#define SHM_WITHDRAWN_DEATH (UINT64_C(1) << 33) /* as a rank has died */

struct shm_rank {
    /* line 0: written by the owner, read by every sender */
    _Atomic uint32_t sleeping; /* SHM_SLEEP_*, 0: awake */
    _Atomic uint32_t state;
    _Atomic uint32_t pid;  /* 0 until the rank has mapped the segment */
    _Atomic uint32_t core; /* 1 + the CPU on which it waits; 0: not awake */
    _Atomic uint64_t bell_nonce; /* names the socket of SHM_SLEEP_DATAGRAM */
    _Atomic uint64_t
            withdrawn; /* the newest key that it has taken back, or 0 */
    _Atomic uint64_t
            forgotten; /* the newest of those that are not in `keys` any more */
    /* the first rank's: so much of each ring for requests all make ahead; 0: not known */
    _Atomic uint32_t made_bytes;
    char pad0[SHM_LINE - 44];
    /* lines 1 and 2: written by the owner, once */
    _Atomic uint64_t cpus[SHM_CPU_WORDS];
    /* line 3: written by senders that ring or attach */
    _Atomic uint32_t bell;
    _Atomic uint32_t attached; /* lanes opened to this rank, counted */
    char pad1[SHM_LINE - 8];
    /* line 4: written by the owner at each single copy; shm_withdraw.c */
    _Atomic uint32_t copying; /* 1 + the index of the rank whose memory it is */
    char pad2[SHM_LINE - 4];
    /* lines 5 to 12: written by the owner; the last keys that it has taken back: as
     * `withdrawn`, SHM_WITHDRAWN | serial, perhaps with SHM_WITHDRAWN_DEATH */
    _Atomic uint64_t keys[SHM_WITHDRAWN_KEYS];
};

static_assert(sizeof(struct shm_rank) == 13 * SHM_LINE, "whole cache lines");

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
    uint64_t ranks, bitmaps, lanes, rings, heaps, total;
    uint64_t bitmap_bytes, lane_bytes, rings_bytes;
    uint64_t slots[2]; /* inside a lane */
    uint64_t data[2];  /* inside its rings */
};

/* Compute the offsets; returns -1 when a field is out of its range. */
int shm_geometry_compute(const struct shm_header *header,
                         struct shm_geometry *geometry);

#endif
