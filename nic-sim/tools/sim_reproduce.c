/*
 * am_sim --reproduce: the papers' MPI comparisons on the simulated machines, by
 * one command each: a table, what the paper found beside what is so here, and
 * a plot.  Nothing is fitted to any of it.
 */
#include "tools/sim_reproduce.h"

#include <stdlib.h>

/* Settings of a machine. */
struct way {
    const char *name;
    const char *sets[2];
};

enum {
    SIZES = 10,
    NEIGHBOURS = 6
};

static const size_t sizes[SIZES] = {8,    256,   1024,  2048,  4096,
                                    8192, 12288, 16384, 65536, 262144};

/* ---------------------------------------------------------------- ping-pongs */

struct ns_machine *reproduce_machine(const struct sim_options *options,
                                     const char *name, const char *const *more)
{
    const char *sets[SIM_SETS_MAX + 2];
    uint32_t count = 0;
    char error[512];
    struct ns_machine *machine;

    for (uint32_t i = 0; i < options->set_count; i++) {
        sets[count++] = options->sets[i];
    }
    for (uint32_t i = 0; i < 2 && more != NULL && more[i] != NULL; i++) {
        sets[count++] = more[i];
    }
    machine = ns_machine_load(name, sets, count, error, sizeof(error));
    if (machine == NULL) {
        (void)sim_fail(error);
    }
    return machine;
}

/* MB/s of one way of a ping-pong, and microseconds of the smallest one. */
static int pingpongs(const struct sim_options *options, const char *name,
                     const struct way *ways, uint32_t count,
                     struct sim_chart *chart)
{
    struct sim_options with = *options;
    struct sim_rows rows = {0};
    int status = EXIT_SUCCESS;

    with.into = &rows;
    with.only = NULL;
    chart->x = "bytes";
    chart->y = "MB/s one way";
    for (uint32_t i = 0; i < count && status == EXIT_SUCCESS; i++) {
        struct ns_machine *machine =
                reproduce_machine(options, name, ways[i].sets);

        if (machine == NULL) {
            status = EXIT_FAILURE;
            break;
        }
        chart->series[i] = ways[i].name;
        chart->series_count = i + 1;
        for (uint32_t s = 0; s < SIZES && status == EXIT_SUCCESS; s++) {
            status = sim_predict_pingpong(&with, machine, NULL, sizes[s]);
            if (status == EXIT_SUCCESS) {
                double ps = (double)rows.row[rows.count - 1].value;

                chart->at[s] = (double)sizes[s];
                chart->value[i][s] = (double)sizes[s] * 1e6 / ps;
                chart->first_us[i] = s == 0 ? ps / 1e6 : chart->first_us[i];
            }
            sim_progress(options, i * SIZES + s + 1, count * SIZES, 0);
        }
        free(machine);
    }
    chart->count = SIZES;
    sim_rows_free(&rows);
    return status;
}

/* ------------------------------------------------------------------ the papers */

/* Verstoep et al. 2004. */
static int lci_mpi(const struct sim_options *options, const char *name,
                   struct sim_chart *chart)
{
    enum {
        SDMA,
        NIRX,
        HRX,
        PIO,
        RCPY,
        COUNT
    };
    static const struct way ways[COUNT] = {
            {"I-sdma", {"lanai.reliability=none", "lanai.transfer=dma"}},
            {"I-nirx", {"lanai.reliability=ni", "lanai.transfer=dma"}},
            {"I-hrx", {"lanai.reliability=host", "lanai.transfer=dma"}},
            {"I-pio", {"lanai.reliability=none", "lanai.transfer=pio"}},
            {"I-rcpy", {"lanai.reliability=none", "lanai.transfer=rcpy"}},
    };
    int status = pingpongs(options, name, ways, COUNT, chart);
    const double *us = chart->first_us;

    sim_chart_claim(chart, "the host's stores (I-pio) win for small messages",
                    us[PIO] < us[SDMA]);
    sim_chart_claim(chart, "DMA (I-sdma) wins for large ones",
                    chart->value[SDMA][SIZES - 1] >
                            chart->value[PIO][SIZES - 1]);
    sim_chart_claim(chart, "retransmission costs moderately (under half more)",
                    us[NIRX] > us[SDMA] && us[NIRX] < 1.5 * us[SDMA] &&
                            us[HRX] > us[SDMA] && us[HRX] < 1.5 * us[SDMA]);
    sim_chart_claim(chart, "zero copy (I-rcpy) has the most throughput",
                    chart->value[RCPY][SIZES - 1] >
                            chart->value[SDMA][SIZES - 1]);
    return status;
}

