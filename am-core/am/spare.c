/*
 * Memory that nobody has used yet, and single copies instead (spare.h).
 */
#include "config.h"

#include "am/ctx.h"

size_t am_peer_ready_bytes(const struct am_peer *peer)
{
    const struct am_dev_pages *pages =
            peer->ep == NULL ? NULL : peer->ep->pages;

    if (pages == NULL) {
        return SIZE_MAX;
    }
    return peer->spare.used_bytes > pages->ready_bytes ? peer->spare.used_bytes
                                                       : pages->ready_bytes;
}

/* What a copy costs more than a stream.  Of a long message only as much counts as stays
 * in a cache between its packets: half a ring.  Of the rest a stream is no faster (256 KiB
 * to 4 MiB, 4 to 16 ranks of two cores). */
static uint64_t more_ps(const struct am_dev_pages *pages, size_t bytes,
                        uint64_t stream_ps, uint64_t single_ps)
{
    size_t cached = pages->most_bytes / 2;
    uint64_t more;

    single_ps += pages->more_ps;
    more = single_ps > stream_ps ? single_ps - stream_ps : 0;
    return bytes > cached ? more / bytes * cached : more;
}

/* Does the ring not hold so many bytes, so that a stream waits for its receiver, who waits
 * for a core?  It costs more than a copy then, whatever pages there are (256 KiB on 8 and
 * 16 ranks of two cores: 1.2 and 1.3 times as much). */
static bool waits_within(const struct am_peer *peer, size_t bytes)
{
    return bytes >= peer->ep->pages->most_bytes &&
           am_peer_perf(peer)->shared_core;
}

bool am_peer_spares(struct am_peer *peer, size_t bytes, uint64_t stream_ps,
                    uint64_t single_ps)
{
    const uint32_t needed = AM_DEV_CAP_PUT | AM_DEV_CAP_GET;
    const struct am_dev_pages *pages;
    size_t ready = am_peer_ready_bytes(peer), most;

    if (bytes <= ready || (peer->dev->attr.caps & needed) != needed) {
        return false;
    }
    pages = peer->ep->pages;
    if (waits_within(peer, bytes)) { /* these copies cost no more */
        peer->ctx->stats[AM_STAT_SPARED]++;
        return true;
    }
    most = bytes < pages->most_bytes ? bytes : pages->most_bytes;
    peer->spare.spared_ps += more_ps(pages, bytes, stream_ps, single_ps);
    if (peer->spare.spared_ps < (most - ready) * pages->byte_fs / 1000) {
        peer->ctx->stats[AM_STAT_SPARED]++;
        return true;
    }
    peer->spare.spared_ps = 0;
    peer->spare.used_bytes = most < pages->most_bytes ? most : SIZE_MAX;
    return false;
}
