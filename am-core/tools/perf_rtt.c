/*
 * rtt: rank 0 sends a request of 1 to 4 words, rank 1's handler replies with
 * the same words, rank 0 waits for the reply.  Through the GAM names where the
 * context is the default one, which is what a GAM program calls.
 */
#include "tools/perf.h"

#include <string.h>

enum {
    RTT_WORDS_MAX = 4,
    RTT_ITERATIONS = 100000
};

struct rtt {
    struct perf *perf;
    uint32_t words;
    bool gam;
    uint64_t value;  /* word 0 of the request under way */
    uint64_t pinged; /* requests handled here */
    uint64_t ponged; /* replies handled here */
    uint64_t steps;
    bool wrong;
};

static am_status_t reply(const struct rtt *rtt, struct am_token *token,
                         const uint64_t *w, uint32_t count)
{
    if (!rtt->gam) {
        return am_token_reply(token, PERF_HANDLER_PONG, w, count, NULL, 0);
    }
    switch (count) {
    case 1:
        return am_reply_1(token, PERF_HANDLER_PONG, (uint32_t)w[0]);
    case 2:
        return am_reply_2(token, PERF_HANDLER_PONG, (uint32_t)w[0],
                          (uint32_t)w[1]);
    case 3:
        return am_reply_3(token, PERF_HANDLER_PONG, (uint32_t)w[0],
                          (uint32_t)w[1], (uint32_t)w[2]);
    default:
        return am_reply_4(token, PERF_HANDLER_PONG, (uint32_t)w[0],
                          (uint32_t)w[1], (uint32_t)w[2], (uint32_t)w[3]);
    }
}

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct rtt *rtt = am_token_arg(token);

    (void)data;
    (void)bytes;
    rtt->pinged++;
    if (word_count != rtt->words ||
        reply(rtt, token, words, word_count) != AM_OK) {
        rtt->wrong = true;
    }
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct rtt *rtt = am_token_arg(token);

    (void)data;
    (void)bytes;
    rtt->ponged++;
    for (uint32_t i = 0; i < word_count; i++) {
        rtt->wrong |= words[i] != rtt->value + i;
    }
    rtt->wrong |= word_count != rtt->words;
}

static am_status_t request(const struct rtt *rtt, uint32_t a)
{
    switch (rtt->gam ? rtt->words : 0) {
    case 1:
        return am_request_1(1, PERF_HANDLER_PING, a);
    case 2:
        return am_request_2(1, PERF_HANDLER_PING, a, a + 1);
    case 3:
        return am_request_3(1, PERF_HANDLER_PING, a, a + 1, a + 2);
    case 4:
        return am_request_4(1, PERF_HANDLER_PING, a, a + 1, a + 2, a + 3);
    default:
        return am_ctx_request(rtt->perf->ctx, 1, PERF_HANDLER_PING,
                              (const uint64_t[]){a, a + 1, a + 2, a + 3},
                              rtt->words, NULL, 0);
    }
}

/* Rank 0: one round trip. */
static int step_ask(void *state)
{
    struct rtt *rtt = state;
    uint64_t before = rtt->ponged;
    am_status_t status;

    rtt->value = (rtt->value + 1) & 0xffffff; /* word + 3 stays in 32 bits */
    status = request(rtt, (uint32_t)rtt->value);
    if (status != AM_OK) {
        return perf_ok(rtt->perf, status, "am_request");
    }
    while (rtt->ponged == before) {
        if (perf_wait(rtt->perf) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Rank 1: until one more request has been handled. */
static int step_answer(void *state)
{
    struct rtt *rtt = state;

    rtt->steps++;
    while (rtt->pinged < rtt->steps) {
        if (perf_wait(rtt->perf) != 0) {
            return -1;
        }
    }
    return 0;
}

static int run_words(struct rtt *rtt, uint32_t words)
{
    struct perf *perf = rtt->perf;
    uint64_t iterations = perf_iterations(perf, 0, RTT_ITERATIONS, 0);
    struct perf_row row = {.metric = "half_round_trip",
                           .unit = "ns",
                           .bytes = words * sizeof(uint32_t),
                           .has_bytes = true,
                           .extra_name = "words",
                           .extra = words};

    rtt->words = words;
    if (perf_time(perf, perf->rank == 0 ? step_ask : step_answer, rtt,
                  iterations, &row.figure) != 0) {
        return -1;
    }
    if (rtt->wrong && perf->options->validate) {
        return perf_fail(perf, "a request or reply of %u words came wrong",
                         words);
    }
    perf_scale(&row.figure, 0.5);
    perf_report_row(perf, &row);
    return 0;
}

int perf_rtt(struct perf *perf)
{
    struct rtt rtt = {.perf = perf, .gam = perf->ctx == am_default()};

    if (perf_handler(perf, PERF_HANDLER_PING, on_ping, &rtt, "ping") != 0 ||
        perf_handler(perf, PERF_HANDLER_PONG, on_pong, &rtt, "pong") != 0 ||
        perf_barrier(perf) != 0) {
        return -1;
    }
    for (uint32_t words = 1; words <= RTT_WORDS_MAX; words++) {
        perf_report_progress(perf, words - 1, RTT_WORDS_MAX);
        if (run_words(&rtt, words) != 0) {
            return -1;
        }
    }
    return perf_barrier(perf);
}
