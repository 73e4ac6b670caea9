/*
 * am_perf's inside.  A test is a function over a struct perf, which holds one
 * rank's context and environment and nothing shared with other ranks: so the
 * same tests run in processes under mpiexec, and as many ranks in one process
 * on simulated hosts.  All ranks run the test; rank 0 reports.
 *
 * Every function that can fail returns 0, or -1 with the reason in perf->error.
 */
#ifndef AM_TOOLS_PERF_H
#define AM_TOOLS_PERF_H

#include "base/env.h"

#include <am.h>
#include <stdbool.h>

enum {
    PERF_SIZES_MAX = 512,
    PERF_GATHER_WORDS_MAX = AM_WORDS_MAX - 1,
    PERF_SAMPLES_MAX = 10000, /* iterations with a time stamp each */
    PERF_BATCHES = 20,        /* of a stream, at least; a sample each */
    PERF_EXIT_USAGE = 2,
    PERF_SETS_MAX = 16,
};

/* Handler indices of the tests. */
enum {
    PERF_HANDLER_GATHER = AM_HANDLER_USER,
    PERF_HANDLER_PING,
    PERF_HANDLER_PONG,
    PERF_HANDLER_STORED,
    PERF_HANDLER_GOT,
    PERF_HANDLER_ACK,
    PERF_HANDLER_REQUEST,
    PERF_HANDLER_TOKEN,
};

struct perf;
struct perf_report;

struct perf_test {
    const char *name;
    const char *help;
    int (*run)(struct perf *perf);
    const char *sizes; /* default of --sizes; NULL: the test has no sizes */
    const char *ops;   /* "isend|store", the first is the default; NULL */
    uint32_t ranks_min;
    bool pair;   /* run by ranks 0 and 1; the others wait at the end */
    bool no_job; /* needs no context: a probe of the machine */
};

extern const struct perf_test perf_tests[]; /* ends with a NULL name */
/* The test of this name, or NULL. */
const struct perf_test *perf_test_find(const char *name);

struct perf_options {
    const struct perf_test *test;
    char op[32]; /* one of test->ops */
    size_t sizes[PERF_SIZES_MAX];
    uint32_t size_count;
    uint64_t iterations;             /* 0: by size */
    uint64_t warmup;                 /* UINT64_MAX: a tenth of the iterations */
    uint32_t window;                 /* messages in flight of a stream */
    uint32_t depth_max;              /* of `match` */
    uint32_t ranks;                  /* -n; 0: as the launcher says */
    const char *hosts;               /* --hosts; NULL: as the launcher says */
    const char *pin;                 /* auto, none, or a list of cores */
    const char *machine;             /* --sim; NULL: this machine */
    const char *sets[PERF_SETS_MAX]; /* --set KEY=VALUE of it */
    uint32_t set_count;
    bool processes;    /* --processes: simulated ranks are processes */
    uint64_t limit_ms; /* --limit: virtual time; 0: SIM_LIMIT_MS */
    uint64_t seed;     /* --seed: of the simulation */
    bool seeded, validate, json, progress;
};

/* Words of a collective that are on their way or have come; see perf_coll.c. */
struct perf_coll {
    uint64_t sequence;
    uint32_t arrived[2]; /* by parity of the sequence */
    uint64_t *words[2];
};

struct perf {
    struct am_ctx *ctx; /* NULL for a test that needs no job */
    struct am_env *env;
    const struct perf_options *options;
    struct perf_report *report; /* rank 0's; NULL elsewhere */
    uint32_t rank, size;
    bool pair; /* gathers are of ranks 0 and 1 only */
    /* All ranks have registered their handlers when it returns. */
    int (*start)(struct perf *perf);
    void *start_arg;
    struct perf_coll coll[2]; /* of all ranks, of the pair */
    char error[320];
};

