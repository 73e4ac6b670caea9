/*
 * --reproduce lci-bcast (Verstoep et al. 2004): a broadcast to 64 nodes along
 * trees of several shapes, forwarded by the NIs, by the hosts' drivers, and by
 * libam's collectives on the hosts; and with data that goes between host and NI
 * in several ways.
 */
#include "tools/sim_coll.h"
#include "tools/sim_reproduce.h"

#include <stdlib.h>

enum {
    NODES = 64,
    SIZES = 6
};

static const size_t sizes[SIZES] = {8, 256, 1024, 4096, 16384, 65536};

/* A broadcast on the machine with more settings. */
struct way {
    const char *name;
    const char *algorithm; /* of collectives; NULL: the NIC's multicast */
    const char *sets[2];
};

enum {
    NI_BINARY,
    NI_BINOMIAL,
    DRIVER_BINARY,
    DRIVER_BINOMIAL,
    COLL_BINARY,
    COLL_BINOMIAL,
    COLL_KARY,
    COLL_CHAIN,
    COLL_NI,
    TREES
};

/* Pieces of collectives are a packet each. */
static const struct way trees[TREES] = {
        [NI_BINARY] = {"NI binary",
                       NULL,
                       {"lanai.multicast=ni", "lanai.tree=binary"}},
        [NI_BINOMIAL] = {"NI binomial",
                         NULL,
                         {"lanai.multicast=ni", "lanai.tree=binomial"}},
        [DRIVER_BINARY] = {"driver binary",
                           NULL,
                           {"lanai.multicast=host", "lanai.tree=binary"}},
        [DRIVER_BINOMIAL] = {"drv. binomial",
                             NULL,
                             {"lanai.multicast=host", "lanai.tree=binomial"}},
        [COLL_BINARY] = {"coll binary", "binary/1792", {NULL}},
        [COLL_BINOMIAL] = {"coll binomial", "binomial/1792", {NULL}},
        [COLL_KARY] = {"coll kary:4", "kary:4/1792", {NULL}},
        [COLL_CHAIN] = {"coll chain", "chain/1792", {NULL}},
        [COLL_NI] = {"coll NI binary",
                     "multicast",
                     {"lanai.multicast=ni", "lanai.tree=binary"}},
};

enum {
    NI_DMA,
    NI_PIO,
    COLL_DMA,
    COLL_PIO,
    COLL_RCPY,
    TRANSFERS
};

static const struct way transfers[TRANSFERS] = {
        [NI_DMA] = {"NI, DMA", NULL, {"lanai.transfer=dma"}},
        [NI_PIO] = {"NI, PIO", NULL, {"lanai.transfer=pio"}},
        [COLL_DMA] = {"coll, DMA", "binary/1792", {"lanai.transfer=dma"}},
        [COLL_PIO] = {"coll, PIO", "binary/1792", {"lanai.transfer=pio"}},
        /* a piece of one packet goes as such; these are copied in place */
        [COLL_RCPY] = {"coll, copy", "binary/16k", {"lanai.transfer=rcpy"}},
};

static int point(const struct sim_options *options,
                 const struct ns_machine *machine, const struct way *way,
                 size_t bytes, uint64_t *ps_p)
{
    struct coll_test test = {
            .kind = AM_COLL_BCAST,
            .algorithm = way->algorithm,
            .nodes = options->nodes != 0 ? options->nodes : NODES,
            .bytes = bytes};
    struct ns_sim_result result;
    char error[512];
    int status = EXIT_SUCCESS;

    if (way->algorithm != NULL) {
        status = coll_run(options, machine, &test);
        *ps_p = test.ps;
    } else if (figure_multicast(bytes, test.nodes, machine, &options->params,
                                ps_p, &result, error, sizeof(error)) != 0) {
        status = sim_fail(error);
    }
    return status;
}

static int chart_fill(const struct sim_options *options, const char *name,
                      const struct way *ways, uint32_t count,
                      struct sim_chart *chart)
{
    int status = EXIT_SUCCESS;

