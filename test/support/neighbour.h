/*
 * What the files of shm_neighbour_test share: what is chosen for a run, and how
 * its ranks end.
 *
 *   neighbour_talk.c      two ranks that exchange what they check
 *   neighbour_disturb.c   the third, who writes into their shared memory
 */
#ifndef AM_TEST_SUPPORT_NEIGHBOUR_H
#define AM_TEST_SUPPORT_NEIGHBOUR_H

#include "support/process.h"

/* How a rank ends. */
enum {
    END_RIGHT = 0,
    END_TOLD = 10, /* by an error that names the other rank */
    END_WRONG,     /* by the check: a wrong payload */
    END_VAIN,      /* by the check: what was sent does not come */
    END_STOPPED,   /* the other's check has told */
    END_BAD_ERROR, /* by an error that names nobody */
    END_NO_START,
    END_COUNT
};

enum {
    FLAG_STARTED,
    FLAG_ENDED,
    FLAG_CHECKED /* a check has told */
};

/* What is written: parts of lanes, or of messages. */
enum {
    WORD_CTL,
    WORD_HEAD,
    WORD_TAIL,
    WORD_BITMAP,
    WORD_RANK,
    WORD_HEADER,
    WORD_PLACE, /* from here on, of messages */
    WORD_MESSAGE,
    WORD_COUNT
};

/* Chosen before the ranks begin. */
struct neighbour_run {
    uint64_t seed;
    uint32_t word; /* of the above */
    const char *protocol;
    const char *reliability; /* NULL: none */
    uint32_t writes;
};

extern struct neighbour_run neighbour_run;

/* Wait until all three have opened.  A start that is disturbed ends when
 * AM_CONNECT_TIMEOUT says. */
void neighbour_all_start(struct rank *me);
/* What ranks 0 and 1 do with their context, which is open, and rank 2: how the
 * rank ends. */
int neighbour_talk(struct rank *me);
int neighbour_disturb(struct rank *me);

#endif
