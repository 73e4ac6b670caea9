/*
 * Collectives for ranks that outnumber their cores.  There a step that waits
 * for another rank costs the turns of all ranks on its core, and not a
 * message's latency, so these wait as rarely as they can: each rank sends all
 * it has to say and then waits once.  MPICH's own algorithms wait once for each
 * level of a tree.  (Its broadcast stays: there most ranks wait once anyway, and
 * the sends are shared out.)
 *
 * A communicator is flat when all its ranks are of this world and on this node,
 * and the node has more ranks than cores; every rank finds the same, since all
 * look at the same exchanged numbers.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#define RANKS_MIN 3     /* two ranks exchange in one step anyway */
#define RANKS_FEW 4     /* so many send all to all rather than to one that answers */

void MPIDI_AM_comm_flat_set(MPIR_Comm * comm)
{
    bool flat = MPIDI_AM_global.crowded && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM &&
        comm->local_size >= RANKS_MIN;
    const int *nodes = MPIR_Process.node_map;

    for (int i = 0; flat && i < comm->local_size; i++) {
        int world_rank = MPIDI_AM_world_rank(comm, i);

        flat = world_rank >= 0 && nodes[world_rank] == nodes[MPIR_Process.rank];
    }
    MPIDI_AM_COMM(comm).bits = flat ? MPIDI_AM_COMM_FLAT : 0;
}

/* What MPICH's collectives do with an error: go on, and tell the others by the
 * tags of what is sent from now on. */
static void note(int *all, int mpi_errno, MPIDI_AM_errflag_t * errflag)
{
    if (mpi_errno != MPI_SUCCESS) {
        MPIDI_AM_errflag_set(errflag, MPIX_ERR_PROC_FAILED == MPIR_ERR_GET_CLASS(mpi_errno) ?
                             MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER);
        MPIR_ERR_SET(mpi_errno, MPIDI_AM_errflag_class(errflag), "**fail");
        MPIR_ERR_ADD(*all, mpi_errno);
    }
}

static int outcome(int all, const MPIDI_AM_errflag_t * errflag)
{
    if (all == MPI_SUCCESS && MPIDI_AM_errflag_is_set(errflag)) {
        MPIR_ERR_SET(all, MPIDI_AM_errflag_class(errflag), "**coll_fail");
    }
    return all;
}

static MPIR_Request **requests_get(int count)
{
    MPIR_Request **requests = MPL_malloc((size_t) count * sizeof(*requests), MPL_MEM_BUFFER);

    MPIR_Assertp(requests != NULL);
    return requests;
}

/* Wait for all of them, and free them. */
static void requests_end(MPIR_Request ** requests, int count, int *all,
                         MPIDI_AM_errflag_t * errflag)
{
    for (int i = 0; i < count; i++) {
        note(all, MPIDI_AM_c_wait(requests[i], errflag), errflag);
        note(all, requests[i]->status.MPI_ERROR, errflag);
        MPIR_Request_free(requests[i]);
    }
    MPL_free(requests);
}

/* Begin a send to each other rank; returns how many are in `requests`. */
static int send_begin(const void *buf, MPI_Aint count, MPI_Datatype datatype, int tag,
                      MPIR_Comm * comm, MPIR_Request ** requests, int *all,
                      MPIDI_AM_errflag_t * errflag)
{
    int under_way = 0;

    for (int i = 1; i < comm->local_size; i++) {
        int dest = (comm->rank + i) % comm->local_size;
        int mpi_errno = MPIDI_AM_c_isend(buf, count, datatype, dest, tag, comm,
                                         &requests[under_way], errflag);

        under_way += mpi_errno == MPI_SUCCESS;
        note(all, mpi_errno, errflag);
    }
    return under_way;
}

static void send_to_all(const void *buf, MPI_Aint count, MPI_Datatype datatype, int tag,
                        MPIR_Comm * comm, int *all, MPIDI_AM_errflag_t * errflag)
{
    MPIR_Request **requests = requests_get(comm->local_size);
    int under_way = send_begin(buf, count, datatype, tag, comm, requests, all, errflag);

    requests_end(requests, under_way, all, errflag);
}

static void tokens_recv(MPIR_Comm * comm, int *all, MPIDI_AM_errflag_t * errflag)
{
    for (int i = 1; i < comm->local_size; i++) {
        int source = (comm->rank + i) % comm->local_size;

        note(all, MPIDI_AM_c_recv(NULL, 0, MPIDI_AM_BYTE, source, MPIR_BARRIER_TAG, comm, errflag),
             errflag);
    }
}

/* Few ranks tell each other; more tell rank 0, which tells them. */
int MPIDI_AM_flat_barrier(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    int all = MPI_SUCCESS;

    if (comm->local_size <= RANKS_FEW) {
        MPIR_Request **requests = requests_get(comm->local_size);
        int under_way = send_begin(NULL, 0, MPIDI_AM_BYTE, MPIR_BARRIER_TAG, comm, requests, &all,
                                   errflag);

        tokens_recv(comm, &all, errflag);
        requests_end(requests, under_way, &all, errflag);
    } else if (comm->rank == 0) {
        tokens_recv(comm, &all, errflag);
        send_to_all(NULL, 0, MPIDI_AM_BYTE, MPIR_BARRIER_TAG, comm, &all, errflag);
    } else {
        note(&all, MPIDI_AM_c_send(NULL, 0, MPIDI_AM_BYTE, 0, MPIR_BARRIER_TAG, comm, errflag),
             errflag);
        note(&all, MPIDI_AM_c_recv(NULL, 0, MPIDI_AM_BYTE, 0, MPIR_BARRIER_TAG, comm, errflag),
             errflag);
    }
    return outcome(all, errflag);
}

