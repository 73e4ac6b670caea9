/*
 * logp: LogP parameters of one-word requests by the usual method (Culler, Liu,
 * Martin, Yoshikawa, "Assessing Fast Network Interfaces", IEEE Micro 1996):
 *
 *   os          a short burst of sends, divided by its length
 *   or          send, compute until the reply must be there, take it in
 *   end_to_end  half the round trip = os + L + or
 *   L           what is left of it
 *   g           interval of a long stream
 *
 * Each is the median over many tries, less what reading the clock adds.
 */
#include "tools/perf.h"

#include <stdlib.h>

enum {
    LOGP_BURST = 8,
    LOGP_ITERATIONS = 20000,
    LOGP_STREAM = 100000
};

struct logp {
    struct perf *perf;
    uint64_t pinged, ponged; /* requests and replies handled here */
    uint64_t target;         /* requests rank 1 waits for */
    uint64_t stream;         /* requests of the stream */
    uint64_t delay_ps;
    double clock_ns;  /* of one reading */
    double sample_ns; /* of the step just done */
};

/* Word 0 says whether a reply is wanted. */
static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct logp *logp = am_token_arg(token);

    (void)data;
    (void)bytes;
    logp->pinged++;
    if (word_count == 1 && words[0] != 0) {
        (void)am_token_reply(token, PERF_HANDLER_PONG, words, 1, NULL, 0);
    }
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct logp *logp = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    logp->ponged++;
}

/* Send without polling, which is what os is about, unless there is no space:
 * then am_ctx_request knows how to wait for it. */
static int send_one(struct logp *logp, uint64_t reply)
{
    struct am_ctx *ctx = logp->perf->ctx;
    am_status_t status =
            am_ctx_try_request(ctx, 1, PERF_HANDLER_PING, &reply, 1, NULL, 0);

    if (status == AM_ERR_AGAIN) {
        status = am_ctx_request(ctx, 1, PERF_HANDLER_PING, &reply, 1, NULL, 0);
    }
    return perf_ok(logp->perf, status, "am_request");
}

