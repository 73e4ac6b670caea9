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
#include "chan/window_inl.h"
#include "model/explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NET_MAX       8 /* packets on their way, when the network is kind */
#define MEMORY_BYTES  256
#define LANDING_BYTES 8
#define EARLY_BYTES   192
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
        !defined(__OPTIMIZE__)
#define SLOW_BUILD 1
#else
#define SLOW_BUILD 0
#endif
#define FAIR_ROUNDS  40
#define MESSAGES_MAX 4
#define END0_EPOCH   0x1000

struct packet {
    struct am_chan_hdr hdr;
    uint8_t to, class, data_bytes, data[5];
};

struct end {
    struct am_window window;
    _Alignas(8) uint8_t memory[MEMORY_BYTES];
    uint8_t landing[AM_WINDOW_CLASSES][LANDING_BYTES];
    _Alignas(8) uint8_t early[EARLY_BYTES]; /* of the model's class */
    uint8_t sent, got; /* messages; got: of the peer's */
    bool ready;
};

struct state {
    struct end end[2];
    uint32_t net_count;
    struct packet net[NET_MAX];
};

/* What is searched: packets of the messages of each end, and the net. */
struct model {
    const char *name;
    uint8_t messages[2][MESSAGES_MAX]; /* packets of each; 0 ends the list */
    uint8_t class;                     /* of all of them */
    uint32_t net_max; /* packets on their way, both ways; then AGAIN */
    uint32_t window_packets, chunk_packets;
    uint32_t early;      /* packets kept that came too early */
    bool timer, readies; /* end 1 is not ready at times */
    bool stale;          /* packets of an earlier connection are about */
    bool rests;          /* ends give their memory back */
    bool quick;          /* also in a build with a sanitizer */
};

/* One search at a time: the windows hold pointers into `now`. */
static struct {
    const struct model *model;
    struct am_window_params params;
    struct state now;
    uint64_t stats[AM_CHAN_STAT_COUNT];
    uint32_t net_max;
    const char *failure;
} mc;

static void fail(const char *what)
{
    if (mc.failure == NULL) {
        mc.failure = what;
    }
}

/* ---------------------------------------------------------- the two ends */

static uint8_t message_byte(uint32_t from, uint32_t number, uint32_t index)
{
    return (uint8_t)(1 + from * 100 + number * 10 + index);
}

static am_status_t mc_transmit(void *arg, uint32_t class,
                               struct am_chan_hdr *hdr, const void *data,
                               uint32_t data_bytes)
{
    struct packet *packet = &mc.now.net[mc.now.net_count];

    if (mc.now.net_count == mc.net_max) {
        return AM_ERR_AGAIN;
    }
    memset(packet, 0, sizeof(*packet));
    packet->hdr = *hdr;
    packet->to = arg == &mc.now.end[0];
    packet->class = (uint8_t) class;
    packet->data_bytes = (uint8_t)data_bytes;
    if (data_bytes > 0) {
        memcpy(packet->data, data, data_bytes);
    }
    mc.now.net_count++;
    return AM_OK;
}

static void mc_deliver(void *arg, uint32_t class, void *message,
                       uint32_t hdr_bytes, uint32_t message_bytes)
{
    struct end *end = arg;
    uint32_t from = end == &mc.now.end[0];
    uint8_t *bytes = message;

    if (end->got >= mc.now.end[from].sent) {
        fail("delivered what was not sent");
        return;
    }
    if (message_bytes != mc.model->messages[from][end->got] ||
        class != mc.model->class || hdr_bytes != 1) {
        fail("delivered with a wrong length");
        return;
    }
    for (uint32_t i = 0; i < message_bytes; i++) {
        if (bytes[i] != message_byte(from, end->got, i)) {
            fail("delivered out of order, twice, or spoilt");
        }
    }
    if (class == WINDOW_REQUEST && !end->ready) {
        fail("delivered though not ready");
    }
    end->got++;
}

static bool mc_ready(void *arg)
{
    return ((struct end *)arg)->ready;
}

static void *mc_memory(void *arg, size_t bytes)
{
    return bytes <= MEMORY_BYTES ? ((struct end *)arg)->memory : NULL;
}

static void *mc_landing(void *arg, uint32_t class, uint32_t bytes)
{
    return bytes <= LANDING_BYTES ? ((struct end *)arg)->landing[class] : NULL;
}

static void *mc_early(void *arg, uint32_t class, size_t bytes)
{
    return class == mc.model->class && bytes <= EARLY_BYTES
                   ? ((struct end *)arg)->early
                   : NULL;
}

static const struct am_window_ops mc_ops = {mc_transmit, mc_deliver, mc_ready,
                                            mc_memory, mc_landing, mc_early};

/* Drop what is never read again, so that equal futures are equal states. */
static void normalise_tx(struct am_window_tx *tx)
{
    struct am_window_chunk chunks[16];
    uint8_t slots[32] = {0};
    uint32_t entries = tx->chunk_mask + 1;

    tx->quiet_polls = tx->backoff = 0;
    tx->quiet_ps = 0;
    if (tx->chunks == NULL) {
        return;
    }
    memset(chunks, 0, sizeof(chunks));
    for (uint32_t i = tx->chunk_una; i != tx->chunk_next; i++) {
        const struct am_window_chunk *chunk = &tx->chunks[i & tx->chunk_mask];

        chunks[i & tx->chunk_mask] = *chunk;
        memcpy(slots + chunk->slot, tx->slots + chunk->slot, chunk->packets);
    }
    memcpy(tx->chunks, chunks, entries * sizeof(chunks[0]));
    memcpy(tx->slots, slots, tx->slot_count);
}

static void normalise_rx(struct am_window_rx *rx)
{
    if (rx->offset == 0) {
        rx->message_bytes = rx->hdr_bytes = 0;
    }
    if (!rx->gap) {
        rx->gap_seq = rx->gap_offset = 0;
    }
    if (rx->landing != NULL) {
        memset(rx->landing + rx->offset, 0, LANDING_BYTES - rx->offset);
    }
    rx->untold_ps = 0;
    if (rx->early != NULL) {
        for (uint32_t i = 0; i < rx->early->count; i++) {
            if (!rx->early->kept[i].used) {
                memset(window_early_data(rx->early, i), 0,
                       rx->early->data_stride);
            }
        }
    }
}

/* What a window has given back is all the same. */
static void normalise_memory(struct end *end)
{
    struct am_window *window = &end->window;

    if (window->tx[0].chunks == NULL) {
        memset(end->memory, 0, sizeof(end->memory));
    }
    for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
        if (window->rx[class].landing == NULL) {
            memset(end->landing[class], 0, LANDING_BYTES);
        }
    }
    if (window->rx[mc.model->class].early == NULL) {
        memset(end->early, 0, sizeof(end->early));
    }
}

static int packet_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct packet));
}

static void normalise(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct am_window *window = &mc.now.end[i].window;

        for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
            normalise_tx(&window->tx[class]);
            normalise_rx(&window->rx[class]);
        }
        normalise_memory(&mc.now.end[i]);
        window->hello_polls = window->hello_backoff = 0;
        window->hello_ps = 0;
    }
    qsort(mc.now.net, mc.now.net_count, sizeof(struct packet), packet_order);
    memset(&mc.now.net[mc.now.net_count], 0,
           (NET_MAX - mc.now.net_count) * sizeof(struct packet));
}

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
        to[i] = message_byte(from, end->sent, i);
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
    fail("a state from which it does not end");
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
        normalise();
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
    normalise();
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
