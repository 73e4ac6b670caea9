/*
 * How much RMA an interface (vci) may have under way.  Until an operation is
 * acknowledged it costs its origin a request, and its target the memory for a
 * payload that cannot be used at once.  So an operation that finds too much
 * under way waits in progress, in the call that starts it:
 *
 *   operations   OPS_MAX, to all targets together
 *   bytes        to a target as much as its AM_UNEXP_MAX has for each rank, of
 *                payload, results and what keeps them; or one larger operation alone
 *
 * Neither handlers nor progress start operations, so nothing waits for itself.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#define OPS_MAX 4096u           /* some 5 MB of requests */

struct under_way {
    uint32_t ops;
    size_t bytes;
};

struct MPIDI_AM_flow {
    uint32_t ops;
    size_t share;
    struct under_way *to_peer;
    uint32_t peer_count;
};

void MPIDI_AM_flow_open(int vci)
{
    struct MPIDI_AM_flow *flow = MPL_calloc(1, sizeof(*flow), MPL_MEM_RMA);

    MPIR_Assertp(flow != NULL);
    flow->share = MPIDI_AM_variable_bytes("AM_UNEXP_MAX") / (size_t) MPIR_Process.size;
    MPIDI_AM_global.flow[vci] = flow;
}

void MPIDI_AM_flow_close(int vci)
{
    MPL_free(MPIDI_AM_global.flow[vci]->to_peer);
    MPL_free(MPIDI_AM_global.flow[vci]);
}

static struct under_way *under_way(struct MPIDI_AM_flow *flow, uint32_t peer)
{
    if (unlikely(peer >= flow->peer_count)) {
        uint32_t count = MPL_MAX(peer + 1, flow->peer_count * 2);
        struct under_way *grown = MPL_realloc(flow->to_peer, count * sizeof(*grown), MPL_MEM_RMA);

        MPIR_Assertp(grown != NULL);
        memset(grown + flow->peer_count, 0, (count - flow->peer_count) * sizeof(*grown));
        flow->to_peer = grown;
        flow->peer_count = count;
    }
    return &flow->to_peer[peer];
}

/* Who has waited goes on when a quarter is free: else it would wait for each. */
static bool has_room(struct MPIDI_AM_flow *flow, uint32_t peer, size_t bytes, bool waited)
{
    size_t out = under_way(flow, peer)->bytes;
    size_t share = waited ? flow->share - flow->share / 4 : flow->share;

    return flow->ops < (waited ? OPS_MAX - OPS_MAX / 4 : OPS_MAX) &&
        (bytes == 0 || out == 0 || (bytes <= share && out <= share - bytes));
}

/* A rank that has died acknowledges nothing. */
static void forget_dead(struct MPIDI_AM_flow *flow, struct am_ctx *ctx)
{
    for (uint32_t peer = 0; peer < flow->peer_count; peer++) {
        if (flow->to_peer[peer].ops > 0 && am_peer_is_dead(ctx, peer)) {
            flow->ops -= flow->to_peer[peer].ops;
            memset(&flow->to_peer[peer], 0, sizeof(flow->to_peer[peer]));
        }
    }
}

static int wait_for_room(int vci, uint32_t peer, size_t bytes)
{
    struct MPIDI_AM_flow *flow = MPIDI_AM_global.flow[vci];
    int mpi_errno = MPI_SUCCESS;

    MPIDIU_PROGRESS_WHILE((forget_dead(flow, MPIDI_AM_global.ctx[vci]),
                           !has_room(flow, peer, bytes, true)), vci);
  fn_fail:
    return mpi_errno;
}

int MPIDI_AM_flow_take(int vci, uint32_t peer, size_t bytes)
{
    struct MPIDI_AM_flow *flow = MPIDI_AM_global.flow[vci];
    struct under_way *out;

    if (unlikely(!has_room(flow, peer, bytes, false))) {
        int mpi_errno = wait_for_room(vci, peer, bytes);

        if (mpi_errno != MPI_SUCCESS) {
            return mpi_errno;
        }
    }
    out = under_way(flow, peer);
    flow->ops++;
    out->ops++;
    out->bytes += bytes;
    return MPI_SUCCESS;
}

void MPIDI_AM_flow_give(int vci, uint32_t peer, size_t bytes)
{
    struct MPIDI_AM_flow *flow = MPIDI_AM_global.flow[vci];
    struct under_way *out = under_way(flow, peer);

    if (out->ops > 0) {         /* not forgotten */
        flow->ops--;
        out->ops--;
        out->bytes -= MPL_MIN(bytes, out->bytes);
    }
}
