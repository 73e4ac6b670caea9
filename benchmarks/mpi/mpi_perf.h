/*
 * mpi_perf.h: what the driver and the tests of mpi_perf share.  Plain MPI, so
 * that the same program measures every MPI library.
 */
#ifndef AM_BENCHMARKS_MPI_PERF_H
#define AM_BENCHMARKS_MPI_PERF_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#define PERF_WINDOW     64 /* messages under way in bandwidth and rate */
#define PERF_NEIGHBOURS 6
#define PERF_VARIANTS   6

/* One run of the program. */
struct perf {
    int rank;
    int ranks;
    int bytes; /* of the message being measured */
    char *out; /* PERF_WINDOW messages' room each */
    char *in;
    double compute_s; /* overlap: time to compute, 0 for as long as the
                          message takes */
    double spin_rate; /* overlap: steps of computing a second */
};

/* One line of numbers that a test yields. */
struct perf_variant {
    const char *metric; /* as in JSON */
    const char *unit;   /* of JSON: ns, B/s, msg/s or ratio */
    int mode;           /* passed to the test */
};

struct perf_test {
    const char *name;
    const char *what;
    int ranks_min;
    int bytes_max; /* of the sizes measured when none are given */
    struct perf_variant variant[PERF_VARIANTS]; /* up to a null metric */

    /* Runs so often; the seconds of this rank, 0 if it had no part. */
    double (*run)(struct perf *perf, int mode, int iterations);

    /* From the seconds of one iteration to the unit. */
    double (*value)(const struct perf *perf, int mode, double seconds);

    /*
     * Which rank's messages lie in the slots of the receive buffer after a
     * run, and how many slots; a rank without a part has none.
     */
    int (*sources)(const struct perf *perf, int mode, int source[PERF_WINDOW]);
};

/* All tests, up to one without a name. */
extern const struct perf_test perf_tests[];

/* Computes for about so many seconds, without a look at the clock. */
void perf_compute(const struct perf *perf, double seconds);

#endif
