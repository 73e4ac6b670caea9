/*
 * One rank of a job in which everybody sends everybody messages of all sizes,
 * as fast as it goes, and looks at every byte that comes: each once, in order.
 *
 *   storm COUNT SEED [WORDS]    COUNT messages from each rank to each other one,
 *                               of at most WORDS words of 8 bytes
 */
#include "base/prng.h"

#include <am.h>
#include <am_msg.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 8, /* messages to a peer, and receives, at a time */
    RANKS_MAX = 16,
    WORDS_MAX = 40000
};

struct flow { /* of messages to or from one peer */
    uint32_t begun, ended;
    bool open[AHEAD];
    uint64_t *words[AHEAD];
};

static struct am_ctx *ctx;
static uint64_t seed, bytes_checked;
static uint32_t count, words_max = WORDS_MAX;
static struct flow out[RANKS_MAX], in[RANKS_MAX];

static struct am_prng prng_of(uint32_t from, uint32_t to, uint32_t number)
{
    struct am_prng prng;

    am_prng_seed(&prng, seed + ((uint64_t)from << 48) + ((uint64_t)to << 32) +
                                number);
    return prng;
}

/* Most are short; the words that follow are the message's. */
static size_t words_of(struct am_prng *prng)
{
    static const uint32_t most[] = {1, 8, 8, 8, 512, 512, 8192, WORDS_MAX};
    uint32_t max = most[am_prng_below(prng, 8)];

    return am_prng_below(prng, (max < words_max ? max : words_max) + 1);
}

static void fail(const char *what, uint32_t peer, uint32_t number)
{
    fprintf(stderr, "rank %u: %s, peer %u, message %u: %s\n", am_rank(ctx), what,
            peer, number, am_error_text(ctx));
    exit(EXIT_FAILURE);
}

static void on_end(void *arg, const struct am_msg_status *status)
{
    if (status->status != AM_OK) {
        fail("a message failed", status->envelope.source, 0);
    }
    *(bool *)arg = false;
}

static void begin_send(uint32_t peer)
{
    struct flow *flow = &out[peer];
    uint32_t slot = flow->begun % AHEAD;
    struct am_prng prng = prng_of(am_rank(ctx), peer, flow->begun);
    size_t words = words_of(&prng);
    struct am_msg_envelope envelope = {0, am_rank(ctx), flow->begun % 100};
    struct am_data data = am_data_contig(flow->words[slot], words * 8);
    struct am_msg_req *req;
    am_status_t status;

    for (size_t i = 0; i < words; i++) {
        flow->words[slot][i] = am_prng_next(&prng);
    }
    flow->open[slot] = true;
    status = am_msg_isend(ctx, peer, &envelope, &data, 0, on_end,
                          &flow->open[slot], &req);
    if (status == AM_DONE) {
        flow->open[slot] = false;
    } else if (status != AM_OK) {
        fail("cannot send", peer, flow->begun);
    }
    flow->begun++;
}

static void begin_receive(uint32_t peer)
{
    struct flow *flow = &in[peer];
    uint32_t slot = flow->begun % AHEAD;
    struct am_msg_envelope envelope = {0, peer, flow->begun % 100};
    struct am_msg_mask mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_data data = am_data_contig(flow->words[slot], words_max * 8);
    struct am_msg_status ended;
    struct am_msg_req *req;
    am_status_t status;

    memset(flow->words[slot], 0xee, words_max * 8);
    flow->open[slot] = true;
    status = am_msg_irecv(ctx, &envelope, &mask, &data, on_end,
                          &flow->open[slot], &ended, &req);
    if (status == AM_DONE) {
        on_end(&flow->open[slot], &ended);
    } else if (status != AM_OK) {
        fail("cannot receive", peer, flow->begun);
    }
    flow->begun++;
}

static void check(uint32_t peer, uint32_t number, const uint64_t *got)
{
    struct am_prng prng = prng_of(peer, am_rank(ctx), number);
    size_t words = words_of(&prng);

    for (size_t i = 0; i < words; i++) {
        if (got[i] != am_prng_next(&prng)) {
            fail("a wrong message", peer, number);
        }
    }
    if (words < words_max && got[words] != UINT64_C(0xeeeeeeeeeeeeeeee)) {
        fail("a message is too long", peer, number);
    }
    bytes_checked += words * 8;
}

/* Is there more to do with this peer? */
static bool step(uint32_t peer)
{
    while (out[peer].ended < out[peer].begun &&
           !out[peer].open[out[peer].ended % AHEAD]) {
        out[peer].ended++;
    }
    while (in[peer].ended < in[peer].begun &&
           !in[peer].open[in[peer].ended % AHEAD]) {
        check(peer, in[peer].ended, in[peer].words[in[peer].ended % AHEAD]);
        in[peer].ended++;
    }
    while (out[peer].begun < count && out[peer].begun < out[peer].ended + AHEAD) {
        begin_send(peer);
    }
    while (in[peer].begun < count && in[peer].begun < in[peer].ended + AHEAD) {
        begin_receive(peer);
    }
    return out[peer].ended < count || in[peer].ended < count;
}

static uint64_t counter(const char *name)
{
    struct am_counter_info info;

    for (uint32_t i = 0; am_counter(ctx, i, &info) == AM_OK; i++) {
        if (strcmp(info.name, name) == 0) {
            return info.value;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool more = true;

    if (argc < 3 || argc > 4 || am_init() != AM_OK) {
        fprintf(stderr, "storm: %s\n",
                argc < 3 || argc > 4 ? "usage: storm COUNT SEED [WORDS]"
                                     : am_init_error());
        return EXIT_FAILURE;
    }
    ctx = am_default();
    count = (uint32_t)strtoul(argv[1], NULL, 0);
    seed = strtoull(argv[2], NULL, 0);
    if (argc == 4 && strtoul(argv[3], NULL, 0) < WORDS_MAX) {
        words_max = (uint32_t)strtoul(argv[3], NULL, 0);
    }
    for (uint32_t peer = 0; peer < am_size(ctx) * AHEAD; peer++) {
        out[peer / AHEAD].words[peer % AHEAD] = calloc(WORDS_MAX, 8);
        in[peer / AHEAD].words[peer % AHEAD] = calloc(WORDS_MAX, 8);
    }
    while (more) {
        more = false;
        for (uint32_t peer = 0; peer < am_size(ctx); peer++) {
            more = (peer != am_rank(ctx) && step(peer)) || more;
        }
        if (am_ctx_poll_wait(ctx) < 0) {
            fail("a poll failed", 0, 0);
        }
    }
    printf("rank %u: %u messages of each peer, %" PRIu64 " bytes are right; "
           "%" PRIu64 " packets, %" PRIu64 " of them again; halved %" PRIu64
           ", again: nack %" PRIu64 " probe %" PRIu64 " time %" PRIu64
           " ack %" PRIu64 "\n",
           am_rank(ctx), count, bytes_checked, counter("chan_tx_packets"),
           counter("chan_tx_retransmitted"), counter("chan_tx_halved"),
           counter("chan_tx_again_nack"), counter("chan_tx_again_probe"),
           counter("chan_tx_again_time"), counter("chan_tx_again_ack"));
    fflush(stdout);
    am_fini();
    return EXIT_SUCCESS;
}
