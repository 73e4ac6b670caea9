/*
 * Explicit-state search of the shipped lanes of shared memory (dev/shm's
 * shm_tx.c, shm_tx_data.c and shm_rx.c): one end sends requests of a few lengths, the other
 * answers each with a reply, through rings so small that they are full, empty,
 * wrapped and begun again in every way.
 *
 *   actions   send a request of a length; take one packet; answer; what a
 *             receiver has published becomes visible to its sender (slots and
 *             bytes each by itself, late as from a store buffer)
 *   checked   in every state: each packet arrives once, in order, with its
 *             length; none is laid over one that is not consumed; a request is
 *             taken only if its reply finds room; no lane is declared broken;
 *             from every state: when both ends poll and all becomes visible,
 *             the largest request can be sent
 *
 * A state holds positions modulo the rings, so the search is of runs of any
 * length.  Payload is not looked at: where it lies is.
 */
#include "dev/shm/shm_inl.h"
#include "model/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MAX  4
#define SIZES_MAX  3
#define FAIR_TURNS 64
#define HDR_BYTES  32 /* of a packet with a payload outside its slot */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
        !defined(__OPTIMIZE__)
#define SLOW_BUILD 1
#else
#define SLOW_BUILD 0
#endif

/* A packet under way: where its payload lies in the ring, if it has any. */
struct flight {
    uint32_t at, bytes, payload;
};

struct lane {
    struct shm_slot slots[SLOTS_MAX];
    struct shm_head told, seen; /* by the receiver; as the sender sees it */
    struct flight flights[SLOTS_MAX];
    uint32_t flight_count;
};

/* End 0 asks and end 1 answers. */
struct state {
    struct lane lanes[2]; /* by class: requests to end 1, replies to end 0 */
    struct shm_tx tx[2];  /* by class: of its one sender */
    struct shm_rx rx[2];
    uint64_t reply_room; /* what end 1 remembers of its lane of replies */
};

struct model {
    const char *name;
    uint32_t slots, ring_bytes;      /* of requests; replies have a quarter */
    uint32_t made;                   /* of the ring, at first; 0: all */
    uint32_t sizes[SIZES_MAX];       /* payload of requests; 0: all inside */
    uint32_t reply_sizes[SIZES_MAX]; /* the last of both is repeated */
    bool quick;                      /* also in a build with a sanitizer */
};

/* One search at a time: lanes hold pointers into `now`. */
static struct {
    const struct model *model;
    struct state now;
    struct shm_dev dev[2];
    struct shm_ep ep[2];
    struct shm_ep *active[2];
    struct shm_seg seg;
    struct shm_slot idle; /* of the lanes' other classes, which nobody uses */
    _Atomic uint32_t awake;
    uint64_t stats[AM_DEV_STAT_COUNT];
    char data[2][16384];
    uint32_t reply_bytes; /* of the answer to the next request */
    const char *failure;
} mc;

static void fail(const char *what)
{
    if (mc.failure == NULL) {
        mc.failure = what;
    }
}

/* ------------------------------------------------------------- both ends */

static uint32_t class_bytes(uint32_t bytes, uint32_t class)
{
    return bytes >> 2 * class;
}

/* Remember where the packet just sent lies, which must be free. */
static void flight_add(uint32_t class, const struct shm_slot *slot,
                       uint32_t payload)
{
    struct lane *lane = &mc.now.lanes[class];
    struct flight new = {0, (uint32_t)shm_data_units(payload), payload};

    if (lane->flight_count == mc.model->slots) {
        fail("more packets than slots");
        return;
    }
    if (payload > 0) {
        new.at = (uint32_t)slot->u.ext.place;
    }
    if (new.at + new.bytes > class_bytes(mc.model->ring_bytes, class)) {
        fail("a payload over the ring's end");
    }
    for (uint32_t i = 0; i < lane->flight_count; i++) {
        const struct flight *old = &lane->flights[i];

        if (new.at < old->at + old->bytes && old->at < new.at + new.bytes) {
            fail("a payload over one that is not consumed");
        }
    }
    lane->flights[lane->flight_count++] = new;
}

static am_status_t send(uint32_t class, uint32_t payload)
{
    static const uint64_t hdr[HDR_BYTES / 8];
    static char data[4096];
    struct shm_ep *ep = &mc.ep[class];
    am_status_t status =
            shm_send(&ep->ep, class, hdr,
                     payload > 0 ? HDR_BYTES : sizeof(*hdr), data, payload);

    if (status == AM_OK) {
        flight_add(class, ep->tx[class].next - 1, payload);
    }
    return status;
}

