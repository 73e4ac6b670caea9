/*
 * am_perf's output: a table for people or one JSON object a line, on stdout;
 * a progress bar on stderr.  Only rank 0 has a report.
 */
#include "tools/perf.h"

#include "base/config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAR_WIDTH = 40
};

struct perf_report {
    const struct perf_options *options;
    json_t *settings;
    char metric[32]; /* of the last header line */
    bool bar_drawn;
    int bar_at; /* last percentage drawn */
};

static json_t *variables(struct am_ctx *ctx)
{
    json_t *all = json_object();
    struct am_variable_info info;
    char text[AM_CONFIG_TEXT_BYTES];

    for (uint32_t i = 0;
         ctx != NULL && am_variable(ctx, i, &info, text, sizeof(text)) == AM_OK;
         i++) {
        json_object_set_new(all, info.name, json_string(info.value));
    }
    return all;
}

struct perf_report *perf_report_open(struct am_ctx *ctx,
                                     const struct perf_options *options,
                                     const char *pinning, uint32_t ranks)
{
    struct perf_report *report = calloc(1, sizeof(*report));
    char cpu[256];

    if (report == NULL) {
        return NULL;
    }
    if (options->machine != NULL) { /* no core of this machine matters */
        snprintf(cpu, sizeof(cpu), "%s", options->machine);
    } else {
        perf_cpu_model(cpu, sizeof(cpu));
    }
    report->options = options;
    report->bar_at = -1;
    report->settings = json_pack(
            "{s:s, s:s, s:s, s:I, s:b, s:I, s:o}", "version", AM_VERSION_STRING,
            "cpu", cpu, "pinning", pinning, "ranks", (json_int_t)ranks,
            "validate", options->validate, "window",
            (json_int_t)options->window, "variables", variables(ctx));
    if (report->settings == NULL) {
        free(report);
        return NULL;
    }
    if (!options->json) {
        printf("# libam %s, am_perf %s%s%s, %u rank%s, cores %s, %s\n",
               AM_VERSION_STRING, options->test->name,
               options->op[0] != '\0' ? " --op " : "", options->op, ranks,
               ranks == 1 ? "" : "s", pinning, cpu);
    }
    return report;
}

static void bar_clear(struct perf_report *report)
{
    if (report->bar_drawn) {
        fprintf(stderr, "\r%*s\r", BAR_WIDTH + 60, "");
        report->bar_drawn = false;
    }
}

void perf_report_close(struct perf_report *report)
{
    if (report == NULL) {
        return;
    }
    bar_clear(report);
    json_decref(report->settings);
    free(report);
}

void perf_report_progress(struct perf *perf, uint64_t done, uint64_t total)
{
    struct perf_report *report = perf->report;
    int percent = total == 0 ? 100 : (int)(done * 100 / total);

    if (report == NULL || !report->options->progress ||
        percent == report->bar_at) {
        return;
    }
    report->bar_at = percent;
    report->bar_drawn = true;
    fprintf(stderr, "\r%s [", report->options->test->name);
    for (int i = 0; i < BAR_WIDTH; i++) {
        fputc(i < percent * BAR_WIDTH / 100 ? '#' : ' ', stderr);
    }
    fprintf(stderr, "] %3d%%", percent);
    if (report->options->machine != NULL) {
        fprintf(stderr, ", %.3f ms simulated",
                (double)am_env_now(perf->env) / 1e9);
    }
}

/* ------------------------------------------------------------------- rows */

static void row_json(struct perf_report *report, const struct perf_row *row)
{
    const struct perf_figure *figure = &row->figure;
    json_t *object = json_pack("{s:s, s:s, s:I, s:f, s:s, s:I}", "test",
                               report->options->test->name, "metric",
                               row->metric, "bytes", (json_int_t)row->bytes,
                               "value", figure->value, "unit", row->unit,
                               "iterations", (json_int_t)figure->iterations);

    if (report->options->op[0] != '\0') {
        json_object_set_new(object, "op", json_string(report->options->op));
    }
    if (row->extra_name != NULL) {
        json_object_set_new(object, row->extra_name,
                            json_integer((json_int_t)row->extra));
    }
    if (figure->samples != 0) {
        json_object_set_new(object, "percentiles",
                            json_pack("{s:f, s:f, s:f, s:f, s:I}", "50",
                                      figure->p50, "90", figure->p90, "99",
                                      figure->p99, "max", figure->max,
                                      "samples", (json_int_t)figure->samples));
    }
    json_object_set(object, "settings", report->settings);
    json_dumpf(object, stdout,
               JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(object);
}

/* Large units are shown in millions, virtual time in microseconds; the JSON has
 * them as they are. */
static const char *shown_unit(const struct perf_report *report,
                              const struct perf_row *row, double *divisor)
{
    *divisor = 1;
    if (strcmp(row->unit, "ns") == 0 && report->options->machine != NULL) {
        *divisor = 1e3;
        return "us";
    }
    if (strcmp(row->unit, "B/s") == 0) {
        *divisor = 1e6;
        return "MB/s";
    }
    if (strcmp(row->unit, "msg/s") == 0) {
        *divisor = 1e6;
        return "Mmsg/s";
    }
    return row->unit;
}

static void row_text(struct perf_report *report, const struct perf_row *row)
{
    const struct perf_figure *figure = &row->figure;
    double divisor;
    const char *unit = shown_unit(report, row, &divisor);
    int digits = strcmp(unit, "us") == 0 ? 3 : 2; /* whole ns */

    if (strcmp(report->metric, row->metric) != 0) {
        snprintf(report->metric, sizeof(report->metric), "%s", row->metric);
        printf("# %s, %s\n# %9s %9s %12s %10s %10s %10s %10s\n", row->metric,
               unit, row->has_bytes ? "bytes" : "",
               row->extra_name != NULL ? row->extra_name : "", "value", "50%",
               "90%", "99%", "max");
    }
    if (row->has_bytes) {
        printf("%11zu", row->bytes);
    } else {
        printf("%11s", "-");
    }
    if (row->extra_name != NULL) {
        printf(" %9llu", (unsigned long long)row->extra);
    } else {
        printf(" %9s", "");
    }
    printf(" %12.*f", digits, figure->value / divisor);
    if (figure->samples != 0) {
        printf(" %10.*f %10.*f %10.*f %10.*f", digits, figure->p50 / divisor,
               digits, figure->p90 / divisor, digits, figure->p99 / divisor,
               digits, figure->max / divisor);
    }
    putchar('\n');
}

void perf_report_row(struct perf *perf, const struct perf_row *row)
{
    struct perf_report *report = perf->report;

    if (report == NULL) {
        return;
    }
    bar_clear(report);
    if (report->options->json) {
        row_json(report, row);
    } else {
        row_text(report, row);
    }
    fflush(stdout);
}
