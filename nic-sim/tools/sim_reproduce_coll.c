/*
 * --reproduce sp-alltoall (Chang et al. 1996): an all-to-all in which all
 * processes send to the same one at a time, and those that avoid it.
 */
#include "tools/sim_coll.h"
#include "tools/sim_reproduce.h"

#include <stdlib.h>

int reproduce_series(const struct sim_options *options,
                     const struct ns_machine *machine, struct coll_test *test,
                     uint32_t series, const size_t *sizes,
                     struct sim_chart *chart)
{
    int status = EXIT_SUCCESS;

    for (uint32_t s = 0; s < chart->count && status == EXIT_SUCCESS; s++) {
        test->bytes = sizes[s];
        status = coll_run(options, machine, test);
        chart->at[s] = (double)sizes[s];
        chart->value[series][s] = (double)test->ps / 1e6;
        sim_progress(options, series * chart->count + s + 1,
                     chart->series_count * chart->count, test->ps);
    }
    return status;
}

/* ---------------------------------------------------------------- sp-alltoall */

enum {
    NAIVE,
    STAGGERED,
    PAIRWISE,
    BRUCK,
    BY_COST,
    WAYS,
    SP_NODES = 16,
    SP_SIZES = 6
};

static const size_t blocks[SP_SIZES] = {8, 64, 256, 1024, 4096, 16384};

/* Is `a` below `b` by more than a percent, at each size? */
static bool all_below(const struct sim_chart *chart, uint32_t a, uint32_t b)
{
    bool all = true;

    for (uint32_t i = 0; i < chart->count; i++) {
        all = all && 1.01 * chart->value[a][i] < chart->value[b][i];
    }
    return all;
}

int reproduce_sp_alltoall(const struct sim_options *options, const char *name,
                          struct sim_chart *chart)
{
    static const char *const names[WAYS] = {"naive", "staggered", "pairwise",
                                            "bruck", "by cost"};
    struct ns_machine *machine = reproduce_machine(options, name, NULL);
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;

    chart->x = "bytes of a block";
    chart->y = "us of an all-to-all";
    chart->logarithmic = chart->logarithmic_y = true;
    chart->count = SP_SIZES;
    chart->series_count = WAYS;
    for (uint32_t i = 0; i < WAYS && status == EXIT_SUCCESS; i++) {
        struct coll_test test = {
                .kind = AM_COLL_ALLTOALL,
                .algorithm = i == BY_COST ? NULL : names[i],
                .nodes = options->nodes != 0 ? options->nodes : SP_NODES};

        chart->series[i] = names[i];
        status = reproduce_series(options, machine, &test, i, blocks, chart);
    }
    if (status == EXIT_SUCCESS) {
        sim_chart_claim(chart, "better if not all send to the same process at "
                               "the same time (here: at each size)",
                        all_below(chart, STAGGERED, NAIVE));
    }
    free(machine);
    return status;
}
