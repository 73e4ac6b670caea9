/*
 * Partitioned communication with dead ranks.  ch4's requests wait for messages of the
 * other side: those that are active are in a table, and those to a rank that dies end
 * with an error.
 *
 * Nothing tells when ch4 completes or frees such a request, so the table is swept
 * before it grows.  A request that has gone is known by its memory, which stays a
 * request's: it is of another kind, of no communicator, or has not this place.
 */
#include <mpidimpl.h>
#include "am_impl.h"

static struct {
    MPIR_Request **requests;
    uint32_t count, max;
} active;

/* One more than its index; 0: it has none. */
#define PLACE(req_) (MPIDI_PART_REQUEST(req_, netmod).am.place)

/* MPICH has such a function before 4.2 only. */
static bool is_partitioned(MPIR_Request * req)
{
    return req->kind == MPIR_REQUEST_KIND__PART_SEND || req->kind == MPIR_REQUEST_KIND__PART_RECV;
}

static bool is_active(uint32_t index)
{
    MPIR_Request *req = active.requests[index];

    return is_partitioned(req) && req->comm != NULL && PLACE(req) == index + 1 &&
        !MPIR_Request_is_complete(req);
}

static void sweep(void)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < active.count; i++) {
        if (is_active(i)) {
            PLACE(active.requests[i]) = kept + 1;
            active.requests[kept++] = active.requests[i];
        }
    }
    active.count = kept;
}

static void enter(MPIR_Request * req)
{
    if (active.count == active.max) {
        sweep();
        if (active.count >= active.max / 2) {
            active.max = active.max * 2 + 64;
            active.requests = MPL_realloc(active.requests,
                                          active.max * sizeof(*active.requests), MPL_MEM_BUFFER);
            MPIR_Assertp(active.requests != NULL);
        }
    }
    active.requests[active.count++] = req;
    PLACE(req) = active.count;
}

static uint32_t peer_of(MPIR_Request * req)
{
    int rank = req->kind == MPIR_REQUEST_KIND__PART_SEND ? MPIDI_PART_REQUEST(req, u.send.dest) :
        MPIDI_AM_part_source(req);

    return MPIDI_AM_peer(MPIDIU_comm_rank_to_av(req->comm, rank), 0, 0);
}

static bool is_dead(uint32_t peer)
{
    return unlikely(MPIDI_AM_global.trouble != 0) && am_peer_is_dead(MPIDI_AM_global.ctx[0], peer);
}

static void fail(MPIR_Request * req)
{
    req->status.MPI_ERROR = MPIDI_AM_error_peer(MPIDI_AM_global.ctx[0], peer_of(req), AM_ERR_PEER);
    MPIR_cc_set(req->cc_ptr, 0);
}

int MPIDI_AM_part_check(MPIDI_av_entry_t * av)
{
    uint32_t peer = MPIDI_AM_peer(av, 0, 0);

    return is_dead(peer) ?
        MPIDI_AM_error_peer(MPIDI_AM_global.ctx[0], peer, AM_ERR_PEER) : MPI_SUCCESS;
}

void MPIDI_AM_part_made(MPIR_Request * req)
{
    PLACE(req) = 0;
}

/* The wait for it tells that the other side is dead. */
bool MPIDI_AM_part_begin(MPIR_Request * req)
{
    bool lives = true;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    if (is_dead(peer_of(req))) {
        MPIR_Part_request_activate(req);        /* ch4 has done it before 4.2 only */
        fail(req);
        lives = false;
    } else {
        MPIR_cc_set(req->cc_ptr, 1);    /* before it is in the table */
        enter(req);
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    return lives;
}

void MPIDI_AM_part_dead(int vci, uint32_t peer)
{
    for (uint32_t i = 0; vci == 0 && i < active.count; i++) {
        if (is_active(i) && peer_of(active.requests[i]) == peer) {
            fail(active.requests[i]);
        }
    }
}

void MPIDI_AM_part_close(void)
{
    MPL_free(active.requests);
    memset(&active, 0, sizeof(active));
}
