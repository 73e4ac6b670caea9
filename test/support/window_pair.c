/*
 * The pair of windows of window_pair.h.
 */
#include "support/window_pair.h"

#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

static uint8_t message_byte(uint32_t from, uint32_t class, uint64_t number,
                            uint32_t index)
{
    return (uint8_t)(number * 131 + index * 7 + class * 3 + from + 1);
}

static uint32_t message_length(const struct pair *pair, uint32_t class,
                               uint64_t number)
{
    return pair->length == NULL ? 8 : pair->length(pair, class, number);
}

static void wire_push(struct pair_end *to, const struct pair_packet *packet)
{
    if (to->wire_count < PAIR_WIRE_MAX) {
        to->wire[to->wire_count++] = *packet;
    }
}

static am_status_t end_transmit(void *arg, uint32_t class,
                                struct am_chan_hdr *hdr, const void *data,
                                uint32_t data_bytes)
{
    struct pair_end *end = arg;
    struct pair *pair = end->pair;
    struct pair_end *to = &pair->end[1 - end->index];
    struct pair_packet packet = {
            .hdr = *hdr, .class = class, .data_bytes = data_bytes};
    fate_t fate;

    if (to->wire_count == PAIR_WIRE_MAX) {
        return AM_ERR_AGAIN;
    }
    assert_true(data_bytes <= pair->params.payload_bytes);
    if (data_bytes > 0) {
        memcpy(packet.data, data, data_bytes);
    }
    end->transmitted[hdr->type]++;
    fate = pair->fate == NULL ? FATE_PASS
                              : pair->fate(pair, end->index, &packet);
    if (fate == FATE_LATE && to->wire_count > 0) {
        /* Overtakes the one before it. */
        wire_push(to, &to->wire[to->wire_count - 1]);
        if (to->wire_count < PAIR_WIRE_MAX) {
            to->wire[to->wire_count - 2] = packet;
        }
        return AM_OK;
    }
    if (fate != FATE_LOSE) {
        wire_push(to, &packet);
    }
    if (fate == FATE_DOUBLE) {
        wire_push(to, &packet);
    }
    return AM_OK;
}

static void end_deliver(void *arg, uint32_t class, void *message,
                        uint32_t hdr_bytes, uint32_t message_bytes)
{
    struct pair_end *end = arg;
    uint64_t number = end->got[class]++;
    const uint8_t *bytes = message;

    assert_true(number < end->pair->end[1 - end->index].sent[class]);
    assert_int_equal(message_bytes, message_length(end->pair, class, number));
    assert_int_equal(hdr_bytes, message_bytes < 8 ? message_bytes : 8);
    for (uint32_t i = 0; i < message_bytes; i++) {
        assert_int_equal(bytes[i],
                         message_byte(1 - end->index, class, number, i));
    }
}

static bool end_ready(void *arg)
{
    return ((struct pair_end *)arg)->ready;
}

static void *end_memory(void *arg, size_t bytes)
{
    struct pair_end *end = arg;

    end->taken++;
    return bytes <= am_window_memory_bytes(&end->pair->params) && !end->broke
                   ? end->memory
                   : NULL;
}

static void *end_landing(void *arg, uint32_t class, uint32_t bytes)
{
    struct pair_end *end = arg;

    return bytes <= PAIR_LANDING && !end->broke ? end->landing[class] : NULL;
}

static void *end_early(void *arg, uint32_t class, size_t bytes)
{
    struct pair_end *end = arg;

    if (end->early[class] == NULL && !end->poor) {
        end->early[class] = malloc(bytes);
        assert_non_null(end->early[class]);
    }
    return end->early[class];
}

static const struct am_window_ops end_ops = {
        .transmit = end_transmit,
        .deliver = end_deliver,
        .ready = end_ready,
        .memory = end_memory,
        .landing = end_landing,
        .early = end_early,
};

struct am_window_params pair_sp_params(void)
{
    return (struct am_window_params){
            .window_packets = {75, 76},
            .chunk_packets = 36,
            .chunks_max = 2,
            .payload_bytes = 224,
            .hdr_bytes_max = 64,
            .ack_fraction = 4,
            .keepalive_polls = 20,
            .rto_ps = 1000,
            .rto_max_ps = 16000,
            .ack_delay_ps = 300,
    };
}

struct pair *pair_open(const struct am_window_params *params, uint32_t epoch0,
                       uint32_t epoch1)
{
    struct pair *pair = calloc(1, sizeof(*pair));

    assert_non_null(pair);
    pair->params = *params;
    pair->tick_ps = 100;
    for (uint32_t i = 0; i < 2; i++) {
        struct pair_end *end = &pair->end[i];

        end->pair = pair;
        end->index = i;
        end->ready = true;
        end->memory = malloc(am_window_memory_bytes(params));
        assert_non_null(end->memory);
        for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
            end->landing[class] = malloc(PAIR_LANDING);
            assert_non_null(end->landing[class]);
        }
        am_window_init(&end->window, &pair->params, i == 0 ? epoch0 : epoch1,
                       &end_ops, end, end->stats);
    }
    return pair;
}