/* At the root: from the last rank's values to the first's, so that they meet in
 * the order of ranks (the operation need not be commutative). */
static void reduce_in_order(const void *own, void *result, void *space, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, int tag, MPIR_Comm * comm,
                            int *all, MPIDI_AM_errflag_t * errflag)
{
    int last = comm->local_size - 1;

    for (int rank = last; rank >= 0; rank--) {
        void *to = rank == last ? result : space;

        if (rank != comm->rank) {
            note(all, MPIDI_AM_c_recv(to, count, datatype, rank, tag, comm, errflag),
                 errflag);
        } else if (rank == last && own != result) {
            note(all, MPIR_Localcopy(own, count, datatype, result, count, datatype), errflag);
        }
        if (rank != last) {
            note(all, MPIR_Reduce_local(rank == comm->rank ? own : space, result, count, datatype,
                                        op), errflag);
        }
    }
}

/* Reduce here what all others send here.  With `tell`, they get my values too. */
static void reduce_here(const void *sendbuf, void *recvbuf, MPI_Aint count,
                        MPI_Datatype datatype, MPI_Op op, bool tell, int tag, MPIR_Comm * comm,
                        int *all, MPIDI_AM_errflag_t * errflag)
{
    /* values in place are needed until all is summed up, and sent */
    bool apart = sendbuf == MPI_IN_PLACE;
    const void *own = apart ? recvbuf : sendbuf;
    MPIR_Request **requests = requests_get(comm->local_size);
    MPI_Aint lb, extent, true_extent;
    int under_way = 0;
    void *result = recvbuf;
    char *space;

    MPIR_Type_get_true_extent_impl(datatype, &lb, &true_extent);
    MPIR_Datatype_get_extent_macro(datatype, extent);
    extent = MPL_MAX(extent, true_extent) * count;
    space = MPL_malloc((size_t) extent * 2, MPL_MEM_BUFFER);
    MPIR_Assertp(space != NULL);
    if (apart) {
        result = space + extent - lb;
    }
    if (tell) {
        under_way = send_begin(own, count, datatype, tag, comm, requests, all, errflag);
    }
    reduce_in_order(own, result, space - lb, count, datatype, op, tag, comm, all, errflag);
    requests_end(requests, under_way, all, errflag);
    if (apart) {
        note(all, MPIR_Localcopy(result, count, datatype, recvbuf, count, datatype), errflag);
    }
    MPL_free(space);
}

int MPIDI_AM_flat_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                         MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm * comm,
                         MPIDI_AM_errflag_t * errflag)
{
    int all = MPI_SUCCESS;

    if (comm->rank == root) {
        reduce_here(sendbuf, recvbuf, count, datatype, op, false, MPIR_REDUCE_TAG, comm, &all,
                    errflag);
    } else {
        note(&all, MPIDI_AM_c_send(sendbuf, count, datatype, root, MPIR_REDUCE_TAG, comm, errflag),
             errflag);
    }
    return outcome(all, errflag);
}

/* Few ranks tell each other: each waits once, and often finds all there.  More
 * tell one, which tells them; a result is the same on all of them either way. */
int MPIDI_AM_flat_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                            MPIDI_AM_errflag_t * errflag)
{
    int root = comm->local_size - 1;
    int all = MPI_SUCCESS;

    if (comm->local_size <= RANKS_FEW) {
        reduce_here(sendbuf, recvbuf, count, datatype, op, true, MPIR_ALLREDUCE_TAG, comm, &all,
                    errflag);
    } else if (comm->rank == root) {
        reduce_here(sendbuf, recvbuf, count, datatype, op, false, MPIR_ALLREDUCE_TAG, comm, &all,
                    errflag);
        send_to_all(recvbuf, count, datatype, MPIR_ALLREDUCE_TAG, comm, &all, errflag);
    } else {
        note(&all, MPIDI_AM_c_send(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, count, datatype,
                                   root, MPIR_ALLREDUCE_TAG, comm, errflag), errflag);
        note(&all, MPIDI_AM_c_recv(recvbuf, count, datatype, root, MPIR_ALLREDUCE_TAG, comm,
                                   errflag), errflag);
    }
    return outcome(all, errflag);
}

/* All at once, each with all others. */
int MPIDI_AM_flat_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    int size = comm->local_size, rank = comm->rank, count = 0, all = MPI_SUCCESS, mpi_errno;
    MPIR_Request **requests = requests_get(2 * size);
    MPI_Aint sendstep, recvstep;

    MPIR_Datatype_get_extent_macro(sendtype, sendstep);
    MPIR_Datatype_get_extent_macro(recvtype, recvstep);
    sendstep *= sendcount;
    recvstep *= recvcount;
    for (int i = 1; i < size; i++) {
        int source = (rank + size - i) % size;

        mpi_errno = MPIC_Irecv((char *) recvbuf + source * recvstep, recvcount, recvtype, source,
                               MPIR_ALLTOALL_TAG, comm, &requests[count]);
        count += mpi_errno == MPI_SUCCESS;
        note(&all, mpi_errno, errflag);
    }
    for (int i = 1; i < size; i++) {
        int dest = (rank + i) % size;

        mpi_errno = MPIDI_AM_c_isend((const char *) sendbuf + dest * sendstep, sendcount, sendtype,
                                     dest, MPIR_ALLTOALL_TAG, comm, &requests[count], errflag);
        count += mpi_errno == MPI_SUCCESS;
        note(&all, mpi_errno, errflag);
    }
    note(&all, MPIR_Localcopy((const char *) sendbuf + rank * sendstep, sendcount, sendtype,
                              (char *) recvbuf + rank * recvstep, recvcount, recvtype), errflag);
    requests_end(requests, count, &all, errflag);
    return outcome(all, errflag);
}
