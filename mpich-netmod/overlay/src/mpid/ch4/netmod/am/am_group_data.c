/*
 * One collective of libam as MPI calls it: its memory in one piece, and its operator.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

/* ------------------------------------------------------------ memory */

static void memory_set(struct MPIDI_AM_memory *memory, const void *user, MPI_Aint count,
                       MPI_Datatype datatype)
{
    memory->user = (void *) user;
    memory->count = count;
    memory->datatype = datatype;
    memory->is_used = true;
}

/* `apart`: a copy even of memory in one piece. */
static void memory_open(struct MPIDI_AM_memory *memory, bool apart)
{
    MPI_Aint lb, length;
    int contig;

    MPIDI_Datatype_check_contig_size_lb(memory->datatype, memory->count, contig, length, lb);
    memory->length = length;
    memory->bytes = (char *) memory->user + lb;
    memory->is_copy = apart || !contig || MPIDI_AM_is_gpu(memory->bytes, (size_t) length);
    if (memory->is_copy) {
        memory->bytes = MPL_malloc((size_t) length, MPL_MEM_BUFFER);
        MPIR_Assertp(memory->bytes != NULL);
    }
}

/* To the copy, or from it; nothing to do without one. */
static int memory_in(struct MPIDI_AM_memory *memory)
{
    return !memory->is_copy ? MPI_SUCCESS :
        MPIR_Localcopy(memory->user, memory->count, memory->datatype, memory->bytes,
                       memory->length, MPIDI_AM_BYTE);
}

static int memory_out(struct MPIDI_AM_memory *memory)
{
    return !memory->is_copy ? MPI_SUCCESS :
        MPIR_Localcopy(memory->bytes, memory->length, MPIDI_AM_BYTE, memory->user, memory->count,
                       memory->datatype);
}

static void memory_close(struct MPIDI_AM_memory *memory)
{
    if (memory->is_used && memory->is_copy) {
        MPL_free(memory->bytes);
    }
}

int MPIDI_AM_collective_open(struct MPIDI_AM_collective *c)
{
    int mpi_errno = MPI_SUCCESS;

    if (c->recv.is_used) {
        memory_open(&c->recv, false);
        c->call.recv = c->recv.bytes;
        mpi_errno = c->is_given_in_recv ? memory_in(&c->recv) : MPI_SUCCESS;
    }
    if (c->send.is_used) {
        /* in place, where libam needs what it reads apart from what it writes */
        memory_open(&c->send, c->call.kind == AM_COLL_REDUCE_SCATTER &&
                    c->send.user == c->call.recv);
        c->call.send = c->send.bytes;
        mpi_errno = mpi_errno == MPI_SUCCESS ? memory_in(&c->send) : mpi_errno;
    }
    return mpi_errno;
}

int MPIDI_AM_collective_close(struct MPIDI_AM_collective *c, bool is_good)
{
    int mpi_errno = MPI_SUCCESS;

    if (is_good && c->gets && c->recv.is_used) {
        mpi_errno = memory_out(&c->recv);
    }
    memory_close(&c->send);
    memory_close(&c->recv);
    return mpi_errno;
}

/* ------------------------------------------------------------ kinds */

static void begin(struct MPIDI_AM_collective *c, am_coll_kind_t kind, int root)
{
    memset(&c->call, 0, sizeof(c->call));
    c->call.kind = kind;
    c->call.root = (uint32_t) root;
    c->operator.op = 0;
    c->send.is_used = c->recv.is_used = false;
    c->is_given_in_recv = false;
    c->gets = true;
    c->bytes = 0;
}

size_t MPIDI_AM_bytes_of(MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return size <= 0 || count <= 0 || (size_t) count > SIZE_MAX / 2 / (size_t) size ? 0 :
        (size_t) (size * count);
}

void MPIDI_AM_as_barrier(struct MPIDI_AM_collective *c)
{
    begin(c, AM_COLL_BARRIER, 0);
}

