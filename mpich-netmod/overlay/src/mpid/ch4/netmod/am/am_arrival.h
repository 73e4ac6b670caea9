/*
 * Between am_client.c, which takes ch4's active messages, and am_client_send.c, which
 * counts what they need there.
 */
#ifndef AM_ARRIVAL_H_INCLUDED
#define AM_ARRIVAL_H_INCLUDED

#include "am_impl.h"

struct MPIDI_AM_queue;

/* One message that is arriving and not delivered at once. */
struct MPIDI_AM_arrival {
    struct MPIDI_AM_arrival *next;
    struct MPIDI_AM_queue *queue;
    struct MPIDI_AM_arrival *next_announced;
    struct am_recv *recv;       /* long, announced, not landing yet */
    bool landed;
    bool is_long;
    am_status_t status;
    MPIDI_AM_hdr_t hdr;
    size_t bytes;
    uint64_t am_hdr[AM_INFO_BYTES_MAX / 8];
    void *payload;
};

#endif /* AM_ARRIVAL_H_INCLUDED */