static void on_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t bytes)
{
    struct lane *lane = &mc.now.lanes[class];
    struct flight first = lane->flights[0];

    (void)user;
    (void)hdr;
    if (lane->flight_count == 0) {
        fail("delivered what was not sent");
        return;
    }
    if (bytes != first.payload ||
        hdr_bytes != (bytes > 0 ? HDR_BYTES : sizeof(uint64_t)) ||
        (bytes > 0 && (char *)data != mc.data[class] + first.at)) {
        fail("delivered another length or place than was sent");
    }
    if (class == AM_DEV_REQUEST &&
        send(AM_DEV_REPLY, mc.reply_bytes) != AM_OK) {
        fail("a request was taken without room for its reply");
    }
    /* Until the upcall returns the payload is not to be written over. */
    lane->flight_count--;
    memmove(lane->flights, lane->flights + 1,
            lane->flight_count * sizeof(lane->flights[0]));
    memset(&lane->flights[lane->flight_count], 0, sizeof(lane->flights[0]));
}

/* ------------------------------------------------------------------ states */

/* The ends' halves of the lanes are the state's while it is looked at. */
static void load(const struct state *state)
{
    mc.now = *state;
    for (uint32_t class = 0; class < 2; class ++) {
        mc.ep[class].tx[class] = mc.now.tx[class];
        mc.ep[1 - class].rx[class] = mc.now.rx[class];
    }
    mc.ep[1].reply_room = mc.now.reply_room != 0;
}

/* Count from the last position that all have passed: whole laps are taken off
 * every number. */
static void normalise_lane(struct lane *lane, struct shm_tx *tx,
                           struct shm_rx *rx)
{
    uint64_t depth = tx->mask + 1, laps = tx->limit / depth - 1;
    uint64_t slots = laps * depth, at = rx->stop_at - (rx->stop - rx->next);
    uint64_t bytes = (tx->data_limit / tx->ring_bytes - 1) * tx->ring_bytes;
    struct shm_slot kept[SLOTS_MAX];

    memset(kept, 0, sizeof(kept));
    for (uint32_t i = 0; i < lane->flight_count; i++) {
        uint32_t index = (at + i) & tx->mask;

        kept[index] = lane->slots[index];
        kept[index].ctl -= laps | laps << 48; /* few: neither wraps */
    }
    memcpy(lane->slots, kept, sizeof(kept));
    tx->stamp = tx->next == tx->stop ? 0 : tx->stamp - (laps | laps << 48);
    rx->lap -= (uint32_t)laps;
    rx->whole -= laps;
    rx->told_slots -= slots;
    rx->told_data -= bytes;
    tx->stop_at -= slots;
    tx->limit -= slots;
    rx->stop_at -= slots;
    lane->told.slots -= slots;
    lane->seen.slots -= slots;
    tx->data_tail -= bytes;
    tx->data_limit -= bytes;
    tx->data_known -= bytes;
    rx->data_head -= bytes;
    lane->told.data_bytes -= bytes;
    lane->seen.data_bytes -= bytes;
}

static void store(void)
{
    for (uint32_t class = 0; class < 2; class ++) {
        mc.now.tx[class] = mc.ep[class].tx[class];
        mc.now.rx[class] = mc.ep[1 - class].rx[class];
        normalise_lane(&mc.now.lanes[class], &mc.now.tx[class],
                       &mc.now.rx[class]);
    }
    mc.now.reply_room = mc.ep[1].reply_room;
}

