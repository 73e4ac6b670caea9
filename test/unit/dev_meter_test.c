/*
 * The meter: what is seen replaces what was assumed, not for one odd copy, not
 * for a little, not again at once; what is not seen any more fades; and two ways
 * are told from one.
 */
#include "config.h"

#include "support/cm.h"
#include "support/meter.h"
#include "support/seed.h"

static void test_converges(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    see(&meter, AM_COPY_OUT, 300, 100000);
    assert_true(is_near(meter.perf.recv_overhead.per_byte_fs, 100000));
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    assert_int_equal(meter.rates[0][AM_COPY_OUT].from, AM_FROM_RUN);
    assert_int_equal(meter.rates[0][AM_COPY_IN].from, AM_FROM_DEFAULT);
    assert_in_range(changes, 1, 6);
    assert_int_equal(meter.changes, changes);
    see(&meter, AM_COPY_SINGLE, 300, 300000);
    assert_true(is_near(meter.perf.get.per_byte_fs, 300000));
    assert_true(meter.perf.get.per_byte_fs < meter.perf.put.per_byte_fs);
    assert_int_equal(meter.perf.get.fixed_ps, assumed.get.fixed_ps);
}

/* A core that was taken away for 10 ms, once; and noise of a fifth. */
static void test_is_steady(void **state)
{
    struct am_prng prng = test_prng("dev_meter_test");
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    see(&meter, AM_COPY_IN, 1, UINT64_C(150000000));
    assert_int_equal(changes, 0);
    see(&meter, AM_COPY_IN, 100, 18000);
    open_meter(&meter, &changes);
    for (int i = 0; i < 20000; i++) {
        see(&meter, AM_COPY_IN, 1, 18000 - 3600 + am_prng_below(&prng, 7200));
    }
    assert_int_equal(changes, 0);
}

/* However the copies swing, there are so many samples between two changes. */
static void test_rests(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    for (int i = 0; i < 100; i++) {
        see(&meter, AM_COPY_IN, 16, i % 2 == 0 ? 200000 : 10000);
    }
    assert_in_range(changes, 2, 1600 / 32 + 1);
}

/* Slow streams were left for single copies; after a while they are worth trying
 * again, and when they are still slow that is learned anew. */
static void test_fades(void **state)
{
    struct am_meter meter;
    unsigned changes;
    uint64_t slow;

    open_meter(&meter, &changes);
    see(&meter, AM_COPY_IN, 200, 300000);
    slow = meter.perf.send_overhead.per_byte_fs;
    assert_true(is_near(slow, 300000));
    see(&meter, AM_COPY_SINGLE, 60, 90000);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, slow);
    see(&meter, AM_COPY_SINGLE, 2000, 90000);
    assert_true(meter.perf.send_overhead.per_byte_fs < 30000);
    see(&meter, AM_COPY_IN, 200, 300000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 300000));
}

/* By default only what is very different counts, and stays for long. */
static void test_much(void **state)
{
    struct am_meter meter;
    unsigned changes;
    uint64_t slow;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    see(&meter, AM_COPY_IN, 2000, 140000);
    assert_int_equal(changes, 0);
    see(&meter, AM_COPY_IN, 200, 300000);
    slow = meter.perf.send_overhead.per_byte_fs;
    assert_true(is_near(slow, 300000));
    for (int trial = 0; trial < 3; trial++) { /* still as slow */
        see(&meter, AM_COPY_SINGLE, 4000, 90000);
        assert_int_equal(meter.perf.send_overhead.per_byte_fs, slow);
        see(&meter, AM_COPY_SINGLE, 96, 90000);
        assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
        see(&meter, AM_COPY_IN, 4, 300000);
        slow = meter.perf.send_overhead.per_byte_fs;
        assert_true(is_near(slow, 300000));
    }
    see(&meter, AM_COPY_SINGLE, 4096, 90000); /* not any more */
    see(&meter, AM_COPY_IN, 40, 20000);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    changes = 0;
    see(&meter, AM_COPY_SINGLE, 10000, 90000);
    assert_int_equal(changes, 0);
}