    chart->x = "bytes";
    chart->y = "us until the last node has a broadcast";
    chart->logarithmic = chart->logarithmic_y = true;
    chart->count = SIZES;
    chart->series_count = count;
    for (uint32_t i = 0; i < count && status == EXIT_SUCCESS; i++) {
        struct ns_machine *machine =
                reproduce_machine(options, name, ways[i].sets);

        status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;
        chart->series[i] = ways[i].name;
        for (uint32_t s = 0; s < SIZES && status == EXIT_SUCCESS; s++) {
            uint64_t ps = 0;

            status = point(options, machine, &ways[i], sizes[s], &ps);
            chart->at[s] = (double)sizes[s];
            chart->value[i][s] = (double)ps / 1e6;
            sim_progress(options, i * SIZES + s + 1, count * SIZES, ps);
        }
        free(machine);
    }
    return status;
}

/* What the same broadcasts are in MB/s of the root. */
static void chart_rates(const struct sim_chart *us, struct sim_chart *rates)
{
    const char *title = rates->title;

    *rates = *us;
    rates->title = title;
    rates->y = "MB/s of a broadcast";
    for (uint32_t i = 0; i < us->series_count; i++) {
        for (uint32_t s = 0; s < us->count; s++) {
            rates->value[i][s] = us->at[s] / us->value[i][s];
        }
    }
}

static void tree_claims(struct sim_chart *us, struct sim_chart *rates)
{
    double(*const v)[SIM_CHART_POINTS] = us->value;
    double(*const r)[SIM_CHART_POINTS] = rates->value;
    uint32_t last = SIZES - 1;

    sim_chart_claim(us, "multicast belongs at the lowest level: NIs are faster "
                        "than hosts (8 bytes)",
                    v[NI_BINARY][0] < v[DRIVER_BINARY][0] &&
                            v[NI_BINARY][0] < v[COLL_BINARY][0]);
    sim_chart_claim(us, "a binomial tree for latency, by NIs",
                    v[NI_BINOMIAL][0] < v[NI_BINARY][0]);
    sim_chart_claim(us, "a binomial tree for latency, by hosts (libam's)",
                    v[COLL_BINOMIAL][0] < v[COLL_BINARY][0]);
    sim_chart_claim(rates, "multicast belongs at the lowest level: NIs are "
                           "faster than hosts (64 KiB)",
                    r[NI_BINARY][last] > r[DRIVER_BINARY][last] &&
                            r[NI_BINARY][last] > r[COLL_BINARY][last]);
    sim_chart_claim(rates, "a binary tree for throughput, by NIs",
                    r[NI_BINARY][last] > r[NI_BINOMIAL][last]);
    sim_chart_claim(rates, "a binary tree for throughput, by hosts (libam's)",
                    r[COLL_BINARY][last] > r[COLL_BINOMIAL][last]);
}

static void transfer_claims(struct sim_chart *us)
{
    double(*const v)[SIM_CHART_POINTS] = us->value;
    uint32_t last = SIZES - 1;

    sim_chart_claim(us, "the host's stores (PIO) win for small messages, by NIs",
                    v[NI_PIO][0] < v[NI_DMA][0]);
    sim_chart_claim(us, "and by hosts", v[COLL_PIO][0] < v[COLL_DMA][0]);
    sim_chart_claim(us, "DMA wins for large ones, by NIs",
                    v[NI_DMA][last] < v[NI_PIO][last]);
    sim_chart_claim(us, "and by hosts", v[COLL_DMA][last] < v[COLL_PIO][last]);
}

int reproduce_lci_bcast(const struct sim_options *options, const char *name,
                        struct sim_chart *charts)
{
    int status = chart_fill(options, name, trees, TREES, &charts[0]);

    if (status == EXIT_SUCCESS) {
        chart_rates(&charts[0], &charts[1]);
        tree_claims(&charts[0], &charts[1]);
        status = chart_fill(options, name, transfers, TRANSFERS, &charts[2]);
    }
    if (status == EXIT_SUCCESS) {
        transfer_claims(&charts[2]);
    }
    return status;
}
