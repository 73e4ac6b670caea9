/*
 * Assertions on the project's own invariants; what a peer sends is checked
 * and counted instead.  AM_CHECK is always on, for cheap tests off the hot
 * path; AM_ASSERT only in debug builds; AM_STATIC_ASSERT costs nothing.
 */
#ifndef AM_BASE_ASSERT_H
#define AM_BASE_ASSERT_H

#include <stdint.h>

#define AM_STATIC_ASSERT(_condition, _text) _Static_assert(_condition, _text)

/* Say what failed on stderr and abort.  Never returns. */
__attribute__((noreturn, cold)) void
am_check_failed(const char *condition, const char *file, uint32_t line);

#define AM_CHECK(_condition)             \
    (__builtin_expect(!!(_condition), 1) \
             ? (void)0                   \
             : am_check_failed(#_condition, __FILE__, __LINE__))

#ifdef AM_DEBUG
#define AM_ASSERT(_condition) AM_CHECK(_condition)
#else
/* Compiled, so that it cannot rot, but never run. */
#define AM_ASSERT(_condition) ((void)sizeof(!(_condition)))
#endif

#endif
