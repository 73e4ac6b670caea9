/*
 * Peers that are gone, in virtual time: a closed port is a death, told once with
 * the address; silence is one when it has lasted as long as AM_UDP_SILENCE says,
 * and a peer that speaks again before is none.
 */
#include "config.h"

#include "dev/udp/udp.h"
#include "support/clock.h"
#include "support/cm.h"
#include "support/dev_pair.h"

#include <string.h>
#include <unistd.h>

enum {
    ASKED_MAX = 1000000 /* the kernel answers when it gets to it */
};

#define PS_PER_S UINT64_C(1000000000000)

static struct clock clock_virtual;
static struct dev_node nodes[2];

/* Two ranks of a job, of which node 0 has connected to node 1. */
static void job_meet_with(const char *silence_s, const char *reliability)
{
    const struct am_option options[] = {{"AM_UDP_IF", "lo"},
                                        {"AM_UDP_SILENCE", silence_s},
                                        {"AM_CHAN_GIVE_UP", "30"},
                                        {"AM_CHAN_LINGER", "0"},
                                        {"AM_RELIABILITY", reliability}};

    clock_virtual =
            (struct clock){.env = {.ops = &clock_ops}, .now_ps = PS_PER_S};
    dev_pair_meet(nodes, &am_udp_ops, &clock_virtual.env, options,
                  sizeof(options) / sizeof(options[0]));
}

static void job_meet(const char *silence_s)
{
    job_meet_with(silence_s, "none");
}

/* And they have heard of each other. */
static void job_open(const char *silence_s)
{
    job_meet(silence_s);
    dev_pair_send(nodes);
}

/* So many seconds pass; node 0 looks, and polls, and node 1 if it may. */
static void pass(uint32_t seconds, bool both)
{
    for (uint32_t s = 0; s < seconds; s++) {
        clock_virtual.now_ps += PS_PER_S;
        for (uint32_t i = 0; i < 1u + both; i++) {
            nodes[i].dev->ops->check(nodes[i].dev);
            nodes[i].dev->ops->poll(nodes[i].dev, 64);
        }
    }
}

/* The process of node 1 ends: its port is closed, and nothing else happens. */
static void test_closed(void **state)
{
    struct udp_dev *victim;
    char where[64];

    job_open("0");
    victim = udp_dev_of(nodes[1].dev);
    udp_sock_close(&victim->socks[UDP_ALL]);
    for (int i = 0; nodes[0].dead == 0; i++) {
        assert_true(i < ASKED_MAX);
        pass(1, false);
        am_env_relax(&clock_virtual.env, 0);
    }
    udp_address_text(&victim->bound, where, sizeof(where));
    assert_non_null(strstr(nodes[0].why, where));
    assert_non_null(strstr(nodes[0].why, "is closed"));
    pass(100, false);
    assert_int_equal(nodes[0].dead, 1);
    assert_int_equal(nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, NULL,
                                             0, NULL, 0),
                     AM_ERR_PEER);
    dev_pair_close(nodes);
}

static void test_silent(void **state)
{
    job_open("60");
    pass(59, false); /* it computes, or the link is cut */
    assert_int_equal(nodes[0].dead, 0);
    pass(3, false);
    assert_int_equal(nodes[0].dead, 1);
    assert_non_null(strstr(nodes[0].why, "nothing was heard"));
    assert_non_null(strstr(nodes[0].why, "for 60 s"));
    dev_pair_close(nodes);
}

/* The channel gives up first, and what udp says later does not turn the death into a
 * leave, nor is it told again. */
static void test_twice(void **state)
{
    const uint64_t hdr[2] = {0};

    job_meet_with("60", "nack");
    dev_pair_send(nodes);
    assert_int_equal(nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr,
                                             sizeof(hdr), NULL, 0),
                     AM_OK);
    pass(35, false);
    assert_int_equal(nodes[0].dead, 1);
    assert_int_equal(nodes[0].dev->ops->presence(nodes[0].ep), AM_DEV_HERE);
    pass(60, false);
    assert_int_equal(nodes[0].dead, 1);
    assert_int_equal(nodes[0].dev->ops->presence(nodes[0].ep), AM_DEV_HERE);
    dev_pair_close(nodes);
}

