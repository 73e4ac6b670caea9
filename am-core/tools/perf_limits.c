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

/* Probes that need two cores, then those of one core. */
static int run_across(struct probe *probe)
{
    int (*const copies[])(struct probe *) = {
            probe_memcpy, probe_vm_read, probe_pipeline, probe_udp, probe_tcp};
    size_t count = sizeof(copies) / sizeof(copies[0]);

    if (probe_flag(probe, "flag_pingpong_one_way") != 0 ||
        probe_yield(probe, "yield_handoff_across") != 0 ||
        probe_futex(probe, "futex_handoff_across") != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        perf_report_progress(probe->perf, i + 1, count + 2);
        if (copies[i](probe) != 0) {
            return -1;
        }
    }
    return 0;
}

int perf_limits(struct perf *perf)
{
    struct probe probe = {.perf = perf};

    if (choose_cores(perf, &probe.core_parent, &probe.core_child) != 0) {
        return -1;
    }
    perf_report_progress(perf, 0, 7);
    if (probe.core_parent != probe.core_child) {
        if (run_across(&probe) != 0) {
            return -1;
        }
    } else {
        fputs("am_perf: one core: probes between cores are left out\n", stderr);
    }
    probe.core_child = probe.core_parent;
    if (probe_yield(&probe, "yield_handoff_one_core") != 0) {
        return -1;
    }
    return probe_futex(&probe, "futex_handoff_one_core");
}
