/*
 * mcast: rank 0 multicasts to all others (DCMF's multisend); each answers with
 * a request when it has all bytes.  The time until the last answer is in.
 */
#include "tools/perf.h"

#include <stdlib.h>
#include <string.h>

enum {
    MCAST_ITERATIONS = 10000
};

#define MCAST_TOTAL_BYTES (UINT64_C(128) << 20)

struct mcast {
    struct perf *perf;
    struct am_client *client;
    uint32_t *dests;
    size_t bytes;
    unsigned char *data;
    uint64_t steps;
    uint64_t arrived, answers, completed;
    am_status_t status;
};

static void on_landed(void *arg, am_status_t status)
{
    struct mcast *mcast = arg;

    mcast->arrived++;
    if (status < 0) {
        mcast->status = status;
    }
    status = am_ctx_request(mcast->perf->ctx, 0, PERF_HANDLER_ACK, NULL, 0,
                            NULL, 0);
    if (status < 0) {
        mcast->status = status;
    }
}

static am_status_t on_receive(void *arg, struct am_recv *recv, uint32_t source,
                              const void *info, size_t info_bytes, size_t bytes,
                              struct am_data *landing, am_done_fn *done,
                              void **done_arg)
{
    struct mcast *mcast = arg;
    uint64_t step;

    (void)recv;
    (void)source;
    if (info_bytes != sizeof(step) || bytes != mcast->bytes) {
        mcast->status = AM_ERR_INVALID;
    } else {
        memcpy(&step, info, sizeof(step));
        if (step != mcast->arrived + 1) {
            mcast->status = AM_ERR_INVALID; /* lost, twice, out of order */
        }
    }
    *landing = am_data_contig(mcast->data, bytes);
    *done = on_landed;
    *done_arg = mcast;
    return AM_OK;
}

static void on_answer(struct am_token *token, const uint64_t *words,
                      uint32_t word_count, void *data, size_t bytes)
{
    struct mcast *mcast = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    mcast->answers++;
}

static void on_sent(void *arg, am_status_t status)
{
    struct mcast *mcast = arg;

    mcast->completed++;
    if (status < 0) {
        mcast->status = status;
    }
}

static int mcast_wait(struct mcast *mcast)
{
    if (mcast->status < 0) {
        return perf_ok(mcast->perf, mcast->status, "multicast");
    }
    return perf_wait(mcast->perf);
}

static int step_root(struct mcast *mcast)
{
    uint32_t count = mcast->perf->size - 1;
    struct am_data data = am_data_contig(mcast->data, mcast->bytes);
    am_status_t status =
            am_multicast(mcast->client, mcast->dests, count, &mcast->steps,
                         sizeof(mcast->steps), &data, on_sent, mcast);

    if (status < 0) {
        return perf_ok(mcast->perf, status, "am_multicast");
    }
    while (mcast->answers < mcast->steps * count ||
           mcast->completed < mcast->steps) {
        if (mcast_wait(mcast) != 0) {
            return -1;
        }
    }
    return 0;
}

static int step(void *state)
{
    struct mcast *mcast = state;

    mcast->steps++;
    if (mcast->perf->rank == 0) {
        return step_root(mcast);
    }
    while (mcast->arrived < mcast->steps) {
        if (mcast_wait(mcast) != 0) {
            return -1;
        }
    }
    return 0;
}

static int validate(struct mcast *mcast)
{
    struct perf *perf = mcast->perf;
    uint64_t seed = mcast->bytes * 17 + 3;

    if (!perf->options->validate) {
        return 0;
    }
    if (perf->rank == 0) {
        perf_pattern(mcast->data, mcast->bytes, seed);
    } else {
        memset(mcast->data, 0, mcast->bytes);
    }
    if (perf_barrier(perf) != 0 || step(mcast) != 0) {
        return -1;
    }
    return perf_pattern_check(perf, mcast->data, mcast->bytes, seed);
}

static int run_size(struct mcast *mcast, size_t bytes)
{
    struct perf *perf = mcast->perf;
    struct perf_row row = {.metric = "multicast",
                           .unit = "ns",
                           .bytes = bytes,
                           .has_bytes = true,
                           .extra_name = "ranks",
                           .extra = perf->size};
    uint64_t iterations =
            perf_iterations(perf, bytes, MCAST_ITERATIONS, MCAST_TOTAL_BYTES);

    /* The first message of a size must find the receivers expecting it. */
    mcast->bytes = bytes;
    if (perf_barrier(perf) != 0 ||
        perf_time(perf, step, mcast, iterations, &row.figure) != 0 ||
        validate(mcast) != 0 || perf_barrier(perf) != 0) {
        return -1;
    }
    perf_report_row(perf, &row);
    return 0;
}

int perf_mcast(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    struct mcast mcast = {.perf = perf};
    int result = -1;

    mcast.data = perf_alloc(perf, perf_size_max(options));
    mcast.dests = perf_alloc(perf, perf->size * sizeof(*mcast.dests));
    if (mcast.data == NULL || mcast.dests == NULL) {
        return -1;
    }
    for (uint32_t i = 1; i < perf->size; i++) {
        mcast.dests[i - 1] = i;
    }
    if (perf_ok(perf,
                am_client_register(perf->ctx, AM_ORDERED, on_receive, &mcast,
                                   &mcast.client),
                "am_client_register") == 0) {
        result = perf_handler(perf, PERF_HANDLER_ACK, on_answer, &mcast, "ack");
    }
    for (uint32_t i = 0; i < options->size_count && result == 0; i++) {
        perf_report_progress(perf, i, options->size_count);
        result = run_size(&mcast, options->sizes[i]);
    }
    if (result == 0) {
        free(mcast.data);
        free(mcast.dests);
    }
    return result;
}