/* So many seconds pass at once. */
static void leap(uint64_t seconds)
{
    clock_virtual.now_ps += seconds * PS_PER_S;
}

/* The time in which this process computes is no silence of others, even if it looks
 * who is there before it reads what they sent. */
static void test_away(void **state)
{
    job_open("60");
    pass(5, true);
    leap(61);
    nodes[0].dev->ops->check(nodes[0].dev);
    assert_int_equal(nodes[0].dead, 0);
    pass(50, false);
    leap(1000);
    pass(5, false);
    assert_int_equal(nodes[0].dead, 0);
    pass(10, false); /* but what it was there for counts */
    assert_int_equal(nodes[0].dead, 1);
    dev_pair_close(nodes);
}

/* Two that compute at the same times do not count each other as dead. */
static void test_phase(void **state)
{
    job_open("60");
    for (int round = 0; round < 5; round++) {
        pass(3, true);
        leap(61);
        for (int i = 0; i < 2; i++) {
            nodes[i].dev->ops->poll(nodes[i].dev, 64);
            nodes[i].dev->ops->check(nodes[i].dev);
        }
        leap(1);
        for (int i = 0; i < 2; i++) {
            nodes[i].dev->ops->check(nodes[i].dev);
        }
    }
    assert_int_equal(nodes[0].dead + nodes[1].dead, 0);
    dev_pair_close(nodes);
}

/* Nor do channels that wait for each other's acknowledgements. */
static void test_phase_chan(void **state)
{
    static const char *const reliabilities[] = {"nack", "timer"};

    for (int k = 0; k < 2; k++) {
        const uint64_t hdr[2] = {0};

        job_meet_with("0", reliabilities[k]);
        dev_pair_send(nodes);
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 2; i++) {
                assert_int_equal(nodes[i].dev->ops->send(nodes[i].ep,
                                                         AM_DEV_REQUEST, hdr,
                                                         sizeof(hdr), NULL, 0),
                                 AM_OK);
                nodes[i].dev->ops->check(nodes[i].dev);
            }
            leap(31);
            for (int i = 0; i < 2; i++) {
                nodes[i].dev->ops->check(nodes[i].dev);
                nodes[i].dev->ops->poll(nodes[i].dev, 64);
            }
            pass(3, true);
        }
        assert_int_equal(nodes[0].dead + nodes[1].dead, 0);
        leap(31);
        assert_int_equal(nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST,
                                                 hdr, sizeof(hdr), NULL, 0),
                         AM_OK);
        pass(29, false);
        assert_int_equal(nodes[0].dead, 0);
        pass(5, false);
        assert_int_equal(nodes[0].dead, 1);
        dev_pair_close(nodes);
    }
}

/* One that was let go of, and whose host says nothing, does not keep this process from
 * sleeping for ever. */
static void test_leave_unheard(void **state)
{
    static const char *const reliabilities[] = {"nack", "timer"};

    for (int k = 0; k < 2; k++) {
        struct am_dev *dev;
        uint64_t most_ns;

        job_meet_with("0", reliabilities[k]);
        dev_pair_send(nodes);
        pass(10, true);
        dev = nodes[0].dev;
        assert_true(dev->ops->drained(dev));
        dev->ops->disconnect(nodes[0].ep);
        for (int i = 0; i < 4000; i++) {
            pass(1, false);
        }
        most_ns = PS_PER_S / 1000;
        assert_int_equal(am_dev_arm(dev, &most_ns), AM_OK);
        assert_int_equal(most_ns, PS_PER_S / 1000);
        dev_pair_close(nodes);
    }
}

