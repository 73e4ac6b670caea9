/*
 * Collectives of libam (am_coll.h) for communicators whose ranks are all of this
 * world and on this node.
 *
 * A communicator gets a group of libam when it has been used a few times, as
 * most communicators never are.  Blocking collectives go there when the members
 * share memory and the message is short enough for that to be the faster way
 * (measured: docs/performance.md); others are MPICH's, or am_coll.c's.  Where ranks
 * outnumber the cores these are only those that make all wait for all anyway, barrier
 * and allreduce: a root that sends and goes on is far ahead of one that waits for
 * its slot to be read.
 * Non-blocking ones of the same lengths go there whether they share memory or not:
 * MPICH's schedules cost more than libam's.
 *
 * Each decision is made from what all ranks know alike: the communicator, how
 * often it has been used, the bytes of the message (not the datatype, which may
 * differ from rank to rank), and what member 0 of the group said of the memory.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include <am_coll.h>

#define USES      8             /* the collective that makes the group */
#define RANKS_MAX 64

/* Longest message that goes this way, bytes (of a block, of all-gather and all-to-all). */
#define BCAST_MOST     4096
#define REDUCE_MOST    4096
#define ALLREDUCE_MOST 4096
#define ALLGATHER_MOST 4096
#define ALLTOALL_MOST  4096
/* Of two ranks: a short broadcast is one message, a longer all-gather two in place. */
#define PAIR_BCAST_LEAST    256
#define PAIR_ALLGATHER_MOST 1024

/* What is known of a communicator that has been used. */
struct record {
    struct am_coll_group *group;        /* NULL: not yet, or not any more */
    int uses;                   /* until there is a group */
    bool is_asked;              /* whether the members share memory */
    bool is_left;               /* the communicator is freed, the group is to be closed */
    bool is_taken;
    size_t shared_bytes;        /* of a piece that goes through that memory; 0: there is none */
};

static struct record *records;  /* the first is nobody's */
static unsigned record_count;

/* Where threads are in MPICH at the same time, the records would need a lock; all ranks have the
 * same build, but not the same number of threads. */
#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__VCI
#define IS_SERIAL false
#else
#define IS_SERIAL true
#endif

void MPIDI_AM_comm_node_set(MPIR_Comm * comm)
{
    const int *nodes = MPIR_Process.node_map;
    bool is_node = IS_SERIAL && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM &&
        comm->local_size > 1 && comm->local_size <= RANKS_MAX;

    for (int i = 0; is_node && i < comm->local_size; i++) {
        int world_rank = MPIDI_AM_world_rank(comm, i);

        is_node = world_rank >= 0 && nodes[world_rank] == nodes[MPIR_Process.rank];
    }
    MPIDI_AM_COMM(comm).bits |= is_node ? MPIDI_AM_COMM_NODE : 0;
    MPIDI_AM_COMM(comm).place = 0;
}

/* ------------------------------------------------------------- records, groups */

static struct record *record_of(MPIR_Comm * comm)
{
    return &records[MPIDI_AM_COMM(comm).place];
}

static void records_grow(void)
{
    unsigned more = record_count == 0 ? 16 : 2 * record_count;

    records = MPL_realloc(records, more * sizeof(*records), MPL_MEM_COMM);
    MPIR_Assertp(records != NULL);
    memset(records + record_count, 0, (more - record_count) * sizeof(*records));
    record_count = more;
}

static void record_take(MPIR_Comm * comm)
{
    unsigned place = 1;

    while (place < record_count && records[place].is_taken) {
        place++;
    }
    if (place >= record_count) {
        records_grow();
    }
    memset(&records[place], 0, sizeof(records[place]));
    records[place].is_taken = true;
    MPIDI_AM_COMM(comm).place = place;
}

/* The communicator is gone.  False: its group cannot be closed yet. */
static bool record_free(struct record *record)
{
    record->is_left = true;
    if (record->group != NULL && am_coll_group_close(record->group) == AM_ERR_AGAIN) {
        return false;
    }
    record->group = NULL;
    record->is_taken = false;
    return true;
}

/* Try again to close what was left; false: some is left still. */
static bool left_close(void)
{
    bool all = true;

    for (unsigned i = 1; i < record_count; i++) {
        if (records[i].is_taken && records[i].is_left) {
            all = record_free(&records[i]) && all;
        }
    }
    return all;
}

void MPIDI_AM_comm_node_free(MPIR_Comm * comm)
{
    if (MPIDI_AM_global.n_ctx == 0) {   /* the groups went with their context */
        MPL_free(records);
        records = NULL;
        record_count = 0;
    } else if (MPIDI_AM_COMM(comm).place != 0) {
        (void) record_free(record_of(comm));
    }
}