static void test_both_ways(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    see(&meter, AM_COPY_IN, 100, 40000);
    for (int i = 0; i < 100; i++) {
        am_meter_sent(&meter, i % 5 == 0); /* a packet that crosses one */
    }
    assert_false(meter.perf.both_ways);
    go_both_ways(&meter);
    assert_true(meter.perf.both_ways);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    see(&meter, AM_COPY_IN, 200, 80000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 80000));
    for (int i = 0; i < 100; i++) {
        am_meter_sent(&meter, i % 5 != 0);
    }
    assert_true(meter.perf.both_ways); /* still mostly both */
    for (int i = 0; i < 40; i++) {
        am_meter_sent(&meter, false);
    }
    assert_false(meter.perf.both_ways); /* ... and what was learned before */
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 40000));
}

/* So many copies into the ring and out of it, which cost so much together. */
static void stream(struct am_meter *meter, int count, uint64_t sum_fs)
{
    for (int i = 0; i < count; i++) {
        see(meter, AM_COPY_IN, 1, sum_fs / 2 - 2000);
        see(meter, AM_COPY_OUT, 1, sum_fs / 2 + 2000);
    }
}

/* A stream both ways that costs 120 ps/B where a single copy costs 90. */
static void open_dear(struct am_meter *meter, unsigned *changes)
{
    open_meter(meter, changes);
    meter->learn = AM_LEARN_MUCH;
    go_both_ways(meter);
    stream(meter, 100, 120000);
    assert_true(meter->dear);
    assert_true(is_near(meter->perf.send_overhead.per_byte_fs, 58000));
    assert_true(is_near(meter->perf.recv_overhead.per_byte_fs, 62000));
    assert_int_equal(meter->perf.get.per_byte_fs, assumed.get.per_byte_fs);
}

static bool has_priors(const struct am_meter *meter)
{
    return meter->perf.send_overhead.per_byte_fs == 18000 &&
           meter->perf.recv_overhead.per_byte_fs == 18000 &&
           meter->perf.get.per_byte_fs == assumed.get.per_byte_fs;
}

/* Both ways the two copies of a stream count together. */
static void test_much_both(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    stream(&meter, 200, 120000);
    assert_true(has_priors(&meter)); /* one way */
    go_both_ways(&meter);
    see(&meter, AM_COPY_IN, 200, 120000);
    assert_true(has_priors(&meter)); /* of the other copy nothing is known */
    see(&meter, AM_COPY_IN, 200, 80000);
    see(&meter, AM_COPY_OUT, 200, 25000);
    assert_true(
            has_priors(&meter)); /* more than a single copy, and not by much */
    see(&meter, AM_COPY_IN, 200, 95000);
    assert_true(meter.dear);
    open_dear(&meter, &changes);
    assert_int_equal(changes, 2); /* both ways, and dear */
}

/* A single copy that costs twice what was measured costs that, while a stream is
 * much dearer than it was thought; else it is as it was measured. */
static void test_much_single(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    see(&meter, AM_COPY_SINGLE, 100, 180000);
    assert_int_equal(meter.perf.get.per_byte_fs, assumed.get.per_byte_fs);
    see(&meter, AM_COPY_IN, 200, 300000);
    see(&meter, AM_COPY_SINGLE, 100, 180000);
    assert_true(is_near(meter.perf.get.per_byte_fs, 180000));
    see(&meter, AM_COPY_IN, 200, 18000);
    see(&meter, AM_COPY_SINGLE, 100, 180000);
    assert_int_equal(meter.perf.get.per_byte_fs, assumed.get.per_byte_fs);
}

/* What lies now above and now below the limit does not go to and fro. */
static void test_much_steady(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_dear(&meter, &changes);
    for (int i = 0; i < 20; i++) {
        stream(&meter, 100, 120000);
        assert_true(meter.dear);
        stream(&meter, 100, 96000);
        assert_true(meter.dear);
    }
    stream(&meter, 200, 80000);
    assert_true(has_priors(&meter));
    stream(&meter, 200, 105000);
    assert_true(has_priors(&meter));
}

/* What single copies cost while the other end streams does not count, unless it is
 * twice the stream; then they are tried again later. */
static void test_dear_single(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_dear(&meter, &changes);
    changes = 0;
    see(&meter, AM_COPY_SINGLE, 1000, 220000);
    assert_int_equal(changes, 0);
    see(&meter, AM_COPY_SINGLE, 200, 280000);
    assert_true(is_near(meter.perf.get.per_byte_fs, 280000));
    stream(&meter, 2000, 120000);
    assert_true(is_near(meter.perf.get.per_byte_fs, 280000));
    stream(&meter, 60, 120000);
    assert_int_equal(meter.perf.get.per_byte_fs, assumed.get.per_byte_fs);
}

