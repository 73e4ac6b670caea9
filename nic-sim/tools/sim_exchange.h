/*
 * Small MPI programs that --reproduce times, over am_msg with options of libam.
 */
#ifndef AM_TOOLS_SIM_EXCHANGE_H
#define AM_TOOLS_SIM_EXCHANGE_H

#include "tools/sim.h"

#include <am.h>

typedef enum {
    EXCHANGE_RING,        /* a message round a ring: ps of a hop */
    EXCHANGE_STREAM,      /* sends one after the other: ps of a message */
    EXCHANGE_SENDS_FIRST, /* two nodes send to each other, then receive: ps */
    EXCHANGE_POSTED,      /* they post receives, meet, and send: ps */
    EXCHANGE_LATE         /* to and fro; each receive is posted when all of its
                           * message is there: ps of a way */
} exchange_test_t;

enum {
    EXCHANGE_OPTIONS = 3
};

struct exchange_test {
    exchange_test_t test;
    uint32_t nodes;
    size_t bytes;
    /* A send is waited for before its receive is posted (EXCHANGE_SENDS_FIRST):
     * its data leaves whether a receive is posted or not. */
    bool blocking;
    struct am_option options[EXCHANGE_OPTIONS];
    uint32_t option_count;
    /* results */
    uint64_t ps;
    double copies; /* that msg has made of each byte that node 0 received */
};

/* The exit status. */
int exchange_run(const struct sim_options *options,
                 const struct ns_machine *machine, struct exchange_test *test);
/* Time of a host's copy of so many bytes of its own, as it is charged. */
int exchange_copy(const struct sim_options *options,
                  const struct ns_machine *machine, size_t bytes,
                  uint64_t *ps_p);

#endif
