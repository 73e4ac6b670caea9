/*
 * Explicit-state search of the shipped window (am-core/chan/window*.c): every
 * interleaving of two ends, a few messages and a network that may deliver any
 * packet it holds, lose it, or deliver it and keep it, so that packets are
 * lost, doubled and overtake each other in every way.
 *
 *   actions   commit the next message, tick, deliver, deliver a copy, lose,
 *             receiver gets ready or not, an end gives its memory back
 *   checked   in every state: each message delivered once, in order, whole;
 *             from every state: with no more faults all that was committed
 *             arrives and is acknowledged, within FAIR_ROUNDS rounds
 *
 * A state is both ends with their memory, and the packets on their way, sorted
 * and without what can never be read again.  Keep-alive waits are one tick, so
 * no state depends on a count of ticks.
 */
#include "model/chan_model.h"
#include "model/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
        !defined(__OPTIMIZE__)
#define SLOW_BUILD 1
#else
#define SLOW_BUILD 0
#endif
#define FAIR_ROUNDS 40
#define END0_EPOCH  0x1000

/* ------------------------------------------------------------------ actions */

static bool act_commit(uint32_t from)
{
    struct end *end = &mc.now.end[from];
    uint32_t bytes =
            end->sent == MESSAGES_MAX ? 0 : mc.model->messages[from][end->sent];
    uint8_t *to;

    if (bytes == 0) {
        return false;
    }
    to = am_window_reserve(&end->window, mc.model->class, bytes);
    if (to == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = mc_message_byte(from, end->sent, i);
    }
    end->sent++;
    am_window_commit(&end->window, mc.model->class, 1, bytes);
    return true;
}

/* Take a packet off the net; the others stay in their order. */
static void net_remove(uint32_t index)
{
    mc.now.net_count--;
    memmove(&mc.now.net[index], &mc.now.net[index + 1],
            (mc.now.net_count - index) * sizeof(struct packet));
}

static void act_deliver(uint32_t index, bool keep)
{
    struct packet packet = mc.now.net[index];

    if (!keep) {
        net_remove(index);
    }
    am_window_packet(&mc.now.end[packet.to].window, &packet.hdr, packet.data,
                     packet.data_bytes);
}

static void act_tick(uint32_t index)
{
    am_window_tick(&mc.now.end[index].window, 1);
}

/* Give memory back; false when there is none or it is needed. */
static bool act_rest(uint32_t index)
{
    struct am_window *window = &mc.now.end[index].window;
    bool any = window->tx[0].chunks != NULL;

    if (!mc.model->rests) {
        return false;
    }
    for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
        any = any || window->rx[class].landing != NULL ||
              window->rx[class].early != NULL;
    }
    return any && am_window_rest(window);
}

/* Action number `action` on `now`; false when it is not possible, and *last
 * when there are no more numbers. */
static bool act(uint32_t action, bool *last_p)
{
    *last_p = false;
    switch (action) {
    case 0:
    case 1:
        return act_commit(action);
    case 2:
    case 3:
        act_tick(action - 2);
        return true;
    case 4:
        mc.now.end[1].ready = !mc.now.end[1].ready;
        return mc.model->readies;
    case 5:
    case 6:
        return act_rest(action - 5);
    default:
        break;
    }
    action -= 7;
    if (action / 3 >= mc.now.net_count) {
        *last_p = true;
        return false;
    }
    if (action % 3 == 2) {
        net_remove(action / 3); /* lost */
    } else {
        act_deliver(action / 3, action % 3 == 1);
    }
    return true;
}

/* From here on the network is kind: does all arrive? */
static void check_end(void)
{
    mc.now.end[0].ready = mc.now.end[1].ready = true;
    for (uint32_t round = 0; round < FAIR_ROUNDS; round++) {
        uint32_t count = mc.now.net_count;

        for (uint32_t i = 0; i < count && mc.now.net_count > 0; i++) {
            act_deliver(0, false);
        }
        for (uint32_t i = 0; i < 2; i++) {
            struct am_window *window = &mc.now.end[i].window;

            act_tick(i);
            for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
                window->tx[class].backoff = 0;
            }
            window->hello_backoff = 0;
        }
        if (am_window_is_drained(&mc.now.end[0].window) &&
            am_window_is_drained(&mc.now.end[1].window) &&
            mc.now.end[0].sent == mc.now.end[1].got &&
            mc.now.end[1].sent == mc.now.end[0].got) {
            return;
        }
    }
    mc_fail("a state from which it does not end");
}

/* ------------------------------------------------------------------- search */

static void add_now(struct explore *explore)
{
    explore_add(explore, &mc.now,
                explore_hash(&mc.now, sizeof(mc.now), explore_seeds[0]),
                explore_hash(&mc.now, sizeof(mc.now), explore_seeds[1]));
}

static void expand(const struct state *from, struct explore *explore)
{
    bool last = false;

    for (uint32_t action = 0; !last && mc.failure == NULL; action++) {
        mc.now = *from;
        if (!act(action, &last)) {
            continue;
        }
        mc_normalise();
        add_now(explore);
    }
    mc.now = *from;
    /* Nor may a timer that is shorter than the way fill a narrow net. */
    mc.net_max = mc.model->timer ? NET_MAX : mc.model->net_max;
    check_end();
    mc.net_max = mc.model->net_max;
}

