/*
 * incast: all ranks send messages to rank 0 as fast as they can, until it has so
 * many of them.  The bandwidth at rank 0, and how evenly the senders share it by
 * then: Jain's index (Jain et al. 1984), 1 when all have the same, 1 / senders
 * when one has all.
 */
#include "tools/perf.h"

#include <am_msg.h>
#include <stdlib.h>

enum {
    INCAST_TAG = 13,
    INCAST_AHEAD = 8, /* receives posted for each sender */
    INCAST_MESSAGES = 200000
};

#define INCAST_TOTAL_BYTES (UINT64_C(2) << 30)

struct incast;

/* Of one sender, at rank 0. */
struct sender {
    struct incast *incast;
    uint32_t rank;
    uint64_t posted, arrived; /* receives */
    bool posting;             /* inside the function that posts them */
    struct am_msg_req *reqs[INCAST_AHEAD];
};

struct incast {
    struct perf *perf;
    struct sender *senders; /* rank 0's */
    size_t bytes, bytes_max;
    unsigned char *data;
    uint64_t total;      /* messages that came */
    uint64_t target;     /* of them, at which the clock stops */
    uint64_t *shares;    /* of each sender by then */
    double end_ns;
    uint64_t stops, rounds;   /* told to stop; sizes so far */
    uint64_t sent, completed; /* a sender's */
    am_status_t status;
};

static void incast_end(struct incast *incast, am_status_t status)
{
    if (status < 0 && incast->status == AM_OK) {
        incast->status = status;
    }
}

/* ---------------------------------------------------------------- receiving */

static void sender_top_up(struct sender *sender);

/* At the target: the shares are what they are, and all may stop. */
static void tell_stop(struct incast *incast)
{
    struct perf *perf = incast->perf;

    incast->end_ns = perf_now_ns(perf);
    for (uint32_t i = 1; i < perf->size; i++) {
        incast->shares[i] = incast->senders[i].arrived - incast->shares[i];
        incast_end(incast, am_ctx_request(perf->ctx, i, PERF_HANDLER_ACK, NULL,
                                          0, NULL, 0));
    }
}

static void arrive(struct sender *sender, const struct am_msg_status *status)
{
    struct incast *incast = sender->incast;

    incast_end(incast, status->status);
    if (status->status >= 0 && status->bytes != incast->bytes) {
        incast->status = AM_ERR_TRUNCATE;
    }
    sender->arrived++;
    if (++incast->total == incast->target) {
        tell_stop(incast);
    }
}

static void on_received(void *arg, const struct am_msg_status *status)
{
    struct sender *sender = arg;

    arrive(sender, status);
    if (!sender->posting) {
        sender_top_up(sender);
    }
}

static void sender_top_up(struct sender *sender)
{
    struct incast *incast = sender->incast;
    const struct am_msg_envelope envelope = {.source = sender->rank,
                                             .tag = INCAST_TAG};
    const struct am_msg_mask mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_data data = am_data_contig(incast->data, incast->bytes_max);

    sender->posting = true; /* a receive that ends at once comes back here */
    while (sender->posted - sender->arrived < INCAST_AHEAD &&
           incast->status >= 0) {
        struct am_msg_status status;
        am_status_t result = am_msg_irecv(
                incast->perf->ctx, &envelope, &mask, &data, on_received, sender,
                &status, &sender->reqs[sender->posted % INCAST_AHEAD]);

        incast_end(incast, result);
        sender->posted++;
        if (result == AM_DONE) {
            arrive(sender, &status);
        }
    }
    sender->posting = false;
}

/* ------------------------------------------------------------------ sending */

static void on_stop(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct incast *incast = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    incast->stops++;
}

static void on_sent(void *arg, const struct am_msg_status *status)
{
    struct incast *incast = arg;

    incast->completed++;
    incast_end(incast, status->status);
}

static int send_one(struct incast *incast)
{
    struct perf *perf = incast->perf;
    struct am_msg_envelope envelope = {.source = perf->rank, .tag = INCAST_TAG};
    struct am_data data = am_data_contig(incast->data, incast->bytes);
    struct am_msg_req *req;
    am_status_t status =
            am_msg_isend(perf->ctx, 0, &envelope, &data, 0, on_sent, incast,
                         &req);

    incast->sent++;
    incast->completed += status == AM_DONE;
    return perf_ok(perf, status, "isend");
}

static int incast_wait(struct incast *incast)
{
    return incast->status < 0 ? perf_ok(incast->perf, incast->status, "incast")
                              : perf_wait(incast->perf);
}

