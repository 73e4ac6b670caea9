/*
 * The second socket of the udp device, which is connected to one peer: no datagram
 * is lost, doubled or refused while it is opened, connected to others, parked and
 * closed and all peers send; it wakes who sleeps; the end of its peer is told when
 * all that came is read; nobody else gets the port.
 *
 * No channel stands on the devices, so that a loss shows.
 */
#include "config.h"

#include "dev/udp/udp.h"
#include "support/cm.h"
#include "support/dev_open.h"

#include <am.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PEERS = 6, /* ranks 1 to 6; the hub is rank 0 */
    RANKS = PEERS + 1,
    EACH = 4000, /* messages each way between the hub and a peer */
    WINDOW = 64, /* of them under way: they fit into the kernel's buffer */
    BURST = 12,
    TURN = 300, /* messages to one peer before the hub's favourite is another */
    ENOUGH = 16,
    POLLS_MAX = 100000000
};

#define PS_PER_S UINT64_C(1000000000000)

struct node {
    struct am_dev *dev;
    struct am_dev_ep *eps[RANKS];
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint32_t rank, dead;
    uint32_t dead_got; /* what had come from the peer when it was told dead */
    _Atomic uint32_t got[RANKS], sent[RANKS]; /* messages from, to a rank */
    char error[256];
    struct am_log log; /* silent */
};

/* Which rank an endpoint is of; the upcalls get it. */
struct line {
    struct node *node;
    uint32_t rank;
};

struct clock {
    struct am_env env;
    uint64_t now_ps;
};

static struct node nodes[RANKS];
static struct line lines[RANKS][RANKS];
static struct clock clock_virtual;
static uint8_t addresses[RANKS][AM_ADDRESS_BYTES];
static size_t address_bytes[RANKS];

static uint64_t clock_now(struct am_env *env)
{
    return am_container(env, struct clock, env)->now_ps;
}

static void clock_charge(struct am_env *env, am_cost_t kind, uint64_t units)
{
}

static void clock_relax(struct am_env *env, uint64_t deadline_ps)
{
    am_env_relax(am_env_real(), 0); /* the core; not the real time */
}

static uint64_t clock_random(struct am_env *env)
{
    return am_env_random(am_env_real());
}

static const struct am_env_ops clock_ops = {.now = clock_now,
                                            .charge = clock_charge,
                                            .relax = clock_relax,
                                            .random = clock_random};

/* ------------------------------------------------------------------ the nodes */

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
    struct node *node = &nodes[rank];
    struct am_dev_params params = {
            .env = &clock_virtual.env,
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
    struct am_dev *dev = nodes[from].dev;

    assert_int_equal(dev->ops->connect(dev, addresses[to], address_bytes[to],
                                       to, &lines[from][to],
                                       &nodes[from].eps[to]),
                     AM_OK);
}

static int open_all(void **state)
{
    const void *parts[RANKS];
    uint64_t nonce = am_env_random(am_env_real());

    memset(nodes, 0, sizeof(nodes));
    clock_virtual = (struct clock){{.ops = &clock_ops}, PS_PER_S};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        node_open(rank, nonce);
        parts[rank] = addresses[rank];
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct am_dev *dev = nodes[rank].dev;

        assert_int_equal(
                dev->ops->connect_all(dev, parts, address_bytes, RANKS), AM_OK);
    }
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        connect_to(0, rank);
        connect_to(rank, 0);
    }
    udp_dev_of(nodes[0].dev)->direct.enough = ENOUGH;
    return 0;
}

