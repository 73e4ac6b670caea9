/*
 * Packets that nobody of the job sends: strangers', impossible ones, ones of
 * connections that are over.  They are dropped and counted, and what comes
 * after them arrives.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "support/cm.h"
#include "support/dev_pair.h"

#include <string.h>

#define LONG_BYTES (2 * OFI_RX_SLAB_BYTES)

static struct dev_node nodes[2];
static uint8_t long_packet[LONG_BYTES];

static void job_open_with(const char *provider, const char *domain,
                          const char *multi)
{
    const struct am_option options[] = {{"AM_OFI_PROVIDER", provider},
                                        {"AM_OFI_DOMAIN", domain},
                                        {"AM_OFI_MULTI", multi}};

    dev_pair_open(nodes, &am_ofi_ops, am_env_real(), options, 3);
}

static void job_open(void)
{
    job_open_with("tcp;ofi_rxm", "lo", "on");
}

static void job_close(void)
{
    assert_int_equal(nodes[0].dead + nodes[1].dead, 0);
    dev_pair_close(nodes);
}

/* Put bytes on the wire as they are; node 1 counts them in `stat`. */
static void hostile(const void *packet, size_t bytes, uint32_t stat)
{
    struct ofi_dev *dev = ofi_dev_of(nodes[0].dev);
    uint64_t before = nodes[1].stats[stat];

    while (fi_inject(dev->ep, packet, bytes, ofi_ep_of(nodes[0].ep)->to) ==
           -FI_EAGAIN) {
        dev_pair_poll(nodes);
    }
    for (int i = 0; nodes[1].stats[stat] == before; i++) {
        assert_true(i < DEV_PAIR_POLLS_MAX);
        dev_pair_poll(nodes);
    }
    assert_int_equal(nodes[1].stats[stat], before + 1);
    dev_pair_send(nodes);
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

/* Addresses that are text: too long, without an end, and none. */
static void test_text(void **state)
{
    const uint8_t lengths[] = {sizeof(struct ofi_address) - OFI_ADDRESS_HEAD,
                               OFI_NAME_MAX, 0};

    struct {
        struct ofi_hdr hdr;
        struct ofi_address address; /* and what pads it */
    } hello;

    job_open_with("shm", "", "on");
    memset(&hello, 'x', sizeof(hello));
    hello.hdr = (struct ofi_hdr){.to = ofi_dev_of(nodes[1].dev)->nonce,
                                 .from = 77,
                                 .conn = 1,
                                 .flags = OFI_FLAG_HELLO};
    memcpy(&hello.address, &ofi_dev_of(nodes[0].dev)->me, OFI_ADDRESS_HEAD);
    memcpy(hello.address.name, OFI_SHM_PREFIX, strlen(OFI_SHM_PREFIX));
    hello.address.nonce = hello.hdr.from;
    for (size_t i = 0; i < sizeof(lengths); i++) {
        hello.address.name_bytes = lengths[i];
        hostile(&hello, sizeof(hello.hdr) + ofi_address_bytes(&hello.address),
                AM_DEV_STAT_RX_BAD);
    }
    job_close();
}

/* A buffer of this device goes out with a packet that is longer than it may be. */
static void send_long(struct ofi_dev *dev, struct ofi_ep *ep)
{
    struct ofi_tx *tx =
            am_container(am_list_pop(&dev->tx_free), struct ofi_tx, link);

    dev->tx_free_count--;
    tx->ep = ep;
    tx->bytes = LONG_BYTES;
    ep->flying++;
    ep->flying_bytes += LONG_BYTES;
    while (fi_send(dev->ep, long_packet, LONG_BYTES, dev->tx_desc, ep->to,
                   &tx->context) == -FI_EAGAIN) {
        dev_pair_poll(nodes);
    }
}

/* However many packets come that no buffer holds, there are buffers for those that
 * follow. */
static void test_long(void **state)
{
    static const char *const multis[] = {"on", "off"};

    for (int i = 0; i < 2; i++) {
        uint32_t count;

        job_open_with("tcp;ofi_rxm", "lo", multis[i]);
        count = ofi_dev_of(nodes[1].dev)->rx_count;
        for (uint32_t k = 1; k <= count + 1; k++) {
            send_long(ofi_dev_of(nodes[0].dev), ofi_ep_of(nodes[0].ep));
            for (int n = 0; nodes[1].stats[AM_DEV_STAT_RX_BAD] < k; n++) {
                assert_true(n < DEV_PAIR_POLLS_MAX);
                dev_pair_poll(nodes);
            }
        }
        dev_pair_send(nodes);
        job_close();
    }
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
        dev_pair_poll(nodes);
    }
    while (fi_inject(ofi_dev_of(nodes[1].dev)->ep, &lie, sizeof(lie),
                     ofi_ep_of(nodes[1].ep)->to) == -FI_EAGAIN) {
        dev_pair_poll(nodes);
    }
    for (int i = 0; i < 1000; i++) {
        dev_pair_poll(nodes);
    }
    while (nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr,
                                   sizeof(hdr), NULL, 0) == AM_OK) {
        nodes[0].dev->ops->poll(nodes[0].dev, 64);
        assert_true(++count <= OFI_CREDITS);
    }
    while (nodes[1].got < count + 1) {
        dev_pair_poll(nodes);
    }
    job_close();
}

