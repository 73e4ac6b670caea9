/*
 * ring: one token goes round all ranks; each passes it to its right neighbour
 * with the receive posted before (Saphir 1994; MPI over SP AM).  The time of
 * one hop is the round divided by the ranks.
 */
#include "tools/perf.h"

#include <am_msg.h>
#include <stdlib.h>
#include <string.h>

enum {
    RING_TAG = 11,
    RING_ITERATIONS = 10000
};

#define RING_TOTAL_BYTES (UINT64_C(64) << 20)

struct ring {
    struct perf *perf;
    uint32_t left, right;
    bool request;
    size_t bytes;
    unsigned char *data;
    uint64_t rounds;          /* tokens waited for */
    uint64_t arrived;         /* tokens that came */
    uint64_t sent, completed; /* sends */
    am_status_t status;
};

static void on_token(struct am_token *token, const uint64_t *words,
                     uint32_t word_count, void *data, size_t bytes)
{
    struct ring *ring = am_token_arg(token);

    (void)words;
    (void)word_count;
    if (bytes != ring->bytes) {
        ring->status = AM_ERR_TRUNCATE;
    } else if (bytes > 0) {
        memcpy(ring->data, data, bytes);
    }
    ring->arrived++;
}

static void on_received(void *arg, const struct am_msg_status *status)
{
    struct ring *ring = arg;

    ring->arrived++;
    if (status->status < 0 || status->bytes != ring->bytes) {
        ring->status = AM_ERR_TRUNCATE;
    }
}

static void on_sent(void *arg, const struct am_msg_status *status)
{
    struct ring *ring = arg;

    ring->completed++;
    if (status->status < 0) {
        ring->status = status->status;
    }
}

static int ring_expect(struct ring *ring)
{
    const struct am_msg_envelope envelope = {.source = ring->left,
                                             .tag = RING_TAG};
    const struct am_msg_mask mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_data data = am_data_contig(ring->data, ring->bytes);
    struct am_msg_status status;
    struct am_msg_req *req;
    am_status_t result;

    ring->rounds++;
    if (ring->request) {
        return 0;
    }
    result = am_msg_irecv(ring->perf->ctx, &envelope, &mask, &data, on_received,
                          ring, &status, &req);
    if (result == AM_DONE) {
        on_received(ring, &status);
    }
    return perf_ok(ring->perf, result, "irecv");
}

static int ring_pass(struct ring *ring)
{
    struct am_msg_envelope envelope = {.source = ring->perf->rank,
                                       .tag = RING_TAG};
    struct am_data data = am_data_contig(ring->data, ring->bytes);
    struct am_msg_req *req;
    am_status_t result;

    if (ring->request) {
        return perf_ok(ring->perf,
                       am_ctx_request(ring->perf->ctx, ring->right,
                                      PERF_HANDLER_TOKEN, NULL, 0, ring->data,
                                      ring->bytes),
                       "am_request");
    }
    result = am_msg_isend(ring->perf->ctx, ring->right, &envelope, &data, 0,
                          on_sent, ring, &req);
    ring->sent++;
    if (result == AM_DONE) {
        ring->completed++;
    }
    return perf_ok(ring->perf, result, "isend");
}

static int ring_await(struct ring *ring)
{
    while (ring->arrived < ring->rounds || ring->completed < ring->sent) {
        if (ring->status < 0) {
            return perf_ok(ring->perf, ring->status, "ring");
        }
        if (perf_wait(ring->perf) != 0) {
            return -1;
        }
    }
    return perf_ok(ring->perf, ring->status, "ring");
}

/* One round: rank 0 starts it, the others take the token and pass it on. */
static int step(void *state)
{
    struct ring *ring = state;
    bool first = ring->perf->rank == 0;

    if (ring_expect(ring) != 0 || (first && ring_pass(ring) != 0) ||
        ring_await(ring) != 0) {
        return -1;
    }
    if (!first && ring_pass(ring) != 0) {
        return -1;
    }
    while (ring->completed < ring->sent) {
        if (perf_wait(ring->perf) != 0) {
            return -1;
        }
    }
    return 0;
}

/* A fresh pattern must come round unharmed. */
static int validate(struct ring *ring)
{
    struct perf *perf = ring->perf;
    uint64_t seed = ring->bytes * 31 + 7;

    if (!perf->options->validate) {
        return 0;
    }
    memset(ring->data, 0, ring->bytes);
    if (perf->rank == 0) {
        perf_pattern(ring->data, ring->bytes, seed);
    }
    if (perf_barrier(perf) != 0 || step(ring) != 0) {
        return -1;
    }
    return perf_pattern_check(perf, ring->data, ring->bytes, seed);
}

static int run_size(struct ring *ring, size_t bytes)
{
    struct perf *perf = ring->perf;
    uint64_t iterations =
            perf_iterations(perf, bytes, RING_ITERATIONS, RING_TOTAL_BYTES);
    struct perf_row row = {.metric = "hop",
                           .unit = "ns",
                           .bytes = bytes,
                           .has_bytes = true,
                           .extra_name = "ranks",
                           .extra = perf->size};

    ring->bytes = bytes;
    if (perf_time(perf, step, ring, iterations, &row.figure) != 0 ||
        validate(ring) != 0 || perf_barrier(perf) != 0) {
        return -1;
    }
    perf_scale(&row.figure, 1.0 / perf->size);
    perf_report_row(perf, &row);
    return 0;
}

int perf_ring(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    struct ring ring = {.perf = perf,
                        .left = (perf->rank + perf->size - 1) % perf->size,
                        .right = (perf->rank + 1) % perf->size,
                        .request = strcmp(options->op, "request") == 0};
    size_t max =
            ring.request ? am_payload_max(perf->ctx, ring.right) : SIZE_MAX;
    int result;

    ring.data = perf_alloc(perf, perf_size_max(options));
    result = ring.data == NULL ? -1
                               : perf_handler(perf, PERF_HANDLER_TOKEN,
                                              on_token, &ring, "token");
    for (uint32_t i = 0; i < options->size_count && result == 0; i++) {
        perf_report_progress(perf, i, options->size_count);
        if (options->sizes[i] <= max) {
            result = run_size(&ring, options->sizes[i]);
        }
    }
    if (result == 0) {
        free(ring.data);
    }
    return result;
}
