/*
 * --reproduce bgp-allreduce (Kumar et al. 2008): allreduce on 32 nodes in SMP and in
 * quad mode, by libam's algorithms over the torus, and over the collective network
 * as DCMF does it.
 */
#include "tools/sim_coll_net.h"
#include "tools/sim_reproduce.h"

#include <stdlib.h>

enum {
    NODES = 32,
    QUAD = 4,
    SIZES = 7,
    PIECE = 4096,
    LAST = SIZES - 1
};

static const size_t sizes[SIZES] = {8,     64,     512,    4096,
                                    32768, 131072, 524288};

/* `piece` 0: over the torus.  In SMP mode there is nothing to reduce in a node. */
struct way {
    const char *name, *algorithm;
    size_t piece;
    const char *local; /* AM_COLL_REDUCE in a node */
};

enum {
    DOUBLING,
    HALVING,
    RING,
    BY_COST,
    DIRECT,
    CHAIN,
    WAYS
};

static const struct way ways[WAYS] = {
        [DOUBLING] = {"doubling", "doubling", 0, NULL},
        [HALVING] = {"halving", "halving", 0, NULL},
        [RING] = {"ring", "ring", 0, NULL},
        [BY_COST] = {"by cost", NULL, 0, NULL},
        [DIRECT] = {"net, direct", NULL, SIZE_MAX, "flat"},
        [CHAIN] = {"net, pipeline", NULL, PIECE, "chain"},
};

static int way_fill(const struct sim_options *options,
                    const struct ns_machine *machine, uint32_t way,
                    uint32_t processes, struct sim_chart *chart)
{
    uint32_t nodes = options->nodes != 0 ? options->nodes : NODES;
    struct coll_test test = {.kind = AM_COLL_ALLREDUCE,
                             .algorithm = ways[way].algorithm,
                             .nodes = nodes * processes,
                             .piece = ways[way].piece};

    if (test.piece > 0 && processes == 1) {
        test.algorithm = "network";
        test.words = true;
    } else if (test.piece > 0) {
        test.round = coll_network;
        test.local = processes;
        test.options[0] =
                (struct am_option){"AM_COLL_REDUCE", ways[way].local};
    }
    chart->series[way] = test.words ? "network" : ways[way].name;
    return reproduce_series(options, machine, &test, way, sizes, chart);
}

static int chart_fill(const struct sim_options *options, const char *name,
                      uint32_t processes, struct sim_chart *chart)
{
    static const char *const quad[] = {"nic.processes=4 processes", NULL};
    struct ns_machine *machine = reproduce_machine(
            options, name, processes == QUAD ? quad : NULL);
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;

    chart->x = "bytes";
    chart->y = processes == QUAD ? "us of an allreduce, quad mode"
                                 : "us of an allreduce, SMP mode";
    chart->logarithmic = chart->logarithmic_y = true;
    chart->count = SIZES;
    chart->series_count = processes == QUAD ? WAYS : CHAIN;
    for (uint32_t i = 0; i < chart->series_count && status == EXIT_SUCCESS; i++) {
        status = way_fill(options, machine, i, processes, chart);
    }
    free(machine);
    return status;
}

int reproduce_bgp_allreduce(const struct sim_options *options,
                            const char *name, struct sim_chart *charts)
{
    double(*const quad)[SIM_CHART_POINTS] = charts[1].value;
    int status = chart_fill(options, name, 1, &charts[0]);

    if (status == EXIT_SUCCESS) {
        status = chart_fill(options, name, QUAD, &charts[1]);
    }
    if (status == EXIT_SUCCESS) {
        sim_chart_claim(&charts[1], "short ones: all cores send to one, which "
                                    "reduces (direct, 8 bytes)",
                        quad[DIRECT][0] <= quad[CHAIN][0]);
        sim_chart_claim(&charts[1], "long ones: from core to core, in a "
                                    "pipeline (512 KiB)",
                        quad[CHAIN][LAST] < quad[DIRECT][LAST]);
    }
    return status;
}
