/*
 * A storm of forged packets: a peer sends one of the others whatever comes to
 * its mind, for every handler number, while real operations of every kind are
 * under way between all of them.  Nothing may go wrong inside (run it under the
 * sanitizers: make check-asan), nothing ends twice, and what the victim does
 * with an honest peer is right to the last byte.
 *
 *   random    any words, any length
 *   mutated   a real packet, replayed as it was or with a part exchanged
 *   answers   to what is queued, out or over, by its real number
 *
 * AM_TEST_PACKETS=1000000 sends a million (some minutes under the sanitizers),
 * AM_TEST_SEED repeats a run:
 *
 *   make check-asan
 *   AM_TEST_PACKETS=1000000 build-asan/test/unit/am_forged_random_test
 *
 * All are in one process, where a single copy is a plain one that believes the
 * key; so there is none here (AM_SHM_CMA=off).
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include "am/client.h"
#include "msg/msg_core.h"

#include <am.h>
#include <string.h>

enum {
    VICTIM,
    FORGER,
    HONEST,
    RANKS,
    OPS = 32,  /* under way */
    FAIR = 10, /* of them with the honest peer, the first ones */
    AREA = 40000,
    STORM = 4000, /* packets of one storm; then all is closed and begins anew */
    PACKETS = 40000,
    KEPT = 64, /* real packets */
    KEPT_BYTES = 256,
    HELD = 16, /* receives that are deferred */
    H_USER = AM_HANDLER_USER,
    CONTEXT = 0x5a17c0de, /* of messages; + 1 with the forger */
    WAIT_POLLS = 2000000
};

enum {
    PUT,
    GET,
    ADD,
    STORE,
    SEND, /* to a client, from the victim */
    TAKE, /* to the victim's client */
    SEND_MESSAGE,
    TAKE_MESSAGE,
    KINDS
};

struct op {
    int kind;
    bool busy;
    uint32_t peer;
    size_t bytes;
    unsigned char *mine;   /* the victim's, AREA */
    unsigned char *theirs; /* the peer's, in its region */
    uint64_t old, added;
    struct ended out, in;
};

struct kept {
    uint32_t class, word_count, handler, aux;
    uint64_t words[AM_WORDS_MAX];
    size_t bytes;
    unsigned char data[KEPT_BYTES];
};

static struct storm {
    struct world world;
    struct am_prng prng;
    struct op ops[OPS];
    unsigned char *areas[RANKS]; /* OPS * AREA, registered */
    struct am_key keys[RANKS];
    struct am_client *clients[RANKS];
    unsigned char scratch[AREA];
    struct am_recv *held[HELD];
    uint32_t held_count;
    struct kept kept[KEPT];
    uint32_t kept_count;
    uint64_t sum; /* of what handlers read */
    uint64_t sent, ended;
} storm;

static uint64_t below(uint64_t bound)
{
    return am_prng_below(&storm.prng, bound);
}

static bool chance(uint32_t one_in)
{
    return below(one_in) == 0;
}

/* -------------------------------------------------------------- real packets */

static void packet(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t bytes)
{
    const struct am_peer *peer = user;
    const struct am_packet_hdr *p = hdr;
    uint32_t handler = p->hdr.handler;
    bool envelope = handler == AM_MSG_H_EAGER || handler == AM_MSG_H_FIRST ||
                    handler == AM_MSG_H_BUFFERED || handler == AM_MSG_H_RTS;

    /* an envelope names its source itself: an honest one is not to be copied */
    if (p->hdr.word_count <= AM_WORDS_MAX &&
        (peer->index == FORGER || !envelope) && chance(4)) {
        struct kept *kept = &storm.kept[storm.kept_count++ % KEPT];

        kept->class = class;
        kept->handler = handler;
        kept->aux = p->hdr.aux;
        kept->word_count = p->hdr.word_count;
        memcpy(kept->words, p->words, p->hdr.word_count * sizeof(uint64_t));
        kept->bytes = bytes;
        if (bytes > 0) {
            memcpy(kept->data, data, bytes < KEPT_BYTES ? bytes : KEPT_BYTES);
        }
    }
    am_dispatch(user, class, hdr, hdr_bytes, data, bytes);
}

/* ------------------------------------------------------------- the upper side */

