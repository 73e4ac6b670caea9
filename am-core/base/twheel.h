/*
 * Timer wheel on picoseconds: levels of 16 slots, each level 16 times as
 * coarse as the one below.  Start and stop cost the same few instructions
 * whatever the number of timers; time may jump any distance at the cost of
 * the timers that it passes, not of the ticks.
 *
 *   level 0   16 slots of 1 tick         a timer lies in the level of the
 *   level 1   16 slots of 16 ticks       highest 4-bit digit in which its
 *   ...                                  tick differs from the wheel's, in
 *   level 11  16 slots of 16^11 ticks    the slot of that digit
 *
 * A timer fires at the first am_twheel_advance at or after its deadline
 * rounded up to a tick, never earlier.  Timers fire in order of their ticks
 * (a deadline in the past counts as the wheel's time when it was started),
 * those of one tick in the order they were started.  The wheel allocates
 * nothing and reads no clock; it belongs to one thread.
 */
#ifndef AM_BASE_TWHEEL_H
#define AM_BASE_TWHEEL_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

#define AM_TWHEEL_LEVELS 12
#define AM_TWHEEL_SLOTS  16

/* The default tick: 2^20 ps, about 1.05 us. */
#define AM_TWHEEL_TICK_SHIFT 20

struct am_timer;
/* Runs inside am_twheel_advance; may start and stop any timer, this one too,
 * but not advance the wheel. */
typedef void (*am_timer_fn)(struct am_timer *timer);

/* Embedded in its owner, which finds itself by am_container. */
struct am_timer {
    struct am_list link;
    am_timer_fn fn;
    uint64_t tick; /* when it fires */
    int8_t level;  /* -1: not running; AM_TWHEEL_LEVELS: due */
    uint8_t slot;
};

struct am_twheel {
    uint64_t tick;                    /* the wheel's time */
    uint32_t tick_shift;              /* a tick is 2^tick_shift picoseconds */
    uint16_t levels;                  /* bit l: level l has timers */
    uint16_t slots[AM_TWHEEL_LEVELS]; /* bit s: slot s has timers */
    uint32_t timer_count;
    struct am_list due; /* to be fired by the next advance */
    struct am_list lists[AM_TWHEEL_LEVELS][AM_TWHEEL_SLOTS];
};

/* A wheel whose time is `now_ps`; `tick_shift` 16 to 40. */
void am_twheel_init(struct am_twheel *wheel, uint64_t now_ps,
                    uint32_t tick_shift);

/* A timer that is not running. */
void am_timer_init(struct am_timer *timer, am_timer_fn fn);

/* Run the timer until `deadline_ps`; one that runs already is moved.  A
 * deadline in the past fires at the next advance. */
void am_timer_start(struct am_twheel *wheel, struct am_timer *timer,
                    uint64_t deadline_ps);

/* Stop the timer if it runs. */
void am_timer_stop(struct am_twheel *wheel, struct am_timer *timer);

static inline bool am_timer_is_running(const struct am_timer *timer)
{
    return timer->level >= 0;
}

/*
 * Move the wheel's time to `now_ps` (never back, but that 64 bits go round: then
 * all timers are due, some of them early) and call the functions of at
 * most `fire_max` timers that are due; the rest stay due.  Timers started by
 * these functions fire at the next advance at the earliest.  Returns how many
 * were called.
 */
uint32_t am_twheel_advance(struct am_twheel *wheel, uint64_t now_ps,
                           uint32_t fire_max);

/* No timer fires before this time; UINT64_MAX when none runs.  The real next
 * deadline may be later: advance to this time and ask again. */
uint64_t am_twheel_next_ps(const struct am_twheel *wheel);

/* Is every timer where it belongs?  For tests. */
bool am_twheel_is_valid(const struct am_twheel *wheel);

#endif
