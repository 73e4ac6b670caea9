/*
 * The life of messages at random: three ranks send, receive, probe, receive what
 * they probed, and cancel, with settings that are drawn, too.  All that was sent
 * ends, every byte is right, and afterwards nothing is missing: what each sender
 * has of its credit, and what its receiver owes it, is what was granted.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "msg/msg_core.h"
#include "msg/msg_credit.h"

#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 3,
    TAGS = 4,
    OPS = 400, /* at most, at one time */
    WORLDS = 24,
    STEPS = 12000,
    ROUNDS = 100000, /* in which all that is left ends */
    BYTES_MAX = 40000,
    GUARD = 0xee
};

typedef enum {
    OP_FREE,
    OP_SEND,
    OP_RECEIVE
} op_kind_t;

struct op {
    op_kind_t kind;
    bool cancelled;
    uint32_t at, with, tag;
    size_t bytes;
    unsigned char *memory;
    struct am_msg_req *req;
};

static struct world world;
static struct am_prng prng;
static struct op ops[OPS];
static uint32_t numbers;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)am_prng_below(&prng, below);
}

/* --------------------------------------------------------------- payloads */

/* The first words of a payload, if it is long enough for them. */
struct head {
    uint32_t number, bytes;
};

static unsigned char byte_of(uint32_t number, size_t at)
{
    return (unsigned char)(number * 7 + at + (at >> 8) * 3);
}

static void payload_fill(struct op *op)
{
    struct head head = {++numbers, (uint32_t)op->bytes};

    for (size_t i = 0; i < op->bytes; i++) {
        op->memory[i] = byte_of(head.number, i);
    }
    if (op->bytes >= sizeof(head)) {
        memcpy(op->memory, &head, sizeof(head));
    }
}

static void payload_check(const struct op *op,
                          const struct am_msg_status *status)
{
    struct head head;

    if (status->bytes >= sizeof(head)) {
        memcpy(&head, op->memory, sizeof(head));
        assert_int_equal(head.bytes, status->bytes_sent);
        for (size_t i = sizeof(head); i < status->bytes; i++) {
            if (op->memory[i] != byte_of(head.number, i)) {
                fail_msg("byte %zu of %zu is wrong", i, status->bytes);
            }
        }
    }
    for (size_t i = status->bytes; i < op->bytes; i++) {
        if (op->memory[i] != GUARD) {
            fail_msg("byte %zu, after a message of %zu, is not as it was", i,
                     status->bytes);
        }
    }
}

/* -------------------------------------------------------------- operations */

static void op_free(struct op *op)
{
    free(op->memory);
    *op = (struct op){.kind = OP_FREE};
}

static struct op *op_new(op_kind_t kind, uint32_t at, size_t bytes)
{
    struct op *op = &ops[draw(OPS)];

    if (op->kind != OP_FREE) {
        return NULL;
    }
    *op = (struct op){.kind = kind,
                      .at = at,
                      .with = (at + 1 + draw(RANKS - 1)) % RANKS,
                      .tag = draw(TAGS),
                      .bytes = bytes,
                      .memory = malloc(bytes + 1)};
    assert_non_null(op->memory);
    memset(op->memory, GUARD, bytes);
    return op;
}

static void op_done(void *arg, const struct am_msg_status *status)
{
    struct op *op = arg;

    if (op->kind == OP_SEND) {
        assert_true(status->status == AM_OK ||
                    (status->status == AM_ERR_CANCELLED && op->cancelled));
    } else {
        assert_true(status->status == AM_OK ||
                    status->status == AM_ERR_TRUNCATE);
        payload_check(op, status);
    }
    op_free(op);
}

/* Of every protocol, when it goes by size. */
static size_t draw_bytes(void)
{
    static const uint32_t below[] = {1, 64, 600, 2100, 9000, BYTES_MAX};

    return draw(below[draw(6)]);
}

