/*
 * The inside of the Blue Gene/P driver, for snic_bgp.c (packets),
 * snic_bgp_init.c (set-up), snic_bgp_put.c (puts, gets, regions) and
 * snic_bgp_tree.c (the collective network).
 */
#ifndef AM_DEV_SNIC_SNIC_BGP_H
#define AM_DEV_SNIC_SNIC_BGP_H

#include "dev/snic/snic.h"
#include "nicsim_bgp.h"

/*
 * Injection FIFOs: DCMF has one for each destination; the last ones are for
 * remote gets, which peers put in by their number.
 *
 *   0 ... own - 1 | own ... 31
 *   by destination  remote gets, by the link that the answer takes
 *
 * A slot is a packet's payload.  There are as many as one FIFO has descriptors,
 * so that no FIFO is ever full; a slot is free again when the head of its FIFO
 * has passed it.
 */
struct bgp_fifo {
    uint32_t tail;        /* descriptors ever put in */
    uint32_t passed;      /* whose slots are free again */
    uint32_t first, last; /* slots in use, linked by bgp.next */
};

/* A message of several packets whose last has not come yet. */
struct bgp_part {
    uint64_t buffer[SNIC_PACKET_BYTES / 8];
};

/* A put or get under way, by its reception counter. */
struct bgp_op {
    am_dev_done_fn done;
    void *arg;
    uint64_t landing; /* a put's answer lands here */
};

struct bgp {
    const struct ns_bgp_facts *facts;
    uint32_t injection, slots, slot_bytes; /* descriptors, their payload */
    uint32_t reception, remote, status_at;
    uint32_t own;                /* FIFOs by destination */
    uint32_t sent;               /* descriptors ever put in */
    uint32_t busy;               /* FIFOs with slots in use, a bit for each */
    uint32_t *next;              /* slots: a list of free ones and of each FIFO
                                  * those in use */
    uint32_t free, free_count;   /* the first one, how many */
    uint32_t received, released; /* bytes ever taken out, and told */
    struct ns_bgp_status status; /* as last seen */
    struct bgp_part **parts;     /* by node; NULL until it is needed */
    uint64_t counters;           /* in use */
    struct bgp_op op[NS_BGP_COUNTERS];
    struct bgp_fifo fifo[NS_BGP_INJECTION_FIFOS];
    uint32_t tree_sent;  /* into the collective network */
    uint32_t tree_mine;  /* results of these so far */
    uint32_t tree_taken; /* results of all */
    uint32_t barriers;   /* entered */
};

/* Load the status block. */
void snic_bgp_look(struct snic_dev *snic);

/* Have `count` descriptors room, and then `spare` others? */
bool snic_bgp_room(const struct snic_dev *snic, uint32_t count, uint32_t spare);
/* The payload's place of the next descriptor. */
uint32_t snic_bgp_slot(const struct bgp *bgp);
/* Put a descriptor into the FIFO of its destination; the DMA is told by
 * snic_bgp_ring. */
void snic_bgp_post(struct snic_dev *snic,
                   const struct ns_bgp_descriptor *descriptor);
void snic_bgp_ring(struct snic_dev *snic, uint32_t destination);
void snic_bgp_write(struct snic_dev *snic, uint32_t block, uint32_t index,
                    uint32_t reg, uint32_t value);

/* As struct snic_nic says. */
am_status_t snic_bgp_open(struct snic_dev *snic);
void snic_bgp_close(struct snic_dev *snic);
am_status_t snic_bgp_mem_register(struct snic_dev *snic, void *base,
                                  size_t bytes, struct am_dev_key *key);
void snic_bgp_mem_deregister(struct snic_dev *snic,
                             const struct am_dev_key *key);
am_status_t snic_bgp_put(struct snic_dev *snic, uint32_t node,
                         const struct iovec *local, uint32_t count,
                         const struct am_dev_key *key, size_t offset,
                         am_dev_done_fn done, void *arg);
am_status_t snic_bgp_get(struct snic_dev *snic, uint32_t node,
                         const struct iovec *local, uint32_t count,
                         const struct am_dev_key *key, size_t offset,
                         am_dev_done_fn done, void *arg);
uint32_t snic_bgp_complete(struct snic_dev *snic);

#endif
