/*
 * am_sim --mpi: a parallel program that its own launcher starts, each rank a
 * node.  This process is the engine.
 */
#include "config.h"

#include "tools/sim.h"

#include "base/config.h"
#include "nicsim_door.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
    const struct sim_options *options;
    const struct ns_machine *machine;
    struct ns_door door;
    pid_t launcher;
    int launcher_fd;    /* a pidfd */
    int code;           /* its exit status, once it has ended */
    struct ns_sim *sim; /* once the first rank has come */
    uint32_t nodes, here;
    char error[8192]; /* with a line for each rank that waits */
};

/* What tells of MPI's calls (mpi_calls.c): where it was built, or installed.  0,
 * or -1 when it is not there. */
static int calls_find(char *path, size_t bytes)
{
    static const char name[] = "sim_calls.so";
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self));

    while (length > 0 && length < (ssize_t)sizeof(self) &&
           self[length - 1] != '/') {
        length--;
    }
    snprintf(path, bytes, "%.*s.libs/%s", (int)length, self, name);
    if (access(path, R_OK) == 0) {
        return 0;
    }
    snprintf(path, bytes, "%s/%s", SIM_CALLS_FOLDER, name);
    return access(path, R_OK);
}

/* Let the program's calls be told, if there is a timeline.  If not, a variable of
 * the same length is set: what is on a stack lies where it does with one. */
static int calls_set(const struct job *job)
{
    bool wanted = job->options->trace != NULL;
    const char *before = am_config_getenv("LD_PRELOAD");
    char path[PATH_MAX + 64];
    char *all = NULL;
    int status;

    if (calls_find(path, sizeof(path)) != 0) {
        if (wanted) {
            fprintf(stderr,
                    "# timeline: without MPI's calls, as %s is not there\n",
                    path);
        }
        return 0;
    }
    if (!wanted) {
        return setenv("NS_SIM_LIB", path, 1);
    }
    if (before == NULL || *before == '\0') {
        return setenv("LD_PRELOAD", path, 1);
    }
    status = asprintf(&all, "%s:%s", path, before) < 0
                     ? -1
                     : setenv("LD_PRELOAD", all, 1);
    free(all);
    return status;
}

/* The launcher's command: addresses are the same in every run, as buffers'
 * alignments may decide how NICs reach them. */
static void launcher_main(const struct job *job)
{
    char **argv = job->options->run_argv;

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)personality(ADDR_NO_RANDOMIZE);
    if (setenv("AM_SIM_ENGINE", job->door.name, 1) == 0 &&
        calls_set(job) == 0) {
        execvp(argv[0], argv);
    }
    fprintf(stderr, "am_sim: starting %s: %s\n", argv[0], strerror(errno));
    _exit(EXIT_FAILURE);
}

static int launcher_start(struct job *job)
{
    fflush(NULL);
    job->launcher = fork();
    if (job->launcher == 0) {
        launcher_main(job);
    }
    if (job->launcher > 0) {
        job->launcher_fd = (int)syscall(SYS_pidfd_open, job->launcher, 0);
    }
    if (job->launcher < 0 || job->launcher_fd < 0) {
        snprintf(job->error, sizeof(job->error), "starting %s: %s",
                 job->options->run_argv[0], strerror(errno));
        return -1;
    }
    return 0;
}

/* Whoever is left of the job has become our child: end it. */
static void children_kill(void)
{
    char path[64];
    FILE *file;
    int pid;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    file = fopen(path, "r");
    while (file != NULL && fscanf(file, "%d", &pid) == 1) {
        (void)kill(pid, SIGKILL);
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Wait for the launcher; `now`: it and all that it has started end at once. */
static void launcher_wait(struct job *job, bool now)
{
    pid_t ended;
    int status;

    do {
        if (now) {
            children_kill();
        }
        ended = waitpid(-1, &status, 0);
        if (ended == job->launcher) {
            job->code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
            now = true; /* who is left has lost its launcher */
        }
    } while (ended > 0 || errno == EINTR);
}

/* ------------------------------------------------------------------ arrivals */

static int machine_open(struct job *job, uint32_t nodes)
{
    struct ns_sim_params params = job->options->params;

    params.nodes = job->nodes = nodes;
    params.trace_path = job->options->trace;
    params.trace_records = params.trace_path != NULL ? SIM_TRACE_RECORDS : 0;
    job->sim =
            ns_sim_open(job->machine, &params, job->error, sizeof(job->error));
    return job->sim == NULL ? -1 : 0;
}

static int arrival(struct job *job)
{
    struct ns_guest guest;

    if (!ns_door_meet(&job->door, &guest)) {
        return 0;
    }
    if (job->sim == NULL && machine_open(job, guest.size) != 0) {
        ns_door_refuse(&guest, job->error);
        return -1;
    }
    if (ns_door_admit(job->sim, &guest, job->error, sizeof(job->error)) != 0) {
        return -1;
    }
    job->here++;
    return 0;
}

/* Until all ranks are there.  1: the launcher has ended, and none came. */
static int arrivals(struct job *job)
{
    struct pollfd fds[] = {{.fd = job->door.fd, .events = POLLIN},
                           {.fd = job->launcher_fd, .events = POLLIN}};

    while (job->sim == NULL || job->here < job->nodes) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            snprintf(job->error, sizeof(job->error), "waiting for ranks: %s",
                     strerror(errno));
            return -1;
        }
        if (fds[0].revents != 0) {
            if (arrival(job) != 0) {
                return -1;
            }
        } else if (fds[1].revents != 0) {
            snprintf(job->error, sizeof(job->error),
                     "%s has ended before all of its ranks had opened libam: "
                     "%" PRIu32 " had",
                     job->options->run_argv[0], job->here);
            return -1;
        }
    }
    return 0;
}

/* ----------------------------------------------------------------------- run */

static int job_run(struct job *job, struct ns_sim_result *result)
{
    struct ns_cores before;
    int status;

    if (ns_door_open(&job->door) != 0) {
        snprintf(job->error, sizeof(job->error), "opening a socket: %s",
                 strerror(errno));
        return -1;
    }
    /* what the job leaves behind becomes our child */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    ns_cores_one(&before);
    status = launcher_start(job);
    if (status == 0) {
        status = arrivals(job);
    }
    ns_door_close(&job->door);
    if (status == 0) {
        status = ns_sim_run(job->sim, NULL, NULL, result, job->error,
                            sizeof(job->error));
    }
    if (job->launcher > 0) {
        launcher_wait(job, status != 0);
    }
    return status;
}

static int job_watched(struct job *job, struct ns_sim_result *result)
{
    struct sim_watch watch;
    int status;

    if (sim_watch_begin(&watch) != 0) {
        snprintf(job->error, sizeof(job->error), "starting a process: %s",
                 strerror(errno));
        return -1;
    }
    status = job_run(job, result);
    sim_watch_end(&watch);
    return status;
}

int sim_mpi(const struct sim_options *options, const struct ns_machine *machine)
{
    struct job job = {.options = options,
                      .machine = machine,
                      .launcher = -1,
                      .launcher_fd = -1};
    struct ns_sim_result result;
    int status = job_watched(&job, &result);

    sim_bar_clear();
    fflush(stdout);
    if (status != 0) {
        (void)sim_fail(job.error);
        job.code = EXIT_FAILURE;
    } else {
        sim_scenario_print(options, machine, job.nodes, &result);
        fflush(stdout);
        sim_job_print(options, &result, sim_core_ps());
    }
    ns_sim_close(job.sim);
    if (job.launcher_fd >= 0) {
        close(job.launcher_fd);
    }
    return job.code;
}
