/*
 * --reproduce buffering (Saphir 1994): two nodes that send to each other, under
 * each of the policies of AM_BUFFERING, with the calls that a program of that
 * library makes; and the law by which a copy that follows a transfer costs
 * bandwidth.
 */
#include "tools/sim_exchange.h"
#include "tools/sim_reproduce.h"

#include <math.h>
#include <stdlib.h>

enum {
    MPI,
    NX,
    CMMD,
    PVM,
    POLICIES,
    SIZES = 6
};

static const size_t sizes[SIZES] = {256, 1024, 4096, 16384, 65536, 262144};

static const struct {
    const char *name, *policy;
    bool blocking; /* csend, pvm_send: come back when the data has left */
} policies[POLICIES] = {
        [MPI] = {"mpi", "mpi", false},
        [NX] = {"nx", "nx", true},
        [CMMD] = {"cmmd", "cmmd", false},
        [PVM] = {"pvm", "pvm", true},
};

static int point(const struct sim_options *options,
                 const struct ns_machine *machine, uint32_t policy,
                 struct exchange_test *test)
{
    test->nodes = 2;
    test->blocking = policies[policy].blocking;
    test->options[0] =
            (struct am_option){"AM_BUFFERING", policies[policy].policy};
    test->option_count = 1;
    return exchange_run(options, machine, test);
}

static double mb_per_second(size_t bytes, uint64_t ps)
{
    return (double)bytes * 1e6 / (double)ps;
}

/* ----------------------------------------------------------------- exchanges */

static void chart_begin(struct sim_chart *chart, const char *y)
{
    chart->x = "bytes";
    chart->y = y;
    chart->logarithmic = true;
    chart->count = SIZES;
    for (uint32_t s = 0; s < SIZES; s++) {
        chart->at[s] = (double)sizes[s];
    }
}

/* MB/s that each node receives, and how often msg copies each byte. */
static int exchanges(const struct sim_options *options,
                     const struct ns_machine *machine, exchange_test_t order,
                     struct sim_chart *rates, struct sim_chart *copies)
{
    int status = EXIT_SUCCESS;

    rates->series_count = copies->series_count = POLICIES;
    for (uint32_t p = 0; p < POLICIES; p++) {
        rates->series[p] = copies->series[p] = policies[p].name;
        for (uint32_t s = 0; s < SIZES && status == EXIT_SUCCESS; s++) {
            struct exchange_test test = {.test = order, .bytes = sizes[s]};

            status = point(options, machine, p, &test);
            copies->value[p][s] = test.copies;
            rates->value[p][s] = mb_per_second(sizes[s], test.ps);
            sim_progress(options, p * SIZES + s + 1, POLICIES * SIZES, 0);
        }
    }
    return status;
}

/* At every size from 64 KiB on, where a message is many packets. */
static bool all_long(const double *values, double low, double high)
{
    bool all = true;

    for (uint32_t s = 0; s < SIZES; s++) {
        all = all && (sizes[s] < 65536 ||
                      (values[s] >= low && values[s] <= high));
    }
    return all;
}

static void copies_claims(struct sim_chart *chart, bool posted)
{
    if (posted) {
        sim_chart_claim(chart,
                        "receives posted before a synchronisation: nx does not "
                        "buffer",
                        all_long(chart->value[NX], 0, 1.01));
    } else {
        sim_chart_claim(chart, "sends first: nx buffers both messages (here: most "
                        "bytes, from 64 KiB on)",
                        all_long(chart->value[NX], 1.5, 2.1));
    }
    sim_chart_claim(chart, "cmmd never buffers",
                    all_long(chart->value[CMMD], 0, 1.01));
    sim_chart_claim(chart, "pvm makes at least two copies more",
                    all_long(chart->value[PVM], 2.9, 4.1));
}

/* `before`: nx with sends first. */
static void rates_claims(struct sim_chart *chart, bool posted,
                         const double *before)
{
    const double *nx = chart->value[NX], *cmmd = chart->value[CMMD],
                 *pvm = chart->value[PVM];

    if (posted) {
        sim_chart_claim(chart, "receives posted first: nx is as fast as cmmd",
                        nx[SIZES - 1] > 0.95 * cmmd[SIZES - 1]);
        sim_chart_claim(chart, "and faster than with sends first (here: by "
                               "more than 1%, from 64 KiB on)",
                        nx[SIZES - 1] > 1.01 * before[SIZES - 1] &&
                                nx[SIZES - 2] > 1.01 * before[SIZES - 2]);
    }
    sim_chart_claim(chart, "pvm is the slowest",
                    pvm[SIZES - 1] < nx[SIZES - 1] &&
                            pvm[SIZES - 1] < cmmd[SIZES - 1]);
}

