/*
 * The programs of sim_exchange.h: each is run by two or more nodes, and node 0
 * tells the time of a round, all rounds but the first ones taken together.
 */
#include "tools/sim_exchange.h"

#include "tools/sim_run.h"

#include "msg/msg_core.h"

#include <stdlib.h>

enum {
    ROUNDS = 8,
    WARMUP = 2
};

struct exchange {
    struct exchange_test *test;
    bool copy; /* no messages, but a copy */
    bool failed;
    char error[512];
};

/* One node's. */
struct node {
    struct run run;
    const struct exchange_test *test;
    uint8_t *to, *from;
    uint64_t sent, received;
    uint64_t took_ps, copied;
};

static uint64_t copied_bytes(const struct node *node)
{
    return am_msg_of(node->run.ctx)->stats[AM_MSG_COPY_BYTES];
}

static void send_start(struct node *node, uint32_t to)
{
    mpi_send_start(&node->run, to, node->from, node->test->bytes, &node->sent);
}

static void receive_start(struct node *node, uint32_t from)
{
    mpi_receive_start(&node->run, from, node->to, node->test->bytes,
                      &node->received);
}

/* ------------------------------------------------------------------- rounds */

/* Round the ring: each node but the first waits for it and passes it on.  A
 * receive stands before its message comes. */
static void ring_round(struct node *node, uint64_t round)
{
    uint32_t rank = node->run.node->rank, size = node->run.node->size;
    uint64_t from_ps = run_now(&node->run);

    if (rank == 0) {
        send_start(node, 1);
    }
    receive_start(node, (rank + size - 1) % size);
    mpi_wait(&node->run, &node->received, round);
    if (rank != 0) {
        send_start(node, (rank + 1) % size);
    }
    run_wait(&node->run, &node->sent, round);
    node->took_ps += (run_now(&node->run) - from_ps) / size;
}

/* MPI_Send after MPI_Send; the rounds are one stream, and the last message is
 * answered. */
static void stream_round(struct node *node, uint64_t round)
{
    uint64_t from_ps = run_now(&node->run);

    if (node->run.node->rank == 0) {
        send_start(node, 1);
        run_wait(&node->run, &node->sent, round);
        if (round == WARMUP || round == WARMUP + ROUNDS) {
            receive_start(node, 1);
            mpi_wait(&node->run, &node->received, round / WARMUP > 1 ? 2 : 1);
        }
    } else {
        receive_start(node, 0);
        mpi_wait(&node->run, &node->received, round);
        if (round == WARMUP || round == WARMUP + ROUNDS) {
            mpi_send_start(&node->run, 0, node->from, 0, &node->sent);
            run_wait(&node->run, &node->sent, round / WARMUP > 1 ? 2 : 1);
        }
    }
    node->took_ps += run_now(&node->run) - from_ps;
}

/* Both nodes are in step when they begin. */
static void exchange_round(struct node *node, uint64_t round)
{
    uint32_t other = 1 - node->run.node->rank;
    bool posted = node->test->test == EXCHANGE_POSTED;
    uint64_t from_ps;

    if (posted) {
        receive_start(node, other);
    }
    run_meet(&node->run);
    from_ps = run_now(&node->run);
    send_start(node, other);
    if (!posted) {
        if (node->test->blocking) {
            run_wait(&node->run, &node->sent, round);
        }
        receive_start(node, other);
    }
    mpi_wait(&node->run, &node->received, round);
    run_wait(&node->run, &node->sent, round);
    node->took_ps += run_now(&node->run) - from_ps;
}

static void on_late(void *arg, const struct am_msg_status *status)
{
    (void)status;
    ++*(uint64_t *)arg;
}

/* Take the message once it is there to its last byte. */
static void receive_late(struct node *node, uint32_t from, uint64_t wanted)
{
    const struct am_data data = am_data_contig(node->to, node->test->bytes);
    const struct am_msg_envelope envelope = {.source = from};
    const struct am_msg_mask mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_msg_status status;
    struct am_msg_req *message, *req;

    while (am_msg_improbe(node->run.ctx, &envelope, &mask, &status, &message) !=
           AM_DONE) {
        (void)am_ctx_poll_wait(node->run.ctx);
    }
    while (message->moved_bytes < message->info.length) {
        (void)am_ctx_poll_wait(node->run.ctx);
    }
    if (am_msg_imrecv(message, &data, on_late, &node->received, &status,
                      &req) == AM_DONE) {
        node->received++;
    }
    mpi_wait(&node->run, &node->received, wanted);
}

