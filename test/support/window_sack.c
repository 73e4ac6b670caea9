/*
 * Pairs of windows whose acknowledgements name packets.
 */
#include "support/window_sack.h"
#include "support/cm.h"

struct pair *sack_open(uint32_t kept)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair;

    params.timer = true;
    params.rto_ps = 100000; /* until it is measured */
    params.rto_max_ps = 1000000;
    params.ack_delay_ps = 1000;
    pair = pair_open_grown(&params, kept, 60);
    assert_int_equal(pair_again(pair), 0);
    return pair;
}

void sack_check_clean(const struct pair *pair)
{
    const struct am_window_tx *tx = &pair->end[0].window.tx[REQUEST];

    assert_int_equal(tx->flying, 0);
    assert_int_equal(tx->lost, 0);
    assert_int_equal(tx->again_next, tx->again_end);
    for (uint32_t i = 0; i <= tx->chunk_mask; i++) {
        assert_int_equal(tx->sent[i].state, 0);
    }
}

fate_t sack_fate_pass(struct pair *pair, uint32_t from,
                      const struct pair_packet *packet)
{
    (void)pair, (void)from, (void)packet;
    return FATE_PASS;
}

fate_t (*sack_acks_fate)(struct pair *pair, uint32_t from,
                         const struct pair_packet *packet);
uint64_t sack_lost_mask;

fate_t sack_fate_mask(struct pair *pair, uint32_t from,
                      const struct pair_packet *packet)
{
    if (from == 1) {
        return sack_acks_fate(pair, from, packet);
    }
    if (packet->hdr.type == AM_CHAN_DATA) {
        bool lose = (sack_lost_mask & 1) != 0;

        sack_lost_mask >>= 1;
        return lose ? FATE_LOSE : FATE_PASS;
    }
    return FATE_PASS;
}

struct pair *sack_lose_some(uint64_t mask,
                            fate_t (*acks)(struct pair *, uint32_t,
                                           const struct pair_packet *))
{
    struct pair *pair = sack_open(PAIR_KEPT);

    sack_lost_mask = mask;
    sack_acks_fate = acks;
    pair->fate = sack_fate_mask;
    am_prng_seed(&pair->prng, mask);
    pair_send_all(pair, 6);
    return pair;
}
