/*
 * Peers that are not there any more, and whom no packet can ask.  One ended without a
 * word and this end has let go of it since: the provider has no space for what goes to
 * it, and tries to connect for ever.  The device finds out that nobody is there, and is
 * drained.  Of another one it finds out while it has no buffer for a PING; and one that
 * does not know this end yet is not pinged, and not dead.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "support/cm.h"
#include "support/dev_open.h"
#include "support/dev_pair.h"

#include <am.h>
#include <string.h>

/* ofi_rxm of libfabric 1.17 leaks what it has of a connection that comes to nothing. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so";
}

enum {
    LOOKS_MAX = 5000
};

#define LOOK_PS UINT64_C(100000000000) /* 0.1 s between two looks */

static uint64_t now_ps;

static uint64_t clock_now(struct am_env *env)
{
    return now_ps;
}

static void nobody_is_dead(void *user, const char *why)
{
    fail_msg("%s", why);
}

static void count_dead(void *user, const char *why)
{
    ((struct dev_node *)user)->dead++;
}

static struct am_dev *dev_make(struct dev_node *node, struct am_env *env,
                               const char *silence_s)
{
    const struct am_option options[] = {{"AM_OFI_PROVIDER", "tcp;ofi_rxm"},
                                        {"AM_OFI_DOMAIN", "lo"},
                                        {"AM_OFI_SILENCE", silence_s}};
    struct am_dev_params params = {.env = env,
                                   .log = &node->log,
                                   .rank = node->rank,
                                   .size = 1,
                                   .nonce = am_env_random(am_env_real()),
                                   .up = {.arg = node, .dead = nobody_is_dead},
                                   .stats = node->stats,
                                   .error = node->error,
                                   .error_bytes = sizeof(node->error)};

    if (dev_open_options(&am_ofi_ops, &params, options, 3, &node->dev) !=
        AM_OK) {
        fail_msg("%s", node->error);
    }
    return node->dev;
}

/* The address of a device that was closed without a word. */
static size_t gone_address(struct dev_node *node, struct am_env *env,
                           uint8_t address[AM_ADDRESS_BYTES])
{
    struct am_dev *gone = dev_make(node, env, "0");
    size_t bytes = gone->ops->address(gone, address, AM_ADDRESS_BYTES);

    gone->ops->close(gone);
    return bytes;
}

static void test_left(void **state)
{
    static struct dev_node nodes[2];
    struct am_env_ops ops = *am_env_real()->ops;
    struct am_env env = {.ops = &ops};
    struct am_dev *dev;
    struct am_dev_ep *ep;
    uint8_t address[AM_ADDRESS_BYTES];
    const uint64_t hdr[2] = {0};
    size_t bytes;

    ops.now = clock_now;
    dev = dev_make(&nodes[0], &env, "0");
    bytes = gone_address(&nodes[1], &env, address);
    assert_int_equal(dev->ops->connect(dev, address, bytes, UINT32_MAX,
                                       &nodes[0], &ep),
                     AM_OK);
    assert_int_equal(dev->ops->send(ep, AM_DEV_REQUEST, hdr, sizeof(hdr), NULL,
                                    0),
                     AM_OK);
    dev->ops->disconnect(ep);
    for (int i = 0; !dev->ops->drained(dev); i++) {
        assert_true(i < LOOKS_MAX);
        now_ps += LOOK_PS;
        dev->ops->poll(dev, 64);
        dev->ops->check(dev);
        am_env_relax(am_env_real(), 0);
    }
    dev->ops->poll(dev, 64);
    assert_true(am_list_is_empty(&ofi_dev_of(dev)->eps));
    dev->ops->close(dev);
}

static void test_no_buffer(void **state)
{
    static struct dev_node nodes[2];
    struct am_env_ops ops = *am_env_real()->ops;
    struct am_env env = {.ops = &ops};
    struct am_dev *dev;
    struct am_dev_ep *ep;
    uint8_t address[AM_ADDRESS_BYTES];
    size_t bytes;

    ops.now = clock_now;
    dev = dev_make(&nodes[0], &env, "0");
    bytes = gone_address(&nodes[1], &env, address);
    dev->up.dead = count_dead;
    assert_int_equal(dev->ops->connect(dev, address, bytes, 1, &nodes[0], &ep),
                     AM_OK);
    ofi_dev_of(dev)->tx_spent = OFI_TX_COUNT; /* until the next poll */
    for (int i = 0; nodes[0].dead == 0; i++) {
        assert_true(i < LOOKS_MAX);
        now_ps += LOOK_PS;
        dev->ops->check(dev);
        am_env_relax(am_env_real(), 0);
    }
    dev->ops->close(dev);
}

static void test_ungreeted(void **state)
{
    static struct dev_node nodes[2];
    struct am_env_ops ops = *am_env_real()->ops;
    struct am_env env = {.ops = &ops};
    struct am_dev_ep *ep;
    uint8_t address[AM_ADDRESS_BYTES];
    size_t bytes;

    ops.now = clock_now;
    for (int i = 0; i < 2; i++) {
        dev_make(&nodes[i], &env, "3");
    }
    bytes = nodes[1].dev->ops->address(nodes[1].dev, address, sizeof(address));
    assert_int_equal(nodes[0].dev->ops->connect(nodes[0].dev, address, bytes,
                                                UINT32_MAX, &nodes[0], &ep),
                     AM_OK);
    for (int i = 0; i < 100; i++) {
        now_ps += LOOK_PS;
        nodes[0].dev->ops->check(nodes[0].dev);
        dev_pair_poll(nodes);
    }
    assert_int_equal(nodes[1].stats[AM_DEV_STAT_RX_STALE], 0);
    dev_pair_close(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_left),
                                       cmocka_unit_test(test_no_buffer),
                                       cmocka_unit_test(test_ungreeted)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
