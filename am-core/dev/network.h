/*
 * What a network does itself for all contexts of a job: it combines their packets,
 * tells when all have come, or copies one packet to all others.  A part of dev.h.
 * Of the devices here the simulated adapters have it (Blue Gene/P's collective
 * network and global interrupt: Kumar et al. 2008; LCI's multicast on Myrinet:
 * Verstoep et al. 2004).
 */
#ifndef AM_DEV_NETWORK_H
#define AM_DEV_NETWORK_H

#include <am_types.h>
#include <stdbool.h>

struct am_dev;

#define AM_DEV_NETWORK_WORDS 64 /* of a packet that is combined */

typedef enum {
    AM_DEV_COMBINE_CAST, /* nothing: one context sends, all get its packet */
    AM_DEV_COMBINE_ADD,  /* word by word, unsigned */
    AM_DEV_COMBINE_MAX,
    AM_DEV_COMBINE_MIN,
    AM_DEV_COMBINE_AND,
    AM_DEV_COMBINE_OR,
    AM_DEV_COMBINE_XOR,
    AM_DEV_COMBINE_NONE /* no operation of a network's */
} am_dev_combine_t;

/* For whom, and what it costs, picoseconds. */
struct am_dev_network {
    uint32_t members; /* contexts, each with a part in all of it; 0: not so */
    uint64_t meet_ps; /* from the last one's coming to all knowing */
    uint64_t combine_ps; /* a packet, from the last one's sending to all having it */
    uint64_t combine_gap_ps;       /* until the next one */
    uint64_t multicast_ps;         /* a packet, until the last one has it */
    uint64_t multicast_per_byte_fs; /* ... and for each byte of it */
    uint64_t multicast_gap_ps;     /* until the next one */
};

struct am_dev_network_ops {
    /* AM_DEV_CAP_COLLECTIVE.  Send a packet: all contexts do, in the same order, and
     * each gets the result; of a CAST the root alone does, and its packets and those
     * that are combined may overtake each other.  AM_ERR_AGAIN while there is no room;
     * AM_ERR_INVALID: no such operation. */
    am_status_t (*combine)(struct am_dev *dev, uint32_t op,
                           const uint32_t words[AM_DEV_NETWORK_WORDS]);
    /* The next result, and what it is of; results come to all in the same order.
     * AM_ERR_AGAIN.  It looks itself: no poll of the device is needed. */
    am_status_t (*combined)(struct am_dev *dev, uint32_t *op_p,
                            uint32_t words[AM_DEV_NETWORK_WORDS]);
    /* This context has come (AM_ERR_AGAIN: the meeting before is not over); and,
     * looking itself: have all? */
    am_status_t (*enter)(struct am_dev *dev);
    bool (*has_met)(struct am_dev *dev);
    /* AM_DEV_CAP_MULTICAST.  Send a packet to all others, who get it as a reply
     * (upcall `packet`, AM_DEV_REPLY).  AM_ERR_AGAIN as `send`. */
    am_status_t (*multicast)(struct am_dev *dev, const void *hdr,
                             size_t hdr_bytes, const void *data,
                             size_t data_bytes);
};

#endif
