/*
 * Sequence arithmetic at the wrap, and the receive window against an oracle
 * that counts in 64 bits, where nothing wraps.
 */
#include "base/seqwin.h"

#include "support/cm.h"
#include "support/seed.h"

#include <string.h>

static void test_arithmetic(void **state)
{
    assert_int_equal(am_seq16_diff(3, 65533), 6);
    assert_int_equal(am_seq16_diff(65533, 3), -6);
    assert_true(am_seq16_before(65535, 0));
    assert_false(am_seq16_before(0, 65535));
    assert_false(am_seq16_before(7, 7));
    assert_int_equal(am_seq32_diff(1, UINT32_MAX), 2);
    assert_true(am_seq32_before(UINT32_MAX, 0));
    assert_true(am_seq32_before(5, 5 + (UINT32_C(1) << 30)));
    assert_false(am_seq32_before(5 + (UINT32_C(1) << 30), 5));
}

static void test_window(void **state)
{
    struct am_seqwin win;

    am_seqwin_init(&win, 65534, UINT16_MAX);
    assert_int_equal(am_seqwin_accept(&win, 0), AM_SEQWIN_NEW); /* early */
    assert_true(am_seqwin_has_gap(&win));
    assert_int_equal(am_seqwin_accept(&win, 0), AM_SEQWIN_OLD);
    assert_int_equal(am_seqwin_advance(&win), 0);
    assert_int_equal(am_seqwin_accept(&win, 65533), AM_SEQWIN_OLD);
    assert_int_equal(am_seqwin_accept(&win, 65534), AM_SEQWIN_NEW);
    assert_int_equal(am_seqwin_advance(&win), 1);
    assert_int_equal(am_seqwin_accept(&win, 65535), AM_SEQWIN_NEW);
    assert_int_equal(am_seqwin_advance(&win), 2);
    assert_int_equal(win.next, 1);
    assert_false(am_seqwin_has_gap(&win));
    assert_int_equal(am_seqwin_accept(&win, AM_SEQWIN_SPAN), AM_SEQWIN_NEW);
    assert_int_equal(am_seqwin_accept(&win, AM_SEQWIN_SPAN + 1),
                     AM_SEQWIN_BEYOND);
}

/* Feed numbers around the front of the window, in any order, across the wrap
 * of the modulus; the oracle keeps one byte for each number ever. */
static void run_random(struct am_prng *prng, uint32_t mask)
{
    static uint8_t here[1 << 17];
    uint64_t base = (uint64_t)mask + 1 - 1000; /* wraps soon */
    uint64_t next = 0;
    struct am_seqwin win;

    memset(here, 0, sizeof(here));
    am_seqwin_init(&win, (uint32_t)base, mask);
    while (next < (1 << 17) - 400) {
        uint64_t low = next < 300 ? 0 : next - 300;
        uint64_t index = am_prng_between(prng, low, next + 160);
        am_seqwin_t expect = AM_SEQWIN_NEW;
        uint32_t passed = 0;

        if (am_prng_below(prng, 3) != 0) {
            index = next + am_prng_below(prng, 4); /* or it takes for ever */
        }
        if (index < next || here[index]) {
            expect = AM_SEQWIN_OLD;
        } else if (index - next >= AM_SEQWIN_SPAN) {
            expect = AM_SEQWIN_BEYOND;
        }
        assert_int_equal(
                am_seqwin_accept(&win, (uint32_t)(base + index) & mask),
                expect);
        if (expect == AM_SEQWIN_NEW) {
            here[index] = 1;
        }
        for (; here[next]; next++) {
            passed++;
        }
        assert_int_equal(am_seqwin_advance(&win), passed);
        assert_int_equal(win.next, (uint32_t)(base + next) & mask);
    }
}

static void test_random(void **state)
{
    struct am_prng prng = test_prng("base_seqwin_test");

    run_random(&prng, UINT16_MAX);
    run_random(&prng, UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_arithmetic),
            cmocka_unit_test(test_window),
            cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
