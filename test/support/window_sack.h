/*
 * Pairs of windows (window_pair.h) of the timer variant whose acknowledgements
 * name packets, and a wire that loses chosen packets.
 */
#ifndef AM_TEST_SUPPORT_WINDOW_SACK_H
#define AM_TEST_SUPPORT_WINDOW_SACK_H

#include "support/window_pair.h"

/* Such a pair, connected, whose window has grown; at most `kept` packets are
 * kept.  pair_close closes it. */
struct pair *sack_open(uint32_t kept);
/* The test fails unless nothing is under way or waits to be sent again. */
void sack_check_clean(const struct pair *pair);

/* Fates: all pass; and of the next 64 packets with data those in sack_lost_mask
 * are lost, while acknowledgements have the fate that sack_acks_fate gives. */
fate_t sack_fate_pass(struct pair *pair, uint32_t from,
                      const struct pair_packet *packet);
fate_t sack_fate_mask(struct pair *pair, uint32_t from,
                      const struct pair_packet *packet);
extern fate_t (*sack_acks_fate)(struct pair *pair, uint32_t from,
                                const struct pair_packet *packet);
extern uint64_t sack_lost_mask;

/* A pair that loses those in the mask of the next packets, of four chunks and
 * more that follow them. */
struct pair *sack_lose_some(uint64_t mask,
                            fate_t (*acks)(struct pair *, uint32_t,
                                           const struct pair_packet *));

#endif