void pair_close(struct pair *pair)
{
    for (uint32_t i = 0; i < 2; i++) {
        free(pair->end[i].memory);
        free(pair->end[i].landing[0]);
        free(pair->end[i].landing[1]);
        free(pair->end[i].early[0]);
        free(pair->end[i].early[1]);
    }
    free(pair);
}

struct pair *pair_open_sp(void)
{
    struct am_window_params params = pair_sp_params();

    return pair_open(&params, 0x1234, 0x9876);
}

uint32_t pair_length_chunk(const struct pair *pair, uint32_t class,
                           uint64_t number)
{
    return pair->params.chunk_packets * pair->params.payload_bytes;
}

/* The rule: from, type, class, first, count, and how many there were. */
static fate_t fate_rule(struct pair *pair, uint32_t from,
                        const struct pair_packet *packet)
{
    uint32_t *rule = pair->rule;

    if (from != rule[0] || packet->hdr.type != rule[1] ||
        packet->hdr.class != rule[2]) {
        return FATE_PASS;
    }
    rule[5]++;
    return rule[5] > rule[3] && rule[5] <= rule[3] + rule[4] ? FATE_LOSE
                                                             : FATE_PASS;
}

void pair_lose(struct pair *pair, uint32_t from, uint32_t type, uint32_t class,
               uint32_t first, uint32_t count)
{
    const uint32_t rule[8] = {from, type, class, first, count};

    memcpy(pair->rule, rule, sizeof(rule));
    pair->fate = fate_rule;
}

bool pair_send(struct pair *pair, uint32_t from, uint32_t class)
{
    struct pair_end *end = &pair->end[from];
    uint64_t number = end->sent[class];
    uint32_t bytes = message_length(pair, class, number);
    uint8_t *to = am_window_reserve(&end->window, class, bytes);

    if (to == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = message_byte(from, class, number, i);
    }
    end->sent[class]++;
    am_window_commit(&end->window, class, bytes < 8 ? bytes : 8, bytes);
    return true;
}

uint32_t pair_deliver(struct pair *pair, uint32_t to)
{
    struct pair_end *end = &pair->end[to];
    uint32_t count = end->wire_count;
    struct pair_packet *packets = malloc((count + 1) * sizeof(*packets));

    assert_non_null(packets);
    memcpy(packets, end->wire, count * sizeof(*packets));
    end->wire_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        am_window_packet(&end->window, &packets[i].hdr, packets[i].data,
                         packets[i].data_bytes);
    }
    free(packets);
    return count;
}

void pair_step(struct pair *pair)
{
    pair->now_ps += pair->tick_ps;
    for (uint32_t i = 0; i < 2; i++) {
        pair_deliver(pair, i);
        am_window_tick(&pair->end[i].window, pair->now_ps);
    }
}

static bool pair_is_settled(const struct pair *pair)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct pair_end *end = &pair->end[i], *peer = &pair->end[1 - i];

        if (!am_window_is_drained(&end->window) ||
            end->sent[0] != peer->got[0] || end->sent[1] != peer->got[1]) {
            return false;
        }
    }
    return true;
}

uint32_t pair_settle(struct pair *pair, uint32_t steps_max)
{
    for (uint32_t i = 0; i <= steps_max; i++) {
        if (pair_is_settled(pair)) {
            return i;
        }
        pair_step(pair);
    }
    return steps_max + 1;
}

void pair_connect(struct pair *pair)
{
    assert_true(pair_send(pair, 0, 0));
    assert_true(pair_settle(pair, 200) <= 200);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(pair->end[i].window.state, AM_WINDOW_OPEN);
        memset(pair->end[i].transmitted, 0, sizeof(pair->end[i].transmitted));
        memset(pair->end[i].stats, 0, sizeof(pair->end[i].stats));
    }
}

void pair_send_all(struct pair *pair, int messages)
{
    for (int i = 0; i < messages; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
    }
}

uint64_t pair_again(const struct pair *pair)
{
    return pair->end[0].stats[AM_CHAN_STAT_TX_RETRANSMITTED];
}

struct pair *pair_open_grown(struct am_window_params *params, uint32_t kept,
                             int steps)
{
    struct pair *pair;

    params->adapts = true;
    params->window_packets[0] = params->window_packets[1] = PAIR_WINDOW;
    params->chunk_packets = PAIR_CHUNK;
    params->chunks_max = AM_CHAN_WINDOW_MAX;
    params->early_packets = kept;
    pair = pair_open(params, 11, UINT32_MAX - 20);
    pair_connect(pair);
    pair->length = pair_length_chunk;
    for (int i = 0; i < steps; i++) {
        while (pair_send(pair, 0, REQUEST)) {
        }
        pair_step(pair);
    }
    assert_true(pair_settle(pair, 100) <= 100);
    return pair;
}
