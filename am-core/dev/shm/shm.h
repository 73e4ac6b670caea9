/*
 * The shared-memory device's own state; see shm_layout.h for what is shared.
 *
 *   shm_init.c  open, close, addresses
 *   shm_ep.c    endpoints: of the job, late ones, those that peers open
 *   shm_sock.c  the sockets that pass a segment's descriptor round
 *   shm_seg.c   making, mapping and checking a segment
 *   shm_tx.c    the data path: send; shm_tx_data.c what does not fit a slot
 *   shm_pages.h pages that are made ahead of need: shm_pages.c, shm_front.c
 *   shm_rx.c    the data path: receive; shm_poll.c whom from
 *   shm_lanes.c which lanes polls look at
 *   shm_mem.c   put, get, fetch-and-add, memory that peers may write
 *   shm_topo.c  the node, from hwloc
 *   shm_wait.h  waiting: shm_wait.c, shm_event.c
 *   shm_alive.c dead peers
 *   shm_look.c  lanes that somebody has written nonsense to
 */
#ifndef AM_DEV_SHM_SHM_H
#define AM_DEV_SHM_SHM_H

#include "base/barrier.h"
#include "base/forked.h"
#include "dev/meter.h"
#include "dev/shm/shm_layout.h"
#include "dev/shm/shm_near.h"
#include "dev/shm/shm_wait_round.h"
#include "dev/shm/shm_wait_spread.h"

/* One mapped segment and this context's place in it. */
struct shm_seg {
    struct shm_dev *dev;
    char *base;
    struct shm_header header; /* checked; the shared one is not trusted */
    struct shm_geometry geometry;
    uint32_t self; /* my index in it */
    uint32_t front_bytes, made_bytes; /* of data rings for requests, to begin with */
    int fd;        /* kept by its maker until all have it; or -1 */
    uint32_t attached_seen;
    uint32_t withdrawn; /* keys of mine, counted */
    uint32_t core_turn; /* index looked at last for who waits on my CPU */
    struct shm_rank *me;
    struct shm_ep **eps;  /* by index; NULL until used */
    uint32_t maker_pid;   /* of a pair that the other made, and ... */
    uint64_t maker_start; /* ... when that process began */
    struct shm_seg *next;
};

/*
 * The two halves of one class of a lane.  Both go through the ring in runs: the
 * slots from `next` to before `stop` lie side by side and bear the same stamp,
 * so that a short message costs one pointer and no index.  At the end of a run
 * the sender learns what has been consumed, and the receiver tells it.
 * Positions count slots ever written, and bytes ever given out in the data
 * ring, padding at its end included.
 *
 *     slots    |.......|#########|..........|     # run, all of one lap
 *                      next      stop = position stop_at
 */
struct shm_tx {
    struct shm_slot *next; /* to be written */
    struct shm_slot *stop;
    uint64_t stamp; /* of this run's slots: shm_stamp */
    uint32_t mask;  /* slots - 1 */
    uint32_t ring_bytes;
    uint64_t stop_at;    /* position of `stop` */
    uint64_t limit;      /* no run goes beyond: consumed + depth */
    uint64_t data_tail;  /* given out */
    uint64_t data_known; /* what the receiver has published last */
    uint64_t data_limit; /* it may not pass this: consumed + ring_bytes */
    struct shm_slot *slots;
    struct shm_head *shared;
    char *data;
    uint64_t told;        /* of the tail, to the receiver */
    uint32_t front_bytes; /* of a large ring: what is used of it so far */
    uint32_t lost_ns, waited_at; /* to a short front; data_tail / SHM_LINE then */
    uint32_t made;        /* so much of the ring has pages */
    uint32_t fetched;     /* of the ring, for lines that are new (shm_front_fetch) */
    bool tight;           /* it was full */
    uint8_t heard_last;   /* packets that had come at the last payload, in 8 bits */
    uint16_t heard;       /* packets that had come when this lap began */
}; /* two cache lines */

struct shm_rx {
    struct shm_slot *next; /* to be consumed */
    struct shm_slot *stop; /* tell the sender when `next` gets here */
    uint32_t lap;
    uint32_t mask;
    uint64_t whole; /* what the rest of a short packet's control word makes */
    uint64_t stop_at;
    uint64_t data_head;  /* consumed */
    uint64_t data_count; /* payload since the last whole unit of it */
    struct shm_slot *slots;
    struct shm_head *shared;
    char *data;
    uint32_t ring_bytes;
    /* what the shared head says, and what the sender's tail said last */
    uint64_t told_slots, told_data, tail;
    uint32_t unlooked; /* long packets until rx_look asks one; */
    bool is_late;      /* was the last that it asked? */
    uint64_t pad;      /* two cache lines */
};

