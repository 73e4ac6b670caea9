/*
 * The second socket of the udp device, which is connected to one peer: no datagram
 * is lost, doubled or refused while it is opened, connected to others, parked and
 * closed and all peers send; it wakes who sleeps; the end of its peer is told when
 * all that came is read; nobody else gets the port.
 */
#include "config.h"

#include "support/cm.h"
#include "support/udp_star.h"

#include <am.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BURST = 12,
    TURN = 300 /* messages to one peer before the hub's favourite is another */
};

/* ------------------------------------------------------------ nothing is lost */

static void *be_peer(void *arg)
{
    struct node *node = arg;
    uint32_t burst = 0;

    for (int i = 0; atomic_load(&node->got[0]) < EACH ||
                    atomic_load(&star_nodes[0].got[node->rank]) < EACH;
         i++) {
        assert_true(i < POLLS_MAX);
        burst = burst % BURST + 1;
        star_send_some(node->rank, 0, burst);
        (void)star_poll(node->rank);
        am_env_relax(&star_clock.env, 0);
    }
    return NULL;
}

static bool all_came(void)
{
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        if (atomic_load(&star_nodes[0].got[rank]) < EACH ||
            atomic_load(&star_nodes[rank].got[0]) < EACH) {
            return false;
        }
    }
    return true;
}

/* The favourite changes after TURN messages, at times to one more than there are,
 * which means all; in the end to those who have not had theirs. */
static void hub_turn(uint32_t turn, uint32_t *changes)
{
    const struct udp_ep *to = star_hub()->direct.to;
    uint32_t favourite = 1 + turn % (PEERS + 1);

    for (uint32_t rank = 1; rank < RANKS; rank++) {
        if (rank == favourite || favourite == RANKS ||
            atomic_load(&star_nodes[0].sent[favourite]) == EACH) {
            star_send_some(0, rank, 1 + turn % BURST);
        }
    }
    (void)star_poll(0);
    if (star_hub()->direct.to != to) {
        ++*changes;
        star_hub()->direct.enough = ENOUGH;
    }
    star_clock.now_ps += PS_PER_S / 1000; /* parked ones are closed */
    star_nodes[0].dev->ops->check(star_nodes[0].dev);
}

static void test_churn(void **state)
{
    pthread_t threads[RANKS];
    uint32_t changes = 0;

    for (uint32_t rank = 1; rank < RANKS; rank++) {
        assert_int_equal(pthread_create(&threads[rank], NULL, be_peer,
                                        &star_nodes[rank]),
                         0);
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
        assert_int_equal(atomic_load(&star_nodes[0].got[rank]), EACH);
        assert_int_equal(atomic_load(&star_nodes[rank].got[0]), EACH);
    }
}

/* What is staged for one that ends is forgotten, and what follows it to another one
 * does not go out with its bytes. */
static void test_forgotten(void **state)
{
    struct udp_dev *hub = star_hub();
    const uint32_t to[] = {1, 2, 1};

    hub->base.more = true;
    for (uint64_t i = 0; i < 3; i++) {
        struct am_dev_ep *ep = star_nodes[0].eps[to[i]];
        const uint64_t hdr[2] = {0, i};

        assert_int_equal(hub->base.ops->send(ep, AM_DEV_REQUEST, hdr,
                                             sizeof(hdr), NULL, 0),
                         AM_OK);
        if (i == 1) {
            udp_tx_forget(hub, udp_ep_of(ep));
        }
    }
    hub->base.more = false;
    (void)star_poll(0);
    star_poll_until(1, 0, 2);
    assert_int_equal(atomic_load(&star_nodes[2].got[0]), 0);
}

/* What lies in a socket that is connected to another peer then, or parked, is
 * read there: nobody polls until all is sent. */
static void test_left_in_socket(void **state)
{
    const uint32_t all = 3;

    star_send_more(0, 1, ENOUGH);
    assert_true(star_is_direct(1));
    for (uint32_t rank = 1; rank <= all; rank++) {
        star_send_some(rank, 0, BURST);
        star_send_more(0, rank % all + 1, TURN); /* the next one's turn */
    }
    for (uint32_t rank = 1; rank <= all; rank++) {
        star_poll_until(0, rank, BURST);
    }
}

/* ---------------------------------------------------------------- who has it */

/* Most go to one peer, or the socket is parked, and closed after some time. */
static void test_favourite(void **state)
{
    for (int i = 0; i < TURN / 3; i++) {
        star_send_more(0, 1, 1);
        star_send_more(0, 2, 1);
    }
    assert_int_equal(star_hub()->socks[UDP_DIRECT].fd, -1);
    star_send_more(0, 3, ENOUGH + 1);
    assert_true(star_is_direct(3));
    for (int i = 0; i < TURN / 3;
         i++) { /* one in ten to others changes nothing */
        star_send_more(0, 3, 9);
        star_send_more(0, 1 + (uint32_t)i % 2, 1);
        assert_true(star_is_direct(3));
    }
    for (int i = 0; i < TURN / 3; i++) {
        star_send_more(0, 1, 1);
        star_send_more(0, 2, 1);
        star_send_more(0, 3, 1);
    }
    assert_null(star_hub()->direct.to);
    assert_true(star_hub()->socks[UDP_DIRECT].fd >= 0);
    star_nodes[0].dev->ops->check(star_nodes[0].dev);
    assert_true(star_hub()->socks[UDP_DIRECT].fd >= 0);
    star_clock.now_ps += PS_PER_S;
    star_nodes[0].dev->ops->check(star_nodes[0].dev);
    assert_int_equal(star_hub()->socks[UDP_DIRECT].fd, -1);
    star_send_more(0, 3, 1000);
    assert_true(star_is_direct(3));
}