/* The exchanges of 64 KiB among the predictions. */
static double exchange(const struct sim_rows *rows, const char *protocol,
                       uint32_t neighbours)
{
    char metric[64];

    snprintf(metric, sizeof(metric), "exchange_%s_%u", protocol, neighbours);
    for (uint32_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->row[i].metric, metric) == 0 &&
            rows->row[i].bytes == 65536) {
            return (double)rows->row[i].value / 1e6;
        }
    }
    return 0;
}

/* Kumar et al. 2008: exchanges with neighbours. */
static int bgp_mpi(const struct sim_options *options, const char *name,
                   struct sim_chart *chart)
{
    static const char *const protocols[] = {"eager", "rendezvous"};
    struct sim_options with = *options;
    struct sim_rows rows = {0};
    struct ns_machine *machine = reproduce_machine(options, name, NULL);
    bool grows = true, stops = true;
    int status;

    if (machine == NULL) {
        return EXIT_FAILURE;
    }
    with.into = &rows;
    with.only = "exchange_";
    status = sim_predict_bgp(&with, machine);
    free(machine);
    chart->x = "neighbours";
    chart->y = "MB/s that a node receives, 64 KiB";
    chart->series_count = 2;
    chart->count = NEIGHBOURS;
    for (uint32_t n = 1; n <= NEIGHBOURS; n++) {
        chart->at[n - 1] = n;
        for (uint32_t i = 0; i < 2; i++) {
            chart->series[i] = protocols[i];
            chart->value[i][n - 1] = exchange(&rows, protocols[i], n);
        }
        if (n > 1) {
            grows = grows &&
                    chart->value[1][n - 1] > 1.05 * chart->value[1][n - 2];
        }
        if (n > 3) {
            stops = stops && chart->value[0][n - 1] < 1.05 * chart->value[0][2];
        }
    }
    sim_rows_free(&rows);
    sim_chart_claim(chart, "with one neighbour both are near a link's 374 MB/s",
                    chart->value[0][0] > 0.9 * 374 &&
                            chart->value[1][0] > 0.9 * 374);
    sim_chart_claim(chart, "rendezvous goes on growing, to six links", grows);
    sim_chart_claim(chart, "eager does not grow beyond three", stops);
    sim_chart_claim(chart, "eager grows to about three",
                    chart->value[0][2] > 2.5 * chart->value[0][0]);
    return status;
}

/* -------------------------------------------------------------------- choosing */

