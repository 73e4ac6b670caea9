/*
 * am_sim: libam on a simulated machine, in virtual time.  Runs the figures of
 * the machine's paper, compares them with their targets, prints what the
 * machine predicts, and tells where a message's time goes.
 */
#include "tools/sim.h"

#include <stdlib.h>
#include <string.h>

int sim_fail(const char *what)
{
    sim_bar_clear();
    fprintf(stderr, "am_sim: %s\n", what);
    return EXIT_FAILURE;
}

static int list_all(void)
{
    puts("machines:");
    for (uint32_t i = 0; ns_machine_name(i) != NULL; i++) {
        printf("  %s\n", ns_machine_name(i));
    }
    puts("figures:");
    for (const struct figure *f = figures; f->name != NULL; f++) {
        printf("  %-18s %s\n", f->name, f->help);
    }
    return EXIT_SUCCESS;
}

/* ------------------------------------------------------------------ figures */

/* Has the machine this figure?  If not, say which built-in ones have. */
static bool figure_is_here(const struct figure *figure,
                           const struct ns_machine *machine)
{
    if (figure->nic == NULL || strcmp(figure->nic, machine->nic) == 0) {
        return true;
    }
    fprintf(stderr,
            "am_sim: %s is a figure of machines with the adapter %s, and %s "
            "has %s; of the built-in ones there are",
            figure->name, figure->nic, machine->name, machine->nic);
    for (uint32_t i = 0; ns_machine_name(i) != NULL; i++) {
        struct ns_machine *other = ns_machine_load(ns_machine_name(i), NULL, 0,
                                                   (char[512]){""}, 512);

        if (other != NULL && strcmp(other->nic, figure->nic) == 0) {
            fprintf(stderr, " %s", other->name);
        }
        free(other);
    }
    fputc('\n', stderr);
    return false;
}

