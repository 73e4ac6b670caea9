/*
 * The meter where ranks share a core: what is seen is used as it is, when a stream's memory is in
 * the cache; and what was seen there says nothing elsewhere.
 */
#include "config.h"

#include "support/cm.h"
#include "support/meter.h"

/* Ranks that take turns on a core wait for no other end while they copy: what is seen is
 * used, by who only sends for the receiver's copies as well, but not while the ring is new,
 * nor of copies so long that another has had the core meanwhile. */
static void test_shared_core(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_shared(&meter, &changes);
    (void)timed(&meter, BYTES, 64, 60000);
    assert_int_equal(meter.rates[0][AM_COPY_IN].samples, 0);
    (void)timed(&meter, 8 * BYTES, 1000, 60000);
    assert_int_equal(meter.rates[0][AM_COPY_IN].samples, 0);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    (void)timed(&meter, BYTES, 200, 30000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 30000));
    assert_int_equal(meter.perf.recv_overhead.per_byte_fs,
                     meter.perf.send_overhead.per_byte_fs);
    assert_int_equal(changes, 2);
    see(&meter, AM_COPY_OUT, 100, 60000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 30000));
    assert_true(is_near(meter.perf.recv_overhead.per_byte_fs, 60000));
    am_meter_turns(&meter, false, 0); /* which is another matter */
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    (void)timed(&meter, BYTES, 1000, 30000);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
}

/* There a stream that has not been used for long is tried in a ring that is cold again. */
static void test_shared_trial(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_shared(&meter, &changes);
    (void)timed(&meter, BYTES, 300, 70000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 70000));
    see(&meter, AM_COPY_SINGLE, 4096, 50000);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    (void)timed(&meter, BYTES, 64, 70000);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    (void)timed(&meter, BYTES, 64, 22000);
    assert_in_range(meter.perf.send_overhead.per_byte_fs, 18000, 23000);
    (void)timed(&meter, BYTES, 1000, 70000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 70000));
}

/* What has been seen there is used, if it is near the prior, too; and no end takes its own
 * copies for the other's beside a profile, nor between cores that share no cache. */
static void test_shared_other(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_shared(&meter, &changes);
    see(&meter, AM_COPY_IN, 300, 60000);
    assert_true(is_near(meter.perf.recv_overhead.per_byte_fs, 60000));
    assert_ptr_equal(am_meter_used(&meter, AM_COPY_OUT),
                     &meter.rates[0][AM_COPY_IN]);
    see(&meter, AM_COPY_OUT, 300, 20000);
    assert_true(is_near(meter.perf.recv_overhead.per_byte_fs, 20000));
    assert_ptr_equal(am_meter_used(&meter, AM_COPY_OUT),
                     &meter.rates[0][AM_COPY_OUT]);
    open_shared(&meter, &changes);
    am_meter_prior(&meter, AM_WAYS_ONE, AM_COPY_OUT, 40000, AM_FROM_PROFILE);
    see(&meter, AM_COPY_IN, 300, 60000);
    assert_int_equal(meter.perf.recv_overhead.per_byte_fs, 40000);
    open_shared(&meter, &changes);
    meter.distance = AM_DISTANCE_FAR;
    see(&meter, AM_COPY_IN, 300, 60000);
    assert_int_equal(meter.perf.recv_overhead.per_byte_fs, 18000);
}

/* Single copies that are too long to tell what they cost let a stream be tried again as well,
 * and while both ends send what is seen is used of each copy. */
static void test_shared_long(void **state)
{
    struct clock clock = {.env = {.ops = &clock_ops}};
    struct am_meter meter;
    unsigned changes;

    open_shared(&meter, &changes);
    see(&meter, AM_COPY_IN, 300, 70000);
    for (int i = 0; i < 4096; i++) {
        (void)copied(&clock, &meter, AM_COPY_SINGLE, 16 * BYTES, 1000000);
    }
    assert_int_equal(meter.rates[0][AM_COPY_SINGLE].samples, 0);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    go_both_ways(&meter);
    see(&meter, AM_COPY_IN, 100, 54000);
    see(&meter, AM_COPY_OUT, 100, 40000);
    see(&meter, AM_COPY_SINGLE, 100, 60000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 54000));
    assert_true(is_near(meter.perf.recv_overhead.per_byte_fs, 40000));
    assert_true(is_near(meter.perf.get.per_byte_fs, 60000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_shared_core),
            cmocka_unit_test(test_shared_trial),
            cmocka_unit_test(test_shared_other),
            cmocka_unit_test(test_shared_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