static void start(const struct model *model)
{
    memset(&mc, 0, sizeof(mc));
    mc.model = model;
    for (uint32_t i = 0; i < 2; i++) {
        struct lane *lane = &mc.now.lanes[i];
        uint32_t ring_bytes = class_bytes(model->ring_bytes, i);
        uint32_t made = class_bytes(model->made, i);

        mc.seg.header.packet_bytes[i] = ring_bytes / 4;
        mc.now.tx[i] = (struct shm_tx){.slots = lane->slots,
                                       .limit = model->slots,
                                       .mask = model->slots - 1,
                                       .ring_bytes = ring_bytes,
                                       .data_limit = ring_bytes,
                                       .made = made > 0 ? made : ring_bytes,
                                       .shared = &lane->seen,
                                       .data = mc.data[i]};
        mc.now.rx[i] = (struct shm_rx){.slots = lane->slots,
                                       .mask = model->slots - 1,
                                       .ring_bytes = ring_bytes,
                                       .shared = &lane->told,
                                       .data = mc.data[i]};
        shm_rx_start(&mc.now.rx[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        mc.dev[i].base.up.packet = on_packet;
        mc.dev[i].base.attr.hdr_bytes_max = HDR_BYTES;
        mc.dev[i].stats = mc.stats;
        mc.dev[i].env = am_env_real();
        mc.dev[i].listener = -1;
        mc.active[i] = &mc.ep[i];
        mc.dev[i].active = &mc.active[i];
        mc.dev[i].active_count = 1;
        mc.ep[i].ep.dev = &mc.dev[i].base;
        mc.ep[i].peer_sleeping = &mc.awake;
        mc.ep[i].tx_open = mc.ep[i].rx_open = true;
        mc.ep[i].seg = &mc.seg;
        mc.ep[i].rx[i] = (struct shm_rx){.next = &mc.idle, .lap = 1};
    }
}

/* ------------------------------------------------------------------ actions */

/* One packet; what the looks at sockets count is not part of a state. */
static int take(uint32_t end, uint32_t reply_bytes)
{
    int count;

    mc.reply_bytes = reply_bytes;
    mc.dev[end].polls = 0;
    count = shm_poll(&mc.dev[end].base, 1);
    if (mc.ep[end].broken != NULL) {
        fail("a sound lane is declared broken");
    }
    return count;
}

static bool see(uint32_t class, bool bytes)
{
    struct lane *lane = &mc.now.lanes[class];
    _Atomic uint64_t *to = bytes ? &lane->seen.data_bytes : &lane->seen.slots;
    uint64_t value = bytes ? lane->told.data_bytes : lane->told.slots;
    bool news = *to != value;

    *to = value;
    return news;
}

enum {
    ACT_SEND = 0,
    ACT_ANSWER = ACT_SEND + SIZES_MAX,
    ACT_FINISH = ACT_ANSWER + SIZES_MAX,
    ACT_SEE,
    ACT_COUNT = ACT_SEE + 4
};

/* Action number `action` on `now`; false when it is not possible. */
static bool act(uint32_t action)
{
    if (action < ACT_ANSWER) {
        return send(AM_DEV_REQUEST, mc.model->sizes[action]) == AM_OK;
    }
    if (action < ACT_FINISH) {
        return take(1, mc.model->reply_sizes[action - ACT_ANSWER]) > 0;
    }
    if (action == ACT_FINISH) {
        return take(0, 0) > 0;
    }
    return see((action - ACT_SEE) / 2, (action - ACT_SEE) % 2 != 0);
}

/* From here on both ends poll: can the largest request be sent? */
static void check_end(void)
{
    uint32_t most = mc.model->ring_bytes / 4 - HDR_BYTES;

    for (uint32_t turn = 0; turn < FAIR_TURNS; turn++) {
        bool more = false;

        for (uint32_t i = 0; i < 4; i++) {
            more = see(i / 2, i % 2 != 0) || more;
        }
        more = take(1, mc.model->reply_sizes[SIZES_MAX - 1]) > 0 || more;
        more = take(0, 0) > 0 || more;
        if (!more) {
            break;
        }
    }
    if (mc.now.lanes[0].flight_count + mc.now.lanes[1].flight_count != 0) {
        fail("packets that are never taken");
    } else if (send(AM_DEV_REQUEST, most) != AM_OK) {
        fail("an empty lane that never takes the largest packet");
    }
}

/* ------------------------------------------------------------------- search */

static uint64_t state_hash(const struct state *state, uint64_t seed)
{
    size_t slot_bytes = mc.model->slots * sizeof(struct shm_slot);

    for (uint32_t class = 0; class < 2; class ++) {
        const struct lane *lane = &state->lanes[class];

        seed = explore_hash(lane->slots, slot_bytes, seed);
        seed = explore_hash(&lane->told, sizeof(*lane) - sizeof(lane->slots),
                            seed);
    }
    return explore_hash(state->tx, sizeof(*state) - offsetof(struct state, tx),
                        seed);
}

static void add_now(struct explore *explore)
{
    explore_add(explore, &mc.now, state_hash(&mc.now, explore_seeds[0]),
                state_hash(&mc.now, explore_seeds[1]));
}

static void expand(const struct state *from, struct explore *explore)
{
    for (uint32_t action = 0; action < ACT_COUNT && mc.failure == NULL;
         action++) {
        load(from);
        if (!act(action)) {
            continue;
        }
        store();
        add_now(explore);
    }
    load(from);
    check_end();
    if (mc.stats[AM_DEV_STAT_RX_BAD] != 0) {
        fail("a good packet counted as bad");
    }
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

int main(void)
{
    static const struct model models[] = {
            {.name = "both ways",
             .slots = 1,
             .ring_bytes = 4096,
             .sizes = {0, 992, 992},
             .reply_sizes = {0, 224, 224},
             .quick = true},
            {.name = "one slot",
             .slots = 1,
             .ring_bytes = 4096,
             .sizes = {0, 300, 992},
             .quick = true},
            {.name = "requests",
             .slots = 2,
             .ring_bytes = 4096,
             .sizes = {0, 512, 992}},
            {.name = "few pages",
             .slots = 4,
             .ring_bytes = 4096,
             .made = 1024,
             .sizes = {480, 480, 480}},
            {.name = "replies",
             .slots = 2,
             .ring_bytes = 4096,
             .reply_sizes = {0, 128, 224}},
    };
    bool good = true;

    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        if (!SLOW_BUILD || models[i].quick) {
            good &= search(&models[i]);
        }
    }
    return good ? 0 : 1;
}
