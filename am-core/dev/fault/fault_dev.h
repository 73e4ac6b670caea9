/*
 * The inside of the fault device, shared by fault_dev.c (data path) and
 * fault_init.c (endpoints, set-up, close) only.
 */
#ifndef AM_DEV_FAULT_FAULT_DEV_H
#define AM_DEV_FAULT_FAULT_DEV_H

#include "dev/fault/fault.h"

#include "base/list.h"
#include "dev/wrap.h"

/* Packets held back in each class; at the limit none is, and send_fill answers
 * AM_ERR_AGAIN. */
#define FAULT_HELD_MAX 32
#define FAULT_HELD_ALL (AM_DEV_CLASS_COUNT * FAULT_HELD_MAX)

enum {
    FAULT_DROP,
    FAULT_DUPLICATE,
    FAULT_REORDER,
    FAULT_CORRUPT,
    FAULT_DELAY,
    FAULT_STALL,
    FAULT_COUNT
};

struct fault_ep {
    struct am_wrap_ep wrap;
    struct am_list link; /* on dev->eps */
    uint32_t stall_polls[AM_DEV_CLASS_COUNT];
};

struct fault_held {
    struct fault_ep *ep; /* NULL: free */
    uint32_t class, hdr_bytes, data_bytes;
    uint32_t sends, polls; /* goes when either is 0 */
    uint8_t *bytes;        /* header, then data */
};

struct fault_dev {
    struct am_wrap_dev wrap;
    struct am_fault_spec spec;
    struct am_prng prng;
    struct am_list eps;
    uint32_t held_count[AM_DEV_CLASS_COUNT];
    struct fault_held held[FAULT_HELD_ALL]; /* requests, then replies */
    uint8_t *spoilt;                        /* one packet */
    uint8_t *filled;                        /* one packet */
    uint64_t counts[FAULT_COUNT];
};

static inline struct fault_dev *fault_of(struct am_dev *dev)
{
    return (struct fault_dev *)am_wrap_of(dev);
}

static inline struct fault_ep *fault_ep_of(struct am_dev_ep *ep)
{
    return am_container(ep, struct fault_ep, wrap.base);
}

static inline bool fault_holds(const struct fault_dev *fault)
{
    return fault->held_count[0] + fault->held_count[1] > 0;
}

/* fault_dev.c */
void fault_held_free(struct fault_dev *fault, struct fault_held *held);
am_status_t fault_send(struct am_dev_ep *ep, uint32_t class, const void *hdr,
                       size_t hdr_bytes, const void *data, size_t data_bytes);
am_status_t fault_send_fill(struct am_dev_ep *ep, uint32_t class,
                            const void *hdr, size_t hdr_bytes,
                            am_dev_fill_fn fill, void *arg, size_t data_bytes);
bool fault_reply_ready(struct am_dev_ep *ep);
int fault_poll(struct am_dev *dev, uint32_t packets_max);
bool fault_drained(struct am_dev *dev);
bool fault_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest);
am_status_t fault_arm(struct am_dev *dev, uint64_t *most_ns);

#endif
