/*
 * The figures of the DCMF paper: one-way times of an eager send, a put, a get
 * and an MPI message.  MPI stands above am_msg: what MPICH, its ADI and locks
 * cost is charged for each call (AM_COST_CALL), here as by every such program.
 */
#include "tools/sim_run.h"

#include <am_msg.h>
#include <string.h>

enum {
    ROUNDS = 100,
    WARMUP = 10,
    BYTES = 8
};

/* One node of a ping-pong. */
struct pingpong {
    struct run run;
    struct am_client *client;
    uint64_t landed;
    uint64_t word;  /* where the other's put lands, or what it gets */
    uint64_t value; /* what is put, or has been got */
    struct am_key key;
};

static void on_landed(void *arg, am_status_t status)
{
    struct pingpong *pp = arg;

    (void)status;
    pp->landed++;
}

static am_status_t on_receive(void *arg, struct am_recv *recv, uint32_t source,
                              const void *info, size_t info_bytes, size_t bytes,
                              struct am_data *landing, am_done_fn *done,
                              void **done_arg)
{
    struct pingpong *pp = arg;

    (void)recv;
    (void)source;
    (void)info;
    (void)info_bytes;
    (void)bytes;
    *landing = am_data_contig(&pp->word, sizeof(pp->word));
    *done = on_landed;
    *done_arg = pp;
    return AM_OK;
}

/* One message to the other node; the i-th. */
typedef void (*send_fn)(struct pingpong *pp, uint64_t i);
/* Wait until the other's i-th is here. */
typedef void (*wait_fn)(struct pingpong *pp, uint64_t i);

static void eager_send(struct pingpong *pp, uint64_t i)
{
    const struct am_data data = am_data_contig(&pp->value, BYTES);

    pp->value = i;
    (void)am_send(pp->client, 1 - pp->run.node->rank, NULL, 0, &data, run_done,
                  &pp->run);
}

static void eager_wait(struct pingpong *pp, uint64_t i)
{
    run_wait(&pp->run, &pp->landed, i);
}

static void put_send(struct pingpong *pp, uint64_t i)
{
    const struct am_data data = am_data_contig(&pp->value, BYTES);

    run_wait(&pp->run, &pp->run.done, i - 1); /* the last one has gone */
    pp->value = i;
    (void)am_ctx_put(pp->run.ctx, 1 - pp->run.node->rank, &data, &pp->key, 0,
                     run_done, &pp->run);
}

static void put_wait(struct pingpong *pp, uint64_t i)
{
    run_wait(&pp->run, &pp->word, i);
}

/* Half a round trip on node 0. */
static int pingpong_run(struct pingpong *pp, uint64_t *value_p, send_fn send,
                        wait_fn wait)
{
    uint64_t from_ps = 0;

    run_meet(&pp->run);
    for (uint64_t i = 1; i <= WARMUP + ROUNDS; i++) {
        from_ps = i == WARMUP + 1 ? run_now(&pp->run) : from_ps;
        if (pp->run.node->rank == 0) {
            send(pp, i);
            wait(pp, i);
        } else {
            wait(pp, i);
            send(pp, i);
        }
    }
    if (pp->run.node->rank == 0) {
        *value_p = (run_now(&pp->run) - from_ps) / (2 * ROUNDS);
    }
    return 0;
}

int figure_eager(struct ns_sim_node *node, uint64_t *value_p, char *error,
                 size_t error_bytes)
{
    struct pingpong pp = {.landed = 0};
    int result;

    if (run_open(&pp.run, node, error, error_bytes) != 0) {
        return -1;
    }
    (void)am_client_register(pp.run.ctx, AM_ORDERED, on_receive, &pp,
                             &pp.client);
    result = pingpong_run(&pp, value_p, eager_send, eager_wait);
    run_close(&pp.run);
    return result;
}

/* Both nodes' words are regions; each knows the other's key. */
static struct am_region *regions_open(struct pingpong *pp)
{
    struct am_region *region = NULL;
    struct am_key keys[2];

    (void)am_region_register(pp->run.ctx, &pp->word, sizeof(pp->word), &region);
    am_region_key(region, &pp->key);
    (void)ns_sim_allgather(pp->run.node, &pp->key, keys, sizeof(pp->key));
    pp->key = keys[1 - pp->run.node->rank];
    return region;
}

