/*
 * bw and rate: a one-way stream from rank 0 to rank 1 (of get: to rank 0) with
 * a window of messages under way, in batches that end when the receiver has
 * all of them.  The figure is over all batches; each batch is one sample.  A
 * batch is short, so that on a busy machine many are left undisturbed, but so
 * long that its end, where the pipeline runs empty, is a percent or two.
 */
#include "tools/perf_flow.h"

#include <stdlib.h>
#include <string.h>

enum {
    BW_ITERATIONS = 100000,
    RATE_ITERATIONS = 2000000,
    BATCH_MESSAGES = 4000,
    BATCHES_MAX = 1000
};

#define BW_TOTAL_BYTES (UINT64_C(2) << 30)
#define BATCH_BYTES    (UINT64_C(16) << 20)

struct stream {
    struct perf_flow flow;
    uint64_t acks; /* batches whose end rank 1 has told */
};

static void on_ack(struct am_token *token, const uint64_t *words,
                   uint32_t word_count, void *data, size_t bytes)
{
    struct stream *stream = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    stream->acks++;
}

/* Rank 0's side of a batch. */
static int batch_send(struct stream *stream, uint64_t count)
{
    struct perf_flow *flow = &stream->flow;
    uint64_t acks = stream->acks + 1;

    for (uint64_t i = 0; i < count; i++) {
        if (perf_flow_send(flow, flow->perf->options->window) != 0) {
            return -1;
        }
    }
    if (perf_flow_finish(flow) != 0) {
        return -1;
    }
    while (flow->op->notifies && stream->acks < acks) {
        if (perf_wait(flow->perf) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Rank 1's: receive, tell. */
static int batch_receive(struct stream *stream, uint64_t target)
{
    struct perf_flow *flow = &stream->flow;
    struct perf *perf = flow->perf;

    if (!flow->op->notifies) {
        return 0;
    }
    if (perf_flow_arrive(flow, target) != 0) {
        return -1;
    }
    return perf_ok(perf,
                   am_ctx_request(perf->ctx, flow->peer, PERF_HANDLER_ACK, NULL,
                                  0, NULL, 0),
                   "acknowledging");
}

/* How the iterations of a size are cut up. */
struct cut {
    uint64_t warmup;
    uint64_t count; /* messages of a batch */
    uint64_t batches;
};

static struct cut cut_up(const struct perf *perf, size_t bytes,
                         uint64_t count_max)
{
    uint64_t total = perf_iterations(perf, bytes, count_max, BW_TOTAL_BYTES);
    struct cut cut = {.warmup = perf_warmup(perf, total),
                      .count = BATCH_MESSAGES};

    if (bytes * cut.count > BATCH_BYTES) {
        cut.count = BATCH_BYTES / bytes;
    }
    if (cut.count > total / PERF_BATCHES) {
        cut.count = total / PERF_BATCHES;
    }
    if (cut.count < 1) {
        cut.count = 1;
    }
    cut.batches = (total + cut.count - 1) / cut.count;
    if (cut.batches > BATCHES_MAX) {
        cut.batches = BATCHES_MAX;
        cut.count = (total + BATCHES_MAX - 1) / BATCHES_MAX;
    }
    return cut;
}

/* One batch of this rank's side; the time it took. */
static int run_batch(struct stream *stream, uint64_t count, uint64_t target,
                     double *ns)
{
    struct perf *perf = stream->flow.perf;
    double start = perf_now_ns(perf);

    if (perf->rank == 0 ? batch_send(stream, count) != 0
                        : batch_receive(stream, target) != 0) {
        return -1;
    }
    *ns = perf_now_ns(perf) - start;
    return 0;
}

/* The warm-up and then the timed batches; in messages a second. */
static int run_batches(struct stream *stream, const struct cut *cut,
                       double *samples, struct perf_figure *figure)
{
    struct perf_flow *flow = &stream->flow;
    struct perf *perf = flow->perf;
    uint64_t target = flow->arrived + cut->warmup;
    double total_ns = 0, ns;

    if (perf->rank == 1) {
        perf_flow_expect(flow, target + cut->count * cut->batches,
                         perf->options->window);
    }
    if (perf_barrier(perf) != 0 ||
        run_batch(stream, cut->warmup, target, &ns) != 0) {
        return -1;
    }
    for (uint64_t i = 0; i < cut->batches; i++) {
        target += cut->count;
        if (run_batch(stream, cut->count, target, &ns) != 0) {
            return -1;
        }
        samples[i] = (double)cut->count * 1e9 / ns;
        total_ns += ns;
    }
    perf_percentiles(samples, cut->batches, figure);
    figure->iterations = cut->count * cut->batches;
    figure->value = (double)figure->iterations * 1e9 / total_ns;
    return 0;
}

static int run_size(struct stream *stream, size_t bytes, uint64_t count_max,
                    struct perf_row *row)
{
    struct perf *perf = stream->flow.perf;
    struct cut cut = cut_up(perf, bytes, count_max);
    double *samples = perf_alloc(perf, cut.batches * sizeof(*samples));
    int result;

    if (samples == NULL) {
        return -1;
    }
    stream->flow.bytes = bytes;
    result = run_batches(stream, &cut, samples, &row->figure);
    free(samples);
    if (result != 0 || perf_barrier(perf) != 0) {
        return -1;
    }
    return perf_flow_validate(&stream->flow);
}

static int stream_open(struct stream *stream, struct perf *perf)
{
    stream->acks = 0;
    if (perf_handler(perf, PERF_HANDLER_ACK, on_ack, stream, "ack") != 0) {
        return -1;
    }
    return perf_flow_open(&stream->flow, perf, perf_size_max(perf->options));
}

int perf_bw(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    struct stream stream;
    int result = stream_open(&stream, perf);

    for (uint32_t i = 0; i < options->size_count && result == 0; i++) {
        struct perf_row row = {.metric = "bandwidth",
                               .unit = "B/s",
                               .bytes = options->sizes[i],
                               .has_bytes = true};

        perf_report_progress(perf, i, options->size_count);
        result = run_size(&stream, row.bytes, BW_ITERATIONS, &row);
        perf_scale(&row.figure, (double)row.bytes);
        if (result == 0) {
            perf_report_row(perf, &row);
        }
    }
    if (result == 0) {
        perf_flow_close(&stream.flow);
    }
    return result;
}

int perf_rate(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    bool request = strcmp(options->op, "request") == 0;
    uint32_t count = request ? 1 : options->size_count;
    struct stream stream;
    int result = stream_open(&stream, perf);

    for (uint32_t i = 0; i < count && result == 0; i++) {
        /* A request carries one word and no payload. */
        size_t bytes = request ? 0 : options->sizes[i];
        struct perf_row row = {.metric = "rate",
                               .unit = "msg/s",
                               .bytes = request ? sizeof(uint64_t) : bytes,
                               .has_bytes = true,
                               .extra_name = request ? "words" : NULL,
                               .extra = 1};

        perf_report_progress(perf, i, count);
        result = run_size(&stream, bytes, RATE_ITERATIONS, &row);
        if (result == 0) {
            perf_report_row(perf, &row);
        }
    }
    if (result == 0) {
        perf_flow_close(&stream.flow);
    }
    return result;
}