void MPIDI_AM_group_revoke(MPIR_Comm * comm)
{
    if (MPIDI_AM_COMM(comm).place != 0 && record_of(comm)->group != NULL) {
        am_coll_group_abandon(record_of(comm)->group);
    }
}

/* The context id names the group: MPICH gives it again only when all members have
 * freed the communicator, and with it closed the group. */
static am_status_t group_open(MPIR_Comm * comm)
{
    uint32_t ranks[RANKS_MAX];
    struct am_ctx *ctx = MPIDI_AM_global.ctx[0];

    for (int i = 0; i < comm->local_size; i++) {
        MPIDI_av_entry_t *av = MPIDI_AM_world_av(MPIDI_AM_world_rank(comm, i));

        ranks[i] = i == comm->rank ? am_rank(ctx) : MPIDI_AM_PEER(av, 0, 0);
    }
    while (!left_close() && am_ctx_poll(ctx) >= 0) {
    }
    return am_coll_group_open(ctx, (uint32_t) comm->context_id, ranks,
                              (uint32_t) comm->local_size, &record_of(comm)->group);
}

/* The group, made now if it is time; NULL: there is none. */
static struct am_coll_group *group_of(MPIR_Comm * comm)
{
    if (unlikely(MPIDI_AM_COMM(comm).place == 0)) {
        record_take(comm);
    }
    if (likely(record_of(comm)->group != NULL)) {
        return record_of(comm)->group;
    }
    if (++record_of(comm)->uses < USES) {
        return NULL;
    }
    if (MPIDI_AM_global.virtual || group_open(comm) != AM_OK) {
        MPIDI_AM_COMM(comm).bits &= ~MPIDI_AM_COMM_NODE;
    }
    return record_of(comm)->group;
}

/* ------------------------------------------------------------- one collective */

/* Memory as libam takes it: the user's own, or a copy of it in one piece. */
struct memory {
    char *bytes;
    void *user;
    MPI_Aint count, length;
    MPI_Datatype datatype;
    bool is_copy;
};

static void memory_open(struct memory *memory, const void *user, MPI_Aint count,
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

/* To the copy, or from it; nothing to do without one. */
static int memory_in(struct memory *memory)
{
    return !memory->is_copy ? MPI_SUCCESS :
        MPIR_Localcopy(memory->user, memory->count, memory->datatype, memory->bytes,
                       memory->length, MPIDI_AM_BYTE);
}

static int memory_out(struct memory *memory)
{
    return !memory->is_copy ? MPI_SUCCESS :
        MPIR_Localcopy(memory->bytes, memory->length, MPIDI_AM_BYTE, memory->user, memory->count,
                       memory->datatype);
}

static void memory_close(struct memory *memory)
{
    if (memory->is_copy) {
        MPL_free(memory->bytes);
    }
}

/* An operator of MPI on one of its own datatypes. */
struct operator {
    MPI_Op op;
    MPI_Datatype datatype;
};

static void reduce(void *arg, const void *left_values, void *inout, size_t count)
{
    const struct operator *operator = arg;

    (void) MPIR_Reduce_local(left_values, inout, (MPI_Aint) count, operator->datatype,
                             operator->op);
}

/* Is it one for libam?  Operators and types of MPI's own are the same on all ranks. */
static bool is_reduction(MPI_Op op, MPI_Datatype datatype, MPI_Aint count, size_t most,
                         struct operator *operator, struct am_coll_call *call)
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

/* An error for a collective that libam has given up. */
static int error_of(MPIR_Comm * comm, am_status_t status)
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

/* Start it and wait, with MPICH's progress if it is not done at once. */
static am_status_t run(MPIR_Comm * comm, struct am_coll_call *call, MPIDI_AM_errflag_t * errflag)
{
    struct wait wait = { NULL, false, AM_OK };
    am_status_t status;

    call->is_waited_for = true;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    status = am_coll_start(record_of(comm)->group, call, wait_done, &wait);
    if (status == AM_OK) {
        wait.request = MPIDI_AM_request(MPIR_REQUEST_KIND__COLL, 0, comm, 2);
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (status != AM_OK) {
        return status == AM_DONE ? AM_OK : status;
    }
    (void) MPIDI_AM_c_wait(wait.request, errflag);
    while (!wait.is_done) {     /* progress has failed: libam still has the buffers */
        (void) MPID_Progress_test(NULL);
    }
    MPIR_Request_free(wait.request);
    return wait.status;
}

/* Blocking collectives ask the first of their number whether there is memory. */
static size_t shared_bytes(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    struct am_coll_call barrier = {.kind = AM_COLL_BARRIER };

    if (unlikely(!record_of(comm)->is_asked)) {
        record_of(comm)->is_asked = true;
        if (run(comm, &barrier, errflag) == AM_OK) {
            record_of(comm)->shared_bytes = am_coll_group_shared_bytes(record_of(comm)->group);
        }
    }
    return record_of(comm)->shared_bytes;
}

static bool is_ready(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    return group_of(comm) != NULL && shared_bytes(comm, errflag) != 0;
}

static int run_mpi(MPIR_Comm * comm, struct am_coll_call *call, MPIDI_AM_errflag_t * errflag)
{
    am_status_t status = run(comm, call, errflag);
    int mpi_errno = MPI_SUCCESS;

    if (unlikely(status != AM_OK)) {
        MPIDI_AM_errflag_set(errflag, status == AM_ERR_PEER ? MPIR_ERR_PROC_FAILED :
                             MPIR_ERR_OTHER);
        mpi_errno = error_of(comm, status);
    } else if (unlikely(MPIDI_AM_errflag_is_set(errflag))) {
        MPIR_ERR_SET(mpi_errno, MPIDI_AM_errflag_class(errflag), "**coll_fail");
    }
    return mpi_errno;
}

/* ------------------------------------------------------------- blocking */

bool MPIDI_AM_group_barrier(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_BARRIER };

    if (!is_ready(comm, errflag)) {
        return false;
    }
    *mpi_errno = run_mpi(comm, &call, errflag);
    return true;
}

/* The bytes of a message; 0: none, or more than `most`. */
static size_t bytes_of(MPI_Aint count, MPI_Datatype datatype, size_t most)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return size <= 0 || count <= 0 || (size_t) size > most || (size_t) count > most / (size_t) size ?
        0 : (size_t) (size * count);
}

