/*
 * The two ranks of shm_neighbour_test that talk: each sends the other messages
 * and requests that are checked to the last byte, until all is exchanged, or an
 * error comes, or the check tells.
 */
#include "support/neighbour.h"

#include "am/ctx.h"
#include "base/prng.h"

#include <am.h>
#include <am_msg.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    MESSAGES = 40,
    BYTES_MAX = 150000,
    REQUEST_MAX = 3000,
    WATCH_MS = 2000, /* without news a rank says that it waits in vain */
    H_PING = AM_HANDLER_USER,
    H_PONG
};

struct message {
    int ended;
    struct am_msg_status status;
    struct am_msg_req *req;
    char *memory;
    size_t bytes;
};

static struct {
    struct rank *me;
    uint32_t sent, sent_ended, received, requests, news;
    struct message messages[MESSAGES];
    char *payload[MESSAGES];
    bool wrong;
} traffic;

static size_t message_bytes(uint32_t from, uint32_t number)
{
    struct am_prng prng;

    am_prng_seed(&prng, neighbour_run.seed + 1000 * from + number);
    return (size_t)am_prng_below(&prng, am_prng_below(&prng, 3) == 0 ? BYTES_MAX
                                                                     : 600);
}

/* Byte `at` of message or request `number` of a rank. */
static char pattern(uint32_t from, uint32_t number, size_t at)
{
    return (char)((from + 1) * 31 + number * 7 + at + at / 251);
}

static void fill(char *to, uint32_t from, uint32_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = pattern(from, number, i);
    }
}

static bool is_right(const char *at, uint32_t from, uint32_t number,
                     size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != pattern(from, number, i)) {
            return false;
        }
    }
    return true;
}

static void check_words(const uint64_t *words, uint32_t count, uint64_t number,
                        uint32_t from, const char *data, size_t bytes)
{
    if (count != 2 || words[0] != number || words[1] != ~number ||
        bytes != number * 37 % REQUEST_MAX ||
        !is_right(data, from, (uint32_t)number, bytes)) {
        traffic.wrong = true;
    }
}

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);
    uint64_t answer[2] = {me->pings, ~me->pings};

    check_words(words, count, me->pings, 1 - me->rank, data, bytes);
    me->pings++;
    traffic.news++;
    (void)am_token_reply(token, H_PONG, answer, 2, NULL, 0);
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    if (count != 2 || words[0] != me->pongs || words[1] != ~me->pongs ||
        bytes != 0) {
        traffic.wrong = true;
    }
    me->pongs++;
    traffic.news++;
}

static void on_sent(void *arg, const struct am_msg_status *status)
{
    traffic.sent_ended++;
    traffic.news++;
}

static void on_received(void *arg, const struct am_msg_status *status)
{
    struct message *message = arg;
    uint32_t number = (uint32_t)(message - traffic.messages);

    message->ended++;
    traffic.received++;
    traffic.news++;
    if (status->status == AM_ERR_PEER) {
        return; /* the poll says why */
    }
    if (message->ended != 1 || status->status != AM_OK ||
        status->bytes != message->bytes ||
        status->bytes_sent != message->bytes ||
        status->envelope.tag != number ||
        !is_right(message->memory, 1 - traffic.me->rank, number,
                  message->bytes)) {
        traffic.wrong = true;
    }
}

static am_status_t post_all(struct rank *me)
{
    struct am_msg_mask exact = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct message *message = &traffic.messages[i];
        struct am_msg_envelope envelope = {.source = 1 - me->rank, .tag = i};
        struct am_data data;
        am_status_t status;

        message->bytes = message_bytes(1 - me->rank, i);
        message->memory = calloc(1, message->bytes + 1);
        data = am_data_contig(message->memory, message->bytes);
        status = am_msg_irecv(me->ctx, &envelope, &exact, &data, on_received,
                              message, &message->status, &message->req);
        if (status == AM_DONE) {
            on_received(message, &message->status);
        } else if (status != AM_OK) {
            return status;
        }
    }
    return AM_OK;
}