bool MPIDI_AM_as_bcast(struct MPIDI_AM_collective *c, void *buffer, MPI_Aint count,
                       MPI_Datatype datatype, int root, MPIR_Comm * comm)
{
    begin(c, AM_COLL_BCAST, root);
    memory_set(&c->recv, buffer, count, datatype);
    c->is_given_in_recv = comm->rank == root;
    c->gets = comm->rank != root;
    c->bytes = c->call.count = MPIDI_AM_bytes_of(count, datatype);
    return c->bytes != 0;
}

static void reduce(void *arg, const void *left_values, void *inout, size_t count)
{
    const struct MPIDI_AM_operator *operator = arg;

    (void) MPIR_Reduce_local(left_values, inout, (MPI_Aint) count, operator->datatype,
                             operator->op);
}

/* Types of MPI's own are the same on all ranks, and lie in one piece; operators may be the
 * user's. */
bool MPIDI_AM_as_reduction(struct MPIDI_AM_collective *c, am_coll_kind_t kind,
                           const void *sendbuf, void *recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm * comm)
{
    bool in_place = sendbuf == MPI_IN_PLACE;
    MPI_Aint size;

    if (!HANDLE_IS_BUILTIN(datatype)) {
        return false;
    }
    begin(c, kind, root);
    c->bytes = MPIDI_AM_bytes_of(count, datatype);
    MPIR_Datatype_get_size_macro(datatype, size);
    c->call.send = in_place ? NULL : sendbuf;
    c->call.recv = recvbuf;
    if (kind == AM_COLL_REDUCE_SCATTER && in_place) {
        memory_set(&c->send, recvbuf, count * comm->local_size, datatype);
    }
    c->call.count = (size_t) count;
    if (MPIDI_AM_group_operator(op, datatype, size, &c->call.op)) {
        return c->bytes != 0;
    }
    /* the user's may wait for another thread, and libam would call it with the lock held, or a
     * thread would come in half way, as MPICH gives up its one lock meanwhile */
    if (!MPIDI_AM_global.single && MPIDI_AM_OP_IS_USERS(op)) {
        return false;
    }
    c->operator.op = op;
    c->operator.datatype = datatype;
    c->call.op.reduce = reduce;
    c->call.op.arg = &c->operator;
    c->call.op.element_bytes = (size_t) size;
    c->call.op.is_commutative = MPIR_Op_is_commutative(op);
    return c->bytes != 0;
}

bool MPIDI_AM_as_scattered(struct MPIDI_AM_collective *c, const void *sendbuf, void *recvbuf,
                           const MPI_Aint * recvcounts, MPI_Datatype datatype, MPI_Op op,
                           MPIR_Comm * comm)
{
    for (int i = 1; i < comm->local_size; i++) {
        if (recvcounts[i] != recvcounts[0]) {
            return false;
        }
    }
    return MPIDI_AM_as_reduction(c, AM_COLL_REDUCE_SCATTER, sendbuf, recvbuf, recvcounts[0],
                                 datatype, op, 0, comm);
}

bool MPIDI_AM_as_blocks(struct MPIDI_AM_collective *c, am_coll_kind_t kind, const void *sendbuf,
                        MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                        MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm)
{
    bool is_root = comm->rank == root;
    bool gives = kind != AM_COLL_SCATTER || is_root;
    bool gets = kind != AM_COLL_GATHER || is_root;
    bool in_place = (gives && sendbuf == MPI_IN_PLACE) || (gets && recvbuf == MPI_IN_PLACE);
    int sent = kind == AM_COLL_ALLTOALL || kind == AM_COLL_SCATTER ? comm->local_size : 1;
    int got = kind == AM_COLL_SCATTER ? 1 : comm->local_size;

    begin(c, kind, root);
    c->gets = gets;
    c->is_given_in_recv = in_place && kind != AM_COLL_SCATTER;
    if (gives && sendbuf != MPI_IN_PLACE) {
        memory_set(&c->send, sendbuf, sendcount * sent, sendtype);
    }
    if (gets && recvbuf != MPI_IN_PLACE) {
        memory_set(&c->recv, recvbuf, recvcount * got, recvtype);
    }
    c->bytes = (kind == AM_COLL_SCATTER ? is_root : !gets) ?
        MPIDI_AM_bytes_of(sendcount, sendtype) : MPIDI_AM_bytes_of(recvcount, recvtype);
    c->call.count = c->bytes;
    return c->bytes != 0 && (kind != AM_COLL_ALLTOALL || !in_place);
}

