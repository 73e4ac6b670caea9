/*
 * Random messages among contexts with different settings.  Afterwards the
 * assignment of messages to receives is judged by MPI's rules, pair by pair:
 *
 *   a receive accepts the message it got;
 *   of two messages of one sender that a receive accepts, the one sent first
 *   is not left for a receive posted later;
 *   of two receives that accept a message, the one posted first does not get a
 *   later message of the same sender.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 4,
    TAGS = 4,
    PENDING = 64,
    HEAD_BYTES = 12,
    ROUNDS = 1500
};

enum {
    BYTES_MAX = 40000,
    MESSAGES_MAX = 4 * ROUNDS
};

/* A receive and what it got. */
struct record {
    struct am_msg_envelope envelope;
    struct am_msg_mask mask;
    bool got;
    uint32_t from, number, tag;
};

struct slot {
    struct run *run;
    struct shaped shaped;
    struct ended ended;
    struct record *record; /* receives */
    bool used;
};

struct run {
    struct world world;
    struct am_prng prng;
    struct slot sends[RANKS][PENDING], recvs[RANKS][PENDING];
    struct record *records[RANKS]; /* in the order posted */
    uint32_t record_count[RANKS];
    uint32_t number[RANKS][RANKS]; /* messages sent from, to */
    uint32_t sent[RANKS], received[RANKS];
};

static uint32_t draw(struct run *run, uint32_t below)
{
    return (uint32_t)am_prng_below(&run->prng, below);
}

static struct slot *slot_get(struct run *run, struct slot *slots)
{
    for (int i = 0; i < PENDING; i++) {
        if (!slots[i].used) {
            slots[i] = (struct slot){.run = run, .used = true};
            return &slots[i];
        }
    }
    return NULL;
}

/* Copy between flat bytes and a shape. */
static void shape_copy(const struct shaped *shaped, unsigned char *flat,
                       size_t bytes, bool in)
{
    const struct am_data *data = &shaped->data;
    uint32_t pieces = shaped->shape == SHAPE_IOV ? data->iov_count : 1;

    if (shaped->shape == SHAPE_PACK && in) {
        data->unpack(data->u.arg, 0, flat, bytes);
    } else if (shaped->shape == SHAPE_PACK) {
        data->pack(data->u.arg, 0, flat, bytes);
    }
    for (uint32_t i = 0; shaped->shape != SHAPE_PACK && i < pieces; i++) {
        bool whole = shaped->shape == SHAPE_CONTIG;
        void *at = whole ? shaped->memory : shaped->iov[i].iov_base;
        size_t length = whole ? bytes : shaped->iov[i].iov_len;

        length = length < bytes ? length : bytes;
        memcpy(in ? at : flat, in ? flat : at, length);
        flat += length;
        bytes -= length;
    }
}

static void send_one(struct run *run, uint32_t from)
{
    struct slot *slot = slot_get(run, run->sends[from]);
    uint32_t to = draw(run, RANKS), tag = draw(run, TAGS);
    size_t bytes = HEAD_BYTES + draw(run, (uint32_t)12 << draw(run, 12));
    uint32_t head[3] = {from, tag, run->number[from][to]};
    unsigned char flat[BYTES_MAX + HEAD_BYTES];
    struct am_msg_envelope envelope = {3, from, tag | draw(run, 8) << 29};

    if (slot == NULL) {
        return;
    }
    bytes = bytes < BYTES_MAX ? bytes : BYTES_MAX;
    for (size_t i = 0; i < bytes; i++) {
        flat[i] = (unsigned char)(head[2] + i * 3);
    }
    memcpy(flat, head, HEAD_BYTES);
    shaped_open(&slot->shaped, (int)draw(run, SHAPE_COUNT), bytes);
    shape_copy(&slot->shaped, flat, bytes, true);
    run->number[from][to]++;
    run->sent[to]++;
    world_send(&run->world, from, to, envelope, &slot->shaped.data,
               draw(run, 6) == 0 ? AM_MSG_SYNC : 0, &slot->ended);
}

