/*
 * What a rank does at its port that gives no answer: stores, flushes, accesses
 * across the bus, records.  They wait in a list, with the time between them, and
 * go to the engine with the next ask, where the seat does them in order, as the
 * program in a fiber would have.
 *
 *   rank    store  flush  store to a register  load
 *           |____________ list _____________|  ask: LOAD
 *   engine                                     store, flush, access, load
 *
 * The local time of a rank whose list is not empty is not known: how long an
 * access takes depends on the bus.  Whoever needs it asks first.
 */
#ifndef NS_COSIM_POST_H
#define NS_COSIM_POST_H

#include "cosim/box.h"

struct ns_rank;
struct ns_host;

typedef enum {
    NS_POST_STORE,    /* at: address; data */
    NS_POST_FLUSH,    /* at: address */
    NS_POST_REGISTER, /* at: register; value: of so many bytes */
    NS_POST_WRITE,    /* at: register; data */
    NS_POST_RECORD,   /* at: struct ns_box_record's kind; a, b */
    NS_POST_COUNT
} ns_post_kind_t;

struct ns_post {
    uint32_t kind; /* ns_post_kind_t */
    uint32_t at;
    uint32_t bytes;
    uint32_t value;
    uint64_t gap_ps; /* of the rank's own time since the one before */
    uint64_t a, b;
};

/* Bytes that the post takes in the list, its data included. */
static inline uint64_t ns_post_bytes(const struct ns_post *post)
{
    uint64_t data = post->kind == NS_POST_STORE || post->kind == NS_POST_WRITE
                            ? post->bytes
                            : 0;

    return sizeof(*post) + (data + 7) / 8 * 8;
}

/* post_rank.c: the rank's port, which is the cpu's with a list in front. */
void ns_post_port(struct ns_port_ops *ops);
/* Put a record into the list, if there is anything in it; false: nothing is. */
bool ns_post_record(struct ns_rank *rank, uint32_t kind, uint64_t a,
                    uint64_t b);

/* post_seat.c: could a rank have written the list of `box`? */
bool ns_posts_are_sane(const struct ns_box *box, const struct ns_memory *memory);
/* Do them all, from inside the host's fiber. */
void ns_posts_do(const struct ns_box *box, struct ns_host *host);

#endif
