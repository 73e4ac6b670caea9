/*
 * The inside of the LANai's driver: snic_lanai.c (data path), snic_lanai_init.c
 * (set-up, multicast trees), snic_lanai_copy.c and snic_lanai_land.c (remote
 * copies).
 */
#ifndef AM_DEV_SNIC_SNIC_LANAI_H
#define AM_DEV_SNIC_SNIC_LANAI_H

#include "dev/snic/snic.h"
#include "nicsim_lanai.h"

/* Of one fetch-and-add that this host waits for; they return in order. */
struct lanai_fetch {
    uint64_t *old_p;
    am_dev_done_fn done;
    void *arg;
};

#define LANAI_FETCH_MAX 64

struct lanai_copies; /* snic_lanai_copy.c */

struct lanai {
    const struct ns_lanai_facts *facts;
    uint32_t slot_bytes;
    uint32_t tx_base, rx_base, status;
    uint32_t sent, done; /* slots ever filled, and known to be free again */
    uint32_t received;   /* buffers ever taken */
    struct lanai_fetch fetches[LANAI_FETCH_MAX];
    uint32_t fetch_head, fetch_count;
    bool writes; /* the host writes what it sends into NI memory */
    struct lanai_copies *copies; /* NULL: no remote copies */
};

/* snic_lanai.c */
uint32_t lanai_slots_used(struct snic_dev *snic);
void lanai_status_look(struct snic_dev *snic);
bool lanai_room(struct snic_dev *snic, uint32_t spare);
void lanai_transmit(struct snic_dev *snic, struct snic_tx *tx);
void lanai_begin(struct snic_dev *snic);
bool lanai_receive(struct snic_dev *snic, struct snic_rx *rx);
am_status_t lanai_fetch_add(struct snic_dev *snic, uint32_t node,
                            uint64_t value, uint64_t *old_p,
                            am_dev_done_fn done, void *arg);
/* Stores into SRAM; the last makes the descriptor valid.  The slot is used. */
void lanai_descriptor(struct snic_dev *snic, uint32_t node, uint32_t kind,
                      uint32_t bytes, uint32_t address);
/* The slot of the next descriptor, in SRAM. */
uint32_t lanai_slot(const struct lanai *lanai);

/* snic_lanai_init.c: children of `node` in the tree of `root`, at most
 * NS_LANAI_CHILDREN_MAX.  Returns their count. */
uint32_t lanai_children(const struct ns_lanai_facts *facts, uint32_t nodes,
                        uint32_t root, uint32_t node, uint32_t *children);

/* snic_lanai_copy.c */
struct lanai_copies *lanai_copies_new(uint32_t nodes);
void lanai_copies_free(struct lanai_copies *copies);
/* Start what there is room for. */
void lanai_copies_run(struct snic_dev *snic);
am_status_t snic_lanai_put(struct snic_dev *snic, uint32_t node,
                           const struct iovec *local, uint32_t count,
                           const struct am_dev_key *key, size_t offset,
                           am_dev_done_fn done, void *arg);
/* snic_lanai_land.c */
am_status_t snic_lanai_register(struct snic_dev *snic, void *base, size_t bytes,
                                struct am_dev_key *key);
void snic_lanai_deregister(struct snic_dev *snic, const struct am_dev_key *key);
/* A buffer of the NI's: a copy is in place; or its page was not known. */
void lanai_copied(struct snic_dev *snic, const struct ns_lanai_header *header);
void lanai_missed(struct snic_dev *snic, uint32_t buffer,
                  const struct ns_lanai_header *header);

#endif
