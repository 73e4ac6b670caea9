/*
 * A stream to a peer passes memory between the two (the ring of a lane), whose pages cost
 * both ends a fault each when they are used first: 0.5 us on a bare machine, 14 us under
 * a hypervisor that shadows page tables.  One copy by the device needs none of them, and
 * costs more than a stream through memory that has been used.  Which costs less depends
 * on how much will be sent, which nobody knows: so the device copies until these copies
 * have cost as much more as the pages do, and then the pages are used.  No more than
 * twice the best is paid (renting and buying: Karlin et al., Algorithmica 3, 1988).
 */
#ifndef AM_AM_SPARE_H
#define AM_AM_SPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_peer;

/* Of a peer; zeroed. */
struct am_spare {
    size_t used_bytes;  /* messages of up to so many have used pages; SIZE_MAX: all */
    uint64_t spared_ps; /* what copies have cost more since then */
};

/* Messages of up to so many bytes use no page first (am_dev_pages); SIZE_MAX: none
 * does. */
size_t am_peer_ready_bytes(const struct am_peer *peer);
/* A stream of `bytes`, contiguous, would cost so much without new pages, and a single
 * copy so much: is it to be a copy, so that pages are spared?  The caller then makes it,
 * as what it costs more is counted.  False where the device has none. */
bool am_peer_spares(struct am_peer *peer, size_t bytes, uint64_t stream_ps,
                    uint64_t single_ps);

#endif
