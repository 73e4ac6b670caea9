/*
 * Flows of messages; see perf_flow.h.
 */
#include "tools/perf_flow.h"

#include <stdlib.h>
#include <string.h>

enum {
    FLOW_TAG = 7,
    FLOW_CONTEXT = 3,
    VALIDATE_ROUNDS = 3
};

/* -------------------------------------------------------------- operations */

static void flow_end(struct perf_flow *flow, am_status_t status,
                     uint64_t *counter)
{
    (*counter)++;
    if (status < 0 && flow->status == AM_OK) {
        flow->status = status;
    }
}

static void on_done(void *arg, am_status_t status)
{
    struct perf_flow *flow = arg;

    flow_end(flow, status, &flow->completed);
}

static void on_sent(void *arg, const struct am_msg_status *status)
{
    struct perf_flow *flow = arg;

    flow_end(flow, status->status, &flow->completed);
}

static void receives_top_up(struct perf_flow *flow);

static void on_received(void *arg, const struct am_msg_status *status)
{
    struct perf_flow *flow = arg;

    flow_end(flow, status->status, &flow->arrived);
    if (!flow->posting) {
        receives_top_up(flow);
    }
}

/* Keep `ahead` receives posted until all of `target` are. */
static void receives_top_up(struct perf_flow *flow)
{
    const struct am_msg_envelope envelope = {
            .context = FLOW_CONTEXT, .source = flow->peer, .tag = FLOW_TAG};
    const struct am_msg_mask mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_data data = am_data_contig(flow->landing, flow->bytes);

    flow->posting = true; /* a receive that ends at once comes back here */
    while (flow->expected < flow->target &&
           flow->expected - flow->arrived < flow->ahead) {
        struct am_msg_status status;
        struct am_msg_req *req;
        am_status_t result =
                am_msg_irecv(flow->perf->ctx, &envelope, &mask, &data,
                             on_received, flow, &status, &req);

        flow->expected++;
        if (result == AM_DONE) {
            flow_end(flow, status.status, &flow->arrived);
        } else if (result < 0) {
            flow_end(flow, result, &flow->arrived);
        }
    }
    flow->posting = false;
}

static void on_request(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct perf_flow *flow = am_token_arg(token);

    (void)data;
    (void)bytes;
    flow->arrived++;
    if (word_count != 1 || words[0] != flow->arrived) {
        flow->status = AM_ERR_INVALID; /* lost, twice, or out of order */
    }
}

static void on_stored(struct am_token *token, const uint64_t *words,
                      uint32_t word_count, void *data, size_t bytes)
{
    struct perf_flow *flow = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    flow_end(flow, bytes == flow->bytes ? AM_OK : AM_ERR_TRUNCATE,
             &flow->arrived);
}

static void on_got(struct am_token *token, const uint64_t *words,
                   uint32_t word_count, void *data, size_t bytes)
{
    struct perf_flow *flow = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    flow->completed++;
}

static am_status_t post_isend(struct perf_flow *flow)
{
    struct am_msg_envelope envelope = {.context = FLOW_CONTEXT,
                                       .source = flow->perf->rank,
                                       .tag = FLOW_TAG};
    struct am_data data = am_data_contig(flow->source, flow->bytes);
    struct am_msg_req *req;
    am_status_t status = am_msg_isend(flow->perf->ctx, flow->peer, &envelope,
                                      &data, 0, on_sent, flow, &req);

    if (status == AM_DONE) {
        flow->completed++;
    }
    return status;
}

static am_status_t post_store(struct perf_flow *flow)
{
    am_status_t status = am_ctx_store(flow->perf->ctx, flow->peer, flow->source,
                                      flow->peer_landing, flow->bytes,
                                      PERF_HANDLER_STORED, NULL, 0);

    if (status >= 0) {
        flow->completed++;
    }
    return status;
}