/* Nothing was refused, at any end. */
static int close_all(void **state)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        nodes[rank].dev->ops->close(nodes[rank].dev);
        assert_int_equal(nodes[rank].stats[AM_DEV_STAT_RX_BAD], 0);
        assert_int_equal(nodes[rank].stats[AM_DEV_STAT_RX_FOREIGN], 0);
        assert_int_equal(nodes[rank].stats[AM_DEV_STAT_RX_STALE], 0);
        assert_int_equal(nodes[rank].stats[AM_DEV_STAT_RX_REPLAYED], 0);
        assert_int_equal(nodes[rank].stats[AM_DEV_STAT_RX_HELD], 0);
        assert_int_equal(nodes[rank].stats[AM_DEV_STAT_TX_LOST], 0);
    }
    return 0;
}

static struct udp_dev *hub(void)
{
    return udp_dev_of(nodes[0].dev);
}

static bool is_direct(uint32_t rank)
{
    return hub()->direct.to == udp_ep_of(nodes[0].eps[rank]);
}

static int poll_once(uint32_t rank)
{
    return nodes[rank].dev->ops->poll(nodes[rank].dev, 64);
}

/* Up to so many to a rank, as one burst; as many as its window lets go. */
static void send_some(uint32_t from, uint32_t to, uint32_t count)
{
    struct node *node = &nodes[from];
    uint32_t sent = atomic_load(&node->sent[to]);

    for (; count > 0 && sent < EACH &&
           sent - atomic_load(&nodes[to].got[from]) < WINDOW;
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
        (void)poll_once(from); /* what is staged goes out */
    }
}

static void send_more(uint32_t from, uint32_t to, uint32_t count)
{
    uint32_t want = atomic_load(&nodes[from].sent[to]) + count;

    assert_true(want <= EACH);
    while (atomic_load(&nodes[from].sent[to]) < want) {
        send_some(from, to, 1);
        (void)poll_once(to);
    }
}

static void poll_until(uint32_t rank, uint32_t from, uint32_t got)
{
    for (int i = 0; atomic_load(&nodes[rank].got[from]) < got; i++) {
        assert_true(i < POLLS_MAX);
        (void)poll_once(rank);
        am_env_relax(&clock_virtual.env, 0);
    }
    assert_int_equal(atomic_load(&nodes[rank].got[from]), got);
}

/* ------------------------------------------------------------ nothing is lost */

static void *be_peer(void *arg)
{
    struct node *node = arg;
    uint32_t burst = 0;

    for (int i = 0; atomic_load(&node->got[0]) < EACH ||
                    atomic_load(&nodes[0].got[node->rank]) < EACH;
         i++) {
        assert_true(i < POLLS_MAX);
        burst = burst % BURST + 1;
        send_some(node->rank, 0, burst);
        (void)poll_once(node->rank);
        am_env_relax(&clock_virtual.env, 0);
    }
    return NULL;
}

static bool all_came(void)
{
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        if (atomic_load(&nodes[0].got[rank]) < EACH ||
            atomic_load(&nodes[rank].got[0]) < EACH) {
            return false;
        }
    }
    return true;
}

/* The favourite changes after TURN messages, at times to one more than there are,
 * which means all; in the end to those who have not had theirs. */
static void hub_turn(uint32_t turn, uint32_t *changes)
{
    const struct udp_ep *to = hub()->direct.to;
    uint32_t favourite = 1 + turn % (PEERS + 1);

    for (uint32_t rank = 1; rank < RANKS; rank++) {
        if (rank == favourite || favourite == RANKS ||
            atomic_load(&nodes[0].sent[favourite]) == EACH) {
            send_some(0, rank, 1 + turn % BURST);
        }
    }
    (void)poll_once(0);
    if (hub()->direct.to != to) {
        ++*changes;
        hub()->direct.enough = ENOUGH;
    }
    clock_virtual.now_ps += PS_PER_S / 1000; /* parked ones are closed */
    nodes[0].dev->ops->check(nodes[0].dev);
}

