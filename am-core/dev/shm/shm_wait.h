/*
 * Waiting, of the shared-memory device.
 *
 *   shm_wait.c   spin, yield, sleep; who else wants the core
 *   shm_event.c  sleeping outside the library, on a descriptor
 */
#ifndef AM_DEV_SHM_SHM_WAIT_H
#define AM_DEV_SHM_SHM_WAIT_H

#include "dev/shm/shm.h"

/* ------------------------------------------------------------ shm_wait.c */

void shm_wait_init(struct shm_dev *dev);
/* Has everybody on this node the job's memory? */
static inline bool shm_is_met(const struct shm_dev *dev)
{
    return dev->job != NULL && (dev->local_index != 0 ||
                                dev->served_count == dev->local_count - 1);
}

/* Tell all whom I share memory with on which CPU I wait, plus 1; 0: on none. */
void shm_core_publish(struct shm_dev *dev, uint32_t core);
/* Tell them the CPU that I am on now; that, plus 1. */
uint32_t shm_core_tell(struct shm_dev *dev);
/* Say to all of them that I sleep, and how (SHM_SLEEP_*) I am woken; then the
 * lanes are to be looked at once more.  False: a sender may miss it. */
bool shm_announce_sleep(struct shm_dev *dev, uint32_t how);
bool shm_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest);
/* Ring the bell of a sleeping peer; off the fast path. */
void shm_wake(struct shm_ep *ep);
/* Do more contexts than cores compete for the cores I may run on? */
bool shm_is_crowded(struct shm_dev *dev);
/* CPUs that the ranks of this node have, as far as one of them can tell. */
uint32_t shm_cpu_count(void);
/* Publish my CPU mask in a segment. */
void shm_cpus_publish(struct shm_rank *me);

/* ----------------------------------------------------------- shm_event.c */

am_status_t shm_watch(struct am_dev *dev, int epoll);
am_status_t shm_arm(struct am_dev *dev, uint64_t *most_ns);
/* Wake the context of this nonce, which sleeps on a descriptor. */
void shm_bell_ring(struct shm_dev *dev, uint64_t nonce);
void shm_bell_close(struct shm_dev *dev);

#endif
