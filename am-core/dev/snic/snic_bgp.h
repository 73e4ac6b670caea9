/*
 * The inside of the Blue Gene/P driver, for snic_bgp.c (packets) and
 * snic_bgp_put.c (puts, gets, regions).
 */
#ifndef AM_DEV_SNIC_SNIC_BGP_H
#define AM_DEV_SNIC_SNIC_BGP_H

#include "dev/snic/snic.h"
#include "nicsim_bgp.h"

/* Where peers' remote gets are put in: several injection FIFOs, shared out by
 * the peer's number, so that answers to several peers go at the same time. */
enum {
    BGP_REMOTE_FIRST = 1,
    BGP_REMOTE_FIFOS = NS_BGP_INJECTION_FIFOS - BGP_REMOTE_FIRST
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
    uint32_t sent;               /* descriptors ever put in */
    uint32_t received, released; /* bytes ever taken out, and told */
    struct ns_bgp_status status; /* as last seen */
    struct bgp_part **parts;     /* by node; NULL until it is needed */
    uint64_t counters;           /* in use */
    struct bgp_op op[NS_BGP_COUNTERS];
};

/* Have `count` descriptors room, and then `spare` others? */
bool snic_bgp_room(const struct snic_dev *snic, uint32_t count, uint32_t spare);
/* The payload's place of the next descriptor. */
uint32_t snic_bgp_slot(const struct bgp *bgp);
/* Put a descriptor in; the DMA is told by snic_bgp_ring. */
void snic_bgp_post(struct snic_dev *snic,
                   const struct ns_bgp_descriptor *descriptor);
void snic_bgp_ring(struct snic_dev *snic);
void snic_bgp_write(struct snic_dev *snic, uint32_t block, uint32_t index,
                    uint32_t reg, uint32_t value);

/* As struct snic_nic says. */
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
