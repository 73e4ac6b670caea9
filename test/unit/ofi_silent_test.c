/*
 * A peer that says nothing any more while its host stands, as one that was stopped
 * or whose cable was pulled: after AM_OFI_SILENCE it is told dead, what the
 * provider still has of it ends once, and the device is drained.  Where the
 * provider cuts the connection, nothing is written into the memory of a get later.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "support/cm.h"
#include "support/dev_pair.h"

#include <am.h>
#include <string.h>

enum {
    LOOKS_MAX = 300, /* of 0.1 s */
    GET_BYTES = 8 << 20,
    SEND_BYTES = 60000,
    POLLS = 2000
};

#define LOOK_PS UINT64_C(100000000000)

/* The provider net of libfabric 1.17 leaks a struct fi_info for each connection. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so";
}

static uint64_t now_ps; /* 0: the machine's */
static int ended;
static am_status_t how;
static uint8_t here[GET_BYTES], there[GET_BYTES];

static uint64_t clock_now(struct am_env *env)
{
    return now_ps != 0 ? now_ps : am_env_now(am_env_real());
}

static uint64_t random_any(struct am_env *env)
{
    return am_env_random(am_env_real());
}

static void got(void *arg, am_status_t status)
{
    ended++;
    how = status;
}

static void packet_any(void *user, uint32_t class, const void *hdr,
                       size_t hdr_bytes, void *data, size_t data_bytes)
{
}

static void get(struct dev_node nodes[2])
{
    struct iovec piece = {here, sizeof(here)};
    struct am_dev_key key;

    assert_int_equal(nodes[1].dev->ops->mem_register(nodes[1].dev, there,
                                                     sizeof(there),
                                                     AM_DEV_RIGHTS_ALL, &key),
                     AM_OK);
    assert_int_equal(
            nodes[0].dev->ops->get(nodes[0].ep, &piece, 1, &key, 0, got, NULL),
            AM_OK);
}

/* More than the kernel takes. */
static void send_much(struct dev_node nodes[2])
{
    struct am_dev *dev = nodes[0].dev;
    const uint64_t hdr[2] = {0};

    while (dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr, sizeof(hdr), there,
                          SEND_BYTES) == AM_OK) {
        dev->ops->poll(dev, 64);
    }
}

static void job_open(struct dev_node nodes[2], const char *provider)
{
    const struct am_option options[] = {{"AM_OFI_PROVIDER", provider},
                                        {"AM_OFI_DOMAIN", "lo"},
                                        {"AM_OFI_READS", "on"},
                                        {"AM_OFI_PACKET", "64k"},
                                        {"AM_OFI_SILENCE", "3"}};
    static struct am_env_ops ops;
    static struct am_env env = {.ops = &ops};

    ops = *am_env_real()->ops;
    ops.now = clock_now;
    ops.random = random_any;
    now_ps = 100 * LOOK_PS;
    ended = 0;
    dev_pair_open(nodes, &am_ofi_ops, &env, options,
                  sizeof(options) / sizeof(options[0]));
}

static void silent(const char *provider, bool gets, bool cuts)
{
    static struct dev_node nodes[2];
    struct am_dev *dev;

    job_open(nodes, provider);
    dev = nodes[0].dev;
    nodes[1].dev->up.packet = packet_any;
    if (gets) {
        get(nodes);
    }
    send_much(nodes);
    assert_false(dev->ops->drained(dev));
    for (int i = 0;
         nodes[0].dead == 0 || ended < gets || !dev->ops->drained(dev); i++) {
        assert_true(i < LOOKS_MAX);
        now_ps += LOOK_PS;
        dev->ops->poll(dev, 64);
        dev->ops->check(dev);
    }
    if (gets) {
        assert_int_equal(how, AM_ERR_PEER);
    }
    memset(here, 0x5a, sizeof(here));
    for (int i = 0; i < POLLS; i++) { /* it goes on */
        dev_pair_poll(nodes);
    }
    assert_int_equal(nodes[0].dead, 1);
    assert_int_equal(ended, gets);
    for (size_t i = 0; cuts && i < sizeof(here); i++) {
        assert_int_equal(here[i], 0x5a);
    }
    assert_true(dev->ops->drained(dev));
    now_ps = 0; /* a close waits a while */
    dev_pair_close(nodes);
}

static void test_rxm(void **state)
{
    silent("tcp;ofi_rxm", true, true);
}

static void test_net(void **state)
{
    silent("net", true, false);
}

/* Its own thread answers a get. */
static void test_sockets(void **state)
{
    silent("sockets", false, false);
}

/* The time in which this process does not look is not the peer's silence. */
static void test_away(void **state)
{
    static struct dev_node nodes[2];

    job_open(nodes, "tcp;ofi_rxm");
    for (int round = 0; round < 5; round++) {
        now_ps += 1000 * LOOK_PS;
        for (int i = 0; i < 2; i++) {
            nodes[i].dev->ops->check(nodes[i].dev);
        }
        for (int i = 0; i < POLLS; i++) {
            dev_pair_poll(nodes);
        }
    }
    assert_int_equal(nodes[0].dead + nodes[1].dead, 0);
    now_ps = 0;
    dev_pair_close(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_rxm), cmocka_unit_test(test_net),
            cmocka_unit_test(test_sockets), cmocka_unit_test(test_away)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