/* One more message and request, if it is time. */
static am_status_t send_more(struct rank *me, struct am_prng *prng)
{
    static char request[REQUEST_MAX];
    am_status_t status = AM_OK;

    if (traffic.sent < MESSAGES && am_prng_below(prng, 4) == 0) {
        struct am_msg_envelope envelope = {.source = me->rank,
                                           .tag = traffic.sent};
        size_t bytes = message_bytes(me->rank, traffic.sent);
        char *memory = malloc(bytes + 1);
        struct am_data data = am_data_contig(memory, bytes);
        struct am_msg_req *req;

        fill(memory, me->rank, traffic.sent, bytes);
        traffic.payload[traffic.sent++] = memory;
        status = am_msg_isend(me->ctx, 1 - me->rank, &envelope, &data, 0,
                              on_sent, NULL, &req);
        traffic.sent_ended += status == AM_DONE;
    }
    if (status >= 0 && traffic.requests < MESSAGES) {
        uint64_t words[2] = {traffic.requests, ~(uint64_t)traffic.requests};
        size_t bytes = traffic.requests * 37 % REQUEST_MAX;

        fill(request, me->rank, traffic.requests, bytes);
        status = am_ctx_try_request(me->ctx, 1 - me->rank, H_PING, words, 2,
                                    request, bytes);
        traffic.requests += status == AM_OK;
    }
    return status == AM_ERR_AGAIN || status > 0 ? AM_OK : status;
}

/* An error must be of the peer, and say its name; then all else fails, too. */
static int judge_error(struct rank *me, int status)
{
    uint64_t words[2] = {0, 0};
    char name[16];

    snprintf(name, sizeof(name), "rank %u", 1 - me->rank);
    return status == AM_ERR_PEER &&
                           strstr(am_error_text(me->ctx), name) != NULL &&
                           am_ctx_try_request(me->ctx, 1 - me->rank, H_PING,
                                              words, 2, NULL, 0) == AM_ERR_PEER
                   ? END_TOLD
                   : END_BAD_ERROR;
}

static bool all_is_done(const struct rank *me)
{
    return traffic.received == MESSAGES && traffic.sent_ended == MESSAGES &&
           me->pings == MESSAGES && me->pongs == MESSAGES;
}

/* Until all is exchanged, or the first error. */
static int exchange(struct rank *me)
{
    struct am_prng prng;
    uint64_t news_ps = am_env_now(am_env_real());
    uint32_t news = 0;

    am_prng_seed(&prng, neighbour_run.seed ^ me->rank);
    for (;;) {
        int status = send_more(me, &prng);

        if (status == AM_OK) {
            status = am_ctx_poll_wait(me->ctx);
        }
        if (traffic.wrong) {
            return END_WRONG;
        }
        if (status < 0) {
            return judge_error(me, status);
        }
        if (all_is_done(me)) {
            return END_RIGHT;
        }
        if (atomic_load(&me->board->flag[FLAG_CHECKED]) != 0) {
            return END_STOPPED;
        }
        if (traffic.news != news) {
            news = traffic.news;
            news_ps = am_env_now(am_env_real());
        } else if (neighbour_run.word >= WORD_PLACE &&
                   neighbour_run.reliability == NULL &&
                   am_env_now(am_env_real()) - news_ps >
                           WATCH_MS * UINT64_C(1000000000)) {
            return END_VAIN;
        }
    }
}

void neighbour_all_start(struct rank *me)
{
    atomic_fetch_add(&me->board->flag[FLAG_STARTED], 1);
    while (atomic_load(&me->board->flag[FLAG_STARTED]) < 3) {
        sched_yield();
    }
}

int neighbour_talk(struct rank *me)
{
    int end;

    traffic.me = me;
    am_handler_register(me->ctx, H_PING, on_ping, me, "ping");
    am_handler_register(me->ctx, H_PONG, on_pong, me, "pong");
    neighbour_all_start(me);
    end = post_all(me) == AM_OK ? exchange(me) : END_BAD_ERROR;
    if (end == END_WRONG || end == END_VAIN) {
        atomic_store(&me->board->flag[FLAG_CHECKED], 1);
    }
    /* the other one needs me to tell it, or is told by the clock */
    atomic_fetch_add(&me->board->flag[FLAG_ENDED], 1);
    while (atomic_load(&me->board->flag[FLAG_ENDED]) < 2) {
        (void)am_ctx_poll_wait(me->ctx);
    }
    am_close(me->ctx);
    return end;
}