static bool never_ready(void *user)
{
    return false;
}

/* Who sends more requests than it may, while the layer above is not ready for any,
 * takes no more memory: it is dead. */
static void test_flood(void **state)
{
    struct ofi_hdr request = {0};

    job_open();
    nodes[1].dev->up.ready = never_ready;
    request.to = ofi_dev_of(nodes[1].dev)->nonce;
    request.from = ofi_dev_of(nodes[0].dev)->nonce;
    for (int i = 0; i < 3 * OFI_CREDITS; i++) {
        while (fi_inject(ofi_dev_of(nodes[0].dev)->ep, &request,
                         sizeof(request),
                         ofi_ep_of(nodes[0].ep)->to) == -FI_EAGAIN) {
            dev_pair_poll(nodes);
        }
    }
    for (int i = 0; nodes[1].stats[AM_DEV_STAT_RX_STALE] < 2 * OFI_CREDITS - 1;
         i++) {
        assert_true(i < DEV_PAIR_POLLS_MAX);
        dev_pair_poll(nodes);
    }
    assert_int_equal(nodes[1].stats[AM_DEV_STAT_RX_HELD], OFI_CREDITS);
    assert_int_equal(nodes[1].stats[AM_DEV_STAT_RX_BAD], 1);
    assert_int_equal(nodes[1].dead, 1);
    dev_pair_close(nodes);
}

/* Requests that wait for the layer above and are forgotten, as it lets go of the peer,
 * are credit again: more of them come. */
static void test_forgotten(void **state)
{
    const uint64_t hdr[2] = {0};
    struct am_dev *dev;

    job_open();
    dev = nodes[0].dev;
    nodes[1].dev->up.ready = never_ready;
    for (int i = 0; nodes[1].stats[AM_DEV_STAT_RX_HELD] < OFI_CREDITS - 1;
         i++) { /* one was taken */
        assert_true(i < DEV_PAIR_POLLS_MAX);
        (void)dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr, sizeof(hdr),
                             NULL, 0);
        dev_pair_poll(nodes);
    }
    nodes[1].dev->up.ready = NULL;
    nodes[1].dev->ops->disconnect(nodes[1].ep);
    for (int i = 0; ofi_ep_of(nodes[0].ep)->credit == 0; i++) {
        assert_true(i < DEV_PAIR_POLLS_MAX);
        dev_pair_poll(nodes);
    }
    dev_pair_send(nodes);
    job_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_hostile), cmocka_unit_test(test_text),
            cmocka_unit_test(test_long),    cmocka_unit_test(test_credit),
            cmocka_unit_test(test_flood),   cmocka_unit_test(test_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
