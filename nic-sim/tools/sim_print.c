/*
 * am_sim's output: tables for people, JSON lines for programs.
 */
#include "tools/sim.h"

#include "nicsim_port.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const stage_names[NS_STAGE_COUNT] = {
        [NS_STAGE_CALL] = "call",
        [NS_STAGE_BUILD] = "sender: the call, until the packet is ready",
        [NS_STAGE_BELL] = "sender: stores that tell the NI",
        [NS_STAGE_SEEN] = "NI out: until it takes the packet up",
        [NS_STAGE_FW_OUT] = "NI out: processing",
        [NS_STAGE_DMA_OUT] = "NI out: DMA from host memory",
        [NS_STAGE_INJECT] = "NI out: until the link is free",
        [NS_STAGE_HEAD] = "network: links and switches",
        [NS_STAGE_TAIL] = "network: serialisation",
        [NS_STAGE_FW_WAIT] = "NI in: until it takes the packet up",
        [NS_STAGE_FW_IN] = "NI in: processing",
        [NS_STAGE_DMA_IN] = "NI in: DMA to host memory",
        [NS_STAGE_POLLED] = "receiver: until a poll looks",
        [NS_STAGE_COPIED] = "receiver: taken by the driver, its buffer freed",
        [NS_STAGE_HANDLER] = "receiver: from the driver to the handler",
};

static json_t *settings_json(const struct sim_options *options,
                             const struct ns_machine *machine)
{
    json_t *settings = json_object();
    json_t *numbers = json_object();

    for (uint32_t i = 0; i < machine->setting_count; i++) {
        json_object_set_new(numbers, machine->settings[i].key,
                            json_string(machine->settings[i].value));
    }
    json_object_set_new(settings, "version", json_string(AM_VERSION_STRING));
    json_object_set_new(settings, "machine", json_string(machine->name));
    json_object_set_new(settings, "seed",
                        json_integer((json_int_t)options->params.seed));
    json_object_set_new(settings, "simulated", json_true());
    json_object_set_new(settings, "numbers", numbers);
    return settings;
}

