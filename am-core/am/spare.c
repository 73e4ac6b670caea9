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
    most = bytes < pages->most_bytes ? bytes : pages->most_bytes;
    single_ps += pages->more_ps;
    peer->spare.spared_ps += single_ps > stream_ps ? single_ps - stream_ps : 0;
    if (peer->spare.spared_ps < (most - ready) * pages->byte_fs / 1000) {
        peer->ctx->stats[AM_STAT_SPARED]++;
        return true;
    }
    peer->spare.spared_ps = 0;
    peer->spare.used_bytes = most < pages->most_bytes ? most : SIZE_MAX;
    return false;
}
