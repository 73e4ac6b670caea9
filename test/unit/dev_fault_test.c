/*
 * The fault device: its text, its ratios, and that a seed repeats.
 */
#include "chan/chan.h"
#include "dev/fault/fault.h"
#include "support/cm.h"
#include "support/dev_open.h"
#include "support/pipe_dev.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------------- text */

static void test_good_text(void **state)
{
    struct am_fault_spec spec;

    assert_int_equal(am_fault_parse("", &spec), AM_OK);
    assert_false(spec.any);
    assert_int_equal(am_fault_parse("seed=9", &spec), AM_OK);
    assert_false(spec.any);
    assert_int_equal(am_fault_parse("drop=1/100,dup=1/50,reorder=1/20,"
                                    "corrupt=3/100,delay=1/50:16,stall=1/10,"
                                    "seed=18446744073709551615",
                                    &spec),
                     AM_OK);
    assert_true(spec.any);
    assert_int_equal(spec.drop.numerator, 1);
    assert_int_equal(spec.drop.denominator, 100);
    assert_int_equal(spec.duplicate.denominator, 50);
    assert_int_equal(spec.reorder.denominator, 20);
    assert_int_equal(spec.corrupt.numerator, 3);
    assert_int_equal(spec.delay.denominator, 50);
    assert_int_equal(spec.delay_polls, 16);
    assert_int_equal(spec.stall.denominator, 10);
    assert_int_equal(spec.stall_polls, 8);
    assert_true(spec.seed == UINT64_MAX);
    assert_int_equal(am_fault_parse("drop=1/1", &spec), AM_OK);
    assert_int_equal(am_fault_parse("drop=0/5", &spec), AM_OK);
    assert_false(spec.any);
}

static void test_bad_text(void **state)
{
    static const char *const bad[] = {"drop",
                                      "drop=",
                                      "drop=1",
                                      "drop=1/",
                                      "drop=1/0",
                                      "drop=2/1",
                                      "drop=-1/2",
                                      "drop=1/2:3",
                                      "drop= 1/2",
                                      "drop=1/2,",
                                      ",drop=1/2",
                                      "drop=1/2 ",
                                      "lose=1/2",
                                      "seed=",
                                      "seed=x",
                                      "delay=1/2:",
                                      "delay=1/2:0",
                                      "delay=1/2:x",
                                      "drop=1/2;dup=1/2",
                                      "drop=4294967296/4294967297",
                                      "seed=18446744073709551616",
                                      "stall=1/2:99999999999999999999"};
    struct am_fault_spec spec;
    char accepted[256];

    memset(&spec, 0x5a, sizeof(spec));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct am_fault_spec before = spec;

        assert_int_equal(am_fault_parse(bad[i], &spec), AM_ERR_CONFIG);
        assert_memory_equal(&spec, &before, sizeof(spec));
        assert_int_equal(am_fault_check(bad[i], accepted, sizeof(accepted)),
                         AM_ERR_CONFIG);
        assert_non_null(strstr(accepted, "drop=N/M"));
    }
}

/* ------------------------------------------------------------------- packets */

struct receiver {
    uint64_t count, hash, spoilt;
};

static void on_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct receiver *receiver = user;
    uint64_t words[4];

    assert_int_equal(hdr_bytes, 8);
    assert_int_equal(data_bytes, 24);
    memcpy(words, hdr, 8);
    memcpy(words + 1, data, 24);
    receiver->count++;
    for (int i = 0; i < 4; i++) {
        receiver->hash = (receiver->hash ^ words[i]) * UINT64_C(0x100000001b3);
        receiver->spoilt += i > 0 && words[i] != words[0];
    }
}

static void *on_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    return arg;
}

static struct receiver run(const char *fault)
{
    struct pipe_net net;
    struct receiver receiver = {0};
    struct am_log log = {0};
    uint64_t stats[AM_DEV_STAT_COUNT] = {0};
    struct am_option options[] = {{"AM_FAULT", fault},
                                  {"AM_RELIABILITY", "none"}};
    char error[200];
    struct am_dev_params params = {
            .env = &net.env,
            .log = &log,
            .size = 2,
            .up = {.arg = &receiver, .packet = on_packet, .accept = on_accept},
            .stats = stats,
            .error = error,
            .error_bytes = sizeof(error)};
    struct am_dev *dev[2];
    struct am_dev_ep *ep;
    uint8_t address[16];
    size_t bytes;

    pipe_net_init(&net,
                  AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED | AM_DEV_CAP_PUT);
    for (uint32_t i = 0; i < 2; i++) {
        params.rank = i;
        assert_int_equal(
                dev_open_options(&pipe_dev_ops, &params, options, 2, &dev[i]),
                AM_OK);
        assert_int_equal(dev[i]->attr.caps, 0); /* promises nothing */
    }
    bytes = dev[1]->ops->address(dev[1], address, sizeof(address));
    assert_int_equal(
            dev[0]->ops->connect(dev[0], address, bytes, 1, &receiver, &ep),
            AM_OK);
    for (uint64_t i = 0; i < 20000;) {
        const uint64_t words[4] = {i, i, i, i};

        if (dev[0]->ops->send(ep, i % 2, words, 8, words + 1, 24) == AM_OK) {
            i++;
        }
        dev[0]->ops->poll(dev[0], 64);
        dev[1]->ops->poll(dev[1], 64);
    }
    for (int i = 0; i < 1000; i++) {
        dev[0]->ops->poll(dev[0], 64);
        dev[1]->ops->poll(dev[1], 64);
    }
    dev[0]->ops->close(dev[0]);
    dev[1]->ops->close(dev[1]);
    return receiver;
}

/* Near what is asked: 20000 draws of 1/10 are 2000, 170 are 4 deviations. */
static void test_ratios(void **state)
{
    struct receiver receiver = run("drop=1/10,seed=1");

    assert_in_range(receiver.count, 18000 - 170, 18000 + 170);
    assert_int_equal(receiver.spoilt, 0);
    receiver = run("dup=1/10,seed=2");
    assert_in_range(receiver.count, 22000 - 170, 22000 + 170);
    receiver = run("corrupt=1/10,seed=3");
    assert_int_equal(receiver.count, 20000);
    /* one to four bits of 256, so at least one word of four differs */
    assert_true(receiver.spoilt > 1800);
    receiver = run("reorder=1/10,delay=1/10:3,stall=1/10,seed=4");
    assert_int_equal(receiver.count, 20000);
    assert_int_equal(receiver.spoilt, 0);
}

static void test_seed(void **state)
{
    static const char mixed[] = "drop=1/9,dup=1/9,reorder=1/9,corrupt=1/9,"
                                "delay=1/9:4,stall=1/9:2,seed=5";
    struct receiver first = run(mixed), again = run(mixed);
    char other[sizeof(mixed)];

    assert_int_equal(first.count, again.count);
    assert_true(first.hash == again.hash);
    memcpy(other, mixed, sizeof(other));
    other[sizeof(other) - 2] = '6';
    assert_true(run(other).hash != first.hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_good_text),
            cmocka_unit_test(test_bad_text),
            cmocka_unit_test(test_ratios),
            cmocka_unit_test(test_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