static_assert(sizeof(struct shm_tx) == 2 * SHM_LINE &&
                      sizeof(struct shm_rx) == 2 * SHM_LINE,
              "found by a shift");

struct shm_ep {
    struct am_dev_ep ep;
    _Atomic uint32_t *peer_sleeping; /* in the peer's shm_rank */
    bool tx_open; /* the peer has been told to poll my lane */
    bool rx_open; /* its lane is on dev->active */
    bool dead, dying; /* dying: what it has left is delivered, nothing sent */
    bool reply_room; /* there is room for a reply: none was sent since I saw */
    bool is_far;     /* more than the kernel says: shm_costs_seen */
    uint8_t far_count;
    struct shm_tx tx[2];
    struct shm_rx rx[2];
    struct shm_seg *seg; /* NULL until the segment is mapped */
    struct shm_rank *peer;
    struct shm_tail *tail_out, *tail_in;
    uint64_t sorted_at;  /* where the receivers were at the last sorting */
    const char *broken;  /* what is wrong with its lanes; NULL: nothing */
    uint32_t index;      /* of the peer in seg */
    uint32_t rank;       /* UINT32_MAX when outside the job */
    uint32_t pid;        /* of the peer */
    uint64_t start;      /* of its process, as shm_process_start tells it */
    struct shm_ep *next; /* all of a device */
};

#define SHM_RING_LEAST  ((size_t)1 << 18)
#define SHM_PACKET_MOST ((size_t)256 << 20) /* of AM_SHM_PACKET */
#define SHM_VISITORS    64 /* connections that have said nothing yet */

typedef enum {
    SHM_CMA_AUTO,
    SHM_CMA_OFF,
    SHM_CMA_ON /* as if it cost nothing, so that it is always chosen */
} shm_cma_t;

struct shm_config {
    uint64_t slots;      /* AM_SHM_SLOTS */
    size_t ring_bytes;   /* AM_SHM_RING, 0: by the number of ranks */
    size_t packet_bytes; /* AM_SHM_PACKET; 0: by the ring */
    int cma;             /* shm_cma_t: AM_SHM_CMA */
};

/* One rank of the job on this node, from its address. */
struct shm_local {
    uint32_t rank, pid;
    uint64_t nonce, start;
    int pidfd; /* -1 until watched */
    bool dead;
    const char *cut; /* why nothing of it is used; NULL: it is */
};

/* This device's part of an address blob. */
struct shm_address {
    uint64_t host;  /* hash of boot id, network and process namespace, user */
    uint64_t nonce; /* names the listening socket */
    uint32_t pid;
    uint32_t packet_bytes; /* the largest that this context sends */
    uint64_t start;        /* of the process: shm_process_start */
};

static_assert(sizeof(struct shm_address) == 32, "wire format");

struct shm_dev {
    struct am_dev base;
    /* hot: what poll reads */
    struct shm_ep **active; /* the lanes that are open: shm_lanes.c */
    uint32_t busy_count, active_count;
    uint32_t looks;       /* of the next poll, besides the first */
    uint32_t polls;       /* for the rare work of poll */
    uint32_t quiet_at;
    bool broken;          /* a lane is, and up does not know it yet */
    bool look;            /* shm_look is due */
    uint32_t socket_mask; /* serve the sockets when polls & mask is 0 */
    struct shm_seg *segs; /* the job's and those of late pairs */
    struct shm_seg *seg_at; /* the next to be looked at for new lanes; NULL: segs */
    uint64_t *stats;
    /* set-up */
    struct shm_config config;
    struct am_env *env;
    struct am_log *log;
    uint64_t nonce, host, start;
    uint32_t rank, size, pid;
    struct am_fork_watch fork_watch;
    bool forked;                /* this is a child: the memory is the parent's */
    struct shm_head forked_head; /* what the child consumes */
    int listener;               /* abstract socket; -1 when none */
    int leader_socket;          /* to the leader while the segment is awaited */
    int visitors[SHM_VISITORS]; /* accepted, their hello not here yet */
    uint32_t visitor_count;
    struct shm_seg *job; /* NULL until mapped */
    uint32_t local_count, local_index;
    uint32_t served_count;    /* leader: ranks that have the segment */
    struct shm_local *locals; /* by local index */
    struct shm_ep *eps;
    struct am_meter meters[AM_DISTANCE_COUNT];
    /* a single copy, as tried at the start: of next to nothing, and more for each byte */
    uint64_t single_ps, single_fs;
    struct shm_near near; /* of a CPU that this context may run on */
    bool near_known, offer_waits; /* the latter was said, shm_sock.c */
    uint64_t near_ps; /* AM_COPY_NEAR_PS; another in tests */
    struct am_dev_pages pages; /* of a small ring */
    uint64_t page_ps; /* the least that a lane's new page cost; 0: none */
    /* memory */
    bool cma;                 /* process_vm_readv works here */
    uint32_t registered;      /* keys made, counted */
    uint64_t stuck; /* peers whose copy did not end, by index: shm_withdraw.c */
    char *detour;             /* of a single copy that lies badly, or NULL */
    struct am_binalloc *heap; /* free blocks of my heap in the job segment */
    /* waiting */
    am_wait_t wait;
    int bell, ringer; /* datagrams: rung by others, to ring others; -1: none */
    bool membarrier; /* asymmetric fence available */
    bool crowd_known, crowded;
    bool core_shared;     /* another context waits on my CPU */
    char error[160];      /* base.error, when there is one */
    struct shm_round round;
    struct shm_spread spread;
    const char *expected; /* the next short payload, perhaps: to be fetched */
};

