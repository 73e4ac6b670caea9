/*
 * LogP of one-word requests, by the method of Culler, Liu, Martin and
 * Yoshikawa (IEEE Micro 1996), and the NI's fetch-and-add: the figures of the
 * LCI paper.
 */
#include "tools/sim_run.h"

#include "dev/snic/snic.h"

#include <stdio.h>

enum {
    ROUNDS = 100,
    BURST = 4,
    STREAM = 2000
};

static void send_one(struct run *run, uint32_t handler)
{
    const uint64_t word = 1;

    while (am_ctx_try_request(run->ctx, 1, handler, &word, 1, NULL, 0) ==
           AM_ERR_AGAIN) {
        (void)am_ctx_poll_wait(run->ctx);
    }
}

/* A short burst after a quiet time, divided by its length. */
static uint64_t measure_os(struct run *run)
{
    uint64_t sum_ps = 0;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t from_ps;

        run_settle(run);
        from_ps = run_now(run);
        for (int k = 0; k < BURST; k++) {
            send_one(run, H_COUNT);
        }
        sum_ps += run_now(run) - from_ps;
    }
    return sum_ps / (ROUNDS * BURST);
}

/* Send, compute until the reply must be there, take it in. */
static uint64_t measure_or(struct run *run, uint64_t compute_ps)
{
    uint64_t sum_ps = 0;

    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t pongs = run->pongs + 1;
        uint64_t from_ps;

        run_settle(run);
        send_one(run, H_PING);
        ns_sim_work(run->node, compute_ps);
        from_ps = run_now(run);
        run_wait(run, &run->pongs, pongs);
        sum_ps += run_now(run) - from_ps;
    }
    return sum_ps / ROUNDS;
}

static uint64_t measure_half(struct run *run)
{
    uint64_t from_ps;

    run_settle(run);
    from_ps = run_now(run);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t pongs = run->pongs + 1;

        send_one(run, H_PING);
        run_wait(run, &run->pongs, pongs);
    }
    return (run_now(run) - from_ps) / (2 * ROUNDS);
}

/* The interval of a long stream, to the last one's reply. */
static uint64_t measure_g(struct run *run)
{
    uint64_t pongs = run->pongs + 1;
    uint64_t from_ps;

    run_settle(run);
    from_ps = run_now(run);
    for (int i = 0; i + 1 < STREAM; i++) {
        send_one(run, H_COUNT);
    }
    send_one(run, H_PING);
    run_wait(run, &run->pongs, pongs);
    return (run_now(run) - from_ps) / STREAM;
}

static int logp_run(struct ns_sim_node *node, struct logp *logp, char *error,
                    size_t error_bytes)
{
    struct run run;

    if (figure_is_copy(node)) {
        return copy_logp(node, logp, error, error_bytes);
    }
    if (run_open(&run, node, error, error_bytes) != 0) {
        return -1;
    }
    if (node->rank == 0) {
        logp->os_ps = measure_os(&run);
        logp->or_ps = measure_or(&run, LOGP_COMPUTE_PS);
        logp->half_ps = measure_half(&run);
        if (2 * logp->half_ps >= LOGP_COMPUTE_PS) {
            /* it waited for the replies */
            logp->or_ps = measure_or(&run, 4 * logp->half_ps);
        }
        logp->g_ps = measure_g(&run);
    }
    run_close(&run);
    return 0;
}

static int logp_figure(struct ns_sim_node *node, uint64_t *value_p,
                       uint64_t (*choose)(const struct logp *logp), char *error,
                       size_t error_bytes)
{
    struct logp logp = {0};
    int result = logp_run(node, &logp, error, error_bytes);

    if (node->rank == 0) {
        *value_p = choose(&logp);
    }
    return result;
}

static uint64_t choose_os(const struct logp *logp)
{
    return logp->os_ps;
}

static uint64_t choose_or(const struct logp *logp)
{
    return logp->or_ps;
}

/* On a network that takes next to nothing, no more than what a burst, or a poll
 * that finds nothing, adds to the overheads: then nothing is left. */
static uint64_t choose_latency(const struct logp *logp)
{
    uint64_t host_ps = logp->os_ps + logp->or_ps;

    return logp->half_ps > host_ps ? logp->half_ps - host_ps : 0;
}

static uint64_t choose_g(const struct logp *logp)
{
    return logp->g_ps;
}

static uint64_t choose_end_to_end(const struct logp *logp)
{
    return logp->half_ps;
}

int figure_os(struct ns_sim_node *node, uint64_t *value_p, char *error,
              size_t error_bytes)
{
    return logp_figure(node, value_p, choose_os, error, error_bytes);
}

int figure_or(struct ns_sim_node *node, uint64_t *value_p, char *error,
              size_t error_bytes)
{
    return logp_figure(node, value_p, choose_or, error, error_bytes);
}

int figure_latency(struct ns_sim_node *node, uint64_t *value_p, char *error,
                   size_t error_bytes)
{
    return logp_figure(node, value_p, choose_latency, error, error_bytes);
}

int figure_gap(struct ns_sim_node *node, uint64_t *value_p, char *error,
               size_t error_bytes)
{
    return logp_figure(node, value_p, choose_g, error, error_bytes);
}

int figure_end_to_end(struct ns_sim_node *node, uint64_t *value_p, char *error,
                      size_t error_bytes)
{
    return logp_figure(node, value_p, choose_end_to_end, error, error_bytes);
}

/* ------------------------------------------------------------ fetch-and-add */

static void fetched(void *arg, am_status_t status)
{
    (void)status;
    ++*(uint64_t *)arg;
}

/* One after the other on the other NI's variable; their results count up. */
int figure_ni_fetch_add(struct ns_sim_node *node, uint64_t *value_p,
                        char *error, size_t error_bytes)
{
    const struct am_dev_key key = {{SNIC_KEY_VARIABLE}};
    struct raw raw = {.packets = 0};
    uint64_t from_ps;
    int result = 0;

    if (host_is_reliable(node)) {
        return host_fetch_add(node, value_p, error, error_bytes);
    }
    if (raw_open(&raw, node, error, error_bytes) != 0) {
        return -1;
    }
    ns_sim_barrier(node);
    from_ps = am_env_now(node->env);
    for (uint64_t i = 0; i < ROUNDS && node->rank == 0 && result == 0; i++) {
        uint64_t done = 0, old = 0;

        if (raw.dev->ops->fetch_add(raw.ep, &key, 0, 1, &old, fetched, &done) !=
            AM_OK) {
            snprintf(error, error_bytes, "this NIC has no fetch-and-add");
            result = -1;
            break;
        }
        while (done == 0) {
            if (raw.dev->ops->poll(raw.dev, 64) == 0) {
                raw.dev->ops->wait(raw.dev, 1, AM_DEV_REST_LONG);
            }
        }
        if (old != i) {
            snprintf(error, error_bytes, "fetch-and-add gave %lu, not %lu",
                     (unsigned long)old, (unsigned long)i);
            result = -1;
        }
    }
    if (node->rank == 0) {
        *value_p = (am_env_now(node->env) - from_ps) / ROUNDS;
    }
    ns_sim_barrier(node);
    raw.dev->ops->close(raw.dev);
    return result;
}
