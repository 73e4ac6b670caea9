/*
 * A peer that writes what it likes into the memory it shares: slots, heads and
 * the headers of segments at their extremes, and packets whose header and words
 * are chance.  Nothing outside the segment is touched, nothing ends the
 * process, and what is refused is counted.  Lanes that are found to be broken
 * are in shm_broken_test.
 */
#include "support/cm.h"
#include "support/seed.h"
#include "support/shm_two.h"

#include "am/ctx.h"

#include <am.h>
#include <string.h>

/* A number at one of the edges of what is checked. */
static uint64_t edge(struct am_prng *prng)
{
    static const uint64_t edges[] = {
            0,       1,       7,          8,          47,         48,    49,
            55,      56,      57,         63,         64,         255,   256,
            4095,    4096,    16383,      16384,      65472,      65535, 65536,
            1 << 20, 1 << 30, 0x7fffffff, 0x80000000, 0xffffffffu};
    uint64_t value = edges[am_prng_below(prng, 26)];

    switch (am_prng_below(prng, 8)) {
    case 0:
        return am_prng_next(prng);
    case 1:
        return UINT64_MAX - value;
    case 2:
        return value << 32;
    default:
        return value;
    }
}

/* ------------------------------------------------------------------- slots */

static struct {
    struct shm_seg *seg;
    uint64_t packets;
} seen;

static void check_packet(void *user, uint32_t class, const void *hdr,
                         size_t hdr_bytes, void *data, size_t bytes)
{
    const char *from = seen.seg->base;
    const char *to = from + seen.seg->geometry.total;
    const char *h = hdr, *d = data;

    assert_true(h >= from && h + (hdr_bytes < 8 ? 8 : hdr_bytes) <= to);
    assert_true(d >= from && d <= to && bytes <= (size_t)(to - d));
    assert_int_equal((uintptr_t)hdr % 8, 0);
    seen.packets++;
}

/* Take back that a lane was declared broken. */
static void mend(struct shm_dev *dev, struct shm_ep *ep)
{
    if (ep->broken != NULL) {
        ep->broken = NULL;
        ep->dead = false;
        ep->tx_open = true;
        dev->broken = false;
        if (dev->active_count == 0) {
            dev->active[dev->active_count++] = ep;
        }
    }
}

static void dead_ignore(void *user, const char *why)
{
    assert_non_null(strstr(why, "is broken"));
}

/* The control word of the next slot, with some of its fields at the edges. */
static uint64_t odd_ctl(struct am_prng *prng, const struct shm_rx *rx,
                        uint64_t place)
{
    uint64_t hdr_bytes = edge(prng) & 0xff, bytes = edge(prng) & 0xff;
    uint64_t ctl = shm_stamp(rx->lap) | hdr_bytes << 32;

    switch (am_prng_below(prng, 4)) {
    case 0:
        return ctl | bytes << 40 | am_prng_below(prng, 256) << 56;
    case 1:
        return rx->lap | am_prng_next(prng) << 32;
    case 2:
        return ctl | bytes << 40 |
               (uint64_t)(uint8_t)(56 - hdr_bytes - bytes) << 56;
    default:
        return ctl | shm_data_check(place, hdr_bytes) << 40 |
               (uint64_t)SHM_DATA << 56;
    }
}

/* Whatever a slot says, what is delivered lies in the segment. */
static void test_slots(void **state)
{
    struct am_prng prng = test_prng("shm_hostile_test slots");
    struct world world;
    struct shm_dev *dev;
    struct shm_ep *ep;
    uint32_t got;
    uint64_t bad;

    shm_two_open(&world, &got);
    dev = shm_of(world.ctx[0]);
    assert_int_equal(dev->active_count, 1);
    ep = dev->active[0];
    seen.seg = dev->segs;
    seen.packets = 0;
    bad = world_counter(&world, 0, "rx_bad");
    dev->base.up.packet = check_packet;
    dev->base.up.dead = dead_ignore;
    for (int i = 0; i < 200000; i++) {
        struct shm_rx *rx = &ep->rx[am_prng_below(&prng, 2)];
        struct shm_slot *slot = rx->next;
        uint64_t at = rx->data_head & (rx->ring_bytes - 1);
        uint64_t offset = am_prng_below(&prng, 2) ? at : edge(&prng);

        slot->u.ext.place = (uint32_t)offset | edge(&prng) << 32;
        atomic_store(&slot->ctl, odd_ctl(&prng, rx, slot->u.ext.place));
        dev->base.ops->poll(&dev->base, 64);
        mend(dev, ep);
        assert_true(rx->data_head - at < UINT64_MAX / 2);
    }
    assert_true(seen.packets > 1000);
    assert_true(world_counter(&world, 0, "rx_bad") - bad > 1000);
    dev->base.up.packet = am_dispatch;
    dev->base.up.dead = am_peer_dead;
    for (uint32_t i = 0; i < 2;
         i++) { /* they no longer understand each other */
        am_close(world.ctx[i]);
    }
}

/* ------------------------------------------------------------------- heads */

