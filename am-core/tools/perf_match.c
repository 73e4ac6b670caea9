/*
 * match: half the round trip of a small message while rank 1 has a queue of
 * other messages to look through: receives posted for other tags, or messages
 * with other tags that nobody has received yet.
 */
#include "tools/perf_flow.h"

#include <stdlib.h>
#include <string.h>

enum {
    MATCH_TAG = 1000,
    MATCH_CONTEXT = 3,
    MATCH_ITERATIONS = 20000
};

struct match {
    struct perf_flow flow;
    bool unexpected;
    uint64_t arrived;
    struct am_msg_req **queue; /* rank 1's posted receives */
    uint64_t landed;           /* queued messages that were received */
    uint64_t sent, completed;  /* queued messages of rank 0 */
    am_status_t status;
};

static const struct am_msg_mask exact = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

static void on_queued(void *arg, const struct am_msg_status *status)
{
    struct match *match = arg;

    match->landed++;
    if (status->status < 0) {
        match->status = status->status;
    }
}

static void on_sent(void *arg, const struct am_msg_status *status)
{
    struct match *match = arg;

    match->completed++;
    if (status->status < 0) {
        match->status = status->status;
    }
}

/* A receive by rank 1 of queued message `i`; pending ones are kept. */
static int queue_receive(struct match *match, uint32_t i)
{
    struct am_msg_envelope envelope = {
            .context = MATCH_CONTEXT, .source = 0, .tag = MATCH_TAG + i};
    struct am_data nothing = am_data_contig(NULL, 0);
    struct am_msg_status status;
    am_status_t result =
            am_msg_irecv(match->flow.perf->ctx, &envelope, &exact, &nothing,
                         on_queued, match, &status, &match->queue[i]);

    if (result == AM_DONE) {
        on_queued(match, &status);
    }
    return perf_ok(match->flow.perf, result, "irecv");
}

static int queue_send(struct match *match, uint32_t i)
{
    struct am_msg_envelope envelope = {
            .context = MATCH_CONTEXT, .source = 0, .tag = MATCH_TAG + i};
    struct am_data nothing = am_data_contig(NULL, 0);
    struct am_msg_req *req;
    am_status_t result = am_msg_isend(match->flow.perf->ctx, 1, &envelope,
                                      &nothing, 0, on_sent, match, &req);

    match->sent++;
    match->completed += result == AM_DONE;
    return perf_ok(match->flow.perf, result, "isend");
}

/* Rank 1 posts the queue, or rank 0 fills it. */
static int queue_fill(struct match *match, uint32_t depth)
{
    uint32_t rank = match->flow.perf->rank;

    for (uint32_t i = 0; i < depth; i++) {
        if (match->unexpected && rank == 0 && queue_send(match, i) != 0) {
            return -1;
        }
        if (!match->unexpected && rank == 1 && queue_receive(match, i) != 0) {
            return -1;
        }
    }
    return perf_barrier(match->flow.perf);
}

static int queue_empty(struct match *match, uint32_t depth)
{
    struct perf *perf = match->flow.perf;
    uint64_t landed = match->landed + depth;

    for (uint32_t i = 0; i < depth && perf->rank == 1; i++) {
        if (match->unexpected) {
            if (queue_receive(match, i) != 0) {
                return -1;
            }
        } else if (am_msg_cancel(match->queue[i]) != AM_DONE) {
            return perf_fail(perf, "a posted receive could not be cancelled");
        }
    }
    while ((match->unexpected && perf->rank == 1 && match->landed < landed) ||
           match->completed < match->sent) {
        if (perf_wait(perf) != 0) {
            return -1;
        }
    }
    return match->status < 0 ? perf_ok(perf, match->status, "queue")
                             : perf_barrier(perf);
}

static int step(void *state)
{
    struct match *match = state;
    struct perf_flow *flow = &match->flow;
    bool asks = flow->perf->rank == 0;

    match->arrived++;
    perf_flow_expect(flow, match->arrived, 1);
    if (asks && (perf_flow_send(flow, 1) != 0 || perf_flow_finish(flow) != 0)) {
        return -1;
    }
    if (perf_flow_arrive(flow, match->arrived) != 0) {
        return -1;
    }
    if (!asks &&
        (perf_flow_send(flow, 1) != 0 || perf_flow_finish(flow) != 0)) {
        return -1;
    }
    return 0;
}

static int run_depth(struct match *match, uint32_t depth)
{
    struct perf *perf = match->flow.perf;
    struct perf_row row = {.metric = "half_round_trip",
                           .unit = "ns",
                           .bytes = match->flow.bytes,
                           .has_bytes = true,
                           .extra_name = "depth",
                           .extra = depth};
    uint64_t iterations = perf_iterations(perf, 0, MATCH_ITERATIONS, 0);

    match->arrived = match->flow.arrived;
    if (queue_fill(match, depth) != 0 ||
        perf_time(perf, step, match, iterations, &row.figure) != 0 ||
        perf_barrier(perf) != 0 || queue_empty(match, depth) != 0) {
        return -1;
    }
    perf_scale(&row.figure, 0.5);
    perf_report_row(perf, &row);
    return 0;
}

int perf_match(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    struct match match = {.unexpected = strcmp(options->op, "unexpected") == 0};
    int result;

    match.queue = calloc(options->depth_max, sizeof(*match.queue));
    if (match.queue == NULL) {
        return perf_fail(perf, "out of memory");
    }
    result = perf_flow_open_by(&match.flow, perf, perf_size_max(options),
                               "isend");
    for (uint32_t i = 0; i < options->size_count && result == 0; i++) {
        match.flow.bytes = options->sizes[i];
        for (uint64_t depth = 0; depth <= options->depth_max && result == 0;
             depth = depth == 0 ? 1 : depth * 4) {
            perf_report_progress(perf, depth, options->depth_max);
            result = run_depth(&match, (uint32_t)depth);
        }
        if (result == 0) {
            result = perf_flow_validate(&match.flow);
        }
    }
    if (result == 0) {
        perf_flow_close(&match.flow);
        free(match.queue);
    }
    return result;
}
