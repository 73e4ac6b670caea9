/*
 * One collective of libam as MPI calls it: its memory in one piece, its operator, and the
 * wait for it.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

void MPIDI_AM_memory_open(struct MPIDI_AM_memory *memory, const void *user, MPI_Aint count,
                          MPI_Datatype datatype)
{
    MPI_Aint lb, length;
    int contig;

    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, length, lb);
    memory->user = (void *) user;
    memory->count = count;
    memory->length = length;
    memory->datatype = datatype;
    memory->bytes = (char *) user + lb;
    memory->is_copy = !contig || MPIDI_AM_is_gpu(memory->bytes, (size_t) length);
    if (memory->is_copy) {
        memory->bytes = MPL_malloc((size_t) length, MPL_MEM_BUFFER);
        MPIR_Assertp(memory->bytes != NULL);
    }
}

int MPIDI_AM_memory_in(struct MPIDI_AM_memory *memory)
{
    return !memory->is_copy ? MPI_SUCCESS :
        MPIR_Localcopy(memory->user, memory->count, memory->datatype, memory->bytes,
                       memory->length, MPIDI_AM_BYTE);
}

int MPIDI_AM_memory_out(struct MPIDI_AM_memory *memory)
{
    return !memory->is_copy ? MPI_SUCCESS :
        MPIR_Localcopy(memory->bytes, memory->length, MPIDI_AM_BYTE, memory->user, memory->count,
                       memory->datatype);
}

void MPIDI_AM_memory_close(struct MPIDI_AM_memory *memory)
{
    if (memory->is_copy) {
        MPL_free(memory->bytes);
    }
}

static void reduce(void *arg, const void *left_values, void *inout, size_t count)
{
    const struct MPIDI_AM_operator *operator = arg;

    (void) MPIR_Reduce_local(left_values, inout, (MPI_Aint) count, operator->datatype,
                             operator->op);
}

bool MPIDI_AM_group_is_reduction(MPI_Op op, MPI_Datatype datatype, MPI_Aint count, size_t most,
                                 struct MPIDI_AM_operator *operator, struct am_coll_call *call)
{
    MPI_Aint size;

    if (!HANDLE_IS_BUILTIN(op) || !HANDLE_IS_BUILTIN(datatype)) {
        return false;
    }
    MPIR_Datatype_get_size_macro(datatype, size);
    if (size <= 0 || count <= 0 || (size_t) count > most / (size_t) size) {
        return false;
    }
    operator->op = op;
    operator->datatype = datatype;
    call->count = (size_t) count;
    call->op.reduce = reduce;
    call->op.arg = operator;
    call->op.element_bytes = (size_t) size;
    call->op.is_commutative = true;
    return true;
}

int MPIDI_AM_group_error(MPIR_Comm * comm, am_status_t status)
{
    return status == AM_ERR_PEER ? MPIDI_AM_error_broken(comm) :
        MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
}

struct wait {
    MPIR_Request *request;      /* of a wait that takes longer */
    bool is_done;
    am_status_t status;
};

static void wait_done(void *arg, am_status_t status)
{
    struct wait *wait = arg;

    wait->status = status;
    wait->is_done = true;
    if (wait->request != NULL) {
        MPIDI_AM_complete(wait->request);
    }
}

am_status_t MPIDI_AM_group_run(MPIR_Comm * comm, struct am_coll_group *group,
                               struct am_coll_call *call, MPIDI_AM_errflag_t * errflag)
{
    struct wait wait = { NULL, false, AM_OK };
    am_status_t status;

    call->is_waited_for = true;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    status = am_coll_start(group, call, wait_done, &wait);
    if (status == AM_OK) {
        wait.request = MPIDI_AM_request(MPIR_REQUEST_KIND__COLL, 0, comm, 2);
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (status != AM_OK) {
        return status == AM_DONE ? AM_OK : status;
    }
    if (wait.request != NULL) {
        (void) MPIDI_AM_c_wait(wait.request, errflag);
    }
    while (!wait.is_done) {     /* progress has failed, or MPICH has no request for the wait */
        (void) MPID_Progress_test(NULL);
    }
    if (wait.request != NULL) {
        MPIR_Request_free(wait.request);
    }
    return wait.status;
}

size_t MPIDI_AM_group_bytes(MPI_Aint count, MPI_Datatype datatype, size_t most)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return size <= 0 || count <= 0 || (size_t) size > most || (size_t) count > most / (size_t) size ?
        0 : (size_t) (size * count);
}
