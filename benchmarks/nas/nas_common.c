/*
 * nas_common.c: start, errors, random numbers, verification and report of the
 * NAS kernels; see nas_common.h.
 */
#include "nas_common.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAS_FLAGS
#define NAS_FLAGS "unknown"
#endif

#define NAS_VERSION "3.4"
#define NAS_CLASSES "SWAB"

extern char **environ;

/* <am_time.h>; MPI brings it in where MPI is on libam. */
extern void am_compute(uint64_t operations) __attribute__((weak));

/* -------------------------------------------------------------- starting */

_Noreturn void nas_refuse(const struct nas_job *job, const char *format, ...)
{
    if (job->rank == 0) {
        va_list args;

        fprintf(stderr, "nas_%c%c: ", job->kernel[0] | 0x20,
                job->kernel[1] | 0x20);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
        fflush(stderr);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    exit(NAS_EXIT_REFUSED);
}

static void set_class(struct nas_job *job, const char *text)
{
    if (strlen(text) != 1 || strchr(NAS_CLASSES, text[0]) == NULL) {
        nas_refuse(job, "there is no class '%s'; the classes are S, W, A, B.",
                   text);
    }
    job->klass = text[0];
}

static void set_layout(struct nas_job *job, const char *text)
{
    int end = 0;

    if (sscanf(text, "%dx%d%n", &job->layout[0], &job->layout[1], &end) != 2 ||
        text[end] != '\0' || job->layout[0] < 1 || job->layout[1] < 1) {
        nas_refuse(job, "'%s' is no layout; layouts are N1xN2.", text);
    }
}

static bool has_layout(const struct nas_job *job)
{
    return strcmp(job->kernel, "FT") == 0;
}

/* The word after an option. */
static const char *argument_of(const struct nas_job *job, int *i_p, int argc,
                               char **argv, const char *what)
{
    if (*i_p + 1 == argc) {
        nas_refuse(job, "%s needs %s.", argv[*i_p], what);
    }
    return argv[++*i_p];
}

static void print_usage(const struct nas_job *job)
{
    if (job->rank == 0) {
        printf("usage: nas_%c%c [-c CLASS] [--spoil]%s\n"
               "  -c CLASS  problem class S, W, A or B (default S)\n"
               "  --spoil   falsify the result before it is verified, to try "
               "what a failure does\n%s",
               job->kernel[0] | 0x20, job->kernel[1] | 0x20,
               has_layout(job) ? " [--layout N1xN2]" : "",
               has_layout(job) ? "  --layout N1xN2  divide x and y by N1, y "
                                 "and z by N2 ranks (default: 1xN while\n"
                                 "            there are planes for all)\n"
                               : "");
    }
    MPI_Finalize();
    exit(0);
}

void nas_start(int *argc_p, char ***argv_p, const char *kernel,
               struct nas_job *job_p)
{
    MPI_Init(argc_p, argv_p);
    memset(job_p, 0, sizeof(*job_p));
    job_p->kernel = kernel;
    job_p->klass = 'S';
    MPI_Comm_rank(MPI_COMM_WORLD, &job_p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job_p->ranks);
    for (int i = 1; i < *argc_p; i++) {
        const char *argument = (*argv_p)[i];

        if (strcmp(argument, "-h") == 0 || strcmp(argument, "--help") == 0) {
            print_usage(job_p);
        } else if (strcmp(argument, "--spoil") == 0) {
            job_p->spoil = true;
        } else if (strcmp(argument, "-c") == 0) {
            set_class(job_p, argument_of(job_p, &i, *argc_p, *argv_p,
                                         "a class: S, W, A or B"));
        } else if (strcmp(argument, "--layout") == 0 && has_layout(job_p)) {
            set_layout(job_p, argument_of(job_p, &i, *argc_p, *argv_p,
                                          "a layout: N1xN2"));
        } else if (argument[0] == '-') {
            nas_refuse(job_p, "there is no option '%s'; try --help.", argument);
        } else {
            set_class(job_p, argument);
        }
    }
}

void nas_need_power_of_two(const struct nas_job *job, int ranks_max)
{
    if ((job->ranks & (job->ranks - 1)) != 0 || job->ranks > ranks_max) {
        nas_refuse(job,
                   "%s class %c runs on a power of two of ranks up to %d, "
                   "not on %d.",
                   job->kernel, job->klass, ranks_max, job->ranks);
    }
}

int nas_need_square(const struct nas_job *job, int ranks_max)
{
    int root = 1;

    while (root * root < job->ranks) {
        root++;
    }
    if (root * root != job->ranks || job->ranks > ranks_max) {
        nas_refuse(job,
                   "%s class %c runs on a square number of ranks up to %d, "
                   "not on %d.",
                   job->kernel, job->klass, ranks_max, job->ranks);
    }
    return root;
}

void *nas_alloc(size_t count, size_t each_bytes)
{
    size_t length = (count * each_bytes + 63) / 64 * 64;
    void *memory = NULL;

    if (each_bytes != 0 && count > (SIZE_MAX - 63) / each_bytes) {
        length = SIZE_MAX / 64 * 64;
    }
    memory = aligned_alloc(64, length == 0 ? 64 : length);
    if (memory == NULL) {
        fprintf(stderr, "nas: no memory for %zu bytes.\n", length);
        MPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    memset(memory, 0, length);
    return memory;
}

/* ------------------------------------------------------------------ time */

void nas_compute(double operations)
{
    if (am_compute != NULL) {
        am_compute((uint64_t)operations);
    }
}

double nas_timer_start(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

double nas_timer_stop(double start)
{
    double seconds = MPI_Wtime() - start;
    double slowest = 0;

    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

/* -------------------------------------------------------- random numbers */

uint64_t nas_random_power(uint64_t a, uint64_t n)
{
    const uint64_t mask = (UINT64_C(1) << 46) - 1;
    uint64_t result = 1;

    for (; n != 0; n >>= 1) {
        if ((n & 1) != 0) {
            result = (result * a) & mask;
        }
        a = (a * a) & mask;
    }
    return result;
}

/*
 * Four interleaved sequences, each a step of a^4, so that four products are
 * under way at once instead of one that waits for the one before.
 */
void nas_random_fill(uint64_t *x_p, uint64_t a, size_t count,
                     double *restrict y)
{
    const uint64_t mask = (UINT64_C(1) << 46) - 1;
    const uint64_t a4 = nas_random_power(a, 4);
    uint64_t x0 = (*x_p * a) & mask;
    uint64_t x1 = (x0 * a) & mask;
    uint64_t x2 = (x1 * a) & mask;
    uint64_t x3 = (x2 * a) & mask;
    size_t i = 0;

    for (; i + 4 <= count; i += 4) {
        y[i] = (double)(int64_t)x0 * 0x1p-46;
        y[i + 1] = (double)(int64_t)x1 * 0x1p-46;
        y[i + 2] = (double)(int64_t)x2 * 0x1p-46;
        y[i + 3] = (double)(int64_t)x3 * 0x1p-46;
        *x_p = x3;
        x0 = (x0 * a4) & mask;
        x1 = (x1 * a4) & mask;
        x2 = (x2 * a4) & mask;
        x3 = (x3 * a4) & mask;
    }
    for (; i < count; i++) {
        y[i] = nas_random(x_p, a);
    }
}

/* ------------------------------------------------ verification and report */

bool nas_check(const struct nas_job *job, const char *what, double value,
               double official, double epsilon)
{
    double computed = job->spoil ? value * 1.001 + 1e-3 : value;
    double error = fabs((computed - official) / official);
    bool good = error <= epsilon; /* false for a NaN */

    if (job->rank == 0) {
        printf(" %-10s %22.14E  official %22.14E  error %9.2E %s\n", what,
               computed, official, error, good ? "" : "FAILED");
    }
    return good;
}

static void format_extent(const int64_t extent[3], char *text, size_t length)
{
    if (extent[1] == 0 && extent[2] == 0) {
        snprintf(text, length, "%lld", (long long)extent[0]);
    } else {
        snprintf(text, length, "%lldx%lldx%lld", (long long)extent[0],
                 (long long)extent[1], (long long)extent[2]);
    }
}

void nas_heading(const struct nas_job *job, const int64_t extent[3],
                 int iterations)
{
    char text[64];

    if (job->rank != 0) {
        return;
    }
    format_extent(extent, text, sizeof(text));
    printf("\n NAS Parallel Benchmarks (libam's own, from the published "
           "specification) -- %s Benchmark\n\n"
           " Size: %s  (class %c)\n"
           " Iterations: %d\n"
           " Number of active processes: %d\n\n",
           job->kernel, text, job->klass, iterations, job->ranks);
    fflush(stdout);
}

/* The transport's settings that this run was started with, but the name of a
 * simulator, which is another one each time. */
static void print_settings(void)
{
    int count = 0;

    for (char **entry = environ; *entry != NULL; entry++) {
        if (strncmp(*entry, "AM_", 3) == 0 &&
            strncmp(*entry, "AM_SIM_ENGINE=", 14) != 0) {
            printf(" AM setting      = %24s\n", *entry);
            count++;
        }
    }
    if (count == 0) {
        printf(" AM settings     = %24s\n", "defaults");
    }
}

static void print_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    MPI_Get_library_version(text, &length);
    for (int i = 0; i < length; i++) {
        if (text[i] == '\t') {
            text[i] = ' ';
        }
    }
    text[strcspn(text, "\n")] = '\0';
    printf(" MPI library     = %s\n", text);
}

static void print_report(const struct nas_job *job, const struct nas_result *r)
{
    char text[64];

    format_extent(r->extent, text, sizeof(text));
    printf("\n\n %s Benchmark Completed.\n", job->kernel);
    printf(" Class           = %24c\n", job->klass);
    printf(" Size            = %24s\n", text);
    printf(" Iterations      = %24d\n", r->iterations);
    printf(" Time in seconds = %24.4f\n", r->seconds);
    printf(" Total processes = %24d\n", job->ranks);
    printf(" Mop/s total     = %24.2f\n", r->mops);
    printf(" Mop/s/process   = %24.2f\n", r->mops / job->ranks);
    printf(" Operation type  = %24s\n", r->operation);
    printf(" Verification    = %24s\n",
           r->verified ? "SUCCESSFUL" : "UNSUCCESSFUL");
    printf(" Version         = %24s\n", NAS_VERSION);
    printf(" Compile date    = %24s\n", __DATE__);
    printf(" Compiler        = %24s\n", __VERSION__);
    printf(" Flags           = %24s\n", NAS_FLAGS);
    print_library();
    print_settings();
    printf("\n");
    fflush(stdout);
}

int nas_finish(const struct nas_job *job, const struct nas_result *result)
{
    int status = 0;

    if (job->rank == 0) {
        print_report(job, result);
        status = result->verified ? 0 : 1;
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
