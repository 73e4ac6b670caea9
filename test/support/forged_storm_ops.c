/*
 * The operations of a storm (forged_storm.h): of every kind, with the honest
 * peer and with the forger, and what the victim does with sends that arrive.
 */
#include "support/cm.h"
#include "support/forged_storm.h"

#include <am.h>
#include <string.h>

/* ----------------------------------------------------------- the upper side */

void storm_on_user(struct am_token *token, const uint64_t *words,
                   uint32_t word_count, void *data, size_t bytes)
{
    for (uint32_t i = 0; i < word_count; i++) {
        storm.sum += words[i];
    }
    for (size_t i = 0; i < bytes; i++) {
        storm.sum += ((const unsigned char *)data)[i];
    }
    if (word_count > 0 && words[0] % 4 == 0) {
        (void)am_token_reply(token, H_USER + 1, words, 1, NULL, 0);
    }
}

static void on_done(void *arg, am_status_t status)
{
    struct ended *ended = arg;

    ended->count++;
    ended->status.status = status;
}

/* An honest send brings the number of its operation; all others are landed
 * somewhere, kept for later, used at once or refused. */
am_status_t storm_on_receive(void *arg, struct am_recv *recv, uint32_t source,
                             const void *info, size_t info_bytes, size_t bytes,
                             struct am_data *landing, am_done_fn *done,
                             void **done_arg)
{
    uint32_t number = OPS;
    struct op *op;

    if (info_bytes > 0) {
        memcpy(&number, info, info_bytes < 4 ? info_bytes : 4);
    }
    if (source != FORGER && number < FAIR) {
        op = &storm.ops[number];
        assert_int_equal(info_bytes, sizeof(number));
        *landing =
                am_data_contig(op->kind == SEND ? op->theirs : op->mine, AREA);
        *done = on_done;
        *done_arg = &op->in;
        return AM_OK;
    }
    if (am_recv_payload(recv) != NULL && chance(3)) {
        memcpy(storm.scratch, am_recv_payload(recv), bytes);
        return AM_DONE;
    }
    if (storm.held_count < HELD && chance(3)) {
        storm.held[storm.held_count++] = recv;
        return AM_ERR_AGAIN;
    }
    *landing = am_data_contig(storm.scratch, sizeof(storm.scratch));
    return chance(8) ? AM_ERR_INVALID : AM_OK;
}

void storm_supply_held(void)
{
    while (storm.held_count > 0) {
        struct am_data data = am_data_contig(storm.scratch, AREA);
        struct am_recv *recv = storm.held[--storm.held_count];

        if (am_recv_supply(recv, &data, NULL, NULL) != AM_OK) {
            storm.held_count++; /* too long for any buffer here: it stays */
            break;
        }
    }
}

void storm_take_unexpected(void)
{
    struct am_ctx *ctx = storm.world.ctx[VICTIM];
    struct am_msg_mask any = {0, 0, 0};
    struct am_msg_envelope envelope = {0};
    struct am_data data = am_data_contig(storm.scratch, 1000);
    struct am_msg_status status;
    struct am_msg_req *message, *req;

    if (am_msg_iprobe(ctx, &envelope, &any, &status) == AM_DONE &&
        status.peer == FORGER) {
        envelope = status.envelope;
        assert_int_equal(
                am_msg_improbe(ctx, &envelope, &MASK_EXACT, &status, &message),
                AM_DONE);
        (void)am_msg_imrecv(message, &data, NULL, NULL, &status, &req);
    }
}

/* --------------------------------------------------------------- operations */

static unsigned char pattern(const struct op *op, size_t at)
{
    return (unsigned char)(op->added * 7 + at * 3 + (at >> 8) +
                           (size_t)(op - storm.ops));
}

static void fill(const struct op *op, unsigned char *to)
{
    for (size_t i = 0; i < op->bytes; i++) {
        to[i] = pattern(op, i);
    }
}

