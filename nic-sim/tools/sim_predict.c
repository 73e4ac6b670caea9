/*
 * What a machine predicts: figures that nothing is fitted to.  One function
 * for each group of them; `predictions` says which machines have it.
 */
#include "tools/sim.h"

#include <stdlib.h>
#include <string.h>

static const char *const ops[] = {"store_async", "get_async", "store", "get"};

enum {
    OP_COUNT = sizeof(ops) / sizeof(ops[0]),
    CURVE_MAX = 32
};

/* The two bandwidth tests of SP AM (Chang et al. 1996). */
#define SIZE_MIN_BLOCKING  16
#define SIZE_MIN_PIPELINED 64
#define SIZE_MAX_BYTES     (1 << 20)
#define BLOCKING_TRANSFERS 32

struct curve {
    uint32_t count;
    uint64_t bytes[CURVE_MAX], value[CURVE_MAX];
};

/* The size at which the curve crosses half of `asymptote`, between two of its
 * points on a straight line; 0 when it does not.  A MiB times a TB/s has 60
 * bits. */
static uint64_t half_power(const struct curve *curve, uint64_t asymptote)
{
    uint64_t half = asymptote / 2;

    for (uint32_t i = 1; i < curve->count; i++) {
        uint64_t low = curve->value[i - 1], high = curve->value[i];

        if (low < half && high >= half) {
            return curve->bytes[i - 1] +
                   (curve->bytes[i] - curve->bytes[i - 1]) * (half - low) /
                           (high - low);
        }
    }
    return 0;
}

static int predict_op(const struct sim_options *options,
                      const struct ns_machine *machine, uint32_t op,
                      struct ns_sim_result *result)
{
    bool pipelined = strstr(ops[op], "async") != NULL;
    struct curve curve = {0};
    struct sim_row row = {.metric = ops[op], .unit = "B/s", .result = result};
    char error[512] = "", name[64];

    snprintf(name, sizeof(name), "half_power_%s", ops[op]);
    if (!sim_wanted(options, ops[op]) && !sim_wanted(options, name)) {
        return EXIT_SUCCESS;
    }
    for (uint64_t bytes = pipelined ? SIZE_MIN_PIPELINED : SIZE_MIN_BLOCKING;
         bytes <= SIZE_MAX_BYTES; bytes *= 2) {
        uint64_t total =
                pipelined ? SIZE_MAX_BYTES : bytes * BLOCKING_TRANSFERS;

        total = total > SIZE_MAX_BYTES ? SIZE_MAX_BYTES : total;
        if (figure_bandwidth(ops[op], bytes, total, machine, &options->params,
                             &row.value, result, error, sizeof(error)) != 0) {
            return sim_fail(error);
        }
        sim_progress(options, op * 17 + curve.count, OP_COUNT * 17,
                     result->end_ps);
        row.bytes = bytes;
        curve.bytes[curve.count] = bytes;
        curve.value[curve.count++] = row.value;
        if (sim_wanted(options, ops[op])) {
            sim_row_print(options, machine, &row);
        }
    }
    row = (struct sim_row){
            .metric = name,
            .unit = "bytes",
            .value = half_power(&curve, curve.value[curve.count - 1]),
            .result = result};
    if (sim_wanted(options, name)) {
        sim_row_print(options, machine, &row);
    }
    return EXIT_SUCCESS;
}

static int predict_bandwidth(const struct sim_options *options,
                             const struct ns_machine *machine)
{
    struct ns_sim_result result;
    int status = EXIT_SUCCESS;

    for (uint32_t op = 0; op < OP_COUNT && status == EXIT_SUCCESS; op++) {
        status = predict_op(options, machine, op, &result);
    }
    return status;
}

/* NIC NULL: every machine. */
static const struct {
    const char *nic;
    int (*run)(const struct sim_options *options,
               const struct ns_machine *machine);
} predictions[] = {{NULL, predict_bandwidth},
                   {"lanai", sim_predict_lanai},
                   {"bgp", sim_predict_bgp}};

int sim_predict(const struct sim_options *options,
                const struct ns_machine *machine)
{
    int status = EXIT_SUCCESS;

    for (size_t i = 0; i < sizeof(predictions) / sizeof(predictions[0]); i++) {
        if (predictions[i].nic == NULL ||
            strcmp(predictions[i].nic, machine->nic) == 0) {
            status |= predictions[i].run(options, machine);
        }
    }
    sim_progress(options, 1, 1, 0);
    return status;
}