static void recv_one(struct run *run, uint32_t at, bool any)
{
    struct slot *slot = slot_get(run, run->recvs[at]);
    struct record *record;

    if (slot == NULL || run->record_count[at] == MESSAGES_MAX) {
        if (slot != NULL) {
            slot->used = false;
        }
        return;
    }
    record = &run->records[at][run->record_count[at]++];
    *record =
            (struct record){.envelope = {3, draw(run, RANKS), draw(run, TAGS)},
                            .mask = MASK_EXACT};
    if (any || draw(run, 4) == 0) {
        record->mask.source = 0;
    }
    if (any || draw(run, 4) == 0) {
        record->mask.tag = 0;
    }
    slot->record = record;
    shaped_open(&slot->shaped, (int)draw(run, SHAPE_COUNT), BYTES_MAX);
    world_recv(&run->world, at, record->envelope, record->mask,
               &slot->shaped.data, &slot->ended);
}

static void received(struct run *run, uint32_t at, struct slot *slot)
{
    const struct am_msg_status *status = &slot->ended.status;
    unsigned char flat[BYTES_MAX];
    uint32_t head[3];

    assert_int_equal(slot->ended.count, 1);
    assert_int_equal(status->status, AM_OK);
    assert_in_range(status->bytes, HEAD_BYTES, BYTES_MAX);
    shape_copy(&slot->shaped, flat, status->bytes, false);
    memcpy(head, flat, HEAD_BYTES);
    assert_int_equal(head[0], status->peer);
    assert_int_equal(head[0], status->envelope.source);
    assert_int_equal(head[1], status->envelope.tag & ~AM_MSG_TAG_MARKS);
    assert_true(head[2] < run->number[head[0]][at]);
    for (size_t i = HEAD_BYTES; i < status->bytes; i++) {
        if (flat[i] != (unsigned char)(head[2] + i * 3)) {
            fail_msg("byte %zu of %zu is wrong", i, status->bytes);
        }
    }
    slot->record->got = true;
    slot->record->from = head[0];
    slot->record->tag = head[1];
    slot->record->number = head[2];
    run->received[at]++;
}

static void collect(struct run *run)
{
    for (int i = 0; i < RANKS * PENDING; i++) {
        uint32_t rank = (uint32_t)i / PENDING;
        struct slot *send = &run->sends[rank][i % PENDING];
        struct slot *recv = &run->recvs[rank][i % PENDING];

        if (send->used && send->ended.count != 0) {
            assert_int_equal(send->ended.count, 1);
            assert_int_equal(send->ended.status.status, AM_OK);
            shaped_close(&send->shaped);
            send->used = false;
        }
        if (recv->used && recv->ended.count != 0) {
            received(run, rank, recv);
            shaped_close(&recv->shaped);
            recv->used = false;
        }
    }
}

static void cancel_all(struct run *run, uint32_t at)
{
    for (int i = 0; i < PENDING; i++) {
        struct slot *slot = &run->recvs[at][i];

        if (slot->used && slot->ended.count == 0 &&
            am_msg_cancel(slot->ended.req) == AM_DONE) {
            shaped_close(&slot->shaped);
            slot->used = false;
        }
    }
}

static bool accepts(const struct record *recv, const struct record *message)
{
    return ((recv->envelope.source ^ message->from) & recv->mask.source) == 0 &&
           ((recv->envelope.tag ^ message->tag) & recv->mask.tag &
            ~AM_MSG_TAG_MARKS) == 0;
}

static void judge(const struct record *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_true(!records[i].got || accepts(&records[i], &records[i]));
        for (uint32_t j = i + 1; j < count && records[i].got; j++) {
            /* i was posted before j and would have taken j's message, which
             * was sent before the one that it took */
            if (records[j].got && records[j].from == records[i].from &&
                accepts(&records[i], &records[j]) &&
                records[j].number < records[i].number) {
                fail_msg("messages %u and %u of %u overtook each other",
                         records[i].number, records[j].number, records[i].from);
            }
        }
    }
}

static bool all_done(const struct run *run)
{
    for (int i = 0; i < RANKS; i++) {
        if (run->received[i] != run->sent[i]) {
            return false;
        }
        for (int k = 0; k < PENDING; k++) {
            if (run->sends[i][k].used) {
                return false;
            }
        }
    }
    return true;
}