/* Node 1 polls again after most of what it may be silent for, and what node 0 hears
 * then are the answers to its pings; that several times. */
static void answers(void)
{
    for (int round = 0; round < 5; round++) {
        struct udp_ep *ep = udp_ep_of(nodes[0].ep);

        pass(50, false);
        ep->heard = false;
        for (int i = 0; !ep->heard; i++) {
            assert_true(i < ASKED_MAX);
            nodes[1].dev->ops->poll(nodes[1].dev, 64);
            nodes[0].dev->ops->poll(nodes[0].dev, 64);
            am_env_relax(&clock_virtual.env, 0);
        }
    }
    assert_int_equal(nodes[0].dead, 0);
    assert_int_equal(nodes[1].stats[AM_DEV_STAT_RX_STALE], 0);
}

/* It speaks again, if only to answer pings. */
static void test_back(void **state)
{
    job_open("60");
    answers();
    dev_pair_close(nodes);
}

/* A rank answers though nothing was ever sent to it, and so it has no endpoint; it
 * does not get one by that. */
static void test_unheard(void **state)
{
    job_meet("60");
    answers();
    assert_null(nodes[1].ep);
    dev_pair_send(nodes);
    dev_pair_close(nodes);
}

/* So does one that has let go of who asks. */
static void test_let_go(void **state)
{
    job_open("60");
    nodes[1].dev->ops->disconnect(nodes[1].ep);
    answers();
    dev_pair_close(nodes);
}

/* Whoever waits yields the core, and does not sleep while work is queued; but when
 * a yield took as long as somebody's time slice, the next wait is a sleep, which a
 * packet ends. */
static void test_yield_long(void **state)
{
    const uint64_t *sleeps = &nodes[0].stats[AM_DEV_STAT_SLEEP];
    struct am_dev *dev;

    job_open("0");
    dev = nodes[0].dev;
    for (int i = 0; i < 10; i++) {
        (void)dev->ops->wait(dev, 1000, AM_DEV_REST_BRIEF);
    }
    assert_int_equal(*sleeps, 0);
    clock_virtual.yield_ps = PS_PER_S / 200;
    for (int i = 0; i < 10; i++) {
        (void)dev->ops->wait(dev, 1000, AM_DEV_REST_BRIEF);
    }
    assert_int_equal(*sleeps, 5); /* a yield, a sleep, a yield, ... */
    (void)dev->ops->wait(dev, 1000, AM_DEV_REST_LONG);
    assert_true(dev->ops->wait(dev, 1000, AM_DEV_REST_ASK));
    dev_pair_close(nodes);
}

/* What is staged goes out soon though nothing wakes a sleeper for it. */
static void test_arm_staged(void **state)
{
    const uint64_t second_ns = 1000000000, hdr[2] = {0};
    uint64_t most_ns = second_ns;
    struct am_dev *dev;

    job_open("0");
    dev = nodes[0].dev;
    assert_int_equal(am_dev_arm(dev, &most_ns), AM_OK);
    assert_int_equal(most_ns, second_ns);
    dev->more = true;
    assert_int_equal(dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr,
                                    sizeof(hdr), NULL, 0),
                     AM_OK);
    dev->more = false;
    assert_int_equal(am_dev_arm(dev, &most_ns), AM_OK);
    assert_int_equal(most_ns, second_ns / 1000);
    dev_pair_close(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_closed),
            cmocka_unit_test(test_silent),
            cmocka_unit_test(test_twice),
            cmocka_unit_test(test_away),
            cmocka_unit_test(test_phase),
            cmocka_unit_test(test_phase_chan),
            cmocka_unit_test(test_leave_unheard),
            cmocka_unit_test(test_back),
            cmocka_unit_test(test_unheard),
            cmocka_unit_test(test_let_go),
            cmocka_unit_test(test_yield_long),
            cmocka_unit_test(test_arm_staged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
