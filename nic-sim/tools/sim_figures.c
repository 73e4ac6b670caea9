/*
 * The figures of the SP AM paper, measured on a simulated machine as its
 * authors measured them.  Each node opens a context of its own on its host's
 * environment; nothing here knows that the time is virtual.
 */
#include "tools/sim_run.h"

#include "dev/snic/snic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 200,
    WARMUP = 20,
    MESSAGES = 16, /* waiting for one poll: one lazy pop among them */
};

/* ------------------------------------------------------------- round trips */

static int round_trip_words(struct ns_sim_node *node, uint64_t *value_p,
                            uint32_t words, char *error, size_t error_bytes)
{
    const uint64_t word[4] = {7, 8, 9, 10};
    struct run run;
    uint64_t from_ps = 0;

    if (run_open(&run, node, error, error_bytes) != 0) {
        return -1;
    }
    for (uint64_t i = 0; i < WARMUP + ROUNDS; i++) {
        from_ps = i == WARMUP ? run_now(&run) : from_ps;
        if (node->rank == 1) {
            run_wait(&run, &run.pings, i + 1);
            continue;
        }
        if (i == WARMUP + ROUNDS / 2) {
            ns_marks_arm(ns_sim_engine(node->sim));
            ns_mark(ns_sim_engine(node->sim), NS_STAGE_CALL, run_now(&run));
        }
        (void)am_ctx_request(run.ctx, 1, H_PING, word, words, NULL, 0);
        run_wait(&run, &run.pongs, i + 1);
    }
    if (node->rank == 0) {
        *value_p = (run_now(&run) - from_ps) / ROUNDS;
    }
    run_close(&run);
    return 0;
}

static int round_trip(struct ns_sim_node *node, uint64_t *value_p, char *error,
                      size_t error_bytes)
{
    return round_trip_words(node, value_p, 1, error, error_bytes);
}

static int round_trip_4(struct ns_sim_node *node, uint64_t *value_p,
                        char *error, size_t error_bytes)
{
    return round_trip_words(node, value_p, 4, error, error_bytes);
}

/* ------------------------------------------------------ raw: no AM, no window */

static void raw_packet(void *user, uint32_t class, const void *hdr,
                       size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct raw *raw = user;

    (void)class;
    (void)hdr;
    (void)hdr_bytes;
    (void)data;
    (void)data_bytes;
    raw->packets++;
}

int raw_open(struct raw *raw, struct ns_sim_node *node, char *error,
             size_t error_bytes)
{
    const struct am_dev_params params = {
            .env = node->env,
            .rank = node->rank,
            .size = node->size,
            .up = {.packet = raw_packet},
            .stats = raw->stats,
            .error = error,
            .error_bytes = error_bytes,
    };
    uint64_t mine[4], all[8];
    size_t bytes;

    if (am_dev_snic_ops.open(&params, &raw->dev) != AM_OK) {
        return -1;
    }
    bytes = raw->dev->ops->address(raw->dev, mine, sizeof(mine));
    (void)ns_sim_allgather(node, mine, all, sizeof(mine));
    return raw->dev->ops->connect(raw->dev, &all[4 * (1 - node->rank)], bytes,
                                  1 - node->rank, raw, &raw->ep) == AM_OK
                   ? 0
                   : -1;
}

static void raw_wait(struct raw *raw, uint64_t wanted)
{
    while (raw->packets < wanted) {
        if (raw->dev->ops->poll(raw->dev, 64) == 0) {
            raw->dev->ops->wait(raw->dev, 1, AM_DEV_REST_LONG);
        }
    }
}

static int raw_round_trip(struct ns_sim_node *node, uint64_t *value_p,
                          char *error, size_t error_bytes)
{
    const uint64_t hdr[3] = {0}; /* with the adapter's: the SP's 32 bytes */
    struct raw raw = {.packets = 0};
    uint64_t from_ps = 0;

    if (raw_open(&raw, node, error, error_bytes) != 0) {
        return -1;
    }
    ns_sim_barrier(node);
    for (uint64_t i = 0; i < WARMUP + ROUNDS; i++) {
        from_ps = i == WARMUP ? am_env_now(node->env) : from_ps;
        if (node->rank == 1) {
            raw_wait(&raw, i + 1);
        }
        (void)raw.dev->ops->send(raw.ep, AM_DEV_REQUEST, hdr, sizeof(hdr), NULL,
                                 0);
        if (node->rank == 0) {
            raw_wait(&raw, i + 1);
        }
    }
    if (node->rank == 0) {
        *value_p = (am_env_now(node->env) - from_ps) / ROUNDS;
    }
    ns_sim_barrier(node);
    raw.dev->ops->close(raw.dev);
    return 0;
}