void sim_json_print(const struct sim_options *options,
                    const struct ns_machine *machine,
                    const struct ns_sim_result *result, json_t *object)
{
    char hash[24];

    if (result != NULL) {
        snprintf(hash, sizeof(hash), "%016" PRIx64, result->hash);
        json_object_set_new(object, "trace_hash", json_string(hash));
        json_object_set_new(object, "events",
                            json_integer((json_int_t)result->events));
        json_object_set_new(object, "accesses",
                            json_integer((json_int_t)result->accesses));
        json_object_set_new(object, "turns",
                            json_integer((json_int_t)result->turns));
    }
    json_object_set_new(object, "settings", settings_json(options, machine));
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

bool sim_row_good(const struct sim_row *row)
{
    uint64_t target, far;

    if (row->target == NULL) {
        return true;
    }
    target = row->target->value;
    far = row->value > target ? row->value - target : target - row->value;
    return far * 100 <= target * row->target->percent;
}

static double shown(const char *unit, uint64_t value)
{
    return (double)value / 1e6; /* ps to us, B/s to MB/s */
}

static void row_json(const struct sim_options *options,
                     const struct ns_machine *machine,
                     const struct sim_row *row)
{
    bool time = strcmp(row->unit, "ps") == 0;
    json_t *object =
            json_pack("{s:s, s:s, s:I, s:f, s:s}", "test", "sim", "metric",
                      row->metric, "bytes", (json_int_t)row->bytes, "value",
                      time ? (double)row->value / 1e3 : (double)row->value,
                      "unit", time ? "ns" : row->unit);

    if (row->target != NULL) {
        json_object_set_new(object, "target",
                            json_real(time ? (double)row->target->value / 1e3
                                           : (double)row->target->value));
        json_object_set_new(object, "good", json_boolean(sim_row_good(row)));
    }
    sim_json_print(options, machine, row->result, object);
}

static void row_keep(struct sim_rows *rows, const struct sim_row *row)
{
    struct sim_kept *kept;

    if (rows->count == rows->room) {
        rows->room = rows->room == 0 ? 64 : 2 * rows->room;
        kept = realloc(rows->row, rows->room * sizeof(*kept));
        if (kept == NULL) {
            fputs("am_sim: out of memory\n", stderr);
            exit(EXIT_FAILURE);
        }
        rows->row = kept;
    }
    kept = &rows->row[rows->count++];
    *kept = (struct sim_kept){.value = row->value, .bytes = row->bytes};
    snprintf(kept->metric, sizeof(kept->metric), "%s", row->metric);
    snprintf(kept->unit, sizeof(kept->unit), "%s", row->unit);
}

void sim_rows_free(struct sim_rows *rows)
{
    free(rows->row);
    *rows = (struct sim_rows){0};
}

void sim_row_print(const struct sim_options *options,
                   const struct ns_machine *machine, const struct sim_row *row)
{
    const char *unit = strcmp(row->unit, "ps") == 0    ? "us"
                       : strcmp(row->unit, "B/s") == 0 ? "MB/s"
                                                       : row->unit;

    if (options->any != NULL) {
        *options->any = true;
    }
    if (options->into != NULL) {
        row_keep(options->into, row);
        return;
    }
    sim_bar_clear();
    if (options->json) {
        row_json(options, machine, row);
        return;
    }
    printf("%-22s", row->metric);
    if (row->bytes != 0) {
        printf(" %8" PRIu64 " B", row->bytes);
    }
    if (strcmp(unit, "bytes") == 0) {
        printf(" %10" PRIu64 " %-5s", row->value, unit);
    } else {
        printf(" %10.3f %-5s", shown(row->unit, row->value), unit);
    }
    if (row->target != NULL) {
        double target = (double)row->target->value;

        printf(" target %8.2f  %+6.2f%%  %s  %s",
               shown(row->unit, row->target->value),
               ((double)row->value - target) * 100 / target,
               sim_row_good(row) ? "good" : "MISSED", row->target->source);
    }
    putchar('\n');
}

void sim_scenario_print(const struct sim_options *options,
                        const struct ns_machine *machine, uint32_t nodes,
                        const struct ns_sim_result *result)
{
    if (options->json) {
        sim_json_print(
                options, machine, result,
                json_pack("{s:s, s:s, s:s, s:i, s:f, s:s, s:I, s:I, s:I, s:s*}",
                          "test", "sim_scenario", "metric", "virtual_time",
                          "scenario",
                          options->run != NULL ? options->run
                                               : options->run_argv[0],
                          "nodes", (int)nodes, "value",
                          (double)result->end_ps / 1e3, "unit", "ns", "packets",
                          (json_int_t)result->packets, "dropped",
                          (json_int_t)result->dropped, "resent",
                          (json_int_t)result->faults.resent, "computation",
                          options->compute));
        return;
    }
    if (options->compute != NULL) {
        printf("# computation: %s%s\n", options->compute,
               sim_compute_note(options));
    }
    printf("# simulated %s, %" PRIu32 " nodes: %.6f us of virtual time, "
           "%" PRIu64 " events, %" PRIu64 " packets, %" PRIu64
           " dropped, %" PRIu64 " sent again by links, trace %016" PRIx64 "\n",
           machine->name, nodes, (double)result->end_ps / 1e6, result->events,
           result->packets, result->dropped, result->faults.resent,
           result->hash);
}

static bool explain_json(const struct sim_options *options,
                         const struct ns_machine *machine,
                         const struct ns_marks *marks,
                         const struct ns_sim_result *result, bool exact)
{
    json_t *stages = json_array();
    uint64_t before = marks->time_ps[NS_STAGE_CALL];
    json_t *object;

    for (int i = NS_STAGE_BUILD; i < NS_STAGE_COUNT; i++) {
        if (marks->seen[i]) {
            json_array_append_new(
                    stages,
                    json_pack("{s:s, s:I}", "stage", stage_names[i], "ps",
                              (json_int_t)(marks->time_ps[i] - before)));
            before = marks->time_ps[i];
        }
    }
    object = json_pack("{s:s, s:o, s:I}", "test", "sim_explain", "stages",
                       stages, "total_ps",
                       (json_int_t)(before - marks->time_ps[NS_STAGE_CALL]));
    sim_json_print(options, machine, result, object);
    return exact;
}

bool sim_explain_print(const struct sim_options *options,
                       const struct ns_machine *machine,
                       const struct ns_marks *marks,
                       const struct ns_sim_result *result)
{
    uint64_t from = marks->time_ps[NS_STAGE_CALL];
    uint64_t total = marks->time_ps[NS_STAGE_HANDLER] - from;
    uint64_t before = from;
    uint64_t sum = 0;
    bool exact = marks->seen[NS_STAGE_CALL] && marks->seen[NS_STAGE_HANDLER];

    for (int i = NS_STAGE_BUILD; i < NS_STAGE_COUNT; i++) {
        if (marks->seen[i]) {
            exact = exact && marks->time_ps[i] >= before;
            sum += marks->time_ps[i] - before;
            before = marks->time_ps[i];
        }
    }
    exact = exact && sum == total;
    if (options->json) {
        return explain_json(options, machine, marks, result, exact);
    }
    printf("# one-word request on %s, from the call to the handler\n",
           machine->name);
    before = from;
    for (int i = NS_STAGE_BUILD; i < NS_STAGE_COUNT; i++) {
        if (marks->seen[i]) {
            uint64_t ps = marks->time_ps[i] - before;

            printf("%-50s %10.6f us %5.1f%%\n", stage_names[i],
                   (double)ps / 1e6, (double)ps * 100 / (double)total);
            before = marks->time_ps[i];
        }
    }
    printf("%-50s %10.6f us\n", exact ? "sum, exactly" : "SUM DIFFERS",
           (double)total / 1e6);
    return exact;
}

static double per_second(uint64_t count, uint64_t ps)
{
    return ps == 0 ? 0.0 : (double)count * 1e12 / (double)ps;
}

void sim_job_print(const struct sim_options *options,
                   const struct ns_sim_result *result, uint64_t core_ps)
{
    if (!options->json && result->turns > 0) {
        fprintf(stderr,
                "# simulator: %" PRIu64 " accesses to adapters, %.0f a second "
                "of a core, and %.2f for each turn of a process\n",
                result->accesses, per_second(result->accesses, core_ps),
                (double)result->accesses / (double)result->turns);
    }
}

void sim_speed_print(const struct sim_options *options,
                     const struct ns_machine *machine,
                     const struct sim_speed *row)
{
    double rate = per_second(row->hardware_events, row->core_ps);

    if (options->json) {
        sim_json_print(
                options, machine, row->result,
                json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I, "
                          "s:I, s:f, s:s}",
                          "test", "sim_speed", "metric", row->metric, "machine",
                          machine->name, "nodes", row->nodes, "traffic",
                          row->traffic, "events", (json_int_t)row->events,
                          "hardware_events", (json_int_t)row->hardware_events,
                          "packets", (json_int_t)row->packets, "virtual_ps",
                          (json_int_t)row->virtual_ps, "core_ns",
                          (json_int_t)(row->core_ps / 1000), "node_bytes",
                          (json_int_t)row->node_bytes, "value", rate, "unit",
                          "events/s"));
        return;
    }
    if (row->nodes == 0) {
        printf("%s of %" PRIu32
               " events: %.2f million events a second of a core\n",
               row->metric, row->traffic, rate / 1e6);
        return;
    }
    printf("%s %s, %" PRIu32 " nodes, %" PRIu32 " rounds: %.2f million NIC and "
           "network events a second of a core (%.2f with the hosts'), %.3f s "
           "for %.3f ms "
           "of virtual time, %" PRIu64 " packets, %" PRIu64 " KiB a node\n",
           machine->name, row->metric, row->nodes, row->traffic, rate / 1e6,
           per_second(row->events, row->core_ps) / 1e6,
           (double)row->core_ps / 1e12, (double)row->virtual_ps / 1e9,
           row->packets, row->node_bytes / 1024);
    printf("%s %s: %.0f accesses to adapters a second of a core", machine->name,
           row->metric, per_second(row->result->accesses, row->core_ps));
    if (row->result->turns > 0) {
        printf(", %.2f for each turn of a process",
               (double)row->result->accesses / (double)row->result->turns);
    }
    putchar('\n');
    fflush(stdout);
}
