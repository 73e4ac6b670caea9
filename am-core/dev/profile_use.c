/*
 * Whether a profile fits this machine, and what costs begin with by it.
 */
#include "config.h"

#include "dev/profile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The lines of /proc/cpuinfo that name a processor, on x86, ARM and POWER. */
static bool names_processor(const char *line)
{
    static const char *const keys[] = {
            "vendor_id\t",       "cpu family\t", "model\t", "model name\t",
            "CPU implementer\t", "CPU part\t",   "cpu\t"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strncmp(line, keys[i], strlen(keys[i])) == 0) {
            return true;
        }
    }
    return false;
}

void am_profile_machine(char *processor, size_t bytes, uint64_t *cpus_p)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    size_t at = 0;

    *cpus_p = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    snprintf(processor, bytes, "unknown");
    /* the first processor's lines; an empty one follows */
    while (file != NULL && fgets(line, sizeof(line), file) != NULL &&
           line[0] != '\n') {
        char *value = strchr(line, ':');

        if (names_processor(line) && value != NULL && at < bytes) {
            value += strspn(value, ": \t");
            value[strcspn(value, "\n")] = '\0';
            at += (size_t)snprintf(processor + at, bytes - at, "%s%s",
                                   at == 0 ? "" : " ", value);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

bool am_profile_fits(const struct am_profile *profile)
{
    char processor[AM_PROFILE_TEXT];
    uint64_t cpus;

    am_profile_machine(processor, sizeof(processor), &cpus);
    return cpus == profile->cpus && strcmp(processor, profile->processor) == 0;
}

void am_profile_apply(const struct am_profile_row *row, struct am_meter *meter)
{
    struct am_dev_perf *perf = &meter->perf;

    if (!row->given) {
        return;
    }
    perf->send_overhead.fixed_ps = row->send_ps;
    perf->recv_overhead.fixed_ps = row->recv_ps;
    perf->wire.fixed_ps = row->wire_ps;
    perf->gap_ps = row->gap_ps;
    if (row->single_ps != 0) {
        perf->get.fixed_ps = perf->put.fixed_ps = row->single_ps;
    }
    meter->short_from = AM_FROM_PROFILE;
    meter->faster = row->compared ? &row->faster : NULL;
    for (int ways = 0; ways < AM_WAYS_COUNT; ways++) {
        for (int i = 0; i < AM_COPY_COUNT; i++) {
            if (row->byte_fs[ways][i] != 0) {
                am_meter_prior(meter, (am_ways_t)ways, (am_copy_t)i,
                               row->byte_fs[ways][i], AM_FROM_PROFILE);
            }
        }
    }
}
