/*
 * Which pages of lanes there are, and when they are made: those that packets use first
 * (shm_pages.c), and how much of a large data ring is in use (shm_front.c).
 */
#ifndef AM_DEV_SHM_SHM_PAGES_H
#define AM_DEV_SHM_SHM_PAGES_H

#include "dev/shm/shm.h"

/* Have the pages in which these bytes lie made and mapped at once; false: the kernel
 * cannot. */
bool shm_pages_make(char *from, size_t bytes);
/* Write to each of these pages, at its end: under some hypervisors the first write
 * costs more than the page did (6 us and 2).  For the sender of a lane, before it has
 * sent anything. */
void shm_pages_write(char *from, size_t bytes);
/* So many pages took so long: the least counts, as others want the core. */
void shm_page_took(struct shm_dev *dev, uint64_t elapsed_ps, uint64_t pages);
/* What a stream of the segment's, whose pages were not made ahead, finds; NULL: its ring
 * has a front, and sees to that itself. */
const struct am_dev_pages *shm_pages_of(const struct shm_seg *seg);
/* A packet is to be the first to use the small ring's pages up to `bytes`: make them
 * at once, and see what they cost. */
void shm_pages_more(struct shm_dev *dev, struct shm_tx *tx, uint32_t bytes);
/* In the job's segment when it is new here, before anything is sent: those pages of the
 * lanes that packets use first.  Of pairs that connect late a process may have many. */
void shm_seg_pages_make(struct shm_seg *seg);

/* A packet that needs `need` bytes of a large ring, and at `at` would leave its front,
 * or begins a lap: the bytes to skip, to the ring's start, or 0: it goes where it is. */
uint64_t shm_front_leave(struct shm_ep *ep, struct shm_tx *tx, uint32_t at,
                         uint64_t need);
/* A packet that needed `need` bytes is sent, and the next begins at `at`: lines from
 * there on that this rank has never written are asked for, as many as another such packet
 * needs.  They come from memory (about 20 ns each, and 256 bytes took 130 ns instead of
 * 110), here while the sender waits for an answer. */
void shm_front_fetch(struct shm_tx *tx, uint32_t at, uint64_t need);
/* Packets, or pages of long ones, that go through the front before the whole ring is
 * worth its pages, where a new one costs so much. */
uint64_t shm_front_worth(uint32_t ring_bytes, uint64_t page_ps);

#endif
