/*
 * The nodes of udp_star.h.
 */
#include "config.h"

#include "support/udp_star.h"

#include "support/cm.h"
#include "support/dev_open.h"

#include <am.h>
#include <string.h>

/* Which rank an endpoint is of; the upcalls get it. */
struct line {
    struct node *node;
    uint32_t rank;
};

struct node star_nodes[RANKS];
struct clock star_clock;
static struct line lines[RANKS][RANKS];
static uint8_t addresses[RANKS][AM_ADDRESS_BYTES];
static size_t address_bytes[RANKS];

/* The second word counts the messages of a pair: each comes, and once. */
static void up_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t data_bytes)
{
    const struct line *line = user;
    uint64_t words[2];

    assert_int_equal(hdr_bytes, sizeof(words));
    memcpy(words, hdr, sizeof(words));
    assert_int_equal(words[0], line->rank);
    assert_true(words[1] < EACH);
    atomic_fetch_add(&line->node->got[line->rank], 1);
}

static void *up_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    struct node *node = arg;

    assert_true(rank < RANKS);
    node->eps[rank] = ep;
    return &lines[node->rank][rank];
}

static void up_dead(void *user, const char *why)
{
    struct line *line = user;

    assert_non_null(strstr(why, "is closed"));
    line->node->dead++;
    line->node->dead_got = atomic_load(&line->node->got[line->rank]);
}

static void node_open(uint32_t rank, uint64_t nonce)
{
    const struct am_option options[] = {{"AM_UDP_IF", "lo"},
                                        {"AM_UDP_SILENCE", "0"},
                                        {"AM_RELIABILITY", "none"}};
    struct node *node = &star_nodes[rank];
    struct am_dev_params params = {
            .env = &star_clock.env,
            .log = &node->log,
            .rank = rank,
            .size = RANKS,
            .nonce = nonce + rank,
            .up = {node, up_packet, NULL, up_accept, up_dead},
            .stats = node->stats,
            .wait = AM_WAIT_SLEEP,
            .error = node->error,
            .error_bytes = sizeof(node->error)};

    node->rank = rank;
    if (dev_open_options(&am_udp_ops, &params, options, 3, &node->dev) !=
        AM_OK) {
        fail_msg("%s", node->error);
    }
    address_bytes[rank] = node->dev->ops->address(node->dev, addresses[rank],
                                                  sizeof(addresses[rank]));
    for (uint32_t other = 0; other < RANKS; other++) {
        lines[rank][other] = (struct line){node, other};
    }
}

static void connect_to(uint32_t from, uint32_t to)
{
    struct am_dev *dev = star_nodes[from].dev;

    assert_int_equal(dev->ops->connect(dev, addresses[to], address_bytes[to],
                                       to, &lines[from][to],
                                       &star_nodes[from].eps[to]),
                     AM_OK);
}

int star_open(void **state)
{
    const void *parts[RANKS];
    uint64_t nonce = am_env_random(am_env_real());

    memset(star_nodes, 0, sizeof(star_nodes));
    star_clock = (struct clock){.env = {.ops = &clock_ops}, .now_ps = PS_PER_S};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        node_open(rank, nonce);
        parts[rank] = addresses[rank];
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct am_dev *dev = star_nodes[rank].dev;

        assert_int_equal(
                dev->ops->connect_all(dev, parts, address_bytes, RANKS), AM_OK);
    }
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        connect_to(0, rank);
        connect_to(rank, 0);
    }
    udp_dev_of(star_nodes[0].dev)->direct.enough = ENOUGH;
    return 0;
}

int star_close(void **state)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        star_nodes[rank].dev->ops->close(star_nodes[rank].dev);
        assert_int_equal(star_nodes[rank].stats[AM_DEV_STAT_RX_BAD], 0);
        assert_int_equal(star_nodes[rank].stats[AM_DEV_STAT_RX_FOREIGN], 0);
        assert_int_equal(star_nodes[rank].stats[AM_DEV_STAT_RX_STALE], 0);
        assert_int_equal(star_nodes[rank].stats[AM_DEV_STAT_RX_REPLAYED], 0);
        assert_int_equal(star_nodes[rank].stats[AM_DEV_STAT_RX_HELD], 0);
        assert_int_equal(star_nodes[rank].stats[AM_DEV_STAT_TX_LOST], 0);
    }
    return 0;
}

struct udp_dev *star_hub(void)
{
    return udp_dev_of(star_nodes[0].dev);
}

bool star_is_direct(uint32_t rank)
{
    return star_hub()->direct.to == udp_ep_of(star_nodes[0].eps[rank]);
}

int star_poll(uint32_t rank)
{
    return star_nodes[rank].dev->ops->poll(star_nodes[rank].dev, 64);
}

void star_send_some(uint32_t from, uint32_t to, uint32_t count)
{
    struct node *node = &star_nodes[from];
    uint32_t sent = atomic_load(&node->sent[to]);

    for (; count > 0 && sent < EACH &&
           sent - atomic_load(&star_nodes[to].got[from]) < WINDOW;
         count--) {
        uint64_t hdr[2] = {from, sent};

        node->dev->more = count > 1;
        if (node->dev->ops->send(node->eps[to], AM_DEV_REQUEST, hdr,
                                 sizeof(hdr), NULL, 0) != AM_OK) {
            break;
        }
        atomic_store(&node->sent[to], ++sent);
    }
    node->dev->more = false;
    if (!node->dev->ops->drained(node->dev)) {
        (void)star_poll(from); /* what is staged goes out */
    }
}

void star_send_more(uint32_t from, uint32_t to, uint32_t count)
{
    uint32_t want = atomic_load(&star_nodes[from].sent[to]) + count;

    assert_true(want <= EACH);
    while (atomic_load(&star_nodes[from].sent[to]) < want) {
        star_send_some(from, to, 1);
        (void)star_poll(to);
    }
}

void star_poll_until(uint32_t rank, uint32_t from, uint32_t got)
{
    for (int i = 0; atomic_load(&star_nodes[rank].got[from]) < got; i++) {
        assert_true(i < POLLS_MAX);
        (void)star_poll(rank);
        am_env_relax(&star_clock.env, 0);
    }
    assert_int_equal(atomic_load(&star_nodes[rank].got[from]), got);
}