static int run_figure(const struct sim_options *options,
                      const struct ns_machine *machine,
                      const struct figure *figure,
                      const struct sim_target *target)
{
    struct ns_sim_result result;
    char error[512] = "";
    struct sim_row row = {.metric = figure->name,
                          .unit = figure->unit,
                          .result = &result,
                          .target = target};

    if (!figure_is_here(figure, machine)) {
        return EXIT_FAILURE;
    }
    if (figure_run(figure, machine, &options->params, &row.value, &result, NULL,
                   error, sizeof(error)) != 0) {
        sim_bar_clear();
        fprintf(stderr, "am_sim: %s: %s\n", figure->name, error);
        return EXIT_FAILURE;
    }
    sim_row_print(options, machine, &row);
    return sim_row_good(&row) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool figure_wanted(const struct sim_options *options,
                          const struct ns_machine *machine,
                          const struct figure *figure)
{
    return options->figure != NULL
                   ? strcmp(options->figure, figure->name) == 0
                   : figure->nic == NULL ||
                             strcmp(figure->nic, machine->nic) == 0;
}

static int run_figures(const struct sim_options *options,
                       const struct ns_machine *machine)
{
    int status = EXIT_SUCCESS;
    uint32_t done = 0, total = 0;

    if (options->figure != NULL && sim_figure_find(options->figure) == NULL) {
        fprintf(stderr, "am_sim: there is no figure %s; --list tells them\n",
                options->figure);
        return EXIT_USAGE;
    }
    for (const struct figure *f = figures; f->name != NULL; f++) {
        total += figure_wanted(options, machine, f);
    }
    for (const struct figure *f = figures; f->name != NULL; f++) {
        if (figure_wanted(options, machine, f)) {
            sim_bar_part(done++, total);
            status |= run_figure(options, machine, f, NULL);
        }
    }
    return status;
}

/* The machine with what the file of targets sets; the command line has the last
 * word. */
static struct ns_machine *check_machine(const struct sim_options *options,
                                        const struct sim_targets *targets,
                                        char *error, size_t error_bytes)
{
    const char *sets[SIM_SETS_MAX + SIM_TARGET_SETS_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < targets->set_count; i++) {
        sets[count++] = targets->set[i];
    }
    for (uint32_t i = 0; i < options->set_count; i++) {
        sets[count++] = options->sets[i];
    }
    return ns_machine_load(options->machine, sets, count, error, error_bytes);
}

static int run_targets(const struct sim_options *options,
                       const struct sim_targets *targets)
{
    char error[512];
    struct ns_machine *with =
            check_machine(options, targets, error, sizeof(error));
    int status = EXIT_SUCCESS;

    if (with == NULL) {
        return sim_fail(error);
    }
    for (uint32_t i = 0; i < targets->count; i++) {
        sim_bar_part(i, targets->count);
        status |= run_figure(options, with, targets->target[i].figure,
                             &targets->target[i]);
    }
    free(with);
    return status;
}

static int run_check(const struct sim_options *options,
                     const struct ns_machine *machine)
{
    struct sim_targets targets;
    char error[512];

    if (sim_targets_load(options->check, &targets, error, sizeof(error)) != 0) {
        return sim_fail(error);
    }
    if (strcmp(targets.machine, machine->name) != 0) {
        snprintf(error, sizeof(error), "%s is for the machine %s, not %s",
                 options->check, targets.machine, machine->name);
        return sim_fail(error);
    }
    return run_targets(options, &targets);
}

/* The targets of a built-in machine, under all settings that have some. */
static int run_all_targets(const struct sim_options *options)
{
    struct sim_targets targets;
    char error[512];
    int status = EXIT_SUCCESS, found = 0;

    for (uint32_t i = 0; found == 0; i++) {
        found = sim_targets_built_in(i, &targets, error, sizeof(error));
        if (found != 0 || strcmp(targets.machine, options->machine) != 0) {
            continue;
        }
        if (!options->json) {
            printf("# targets of %s", targets.machine);
            for (uint32_t k = 0; k < targets.set_count; k++) {
                printf(" with %s", targets.set[k]);
            }
            putchar('\n');
        }
        status |= run_targets(options, &targets);
    }
    return found < 0 ? sim_fail(error) : status;
}

/* All that there is of all built-in machines. */
static int run_all(const struct sim_options *options)
{
    struct sim_options with = *options;
    char error[512];
    int status = EXIT_SUCCESS;

    for (uint32_t i = 0; ns_machine_name(i) != NULL; i++) {
        struct ns_machine *machine;

        with.machine = ns_machine_name(i);
        machine = ns_machine_load(with.machine, with.sets, with.set_count,
                                  error, sizeof(error));
        if (machine == NULL) {
            return sim_fail(error);
        }
        status |= run_all_targets(&with);
        if (!options->json) {
            printf("# predictions of %s, and what assumed settings move them "
                   "by\n",
                   with.machine);
        }
        status |= sim_sensitivity(&with, machine);
        free(machine);
    }
    return status;
}

static int run_explain(const struct sim_options *options,
                       const struct ns_machine *machine)
{
    struct ns_sim_params params = options->params;
    struct ns_sim_result result;
    struct ns_marks marks;
    char error[512] = "";
    uint64_t value;

    params.trace_path = options->trace;
    params.trace_records = options->trace != NULL ? SIM_TRACE_RECORDS : 0;
    if (figure_run(sim_figure_find("round_trip"), machine, &params, &value,
                   &result, &marks, error, sizeof(error)) != 0) {
        return sim_fail(error);
    }
    sim_bar_clear();
    return sim_explain_print(options, machine, &marks, &result)
                   ? EXIT_SUCCESS
                   : sim_fail("the stages do not add up");
}

/* All predictions, or those of --only, of which there must be one. */
static int run_predict(const struct sim_options *options,
                       const struct ns_machine *machine)
{
    struct sim_options with = *options;
    bool any = false;
    int status;

    with.any = &any;
    status = sim_predict(&with, machine);
    return status != EXIT_SUCCESS || any
                   ? status
                   : sim_fail("no prediction has a name that begins so");
}

int main(int argc, char **argv)
{
    struct sim_options options;
    struct ns_machine *machine;
    char error[512];
    int status = sim_options_parse(argc, argv, &options);

    if (status != 0) {
        return status;
    }
    if (options.list) {
        return list_all();
    }
    if (options.sensitivity && strcmp(options.machine, "all") == 0) {
        options.all = true;
        return run_all(&options);
    }
    if (options.reproduce != NULL) {
        return sim_reproduce(&options);
    }
    machine = ns_machine_load(options.machine, options.sets, options.set_count,
                              error, sizeof(error));
    if (machine == NULL) {
        fprintf(stderr, "am_sim: %s\n", error);
        return EXIT_USAGE;
    }
    if (options.print) {
        sim_machine_print(machine);
    } else if (options.check != NULL) {
        status = run_check(&options, machine);
    } else if (options.run != NULL) {
        status = sim_scenario(&options, machine);
    } else if (options.mpi) {
        status = sim_compute_choose(&options, machine);
        status = status != 0 ? status : sim_mpi(&options, machine);
    } else if (options.explain) {
        status = run_explain(&options, machine);
    } else if (options.predict) {
        status = run_predict(&options, machine);
    } else if (options.sensitivity) {
        status = sim_sensitivity(&options, machine);
    } else if (options.alltoall) {
        status = sim_alltoall(&options, machine);
    } else if (options.speed) {
        status = sim_speed(&options, machine);
    } else if (options.growth) {
        status = sim_growth(&options, machine);
    } else {
        status = run_figures(&options, machine);
    }
    free(machine);
    return status;
}