int figure_put(struct ns_sim_node *node, uint64_t *value_p, char *error,
               size_t error_bytes)
{
    struct pingpong pp = {.landed = 0};
    struct am_region *region;
    int result;

    if (run_open(&pp.run, node, error, error_bytes) != 0) {
        return -1;
    }
    region = regions_open(&pp);
    result = pingpong_run(&pp, value_p, put_send, put_wait);
    run_wait(&pp.run, &pp.run.done, WARMUP + ROUNDS);
    run_meet(&pp.run);
    am_region_deregister(pp.run.ctx, region);
    run_close(&pp.run);
    return result;
}

/* The whole operation: from the call to the data's being here. */
int figure_get(struct ns_sim_node *node, uint64_t *value_p, char *error,
               size_t error_bytes)
{
    struct pingpong pp = {.word = 7};
    const struct am_data data = am_data_contig(&pp.value, BYTES);
    struct am_region *region;
    uint64_t from_ps = 0;

    if (run_open(&pp.run, node, error, error_bytes) != 0) {
        return -1;
    }
    region = regions_open(&pp);
    run_meet(&pp.run);
    for (uint64_t i = 1; i <= WARMUP + ROUNDS && node->rank == 0; i++) {
        from_ps = i == WARMUP + 1 ? run_now(&pp.run) : from_ps;
        (void)am_ctx_rget(pp.run.ctx, 1, &data, &pp.key, 0, run_done, &pp.run);
        run_wait(&pp.run, &pp.run.done, i);
    }
    if (node->rank == 0) {
        *value_p = (run_now(&pp.run) - from_ps) / ROUNDS;
    }
    run_meet(&pp.run);
    am_region_deregister(pp.run.ctx, region);
    run_close(&pp.run);
    return 0;
}

/* ---------------------------------------------------------------------- MPI */

static void mpi_done(void *arg, const struct am_msg_status *status)
{
    (void)status;
    ++*(uint64_t *)arg;
}

void mpi_send_start(struct run *run, uint32_t to, const void *from,
                    size_t bytes, uint64_t *done)
{
    const struct am_data data = am_data_contig((void *)(uintptr_t)from, bytes);
    const struct am_msg_envelope envelope = {.source = run->node->rank};
    struct am_msg_req *req;

    am_env_charge(run->node->env, AM_COST_CALL, 1);
    if (am_msg_isend(run->ctx, to, &envelope, &data, 0, mpi_done, done, &req) ==
        AM_DONE) {
        ++*done;
    }
}

void mpi_receive_start(struct run *run, uint32_t source, void *to, size_t bytes,
                       uint64_t *done)
{
    const struct am_data data = am_data_contig(to, bytes);
    const struct am_msg_envelope envelope = {.source = source};
    const struct am_msg_mask mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_msg_status status;
    struct am_msg_req *req;

    if (am_msg_irecv(run->ctx, &envelope, &mask, &data, mpi_done, done, &status,
                     &req) == AM_DONE) {
        ++*done;
    }
}

void mpi_wait(struct run *run, const uint64_t *done, uint64_t wanted)
{
    run_wait(run, done, wanted);
    am_env_charge(run->node->env, AM_COST_CALL, 1);
}

uint64_t mpi_pingpong(struct run *run, void *to, const void *from, size_t bytes,
                      uint32_t rounds)
{
    uint64_t sent = 0, received = 0, from_ps = 0;
    uint32_t other = 1 - run->node->rank;

    run_meet(run);
    for (uint64_t i = 1; i <= WARMUP + rounds; i++) {
        from_ps = i == WARMUP + 1 ? run_now(run) : from_ps;
        if (run->node->rank == 0) {
            mpi_send_start(run, other, from, bytes, &sent);
            run_wait(run, &sent, i);
        }
        mpi_receive_start(run, other, to, bytes, &received);
        mpi_wait(run, &received, i);
        if (run->node->rank == 1) {
            mpi_send_start(run, other, from, bytes, &sent);
            run_wait(run, &sent, i);
        }
    }
    return (run_now(run) - from_ps) / (2 * rounds);
}

int figure_mpi_eager(struct ns_sim_node *node, uint64_t *value_p, char *error,
                     size_t error_bytes)
{
    struct run run;
    uint64_t to = 0, from = 1, half_ps;

    if (run_open(&run, node, error, error_bytes) != 0) {
        return -1;
    }
    half_ps = mpi_pingpong(&run, &to, &from, BYTES, ROUNDS);
    if (node->rank == 0) {
        *value_p = half_ps;
    }
    run_close(&run);
    return 0;
}