/* Beside a single copy that cannot be chosen no stream is dear. */
static void test_dear_learns(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    meter.learns = 1u << AM_COPY_IN | 1u << AM_COPY_OUT;
    go_both_ways(&meter);
    stream(&meter, 100, 120000);
    assert_false(meter.dear);
    assert_true(has_priors(&meter));
}

/* One way the numbers of one way are used, and then again those that were learned. */
static void test_dear_ways(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_dear(&meter, &changes);
    for (int i = 0; i < 40; i++) {
        am_meter_sent(&meter, false);
    }
    assert_true(has_priors(&meter));
    stream(&meter, 100, 120000);
    assert_true(has_priors(&meter));
    go_both_ways(&meter);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 58000));
}

/* A stream both ways that costs a third of what a profile says, and then less than a
 * half of it. */
static void test_cheap_both(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    for (int copy = 0; copy < AM_COPY_COUNT; copy++) {
        am_meter_prior(&meter, AM_WAYS_BOTH, (am_copy_t)copy, 150000,
                       AM_FROM_PROFILE);
    }
    go_both_ways(&meter);
    stream(&meter, 200, 110000);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 150000);
    stream(&meter, 200, 90000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 43000));
    stream(&meter, 200, 130000);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 63000));
    stream(&meter, 200, 160000);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 150000);
}

/* A stream whose numbers are dear from the start, as between far cores, goes by them: at
 * some lengths it is the better way all the same, and who makes single copies would never
 * see it. */
static void test_dear_known(void **state)
{
    struct am_meter meter;
    unsigned changes;

    (void)state;
    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    am_meter_prior(&meter, AM_WAYS_BOTH, AM_COPY_IN, 145000, AM_FROM_DEFAULT);
    am_meter_prior(&meter, AM_WAYS_BOTH, AM_COPY_OUT, 114000, AM_FROM_DEFAULT);
    go_both_ways(&meter);
    see(&meter, AM_COPY_IN, 100, 300000);
    see(&meter, AM_COPY_OUT, 100, 300000);
    assert_false(meter.dear);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 145000);
    assert_int_equal(meter.perf.recv_overhead.per_byte_fs, 114000);
}

/* A dear stream is tried again after 16,384 single copies.  It is not timed at first:
 * while the other end still makes single copies a stream looks dearer than it is. */
static void test_dear_trial(void **state)
{
    struct clock clock = {.env = {.ops = &clock_ops}};
    struct am_meter meter;
    unsigned changes;

    open_dear(&meter, &changes);
    for (int trial = 0; trial < 3; trial++) { /* still as dear */
        see(&meter, AM_COPY_SINGLE, 16000, 90000);
        assert_true(meter.dear);
        see(&meter, AM_COPY_SINGLE, 384, 90000);
        assert_true(has_priors(&meter));
        assert_int_equal(meter.wait[AM_COPY_OUT], 64);
        assert_int_equal(timed_by(&clock, &meter, BYTES, 64, 90000, 0), 0);
        stream(&meter, 15, 120000);
        assert_false(meter.dear);
        stream(&meter, 1, 120000);
        assert_true(meter.dear);
    }
    see(&meter, AM_COPY_SINGLE, 16384, 90000); /* not any more */
    stream(&meter, 100, 36000);
    assert_false(meter.dear);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
}

/* Copies during which the core was taken away, two in twenty, say nothing. */
static void test_spikes(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    go_both_ways(&meter);
    changes = 0;
    for (int i = 0; i < 100; i++) {
        stream(&meter, 18, 46000);
        see(&meter, AM_COPY_IN, 2, 1000000);
    }
    assert_int_equal(changes, 0);
}

/* Shorter than its constant part, and as long as can be: no number that the
 * costs could not take. */
static void test_extremes(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    for (int i = 0; i < 1000; i++) {
        am_meter_sample(&meter, AM_COPY_SINGLE, AM_METER_BYTES, 0);
        am_meter_sample(&meter, AM_COPY_IN, (size_t)1 << 36, 1);
    }
    assert_true(meter.perf.get.per_byte_fs < 90000);
    for (int i = 0; i < 10000; i++) {
        am_meter_sample(&meter, AM_COPY_OUT, AM_METER_BYTES, UINT64_MAX);
    }
    assert_true(meter.perf.recv_overhead.per_byte_fs > 18000);
    assert_true(meter.perf.recv_overhead.per_byte_fs <= AM_METER_BYTE_FS_MAX);
}

