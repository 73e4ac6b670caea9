/*
 * A wait over ofi: asleep where the provider has a descriptor and the layer above
 * allows it, and awake when something comes; else it goes on polling.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "support/cm.h"
#include "support/dev_pair.h"

enum {
    IDLE_LONG = 1 << 20,
    ROUNDS = 200
};

static struct dev_node nodes[2];

static void job_open(const char *provider, const char *domain)
{
    const struct am_option options[] = {{"AM_OFI_PROVIDER", provider},
                                        {"AM_OFI_DOMAIN", domain}};

    dev_pair_open(nodes, &am_ofi_ops, am_env_real(), options, 2);
    for (int i = 0; i < 1000 || !ofi_drained(nodes[0].dev); i++) {
        dev_pair_poll(nodes);
    }
}

static void wait_long(uint32_t node, bool may_sleep)
{
    (void)nodes[node].dev->ops->wait(nodes[node].dev, IDLE_LONG,
                                     may_sleep ? AM_DEV_REST_LONG
                                               : AM_DEV_REST_BRIEF);
}

static void test_sleep(void **state)
{
    uint64_t hdr[2] = {0};
    uint64_t *sleeps;

    job_open("tcp;ofi_rxm", "lo");
    sleeps = &nodes[1].stats[AM_DEV_STAT_SLEEP];
    assert_true(nodes[1].dev->attr.caps & AM_DEV_CAP_WAIT);
    wait_long(1, false);
    nodes[1].dev->ops->wait(nodes[1].dev, 1, AM_DEV_REST_LONG);
    assert_int_equal(*sleeps, 0);
    wait_long(1, true);
    assert_int_equal(*sleeps, 1);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t got = nodes[1].got;

        assert_int_equal(nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST,
                                                 hdr, sizeof(hdr), NULL, 0),
                         AM_OK);
        while (nodes[1].got == got) {
            wait_long(1, true);
            nodes[0].dev->ops->poll(nodes[0].dev, 64);
            nodes[1].dev->ops->poll(nodes[1].dev, 64);
        }
    }
    dev_pair_close(nodes);
}

/* What waits to go is not slept on: nobody would send it. */
static void test_work(void **state)
{
    struct ofi_dev *dev;
    struct ofi_ep *ep;

    job_open("tcp;ofi_rxm", "lo");
    dev = ofi_dev_of(nodes[0].dev);
    ep = ofi_ep_of(nodes[0].ep);
    am_list_push(&dev->stuck, &ep->stuck_link);
    wait_long(0, true);
    assert_int_equal(nodes[0].stats[AM_DEV_STAT_SLEEP], 0);
    am_list_remove(&ep->stuck_link);
    wait_long(0, true);
    assert_int_equal(nodes[0].stats[AM_DEV_STAT_SLEEP], 1);
    dev_pair_close(nodes);
}

static void test_none(void **state)
{
    uint64_t most_ns = UINT64_MAX;

    job_open("shm", "");
    assert_false(nodes[1].dev->attr.caps & AM_DEV_CAP_WAIT);
    wait_long(1, true);
    assert_int_equal(nodes[1].stats[AM_DEV_STAT_SLEEP], 0);
    assert_int_equal(nodes[1].dev->ops->arm(nodes[1].dev, &most_ns), AM_OK);
    assert_true(most_ns <= 1000000);
    dev_pair_close(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sleep),
            cmocka_unit_test(test_work),
            cmocka_unit_test(test_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
