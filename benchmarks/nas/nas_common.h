/*
 * nas_common.h: what every kernel shares: start and command line, random
 * numbers, memory, timing, verification and the closing report.  It may call
 * MPI and the C library, and nothing of libam but nas_compute: these programs are
 * plain MPI, of any kind.
 */
#ifndef AM_BENCHMARKS_NAS_COMMON_H
#define AM_BENCHMARKS_NAS_COMMON_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One run of one kernel. */
struct nas_job {
    const char *kernel; /* two capital letters, for example "CG" */
    char klass;         /* class letter: S, W, A or B */
    bool spoil;         /* falsify the result, to try the checks */
    int layout[2];      /* FT: grid of ranks that was asked for, or zeros */
    int rank;
    int ranks;
};

/* What the closing report prints. */
struct nas_result {
    int64_t extent[3];     /* grid, or {size, 0, 0} */
    int iterations;        /* timed iterations */
    double seconds;        /* longest time of any rank */
    double mops;           /* million operations a second, all ranks */
    const char *operation; /* what is counted */
    bool verified;
};

#define NAS_SEED       UINT64_C(314159265)
#define NAS_MULTIPLIER UINT64_C(1220703125)

/* Exit status for a refused command line or rank count. */
#define NAS_EXIT_REFUSED 2

/*
 * Starts MPI and reads the command line: "-c CLASS" or just the letter, class
 * S if none is given; for FT also "--layout N1xN2".  A wrong command line ends the program (status 2) with
 * one sentence on standard error.
 */
void nas_start(int *argc_p, char ***argv_p, const char *kernel,
               struct nas_job *job_p);

/*
 * Ends the program with one sentence on standard error and status 2.  Every
 * rank must call it; rank 0 prints.
 */
_Noreturn void nas_refuse(const struct nas_job *job, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Refuses the run unless the number of ranks is a power of two up to max. */
void nas_need_power_of_two(const struct nas_job *job, int ranks_max);

/* Refuses the run unless ranks is a square; returns its root. */
int nas_need_square(const struct nas_job *job, int ranks_max);

/* Prints the heading; extent as in struct nas_result. */
void nas_heading(const struct nas_job *job, const int64_t extent[3],
                 int iterations);

/*
 * Prints the report, ends MPI, and returns the exit status: 0 when the result
 * was verified, 1 when not.  Only rank 0's result counts.
 */
int nas_finish(const struct nas_job *job, const struct nas_result *result);

/* Returns zeroed memory, aligned to 64 bytes; ends the run if there is none. */
void *nas_alloc(size_t count, size_t each_bytes);

/* Waits for all ranks and returns the time, in seconds. */
double nas_timer_start(void);

/* Seconds since a start on the slowest rank; valid on rank 0 only. */
double nas_timer_stop(double start);

/*
 * Compares a computed value with the official one, prints both on rank 0, and
 * returns whether the relative error is at most epsilon.
 */
bool nas_check(const struct nas_job *job, const char *what, double value,
               double official, double epsilon);

/*
 * The rank has done so many operations of floating point since it last told (in
 * IS, of integers): on a simulated machine they take time (am_sim's
 * AM_SIM_COMPUTE=declared).  Does nothing elsewhere, nor with another MPI.
 */
void nas_compute(double operations);

/* Next number of x' = a x mod 2^46, as a fraction of 1; updates *x_p. */
static inline double nas_random(uint64_t *x_p, uint64_t a)
{
    *x_p = (*x_p * a) & ((UINT64_C(1) << 46) - 1);
    return (double)*x_p * 0x1p-46;
}

/* Fills y with count numbers; *x_p is left at the last state. */
void nas_random_fill(uint64_t *x_p, uint64_t a, size_t count,
                     double *restrict y);

/* a to the power n, mod 2^46. */
uint64_t nas_random_power(uint64_t a, uint64_t n);

/* The state n steps after x. */
static inline uint64_t nas_random_skip(uint64_t x, uint64_t a, uint64_t n)
{
    return (x * nas_random_power(a, n)) & ((UINT64_C(1) << 46) - 1);
}

#endif
