/*
 * Memory barriers, named by purpose; the only place for bare fences.  They
 * order accesses between cores of one machine (threads, or processes that
 * share memory).
 *
 *   writer: fill the data, am_publish(flag)      am_observe(flag), use data
 *   sleeper: set "asleep", am_barrier_announce, look once more, sleep
 *   waker:   add work,     am_barrier_announce, look at "asleep", wake
 */
#ifndef AM_BASE_BARRIER_H
#define AM_BASE_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Store `value`; who observes it sees all that was written before. */
static inline void am_publish32(_Atomic uint32_t *flag, uint32_t value)
{
    atomic_store_explicit(flag, value, memory_order_release);
}

static inline void am_publish64(_Atomic uint64_t *flag, uint64_t value)
{
    atomic_store_explicit(flag, value, memory_order_release);
}

/* Load a flag; what was written before it was published is then visible. */
static inline uint32_t am_observe32(const _Atomic uint32_t *flag)
{
    return atomic_load_explicit(flag, memory_order_acquire);
}

static inline uint64_t am_observe64(const _Atomic uint64_t *flag)
{
    return atomic_load_explicit(flag, memory_order_acquire);
}

/*
 * My store (above) is visible to all before my load (below) is made.  Both
 * sides of a "who looks last" protocol need it, or both may miss the other.
 */
static inline void am_barrier_announce(void)
{
#ifdef __SANITIZE_THREAD__
    /* gcc's ThreadSanitizer knows no fences; a locked exchange is one here. */
    _Atomic uint32_t dummy = 0;

    atomic_exchange(&dummy, 1);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

/*
 * The same where one side acts often and the other seldom: who acts often does
 * with a fence of the compiler's, and the other makes all cores that run
 * processes which have called am_barrier_open pass a fence (10 us where the
 * cores are virtual ones; Linux, membarrier(2)).
 */

/* False: this machine has no such thing; all are to use am_barrier_announce. */
bool am_barrier_open(void);
static inline void am_barrier_often(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}
/* False: no fence was passed. */
bool am_barrier_seldom(void);

/* Have `bytes` at `start`, where a line begins, leave this core's own caches for the one that
 * it shares with other cores: another core that reads them soon waits less for each line
 * (CLDEMOTE, Intel's manual, volume 2; a processor without it takes it for a no-op). */
static inline void am_lines_share(const void *start, size_t bytes)
{
#if defined(__x86_64__)
    for (size_t at = 0; at < bytes; at += 64) {
        __asm__ volatile("cldemote %0" : : "m"(((const char *)start)[at]));
    }
#else
    (void)start;
    (void)bytes;
#endif
}

/* Between two looks at memory that another core is about to write: the second
 * is not made ahead of the first.  Without it a core runs hundreds of looks
 * ahead while the line is on its way, and has to drop them all. */
static inline void am_barrier_look(void)
{
#if defined(__x86_64__)
    __asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* One turn of a spin loop: eases the other hardware thread of the core. */
static inline void am_cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

#endif