static am_status_t post_store_async(struct perf_flow *flow)
{
    return am_ctx_store_async(flow->perf->ctx, flow->peer, flow->source,
                              flow->peer_landing, flow->bytes,
                              PERF_HANDLER_STORED, NULL, 0, on_done, flow);
}

static am_status_t post_get(struct perf_flow *flow)
{
    return am_ctx_get(flow->perf->ctx, flow->peer, flow->peer_source,
                      flow->landing, flow->bytes, PERF_HANDLER_GOT, NULL, 0);
}

static am_status_t post_put(struct perf_flow *flow)
{
    struct am_data data = am_data_contig(flow->source, flow->bytes);
    am_status_t status = am_ctx_put(flow->perf->ctx, flow->peer, &data,
                                    &flow->peer_landing_key, 0, on_done, flow);

    if (status == AM_DONE) {
        flow->completed++;
    }
    return status;
}

static am_status_t post_request(struct perf_flow *flow)
{
    am_status_t status =
            am_ctx_request(flow->perf->ctx, flow->peer, PERF_HANDLER_REQUEST,
                           &flow->posted, 1, NULL, 0);

    if (status >= 0) {
        flow->completed++;
    }
    return status;
}

static const struct perf_flow_op ops[] = {
        {"request", post_request, .notifies = true},
        {"isend", post_isend, .notifies = true, .matched = true},
        {"put", post_put, .notifies = false},
        {"store", post_store, .notifies = true, .blocking = true},
        {"store_async", post_store_async, .notifies = true},
        {"get", post_get, .from_peer = true, .blocking = true},
        {"get_async", post_get, .from_peer = true},
};

/* ------------------------------------------------------------ open, close */

static int register_buffers(struct perf_flow *flow)
{
    struct am_ctx *ctx = flow->perf->ctx;

    if (perf_ok(flow->perf,
                am_region_register(ctx, flow->source, flow->buffer_bytes,
                                   &flow->source_region),
                "registering a region") != 0) {
        return -1;
    }
    return perf_ok(flow->perf,
                   am_region_register(ctx, flow->landing, flow->buffer_bytes,
                                      &flow->landing_region),
                   "registering a region");
}

/* Tell all ranks where my buffers are. */
static int exchange_buffers(struct perf_flow *flow)
{
    enum {
        KEY_WORDS = AM_KEY_BYTES / 8,
        WORDS = KEY_WORDS + 2
    };
    struct perf *perf = flow->perf;
    uint64_t *all = calloc((size_t)perf->size * WORDS, sizeof(*all));
    uint64_t mine[WORDS] = {(uintptr_t)flow->source, (uintptr_t)flow->landing};
    struct am_key key;
    int result;

    if (all == NULL) {
        return perf_fail(perf, "out of memory");
    }
    am_region_key(flow->landing_region, &key);
    memcpy(mine + 2, &key, sizeof(key));
    result = perf_gather(perf, mine, WORDS, all);
    if (result == 0) {
        const uint64_t *theirs = all + (size_t)flow->peer * WORDS;

        flow->peer_source = (void *)(uintptr_t)theirs[0];
        flow->peer_landing = (void *)(uintptr_t)theirs[1];
        memcpy(&flow->peer_landing_key, theirs + 2, sizeof(key));
    }
    free(all);
    return result;
}

int perf_flow_open(struct perf_flow *flow, struct perf *perf, size_t bytes_max)
{
    return perf_flow_open_by(flow, perf, bytes_max, perf->options->op);
}