static void test_turns(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    am_meter_turns(&meter, false, 0);
    assert_int_equal(changes, 0);
    am_meter_turns(&meter, true, 1100000);
    assert_int_equal(changes, 1);
    assert_true(meter.perf.shared_core);
    assert_int_equal(meter.perf.turn_ps, 1100000);
}

/* Of short copies few are timed, while they take what is expected. */
static void test_times_few(void **state)
{
    const size_t least = AM_METER_BYTES;
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    assert_int_equal(timed(&meter, least - 1, 1000, 18000), 0);
    (void)timed(&meter, least, 1000, 18000); /* the first are for the pages */
    assert_in_range(timed(&meter, BYTES, 1600, 18000), 96, 100);
    assert_in_range(timed(&meter, least, 6400, 18000), 99, 101);
    assert_int_equal(changes, 0);
    assert_in_range(timed(&meter, least, 800, 300000), 15, 51);
    assert_int_equal(meter.rates[0][AM_COPY_IN].from, AM_FROM_RUN);
    assert_in_range(timed(&meter, least, 6400, 300000), 99, 103);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 300000));
}

/* So many copies, each with a page fault, and therefore slow. */
static void fault(struct am_meter *meter, int count)
{
    struct clock clock = {.env = {.ops = &clock_ops}};

    (void)timed_by(&clock, meter, BYTES, count, 300000, 1);
}

/* Copies that take long because of page faults say nothing. */
static void test_faults(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    (void)timed(&meter, BYTES, 100, 18000);
    fault(&meter, 4000);
    assert_int_equal(changes, 0);
    assert_int_equal(timed(&meter, BYTES, 1600, 300000), 100);
    assert_true(is_near(meter.perf.send_overhead.per_byte_fs, 300000));
}

/* They do not end a trial either, though copies were as slow before it. */
static void test_faults_trial(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    see(&meter, AM_COPY_IN, 200, 300000);
    see(&meter, AM_COPY_SINGLE, 4096, 90000);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    fault(&meter, 40);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
}

/* Whether there was a fault is a system call, which copies that all take as long, if
 * longer than was thought, do not make. */
static void test_faults_asked(void **state)
{
    struct clock clock = {.env = {.ops = &clock_ops}};
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    (void)timed_by(&clock, &meter, BYTES, 10000, 40000, 0);
    assert_int_equal(meter.perf.send_overhead.per_byte_fs, 18000);
    assert_in_range(clock.asked, 0, 16);
}

/* A short single copy that takes what is expected, its constant part included, is no reason
 * to ask for page faults.  Once they are known one of eight is timed. */
static void test_single_unasked(void **state)
{
    struct clock clock = {.env = {.ops = &clock_ops}};
    struct am_meter meter;
    unsigned changes;
    int timed = 0;

    open_meter(&meter, &changes);
    for (int i = 0; i < 96; i++) {
        const size_t bytes = 16384;
        uint64_t ps =
                assumed.get.fixed_ps + bytes * assumed.get.per_byte_fs / 1000;

        timed += copied(&clock, &meter, AM_COPY_SINGLE, bytes, ps);
    }
    assert_int_equal(timed, 16 + 80 / 8);
    assert_int_equal(clock.asked, 0);
    assert_int_equal(changes, 0);
}

static const struct am_dev_perf heavy = {.send_overhead = {25000, 80000},
                                         .recv_overhead = {150000, 70000},
                                         .wire = {90000, 0},
                                         .gap_ps = 150000,
                                         .put = {700000, 0},
                                         .get = {700000, 0}};
static const struct am_dev_perf heavier = {.send_overhead = {15000, 160000},
                                           .recv_overhead = {15000, 140000},
                                           .wire = {400000, 0},
                                           .put = {2000000, 0},
                                           .get = {2000000, 0}};
static const struct am_dev_perf *const priors[] = {&assumed, &heavy, &heavier};

