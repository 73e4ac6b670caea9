/*
 * What the two files of remote copies share: snic_lanai_copy.c (what is sent)
 * and snic_lanai_land.c (what comes, and the memory that peers may write).
 */
#ifndef AM_DEV_SNIC_SNIC_LANAI_COPY_H
#define AM_DEV_SNIC_SNIC_LANAI_COPY_H

#include "dev/snic/snic_lanai.h"
#include "dev/snic/snic_lanai_page.h"

#define LANAI_TRANSFERS_MAX 64
#define LANAI_PIECES_MAX    8 /* of the local memory of one put */

/* One put; it is on the ring until all of it is sent. */
struct lanai_transfer {
    uint32_t node;
    uint32_t to, generation;              /* of the region */
    struct iovec local[LANAI_PIECES_MAX]; /* none is empty */
    uint32_t piece_count, piece;          /* ... and the one that is next */
    size_t sent;                          /* of that piece */
    bool busy;                            /* the entry is in use */
    bool waits; /* for the notice that it is in place */
    am_dev_done_fn done;
    void *arg;
};

/* An entry of a TLB. */
struct lanai_entry {
    uint32_t page, frame; /* frame NS_LANAI_TLB_NONE: empty */
    uint32_t used;        /* sender: send slots used when it was used last */
};

struct lanai_notice {
    uint32_t node, number;
};

struct lanai_copies {
    struct lanai_pages pages;                     /* that peers may write */
    struct lanai_known known;                     /* that are sent from */
    struct lanai_entry out[NS_LANAI_TLB_ENTRIES]; /* what is sent */
    struct lanai_entry in[NS_LANAI_TLB_ENTRIES];  /* as the NI has it */
    struct lanai_transfer transfers[LANAI_TRANSFERS_MAX];
    uint32_t order[LANAI_TRANSFERS_MAX]; /* ring of those not sent yet */
    uint32_t first, count;
    struct lanai_notice *notices; /* ring of those to be given */
    uint32_t notice_first, notice_count, notice_max;
};

static inline struct lanai_copies *lanai_copies_of(struct snic_dev *snic)
{
    return ((struct lanai *)snic->nic_data)->copies;
}

static inline uint8_t *lanai_page_start(const void *at)
{
    return (uint8_t *)at - (uintptr_t)at % NS_LANAI_PAGE_BYTES;
}

/* What a key says of its region: the address of its first byte. */
static inline uint32_t lanai_key_address(const struct am_dev_key *key)
{
    return (uint32_t)key->w[0];
}

static inline uint32_t lanai_key_generation(const struct am_dev_key *key)
{
    return (uint32_t)(key->w[0] >> 32);
}

/* snic_lanai_copy.c: where a remote copy or a notice goes, of the descriptor
 * that is next. */
void lanai_descriptor_tail(struct snic_dev *snic, uint32_t to, uint32_t notice);
/* snic_lanai_land.c: give those notices that there is room for. */
void lanai_notices_give(struct snic_dev *snic);

#endif