static const struct {
    const char *name;
    const char *machines[2];
    uint32_t parts; /* charts for each */
    const char *what;
    reproduce_fn run;
    bool is_collective; /* takes --nodes, and is one of "collectives" */
    bool is_job;        /* takes --nodes, --class, and a command */
} papers[] = {
        {"sp-nas",
         {"sp-thin"},
         1,
         "NAS FT, MG, LU, SP and BT over MPI, and what an all-to-all does to FT "
         "(Chang et al. 1996)",
         reproduce_sp_nas,
         false,
         true},
        {"sp-mpi",
         {"sp-thin", "sp-wide"},
         2,
         "MPI buffered to 8 KiB in 16 KiB for each peer and rendezvous above, "
         "and what was added, one thing after the other (Chang et al. 1996)",
         reproduce_sp_mpi,
         false,
         false},
        {"lci-mpi",
         {"myrinet-ppro", "myrinet-p3"},
         1,
         "MPI's ping-pong on LCI's implementations (Verstoep et al. 2004)",
         lci_mpi,
         false,
         false},
        {"bgp-mpi",
         {"bgp"},
         1,
         "MPI's exchange with 1 to 6 neighbours (Kumar et al. 2008)",
         bgp_mpi,
         false,
         false},
        {"buffering",
         {"sp-thin"},
         5,
         "an exchange of two nodes under the policies of four libraries, and "
         "what a copy costs (Saphir 1994)",
         reproduce_buffering,
         false,
         false},
        {"sp-alltoall",
         {"sp-thin", "sp-wide"},
         1,
         "all-to-all: naive, and so that no two send to the same at once "
         "(Chang et al. 1996)",
         reproduce_sp_alltoall,
         true,
         false},
        {"lci-bcast",
         {"myrinet-ppro", "myrinet-p3"},
         3,
         "broadcast to 64 nodes along trees, by NIs and by hosts (Verstoep et "
         "al. 2004)",
         reproduce_lci_bcast,
         true,
         false},
        {"bgp-allreduce",
         {"bgp"},
         2,
         "allreduce on 32 nodes in SMP and quad mode, over the torus and over "
         "the collective network (Kumar et al. 2008)",
         reproduce_bgp_allreduce,
         true,
         false},
        {"patterns",
         {"bgp", "sp-thin"},
         6,
         "row multi-broadcast and multi-reduce of 1000 x Q, 1000 x 2 Q, 1000 x "
         "32 and 4000 x 32 doubles on Q nodes (Dawson and Strazdins)",
         reproduce_patterns,
         true,
         false},
        {"scaling",
         {"bgp"},
         3,
         "barrier, broadcast and allreduce of 8 bytes on 64 to 4,096 nodes",
         reproduce_scaling,
         true,
         false},
        {"overlap",
         {"bgp", "sp-thin"},
         2,
         "a non-blocking all-to-all and allreduce of 64 KiB behind computation "
         "that polls now and then",
         reproduce_overlap,
         true,
         false},
};

enum {
    PAPERS = sizeof(papers) / sizeof(papers[0]),
    CHARTS_MAX = 40
};

/* Is it this one, or one of several that have one name? */
static bool is_meant(uint32_t paper, const char *name)
{
    return strcmp(papers[paper].name, name) == 0 ||
           (papers[paper].is_collective && strcmp(name, "collectives") == 0);
}

const char *sim_reproduce_machine(const char *name)
{
    for (uint32_t i = 0; i < PAPERS; i++) {
        if (is_meant(i, name)) {
            return papers[i].machines[0];
        }
    }
    return NULL;
}

bool sim_reproduce_takes_nodes(const char *name)
{
    for (uint32_t i = 0; i < PAPERS; i++) {
        if (is_meant(i, name) && (papers[i].is_collective || papers[i].is_job)) {
            return true;
        }
    }
    return false;
}

bool sim_reproduce_is_job(const char *name)
{
    for (uint32_t i = 0; i < PAPERS; i++) {
        if (is_meant(i, name) && papers[i].is_job) {
            return true;
        }
    }
    return false;
}

/* All charts of a paper; how many. */
static int paper_run(const struct sim_options *options, uint32_t paper,
                     struct sim_chart *charts, uint32_t *count_p)
{
    uint32_t machines = options->every_machine ? 2 : 1, parts;
    int status = EXIT_SUCCESS;

    for (uint32_t i = 0; i < machines && status == EXIT_SUCCESS; i++) {
        const char *machine = options->every_machine ? papers[paper].machines[i]
                                                     : options->machine;

        parts = machine == NULL ? 0 : papers[paper].parts;
        for (uint32_t part = 0; part < parts; part++) {
            charts[*count_p + part].title = machine;
        }
        if (parts > 0) {
            status = papers[paper].run(options, machine, &charts[*count_p]);
            sim_bar_clear();
        }
        for (uint32_t part = 0; part < parts && status == EXIT_SUCCESS;
             part++) {
            if (charts[*count_p].count > 0) {
                sim_chart_print(&charts[(*count_p)++]);
            }
        }
    }
    return status;
}

int sim_reproduce(const struct sim_options *options)
{
    static struct sim_chart charts[CHARTS_MAX];
    uint32_t count = 0;
    int status = EXIT_SUCCESS;

    for (uint32_t i = 0; i < PAPERS && status == EXIT_SUCCESS; i++) {
        if (is_meant(i, options->reproduce)) {
            printf("# %s: %s\n", papers[i].name, papers[i].what);
            status = paper_run(options, i, charts, &count);
        }
    }
    if (status == EXIT_SUCCESS && options->plot != NULL) {
        status = sim_chart_plot(charts, count, options->reproduce,
                                options->plot);
    }
    return status;
}
