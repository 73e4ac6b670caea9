/*
 * --reproduce sp-mpi (Chang et al. 1996): a message round a ring of four nodes
 * and a stream of sends, with what the paper added to its buffered protocol and
 * rendezvous, one after the other.
 */
#include "tools/sim_exchange.h"
#include "tools/sim_reproduce.h"

#include <stdlib.h>

enum {
    FIRST_FIT,
    BINS,
    PREFIX,
    WAYS,
    SIZES = 10,
    RING_NODES = 4
};

static const size_t sizes[SIZES] = {8,    256,   1024,  2048,  4096,
                                    8192, 12288, 16384, 65536, 262144};

/* Each has what the one before it has, and one thing more.  The third thing of
 * the paper, frees that go back in batches, libam has always. */
static const struct {
    const char *name, *bins, *protocol;
} ways[WAYS] = {
        [FIRST_FIT] = {"first-fit", "0x0", "buffered:8k,put"},
        [BINS] = {"and bins", "8x1k", "buffered:8k,put"},
        [PREFIX] = {"and prefix", "8x1k", "buffered:8k,prefix"},
};

/* One point; the paper's buffer of 16 KiB for each peer. */
static int point(const struct sim_options *options,
                 const struct ns_machine *machine, uint32_t way, bool ring,
                 size_t bytes, uint64_t *ps_p)
{
    struct exchange_test test = {
            .test = ring ? EXCHANGE_RING : EXCHANGE_STREAM,
            .nodes = ring ? RING_NODES : 2,
            .bytes = bytes,
            .options = {{"AM_PROTO", ways[way].protocol},
                        {"AM_BUFFER_BINS", ways[way].bins},
                        {"AM_BUFFER_BYTES", "16k"}},
            .option_count = EXCHANGE_OPTIONS};
    int status = exchange_run(options, machine, &test);

    *ps_p = test.ps;
    return status;
}

/* The first size at which a series falls, or 0. */
static double dip_of(const struct sim_chart *chart, uint32_t series)
{
    for (uint32_t i = 1; i < chart->count; i++) {
        if (chart->value[series][i] < chart->value[series][i - 1]) {
            return chart->at[i];
        }
    }
    return 0;
}

/* Is `way` faster than the one before it at any size up to `bytes_max`, by more
 * than half a percent? */
static bool is_faster(const struct sim_chart *chart, uint32_t way,
                      double bytes_max)
{
    bool faster = false;

    for (uint32_t i = 0; i < chart->count && chart->at[i] <= bytes_max; i++) {
        faster = faster ||
                 chart->value[way][i] > 1.005 * chart->value[way - 1][i];
    }
    return faster;
}

static void claims(struct sim_chart *chart, bool ring)
{
    if (!ring) {
        sim_chart_claim(chart, "bins instead of first-fit help small messages",
                        is_faster(chart, BINS, 1024));
    }
    sim_chart_claim(chart, "plain rendezvous: a dip where the protocol changes",
                    dip_of(chart, BINS) != 0);
    sim_chart_claim(chart, "with a prefix there is none",
                    dip_of(chart, PREFIX) == 0);
    sim_chart_claim(chart, "the prefix has more bandwidth above the change",
                    is_faster(chart, PREFIX, 262144));
}

static int chart_fill(const struct sim_options *options,
                      const struct ns_machine *machine, bool ring,
                      struct sim_chart *chart)
{
    int status = EXIT_SUCCESS;

    chart->x = "bytes";
    chart->y = ring ? "MB/s of a hop round a ring of 4"
                    : "MB/s of sends one after the other";
    chart->series_count = WAYS;
    chart->count = SIZES;
    for (uint32_t way = 0; way < WAYS; way++) {
        chart->series[way] = ways[way].name;
        for (uint32_t s = 0; s < SIZES && status == EXIT_SUCCESS; s++) {
            uint64_t ps = 0;

            status = point(options, machine, way, ring, sizes[s], &ps);
            if (status == EXIT_SUCCESS) {
                chart->at[s] = (double)sizes[s];
                chart->value[way][s] = (double)sizes[s] * 1e6 / (double)ps;
                if (s == 0) {
                    chart->first_us[way] = (double)ps / 1e6;
                }
            }
            sim_progress(options, way * SIZES + s + 1, WAYS * SIZES, 0);
        }
    }
    if (status == EXIT_SUCCESS) {
        claims(chart, ring);
    }
    return status;
}

int reproduce_sp_mpi(const struct sim_options *options, const char *name,
                     struct sim_chart *charts)
{
    struct ns_machine *machine = reproduce_machine(options, name, NULL);
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;

    for (uint32_t part = 0; part < 2 && status == EXIT_SUCCESS; part++) {
        status = chart_fill(options, machine, part == 0, &charts[part]);
    }
    free(machine);
    return status;
}