static void test_churn(void **state)
{
    pthread_t threads[RANKS];
    uint32_t changes = 0;

    for (uint32_t rank = 1; rank < RANKS; rank++) {
        assert_int_equal(
                pthread_create(&threads[rank], NULL, be_peer, &nodes[rank]), 0);
    }
    for (uint32_t i = 0; !all_came(); i++) {
        assert_true(i < POLLS_MAX);
        hub_turn(i / TURN, &changes);
    }
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        assert_int_equal(pthread_join(threads[rank], NULL), 0);
    }
    assert_true(changes >= PEERS);
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        assert_int_equal(atomic_load(&nodes[0].got[rank]), EACH);
        assert_int_equal(atomic_load(&nodes[rank].got[0]), EACH);
    }
}

/* What lies in a socket that is connected to another peer then, or parked, is
 * read there: nobody polls until all is sent. */
static void test_left_in_socket(void **state)
{
    const uint32_t all = 3;

    send_more(0, 1, ENOUGH);
    assert_true(is_direct(1));
    for (uint32_t rank = 1; rank <= all; rank++) {
        send_some(rank, 0, BURST);
        send_more(0, rank % all + 1, TURN); /* the next one's turn */
    }
    for (uint32_t rank = 1; rank <= all; rank++) {
        poll_until(0, rank, BURST);
    }
}

/* ---------------------------------------------------------------- who has it */

/* Most go to one peer, or the socket is parked, and closed after some time. */
static void test_favourite(void **state)
{
    for (int i = 0; i < TURN / 3; i++) {
        send_more(0, 1, 1);
        send_more(0, 2, 1);
    }
    assert_int_equal(hub()->socks[UDP_DIRECT].fd, -1);
    send_more(0, 3, ENOUGH + 1);
    assert_true(is_direct(3));
    for (int i = 0; i < TURN / 3;
         i++) { /* one in ten to others changes nothing */
        send_more(0, 3, 9);
        send_more(0, 1 + (uint32_t)i % 2, 1);
        assert_true(is_direct(3));
    }
    for (int i = 0; i < TURN / 3; i++) {
        send_more(0, 1, 1);
        send_more(0, 2, 1);
        send_more(0, 3, 1);
    }
    assert_null(hub()->direct.to);
    assert_true(hub()->socks[UDP_DIRECT].fd >= 0);
    nodes[0].dev->ops->check(nodes[0].dev);
    assert_true(hub()->socks[UDP_DIRECT].fd >= 0);
    clock_virtual.now_ps += PS_PER_S;
    nodes[0].dev->ops->check(nodes[0].dev);
    assert_int_equal(hub()->socks[UDP_DIRECT].fd, -1);
    send_more(0, 3, 1000);
    assert_true(is_direct(3));
}

/* The connection ends, and the peer speaks again by another one. */
static void test_disconnect(void **state)
{
    send_more(0, 1, ENOUGH);
    assert_true(is_direct(1));
    send_some(1, 0, 3);
    nodes[0].dev->ops->disconnect(nodes[0].eps[1]);
    assert_null(hub()->direct.to);
    assert_null(hub()->direct.favourite);
    send_some(1, 0, 3);
    poll_until(0, 1, 6);
    send_more(0, 1, 1000);
    assert_true(is_direct(1));
}

/* Nobody else can take the port, as with one socket. */
static void test_port(void **state)
{
    int on = 1, fd;

    for (uint32_t turn = 0; turn < 2; turn++) {
        for (int option = SO_REUSEADDR;; option = SO_REUSEPORT) {
            fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            assert_true(fd >= 0);
            assert_int_equal(
                    setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on)), 0);
            assert_int_equal(bind(fd, &hub()->bound.any, hub()->bound_bytes),
                             -1);
            assert_int_equal(errno, EADDRINUSE);
            close(fd);
            if (option == SO_REUSEPORT) {
                break;
            }
        }
        send_more(0, 1, ENOUGH);
        assert_true(is_direct(1));
    }
}

/* ------------------------------------------------------------ sleeping, dying */

/* Who sleeps on the descriptor wakes, whichever socket has something, and the next
 * poll finds it. */
