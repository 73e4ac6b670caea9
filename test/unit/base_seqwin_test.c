/*
 * Sequence windows at the wrap, and both halves against an oracle that counts
 * in 64 bits, where nothing wraps.
 */
#include "base/seqwin.h"

#include "support/cm.h"
#include "support/seed.h"

static void test_order(void **state)
{
    assert_true(am_seq_before(UINT32_MAX, 0));
    assert_false(am_seq_before(0, UINT32_MAX));
    assert_false(am_seq_before(7, 7));
    assert_true(am_seq_before(5, 5 + (UINT32_C(1) << 30)));
    assert_false(am_seq_before(5 + (UINT32_C(1) << 30), 5));
}

static void test_sender(void **state)
{
    struct am_seq_tx tx;

    am_seq_tx_open(&tx, UINT32_MAX - 2);
    assert_true(am_seq_tx_fits(&tx, 8, 8));
    assert_false(am_seq_tx_fits(&tx, 9, 8));
    assert_int_equal(am_seq_tx_take(&tx, 5), UINT32_MAX - 2); /* wraps */
    assert_int_equal(tx.next, 2);
    assert_int_equal(am_seq_tx_open_count(&tx), 5);
    assert_true(am_seq_tx_fits(&tx, 3, 8));
    assert_false(am_seq_tx_fits(&tx, 4, 8));
    /* nothing is sent yet, so nothing can be acknowledged */
    assert_int_equal(am_seq_tx_judge(&tx, UINT32_MAX), AM_SEQ_ACK_BAD);
    assert_true(am_seq_tx_sent(&tx, 1));
    assert_false(am_seq_tx_sent(&tx, 0)); /* again */
    assert_int_equal(am_seq_tx_judge(&tx, UINT32_MAX - 2), AM_SEQ_ACK_OLD);
    assert_int_equal(am_seq_tx_judge(&tx, UINT32_MAX - 9), AM_SEQ_ACK_OLD);
    assert_int_equal(am_seq_tx_judge(&tx, 1), AM_SEQ_ACK_NEW);
    assert_int_equal(am_seq_tx_judge(&tx, 2), AM_SEQ_ACK_BAD);
    am_seq_tx_acked(&tx, 4);
    assert_int_equal(tx.una, 1);
    am_seq_tx_drop(&tx);
    assert_int_equal(am_seq_tx_open_count(&tx), 0);
    assert_int_equal(am_seq_tx_judge(&tx, 2), AM_SEQ_ACK_OLD);
}

static void test_receiver(void **state)
{
    struct am_seq_rx rx;

    am_seq_rx_open(&rx, UINT32_MAX);
    assert_true(am_seq_rx_is_told(&rx));
    assert_int_equal(am_seq_rx_judge(&rx, UINT32_MAX, 8), AM_SEQ_WANTED);
    assert_int_equal(am_seq_rx_judge(&rx, 0, 8), AM_SEQ_EARLY);
    assert_int_equal(am_seq_rx_judge(&rx, 7, 8), AM_SEQ_EARLY);
    assert_int_equal(am_seq_rx_judge(&rx, 8, 8), AM_SEQ_BEYOND);
    assert_int_equal(am_seq_rx_judge(&rx, UINT32_MAX - 1, 8), AM_SEQ_OLD);
    assert_int_equal(am_seq_rx_advance(&rx, 3), 3);
    assert_int_equal(am_seq_rx_advance(&rx, 1), 4);
    assert_false(am_seq_rx_is_told(&rx));
    am_seq_rx_tell(&rx);
    assert_int_equal(am_seq_rx_advance(&rx, 2), 2);
    assert_int_equal(rx.next, 5);
}

/* Messages of 1 to 5 numbers through a window of SPAN; each is sent and
 * arrives once or more, in any order; the oracle counts from 0. */
static void test_random(void **state)
{
    enum {
        SPAN = 40,
        ROUNDS = 200000
    };

    struct am_prng prng = test_prng("base_seqwin_test");
    const uint32_t first = UINT32_MAX - 5000;
    uint64_t una = 0, sent = 0, next = 0, in = 0;
    struct am_seq_tx tx;
    struct am_seq_rx rx;

    am_seq_tx_open(&tx, first);
    am_seq_rx_open(&rx, first);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t count = 1 + (uint32_t)am_prng_below(&prng, 5);
        uint64_t at =
                am_prng_below(&prng, 2 * SPAN) + (in > SPAN ? in - SPAN : 0);
        uint64_t ack = am_prng_between(&prng, una > 3 ? una - 3 : 0, next + 3);

        assert_int_equal(am_seq_tx_fits(&tx, count, SPAN),
                         next - una + count <= SPAN);
        if (next - una + count <= SPAN) {
            assert_int_equal(am_seq_tx_take(&tx, count),
                             (uint32_t)(first + next));
            next += count;
        }
        if (sent < next) {
            sent++;
            assert_true(am_seq_tx_sent(&tx, (uint32_t)(first + sent)));
        }
        assert_int_equal(am_seq_rx_judge(&rx, (uint32_t)(first + at), SPAN),
                         at < in           ? AM_SEQ_OLD
                         : at == in        ? AM_SEQ_WANTED
                         : at - in <= SPAN ? AM_SEQ_EARLY
                                           : AM_SEQ_BEYOND);
        if (in < sent) {
            (void)am_seq_rx_advance(&rx, 1);
            in++;
        }
        assert_int_equal(am_seq_tx_judge(&tx, (uint32_t)(first + ack)),
                         ack > sent  ? AM_SEQ_ACK_BAD
                         : ack > una ? AM_SEQ_ACK_NEW
                                     : AM_SEQ_ACK_OLD);
        if (ack > una && ack <= in) {
            am_seq_tx_acked(&tx, (uint32_t)(ack - una));
            una = ack;
        }
    }
    assert_true(next > 5000); /* it did wrap */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_order),
            cmocka_unit_test(test_sender),
            cmocka_unit_test(test_receiver),
            cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