static void on_user(struct am_token *token, const uint64_t *words,
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
static am_status_t on_receive(void *arg, struct am_recv *recv, uint32_t source,
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

static void supply_held(void)
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

/* Take a message of the forger's that nobody waits for. */
static void take_unexpected(void)
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

static void start(struct op *op)
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

/* Look at one operation: has it ended, and not more than once? */
static void look(struct op *op)
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

/* The victim gives up a message with the forger. */
static void cancel(struct op *op)
{
    struct ended *ended = op->kind == SEND_MESSAGE ? &op->out : &op->in;

    if (op->busy && op->kind >= SEND_MESSAGE && op->peer == FORGER &&
        ended->count == 0 && ended->req != NULL &&
        am_msg_cancel(ended->req) == AM_DONE) {
        ended->count = 1;
    }
}

/* ---------------------------------------------------------------- forgeries */

static uint64_t edge(void)
{
    static const uint64_t edges[] = {
            0,   1,    7,    8,     16,    63,      64,         255,
            256, 4095, AREA, 65535, 65536, 1 << 30, 0x7fffffff, 0xffffffffu};
    uint64_t value = edges[below(16)];

    switch (below(8)) {
    case 0:
        return am_prng_next(&storm.prng);
    case 1:
        return UINT64_MAX - value;
    case 2:
        return value << 32;
    case 3:
        return ((uint64_t)1 << 63) - value;
    default:
        return value;
    }
}

/* A number that means something to the victim, now or until just now. */
static uint64_t known(void)
{
    const struct am_ctx *ctx = storm.world.ctx[VICTIM];
    const struct op *op = &storm.ops[below(OPS)];
    const struct ended *ended = chance(2) ? &op->out : &op->in;
    bool here = ended == (op->kind == SEND_MESSAGE ? &op->out : &op->in);
    uint32_t index;

    if (chance(3) && op->busy && op->kind >= SEND_MESSAGE && here &&
        ended->count == 0 && ended->req != NULL) {
        return ended->req->id;
    }
    if (chance(4)) {
        return (uintptr_t)storm.areas[VICTIM] + below((uint64_t)OPS * AREA);
    }
    if (ctx->handle_count == 0) {
        return 0;
    }
    index = (uint32_t)below(ctx->handle_count < 80 ? ctx->handle_count : 80);
    return (uint64_t)(ctx->handles[index].generation - chance(4)) << 32 | index;
}

static uint64_t word(void)
{
    switch (below(4)) {
    case 0:
        return known();
    case 1:
        return below(20);
    default:
        return edge();
    }
}

static void forge_random(struct kept *p)
{
    p->handler = (uint32_t)below(chance(2) ? 48 : AM_HANDLERS_MAX);
    p->aux = (uint32_t)word();
    p->word_count = (uint32_t)below(AM_WORDS_MAX + 1);
    p->bytes = chance(3) ? below(2000) : below(100);
    for (uint32_t i = 0; i < AM_WORDS_MAX; i++) {
        p->words[i] = word();
    }
}

static void forge_mutated(struct kept *p)
{
    uint32_t kept = storm.kept_count < KEPT ? storm.kept_count : KEPT;
    uint32_t changes = (uint32_t)below(3);

    if (kept == 0) {
        forge_random(p);
        return;
    }
    *p = storm.kept[below(kept)];
    for (uint32_t i = 0; i < changes; i++) {
        uint64_t *at = &p->words[below(AM_WORDS_MAX)];

        switch (below(8)) {
        case 0:
            p->handler = (uint32_t)below(AM_HANDLERS_MAX);
            break;
        case 1:
            p->aux = (uint32_t)word();
            break;
        case 2:
            p->word_count = (uint32_t)below(AM_WORDS_MAX + 1);
            break;
        case 3:
            p->bytes = below(2000);
            break;
        case 4:
            *at += below(5) - 2;
            break;
        default:
            at = &p->words[below(p->word_count == 0 ? 1 : p->word_count)];
            *at = word();
            break;
        }
    }
}

static void forge_answer(struct kept *p)
{
    static const struct {
        uint32_t handler, word_count;
    } answers[] = {
            {AM_H_ACK, 2},         {AM_H_REFUSED, 1},  {AM_H_FETCHED, 3},
            {AM_H_SEND_FIN, 2},    {AM_H_STREAM, 2},   {AM_H_STREAM, 4},
            {AM_H_STREAM_LAST, 6}, {AM_MSG_H_CTS, 7},  {AM_MSG_H_END, 2},
            {AM_MSG_H_PUT_END, 1}, {AM_MSG_H_FAIL, 2}, {AM_MSG_H_MORE, 1},
            {AM_MSG_H_CANCEL, 1}};

    uint32_t which = (uint32_t)below(sizeof(answers) / sizeof(answers[0]));

    p->handler = answers[which].handler;
    p->word_count = answers[which].word_count;
    p->aux = (uint32_t)word();
    p->bytes = chance(2) ? 0 : below(1000);
    for (uint32_t i = 0; i < AM_WORDS_MAX; i++) {
        p->words[i] = chance(2) ? below(3) : word();
    }
    p->words[0] = known();
    if (p->handler == AM_H_STREAM && p->word_count == 2 && chance(2)) {
        p->aux = (uint32_t)p->bytes;
    } else if (p->handler == AM_H_STREAM_LAST) { /* and what may follow it */
        p->words[2] = chance(4) ? below(AM_HANDLERS_MAX) : below(66);
        p->words[3] = chance(2) ? 0 : known();
        p->words[4] = chance(2) ? p->bytes : edge();
    } else if (p->handler == AM_MSG_H_FAIL) {
        p->words[1] = (uint64_t)(int64_t) - (int)below(20);
    }
}

static void forge(void)
{
    static unsigned char data[16384];
    struct am_peer *peer = storm.world.ctx[FORGER]->peers[VICTIM];
    struct kept p = {0};

    p.class = (uint32_t)below(AM_DEV_CLASS_COUNT);
    switch (below(3)) {
    case 0:
        forge_random(&p);
        break;
    case 1:
        forge_mutated(&p);
        break;
    default:
        forge_answer(&p);
        break;
    }
    memcpy(data, p.data, KEPT_BYTES);
    if (p.bytes > am_peer_payload_max(peer, AM_WORDS_MAX)) {
        p.bytes = am_peer_payload_max(peer, AM_WORDS_MAX);
    }
    if (p.bytes > sizeof(data)) {
        p.bytes = sizeof(data);
    }
    for (int i = 0; i < 100; i++) {
        if (peer->send(peer->ep, p.class,
                       am_hdr_bits(p.handler, p.aux, p.word_count), p.words,
                       data, p.bytes) != AM_ERR_AGAIN) {
            break;
        }
        (void)am_ctx_poll(storm.world.ctx[VICTIM]);
        (void)am_ctx_poll(storm.world.ctx[FORGER]);
    }
    storm.sent++;
}

/* -------------------------------------------------------------------- a storm */

static void storm_open(uint64_t number)
{
    static const char *const protos[] = {"auto",   "eager", "buffered",
                                         "prefix", "get",   "put"};
    bool is_narrow = number / 6 % 2 == 0; /* what it sends often waits */
    const struct am_option list[] = {
            {"AM_SHM_CMA", "off"},
            {"AM_LOG", "none"},
            {"AM_UNEXP_MAX", "1m"},
            {"AM_PROTO", protos[number % 6]},
            {"AM_BUFFERING", number % 5 == 4 ? "pvm" : "mpi"},
            {is_narrow ? "AM_SHM_SLOTS" : NULL, "4"},
            {"AM_SHM_RING", "16k"},
            {"AM_SHM_PACKET", "2k"},
            {NULL, NULL}};
    const struct am_option *options[RANKS] = {list, list, list};

    world_open(&storm.world, RANKS, options);
    storm.kept_count = storm.held_count = 0;
    for (uint32_t i = 0; i < RANKS; i++) {
        struct am_ctx *ctx = storm.world.ctx[i];
        struct am_region *region;

        storm.areas[i] = calloc(OPS, AREA);
        am_region_register(ctx, storm.areas[i], (size_t)OPS * AREA, &region);
        am_region_key(region, &storm.keys[i]);
        am_handler_register(ctx, H_USER, on_user, NULL, "user");
        am_client_register(ctx, AM_ORDERED, on_receive, NULL,
                           &storm.clients[i]);
    }
    for (uint32_t i = 0; i < OPS; i++) {
        struct op *op = &storm.ops[i];

        memset(op, 0, sizeof(*op));
        op->peer = i < FAIR ? HONEST : FORGER;
        op->mine = calloc(1, AREA);
        op->theirs = storm.areas[op->peer] + (size_t)i * AREA;
    }
    world_settle(&storm.world);
    assert_int_equal(am_ctx_try_request(storm.world.ctx[FORGER], VICTIM, H_USER,
                                        NULL, 0, NULL, 0),
                     AM_OK);
    world_settle(&storm.world);
    storm.world.ctx[VICTIM]->devs[0]->up.packet = packet;
}

/* All that the honest peer has to do with must end. */
static void storm_close(void)
{
    for (uint32_t i = 0; i < FAIR; i++) {
        struct op *op = &storm.ops[i];

        for (int n = 0; op->busy; n++) {
            if (n == WAIT_POLLS) {
                fail_msg("operation %d of %zu bytes does not end: %d %d",
                         op->kind, op->bytes, op->out.count, op->in.count);
            }
            world_poll(&storm.world);
            look(op);
        }
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        am_close(storm.world.ctx[i]);
        free(storm.areas[i]);
    }
    for (uint32_t i = 0; i < OPS; i++) {
        free(storm.ops[i].mine);
    }
}

static void storm_run(uint64_t number, uint64_t packets)
{
    storm_open(number);
    for (uint64_t i = 0; i < packets; i++) {
        struct op *op = &storm.ops[below(OPS)];

        look(op);
        if (!op->busy && chance(2)) {
            start(op);
        }
        forge();
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            if (chance(rank == VICTIM ? 2 : 4)) {
                (void)am_ctx_poll(storm.world.ctx[rank]);
            }
        }
        if (chance(16)) {
            supply_held();
            take_unexpected();
            cancel(&storm.ops[below(OPS)]);
        }
    }
    storm_close();
}

static void test_storms(void **state)
{
    const char *text = getenv("AM_TEST_PACKETS");
    uint64_t packets = text != NULL ? strtoull(text, NULL, 0) : PACKETS;

    storm.prng = test_prng("am_forged_random_test");
    for (uint64_t number = 0; storm.sent < packets; number++) {
        uint64_t left = packets - storm.sent;

        storm_run(number, left < STORM ? left : STORM);
    }
    printf("%" PRIu64 " packets forged, %" PRIu64 " operations ended\n",
           storm.sent, storm.ended);
    assert_true(storm.ended > packets / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_storms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