static void send(void)
{
    struct op *op = op_new(OP_SEND, draw(RANKS), draw_bytes());
    struct am_msg_envelope envelope;
    struct am_data data;
    am_status_t status;

    if (op == NULL) {
        return;
    }
    payload_fill(op);
    envelope = (struct am_msg_envelope){1, op->at, op->tag};
    data = am_data_contig(op->memory, op->bytes);
    status =
            am_msg_isend(world.ctx[op->at], op->with, &envelope, &data,
                         draw(4) == 0 ? AM_MSG_SYNC : 0, op_done, op, &op->req);
    if (status == AM_DONE) {
        op_free(op);
    } else {
        assert_int_equal(status, AM_OK);
    }
}

/* Receive what has come, if there is some. */
static am_status_t receive_probed(struct op *op,
                                  const struct am_msg_envelope *envelope,
                                  const struct am_msg_mask *mask,
                                  const struct am_data *data,
                                  struct am_msg_status *status)
{
    struct am_msg_req *message;
    am_status_t result =
            am_msg_improbe(world.ctx[op->at], envelope, mask, status, &message);

    if (result != AM_DONE) {
        return result;
    }
    if (draw(2) == 0) {
        (void)am_ctx_poll(world.ctx[op->at]);
    }
    return am_msg_imrecv(message, data, op_done, op, status, &op->req);
}

static void receive(uint32_t at, bool any, bool probe, size_t bytes)
{
    struct op *op = op_new(OP_RECEIVE, at, bytes);
    struct am_msg_envelope envelope;
    struct am_msg_status status;
    struct am_msg_mask mask = MASK_EXACT;
    struct am_data data;
    am_status_t result;

    if (op == NULL) {
        return;
    }
    envelope = (struct am_msg_envelope){1, op->with, op->tag};
    data = am_data_contig(op->memory, op->bytes);
    mask.source = any || draw(3) == 0 ? 0 : UINT32_MAX;
    mask.tag = any || draw(3) == 0 ? 0 : UINT32_MAX;
    result = probe ? receive_probed(op, &envelope, &mask, &data, &status)
                   : am_msg_irecv(world.ctx[at], &envelope, &mask, &data,
                                  op_done, op, &status, &op->req);
    if (result == AM_DONE) {
        op_done(op, &status);
    } else if (result == AM_ERR_AGAIN && probe) {
        op_free(op);
    } else {
        assert_int_equal(result, AM_OK);
    }
}

static void cancel(struct op *op)
{
    am_status_t status =
            op->kind == OP_FREE ? AM_ERR_AGAIN : am_msg_cancel(op->req);

    if (status == AM_DONE) {
        op_free(op);
    } else if (status == AM_OK) {
        op->cancelled = true;
    } else {
        assert_int_equal(status, AM_ERR_AGAIN);
    }
}

static void step(void)
{
    uint32_t kind = draw(20);
    size_t bytes = draw(4) == 0 ? draw(3000) : BYTES_MAX;

    if (kind < 6) {
        send();
    } else if (kind < 10) {
        receive(draw(RANKS), false, false, bytes);
    } else if (kind < 12) {
        receive(draw(RANKS), true, true, bytes);
    } else if (kind == 12) {
        cancel(&ops[draw(OPS)]);
    } else {
        (void)am_ctx_poll(world.ctx[draw(RANKS)]);
    }
}

/* ------------------------------------------------------------------ the end */

/* Is there a send that has not ended, or a message that nobody has received? */
static bool is_open(void)
{
    uint32_t open = 0;

    for (int i = 0; i < OPS; i++) {
        open += ops[i].kind == OP_SEND;
    }
    for (int i = 0; i < RANKS; i++) {
        open += am_match_unexpected_count(&am_msg_of(world.ctx[i])->match);
    }
    return open != 0;
}

