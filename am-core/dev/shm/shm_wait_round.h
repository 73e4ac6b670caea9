/*
 * What the ranks that share a core take to go round, measured by the first yields of one
 * that waits.
 */
#ifndef AM_DEV_SHM_SHM_WAIT_ROUND_H
#define AM_DEV_SHM_SHM_WAIT_ROUND_H

#include <stdint.h>

struct shm_dev;

#define SHM_YIELDS_TIMED 32 /* that another rank made use of */
#define SHM_YIELDS_GUESS 4  /* after so many a round is guessed */

/* After so many that none did, one in so many is timed: timing takes system calls. */
#define SHM_YIELDS_UNUSED  1024
#define SHM_YIELDS_SAMPLED 64

struct shm_round {
    uint32_t core_ranks; /* that may share a core */
    uint32_t count;      /* of yields_ps */
    uint32_t unused;   /* yields that no other rank made use of, or not timed */
    uint64_t guess_ps; /* a round, as the yields so far tell; 0: not known */
    uint64_t yields_ps[SHM_YIELDS_TIMED];
};

/* Yield the core, and time it if need be; the last of those that are timed tells the
 * costs. */
void shm_round_yield(struct shm_dev *dev);
/* Of so many yields, which it sorts: an eighth took as long or less, as the others have
 * work of their own in most of them. */
uint64_t shm_round_of(uint64_t *yields_ps, uint32_t count);

/* Tell the costs what a round takes (shm_cost.c): by the first yields, for the choice
 * of a protocol between two of one core; and by all of them, for collectives, too. */
void shm_costs_guess(struct shm_dev *dev, uint64_t round_ps);
void shm_costs_round(struct shm_dev *dev, uint64_t round_ps);

#endif
