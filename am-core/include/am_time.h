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
 * simulated machine and this process's own elsewhere.  On a simulated machine it
 * takes host.clock_read, so that who waits for a time gets there.  Legal in a handler. */
AM_API uint64_t am_time_ps(void);

/*
 * The program has done so many operations of floating point since it last told.
 * On a simulated machine, with AM_SIM_COMPUTE=declared, each takes the machine's
 * host.operation, in which interrupts come; else this does nothing.  Not in a
 * handler.  A program need not be linked with libam for it: MPI_Init brings libam
 * in where MPI uses it, so this is enough, and does nothing with another MPI:
 *
 *     extern void am_compute(uint64_t operations) __attribute__((weak));
 *     if (am_compute != NULL) {
 *         am_compute(2 * n);
 *     }
 */
AM_API void am_compute(uint64_t operations);

/* An MPI above libam sends a message, or has received one: on a simulated machine
 * its own instructions take host.mpi_call.  Legal in a handler. */
AM_API void am_time_call(void);

/*
 * From begin to end is a slice of this name on the rank's track in the timeline of
 * `am_sim --mpi --trace`; elsewhere they do nothing.  Slices lie inside each other
 * and do not overlap otherwise.  `name` lives as long as the process and has at
 * most 63 characters.  MPI's functions are told so already.  Not in a handler.
 */
AM_API void am_time_begin(const char *name);
AM_API void am_time_end(const char *name);

#ifdef __cplusplus
}
#endif

#endif
