/*
 * overlap (DCMF): rank 0 posts a non-blocking send, computes, waits; then
 * rank 1 posts a receive, computes, waits.  The ratio is
 *
 *     (time of the whole) / (time of the computation)
 *
 * for a computation as long as the communication alone takes (factor 1), and
 * twice and four times as long.  One means that communication was hidden
 * wholly, two (at factor 1) that none of it was.
 */
#include "tools/perf_flow.h"

enum {
    OVERLAP_ITERATIONS = 2000
};

#define OVERLAP_TOTAL_BYTES (UINT64_C(128) << 20)

struct overlap {
    struct perf_flow flow;
    uint64_t arrived;
    uint64_t compute_ps;
    uint32_t computing; /* the rank that computes */
};

static int step(void *state)
{
    struct overlap *overlap = state;
    struct perf_flow *flow = &overlap->flow;
    struct perf *perf = flow->perf;
    bool computes = perf->rank == overlap->computing;

    if (perf->rank == 1) {
        overlap->arrived++;
        perf_flow_expect(flow, overlap->arrived, 1);
    } else if (perf_flow_send(flow, 1) != 0) {
        return -1;
    }
    if (computes) {
        perf_compute(perf, overlap->compute_ps);
    }
    if (perf->rank == 1 ? perf_flow_arrive(flow, overlap->arrived) != 0
                        : perf_flow_finish(flow) != 0) {
        return -1;
    }
    return 0;
}

/* One whole exchange a step, with the barrier that ends it outside. */
static int run_steps(struct overlap *overlap, uint64_t count, double *ns)
{
    struct perf *perf = overlap->flow.perf;
    double total = 0;

    for (uint64_t i = 0; i < count; i++) {
        double start;

        if (perf_barrier(perf) != 0) {
            return -1;
        }
        start = perf_now_ns(perf);
        if (step(overlap) != 0) {
            return -1;
        }
        total += perf_now_ns(perf) - start;
    }
    *ns = total / (double)count;
    return 0;
}

/* The time of `rank`, told to both. */
static int share(struct perf *perf, uint32_t rank, double *ns)
{
    uint64_t mine = (uint64_t)(*ns * 1000), all[2];

    if (perf_gather(perf, &mine, 1, all) != 0) {
        return -1;
    }
    *ns = (double)all[rank] / 1000;
    return 0;
}

static int run_factor(struct overlap *overlap, const char *metric,
                      uint32_t factor, uint64_t count, double alone_ns)
{
    struct perf *perf = overlap->flow.perf;
    struct perf_row row = {.metric = metric,
                           .unit = "ratio",
                           .bytes = overlap->flow.bytes,
                           .has_bytes = true,
                           .extra_name = "factor",
                           .extra = factor};
    double whole_ns;

    overlap->compute_ps = (uint64_t)(alone_ns * 1000) * factor;
    if (run_steps(overlap, count, &whole_ns) != 0 ||
        share(perf, overlap->computing, &whole_ns) != 0) {
        return -1;
    }
    row.figure.value = whole_ns * 1000 / (double)overlap->compute_ps;
    row.figure.iterations = count;
    perf_report_row(perf, &row);
    return 0;
}

static int run_side(struct overlap *overlap, const char *metric,
                    uint32_t computing)
{
    static const uint32_t factors[] = {1, 2, 4};
    struct perf *perf = overlap->flow.perf;
    uint64_t count = perf_iterations(perf, overlap->flow.bytes,
                                     OVERLAP_ITERATIONS, OVERLAP_TOTAL_BYTES);
    double alone_ns;

    overlap->computing = computing;
    overlap->compute_ps = 0;
    overlap->arrived = overlap->flow.arrived;
    if (run_steps(overlap, perf_warmup(perf, count), &alone_ns) != 0 ||
        run_steps(overlap, count, &alone_ns) != 0 ||
        share(perf, computing, &alone_ns) != 0) {
        return -1;
    }
    for (int i = 0; i < 3; i++) {
        if (run_factor(overlap, metric, factors[i], count, alone_ns) != 0) {
            return -1;
        }
    }
    return 0;
}

int perf_overlap(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    struct overlap overlap = {.computing = 0};
    int result = perf_flow_open(&overlap.flow, perf, perf_size_max(options));

    for (uint32_t i = 0; i < options->size_count && result == 0; i++) {
        overlap.flow.bytes = options->sizes[i];
        perf_report_progress(perf, i, options->size_count);
        if (run_side(&overlap, "sender_overlap", 0) != 0 ||
            run_side(&overlap, "receiver_overlap", 1) != 0 ||
            perf_barrier(perf) != 0 || perf_flow_validate(&overlap.flow) != 0) {
            result = -1;
        }
    }
    if (result == 0) {
        perf_flow_close(&overlap.flow);
    }
    return result;
}