/* Receive all that comes; the receives that still wait are taken back. */
static void finish(void)
{
    for (int round = 0; is_open(); round++) {
        assert_true(round < ROUNDS);
        for (uint32_t at = 0; at < RANKS; at++) {
            receive(at, true, true, BYTES_MAX);
            if (round % 64 == 0) {
                receive(at, true, false, BYTES_MAX); /* held ones are wanted */
            }
        }
        if (round % 1024 == 1023) {
            for (int i = 0; i < OPS; i++) {
                if (ops[i].kind == OP_RECEIVE) {
                    cancel(&ops[i]); /* or there is no place for others */
                }
            }
        }
        world_poll(&world);
    }
    world_settle(&world);
    for (int i = 0; i < OPS; i++) {
        cancel(&ops[i]);
        assert_int_equal(ops[i].kind, OP_FREE);
    }
}

/* What is granted of rank `to` to rank `from`, and nothing under way. */
static void check_pair(uint32_t from, uint32_t to)
{
    struct am_msg_peer *sender = am_msg_peer_at(am_msg_of(world.ctx[from]), to);
    struct am_msg_peer *receiver =
            am_msg_peer_at(am_msg_of(world.ctx[to]), from);

    if (sender == NULL || receiver == NULL) {
        return;
    }
    assert_int_equal((sender->credit & ~AM_CREDIT_GUARDS) + receiver->owed,
                     receiver->share + am_credit_pack(receiver->extra, 0));
    assert_int_equal(sender->debt, 0);
    assert_int_equal(sender->packed_bytes, 0);
    assert_int_equal(sender->slots_free, (1u << AM_MSG_SLOTS) - 1);
    assert_true(am_list_is_empty(&sender->active));
    assert_int_equal(receiver->waiting_messages, 0);
    assert_int_equal(receiver->waiting_bytes, 0);
}

static void check_counters(uint32_t rank)
{
    static const char *const zero[] = {"msg_rx_bad_id", "msg_rx_bad_length",
                                       "msg_rx_bad_credit", "msg_rx_bad_region",
                                       "msg_unexpected_bytes"};

    for (int i = 0; i < 5; i++) {
        if (world_counter(&world, rank, zero[i]) != 0) {
            fail_msg("%s of rank %u is not 0", zero[i], rank);
        }
    }
}

/* ------------------------------------------------------------------ worlds */

/* A variable, and the values that are drawn for it. */
struct choice {
    const char *name;
    const char *values[8];
};

static const struct choice choices[] = {
        {"AM_UNEXP_MAX", {"0", "4k", "24k", "256k"}},
        {"AM_BUFFER_BYTES", {"0", "4k", "8k", "64k"}},
        {"AM_BUFFER_BINS", {"0x0", "8x1k", "4x64"}},
        {"AM_PROTO",
         {"auto", "eager", "buffered", "prefix", "put", "get",
          "eager:600,buffered:5000,prefix"}},
        {"AM_PREFIX_BYTES", {"0", "512", "8k"}},
        {"AM_SHM_CMA", {"off", "auto"}},
        {"AM_BUFFERING", {"mpi", "nx", "cmmd", "pvm"}}};

enum {
    CHOICES = sizeof(choices) / sizeof(choices[0])
};

static void open_drawn(void)
{
    struct am_option options[CHOICES + 1] = {{NULL, NULL}};
    const struct am_option *const lists[RANKS] = {options, options, options};

    for (int i = 0; i < CHOICES; i++) {
        uint32_t count = 0;

        while (count < 8 && choices[i].values[count] != NULL) {
            count++;
        }
        options[i].name = choices[i].name;
        options[i].value = choices[i].values[draw(count)];
        printf("%s=%s ", options[i].name, options[i].value);
    }
    printf("\n");
    fflush(stdout);
    world_open(&world, RANKS, lists);
}

static void test_life(void **state)
{
    prng = test_prng("msg_life");
    for (int i = 0; i < WORLDS; i++) {
        open_drawn();
        for (int k = 0; k < STEPS; k++) {
            step();
        }
        finish();
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            check_pair(rank, (rank + 1) % RANKS);
            check_pair(rank, (rank + 2) % RANKS);
            check_counters(rank);
        }
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_life)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
