/*
 * logp: LogP parameters of one-word requests by the usual method (Culler, Liu,
 * Martin, Yoshikawa, "Assessing Fast Network Interfaces", IEEE Micro 1996):
 *
 *   os          a short burst of sends, divided by its length
 *   or          send, compute until the reply must be there, take it in
 *   end_to_end  half the round trip = os + L + or
 *   L           what is left of it
 *   g           interval of a long stream
 */
#include "tools/perf.h"

enum {
    LOGP_BURST = 8,
    LOGP_ITERATIONS = 50000,
    LOGP_STREAM = 1000000
};

struct logp {
    struct perf *perf;
    uint64_t pinged, ponged; /* requests and replies handled here */
    uint64_t target;         /* requests rank 1 waits for */
    uint64_t stream;         /* requests of the stream */
    uint64_t delay_ps;
    double sum_ns; /* of the part that a step is about */
    uint64_t steps;
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

/* Send without polling; while there is no space, poll. */
static int send_one(struct logp *logp, uint64_t reply)
{
    am_status_t status;

    while ((status = am_ctx_try_request(logp->perf->ctx, 1, PERF_HANDLER_PING,
                                        &reply, 1, NULL, 0)) == AM_ERR_AGAIN) {
        if (perf_wait(logp->perf) != 0) {
            return -1;
        }
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
    logp->sum_ns += (perf_now_ns(logp->perf) - start) / LOGP_BURST;
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
    logp->sum_ns += perf_now_ns(logp->perf) - start;
    return 0;
}

static int step_round_trip(struct logp *logp)
{
    uint64_t pongs = logp->ponged + 1;

    return send_one(logp, 1) != 0 ? -1 : await_pong(logp, pongs);
}

static int step_stream(struct logp *logp)
{
    uint64_t pongs = logp->ponged + 1;

    for (uint64_t i = 0; i < logp->stream; i++) {
        if (send_one(logp, i == logp->stream - 1) != 0) {
            return -1;
        }
    }
    return await_pong(logp, pongs);
}

/* `count` steps of rank 0, each of `requests` requests, after a tenth as many
 * untimed; sum_ns is then the sum over the timed ones.  Returns the mean time
 * of a whole step. */
static int run_part(struct logp *logp, int (*step)(struct logp *),
                    uint64_t count, uint64_t requests, double *mean_ns)
{
    struct perf *perf = logp->perf;
    uint64_t warmup = count == 1 ? 0 : perf_warmup(perf, count);
    double start = 0;

    if (perf_barrier(perf) != 0) {
        return -1;
    }
    if (perf->rank != 0) {
        return serve(logp, (warmup + count) * requests);
    }
    for (uint64_t i = 0; i < warmup + count; i++) {
        if (i == warmup) {
            logp->sum_ns = 0;
            start = perf_now_ns(perf);
        }
        if (step(logp) != 0) {
            return -1;
        }
    }
    *mean_ns = (perf_now_ns(perf) - start) / (double)count;
    return 0;
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

static void report(struct perf *perf, const char *metric, double ns,
                   uint64_t iterations)
{
    struct perf_row row = {
            .metric = metric, .unit = "ns", .extra_name = "words", .extra = 1};

    row.figure.value = ns > 0 ? ns : 0;
    row.figure.iterations = iterations;
    perf_report_row(perf, &row);
}

int perf_logp(struct perf *perf)
{
    struct logp logp = {.perf = perf};
    uint64_t count = perf_iterations(perf, 0, LOGP_ITERATIONS, 0);
    double clock = clock_ns(perf), half = 0, send, receive, stream = 0, whole;

    logp.stream = perf->options->iterations != 0 ? perf->options->iterations
                                                 : LOGP_STREAM;
    if (perf_handler(perf, PERF_HANDLER_PING, on_ping, &logp, "ping") != 0 ||
        perf_handler(perf, PERF_HANDLER_PONG, on_pong, &logp, "pong") != 0 ||
        run_part(&logp, step_round_trip, count, 1, &half) != 0) {
        return -1;
    }
    half /= 2;
    if (run_part(&logp, step_burst, count, LOGP_BURST, &whole) != 0) {
        return -1;
    }
    send = logp.sum_ns / (double)count - clock / LOGP_BURST;
    logp.delay_ps = (uint64_t)(half * 8000); /* four round trips */
    if (run_part(&logp, step_receive, count, 1, &whole) != 0) {
        return -1;
    }
    receive = logp.sum_ns / (double)count - clock;
    if (run_part(&logp, step_stream, 1, logp.stream, &stream) != 0) {
        return -1;
    }
    report(perf, "os", send, count);
    report(perf, "or", receive, count);
    report(perf, "L", half - send - receive, count);
    report(perf, "g", stream / (double)logp.stream, logp.stream);
    report(perf, "end_to_end", half, count);
    return perf_barrier(perf);
}
