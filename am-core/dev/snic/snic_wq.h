/*
 * The inside of the driver of NICs with work queues, for snic_wq.c (packets,
 * set-up) and snic_wq_put.c (puts, gets, regions).
 */
#ifndef AM_DEV_SNIC_SNIC_WQ_H
#define AM_DEV_SNIC_SNIC_WQ_H

#include "dev/snic/snic.h"
#include "nicsim_wq.h"

/* A put, or a piece of a get. */
struct wq_op {
    am_dev_done_fn done;
    void *arg;
    uint32_t leader; /* whose `left` counts the pieces */
    uint32_t left;
    bool fault; /* of any piece */
};

struct wq {
    const struct ns_wq_facts *facts;
    uint32_t send_ring, receive_ring, completions, done_at;
    uint32_t stride;     /* of the send ring */
    uint32_t sent, done; /* descriptors ever put in; known to be sent */
    uint32_t unrung;     /* the last ones: the NIC does not know of them */
    uint32_t completed;  /* completions taken */
    uint32_t taken;      /* packets taken */
    uint32_t unposted;   /* buffers of these that the NIC does not know of */
    uint64_t ops;        /* in use, a bit for each */
    struct wq_op op[NS_WQ_OPS];
};

/* Tell the NIC what was put in. */
void snic_wq_ring(struct snic_dev *snic);
/* Is there room for one descriptor more and then `spare` others? */
bool snic_wq_room(struct snic_dev *snic, uint32_t spare);
/* There is room: put a descriptor, with its packet, into the send ring. */
void snic_wq_put_in(struct snic_dev *snic, const void *what, uint32_t bytes,
                    bool now);
/* A put, or a piece of a get, is over. */
void snic_wq_op_end(struct snic_dev *snic, uint32_t index, bool fault);

/* As struct snic_nic says. */
am_status_t snic_wq_mem_register(struct snic_dev *snic, void *base,
                                 size_t bytes, struct am_dev_key *key);
void snic_wq_mem_deregister(struct snic_dev *snic,
                            const struct am_dev_key *key);
am_status_t snic_wq_put(struct snic_dev *snic, uint32_t node,
                        const struct iovec *local, uint32_t count,
                        const struct am_dev_key *key, size_t offset,
                        am_dev_done_fn done, void *arg);
am_status_t snic_wq_get(struct snic_dev *snic, uint32_t node,
                        const struct iovec *local, uint32_t count,
                        const struct am_dev_key *key, size_t offset,
                        am_dev_done_fn done, void *arg);

#endif