/* ---------------------------------------------------------------- overheads */

static int request_cost(struct ns_sim_node *node, uint64_t *value_p,
                        uint32_t words, char *error, size_t error_bytes)
{
    const uint64_t word[4] = {1, 2, 3, 4};
    struct run run;
    uint64_t sum_ps = 0;

    if (run_open(&run, node, error, error_bytes) != 0) {
        return -1;
    }
    for (uint64_t i = 0; i < ROUNDS; i++) {
        if (node->rank == 0) {
            uint64_t from_ps;

            run_settle(&run);
            from_ps = run_now(&run);
            (void)am_ctx_request(run.ctx, 1, H_COUNT, word, words, NULL, 0);
            sum_ps += run_now(&run) - from_ps;
        } else {
            run_wait(&run, &run.counted, i + 1);
            run_settle(&run);
        }
        run_meet(&run);
    }
    if (node->rank == 0) {
        *value_p = sum_ps / ROUNDS;
    }
    run_close(&run);
    return 0;
}

static int request_1(struct ns_sim_node *node, uint64_t *value_p, char *error,
                     size_t error_bytes)
{
    return request_cost(node, value_p, 1, error, error_bytes);
}

static int request_4(struct ns_sim_node *node, uint64_t *value_p, char *error,
                     size_t error_bytes)
{
    return request_cost(node, value_p, 4, error, error_bytes);
}

static int poll_empty(struct ns_sim_node *node, uint64_t *value_p, char *error,
                      size_t error_bytes)
{
    struct run run;
    uint64_t from_ps;

    if (run_open(&run, node, error, error_bytes) != 0) {
        return -1;
    }
    run_settle(&run);
    from_ps = run_now(&run);
    for (int i = 0; i < ROUNDS; i++) {
        (void)am_ctx_poll(run.ctx);
    }
    if (node->rank == 0) {
        *value_p = (run_now(&run) - from_ps) / ROUNDS;
    }
    run_close(&run);
    return 0;
}

/* What each of the messages that wait for a poll adds to it. */
static int poll_message(struct ns_sim_node *node, uint64_t *value_p,
                        char *error, size_t error_bytes)
{
    const uint64_t word = 1;
    struct run run;
    uint64_t sum_ps = 0, messages = 0, empty_ps, from_ps;

    if (run_open(&run, node, error, error_bytes) != 0) {
        return -1;
    }
    run_settle(&run);
    from_ps = run_now(&run);
    (void)am_ctx_poll(run.ctx);
    empty_ps = run_now(&run) - from_ps;
    for (uint64_t i = 0; i < WARMUP; i++) {
        run_meet(&run);
        if (node->rank == 1) {
            for (int k = 0; k < MESSAGES; k++) {
                (void)am_ctx_try_request(run.ctx, 0, H_COUNT, &word, 1, NULL,
                                         0);
            }
            run_settle(&run);
        } else {
            uint64_t counted = run.counted;

            /* computation, until all of them are in memory */
            ns_sim_work(node, 800 * UINT64_C(1000000));
            from_ps = run_now(&run);
            (void)am_ctx_poll(run.ctx);
            sum_ps += run_now(&run) - from_ps - empty_ps;
            messages += run.counted - counted;
            run_settle(&run);
        }
    }
    if (node->rank == 0) {
        *value_p = sum_ps / (messages > 0 ? messages : 1);
    }
    run_close(&run);
    return 0;
}

