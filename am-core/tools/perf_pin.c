/*
 * Cores: which there are, a list of them from text, and binding to one.
 */
#define _GNU_SOURCE
#include "tools/perf.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Linux wants room for all CPUs that the machine may have, which can be more than
 * one cpu_set_t has bits. */
void perf_cores_allowed(struct perf_cores *cores)
{
    cpu_set_t sets[8];

    cores->count = 0;
    memset(sets, 0, sizeof(sets));
    if (sched_getaffinity(0, sizeof(sets), sets) != 0) {
        return;
    }
    for (uint16_t i = 0; i < CPU_SETSIZE && cores->count < PERF_CORES_MAX;
         i++) {
        if (CPU_ISSET_S(i, sizeof(sets), sets)) {
            cores->core[cores->count++] = i;
        }
    }
}

/* "2" or "0-3" at *text_p, which is moved behind it. */
static int parse_range(const char **text_p, struct perf_cores *cores)
{
    const char *text = *text_p;
    unsigned long first, last;
    char *end;

    if (*text < '0' || *text > '9') {
        return -1;
    }
    last = first = strtoul(text, &end, 10);
    if (*end == '-') {
        text = end + 1;
        last = strtoul(text, &end, 10);
    }
    if (end == text || last < first || last >= CPU_SETSIZE) {
        return -1;
    }
    for (; first <= last; first++) {
        if (cores->count == PERF_CORES_MAX) {
            return -1;
        }
        cores->core[cores->count++] = (uint16_t)first;
    }
    *text_p = end;
    return 0;
}

int perf_cores_of(const char *pin, uint32_t ranks, struct perf_cores *cores,
                  char *error, size_t error_bytes)
{
    const char *at = pin;

    cores->count = 0;
    if (strcmp(pin, "none") == 0) {
        return 0;
    }
    if (strcmp(pin, "auto") == 0) {
        perf_cores_allowed(cores);
        if (ranks > cores->count) {
            cores->count = 0;
        }
        return 0;
    }
    while (parse_range(&at, cores) == 0) {
        if (*at == '\0') {
            return 0;
        }
        if (*at++ != ',') {
            break;
        }
    }
    snprintf(error, error_bytes,
             "--pin \"%.80s\" is not auto, none or a list of cores such as "
             "0,1 or 0-3",
             pin);
    return -1;
}

int perf_pin(uint32_t core, char *error, size_t error_bytes)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        snprintf(error, error_bytes, "cannot run on core %u: %s", core,
                 strerror(errno));
        return -1;
    }
    return 0;
}

int perf_pin_check(const char *pin, uint32_t ranks, char *error,
                   size_t error_bytes)
{
    struct perf_cores cores;
    cpu_set_t before;
    int result = perf_cores_of(pin, ranks, &cores, error, error_bytes);

    if (result != 0 || sched_getaffinity(0, sizeof(before), &before) != 0) {
        return result;
    }
    for (uint32_t i = 0; i < ranks && i < cores.count && result == 0; i++) {
        result = perf_pin(cores.core[i], error, error_bytes);
    }
    (void)sched_setaffinity(0, sizeof(before), &before);
    return result;
}

void perf_cpu_model(char *text, size_t bytes)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];

    snprintf(text, bytes, "unknown");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        char *value = strchr(line, ':');

        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            value += strspn(value, ": \t");
            value[strcspn(value, "\n")] = '\0';
            snprintf(text, bytes, "%s", value);
            break;
        }
    }
    fclose(file);
}
