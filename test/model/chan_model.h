/*
 * The model that chan_mc searches: two ends with a shipped window each, and the
 * packets between them.
 */
#ifndef AM_TEST_MODEL_CHAN_MODEL_H
#define AM_TEST_MODEL_CHAN_MODEL_H

#include "chan/window_inl.h"

#define NET_MAX       8 /* packets on their way, when the network is kind */
#define MEMORY_BYTES  256
#define LANDING_BYTES 8
#define EARLY_BYTES   192
#define MESSAGES_MAX  4

struct packet {
    struct am_chan_hdr hdr;
    uint8_t to, class, data_bytes, data[5];
};

struct end {
    struct am_window window;
    _Alignas(8) uint8_t memory[MEMORY_BYTES];
    uint8_t landing[AM_WINDOW_CLASSES][LANDING_BYTES];
    _Alignas(8) uint8_t early[EARLY_BYTES]; /* of the model's class */
    uint8_t sent, got; /* messages; got: of the peer's */
    bool ready;
};

struct state {
    struct end end[2];
    uint32_t net_count;
    struct packet net[NET_MAX];
};

/* What is searched: packets of the messages of each end, and the net. */
struct model {
    const char *name;
    uint8_t messages[2][MESSAGES_MAX]; /* packets of each; 0 ends the list */
    uint8_t class;                     /* of all of them */
    uint32_t net_max; /* packets on their way, both ways; then AGAIN */
    uint32_t window_packets, chunk_packets;
    uint32_t early;      /* packets kept that came too early */
    bool timer, readies; /* end 1 is not ready at times */
    bool stale;          /* packets of an earlier connection are about */
    bool rests;          /* ends give their memory back */
    bool quick;          /* also in a build with a sanitizer */
};

/* One search at a time: the windows hold pointers into `now`. */
struct mc {
    const struct model *model;
    struct am_window_params params;
    struct state now;
    uint64_t stats[AM_CHAN_STAT_COUNT];
    uint32_t net_max;
    const char *failure;
};

extern struct mc mc;

/* What the windows call; their argument is a struct end of mc.now. */
extern const struct am_window_ops mc_ops;

/* The first of these is what the search says. */
void mc_fail(const char *what);
/* What the messages of an end consist of. */
uint8_t mc_message_byte(uint32_t from, uint32_t number, uint32_t index);
/* Drop what is never read again, so that equal futures are equal states. */
void mc_normalise(void);

#endif
