/*
 * --reproduce sp-nas (Chang et al. 1996): the paper's five NAS kernels on the SP,
 * FT with more than one all-to-all.  Each is a job of am_sim --mpi, so MPICH
 * runs, and what the kernels declare takes the machine's time.
 */
#include "tools/sim_reproduce.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NODES = 16, /* the paper's */
    RUNS = 6,
    LINE = 256,
    NUMBER = 24, /* of a number as text */
    WORDS = 2 * SIM_SETS_MAX + 20
};

/* A class takes what it takes: ten thousand seconds are no sign of a hang. */
#define LIMIT_MS "10000000"

#define ALGORITHM "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM"

struct nas_run {
    const char *kernel;
    const char *way;       /* of its all-to-all; "": it has none */
    const char *algorithm; /* MPICH's name of it, or NULL */
    double seconds, mops;  /* as the kernel says */
    bool verified;
};

static const struct nas_run all[RUNS] = {
        {"ft", "pairs", "pairwise", 0, 0, false},
        {"ft", "staggered", "scattered", 0, 0, false},
        {"mg", "", NULL, 0, 0, false},
        {"lu", "", NULL, 0, 0, false},
        {"sp", "", NULL, 0, 0, false},
        {"bt", "", NULL, 0, 0, false},
};

/* The command: this program again, as the simulator of one job, with what was
 * said of each. */
static _Noreturn void job_exec(const struct sim_options *options,
                               const char *machine, const struct nas_run *run)
{
    char limit[NUMBER] = LIMIT_MS, seed[NUMBER], patience[NUMBER],
         nodes[NUMBER];
    const char *argv[WORDS] = {"am_sim",  "--mpi",      "--no-progress",
                               "--limit", limit,        "--seed",
                               seed,      "--patience", patience};
    uint32_t count = 9;
    char klass[2] = {options->klass, '\0'}, program[PATH_MAX];

    if (options->limit_ms != 0) {
        snprintf(limit, sizeof(limit), "%" PRIu64, options->limit_ms);
    }
    snprintf(seed, sizeof(seed), "%" PRIu64, options->params.seed);
    snprintf(patience, sizeof(patience), "%" PRIu64,
             options->params.patience_seconds);
    snprintf(nodes, sizeof(nodes), "%" PRIu32,
             options->nodes != 0 ? options->nodes : NODES);
    snprintf(program, sizeof(program), "%s/nas_%s", options->run_argv[1],
             run->kernel);
    for (uint32_t i = 0; i < options->set_count; i++) {
        argv[count++] = "--set";
        argv[count++] = options->sets[i];
    }
    argv[count++] = machine;
    argv[count++] = "--";
    argv[count++] = options->run_argv[0];
    argv[count++] = "-n";
    argv[count++] = nodes;
    argv[count++] = program;
    argv[count++] = "-c";
    argv[count++] = klass;
    if (setenv("AM_SIM_COMPUTE", "declared", 1) == 0 &&
        (run->algorithm == NULL
                 ? unsetenv(ALGORITHM)
                 : setenv(ALGORITHM, run->algorithm, 1)) == 0) {
        execv("/proc/self/exe", (char **)(uintptr_t)argv);
    }
    fprintf(stderr, "am_sim: starting itself: %s\n", strerror(errno));
    _exit(EXIT_FAILURE);
}

/* " Key   =   value" of a kernel's report. */
static bool value_find(const char *line, const char *key, const char **value_p)
{
    const char *equals = strchr(line, '=');

    if (equals == NULL || strncmp(line, key, strlen(key)) != 0) {
        return false;
    }
    *value_p = equals + 1 + strspn(equals + 1, " ");
    return true;
}

static void report_read(FILE *from, struct nas_run *run)
{
    char line[LINE];
    const char *value;

    while (fgets(line, sizeof(line), from) != NULL) {
        if (value_find(line, " Time in seconds", &value)) {
            run->seconds = strtod(value, NULL);
        } else if (value_find(line, " Mop/s total", &value)) {
            run->mops = strtod(value, NULL);
        } else if (value_find(line, " Verification", &value)) {
            run->verified = strncmp(value, "SUCCESSFUL", 10) == 0;
        }
    }
}

/* The exit status, after the job has said what was wrong. */
static int job_run(const struct sim_options *options, const char *machine,
                   struct nas_run *run)
{
    int fds[2], status = -1;
    FILE *from;
    pid_t child;

    fflush(NULL);
    if (pipe(fds) != 0) {
        return sim_fail("--reproduce sp-nas: no pipe can be had");
    }
    child = fork();
    if (child == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        job_exec(options, machine, run);
    }
    close(fds[1]);
    from = fdopen(fds[0], "r");
    if (from != NULL) {
        report_read(from, run);
        fclose(from);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0 && run->verified
                   ? EXIT_SUCCESS
                   : sim_fail("--reproduce sp-nas: a kernel was not verified");
}

/* A row as soon as there is one: class A takes its time. */
static void row_print(const struct nas_run *run)
{
    printf("%-6s %-12s %14.4f %14.2f\n", run->kernel, run->way, run->seconds,
           run->mops);
    fflush(stdout);
}

int reproduce_sp_nas(const struct sim_options *options, const char *machine,
                     struct sim_chart *chart)
{
    struct nas_run runs[RUNS];
    int status = EXIT_SUCCESS;

    memcpy(runs, all, sizeof(runs));
    chart->count = 0; /* kernels are no axis */
    printf("# %s, %" PRIu32 " nodes, class %c\n%-6s %-12s %14s %14s\n", machine,
           options->nodes != 0 ? options->nodes : NODES, options->klass,
           "kernel", "all-to-all", "seconds", "Mop/s");
    for (uint32_t i = 0; i < RUNS && status == EXIT_SUCCESS; i++) {
        sim_progress(options, i, RUNS, 0);
        if (!sim_wanted(options, runs[i].kernel)) {
            continue;
        }
        status = job_run(options, machine, &runs[i]);
        sim_bar_clear();
        if (status == EXIT_SUCCESS) {
            row_print(&runs[i]);
        }
    }
    return status;
}
