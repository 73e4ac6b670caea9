/*
 * limits: what this machine can do without libam, so that each ratio of a
 * report is taken in one run on one machine.
 */
#define _GNU_SOURCE
#include "tools/perf_probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int bind_core(struct probe *probe, uint32_t core)
{
    char error[256];

    if (perf_pin(core, error, sizeof(error)) != 0) {
        return perf_fail(probe->perf, "%s", error);
    }
    return 0;
}

static void run_child(struct probe *probe, probe_child_fn child)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (bind_core(probe, probe->core_child) != 0) {
        _exit(EXIT_FAILURE);
    }
    child(probe);
    _exit(EXIT_SUCCESS);
}

int probe_start(struct probe *probe, size_t bytes, probe_child_fn child)
{
    struct perf *perf = probe->perf;

    probe->shared_bytes = bytes;
    probe->shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (probe->shared == MAP_FAILED) {
        return perf_fail(perf, "cannot map %zu shared bytes: %s", bytes,
                         strerror(errno));
    }
    memset(probe->shared, 0, bytes);
    fflush(stdout); /* or the child would have the same text to write */
    probe->child = fork();
    if (probe->child < 0) {
        return perf_fail(perf, "cannot fork: %s", strerror(errno));
    }
    if (probe->child == 0) {
        run_child(probe, child);
    }
    return bind_core(probe, probe->core_parent);
}

int probe_end(struct probe *probe)
{
    int status = 0;

    while (waitpid(probe->child, &status, 0) < 0 && errno == EINTR) {
    }
    munmap(probe->shared, probe->shared_bytes);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
        return perf_fail(probe->perf, "the second process of a probe failed");
    }
    return 0;
}

void probe_row(struct probe *probe, const char *metric,
               struct perf_figure *figure)
{
    struct perf_row row = {.metric = metric, .unit = "ns", .figure = *figure};

    perf_report_row(probe->perf, &row);
}

/* Two cores: the first two of --pin, or of those this process may use; the
 * same one twice when there is only one. */
static int choose_cores(struct perf *perf, uint32_t *a, uint32_t *b)
{
    struct perf_cores cores;
    char error[256];

    if (perf_cores_of(perf->options->pin, 1, &cores, error, sizeof(error)) !=
        0) {
        return perf_fail(perf, "%s", error);
    }
    if (cores.count == 0) {
        perf_cores_allowed(&cores);
    }
    if (cores.count == 0) {
        return perf_fail(perf, "cannot find out which cores there are");
    }
    *a = cores.core[0];
    *b = cores.count > 1 ? cores.core[1] : cores.core[0];
    return 0;
}

/* The probes, in the order in which they run.  Those of a group are taken with
 * --op GROUP alone, in turn with what they are compared with. */
static const struct {
    const char *group, *metric; /* NULL: the copies and echoes name theirs */
    int (*turn)(struct probe *probe, const char *metric);
    int (*run)(struct probe *probe);
    bool one_core;
} probes[] = {
        {"flag", "flag_pingpong_one_way", probe_flag, NULL, false},
        {NULL, "yield_handoff_across", probe_yield, NULL, false},
        {NULL, "futex_handoff_across", probe_futex, NULL, false},
        {NULL, NULL, NULL, probe_memcpy, false},
        {NULL, NULL, NULL, probe_vm_read, false},
        {"copy", NULL, NULL, probe_pipeline, false},
        {NULL, NULL, NULL, probe_udp, false},
        {NULL, NULL, NULL, probe_tcp, false},
        {"handoff", "yield_handoff_one_core", probe_yield, NULL, true},
        {"handoff", "futex_handoff_one_core", probe_futex, NULL, true},
};

enum {
    PROBE_COUNT = sizeof(probes) / sizeof(probes[0])
};

static bool is_wanted(const struct perf *perf, size_t index)
{
    const char *op = perf->options->op;

    return strcmp(op, "all") == 0 || (probes[index].group != NULL &&
                                      strcmp(op, probes[index].group) == 0);
}

int perf_limits(struct perf *perf)
{
    struct probe probe = {.perf = perf};
    uint32_t other;

    if (choose_cores(perf, &probe.core_parent, &other) != 0) {
        return -1;
    }
    if (other == probe.core_parent) {
        fputs("am_perf: one core: probes between cores are left out\n", stderr);
    }
    for (size_t i = 0; i < PROBE_COUNT; i++) {
        perf_report_progress(perf, i, PROBE_COUNT);
        probe.core_child = probes[i].one_core ? probe.core_parent : other;
        if (!is_wanted(perf, i) ||
            (!probes[i].one_core && other == probe.core_parent)) {
            continue;
        }
        if ((probes[i].run != NULL
                     ? probes[i].run(&probe)
                     : probes[i].turn(&probe, probes[i].metric)) != 0) {
            return -1;
        }
    }
    return 0;
}