bool MPIDI_AM_group_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                          MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_BCAST,.root = (uint32_t) root };
    struct memory memory;
    int moved;

    call.count = bytes_of(count, datatype, BCAST_MOST);
    if (MPIDI_AM_global.crowded || !is_ready(comm, errflag) || call.count == 0 ||
        (comm->local_size == 2 && call.count < PAIR_BCAST_LEAST)) {
        return false;
    }
    memory_open(&memory, buffer, count, datatype);
    moved = comm->rank == root ? memory_in(&memory) : MPI_SUCCESS;
    call.recv = memory.bytes;
    *mpi_errno = run_mpi(comm, &call, errflag);
    if (*mpi_errno == MPI_SUCCESS && moved == MPI_SUCCESS && comm->rank != root) {
        moved = memory_out(&memory);
    }
    memory_close(&memory);
    *mpi_errno = *mpi_errno == MPI_SUCCESS ? moved : *mpi_errno;
    return true;
}

bool MPIDI_AM_group_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm * comm,
                           MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_REDUCE,.root = (uint32_t) root,
        .send = sendbuf == MPI_IN_PLACE ? NULL : sendbuf,.recv = recvbuf
    };
    struct operator operator;

    if (MPIDI_AM_global.crowded || !is_ready(comm, errflag) ||
        !is_reduction(op, datatype, count, REDUCE_MOST, &operator, & call)) {
        return false;
    }
    *mpi_errno = run_mpi(comm, &call, errflag);
    return true;
}

bool MPIDI_AM_group_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                              MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
        .send = sendbuf == MPI_IN_PLACE ? NULL : sendbuf,.recv = recvbuf
    };
    struct operator operator;

    if (!is_ready(comm, errflag) ||
        !is_reduction(op, datatype, count, ALLREDUCE_MOST, &operator, & call)) {
        return false;
    }
    *mpi_errno = run_mpi(comm, &call, errflag);
    return true;
}

/* Of all-gather and all-to-all: `sent` of what is given, blocks of call->count. */
static int run_blocks(MPIR_Comm * comm, struct am_coll_call *call, const void *sendbuf,
                      MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                      MPI_Datatype recvtype, MPIDI_AM_errflag_t * errflag)
{
    struct memory send, recv;
    int mpi_errno, moved = MPI_SUCCESS;

    memory_open(&recv, recvbuf, recvcount * comm->local_size, recvtype);
    call->recv = recv.bytes;
    if (sendbuf != MPI_IN_PLACE) {
        memory_open(&send, sendbuf, sendcount, sendtype);
        moved = memory_in(&send);
        call->send = send.bytes;
    } else {
        moved = memory_in(&recv);
    }
    mpi_errno = run_mpi(comm, call, errflag);
    if (mpi_errno == MPI_SUCCESS && moved == MPI_SUCCESS) {
        moved = memory_out(&recv);
    }
    if (sendbuf != MPI_IN_PLACE) {
        memory_close(&send);
    }
    memory_close(&recv);
    return mpi_errno == MPI_SUCCESS ? moved : mpi_errno;
}