/* A receiver that lies about what it has consumed gets no more than a lane. */
static void test_heads(void **state)
{
    struct am_prng prng = test_prng("shm_hostile_test heads");
    static const char data[4096];
    struct world world;
    struct am_dev_ep *dep;
    struct shm_ep *ep;
    uint32_t got;

    shm_two_open(&world, &got);
    dep = world.ctx[0]->peers[1]->ep;
    ep = shm_ep_of(dep);
    for (int i = 0; i < 100000; i++) {
        struct shm_tx *tx = &ep->tx[AM_DEV_REQUEST];
        uint64_t word = am_prng_below(&prng, AM_HANDLERS_MAX);
        uint64_t tail;

        atomic_store(&tx->shared->slots, edge(&prng));
        atomic_store(&tx->shared->data_bytes, edge(&prng));
        (void)shm_send(dep, AM_DEV_REQUEST, &word, sizeof(word), data,
                       am_prng_below(&prng, sizeof(data) + 1));
        tail = tx->stop_at - (uint64_t)(tx->stop - tx->next);
        assert_true(tx->next >= tx->slots && tx->stop >= tx->next &&
                    tx->stop <= tx->slots + tx->mask + 1);
        assert_true(tail <= tx->limit && tx->limit - tail <= tx->mask + 1);
        assert_true(tx->data_tail <= tx->data_limit &&
                    tx->data_limit - tx->data_tail <= tx->ring_bytes);
    }
    for (uint32_t i = 0; i < 2; i++) {
        am_close(world.ctx[i]);
    }
}

/* ----------------------------------------------------------------- segments */

/* A geometry is refused, or everything in it lies inside it. */
static void test_geometry(void **state)
{
    struct am_prng prng = test_prng("shm_hostile_test geometry");
    uint32_t accepted = 0;

    for (int i = 0; i < 500000; i++) {
        bool odd = i % 8 != 0; /* all of it, or parts of a sound one */
        struct shm_header header = {
                .magic = SHM_MAGIC,
                .count = odd ? (uint32_t)edge(&prng) : 2,
                .heap_bytes = am_prng_below(&prng, 2) ? 64 << 20 : edge(&prng)};
        struct shm_geometry g;

        for (int c = 0; c < 2; c++) {
            header.depth[c] = odd ? (uint32_t)edge(&prng) : 256;
            header.ring_bytes[c] = odd ? (uint32_t)edge(&prng) : 65536;
            header.packet_bytes[c] =
                    am_prng_below(&prng, 2) ? 256 : (uint32_t)edge(&prng);
        }
        if (shm_geometry_compute(&header, &g) != 0) {
            continue;
        }
        accepted++;
        for (int c = 0; c < 2; c++) {
            assert_true(g.slots[c] +
                                header.depth[c] * sizeof(struct shm_slot) <=
                        g.lane_bytes);
            assert_true(g.data[c] + header.ring_bytes[c] <= g.rings_bytes);
            assert_true(4 * (uint64_t)header.packet_bytes[c] <=
                        header.ring_bytes[c]);
        }
        assert_true(g.ranks < g.bitmaps && g.bitmaps < g.lanes &&
                    g.lanes < g.rings && g.rings < g.heaps &&
                    g.heaps <= g.total);
    }
    print_message("%u accepted\n", accepted);
    assert_true(accepted > 1000);
}

/* ------------------------------------------------------------------ packets */

/* Messages of am's own that bring none of their words: each is counted once,
 * nothing is looked up and nobody answers. */
static void test_no_words(void **state)
{
    static const char *const other[] = {"rx_bad_region", "rx_bad_handle",
                                        "rx_bad_handler", "tx_replies"};
    uint64_t before[4];
    struct world world;
    uint32_t got;
    uint64_t bad;

    shm_two_open(&world, &got);
    bad = world_counter(&world, 0, "rx_bad_packet");
    for (int i = 0; i < 4; i++) {
        before[i] = world_counter(&world, 0, other[i]);
    }
    for (uint32_t handler = AM_H_HELLO; handler <= AM_H_SEND_FIN; handler++) {
        struct am_peer *peer = world.ctx[1]->peers[0];

        assert_int_equal(peer->send(peer->ep, AM_DEV_REQUEST,
                                    am_hdr_bits(handler, 0, 0), NULL, NULL, 0),
                         AM_OK);
        (void)am_ctx_poll(world.ctx[0]);
        assert_int_equal(world_counter(&world, 0, "rx_bad_packet"), ++bad);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(world_counter(&world, 0, other[i]), before[i]);
    }
    world_close(&world);
}

/* Any header and any words in a sound packet: am and msg check them. */
static void test_packets(void **state)
{
    struct am_prng prng = test_prng("shm_hostile_test packets");
    static const char data[8192];
    struct world world;
    uint32_t got;
    uint64_t refused = 0;
    static const char *const counters[] = {"rx_bad_packet", "rx_bad_handler",
                                           "rx_bad_region", "rx_bad_handle"};

    shm_two_open(&world, &got);
    for (int i = 0; i < 100000; i++) {
        struct am_peer *peer = world.ctx[1]->peers[0];
        uint64_t words[AM_WORDS_MAX];
        uint32_t class = (uint32_t)am_prng_below(&prng, 2);
        uint32_t handler = (uint32_t)am_prng_below(&prng, 80);

        for (int w = 0; w < AM_WORDS_MAX; w++) {
            words[w] = edge(&prng);
        }
        (void)peer->send(peer->ep, class,
                         am_hdr_bits(handler, (uint32_t)edge(&prng),
                                     (uint32_t)am_prng_below(&prng, 17)),
                         words, data,
                         am_prng_below(&prng, 4) == 0
                                 ? am_prng_below(&prng, sizeof(data) + 1)
                                 : am_prng_below(&prng, 200));
        (void)am_ctx_poll(world.ctx[0]);
        (void)am_ctx_poll(world.ctx[1]);
    }
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        uint64_t count = world_counter(&world, 0, counters[i]);

        assert_true(count > 0);
        refused += count;
    }
    assert_true(refused > 1000);
    for (uint32_t i = 0; i < 2; i++) {
        am_close(world.ctx[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_slots),
            cmocka_unit_test(test_heads),
            cmocka_unit_test(test_geometry),
            cmocka_unit_test(test_no_words),
            cmocka_unit_test(test_packets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