/* ------------------------------------------------------------------- the law */

enum {
    UNBUFFERED,
    BUFFERED,
    LAW,
    PACKED,
    LAW_PACKED,
    SERIES
};

/* Of copies that follow the transfer one after the other. */
static double law(double network, double copy, uint32_t copies)
{
    return 1 / (1 / network + copies / copy);
}

/* The farthest of `sim` from `law`, in percent of it. */
static double off_percent(const double *sim, const double *by_law)
{
    double most = 0;

    for (uint32_t s = 0; s < SIZES; s++) {
        double off = fabs(sim[s] - by_law[s]) * 100 / by_law[s];

        most = off > most ? off : most;
    }
    return most;
}

/* As the paper does: transfer and copy are measured apart, each message of a
 * ring being received before or after it has come. */
static int law_size(const struct sim_options *options,
                    const struct ns_machine *machine, uint32_t s,
                    struct sim_chart *chart)
{
    struct exchange_test posted = {.test = EXCHANGE_RING, .bytes = sizes[s]};
    struct exchange_test late = {.test = EXCHANGE_LATE, .bytes = sizes[s]};
    struct exchange_test packed = {.test = EXCHANGE_RING, .bytes = sizes[s]};
    uint64_t copy_ps = 1;
    double network, copy;

    if (point(options, machine, NX, &posted) != EXIT_SUCCESS ||
        point(options, machine, NX, &late) != EXIT_SUCCESS ||
        point(options, machine, PVM, &packed) != EXIT_SUCCESS ||
        exchange_copy(options, machine, sizes[s], &copy_ps) != EXIT_SUCCESS) {
        return EXIT_FAILURE;
    }
    network = mb_per_second(sizes[s], posted.ps);
    copy = mb_per_second(sizes[s], copy_ps);
    chart->value[UNBUFFERED][s] = network;
    chart->value[BUFFERED][s] = mb_per_second(sizes[s], late.ps);
    chart->value[LAW][s] = law(network, copy, 1);
    chart->value[PACKED][s] = mb_per_second(sizes[s], packed.ps);
    chart->value[LAW_PACKED][s] = law(network, copy, 2);
    return EXIT_SUCCESS;
}

static int laws(const struct sim_options *options,
                const struct ns_machine *machine, struct sim_chart *chart)
{
    static const char *const names[SERIES] = {
            "nx, posted", "nx, buffered", "law of one copy", "pvm",
            "law of two copies"};
    int status = EXIT_SUCCESS;

    chart->series_count = SERIES;
    for (uint32_t i = 0; i < SERIES; i++) {
        chart->series[i] = names[i];
    }
    for (uint32_t s = 0; s < SIZES && status == EXIT_SUCCESS; s++) {
        status = law_size(options, machine, s, chart);
        sim_progress(options, s + 1, SIZES, 0);
    }
    if (status == EXIT_SUCCESS) {
        sim_chart_claim(chart, "the law tells what a buffered message gets "
                               "(here: within 5%)",
                        off_percent(chart->value[BUFFERED],
                                    chart->value[LAW]) <= 5);
        sim_chart_claim(chart, "and with two copies (here: within 5%)",
                        off_percent(chart->value[PACKED],
                                    chart->value[LAW_PACKED]) <= 5);
    }
    return status;
}

/* -------------------------------------------------------------------- all of it */

int reproduce_buffering(const struct sim_options *options, const char *name,
                        struct sim_chart *charts)
{
    struct ns_machine *machine = reproduce_machine(options, name, NULL);
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;

    chart_begin(&charts[0], "MB/s each way, sends first");
    chart_begin(&charts[1], "MB/s each way, receives posted first");
    chart_begin(&charts[2], "copies of each byte, sends first");
    chart_begin(&charts[3], "copies of each byte, receives posted first");
    chart_begin(&charts[4], "MB/s of a hop round a ring of 2");
    for (uint32_t i = 0; i < 2 && status == EXIT_SUCCESS; i++) {
        status = exchanges(options, machine,
                           i == 0 ? EXCHANGE_SENDS_FIRST : EXCHANGE_POSTED,
                           &charts[i], &charts[2 + i]);
        if (status == EXIT_SUCCESS) {
            rates_claims(&charts[i], i == 1, charts[0].value[NX]);
            copies_claims(&charts[2 + i], i == 1);
        }
    }
    if (status == EXIT_SUCCESS) {
        status = laws(options, machine, &charts[4]);
    }
    free(machine);
    return status;
}