static void test_sleep(void **state)
{
    struct am_dev *dev = nodes[0].dev;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    uint64_t most_ns = 0;

    assert_true(epoll >= 0);
    assert_int_equal(dev->ops->watch(dev, epoll), AM_OK);
    send_more(0, 1, ENOUGH);
    assert_true(is_direct(1));
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t from = i % 7 < 3 ? 1 : 2;

        assert_int_equal(dev->ops->arm(dev, &most_ns), AM_OK);
        send_some(from, 0, 1);
        assert_int_equal(epoll_wait(epoll, &event, 1, -1), 1);
        assert_int_equal(poll_once(0), 1);
        send_some(3 - from, 0, 1);
        while (dev->ops->wait(dev, UINT32_MAX, AM_DEV_REST_LONG) ||
               nodes[0].stats[AM_DEV_STAT_SLEEP] <= i) {
        }
        assert_int_equal(poll_once(0), 1);
    }
    close(epoll);
    send_more(0, 2, 1000); /* the socket goes and comes without it */
    assert_true(is_direct(2));
}

/* Its port is closed: told once, and after all that it had sent. */
static void test_closed(void **state)
{
    struct udp_dev *victim = udp_dev_of(nodes[1].dev);

    send_more(0, 1, ENOUGH);
    assert_true(is_direct(1));
    send_some(1, 0, WINDOW);
    udp_sock_close(&victim->socks[UDP_DIRECT]);
    udp_sock_close(&victim->socks[UDP_ALL]);
    send_some(0, 1, 1);
    udp_errors_read(hub());
    for (int i = 0; nodes[0].dead == 0; i++) {
        assert_true(i < POLLS_MAX);
        clock_virtual.now_ps += PS_PER_S;
        nodes[0].dev->ops->check(nodes[0].dev);
        (void)poll_once(0); /* may say that the port is closed, and only that */
        (void)poll_once(0);
        am_env_relax(&clock_virtual.env, 0);
    }
    for (int i = 0; i < 100; i++) {
        (void)poll_once(0);
    }
    assert_int_equal(nodes[0].dead, 1);
    assert_int_equal(nodes[0].dead_got, WINDOW);
    nodes[0].dev->ops->disconnect(nodes[0].eps[1]);
    assert_null(hub()->direct.to);
    send_more(0, 2, 1000);
    assert_true(is_direct(2));
}

/* The child of a fork has neither socket, and what it does is nothing to the
 * parent. */
static void test_fork(void **state)
{
    int status;
    pid_t child;

    send_more(0, 1, ENOUGH);
    assert_true(is_direct(1));
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t hdr[2] = {0, 0};
        bool right =
                hub()->socks[UDP_ALL].fd < 0 &&
                hub()->socks[UDP_DIRECT].fd < 0 && hub()->direct.to == NULL &&
                poll_once(0) == 0 &&
                nodes[0].dev->ops->send(nodes[0].eps[1], AM_DEV_REQUEST, hdr,
                                        sizeof(hdr), NULL, 0) == AM_ERR_PEER;

        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    send_more(0, 1, TURN);
    send_some(1, 0, BURST);
    poll_until(0, 1, BURST);
    assert_true(is_direct(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(test_churn, open_all, close_all),
            cmocka_unit_test_setup_teardown(test_left_in_socket, open_all,
                                            close_all),
            cmocka_unit_test_setup_teardown(test_favourite, open_all,
                                            close_all),
            cmocka_unit_test_setup_teardown(test_disconnect, open_all,
                                            close_all),
            cmocka_unit_test_setup_teardown(test_port, open_all, close_all),
            cmocka_unit_test_setup_teardown(test_sleep, open_all, close_all),
            cmocka_unit_test_setup_teardown(test_closed, open_all, close_all),
            cmocka_unit_test_setup_teardown(test_fork, open_all, close_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