bool MPIDI_AM_group_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLGATHER };

    if (MPIDI_AM_global.crowded || !is_ready(comm, errflag)) {
        return false;
    }
    call.count = bytes_of(recvcount, recvtype,
                          comm->local_size == 2 ? PAIR_ALLGATHER_MOST : ALLGATHER_MOST);
    if (call.count == 0) {
        return false;
    }
    *mpi_errno = run_blocks(comm, &call, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                            errflag);
    return true;
}

bool MPIDI_AM_group_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                             MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLTOALL };

    if (MPIDI_AM_global.crowded || !is_ready(comm, errflag) || sendbuf == MPI_IN_PLACE) {
        return false;
    }
    call.count = bytes_of(recvcount, recvtype,
                          MPL_MIN(ALLTOALL_MOST,
                                  record_of(comm)->shared_bytes / (size_t) comm->local_size));
    if (call.count == 0) {
        return false;
    }
    *mpi_errno = run_blocks(comm, &call, sendbuf, sendcount * comm->local_size, sendtype, recvbuf,
                            recvcount, recvtype, errflag);
    return true;
}

/* ------------------------------------------------------------- non-blocking */

/* One under way. */
struct pending {
    MPIR_Request *request;
    struct operator operator;
    struct memory memory;       /* of a broadcast */
    bool is_bcast, is_root;
};

static void pending_done(void *arg, am_status_t status)
{
    struct pending *pending = arg;
    MPIR_Request *request = pending->request;

    if (pending->is_bcast) {
        if (status == AM_OK && !pending->is_root) {
            request->status.MPI_ERROR = memory_out(&pending->memory);
        }
        memory_close(&pending->memory);
        MPIR_Datatype_release_if_not_builtin(pending->memory.datatype);
    }
    if (status != AM_OK) {
        request->status.MPI_ERROR = error_of(request->comm, status);
    }
    MPL_free(pending);
    MPIDI_AM_complete(request);
}

static struct pending *pending_new(MPIR_Comm * comm, MPIR_Request ** request)
{
    struct pending *pending = MPL_calloc(1, sizeof(*pending), MPL_MEM_OTHER);

    MPIR_Assertp(pending != NULL);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    pending->request = MPIDI_AM_request(MPIR_REQUEST_KIND__COLL, 0, comm, 2);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    *request = pending->request;
    return pending;
}

static void pending_start(MPIR_Comm * comm, const struct am_coll_call *call,
                          struct pending *pending)
{
    am_status_t status;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    status = am_coll_start(record_of(comm)->group, call, pending_done, pending);
    if (status != AM_OK) {
        pending_done(pending, status == AM_DONE ? AM_OK : status);
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
}

bool MPIDI_AM_group_ibarrier(MPIR_Comm * comm, MPIR_Request ** request)
{
    struct am_coll_call call = {.kind = AM_COLL_BARRIER };

    if (group_of(comm) == NULL) {
        return false;
    }
    pending_start(comm, &call, pending_new(comm, request));
    return true;
}

bool MPIDI_AM_group_ibcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm * comm, MPIR_Request ** request)
{
    struct am_coll_call call = {.kind = AM_COLL_BCAST,.root = (uint32_t) root };
    struct pending *pending;

    call.count = bytes_of(count, datatype, BCAST_MOST);
    if (MPIDI_AM_global.crowded || group_of(comm) == NULL || call.count == 0) {
        return false;
    }
    pending = pending_new(comm, request);
    pending->is_bcast = true;
    pending->is_root = comm->rank == root;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    memory_open(&pending->memory, buffer, count, datatype);
    if (pending->is_root) {
        (*request)->status.MPI_ERROR = memory_in(&pending->memory);
    }
    call.recv = pending->memory.bytes;
    pending_start(comm, &call, pending);
    return true;
}

bool MPIDI_AM_group_iallreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                               MPIR_Request ** request)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
        .send = sendbuf == MPI_IN_PLACE ? NULL : sendbuf,.recv = recvbuf
    };
    struct operator operator;
    struct pending *pending;

    if (group_of(comm) == NULL ||
        !is_reduction(op, datatype, count, ALLREDUCE_MOST, &operator, & call)) {
        return false;
    }
    pending = pending_new(comm, request);
    pending->operator = operator;
    call.op.arg = &pending->operator;
    pending_start(comm, &call, pending);
    return true;
}