/* Write the reason of a failure; returns -1. */
int perf_fail(struct perf *perf, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* Turn a negative status of `what` into a failure; 0 for the others. */
int perf_ok(struct perf *perf, am_status_t status, const char *what);
/* One pass of progress for a caller that waits. */
int perf_wait(struct perf *perf);
/* Register `fn` with `arg` at `index`, on this rank. */
int perf_handler(struct perf *perf, uint32_t index, am_handler_fn fn, void *arg,
                 const char *name);
/* The largest of --sizes. */
size_t perf_size_max(const struct perf_options *options);
/* Zeroed memory on its own pages, touched; NULL with perf->error. */
void *perf_alloc(struct perf *perf, size_t bytes);

/* ------------- over all ranks, or the two of a pair test (perf_coll.c) */

int perf_coll_open(struct perf *perf);
void perf_coll_close(struct perf *perf);
/* Each rank's `count` (up to PERF_GATHER_WORDS_MAX) words, in rank order. */
int perf_gather(struct perf *perf, const uint64_t *mine, uint32_t count,
                uint64_t *all);
int perf_barrier(struct perf *perf);

/* ------------------------------------------------- timing (perf_time.c) */

/* A figure with its distribution, in the unit of the row. */
struct perf_figure {
    double value;
    double p50, p90, p99, max;
    uint64_t samples;    /* behind the percentiles; 0: there are none */
    uint64_t iterations; /* behind the value */
};

/* One iteration of a test, on each rank that takes part. */
typedef int (*perf_step_fn)(void *state);

/*
 * Run `step` after a barrier and the warm-up `iterations` times between two
 * readings of the clock, which gives `value`, then up to PERF_SAMPLES_MAX times
 * with a reading each, which gives the percentiles.  Nanoseconds a step.
 */
int perf_time(struct perf *perf, perf_step_fn step, void *state,
              uint64_t iterations, struct perf_figure *figure);
/* The same as a rate: a step is `per_step` things, such as bytes; a second. */
int perf_time_rate(struct perf *perf, perf_step_fn step, void *state,
                   uint64_t iterations, double per_step,
                   struct perf_figure *figure);
/* Sort `samples` and fill in the percentiles. */
void perf_percentiles(double *samples, uint64_t count,
                      struct perf_figure *figure);
/* All of a figure times `factor`. */
void perf_scale(struct perf_figure *figure, double factor);
/* Iterations for messages of `bytes`: the option, or about `total_bytes` of
 * traffic within limits. */
uint64_t perf_iterations(const struct perf *perf, size_t bytes,
                         uint64_t count_max, uint64_t total_bytes);
uint64_t perf_warmup(const struct perf *perf, uint64_t iterations);
/* Let `ps` picoseconds pass as computation, without progress. */
void perf_compute(struct perf *perf, uint64_t ps);
/* Now, in nanoseconds. */
double perf_now_ns(struct perf *perf);

/* --------------------------------------------- payload (perf_payload.c) */

/* Fill with the pattern of `seed`, or compare with it. */
void perf_pattern(void *data, size_t bytes, uint64_t seed);
int perf_pattern_check(struct perf *perf, const void *data, size_t bytes,
                       uint64_t seed);

/* ------------------------------------------------- output (perf_report.c) */

struct perf_row {
    const char *metric, *unit;
    size_t bytes;           /* in the JSON always, 0 if it means nothing */
    bool has_bytes;         /* shown in the table */
    const char *extra_name; /* one more number, such as "words"; or NULL */
    uint64_t extra;
    struct perf_figure figure;
};

/* `pinning` as text for the settings.  NULL when out of memory. */
struct perf_report *perf_report_open(struct am_ctx *ctx,
                                     const struct perf_options *options,
                                     const char *pinning, uint32_t ranks);
void perf_report_close(struct perf_report *report);
/* Print one row.  On ranks without a report, nothing. */
void perf_report_row(struct perf *perf, const struct perf_row *row);
/* Of `total` steps `done` are done: the bar on a terminal. */
void perf_report_progress(struct perf *perf, uint64_t done, uint64_t total);

/* ------------------------------------- the process (perf_main.c and others) */

/* Parse the arguments; 0, or -1 with *exit_p after saying what is wrong. */
int perf_options_parse(int argc, char **argv, struct perf_options *options,
                       int *exit_p);
/* "1:4m:x1.4", "0,8,1k": sizes in order.  0, or -1 with a sentence. */
int perf_sizes_parse(const char *text, size_t *sizes, uint32_t *count_p,
                     char *error, size_t error_bytes);
/* Run the test on the context of perf, and report; the exit status. */
int perf_run_test(struct perf *perf, const char *pinning);
/* All of --sim; the exit status. */
int perf_sim(const struct perf_options *options);
/* Replace this process by mpiexec -n `ranks` of itself, on the options' hosts;
 * returns on failure.  mpiexec's pipes hide the terminal from the ranks, so they are
 * told whether there is to be a bar. */
void perf_launch(char **argv, uint32_t ranks,
                 const struct perf_options *options);

enum {
    PERF_CORES_MAX = 1024
};

struct perf_cores {
    uint32_t count;
    uint16_t core[PERF_CORES_MAX];
};

/* The cores this process may use, in order. */
void perf_cores_allowed(struct perf_cores *cores);
/* The cores of `pin`: a list, or the allowed ones for "auto" (empty when
 * `ranks` outnumber them), or none.  0, or -1 with a sentence. */
int perf_cores_of(const char *pin, uint32_t ranks, struct perf_cores *cores,
                  char *error, size_t error_bytes);
/* Can all ranks of a job be bound by `pin`?  The calling thread stays where it
 * is.  0, or -1 with a sentence. */
int perf_pin_check(const char *pin, uint32_t ranks, char *error,
                   size_t error_bytes);
/* Bind the calling thread.  0, or -1 with a sentence. */
int perf_pin(uint32_t core, char *error, size_t error_bytes);
/* The CPU's name as the system gives it, "unknown" if it does not. */
void perf_cpu_model(char *text, size_t bytes);

/* ------------------------------------------------------------- the tests */

int perf_rtt(struct perf *perf);
int perf_lat(struct perf *perf);
int perf_bw(struct perf *perf);
int perf_rate(struct perf *perf);
int perf_ring(struct perf *perf);
int perf_exchange(struct perf *perf);
int perf_overlap(struct perf *perf);
int perf_logp(struct perf *perf);
int perf_mcast(struct perf *perf);
int perf_collective(struct perf *perf);
int perf_fadd(struct perf *perf);
int perf_match(struct perf *perf);
int perf_incast(struct perf *perf);
int perf_limits(struct perf *perf);

#endif