/* Is this prior used, and are single copies' bytes what they were? */
static void prior_check(const struct am_meter *meter, uint8_t at)
{
    const struct am_dev_perf *perf = &meter->perf, *prior = priors[at];

    assert_int_equal(meter->prior_at, at);
    assert_memory_equal(&perf->send_overhead, &prior->send_overhead,
                        sizeof(perf->send_overhead));
    assert_memory_equal(&perf->recv_overhead, &prior->recv_overhead,
                        sizeof(perf->recv_overhead));
    assert_int_equal(perf->wire.fixed_ps, prior->wire.fixed_ps);
    assert_int_equal(perf->get.fixed_ps, prior->get.fixed_ps);
    assert_int_equal(perf->get.per_byte_fs, assumed.get.per_byte_fs);
}

/* Of several priors the one is used that copies are nearest to: not for one odd copy, not
 * to and fro between two, and not for what copies take while both ends send. */
static void test_priors(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    am_meter_priors(&meter, priors, 3, 0);
    see(&meter, AM_COPY_IN, 20, 20000);
    see(&meter, AM_COPY_IN, 1, 2000000);
    see(&meter, AM_COPY_IN, 20, 60000); /* three quarters of the heavy one */
    assert_int_equal(changes, 0);
    see(&meter, AM_COPY_OUT, 12, 70000);
    assert_int_equal(changes, 1);
    prior_check(&meter, 1);
    see(&meter, AM_COPY_IN, 40, 60000);
    see(&meter, AM_COPY_SINGLE, 40, 90000); /* so long that they do not tell */
    prior_check(&meter, 1);
    see(&meter, AM_COPY_IN, 40, 180000);
    prior_check(&meter, 1);
    see(&meter, AM_COPY_IN, 20, 220000);
    prior_check(&meter, 2);
    see(&meter, AM_COPY_IN, 10, 20000);
    prior_check(&meter, 2); /* it is not long ago */
    see(&meter, AM_COPY_IN, 80, 20000);
    assert_int_equal(changes, 4);
    prior_check(&meter, 0);
    go_both_ways(&meter);
    see(&meter, AM_COPY_IN, 60, 80000);
    assert_int_equal(meter.prior_at, 0);
}

/* Copies from memory in no cache take long between near cores, whose lines come soon; and
 * short single copies, whose constant part is no less for the near ones, do not tell. */
static void test_priors_near(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    am_meter_priors(&meter, priors, 3, 0);
    for (int i = 0; i < 100; i++) {
        am_meter_sample(&meter, AM_COPY_SINGLE, 16384, 2500000);
    }
    meter.lines_near = true;
    see(&meter, AM_COPY_IN, 100, 90000);
    assert_int_equal(changes, 0);
    meter.lines_near = false;
    see(&meter, AM_COPY_IN, 1, 90000);
    prior_check(&meter, 1);
}

/* Where all goes by single copies a stream is tried again after a while. */
static void test_priors_unproved(void **state)
{
    struct am_meter meter;
    unsigned changes;

    open_meter(&meter, &changes);
    meter.learn = AM_LEARN_MUCH;
    am_meter_priors(&meter, priors, 3, 0);
    see(&meter, AM_COPY_IN, 7, 80000);
    prior_check(&meter, 1);
    see(&meter, AM_COPY_SINGLE, AM_METER_UNPROVED - 1, 90000);
    prior_check(&meter, 1);
    see(&meter, AM_COPY_SINGLE, 7, 90000);
    prior_check(&meter, 0);
    see(&meter, AM_COPY_IN, 60, 80000);
    prior_check(&meter, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_converges),
            cmocka_unit_test(test_is_steady),
            cmocka_unit_test(test_rests),
            cmocka_unit_test(test_fades),
            cmocka_unit_test(test_much),
            cmocka_unit_test(test_both_ways),
            cmocka_unit_test(test_extremes),
            cmocka_unit_test(test_turns),
            cmocka_unit_test(test_times_few),
            cmocka_unit_test(test_much_both),
            cmocka_unit_test(test_much_single),
            cmocka_unit_test(test_much_steady),
            cmocka_unit_test(test_dear_single),
            cmocka_unit_test(test_dear_trial),
            cmocka_unit_test(test_dear_learns),
            cmocka_unit_test(test_dear_ways),
            cmocka_unit_test(test_dear_known),
            cmocka_unit_test(test_cheap_both),
            cmocka_unit_test(test_faults),
            cmocka_unit_test(test_faults_trial),
            cmocka_unit_test(test_faults_asked),
            cmocka_unit_test(test_spikes),
            cmocka_unit_test(test_single_unasked),
            cmocka_unit_test(test_priors),
            cmocka_unit_test(test_priors_near),
            cmocka_unit_test(test_priors_unproved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