static int await_pong(struct logp *logp, uint64_t count)
{
    while (logp->ponged < count) {
        if (perf_wait(logp->perf) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Rank 1: until all requests of this part have been handled. */
static int serve(struct logp *logp, uint64_t count)
{
    logp->target += count;
    while (logp->pinged < logp->target) {
        if (perf_wait(logp->perf) != 0) {
            return -1;
        }
    }
    return 0;
}

static int step_burst(struct logp *logp)
{
    uint64_t pongs = logp->ponged + 1;
    double start = perf_now_ns(logp->perf);

    for (int i = 0; i < LOGP_BURST; i++) {
        if (send_one(logp, i == LOGP_BURST - 1) != 0) {
            return -1;
        }
    }
    logp->sample_ns =
            (perf_now_ns(logp->perf) - start - logp->clock_ns) / LOGP_BURST;
    return await_pong(logp, pongs);
}

static int step_receive(struct logp *logp)
{
    uint64_t pongs = logp->ponged + 1;
    double start;

    if (send_one(logp, 1) != 0) {
        return -1;
    }
    perf_compute(logp->perf, logp->delay_ps);
    start = perf_now_ns(logp->perf);
    if (await_pong(logp, pongs) != 0) {
        return -1;
    }
    logp->sample_ns = perf_now_ns(logp->perf) - start - logp->clock_ns;
    return 0;
}

static int step_round_trip(struct logp *logp)
{
    uint64_t pongs = logp->ponged + 1;
    double start = perf_now_ns(logp->perf);

    if (send_one(logp, 1) != 0 || await_pong(logp, pongs) != 0) {
        return -1;
    }
    logp->sample_ns = (perf_now_ns(logp->perf) - start - logp->clock_ns) / 2;
    return 0;
}

static int step_stream(struct logp *logp)
{
    uint64_t pongs = logp->ponged + 1;
    double start = perf_now_ns(logp->perf);

    for (uint64_t i = 0; i < logp->stream; i++) {
        if (send_one(logp, i == logp->stream - 1) != 0) {
            return -1;
        }
    }
    if (await_pong(logp, pongs) != 0) {
        return -1;
    }
    logp->sample_ns = (perf_now_ns(logp->perf) - start) / (double)logp->stream;
    return 0;
}

/* `count` steps of rank 0, each of `requests` requests, after a tenth as many
 * that do not count.  Rank 1 serves them. */
static int run_part(struct logp *logp, int (*step)(struct logp *),
                    uint64_t count, uint64_t requests,
                    struct perf_figure *figure)
{
    struct perf *perf = logp->perf;
    uint64_t warmup = perf_warmup(perf, count);
    double *samples;
    int result = 0;

    if (perf_barrier(perf) != 0) {
        return -1;
    }
    if (perf->rank != 0) {
        return serve(logp, (warmup + count) * requests);
    }
    samples = perf_alloc(perf, (warmup + count) * sizeof(*samples));
    if (samples == NULL) {
        return -1;
    }
    for (uint64_t i = 0; i < warmup + count && result == 0; i++) {
        result = step(logp);
        samples[i] = logp->sample_ns;
    }
    perf_percentiles(samples + warmup, count, figure);
    figure->value = figure->p50;
    figure->iterations = count;
    free(samples);
    return result;
}

/* What a reading of the clock adds to an interval. */
static double clock_ns(struct perf *perf)
{
    enum {
        READINGS = 1000
    };

    double start = perf_now_ns(perf), last = start;

    for (int i = 0; i < READINGS; i++) {
        last = perf_now_ns(perf);
    }
    return (last - start) / READINGS;
}

static void report(struct perf *perf, const char *metric,
                   const struct perf_figure *figure)
{
    struct perf_row row = {.metric = metric,
                           .unit = "ns",
                           .bytes = sizeof(uint64_t),
                           .extra_name = "words",
                           .extra = 1,
                           .figure = *figure};

    if (row.figure.value < 0) {
        row.figure.value = 0;
    }
    perf_report_row(perf, &row);
}

/* The figures in the order of the parts; L is reckoned from three of them. */
static int run_all(struct logp *logp, uint64_t count, struct perf_figure *half,
                   struct perf_figure *send, struct perf_figure *receive,
                   struct perf_figure *stream)
{
    if (run_part(logp, step_round_trip, count, 1, half) != 0 ||
        run_part(logp, step_burst, count, LOGP_BURST, send) != 0) {
        return -1;
    }
    logp->delay_ps = (uint64_t)(half->p50 * 8000); /* four round trips */
    if (run_part(logp, step_receive, count, 1, receive) != 0) {
        return -1;
    }
    return run_part(logp, step_stream, PERF_BATCHES, logp->stream, stream);
}

int perf_logp(struct perf *perf)
{
    struct logp logp = {.perf = perf, .clock_ns = clock_ns(perf)};
    struct perf_figure half = {0}, send = {0}, receive = {0}, stream = {0};
    struct perf_figure latency;

    logp.stream = perf->options->iterations != 0 ? perf->options->iterations
                                                 : LOGP_STREAM;
    if (perf_handler(perf, PERF_HANDLER_PING, on_ping, &logp, "ping") != 0 ||
        perf_handler(perf, PERF_HANDLER_PONG, on_pong, &logp, "pong") != 0 ||
        run_all(&logp, perf_iterations(perf, 0, LOGP_ITERATIONS, 0), &half,
                &send, &receive, &stream) != 0) {
        return -1;
    }
    latency = (struct perf_figure){.value = half.value - send.value -
                                            receive.value,
                                   .iterations = half.iterations};
    report(perf, "os", &send);
    report(perf, "or", &receive);
    report(perf, "L", &latency);
    report(perf, "g", &stream);
    report(perf, "end_to_end", &half);
    return perf_barrier(perf);
}
