/*
 * The packets that the forger of a storm sends (forged_storm.h):
 *
 *   random    any words, any length
 *   mutated   a real packet, replayed as it was or with a part exchanged
 *   answers   to what is queued, out or over, by its real number
 */
#include "support/forged_storm.h"

#include "am/ctx.h"
#include "msg/msg_core.h"

#include <am.h>
#include <string.h>

/* ------------------------------------------------------------- real packets */

void storm_packet(void *user, uint32_t class, const void *hdr, size_t hdr_bytes,
                  void *data, size_t bytes)
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

void storm_forge(void)
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
