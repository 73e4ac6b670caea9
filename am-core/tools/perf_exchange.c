/*
 * exchange (Saphir 1994): ranks 0 and 1 send a message to each other and
 * receive the other's, in three orders:
 *
 *   sends_first     both send, then post their receives: messages come
 *                   unexpected and are buffered where the policy buffers
 *   receives_first  both post their receives, then a barrier, then send
 *   out_of_step     rank 1 computes for about the time of a message before it
 *                   posts its receive, so that some messages find it posted
 *
 * Each row has the time of one exchange; with the counters of copied bytes
 * (AM_STATS) it shows what buffering costs.
 */
#include "tools/perf_flow.h"

enum {
    EXCHANGE_ITERATIONS = 5000
};

#define EXCHANGE_TOTAL_BYTES (UINT64_C(64) << 20)

struct exchange {
    struct perf_flow flow;
    uint64_t arrived;  /* messages to here before and with this step */
    uint64_t delay_ps; /* rank 1's computation in out_of_step */
};

static int finish(struct exchange *exchange)
{
    if (perf_flow_finish(&exchange->flow) != 0) {
        return -1;
    }
    return perf_flow_arrive(&exchange->flow, exchange->arrived);
}

static int step_sends_first(void *state)
{
    struct exchange *exchange = state;
    struct perf_flow *flow = &exchange->flow;

    exchange->arrived++;
    if (perf_barrier(flow->perf) != 0 || perf_flow_send(flow, 1) != 0) {
        return -1;
    }
    perf_flow_expect(flow, exchange->arrived, 1);
    return finish(exchange);
}

static int step_receives_first(void *state)
{
    struct exchange *exchange = state;
    struct perf_flow *flow = &exchange->flow;

    exchange->arrived++;
    perf_flow_expect(flow, exchange->arrived, 1);
    if (perf_barrier(flow->perf) != 0 || perf_flow_send(flow, 1) != 0) {
        return -1;
    }
    return finish(exchange);
}

static int step_out_of_step(void *state)
{
    struct exchange *exchange = state;
    struct perf_flow *flow = &exchange->flow;

    exchange->arrived++;
    if (perf_barrier(flow->perf) != 0) {
        return -1;
    }
    if (flow->perf->rank == 1) {
        perf_compute(flow->perf, exchange->delay_ps);
    }
    perf_flow_expect(flow, exchange->arrived, 1);
    if (perf_flow_send(flow, 1) != 0) {
        return -1;
    }
    return finish(exchange);
}

static int run_order(struct exchange *exchange, const char *metric,
                     perf_step_fn step)
{
    struct perf_flow *flow = &exchange->flow;
    struct perf *perf = flow->perf;
    struct perf_row row = {.metric = metric,
                           .unit = "ns",
                           .bytes = flow->bytes,
                           .has_bytes = true};
    uint64_t iterations = perf_iterations(
            perf, flow->bytes, EXCHANGE_ITERATIONS, EXCHANGE_TOTAL_BYTES);

    exchange->arrived = flow->arrived;
    if (perf_time(perf, step, exchange, iterations, &row.figure) != 0 ||
        perf_barrier(perf) != 0 || perf_flow_validate(flow) != 0) {
        return -1;
    }
    perf_report_row(perf, &row);
    /* Both ranks must wait the same time: rank 0 tells what it measured. */
    if (step == step_receives_first) {
        uint64_t mine = (uint64_t)(row.figure.value * 500), all[2];

        if (perf_gather(perf, &mine, 1, all) != 0) {
            return -1;
        }
        exchange->delay_ps = all[0];
    }
    return 0;
}

static int run_size(struct exchange *exchange, size_t bytes)
{
    exchange->flow.bytes = bytes;
    if (run_order(exchange, "sends_first", step_sends_first) != 0 ||
        run_order(exchange, "receives_first", step_receives_first) != 0) {
        return -1;
    }
    return run_order(exchange, "out_of_step", step_out_of_step);
}

int perf_exchange(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    struct exchange exchange = {.delay_ps = 0};
    int result = perf_flow_open(&exchange.flow, perf, perf_size_max(options));

    for (uint32_t i = 0; i < options->size_count && result == 0; i++) {
        perf_report_progress(perf, i, options->size_count);
        result = run_size(&exchange, options->sizes[i]);
    }
    if (result == 0) {
        perf_flow_close(&exchange.flow);
    }
    return result;
}
