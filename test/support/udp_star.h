/*
 * A hub and its peers: devices of udp in one process, without a channel on them, so that
 * a loss shows.  The hub's second socket is for one of them soon.
 */
#ifndef AM_TEST_SUPPORT_UDP_STAR_H
#define AM_TEST_SUPPORT_UDP_STAR_H

#include "dev/udp/udp.h"
#include "support/clock.h"

#include <stdatomic.h>

enum {
    PEERS = 6, /* ranks 1 to 6; the hub is rank 0 */
    RANKS = PEERS + 1,
    EACH = 4000, /* messages each way between the hub and a peer */
    WINDOW = 64, /* of them under way: they fit into the kernel's buffer */
    ENOUGH = 16, /* to one peer, for the hub's second socket */
    POLLS_MAX = 100000000
};

#define PS_PER_S UINT64_C(1000000000000)

struct node {
    struct am_dev *dev;
    struct am_dev_ep *eps[RANKS];
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint32_t rank, dead;
    uint32_t dead_got; /* what had come from the peer when it was told dead */
    _Atomic uint32_t got[RANKS], sent[RANKS]; /* messages from, to a rank */
    char error[256];
    struct am_log log; /* silent */
};

extern struct node star_nodes[RANKS];
extern struct clock star_clock;

/* For cmocka: open all and connect them to the hub; close them, and nothing was
 * refused. */
int star_open(void **state);
int star_close(void **state);

struct udp_dev *star_hub(void);
/* Is the hub's second socket for this rank? */
bool star_is_direct(uint32_t rank);

int star_poll(uint32_t rank);
/* Poll until so many messages of `from` have come, and not one more. */
void star_poll_until(uint32_t rank, uint32_t from, uint32_t got);
/* Up to so many to a rank, as one burst; as many as its window lets go. */
void star_send_some(uint32_t from, uint32_t to, uint32_t count);
/* So many, one at a time; the rank polls. */
void star_send_more(uint32_t from, uint32_t to, uint32_t count);

#endif
