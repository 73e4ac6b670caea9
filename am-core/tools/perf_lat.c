/*
 * lat: messages back and forth between ranks 0 and 1, each after the other.
 * Half the round trip; put and get, of which the other side sees nothing, are
 * timed from the call to the completion.
 */
#include "tools/perf_flow.h"

enum {
    LAT_ITERATIONS = 20000
};

#define LAT_TOTAL_BYTES (UINT64_C(512) << 20)

struct lat {
    struct perf_flow flow;
    uint64_t arrived; /* messages to here before and with this step */
};

/* Rank 0: receive posted, send, wait for the answer. */
static int step_ask(void *state)
{
    struct lat *lat = state;
    struct perf_flow *flow = &lat->flow;

    lat->arrived++;
    perf_flow_expect(flow, lat->arrived, 1);
    if (perf_flow_send(flow, 1) != 0 || perf_flow_finish(flow) != 0) {
        return -1;
    }
    return perf_flow_arrive(flow, lat->arrived);
}

static int step_answer(void *state)
{
    struct lat *lat = state;
    struct perf_flow *flow = &lat->flow;

    lat->arrived++;
    perf_flow_expect(flow, lat->arrived, 1);
    if (perf_flow_arrive(flow, lat->arrived) != 0 ||
        perf_flow_send(flow, 1) != 0) {
        return -1;
    }
    return perf_flow_finish(flow);
}

/* Rank 0 of put and get. */
static int step_alone(void *state)
{
    struct lat *lat = state;

    if (perf_flow_send(&lat->flow, 1) != 0) {
        return -1;
    }
    return perf_flow_finish(&lat->flow);
}

static int run_size(struct lat *lat, size_t bytes)
{
    struct perf_flow *flow = &lat->flow;
    struct perf *perf = flow->perf;
    bool round_trip = flow->op->notifies;
    struct perf_row row = {.metric = round_trip ? "half_round_trip" : "latency",
                           .unit = "ns",
                           .bytes = bytes,
                           .has_bytes = true};
    uint64_t iterations =
            perf_iterations(perf, bytes, LAT_ITERATIONS, LAT_TOTAL_BYTES);
    int result = 0;

    flow->bytes = bytes;
    lat->arrived = flow->arrived;
    if (round_trip) {
        result = perf_time(perf, perf->rank == 0 ? step_ask : step_answer, lat,
                           iterations, &row.figure);
        perf_scale(&row.figure, 0.5);
    } else if (perf->rank == 0) {
        result = perf_time(perf, step_alone, lat, iterations, &row.figure);
    } else {
        result = perf_barrier(perf); /* the one of perf_time */
    }
    if (result != 0 || perf_barrier(perf) != 0 ||
        perf_flow_validate(flow) != 0) {
        return -1;
    }
    perf_report_row(perf, &row);
    return 0;
}

int perf_lat(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    struct lat lat;
    int result;

    result = perf_flow_open(&lat.flow, perf, perf_size_max(options));
    for (uint32_t i = 0; i < options->size_count && result == 0; i++) {
        perf_report_progress(perf, i, options->size_count);
        result = run_size(&lat, options->sizes[i]);
    }
    if (result == 0) {
        perf_flow_close(&lat.flow);
    }
    return result;
}