static int send_until_stop(struct incast *incast)
{
    while (incast->stops < incast->rounds) {
        bool full = incast->sent - incast->completed >=
                    incast->perf->options->window;

        if ((!full && send_one(incast) != 0) || incast_wait(incast) != 0) {
            return -1;
        }
    }
    while (incast->completed < incast->sent) {
        if (incast_wait(incast) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------- a size */

static int receive_until_target(struct incast *incast)
{
    while (incast->total < incast->target) {
        if (incast_wait(incast) != 0) {
            return -1;
        }
    }
    return 0;
}

/* (sum x)^2 / (n sum x^2) */
static double jain(const uint64_t *shares, uint32_t count)
{
    double sum = 0, squares = 0;

    for (uint32_t i = 0; i < count; i++) {
        double share = (double)shares[i];

        sum += share;
        squares += share * share;
    }
    return squares == 0 ? 0 : sum * sum / (count * squares);
}

static void report(struct incast *incast, uint64_t messages, double ns)
{
    struct perf *perf = incast->perf;
    struct perf_row row = {.metric = "incast",
                           .unit = "B/s",
                           .bytes = incast->bytes,
                           .has_bytes = true,
                           .extra_name = "senders",
                           .extra = perf->size - 1};

    row.figure.iterations = messages;
    row.figure.value = (double)(messages * incast->bytes) * 1e9 / ns;
    perf_report_row(perf, &row);
    row.metric = "fairness";
    row.unit = "1";
    row.figure.value = jain(incast->shares + 1, perf->size - 1);
    perf_report_row(perf, &row);
}

/* What comes after the target is received before the barrier ends: it is behind
 * a sender's word that it has come there. */
static int run_size(struct incast *incast, size_t bytes)
{
    struct perf *perf = incast->perf;
    uint64_t messages = perf_iterations(perf, bytes, INCAST_MESSAGES,
                                        INCAST_TOTAL_BYTES);
    double start_ns;

    incast->bytes = bytes;
    incast->rounds++;
    if (perf->rank == 0) {
        incast->target = incast->total + messages;
        for (uint32_t i = 1; i < perf->size; i++) {
            incast->shares[i] = incast->senders[i].arrived;
        }
    }
    if (perf_barrier(perf) != 0) {
        return -1;
    }
    start_ns = perf_now_ns(perf);
    if ((perf->rank == 0 ? receive_until_target(incast)
                         : send_until_stop(incast)) != 0 ||
        perf_barrier(perf) != 0) {
        return -1;
    }
    if (perf->rank == 0) {
        report(incast, messages, incast->end_ns - start_ns);
    }
    return perf_ok(perf, incast->status, "incast");
}

/* ---------------------------------------------------------------- the test */

static int senders_open(struct incast *incast)
{
    uint32_t size = incast->perf->size;

    incast->senders = calloc(size, sizeof(*incast->senders));
    incast->shares = calloc(size, sizeof(*incast->shares));
    if (incast->senders == NULL || incast->shares == NULL) {
        return perf_fail(incast->perf, "out of memory");
    }
    for (uint32_t i = 1; i < size && incast->perf->rank == 0; i++) {
        incast->senders[i].incast = incast;
        incast->senders[i].rank = i;
        sender_top_up(&incast->senders[i]);
    }
    return perf_ok(incast->perf, incast->status, "irecv");
}

static void senders_close(struct incast *incast)
{
    for (uint32_t i = 1; i < incast->perf->size; i++) {
        struct sender *sender = &incast->senders[i];

        for (uint64_t at = sender->arrived; at < sender->posted; at++) {
            (void)am_msg_cancel(sender->reqs[at % INCAST_AHEAD]);
        }
    }
    free(incast->senders);
    free(incast->shares);
    free(incast->data);
}

int perf_incast(struct perf *perf)
{
    const struct perf_options *options = perf->options;
    struct incast incast = {.perf = perf,
                            .bytes_max = perf_size_max(options),
                            .bytes = options->sizes[0]};
    int result = -1;

    incast.data = perf_alloc(perf, incast.bytes_max);
    if (incast.data != NULL && senders_open(&incast) == 0) {
        result = perf_handler(perf, PERF_HANDLER_ACK, on_stop, &incast, "stop");
    }
    for (uint32_t i = 0; i < options->size_count && result == 0; i++) {
        perf_report_progress(perf, i, options->size_count);
        result = run_size(&incast, options->sizes[i]);
    }
    if (result == 0) {
        senders_close(&incast);
    }
    return result;
}
