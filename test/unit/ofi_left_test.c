/*
 * A packet to a peer that ended without a word, of whom this end has let go since:
 * the provider has no space for it, and tries to connect for ever.  The device
 * finds out that nobody is there, and is drained.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "support/cm.h"
#include "support/dev_open.h"
#include "support/dev_pair.h"

#include <am.h>
#include <string.h>

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

static struct am_dev *dev_make(struct dev_node *node, struct am_env *env)
{
    static const struct am_option options[] = {
            {"AM_OFI_PROVIDER", "tcp;ofi_rxm"}, {"AM_OFI_DOMAIN", "lo"}};
    struct am_dev_params params = {.env = env,
                                   .log = &node->log,
                                   .rank = node->rank,
                                   .size = 1,
                                   .nonce = am_env_random(am_env_real()),
                                   .up = {.arg = node, .dead = nobody_is_dead},
                                   .stats = node->stats,
                                   .error = node->error,
                                   .error_bytes = sizeof(node->error)};

    if (dev_open_options(&am_ofi_ops, &params, options, 2, &node->dev) !=
        AM_OK) {
        fail_msg("%s", node->error);
    }
    return node->dev;
}

static void test_left(void **state)
{
    static struct dev_node nodes[2];
    struct am_env_ops ops = *am_env_real()->ops;
    struct am_env env = {.ops = &ops};
    struct am_dev *dev, *gone;
    struct am_dev_ep *ep;
    uint8_t address[AM_ADDRESS_BYTES];
    const uint64_t hdr[2] = {0};
    size_t bytes;

    ops.now = clock_now;
    dev = dev_make(&nodes[0], &env);
    gone = dev_make(&nodes[1], &env);
    bytes = gone->ops->address(gone, address, sizeof(address));
    gone->ops->close(gone);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_left)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