extern const struct am_dev_ops am_shm_ops;

static inline struct shm_dev *shm_dev_of(struct am_dev *dev)
{
    return (struct shm_dev *)dev;
}

static inline struct shm_ep *shm_ep_of(struct am_dev_ep *ep)
{
    return (struct shm_ep *)ep;
}

/* ------------------------------------------------------------- shm_seg.c */

/* Bytes of a lane's ring for requests in a segment of `count` ranks. */
size_t shm_seg_ring_bytes(const struct shm_dev *dev, uint32_t count);
/* Make a segment for `count` ranks by the dev's configuration, with rings for
 * packets of `packet_bytes` at least, as another of them may have larger ones;
 * seg->fd is to be passed on and closed.  AM_ERR_MEMORY, AM_ERR_SYSTEM,
 * AM_ERR_CONFIG. */
am_status_t shm_seg_create(struct shm_dev *dev, uint32_t count, uint32_t self,
                           size_t packet_bytes, struct shm_seg **seg_p);
/* Map the segment behind `fd` (stays the caller's) after checking it. */
am_status_t shm_seg_attach(struct shm_dev *dev, int fd, uint32_t count,
                           uint32_t self, uint64_t nonce,
                           struct shm_seg **seg_p);
/* To the device's list, and the next to be looked at for new lanes. */
void shm_seg_add(struct shm_dev *dev, struct shm_seg *seg);
void shm_seg_close(struct shm_seg *seg);
struct shm_rank *shm_seg_rank(struct shm_seg *seg, uint32_t index);
/* My heap in the segment. */
char *shm_seg_heap(struct shm_seg *seg, uint32_t index);
/* The lane from one to another, and its data rings. */
char *shm_seg_lane(struct shm_seg *seg, uint32_t to, uint32_t from);
char *shm_seg_rings(struct shm_seg *seg, uint32_t to, uint32_t from);
/* Point the ep's lanes into its segment. */
void shm_ep_bind(struct shm_ep *ep, struct shm_seg *seg, uint32_t index);
/* Tell the peer that my lane to it is in use. */
void shm_ep_announce(struct shm_ep *ep);
/* Has it not been told, or has somebody taken that back? */
bool shm_ep_is_announced(const struct shm_ep *ep);
/* Is the lane from `index` to me in use? */
bool shm_seg_announced(struct shm_seg *seg, uint32_t index);

/* ------------------------------------------- shm_tx.c, shm_rx.c, shm_poll.c */

am_status_t shm_send(struct am_dev_ep *ep, uint32_t class, const void *hdr,
                     size_t hdr_bytes, const void *data, size_t data_bytes);
am_status_t shm_send_words(struct am_dev_ep *ep, uint32_t class, uint64_t first,
                           const uint64_t *words, const void *data,
                           size_t data_bytes);
am_status_t shm_send_fill(struct am_dev_ep *ep, uint32_t class, const void *hdr,
                          size_t hdr_bytes, am_dev_fill_fn fill, void *arg,
                          size_t data_bytes);
bool shm_reply_ready(struct am_dev_ep *ep);
int shm_poll(struct am_dev *dev, uint32_t packets_max);
/* Deliver all that a dead peer has left. */
void shm_rx_empty(struct shm_ep *ep);
/* Start a receiver's next run, from the position `stop_at`. */
void shm_rx_start(struct shm_rx *rx);
/* Tell the sender what has been consumed. */
void shm_rx_publish(struct shm_rx *rx);
/* Has any lane something that poll would deliver? */
bool shm_has_packet(const struct shm_dev *dev);
bool shm_ep_has_packet(const struct shm_ep *ep);
/* Has a peer opened a lane that poll does not look at yet? */
bool shm_has_lane(const struct shm_dev *dev);

/* ----------------------------------------------------------- shm_lanes.c */

