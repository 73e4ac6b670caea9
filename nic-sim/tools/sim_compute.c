/*
 * What a program's own computation takes under am_sim --mpi: AM_SIM_COMPUTE.
 */
#include "tools/sim.h"

#include "base/config.h"

#include <stdlib.h>
#include <string.h>

#define MEASURED "measured:"

int sim_compute_choose(struct sim_options *options,
                       const struct ns_machine *machine)
{
    const char *choice = am_config_getenv("AM_SIM_COMPUTE");
    char text[512];

    options->compute = choice == NULL || *choice == '\0' ? "none" : choice;
    if (strcmp(options->compute, "none") == 0) {
        return 0;
    }
    if (strcmp(options->compute, "declared") == 0) {
        options->params.operation_ps = machine->host.operation_ps;
        if (options->params.operation_ps != 0) {
            return 0;
        }
        snprintf(text, sizeof(text),
                 "AM_SIM_COMPUTE=declared needs the time of an operation, of "
                 "which %s has no source: give it by --set "
                 "'host.operation=20 ns'",
                 machine->name);
        return sim_fail(text);
    }
    if (strncmp(options->compute, MEASURED, strlen(MEASURED)) == 0 &&
        am_config_parse_thousandths(options->compute + strlen(MEASURED),
                                    UINT64_C(1000) * AM_SIM_FACTOR_MAX,
                                    &options->params.measured) == AM_OK) {
        return 0;
    }
    snprintf(text, sizeof(text),
             "AM_SIM_COMPUTE=%s: it must be none, declared, or measured:F with "
             "a factor F of 0.001 to %d",
             options->compute, AM_SIM_FACTOR_MAX);
    (void)sim_fail(text);
    return EXIT_USAGE;
}

const char *sim_compute_note(const struct sim_options *options)
{
    return options->params.measured != 0 ? ", not the same in each run" : "";
}
