/*
 * Peers that are gone, in virtual time: a closed port is a death, told once with
 * the address; silence is one when it has lasted as long as AM_UDP_SILENCE says,
 * and a peer that speaks again before is none.
 */
#include "config.h"

#include "dev/udp/udp.h"
#include "support/cm.h"
#include "support/dev_open.h"

#include <string.h>
#include <unistd.h>

enum {
    ASKED_MAX = 1000000 /* the kernel answers when it gets to it */
};
#define PS_PER_S UINT64_C(1000000000000)

struct clock {
    struct am_env env;
    uint64_t now_ps;
};

struct node {
    struct am_dev *dev;
    struct am_dev_ep *ep;
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint32_t got, dead;
    char why[256], error[256];
    struct am_log log; /* silent */
};

static struct clock clock_virtual;
static struct node nodes[2];

static uint64_t clock_now(struct am_env *env)
{
    return am_container(env, struct clock, env)->now_ps;
}

static void clock_charge(struct am_env *env, am_cost_t kind, uint64_t units)
{
}

static void clock_relax(struct am_env *env, uint64_t deadline_ps)
{
    am_env_relax(am_env_real(), 0); /* the core, not the time */
}

static uint64_t clock_random(struct am_env *env)
{
    return am_env_random(am_env_real());
}

static const struct am_env_ops clock_ops = {.now = clock_now,
                                            .charge = clock_charge,
                                            .relax = clock_relax,
                                            .random = clock_random};

static void up_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t data_bytes)
{
    ((struct node *)user)->got++;
}

static void *up_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    struct node *node = arg;

    assert_int_equal(rank, node == &nodes[0] ? 1 : 0);
    node->ep = ep;
    return node;
}

static void up_dead(void *user, const char *why)
{
    struct node *node = user;

    node->dead++;
    snprintf(node->why, sizeof(node->why), "%s", why);
}

/* Two ranks of a job that have heard of each other. */
static void job_open(const char *silence_s)
{
    const struct am_option options[] = {{"AM_UDP_IF", "lo"},
                                        {"AM_UDP_SILENCE", silence_s},
                                        {"AM_RELIABILITY", "none"}};
    struct udp_address addresses[2];
    const void *parts[2] = {&addresses[0], &addresses[1]};
    size_t bytes[2] = {udp_address_bytes(4), udp_address_bytes(4)};
    uint64_t nonce = am_env_random(am_env_real());
    uint64_t hdr[2] = {0};

    memset(nodes, 0, sizeof(nodes));
    clock_virtual = (struct clock){{.ops = &clock_ops}, PS_PER_S};
    for (uint32_t i = 0; i < 2; i++) {
        struct node *node = &nodes[i];
        struct am_dev_params params = {
                .env = &clock_virtual.env,
                .log = &node->log,
                .rank = i,
                .size = 2,
                .nonce = nonce + i,
                .up = {node, up_packet, NULL, up_accept, up_dead},
                .stats = node->stats,
                .error = node->error,
                .error_bytes = sizeof(node->error)};

        if (dev_open_options(&am_udp_ops, &params, options, 3, &node->dev) !=
            AM_OK) {
            fail_msg("%s", node->error);
        }
        node->dev->ops->address(node->dev, &addresses[i], sizeof(addresses[i]));
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(nodes[i].dev->ops->connect_all(nodes[i].dev, parts,
                                                        bytes, 2),
                         AM_OK);
    }
    assert_int_equal(nodes[0].dev->ops->connect(nodes[0].dev, parts[1],
                                                bytes[1], 1, &nodes[0],
                                                &nodes[0].ep),
                     AM_OK);
    assert_int_equal(nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr,
                                             sizeof(hdr), NULL, 0),
                     AM_OK);
    for (int i = 0; nodes[1].got == 0; i++) {
        assert_true(i < ASKED_MAX);
        nodes[1].dev->ops->poll(nodes[1].dev, 64);
        am_env_relax(&clock_virtual.env, 0);
    }
}

static void job_close(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        nodes[i].dev->ops->close(nodes[i].dev);
    }
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
    close(victim->fd);
    victim->fd = -1;
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
    job_close();
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
    job_close();
}

/* It speaks again, if only to answer pings. */
static void test_back(void **state)
{
    job_open("60");
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
    job_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_closed),
            cmocka_unit_test(test_silent),
            cmocka_unit_test(test_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