/* Look at this endpoint's lane from now on.  AM_ERR_MEMORY. */
am_status_t shm_lanes_add(struct shm_dev *dev, struct shm_ep *ep);
void shm_lanes_remove(struct shm_dev *dev, const struct shm_ep *ep);
/* Look at some quiet lanes: true when one had a packet, which is busy now. */
bool shm_lanes_look_quiet(struct shm_dev *dev);
/* Every few thousand polls: those without a packet since the last time are
 * quiet. */
void shm_lanes_sort(struct shm_dev *dev);

/* ------------------------------------------------------------ shm_init.c */

bool shm_reachable(struct am_dev *dev, const void *part, size_t bytes);

/* -------------------------------------------------------------- shm_ep.c */

am_status_t shm_connect_all(struct am_dev *dev, const void *const *parts,
                            const size_t *part_bytes, uint32_t count);
bool shm_connected(struct am_dev *dev);
am_status_t shm_connect(struct am_dev *dev, const void *part, size_t bytes,
                        uint32_t rank, void *user, struct am_dev_ep **ep_p);
void shm_disconnect(struct am_dev_ep *ep);
am_dev_presence_t shm_presence(struct am_dev_ep *ep);
am_status_t shm_ep_create(struct shm_dev *dev, void *user, uint32_t rank,
                          struct shm_ep **ep_p);
/* Peers opened lanes to me: start polling them.  Returns how many. */
int shm_attach_new(struct shm_dev *dev, struct shm_seg *seg);
/* The job's segment is mapped: bind the endpoints that waited for it. */
void shm_job_ready(struct shm_dev *dev, struct shm_seg *seg);
/* The endpoint of the rank at this index, made if need be; NULL: no memory. */
struct shm_ep *shm_ep_of_local(struct shm_dev *dev, uint32_t index);
/* Its process has died: deliver what it left, tell the layer above, once. */
void shm_ep_die(struct shm_dev *dev, struct shm_ep *ep, const char *why);
/* The same without a look at its lanes, which are broken. */
void shm_ep_cut(struct shm_dev *dev, struct shm_ep *ep, const char *why);

/* ------------------------------------------------------------ shm_sock.c */

am_status_t shm_listen(struct shm_dev *dev);
/* Start fetching the job's segment from the leader; poll carries it on. */
void shm_fetch(struct shm_dev *dev);
/* Hand descriptors out, take them in. */
void shm_sockets_serve(struct shm_dev *dev);
/* Give a late peer the pair's segment.  AM_ERR_PEER. */
am_status_t shm_offer(struct shm_dev *dev, const struct shm_address *to,
                      int fd);
void shm_sockets_close(struct shm_dev *dev);

/* ------------------------------------------------------------ shm_cost.c */

/* What is known before the first copy: the capabilities must be. */
void shm_costs_open(struct shm_dev *dev, const struct am_profile *profile,
                    am_learn_t learn);
/* Read which CPUs are how near to mine, once: 50 us, that no message is to wait for. */
void shm_costs_near(struct shm_dev *dev, const struct shm_rank *me);
/* Costs or capabilities have changed, by more than what a meter sees. */
void shm_costs_changed(struct shm_dev *dev);
/* Give the endpoint the meter of its distance, if that is known by now. */
void shm_costs_place(struct shm_dev *dev, struct shm_ep *ep);
/* Do the ranks outnumber the cores, and how long is a turn then? */
void shm_costs_crowd(struct shm_dev *dev, bool crowded, uint64_t turn_ps);

/* ------------------------------------------------------------ shm_topo.c */

/* One line about the node and where this process may run; its length. */
size_t shm_topo_describe(char *text, size_t bytes);

/* ------------------------------------------------------------ shm_look.c */

/* The lanes of the two are of no use any more; `what` is static.  Legal
 * anywhere: the next poll tells the layer above. */
void shm_break(struct shm_ep *ep, const char *what);
/* Tell the layer above and the peers of all lanes that are broken. */
void shm_breaks_tell(struct shm_dev *dev);
/* Say how much has been sent, and look whether what is shared can be true.  By
 * the clock, or after a sleep; not from a send, nor in an upcall. */
void shm_look(struct shm_dev *dev);
/* Parts of it: the lanes of two ranks, and what is due before this context goes. */
void shm_lanes_look(struct shm_ep *ep);
void shm_tails_publish(struct shm_dev *dev);

/* ----------------------------------------------------------- shm_alive.c */

void shm_check(struct am_dev *dev);
/* When the process began, in the kernel's ticks since the start of the
 * machine; 0 when it is not there, or /proc is not. */
uint64_t shm_process_start(uint32_t pid);
bool shm_process_has_ended(uint32_t pid);

#endif