/* ------------------------------------------------------------ blocks of their own lengths */

/* Where they lie, from the lowest on; a copy has them one after the other. */
static void places_set(struct MPIDI_AM_vector *v, int count, MPI_Aint extent, MPI_Aint size)
{
    MPI_Aint lowest = 0;
    size_t next = 0;

    for (int i = 0; i < count; i++) {
        if (v->user_counts[i] > 0 && (next == 0 || v->displs[i] < lowest)) {
            lowest = v->displs[i];
        }
        v->counts[i] = (size_t) (v->user_counts[i] * size);
        v->offsets[i] = next;
        next += v->counts[i];
    }
    v->length = next;
    for (int i = 0; !v->is_copy && i < count; i++) {
        v->offsets[i] = v->counts[i] == 0 ? 0 : (size_t) ((v->displs[i] - lowest) * extent);
    }
    v->bytes += v->is_copy ? 0 : lowest * extent;
}

void MPIDI_AM_vector_open(struct MPIDI_AM_vector *v, int count, const void *user,
                         const MPI_Aint * counts, const MPI_Aint * displs, MPI_Datatype datatype)
{
    MPI_Aint lb, size, extent;
    int contig;

    MPIDI_Datatype_check_contig_size_lb(datatype, 1, contig, size, lb);
    MPIR_Datatype_get_extent_macro(datatype, extent);
    v->user = (void *) user;
    v->user_counts = counts;
    v->displs = displs;
    v->datatype = datatype;
    v->extent = extent;
    v->bytes = (char *) user + lb;
    v->is_copy = !contig || extent != size || MPIDI_AM_is_gpu(v->bytes, (size_t) size);
    v->counts = MPL_malloc(2 * (size_t) count * sizeof(*v->counts), MPL_MEM_BUFFER);
    MPIR_Assertp(v->counts != NULL);
    v->offsets = v->counts + count;
    places_set(v, count, extent, size);
    if (v->is_copy) {
        v->bytes = MPL_malloc(v->length + 1, MPL_MEM_BUFFER);
        MPIR_Assertp(v->bytes != NULL);
    }
}

int MPIDI_AM_vector_copy(struct MPIDI_AM_vector *v, int count, bool is_out)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; v->is_copy && mpi_errno == MPI_SUCCESS && i < count; i++) {
        char *user = (char *) v->user + v->displs[i] * v->extent;
        char *copy = v->bytes + v->offsets[i];
        MPI_Aint length = (MPI_Aint) v->counts[i];

        if (length > 0) {
            mpi_errno = is_out ?
                MPIR_Localcopy(copy, length, MPIDI_AM_BYTE, user, v->user_counts[i], v->datatype) :
                MPIR_Localcopy(user, v->user_counts[i], v->datatype, copy, length, MPIDI_AM_BYTE);
        }
    }
    return mpi_errno;
}

void MPIDI_AM_vector_close(struct MPIDI_AM_vector *v)
{
    MPL_free(v->counts);
    if (v->is_copy) {
        MPL_free(v->bytes);
    }
}

void MPIDI_AM_as_vector(struct MPIDI_AM_collective *c, am_coll_kind_t kind, const void *sendbuf,
                        MPI_Aint sendcount, MPI_Datatype sendtype)
{
    begin(c, kind, 0);
    c->call.is_vector = true;
    if (kind == AM_COLL_ALLGATHER && sendbuf != MPI_IN_PLACE) {
        memory_set(&c->send, sendbuf, sendcount, sendtype);
    }
}
