/*
 * The clock of the machine that the program runs on: this one, or a simulated
 * one (am_sim --mpi), whose time is virtual.
 */
#ifndef AM_TIME_H
#define AM_TIME_H

#include <am_types.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Is this process a rank on a simulated machine?  It is from am_open or am_init
 * on, for good.  Legal in a handler. */
AM_API bool am_time_is_virtual(void);

/* The time in picoseconds, from a beginning that is the same for all ranks of a
 * simulated machine and this process's own elsewhere.  Legal in a handler. */
AM_API uint64_t am_time_ps(void);

/*
 * The program has done so many operations (of floating point, say) since it last
 * told.  On a simulated machine each takes the time of am_sim's --operation, in
 * which interrupts come; without that, and elsewhere, this does nothing.  Not in
 * a handler.
 */
AM_API void am_compute(uint64_t operations);

#ifdef __cplusplus
}
#endif

#endif
