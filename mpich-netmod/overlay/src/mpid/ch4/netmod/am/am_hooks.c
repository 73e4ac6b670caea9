/*
 * Entries for which ch4's generic code, or nothing, is what this netmod wants:
 * windows and their memory, partitioned communication, communicator, datatype
 * and operation hooks.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_noinline.h"

int MPIDI_AM_mpi_comm_commit_pre_hook(MPIR_Comm * comm)
{
    int mpi_errno = MPIDI_AM_comm_bootstrap(comm);

    MPIDI_AM_comm_node_set(comm);
    MPIDI_AM_comm_enter(comm);
    MPIDI_AM_comm_met_enter(comm);
    return mpi_errno;
}

int MPIDI_AM_mpi_comm_commit_post_hook(MPIR_Comm * comm)
{
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_comm_free_hook(MPIR_Comm * comm)
{
    MPIDI_AM_comm_met_leave(comm);
    MPIDI_AM_comm_leave(comm);  /* nobody finds it broken any more */
    MPIDI_AM_comm_node_free(comm);
    return MPI_SUCCESS;
}

int MPIDI_AM_comm_set_hints(MPIR_Comm * comm, MPIR_Info * info)
{
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_type_commit_hook(MPIR_Datatype * datatype_p)
{
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_type_free_hook(MPIR_Datatype * datatype_p)
{
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_op_commit_hook(MPIR_Op * op_p)
{
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_op_free_hook(MPIR_Op * op_p)
{
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_win_attach_hook(MPIR_Win * win, void *base, MPI_Aint size)
{
    return MPIDI_AM_is_gpu(base, (size_t) size) ? MPIDI_AM_gpu_error() : MPI_SUCCESS;
}

int MPIDI_AM_mpi_win_detach_hook(MPIR_Win * win, const void *base)
{
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_win_set_info(MPIR_Win * win, MPIR_Info * info)
{
    return MPIDIG_mpi_win_set_info(win, info);
}

int MPIDI_AM_mpi_win_get_info(MPIR_Win * win, MPIR_Info ** info_p)
{
    return MPIDIG_mpi_win_get_info(win, info_p);
}

int MPIDI_AM_mpi_win_free(MPIR_Win ** win_p)
{
    return MPIDIG_mpi_win_free(win_p);
}

int MPIDI_AM_mpi_win_create(void *base, MPI_Aint length, int disp_unit, MPIR_Info * info,
                            MPIR_Comm * comm, MPIR_Win ** win_p)
{
    return MPIDIG_mpi_win_create(base, length, disp_unit, info, comm, win_p);
}

int MPIDI_AM_mpi_win_attach(MPIR_Win * win, void *base, MPI_Aint size)
{
    return MPIDIG_mpi_win_attach(win, base, size);
}

int MPIDI_AM_mpi_win_detach(MPIR_Win * win, const void *base)
{
    return MPIDIG_mpi_win_detach(win, base);
}

int MPIDI_AM_mpi_win_allocate_shared(MPI_Aint size, int disp_unit, MPIR_Info * info,
                                     MPIR_Comm * comm, void **base_p, MPIR_Win ** win_p)
{
    return MPIDIG_mpi_win_allocate_shared(size, disp_unit, info, comm, base_p, win_p);
}

int MPIDI_AM_mpi_win_allocate(MPI_Aint size, int disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                              void *base_p, MPIR_Win ** win_p)
{
    return MPIDIG_mpi_win_allocate(size, disp_unit, info, comm, base_p, win_p);
}

int MPIDI_AM_mpi_win_create_dynamic(MPIR_Info * info, MPIR_Comm * comm, MPIR_Win ** win_p)
{
    return MPIDIG_mpi_win_create_dynamic(info, comm, win_p);
}

void *MPIDI_AM_mpi_alloc_mem(MPI_Aint size, MPIR_Info * info)
{
    return MPIDIG_mpi_alloc_mem(size, info);
}

int MPIDI_AM_mpi_free_mem(void *ptr)
{
    return MPIDIG_mpi_free_mem(ptr);
}

int MPIDI_AM_mpi_psend_init(const void *buf, int partitions, MPI_Aint count,
                            MPI_Datatype datatype, int dest, int tag, MPIR_Comm * comm,
                            MPIR_Info * info, MPIDI_av_entry_t * av, MPIR_Request ** req_p)
{
    int mpi_errno = MPIDI_AM_part_check(av);

    if (mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPIDIG_mpi_psend_init(buf, partitions, count, datatype, dest, tag, comm, info,
                                          req_p);
    }
    if (mpi_errno == MPI_SUCCESS) {
        MPIDI_AM_part_made(*req_p);
    }
    return mpi_errno;
}

int MPIDI_AM_mpi_precv_init(void *buf, int partitions, MPI_Aint count,
                            MPI_Datatype datatype, int source, int tag, MPIR_Comm * comm,
                            MPIR_Info * info, MPIDI_av_entry_t * av, MPIR_Request ** req_p)
{
    int mpi_errno = MPIDI_AM_part_check(av);

    if (mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPIDI_AM_generic_precv_init(buf, partitions, count, datatype, source, tag, comm,
                                                info, req_p);
    }
    if (mpi_errno == MPI_SUCCESS) {
        MPIDI_AM_part_made(*req_p);
    }
    return mpi_errno;
}
