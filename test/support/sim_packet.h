/*
 * A packet of so many bytes on a virtual channel, for tests of nic-sim's links.
 */
#ifndef AM_TEST_SUPPORT_SIM_PACKET_H
#define AM_TEST_SUPPORT_SIM_PACKET_H

#include "support/cm.h"

#include "nicsim_link.h"

static inline struct ns_packet *packet_on(struct ns_packet_pool *pool,
                                          uint32_t vc, uint32_t bytes)
{
    struct ns_packet *packet = ns_packet_get(pool);

    assert_non_null(packet);
    packet->vc = (uint8_t)vc;
    packet->bytes = bytes;
    return packet;
}

#endif