/* A HELLO and a message of a connection that end 0 had before. */
static void add_stale(void)
{
    struct packet *packet = mc.now.net;

    packet[0].to = packet[1].to = 1;
    packet[0].hdr = (struct am_chan_hdr){.type = AM_CHAN_HELLO,
                                         .seq = 0x77,
                                         .conn = 1,
                                         .ack = {4, 4},
                                         .hdr_bytes = AM_CHAN_WIRE_VERSION,
                                         .message_bytes = 2};
    packet[1].hdr = (struct am_chan_hdr){.type = AM_CHAN_DATA,
                                         .conn = 0x5555,
                                         .seq = END0_EPOCH,
                                         .message_bytes = 1,
                                         .hdr_bytes = 1};
    packet[1].data_bytes = 1;
    packet[1].data[0] = 0xee;
    mc.now.net_count = 2;
}

static void start(const struct model *model)
{
    memset(&mc, 0, sizeof(mc));
    mc.model = model;
    mc.net_max = model->net_max;
    mc.params = (struct am_window_params){
            .window_packets = {model->window_packets, model->window_packets},
            .chunk_packets = model->chunk_packets,
            .chunks_max = 2,
            .payload_bytes = 1,
            .hdr_bytes_max = 2,
            .ack_fraction = 4,
            .keepalive_polls = 1,
            .timer = model->timer,
            .early_packets = model->early,
    };
    if (am_window_memory_bytes(&mc.params) > MEMORY_BYTES) {
        abort();
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct end *end = &mc.now.end[i];

        end->ready = true;
        /* The second end's numbers wrap. */
        am_window_init(&end->window, &mc.params,
                       i == 0 ? END0_EPOCH : UINT32_MAX, &mc_ops, end, mc.stats);
    }
    if (model->stale) {
        add_stale();
    }
    mc_normalise();
}

static bool search(const struct model *model)
{
    struct explore explore;
    struct state from;

    explore_open(&explore, sizeof(from));
    start(model);
    add_now(&explore);
    while (mc.failure == NULL && explore_next(&explore, &from)) {
        expand(&from, &explore);
    }
    printf("%s: %zu states, at most %zu open: %s\n", model->name, explore.seen,
           explore.depth, mc.failure == NULL ? "all end well" : mc.failure);
    explore_close(&explore);
    return mc.failure == NULL;
}

static const struct model models[] = {
        {.name = "three messages",
         .messages = {{1, 1, 1}, {0}},
         .net_max = 3,
         .window_packets = 2,
         .chunk_packets = 1},
        {.name = "chunks",
         .messages = {{2, 2}, {0}},
         .net_max = 2,
         .window_packets = 4,
         .chunk_packets = 2,
         .quick = true},
        {.name = "chunks, at rest",
         .messages = {{2, 1}, {0}},
         .net_max = 2,
         .window_packets = 4,
         .chunk_packets = 2,
         .rests = true,
         .quick = true},
        {.name = "both ways",
         .messages = {{1}, {1}},
         .class = WINDOW_REPLY,
         .net_max = 2,
         .window_packets = 2,
         .chunk_packets = 1,
         .quick = true},
        {.name = "not ready",
         .messages = {{1, 2}, {0}},
         .net_max = 2,
         .window_packets = 4,
         .chunk_packets = 2,
         .readies = true},
        {.name = "stale",
         .messages = {{1}, {0}},
         .net_max = 3,
         .window_packets = 2,
         .chunk_packets = 1,
         .stale = true,
         .quick = true},
        {.name = "timer",
         .messages = {{1, 2, 1}, {0}},
         .net_max = 3,
         .window_packets = 4,
         .chunk_packets = 2,
         .timer = true},
        {.name = "kept",
         .messages = {{1, 1, 1}, {0}},
         .net_max = 2,
         .window_packets = 3,
         .chunk_packets = 1,
         .early = 2},
        {.name = "kept chunks",
         .messages = {{2, 2}, {0}},
         .net_max = 2,
         .window_packets = 4,
         .chunk_packets = 2,
         .early = 3},
        {.name = "kept, at rest",
         .messages = {{2, 1}, {0}},
         .net_max = 2,
         .window_packets = 4,
         .chunk_packets = 2,
         .early = 2,
         .rests = true},
        {.name = "kept, not ready",
         .messages = {{1, 2}, {0}},
         .net_max = 2,
         .window_packets = 4,
         .chunk_packets = 2,
         .early = 3,
         .readies = true},
        {.name = "kept, timer",
         .messages = {{1, 2, 1}, {0}},
         .net_max = 3,
         .window_packets = 4,
         .chunk_packets = 2,
         .early = 2,
         .timer = true},
};

int main(void)
{
    bool good = true;

    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        if (!SLOW_BUILD || models[i].quick) {
            good &= search(&models[i]);
        }
    }
    return good ? 0 : 1;
}