const struct figure figures[] = {
        {"raw_round_trip", "ps", 2, raw_round_trip,
         "one packet to and fro, no data, no sequence number", NULL},
        {"round_trip", "ps", 2, round_trip, "one-word request and reply", NULL},
        {"round_trip_4", "ps", 2, round_trip_4,
         "four-word request, and reply with its words", NULL},
        {"request_1", "ps", 2, request_1,
         "am_request_1 whose poll finds nothing", NULL},
        {"request_4", "ps", 2, request_4,
         "am_request_4 whose poll finds nothing", NULL},
        {"poll_empty", "ps", 2, poll_empty, "am_poll, nothing there", NULL},
        {"poll_message", "ps", 2, poll_message,
         "am_poll, extra for each message that waits", NULL},
        {"store_bandwidth", "B/s", 2, figure_store_bandwidth,
         "1 MiB in one am_store_async", NULL},
        {"get_bandwidth", "B/s", 2, figure_get_bandwidth, "1 MiB in one am_get",
         NULL},
        {"os", "ps", 2, figure_os, "LogP: send overhead", NULL},
        {"or", "ps", 2, figure_or, "LogP: receive overhead", NULL},
        {"latency", "ps", 2, figure_latency, "LogP: L", NULL},
        {"gap", "ps", 2, figure_gap, "LogP: g", NULL},
        {"end_to_end", "ps", 2, figure_end_to_end, "LogP: os + L + or", NULL},
        {"ni_fetch_add", "ps", 2, figure_ni_fetch_add,
         "fetch-and-add on the other NI's variable", "lanai"},
        {"multicast", "ps", 64, figure_mcast,
         "one word to 63 nodes, until the last has it", "lanai"},
        {"eager", "ps", 2, figure_eager, "am_send of 8 bytes, one way", "bgp"},
        {"put", "ps", 2, figure_put, "am_ctx_put of 8 bytes, one way", "bgp"},
        {"get", "ps", 2, figure_get, "am_ctx_rget of 8 bytes, all of it",
         "bgp"},
        {"mpi_eager", "ps", 2, figure_mpi_eager,
         "MPI message of 8 bytes, one way", "bgp"},
        {NULL, NULL, 0, NULL, NULL, NULL},
};

/* ------------------------------------------------------------------- running */

struct job {
    const struct figure *figure;
    const struct bandwidth *bandwidth;
    const size_t *mcast_bytes;
    uint64_t value;
    int failed;
    char *error;
    size_t error_bytes;
};

static void job_body(void *arg, struct ns_sim_node *node)
{
    struct job *job = arg;
    char error[256] = "";
    int result =
            job->mcast_bytes != NULL
                    ? mcast_run(node, &job->value, *job->mcast_bytes, error,
                                sizeof(error))
            : job->bandwidth != NULL
                    ? bandwidth_run(node, &job->value, job->bandwidth, error,
                                    sizeof(error))
                    : job->figure->run(node, &job->value, error, sizeof(error));

    if (result != 0 && !job->failed) {
        job->failed = 1;
        snprintf(job->error, job->error_bytes, "node %" PRIu32 ": %s",
                 node->rank, error);
    }
}

static int job_run(struct job *job, const struct ns_machine *machine,
                   struct ns_sim_params params, struct ns_sim_result *result,
                   struct ns_marks *marks)
{
    struct ns_sim *sim =
            ns_sim_open(machine, &params, job->error, job->error_bytes);
    int status;

    if (sim == NULL) {
        return -1;
    }
    status = ns_sim_run(sim, job_body, job, result, job->error,
                        job->error_bytes);
    if (marks != NULL) {
        *marks = *ns_marks_get(ns_sim_engine(sim));
    }
    ns_sim_close(sim);
    return status != 0 || job->failed ? -1 : 0;
}

int figure_run(const struct figure *figure, const struct ns_machine *machine,
               const struct ns_sim_params *params, uint64_t *value_p,
               struct ns_sim_result *result, struct ns_marks *marks,
               char *error, size_t error_bytes)
{
    struct job job = {
            .figure = figure, .error = error, .error_bytes = error_bytes};
    struct ns_sim_params with = *params;
    int status;

    with.nodes = figure->nodes;
    status = job_run(&job, machine, with, result, marks);
    *value_p = job.value;
    return status;
}

int figure_bandwidth(const char *op, size_t bytes, size_t total,
                     const struct ns_machine *machine,
                     const struct ns_sim_params *params, uint64_t *value_p,
                     struct ns_sim_result *result, char *error,
                     size_t error_bytes)
{
    const struct bandwidth bandwidth = {op, bytes, total};
    struct job job = {.bandwidth = &bandwidth,
                      .error = error,
                      .error_bytes = error_bytes};
    struct ns_sim_params with = *params;
    int status;

    with.nodes = 2;
    status = job_run(&job, machine, with, result, NULL);
    *value_p = job.value;
    return status;
}

int figure_multicast(size_t bytes, uint32_t nodes,
                     const struct ns_machine *machine,
                     const struct ns_sim_params *params, uint64_t *value_p,
                     struct ns_sim_result *result, char *error,
                     size_t error_bytes)
{
    struct job job = {
            .mcast_bytes = &bytes, .error = error, .error_bytes = error_bytes};
    struct ns_sim_params with = *params;
    int status;

    with.nodes = nodes;
    status = job_run(&job, machine, with, result, NULL);
    *value_p = job.value;
    return status;
}