/* The connection ends, and the peer speaks again by another one. */
static void test_disconnect(void **state)
{
    star_send_more(0, 1, ENOUGH);
    assert_true(star_is_direct(1));
    star_send_some(1, 0, 3);
    star_nodes[0].dev->ops->disconnect(star_nodes[0].eps[1]);
    assert_null(star_hub()->direct.to);
    assert_null(star_hub()->direct.favourite);
    star_send_some(1, 0, 3);
    star_poll_until(0, 1, 6);
    star_send_more(0, 1, 1000);
    assert_true(star_is_direct(1));
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
            assert_int_equal(
                    bind(fd, &star_hub()->bound.any, star_hub()->bound_bytes),
                    -1);
            assert_int_equal(errno, EADDRINUSE);
            close(fd);
            if (option == SO_REUSEPORT) {
                break;
            }
        }
        star_send_more(0, 1, ENOUGH);
        assert_true(star_is_direct(1));
    }
}

/* ------------------------------------------------------------ sleeping, dying */

/* Who sleeps on the descriptor wakes, whichever socket has something, and the next
 * poll finds it. */
static void test_sleep(void **state)
{
    struct am_dev *dev = star_nodes[0].dev;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    uint64_t most_ns = 0;

    assert_true(epoll >= 0);
    assert_int_equal(dev->ops->watch(dev, epoll), AM_OK);
    star_send_more(0, 1, ENOUGH);
    assert_true(star_is_direct(1));
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t from = i % 7 < 3 ? 1 : 2;

        assert_int_equal(dev->ops->arm(dev, &most_ns), AM_OK);
        star_send_some(from, 0, 1);
        assert_int_equal(epoll_wait(epoll, &event, 1, -1), 1);
        assert_int_equal(star_poll(0), 1);
        star_send_some(3 - from, 0, 1);
        while (dev->ops->wait(dev, UINT32_MAX, AM_DEV_REST_LONG) ||
               star_nodes[0].stats[AM_DEV_STAT_SLEEP] <= i) {
        }
        assert_int_equal(star_poll(0), 1);
    }
    close(epoll);
    star_send_more(0, 2, 1000); /* the socket goes and comes without it */
    assert_true(star_is_direct(2));
}

/* Its port is closed: told once, and after all that it had sent. */
static void test_closed(void **state)
{
    struct udp_dev *victim = udp_dev_of(star_nodes[1].dev);

    star_send_more(0, 1, ENOUGH);
    assert_true(star_is_direct(1));
    star_send_some(1, 0, WINDOW);
    udp_sock_close(&victim->socks[UDP_DIRECT]);
    udp_sock_close(&victim->socks[UDP_ALL]);
    star_send_some(0, 1, 1);
    udp_errors_read(star_hub());
    for (int i = 0; star_nodes[0].dead == 0; i++) {
        assert_true(i < POLLS_MAX);
        star_clock.now_ps += PS_PER_S;
        star_nodes[0].dev->ops->check(star_nodes[0].dev);
        (void)star_poll(0); /* may say that the port is closed, and only that */
        (void)star_poll(0);
        am_env_relax(&star_clock.env, 0);
    }
    for (int i = 0; i < 100; i++) {
        (void)star_poll(0);
    }
    assert_int_equal(star_nodes[0].dead, 1);
    assert_int_equal(star_nodes[0].dead_got, WINDOW);
    star_nodes[0].dev->ops->disconnect(star_nodes[0].eps[1]);
    assert_null(star_hub()->direct.to);
    star_send_more(0, 2, 1000);
    assert_true(star_is_direct(2));
}

/* The child of a fork has neither socket, and what it does is nothing to the
 * parent. */
static void test_fork(void **state)
{
    int status;
    pid_t child;

    star_send_more(0, 1, ENOUGH);
    assert_true(star_is_direct(1));
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t hdr[2] = {0, 0};
        bool right = star_hub()->socks[UDP_ALL].fd < 0 &&
                     star_hub()->socks[UDP_DIRECT].fd < 0 &&
                     star_hub()->direct.to == NULL && star_poll(0) == 0 &&
                     star_nodes[0].dev->ops->send(
                             star_nodes[0].eps[1], AM_DEV_REQUEST, hdr,
                             sizeof(hdr), NULL, 0) == AM_ERR_PEER;

        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    star_send_more(0, 1, TURN);
    star_send_some(1, 0, BURST);
    star_poll_until(0, 1, BURST);
    assert_true(star_is_direct(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(test_churn, star_open, star_close),
            cmocka_unit_test_setup_teardown(test_forgotten, star_open,
                                            star_close),
            cmocka_unit_test_setup_teardown(test_left_in_socket, star_open,
                                            star_close),
            cmocka_unit_test_setup_teardown(test_favourite, star_open,
                                            star_close),
            cmocka_unit_test_setup_teardown(test_disconnect, star_open,
                                            star_close),
            cmocka_unit_test_setup_teardown(test_port, star_open, star_close),
            cmocka_unit_test_setup_teardown(test_sleep, star_open, star_close),
            cmocka_unit_test_setup_teardown(test_closed, star_open, star_close),
            cmocka_unit_test_setup_teardown(test_fork, star_open, star_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