static void drain(struct run *run)
{
    for (uint32_t i = 0; i < RANKS; i++) {
        cancel_all(run, i);
    }
    for (int polls = 0; !all_done(run); polls++) {
        if (polls == 2000000) {
            fail_msg("not all messages arrive");
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            if (run->received[i] < run->sent[i]) {
                recv_one(run, i, true);
            }
        }
        world_poll(&run->world);
        collect(run);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        cancel_all(run, i);
    }
}

static void stress(const struct am_option *const *options, const char *name)
{
    struct run *run = calloc(1, sizeof(*run));

    assert_non_null(run);
    run->prng = test_prng(name);
    for (int i = 0; i < RANKS; i++) {
        run->records[i] = calloc(MESSAGES_MAX, sizeof(struct record));
        assert_non_null(run->records[i]);
    }
    world_open(&run->world, RANKS, options);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t rank = draw(run, RANKS);
        /* bursts, so that either side gets ahead of the other */
        uint32_t burst = draw(run, 8);

        for (uint32_t i = 0; i < burst; i++) {
            if ((round / 100) % 2 == 0) {
                send_one(run, draw(run, RANKS));
            } else {
                recv_one(run, rank, false);
            }
        }
        if (draw(run, 3) == 0) {
            recv_one(run, rank, draw(run, 2) == 0);
        }
        am_ctx_poll(run->world.ctx[draw(run, RANKS)]);
        collect(run);
        if (draw(run, 50) == 0) {
            cancel_all(run, rank);
        }
    }
    drain(run);
    for (int i = 0; i < RANKS; i++) {
        judge(run->records[i], run->record_count[i]);
        free(run->records[i]);
    }
    world_close(&run->world);
    free(run);
}

static void test_default(void **state)
{
    stress(NULL, "default");
}

/* Every rank has other thresholds, regions, caps and policies. */
static void test_mixed(void **state)
{
    static const struct am_option a[] = {
            {"AM_PROTO", "eager:1k,buffered:8k,get"},
            {"AM_UNEXP_MAX", "20k"},
            {NULL, NULL}};
    static const struct am_option b[] = {
            {"AM_EAGER_MAX", "0"},     {"AM_BUFFERED_MAX", "max"},
            {"AM_BUFFER_BYTES", "4k"}, {"AM_BUFFER_BINS", "3x100"},
            {"AM_UNEXP_MAX", "0"},     {NULL, NULL}};
    static const struct am_option c[] = {{"AM_EAGER_MAX", "max"},
                                         {"AM_UNEXP_MAX", "max"},
                                         {"AM_BUFFER_BYTES", "0"},
                                         {NULL, NULL}};
    static const struct am_option d[] = {{"AM_PROTO", "prefix"},
                                         {"AM_PREFIX_BYTES", "700"},
                                         {"AM_BUFFER_BYTES", "16k"},
                                         {NULL, NULL}};
    static const struct am_option *const lists[] = {a, b, c, d};

    stress(lists, "mixed");
}

static void test_policies(void **state)
{
    static const struct am_option a[] = {
            {"AM_BUFFERING", "nx"}, {"AM_UNEXP_MAX", "100k"}, {NULL, NULL}};
    static const struct am_option b[] = {{"AM_BUFFERING", "cmmd"},
                                         {NULL, NULL}};
    static const struct am_option c[] = {
            {"AM_BUFFERING", "pvm"}, {"AM_UNEXP_MAX", "30k"}, {NULL, NULL}};
    static const struct am_option *const lists[] = {a, b, c, c};

    stress(lists, "policies");
}

/* Over the channel on a device that loses, doubles, reorders and spoils. */
static void test_faults(void **state)
{
    static const char faults[] =
            "drop=1/20,dup=1/20,reorder=1/20,corrupt=1/30,delay=1/50:8";
    static const struct am_option a[] = {
            {"AM_FAULT", faults}, {"AM_UNEXP_MAX", "50k"}, {NULL, NULL}};
    static const struct am_option b[] = {{"AM_FAULT", faults},
                                         {"AM_PROTO", "buffered:4k,prefix"},
                                         {NULL, NULL}};
    static const struct am_option c[] = {
            {"AM_FAULT", faults}, {"AM_PROTO", "eager:2k,get"}, {NULL, NULL}};
    static const struct am_option *const lists[] = {a, b, c, b};

    stress(lists, "faults");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_default),
            cmocka_unit_test(test_mixed),
            cmocka_unit_test(test_policies),
            cmocka_unit_test(test_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
