/*
 * Packets that nobody of the job sends: strangers', impossible ones, ones of
 * connections that are over.  They are dropped and counted, and what comes
 * after them arrives.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "support/cm.h"
#include "support/dev_open.h"

#include <string.h>

enum {
    POLLS_MAX = 10000000 /* the kernel carries it when it gets to it */
};

struct node {
    struct am_dev *dev;
    struct am_dev_ep *ep;
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint32_t got;
    char error[256];
    struct am_log log; /* silent */
};

static struct node nodes[2];

static void up_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t data_bytes)
{
    assert_int_equal(hdr_bytes, 16);
    assert_int_equal(data_bytes, 0);
    ((struct node *)user)->got++;
}

static void *up_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    ((struct node *)arg)->ep = ep;
    return arg;
}

static void up_dead(void *user, const char *why)
{
    fail_msg("%s", why);
}

static void poll_both(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        nodes[i].dev->ops->poll(nodes[i].dev, 64);
    }
    am_env_relax(am_env_real(), 0);
}

/* A good packet from node 0 to node 1, and until it is there. */
static void send_good(void)
{
    uint64_t hdr[2] = {0};
    uint32_t got = nodes[1].got;

    assert_int_equal(nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr,
                                             sizeof(hdr), NULL, 0),
                     AM_OK);
    for (int i = 0; nodes[1].got == got; i++) {
        assert_true(i < POLLS_MAX);
        poll_both();
    }
    assert_int_equal(nodes[1].got, got + 1);
}

static void job_open(void)
{
    const struct am_option options[] = {{"AM_OFI_PROVIDER", "tcp;ofi_rxm"},
                                        {"AM_OFI_DOMAIN", "lo"}};
    uint8_t addresses[2][AM_ADDRESS_BYTES];
    const void *parts[2] = {addresses[0], addresses[1]};
    size_t bytes[2];
    uint64_t nonce = am_env_random(am_env_real());

    memset(nodes, 0, sizeof(nodes));
    for (uint32_t i = 0; i < 2; i++) {
        struct node *node = &nodes[i];
        struct am_dev_params params = {
                .env = am_env_real(),
                .log = &node->log,
                .rank = i,
                .size = 2,
                .nonce = nonce + i,
                .up = {node, up_packet, NULL, up_accept, up_dead},
                .stats = node->stats,
                .error = node->error,
                .error_bytes = sizeof(node->error)};

        if (dev_open_options(&am_ofi_ops, &params, options, 2, &node->dev) !=
            AM_OK) {
            fail_msg("%s", node->error);
        }
        bytes[i] = node->dev->ops->address(node->dev, addresses[i],
                                           sizeof(addresses[i]));
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
    send_good();
}

static void job_close(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        nodes[i].dev->ops->close(nodes[i].dev);
    }
}

/* Put bytes on the wire as they are; node 1 counts them in `stat`. */
static void hostile(const void *packet, size_t bytes, uint32_t stat)
{
    struct ofi_dev *dev = ofi_dev_of(nodes[0].dev);
    uint64_t before = nodes[1].stats[stat];

    while (fi_inject(dev->ep, packet, bytes, ofi_ep_of(nodes[0].ep)->to) ==
           -FI_EAGAIN) {
        poll_both();
    }
    for (int i = 0; nodes[1].stats[stat] == before; i++) {
        assert_true(i < POLLS_MAX);
        poll_both();
    }
    assert_int_equal(nodes[1].stats[stat], before + 1);
    send_good();
}

static void test_hostile(void **state)
{
    struct ofi_hdr good, bad;

    job_open();
    good = (struct ofi_hdr){.to = ofi_dev_of(nodes[1].dev)->nonce,
                            .from = ofi_dev_of(nodes[0].dev)->nonce};
    hostile("short", 5, AM_DEV_STAT_RX_BAD);
    hostile("", 0, AM_DEV_STAT_RX_BAD);
    bad = good;
    bad.to++;
    hostile(&bad, sizeof(bad), AM_DEV_STAT_RX_FOREIGN);
    bad = good;
    bad.from += 7;
    hostile(&bad, sizeof(bad), AM_DEV_STAT_RX_FOREIGN);
    bad = good;
    bad.hdr_words = 3; /* and nothing follows */
    hostile(&bad, sizeof(bad), AM_DEV_STAT_RX_BAD);
    bad = good;
    bad.flags = OFI_FLAG_END;
    hostile(&bad, sizeof(bad), AM_DEV_STAT_RX_BAD);
    bad = good;
    bad.flags = OFI_FLAG_ANSWER;
    hostile(&bad, sizeof(bad), AM_DEV_STAT_RX_BAD);
    bad = good;
    bad.conn = 4; /* it never said HELLO */
    hostile(&bad, sizeof(bad), AM_DEV_STAT_RX_STALE);
    bad.flags = OFI_FLAG_HELLO; /* without an address */
    hostile(&bad, sizeof(bad), AM_DEV_STAT_RX_BAD);
    job_close();
}

/* Credit that nobody gave does not let more requests out than there is space
 * for. */
static void test_credit(void **state)
{
    struct ofi_hdr lie = {0};
    uint64_t hdr[2] = {0};
    uint32_t count = 0;

    job_open();
    lie.to = ofi_dev_of(nodes[0].dev)->nonce;
    lie.from = ofi_dev_of(nodes[1].dev)->nonce;
    lie.credits = UINT16_MAX;
    lie.flags = OFI_FLAG_CREDIT;
    assert_int_equal(nodes[1].dev->ops->send(nodes[1].ep, AM_DEV_REQUEST, hdr,
                                             sizeof(hdr), NULL, 0),
                     AM_OK);
    while (nodes[0].got == 0) {
        poll_both();
    }
    while (fi_inject(ofi_dev_of(nodes[1].dev)->ep, &lie, sizeof(lie),
                     ofi_ep_of(nodes[1].ep)->to) == -FI_EAGAIN) {
        poll_both();
    }
    for (int i = 0; i < 1000; i++) {
        poll_both();
    }
    while (nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr,
                                   sizeof(hdr), NULL, 0) == AM_OK) {
        nodes[0].dev->ops->poll(nodes[0].dev, 64);
        assert_true(++count <= OFI_CREDITS);
    }
    while (nodes[1].got < count + 1) {
        poll_both();
    }
    job_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_hostile),
            cmocka_unit_test(test_credit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
