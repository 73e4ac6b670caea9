/*
 * A build without fault tolerance (patch 0010 is not in this MPICH): what the rest
 * of the module calls of it.  Nothing is broken, and there is no trouble.
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if !MPIDI_AM_FT

void MPIDI_AM_comm_enter(MPIR_Comm * comm)
{
}

void MPIDI_AM_comm_leave(MPIR_Comm * comm)
{
}

void MPIDI_AM_sinks_close(int vci)
{
}

void MPIDI_AM_revoke_early(void)
{
}

void MPIDI_AM_deaths_forget(void)
{
}

bool MPIDI_AM_rank_is_dead(MPIR_Comm * comm, int rank)
{
    return false;
}

int MPIDI_AM_error_broken(MPIR_Comm * comm)
{
    return MPIDI_AM_error(MPIDI_AM_global.ctx[0], AM_ERR_PEER);
}

/* For patch 0011, which can be there without 0010. */
int MPIDI_AM_error_name(MPIR_Comm * comm, int mpi_errno)
{
    return mpi_errno;
}

int MPIDI_AM_probe_lost(MPIR_Comm * comm, int source)
{
    return MPI_SUCCESS;
}

bool MPIDI_AM_recv_refused(MPIR_Request * rreq, int context_id, int tag)
{
    return false;
}

MPIR_Request *MPIDI_AM_send_refused(MPIR_Comm * comm)
{
    return NULL;
}

int MPIDI_AM_ft_open(void)
{
    return MPI_SUCCESS;
}

void MPIDI_AM_ft_close(void)
{
}

bool MPIDI_AM_rma_awaits(int handler_id)
{
    return false;
}

void MPIDI_AM_rma_begin(MPIR_Request * sreq, int vci)
{
}

void MPIDI_AM_rma_answer(int vci, int handler_id, const void *am_hdr)
{
}

void MPIDI_AM_rma_control(int handler_id, const void *am_hdr, int rank)
{
}

void MPIDI_AM_rma_dead(int vci, uint32_t peer)
{
}

void MPIDI_AM_win_enter(MPIR_Win * win)
{
}

void MPIDI_AM_win_leave(MPIR_Win * win)
{
}

void MPIDI_AM_win_failed(MPIR_Win * win, int mpi_errno)
{
}

void MPIDI_AM_rma_refused(MPIR_Request * sreq, int vci, int mpi_errno)
{
    MPIDI_AM_end("a rank has no request or memory left for an operation of RMA");
}

bool MPIDI_AM_rma_is_type_answer(int handler_id)
{
    return false;
}

bool MPIDI_AM_rma_is_data(int handler_id)
{
    return false;
}

void MPIDI_AM_rma_typed(int vci, uint32_t peer, int handler_id, const void *am_hdr)
{
}

void MPIDI_AM_rma_without(int vci, const void *am_hdr)
{
}

MPIR_Request *MPIDI_AM_rma_give_up(int handler_id, const void *am_hdr, int mpi_errno)
{
    return NULL;
}

int MPIDI_AM_sync_trouble(void)
{
    return MPIDI_AM_error(MPIDI_AM_global.ctx[0], AM_ERR_PEER);
}

#endif /* !MPIDI_AM_FT */