static void start_message(struct op *op, uint32_t from, uint32_t to)
{
    struct am_msg_envelope envelope = {.context =
                                               CONTEXT + (op->peer == FORGER),
                                       .source = from,
                                       .tag = (uint32_t)(op - storm.ops)};
    struct am_data mine = am_data_contig(op->mine, op->bytes);
    struct am_data theirs = am_data_contig(op->theirs, op->bytes);
    struct am_data *source = from == VICTIM ? &mine : &theirs;
    struct am_data *target = from == VICTIM ? &theirs : &mine;
    bool first = chance(2);

    if (first) {
        world_recv(&storm.world, to, envelope, MASK_EXACT, target, &op->in);
    }
    world_send(&storm.world, from, to, envelope, source,
               chance(3) ? AM_MSG_SYNC : 0, &op->out);
    if (!first) {
        world_recv(&storm.world, to, envelope, MASK_EXACT, target, &op->in);
    }
}

void storm_start(struct op *op)
{
    static const size_t sizes[] = {0, 1, 8, 64, 200, 1000, 5000, 20000, AREA};
    struct am_ctx *ctx = storm.world.ctx[VICTIM];
    uint32_t number = (uint32_t)(op - storm.ops);
    size_t at = (size_t)number * AREA;
    const struct am_key *key = &storm.keys[op->peer];
    struct am_data mine, theirs;
    bool brings;

    op->busy = true;
    op->kind = (int)below(KINDS);
    op->bytes = sizes[below(sizeof(sizes) / sizeof(sizes[0]))];
    op->added++;
    op->out = op->in = (struct ended){0};
    brings = op->kind == GET || op->kind == TAKE || op->kind == TAKE_MESSAGE;
    fill(op, brings ? op->theirs : op->mine);
    mine = am_data_contig(op->mine, op->bytes);
    theirs = am_data_contig(op->theirs, op->bytes);
    /* what ends in one place only */
    op->in.count =
            op->kind < SEND || (op->kind < SEND_MESSAGE && op->peer == FORGER);
    switch (op->kind) {
    case PUT:
        (void)am_ctx_put(ctx, op->peer, &mine, key, at, on_done, &op->out);
        break;
    case GET:
        (void)am_ctx_rget(ctx, op->peer, &mine, key, at, on_done, &op->out);
        break;
    case ADD:
        memcpy(op->theirs, &op->added, sizeof(op->added));
        (void)am_ctx_fetch_add(ctx, op->peer, key, at, 1, &op->old, on_done,
                               &op->out);
        break;
    case STORE:
        (void)am_ctx_store_async(ctx, op->peer, op->mine, op->theirs, op->bytes,
                                 H_USER, NULL, 0, on_done, &op->out);
        break;
    case SEND:
        (void)am_send(storm.clients[VICTIM], op->peer, &number, sizeof(number),
                      &mine, on_done, &op->out);
        break;
    case TAKE:
        (void)am_send(storm.clients[op->peer], VICTIM, &number, sizeof(number),
                      &theirs, on_done, &op->out);
        break;
    case SEND_MESSAGE:
        start_message(op, VICTIM, op->peer);
        break;
    default:
        start_message(op, op->peer, VICTIM);
        break;
    }
}

/* With the honest peer: it must have gone as if there were no other. */
static void check(const struct op *op)
{
    if (op->out.status.status != AM_OK || op->in.status.status != AM_OK) {
        fail_msg("operation %d ended with %d and %d", op->kind,
                 op->out.status.status, op->in.status.status);
    }
    if (op->kind == ADD) {
        assert_int_equal(op->old, op->added);
        return;
    }
    for (size_t i = 0; i < op->bytes; i++) {
        if (op->mine[i] != pattern(op, i) || op->theirs[i] != pattern(op, i)) {
            fail_msg("operation %d of %zu bytes: byte %zu is wrong", op->kind,
                     op->bytes, i);
        }
    }
}

void storm_look(struct op *op)
{
    if (!op->busy) {
        return;
    }
    assert_in_range(op->out.count, 0, 1);
    assert_in_range(op->in.count, 0, 1);
    if (op->out.count == 1 && op->in.count == 1) {
        if (op->peer == HONEST) {
            check(op);
        }
        op->busy = false;
        storm.ended++;
    }
}

void storm_cancel(struct op *op)
{
    struct ended *ended = op->kind == SEND_MESSAGE ? &op->out : &op->in;

    if (op->busy && op->kind >= SEND_MESSAGE && op->peer == FORGER &&
        ended->count == 0 && ended->req != NULL &&
        am_msg_cancel(ended->req) == AM_DONE) {
        ended->count = 1;
    }
}
