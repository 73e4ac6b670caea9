/*
 * What a rank does at its port that needs no answer: stores, flushes, accesses
 * across the bus, computation, records.  They wait in a list, with the time
 * between them, and go to the engine with the next ask, where the seat does them
 * in order, as the program in a fiber would have.
 *
 *   rank    look  store to a register  look  |  store  load
 *           |________ known __________|      |_list_|  ask: LOAD
 *   engine                                   wait, access, wait, store, load
 *
 * The list begins with posts that are known: struct ns_ahead foretells how long
 * they take, and that the adapter does not touch the host's memory before they
 * are over.  So the rank has looked at memory by itself, and the seat only waits
 * until the engine has come to that time.  After a post that is not known, local
 * time is not known either: whoever needs it asks first.
 */
#ifndef NS_COSIM_POST_H
#define NS_COSIM_POST_H

#include "cosim/box.h"

struct ns_rank;
struct ns_host;

/* Longer times between two posts would let a rank's time go round. */
#define NS_POST_GAP_MOST_PS (UINT64_C(1) << 56)

typedef enum {
    NS_POST_SYNC,     /* the rank has touched memory; known */
    NS_POST_LOOK,     /* it has fetched from there; known */
    NS_POST_COMPUTE,  /* a: ps */
    NS_POST_STORE,    /* at: address; data */
    NS_POST_FLUSH,    /* at: address */
    NS_POST_LOAD,     /* the same of a register: bytes and value; known */
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
    uint64_t a, b;   /* a of an access: when it is over; 0: not known */
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
/* Is local time known? */
bool ns_posts_are_known(const struct ns_rank *rank);
/* Add an access to memory, or computation, without interrupts; false: it must be
 * asked for. */
bool ns_post_sync(struct ns_rank *rank);
bool ns_post_compute(struct ns_rank *rank, uint64_t ps);
/* Put a record into the list, if there is anything in it; false: nothing is. */
bool ns_post_record(struct ns_rank *rank, uint32_t kind, uint64_t a,
                    uint64_t b);

/* post_seat.c: could a rank have written the list of `box`? */
bool ns_posts_are_sane(const struct ns_box *box, const struct ns_memory *memory);
/* Do them all, from inside the host's fiber.  False: the rank has gone on where
 * it was not to. */
bool ns_posts_do(const struct ns_box *box, struct ns_host *host);

#endif
