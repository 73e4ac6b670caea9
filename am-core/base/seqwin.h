/*
 * Sequence numbers modulo 2^16 or 2^32, and the receive window that finds
 * duplicates and gaps.  Pure; all of it may run inside a handler.
 *
 *            next                      next + AM_SEQWIN_SPAN
 *   accepted  |  0 1 1 0 1 0 0 ...  0   |  beyond
 *   (old)     |  bits: 1 = is here      |
 */
#ifndef AM_BASE_SEQWIN_H
#define AM_BASE_SEQWIN_H

#include <stdbool.h>
#include <stdint.h>

/* a - b as a distance: right while the two are less than half apart. */
static inline int16_t am_seq16_diff(uint16_t a, uint16_t b)
{
    return (int16_t)(uint16_t)(a - b);
}

static inline int32_t am_seq32_diff(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}

/* Does `a` come before `b`? */
static inline bool am_seq16_before(uint16_t a, uint16_t b)
{
    return am_seq16_diff(a, b) < 0;
}

static inline bool am_seq32_before(uint32_t a, uint32_t b)
{
    return am_seq32_diff(a, b) < 0;
}

#define AM_SEQWIN_SPAN 128 /* numbers that may be ahead of the next expected */

typedef enum {
    AM_SEQWIN_NEW,    /* first time; now marked as here */
    AM_SEQWIN_OLD,    /* a duplicate */
    AM_SEQWIN_BEYOND, /* too far ahead to remember: drop it */
} am_seqwin_t;

struct am_seqwin {
    uint32_t next; /* the lowest number that is not here yet */
    uint32_t mask; /* UINT16_MAX or UINT32_MAX: the modulus - 1 */
    uint64_t bits[AM_SEQWIN_SPAN / 64]; /* of number n: bit n % SPAN */
};

/* A window that expects `first`; `mask` is UINT16_MAX or UINT32_MAX. */
void am_seqwin_init(struct am_seqwin *win, uint32_t first, uint32_t mask);

/* Judge a number that arrived, and remember it if it is new. */
am_seqwin_t am_seqwin_accept(struct am_seqwin *win, uint32_t seq);

/* Step over the numbers that are here without a gap; returns how many.  To be
 * called after accept found a new one; `next` is then what to acknowledge. */
uint32_t am_seqwin_advance(struct am_seqwin *win);

/* Is there a gap: something here beyond a number that is missing? */
bool am_seqwin_has_gap(const struct am_seqwin *win);

#endif
