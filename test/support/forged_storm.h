/*
 * What the files of am_forged_random_test share: a victim, who has operations
 * of every kind under way with an honest peer and with a forger, who sends it
 * whatever comes to its mind.
 *
 *   forged_storm_ops.c      the operations: begun, looked at, given up
 *   forged_storm_forge.c    the forged packets
 */
#ifndef AM_TEST_SUPPORT_FORGED_STORM_H
#define AM_TEST_SUPPORT_FORGED_STORM_H

#include "support/msg_world.h"

#include "am/client.h"
#include "base/prng.h"

enum {
    VICTIM,
    FORGER,
    HONEST,
    RANKS,
    OPS = 32,  /* under way */
    FAIR = 10, /* of them with the honest peer, the first ones */
    AREA = 40000,
    KEPT = 64, /* real packets */
    KEPT_BYTES = 256,
    HELD = 16, /* receives that are deferred */
    H_USER = AM_HANDLER_USER,
    CONTEXT = 0x5a17c0de /* of messages; + 1 with the forger */
};

enum {
    PUT,
    GET,
    ADD,
    STORE,
    SEND, /* to a client, from the victim */
    TAKE, /* to the victim's client */
    SEND_MESSAGE,
    TAKE_MESSAGE,
    KINDS
};

/* An operation between the victim and a peer. */
struct op {
    int kind;
    bool busy;
    uint32_t peer;
    size_t bytes;
    unsigned char *mine;   /* the victim's, AREA */
    unsigned char *theirs; /* the peer's, in its region */
    uint64_t old, added;
    struct ended out, in;
};

/* A packet: a real one, or as it is forged. */
struct kept {
    uint32_t class, word_count, handler, aux;
    uint64_t words[AM_WORDS_MAX];
    size_t bytes;
    unsigned char data[KEPT_BYTES];
};

struct storm {
    struct world world;
    struct am_prng prng;
    struct op ops[OPS];
    unsigned char *areas[RANKS]; /* OPS * AREA, registered */
    struct am_key keys[RANKS];
    struct am_client *clients[RANKS];
    unsigned char scratch[AREA];
    struct am_recv *held[HELD];
    uint32_t held_count;
    struct kept kept[KEPT];
    uint32_t kept_count;
    uint64_t sum; /* of what handlers read */
    uint64_t sent, ended;
};

extern struct storm storm;

static inline uint64_t below(uint64_t bound)
{
    return am_prng_below(&storm.prng, bound);
}

static inline bool chance(uint32_t one_in)
{
    return below(one_in) == 0;
}

/* Begin one of some kind; it must not be busy. */
void storm_start(struct op *op);
/* Look at one operation: has it ended, and not more than once?  What went
 * between the victim and the honest peer must be right then. */
void storm_look(struct op *op);
/* The victim gives up a message with the forger. */
void storm_cancel(struct op *op);

/* The handler of H_USER, and what a client calls for a send that arrives. */
void storm_on_user(struct am_token *token, const uint64_t *words,
                   uint32_t word_count, void *data, size_t bytes);
am_status_t storm_on_receive(void *arg, struct am_recv *recv, uint32_t source,
                             const void *info, size_t info_bytes, size_t bytes,
                             struct am_data *landing, am_done_fn *done,
                             void **done_arg);
/* Give the receives that were deferred a buffer. */
void storm_supply_held(void);
/* Take a message of the forger's that nobody waits for. */
void storm_take_unexpected(void);

/* Forge a packet and send it. */
void storm_forge(void);
/* What the victim's device calls for a packet: some are kept, for replays. */
void storm_packet(void *user, uint32_t class, const void *hdr, size_t hdr_bytes,
                  void *data, size_t bytes);

#endif
