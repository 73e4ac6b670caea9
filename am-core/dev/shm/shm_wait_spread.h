/*
 * Which core a rank waits on, where there are more ranks than cores.
 */
#ifndef AM_DEV_SHM_SHM_WAIT_SPREAD_H
#define AM_DEV_SHM_SHM_WAIT_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

struct shm_dev;

struct shm_spread {
    uint32_t yields_left; /* until I look whether to change the core */
    uint32_t gone; /* the CPU that I have gone to since the last look, plus 1 */
    uint32_t rest; /* yields after I was taken back; 0: I was not */
    bool is_sure;  /* the last look said so, too */
};

/* I have yielded: after so many times I look whether to go to another core. */
void shm_spread_yielded(struct shm_dev *dev);

#endif