int perf_flow_open_by(struct perf_flow *flow, struct perf *perf,
                      size_t bytes_max, const char *op)
{
    *flow = (struct perf_flow){.perf = perf,
                               .peer = perf->rank == 0 ? 1 : 0,
                               .buffer_bytes = bytes_max == 0 ? 1 : bytes_max};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (strcmp(ops[i].name, op) == 0) {
            flow->op = &ops[i];
        }
    }
    if (flow->op == NULL) {
        return perf_fail(perf, "no flow by %s", op);
    }
    flow->source = perf_alloc(perf, bytes_max);
    flow->landing = perf_alloc(perf, bytes_max);
    if (flow->source == NULL || flow->landing == NULL) {
        return -1;
    }
    if (perf_handler(perf, PERF_HANDLER_STORED, on_stored, flow, "stored") ||
        perf_handler(perf, PERF_HANDLER_GOT, on_got, flow, "got") ||
        perf_handler(perf, PERF_HANDLER_REQUEST, on_request, flow, "request") ||
        register_buffers(flow) != 0) {
        return -1;
    }
    return exchange_buffers(flow);
}

void perf_flow_close(struct perf_flow *flow)
{
    if (flow->source_region != NULL) {
        am_region_deregister(flow->perf->ctx, flow->source_region);
    }
    if (flow->landing_region != NULL) {
        am_region_deregister(flow->perf->ctx, flow->landing_region);
    }
    free(flow->source);
    free(flow->landing);
}

/* ----------------------------------------------------------------- moving */

static int flow_wait(struct perf_flow *flow)
{
    if (flow->status < 0) {
        return perf_ok(flow->perf, flow->status, flow->op->name);
    }
    return perf_wait(flow->perf);
}

int perf_flow_send(struct perf_flow *flow, uint32_t window)
{
    am_status_t status;

    if (flow->op->blocking) {
        window = 1;
    }
    while (flow->posted - flow->completed >= window) {
        if (flow_wait(flow) != 0) {
            return -1;
        }
    }
    flow->posted++;
    status = flow->op->post(flow);
    return status >= 0 ? 0 : perf_ok(flow->perf, status, flow->op->name);
}

int perf_flow_finish(struct perf_flow *flow)
{
    while (flow->completed < flow->posted) {
        if (flow_wait(flow) != 0) {
            return -1;
        }
    }
    return flow->status < 0 ? perf_ok(flow->perf, flow->status, flow->op->name)
                            : 0;
}

void perf_flow_expect(struct perf_flow *flow, uint64_t count, uint32_t ahead)
{
    if (flow->op->matched) {
        flow->target = count;
        flow->ahead = ahead;
        receives_top_up(flow);
    }
}

int perf_flow_arrive(struct perf_flow *flow, uint64_t count)
{
    while (flow->arrived < count) {
        if (flow_wait(flow) != 0) {
            return -1;
        }
    }
    return flow->status < 0 ? perf_ok(flow->perf, flow->status, flow->op->name)
                            : 0;
}

/* One message whose every byte is new, checked where it lands. */
static int validate_round(struct perf_flow *flow, uint64_t round)
{
    struct perf *perf = flow->perf;
    bool sends = perf->rank == 0;
    bool checks = sends == flow->op->from_peer;
    uint64_t seed = flow->bytes + round * 1000003;
    uint64_t arrived = flow->arrived + 1; /* the message may beat a barrier */

    perf_pattern(flow->source, flow->bytes, seed + perf->rank);
    memset(flow->landing, 0xa5, flow->bytes);
    if (!sends) {
        perf_flow_expect(flow, arrived, 1);
    }
    if (perf_barrier(perf) != 0) {
        return -1;
    }
    if (sends &&
        (perf_flow_send(flow, 1) != 0 || perf_flow_finish(flow) != 0)) {
        return -1;
    }
    if (!sends && flow->op->notifies && perf_flow_arrive(flow, arrived) != 0) {
        return -1;
    }
    if (perf_barrier(perf) != 0) {
        return -1;
    }
    return checks ? perf_pattern_check(perf, flow->landing, flow->bytes,
                                       seed + flow->peer)
                  : 0;
}

int perf_flow_validate(struct perf_flow *flow)
{
    for (uint64_t i = 0; i < VALIDATE_ROUNDS && flow->perf->options->validate;
         i++) {
        if (validate_round(flow, i) != 0) {
            return -1;
        }
    }
    return 0;
}