static void late_round(struct node *node, uint64_t round)
{
    uint32_t rank = node->run.node->rank;
    uint64_t from_ps = run_now(&node->run);

    if (rank == 0) {
        send_start(node, 1);
        run_wait(&node->run, &node->sent, round);
    }
    receive_late(node, 1 - rank, round);
    if (rank == 1) {
        send_start(node, 0);
        run_wait(&node->run, &node->sent, round);
    }
    node->took_ps += (run_now(&node->run) - from_ps) / 2;
}

/* --------------------------------------------------------------------- a run */

static void rounds_run(struct node *node)
{
    static void (*const rounds[])(struct node *node, uint64_t round) = {
            [EXCHANGE_RING] = ring_round,
            [EXCHANGE_STREAM] = stream_round,
            [EXCHANGE_SENDS_FIRST] = exchange_round,
            [EXCHANGE_POSTED] = exchange_round,
            [EXCHANGE_LATE] = late_round};
    uint64_t copied = 0;

    if (node->run.node->size == 2) {
        /* the first messages bring what may wait at the receiver (credit) */
        (void)mpi_pingpong(&node->run, node->to, node->from, 1, 1);
    }
    run_meet(&node->run);
    for (uint64_t round = 1; round <= WARMUP + ROUNDS; round++) {
        rounds[node->test->test](node, round);
        if (round == WARMUP) {
            node->took_ps = 0;
            copied = copied_bytes(node);
        }
    }
    node->copied = copied_bytes(node) - copied;
    run_meet(&node->run);
}

static void copy_run(struct node *node)
{
    uint64_t from_ps = run_now(&node->run);

    am_env_charge(node->run.node->env, AM_COST_COPY, node->test->bytes);
    node->took_ps = ROUNDS * (run_now(&node->run) - from_ps);
}

static void exchange_body(void *arg, struct ns_sim_node *view)
{
    struct exchange *exchange = arg;
    struct exchange_test *test = exchange->test;
    struct node node = {.test = test,
                        .to = malloc(test->bytes + 1),
                        .from = calloc(1, test->bytes + 1)};

    if (node.to == NULL || node.from == NULL ||
        run_open_with(&node.run, view, test->options, test->option_count,
                      exchange->error, sizeof(exchange->error)) != 0) {
        exchange->failed = true;
        ns_sim_abort(view);
    } else {
        if (exchange->copy) {
            copy_run(&node);
        } else {
            rounds_run(&node);
        }
        run_close(&node.run);
        if (view->rank == 0) {
            test->ps = node.took_ps / ROUNDS;
            test->copies = (double)node.copied / ROUNDS / (double)test->bytes;
        }
    }
    free(node.to);
    free(node.from);
}

static int run(const struct sim_options *options,
               const struct ns_machine *machine, struct exchange *exchange)
{
    struct ns_sim_params params = options->params;
    struct ns_sim_result result;
    struct ns_sim *sim;
    int status = -1;

    params.nodes = exchange->test->nodes;
    sim = ns_sim_open(machine, &params, exchange->error,
                      sizeof(exchange->error));
    if (sim != NULL) {
        status = ns_sim_run(sim, exchange_body, exchange, &result,
                            exchange->error, sizeof(exchange->error));
        ns_sim_close(sim);
    }
    return status != 0 || exchange->failed ? sim_fail(exchange->error)
                                           : EXIT_SUCCESS;
}

int exchange_run(const struct sim_options *options,
                 const struct ns_machine *machine, struct exchange_test *test)
{
    struct exchange exchange = {.test = test};

    return run(options, machine, &exchange);
}

int exchange_copy(const struct sim_options *options,
                  const struct ns_machine *machine, size_t bytes,
                  uint64_t *ps_p)
{
    struct exchange_test test = {.nodes = 2, .bytes = bytes};
    struct exchange exchange = {.test = &test, .copy = true};
    int status = run(options, machine, &exchange);

    *ps_p = test.ps;
    return status;
}
