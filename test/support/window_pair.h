/*
 * Two windows and the wire between them, for tests of the pure machine.  The
 * wire is two lists of packets; what happens to a packet on it is decided by
 * the test, through `fate`.  Every message is made from its class and number,
 * so what arrives is checked to be the next one, byte by byte.
 */
#ifndef AM_TEST_SUPPORT_WINDOW_PAIR_H
#define AM_TEST_SUPPORT_WINDOW_PAIR_H

#include "base/prng.h"
#include "chan/window.h"

#define PAIR_PAYLOAD_MAX 224
#define PAIR_WIRE_MAX    1024 /* packets on their way; at the limit AGAIN */
#define PAIR_LANDING     (64 * 1024)

typedef enum {
    FATE_PASS,
    FATE_LOSE,
    FATE_DOUBLE,
    FATE_LATE
} fate_t;

/* The classes by short names. */
enum {
    REQUEST,
    REPLY
};

struct pair_packet {
    struct am_chan_hdr hdr;
    uint32_t class;
    uint32_t data_bytes;
    uint8_t data[PAIR_PAYLOAD_MAX];
};

struct pair;

struct pair_end {
    struct pair *pair;
    uint32_t index;
    struct am_window window;
    void *memory;
    uint8_t *landing[AM_WINDOW_CLASSES];
    void *early[AM_WINDOW_CLASSES];
    bool ready;
    bool poor; /* it has no memory for packets that come too early, */
    bool broke; /* nor any other */
    uint32_t taken; /* times that `memory` was asked for */
    uint64_t stats[AM_CHAN_STAT_COUNT];
    uint64_t sent[AM_WINDOW_CLASSES], got[AM_WINDOW_CLASSES];
    uint32_t transmitted[AM_CHAN_TYPE_END]; /* by type, lost ones too */
    uint32_t wire_count;
    struct pair_packet wire[PAIR_WIRE_MAX]; /* on the way to this end */
};

struct pair {
    struct pair_end end[2];
    struct am_window_params params;
    uint64_t now_ps, tick_ps; /* tick_ps passes with each step */
    /* NULL: all pass.  `from` is the sender's index. */
    fate_t (*fate)(struct pair *pair, uint32_t from,
                   const struct pair_packet *packet);
    struct am_prng prng; /* for a fate that draws */
    uint32_t rule[8];    /* for the fate's own use; pair_lose: [5] counts */
    /* Length of message `number`, 0..landing; NULL: 8 bytes. */
    uint32_t (*length)(const struct pair *pair, uint32_t class,
                       uint64_t number);
};

/* The parameters of the SP: 75 and 76 packets of 224 bytes, chunks of 36. */
struct am_window_params pair_sp_params(void);

/* A new pair; epochs as given.  Call pair_close at the end. */
struct pair *pair_open(const struct am_window_params *params, uint32_t epoch0,
                       uint32_t epoch1);
/* The same with the SP's parameters. */
struct pair *pair_open_sp(void);

/* A network that drops: windows of 64 packets, chunks of 8, packets that come too
 * early are kept. */
enum {
    PAIR_WINDOW = 64,
    PAIR_CHUNK = 8,
    PAIR_KEPT = 64
};

/* The same with `params` but for these, and at most `kept` packets that are kept:
 * connected, and so many steps later, in which end 0 sends all that it may, so that
 * the window has grown.  Messages are full chunks. */
struct pair *pair_open_grown(struct am_window_params *params, uint32_t kept,
                             int steps);
void pair_close(struct pair *pair);

/* Lose, of the packets of a type and class that end `from` sends, `count` from
 * number `first` on. */
void pair_lose(struct pair *pair, uint32_t from, uint32_t type, uint32_t class,
               uint32_t first, uint32_t count);
/* A `length`: every message is a full chunk. */
uint32_t pair_length_chunk(const struct pair *pair, uint32_t class,
                           uint64_t number);

/* Send the next message of a class; false when the window is full. */
bool pair_send(struct pair *pair, uint32_t from, uint32_t class);
/* Send `messages` requests from end 0; the test fails if the window is full. */
void pair_send_all(struct pair *pair, int messages);
/* How many packets end 0 has sent again. */
uint64_t pair_again(const struct pair *pair);
/* Deliver what is on the way to an end; how many packets there were. */
uint32_t pair_deliver(struct pair *pair, uint32_t to);
/* One step: both ends get what is on the way, then a tick. */
void pair_step(struct pair *pair);
/* Steps until all that was sent has arrived and is acknowledged; the number of
 * steps, or steps_max + 1 when that was not enough. */
uint32_t pair_settle(struct pair *pair, uint32_t steps_max);
/* Open the connection: a HELLO goes out with a first message. */
void pair_connect(struct pair *pair);

#endif
