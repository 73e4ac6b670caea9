/*
 * For test/mpi/faults: calls that need a rank that is dead, or dies meanwhile.
 *
 * usage: dead told|during CALL...    (dead list: the names)
 *
 * Rank 1 kills itself.  With `told` the others have been told of it before they
 * make the calls, twice each; with `during` they are in the first call when it
 * happens.  Each call is one line: "RANK CALL HOW TEXT", where HOW is "ended"
 * when the call returned an error of which the text names rank 1, "success"
 * when it said that all is well, "unnamed" for another error.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEAD      1
#define WORDS     64
#define LONG      (1 << 20)
#define RANKS_MAX 16

static int rank, size, words[WORDS], result[WORDS * RANKS_MAX];
static int counts[RANKS_MAX], offsets[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX], strided;
static char large[LONG], back[LONG];
static MPI_Comm world, pair;
static MPI_Win passive, active;
static int failed_status; /* of a call that tells in a status */

static int wait_for(int rc, MPI_Request *request)
{
    return rc != MPI_SUCCESS ? rc : MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* ------------------------------------------------------------ point to point */

static int call_recv(void)
{
    return MPI_Recv(words, 1, MPI_INT, DEAD, 5, world, MPI_STATUS_IGNORE);
}

static int call_recv_strided(void)
{
    return MPI_Recv(words, 1, strided, DEAD, 5, world, MPI_STATUS_IGNORE);
}

static int call_recv_any(void)
{
    return MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, 5, world,
                    MPI_STATUS_IGNORE);
}

static int call_irecv_any(void)
{
    MPI_Request request;
    int rc = MPI_Irecv(words, 1, MPI_INT, MPI_ANY_SOURCE, 5, world, &request);
    int class;

    rc = rc != MPI_SUCCESS ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(rc, &class);
    if (rc != MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        if (class != MPIX_ERR_PROC_FAILED_PENDING) {
            printf("%d irecv_any WRONG class %d\n", rank, class);
        }
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_waitany(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index, rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &requests[1]);

    return rc != MPI_SUCCESS
                   ? rc
                   : MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static int call_waitany_any(void)
{
    MPI_Request request;
    int index, rc = MPI_Irecv(words, 1, MPI_INT, MPI_ANY_SOURCE, 5, world,
                              &request);

    rc = rc != MPI_SUCCESS
                 ? rc
                 : MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    if (request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int in_status(int rc, MPI_Request *request, MPI_Status *status)
{
    int class;

    MPI_Error_class(rc, &class);
    failed_status = class == MPI_ERR_IN_STATUS ? status->MPI_ERROR : 0;
    if (*request != MPI_REQUEST_NULL) {
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    return failed_status != 0 ? failed_status : rc;
}

static int all(int source)
{
    MPI_Request request;
    MPI_Status status = {0};
    int rc = MPI_Irecv(words, 1, MPI_INT, source, 5, world, &request);

    return rc != MPI_SUCCESS
                   ? rc
                   : in_status(MPI_Waitall(1, &request, &status), &request,
                               &status);
}

static int call_waitall(void)
{
    return all(DEAD);
}

static int call_waitall_any(void)
{
    return all(MPI_ANY_SOURCE);
}

static int call_waitsome(void)
{
    MPI_Request request;
    MPI_Status status = {0};
    int count, index, rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world,
                                     &request);

    return rc != MPI_SUCCESS
                   ? rc
                   : in_status(MPI_Waitsome(1, &request, &count, &index,
                                            &status),
                               &request, &status);
}

static int call_testall(void)
{
    MPI_Request request;
    MPI_Status status = {0};
    int flag = 0, rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &request);

    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Testall(1, &request, &flag, &status);
    }
    return in_status(rc, &request, &status);
}

static int call_testsome(void)
{
    MPI_Request request;
    MPI_Status status = {0};
    int count = 0, index;
    int rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &request);

    while (rc == MPI_SUCCESS && count == 0) {
        rc = MPI_Testsome(1, &request, &count, &index, &status);
    }
    return in_status(rc, &request, &status);
}

static int call_test(void)
{
    MPI_Request request;
    int flag = 0, rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &request);

    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_test_any(void)
{
    MPI_Request request;
    int flag = 0, rc = MPI_Irecv(words, 1, MPI_INT, MPI_ANY_SOURCE, 5, world,
                                 &request);

    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_probe(void)
{
    return MPI_Probe(DEAD, 5, world, MPI_STATUS_IGNORE);
}

static int call_probe_any(void)
{
    return MPI_Probe(MPI_ANY_SOURCE, 5, world, MPI_STATUS_IGNORE);
}

static int call_mprobe(void)
{
    MPI_Message message;

    return MPI_Mprobe(DEAD, 5, world, &message, MPI_STATUS_IGNORE);
}

static int call_iprobe(void)
{
    int flag = 0, rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS) {
        rc = MPI_Iprobe(DEAD, 5, world, &flag, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_improbe(void)
{
    int flag = 0, rc = MPI_SUCCESS;
    MPI_Message message;

    while (rc == MPI_SUCCESS) {
        rc = MPI_Improbe(DEAD, 5, world, &flag, &message, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_send(void)
{
    return MPI_Send(words, 1, MPI_INT, DEAD, 6, world);
}

static int call_send_large(void)
{
    return MPI_Send(large, LONG, MPI_CHAR, DEAD, 6, world);
}

static int call_send_flood(void)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && i < 100000; i++) {
        rc = MPI_Send(words, WORDS, MPI_INT, DEAD, 6, world);
    }
    return rc;
}

static int call_ssend(void)
{
    return MPI_Ssend(words, 1, MPI_INT, DEAD, 6, world);
}

static int call_isend(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    return wait_for(MPI_Issend(words, 1, strided, DEAD, 6, world, &request),
                    &request);
}

static int call_sendrecv(void)
{
    return MPI_Sendrecv(words, 1, MPI_INT, DEAD, 7, result, 1, MPI_INT, DEAD, 7,
                        world, MPI_STATUS_IGNORE);
}

static int call_isendrecv(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    return wait_for(MPI_Isendrecv(words, 1, MPI_INT, DEAD, 7, result, 1,
                                  MPI_INT, DEAD, 7, world, &request),
                    &request);
}

static int call_persistent(void)
{
    MPI_Request request;
    int rc;

    MPI_Recv_init(words, 1, MPI_INT, DEAD, 5, world, &request);
    rc = MPI_Start(&request);
    rc = rc != MPI_SUCCESS ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return rc;
}

/* ------------------------------------------------------------ partitioned */

static MPI_Request made_before; /* a partitioned send, when all lived */

static int partitioned(int rc, MPI_Request *request, int is_send)
{
    rc = rc != MPI_SUCCESS ? rc : MPI_Start(request);
    rc = rc != MPI_SUCCESS || !is_send ? rc : MPI_Pready(0, *request);
    return wait_for(rc, request);
}

static int call_psend(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    return partitioned(MPI_Psend_init(words, 1, 1, MPI_INT, DEAD, 8, world,
                                      MPI_INFO_NULL, &request),
                       &request, 1);
}

static int call_precv(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    return partitioned(MPI_Precv_init(words, 1, 1, MPI_INT, DEAD, 8, world,
                                      MPI_INFO_NULL, &request),
                       &request, 0);
}

static int call_pstart(void)
{
    return partitioned(MPI_SUCCESS, &made_before, 1);
}

/* ------------------------------------------------------------ RMA */

static int flush(int rc)
{
    return rc != MPI_SUCCESS ? rc : MPI_Win_flush(DEAD, passive);
}

static int call_put(void)
{
    return flush(MPI_Put(words, 1, MPI_INT, DEAD, 0, 1, MPI_INT, passive));
}

static int call_put_large(void)
{
    return flush(MPI_Put(large, LONG, MPI_CHAR, DEAD, 0, LONG, MPI_CHAR,
                         passive));
}

static int call_put_strided(void)
{
    return flush(MPI_Put(words, 8, MPI_INT, DEAD, 0, 1, strided, passive));
}

static int call_get(void)
{
    return flush(MPI_Get(result, 1, MPI_INT, DEAD, 0, 1, MPI_INT, passive));
}

static int call_get_strided(void)
{
    return flush(MPI_Get(result, 8, MPI_INT, DEAD, 0, 1, strided, passive));
}

static int call_accumulate(void)
{
    return flush(MPI_Accumulate(words, 1, MPI_INT, DEAD, 0, 1, MPI_INT, MPI_SUM,
                                passive));
}

static int call_accumulate_strided(void)
{
    return flush(MPI_Accumulate(words, 8, MPI_INT, DEAD, 0, 1, strided, MPI_SUM,
                                passive));
}

static int call_get_accumulate(void)
{
    return flush(MPI_Get_accumulate(words, 8, MPI_INT, result, 8, MPI_INT, DEAD,
                                    0, 1, strided, MPI_SUM, passive));
}

static int call_fetch_and_op(void)
{
    return flush(MPI_Fetch_and_op(words, result, MPI_LONG, DEAD, 0, MPI_SUM,
                                  passive));
}

static int call_compare_and_swap(void)
{
    return flush(MPI_Compare_and_swap(words, words, result, MPI_INT, DEAD, 0,
                                      passive));
}

#define REQUESTED(_name, _call)                                                \
    static int call_##_name(void)                                              \
    {                                                                          \
        MPI_Request request = MPI_REQUEST_NULL;                                \
        return wait_for(_call, &request);                                      \
    }

REQUESTED(rput, MPI_Rput(words, 8, MPI_INT, DEAD, 0, 1, strided, passive,
                         &request))
REQUESTED(rget, MPI_Rget(result, 1, MPI_INT, DEAD, 0, 1, MPI_INT, passive,
                         &request))
REQUESTED(raccumulate, MPI_Raccumulate(words, 8, MPI_INT, DEAD, 0, 1, strided,
                                       MPI_SUM, passive, &request))
REQUESTED(rget_accumulate,
          MPI_Rget_accumulate(words, 8, MPI_INT, result, 8, MPI_INT, DEAD, 0, 1,
                              strided, MPI_SUM, passive, &request))

static int call_flush_all(void)
{
    MPI_Put(words, 8, MPI_INT, DEAD, 0, 1, strided, passive);
    return MPI_Win_flush_all(passive);
}

static int call_flush_local(void)
{
    MPI_Get(result, 8, MPI_INT, DEAD, 0, 1, strided, passive);
    return MPI_Win_flush_local(DEAD, passive);
}

static int call_unlock_all(void)
{
    int rc = MPI_Win_unlock_all(passive);

    return rc == MPI_SUCCESS ? MPI_Win_lock_all(0, passive) : rc;
}

static int call_lock(void)
{
    int rc = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, DEAD, 0, active);

    if (rc == MPI_SUCCESS) {
        MPI_Put(words, 1, MPI_INT, DEAD, 0, 1, MPI_INT, active);
        rc = MPI_Win_unlock(DEAD, active);
    }
    return rc;
}

static int call_fence(void)
{
    int rc = MPI_Win_fence(0, active);

    if (rc == MPI_SUCCESS) {
        MPI_Put(words, 8, MPI_INT, DEAD, 0, 1, strided, active);
        rc = MPI_Win_fence(0, active);
    }
    return rc;
}

static int exposure(int begins)
{
    MPI_Group group, one;
    int who = DEAD, rc;

    MPI_Comm_group(world, &group);
    MPI_Group_incl(group, 1, &who, &one);
    if (begins) {
        rc = MPI_Win_start(one, 0, active);
        rc = rc == MPI_SUCCESS ? MPI_Win_complete(active) : rc;
    } else {
        rc = MPI_Win_post(one, 0, active);
        rc = rc == MPI_SUCCESS ? MPI_Win_wait(active) : rc;
    }
    MPI_Group_free(&group);
    MPI_Group_free(&one);
    return rc;
}

static int call_start(void)
{
    return exposure(1);
}

static int call_post(void)
{
    return exposure(0);
}

static int call_win_create(void)
{
    MPI_Win win;

    return MPI_Win_create(result, sizeof(result), 1, MPI_INFO_NULL, world,
                          &win);
}

static int call_win_free(void)
{
    MPI_Win win = active;

    return MPI_Win_free(&win);
}

/* ------------------------------------------------------------ collectives */

#define COLLECTIVE(_name, _call, _icall)                                       \
    static int call_##_name(void)                                              \
    {                                                                          \
        return _call;                                                          \
    }                                                                          \
    static int call_i##_name(void)                                             \
    {                                                                          \
        MPI_Request request = MPI_REQUEST_NULL;                                \
                                                                               \
        return wait_for(_icall, &request);                                      \
    }

COLLECTIVE(barrier, MPI_Barrier(world), MPI_Ibarrier(world, &request))
COLLECTIVE(bcast, MPI_Bcast(words, WORDS, MPI_INT, 0, world),
           MPI_Ibcast(words, WORDS, MPI_INT, 0, world, &request))
COLLECTIVE(bcast_large, MPI_Bcast(large, LONG, MPI_CHAR, 0, world),
           MPI_Ibcast(large, LONG, MPI_CHAR, 0, world, &request))
COLLECTIVE(gather, MPI_Gather(words, 1, MPI_INT, result, 1, MPI_INT, 0, world),
           MPI_Igather(words, 1, MPI_INT, result, 1, MPI_INT, 0, world,
                       &request))
COLLECTIVE(gatherv,
           MPI_Gatherv(words, 1, MPI_INT, result, counts, offsets, MPI_INT, 0,
                       world),
           MPI_Igatherv(words, 1, MPI_INT, result, counts, offsets, MPI_INT, 0,
                        world, &request))
COLLECTIVE(scatter,
           MPI_Scatter(result, 1, MPI_INT, words, 1, MPI_INT, 0, world),
           MPI_Iscatter(result, 1, MPI_INT, words, 1, MPI_INT, 0, world,
                        &request))
COLLECTIVE(scatterv,
           MPI_Scatterv(result, counts, offsets, MPI_INT, words, 1, MPI_INT, 0,
                        world),
           MPI_Iscatterv(result, counts, offsets, MPI_INT, words, 1, MPI_INT, 0,
                         world, &request))
COLLECTIVE(allgather,
           MPI_Allgather(words, 1, MPI_INT, result, 1, MPI_INT, world),
           MPI_Iallgather(words, 1, MPI_INT, result, 1, MPI_INT, world,
                          &request))
COLLECTIVE(allgatherv,
           MPI_Allgatherv(words, 1, MPI_INT, result, counts, offsets, MPI_INT,
                          world),
           MPI_Iallgatherv(words, 1, MPI_INT, result, counts, offsets, MPI_INT,
                           world, &request))
COLLECTIVE(alltoall,
           MPI_Alltoall(words, 1, MPI_INT, result, 1, MPI_INT, world),
           MPI_Ialltoall(words, 1, MPI_INT, result, 1, MPI_INT, world,
                         &request))
COLLECTIVE(alltoallv,
           MPI_Alltoallv(words, counts, offsets, MPI_INT, result, counts,
                         offsets, MPI_INT, world),
           MPI_Ialltoallv(words, counts, offsets, MPI_INT, result, counts,
                          offsets, MPI_INT, world, &request))
COLLECTIVE(alltoallw,
           MPI_Alltoallw(words, counts, offsets, types, result, counts, offsets,
                         types, world),
           MPI_Ialltoallw(words, counts, offsets, types, result, counts,
                          offsets, types, world, &request))
COLLECTIVE(reduce, MPI_Reduce(words, result, 1, MPI_INT, MPI_SUM, 0, world),
           MPI_Ireduce(words, result, 1, MPI_INT, MPI_SUM, 0, world, &request))
COLLECTIVE(allreduce, MPI_Allreduce(words, result, 1, MPI_INT, MPI_SUM, world),
           MPI_Iallreduce(words, result, 1, MPI_INT, MPI_SUM, world, &request))
COLLECTIVE(allreduce_large,
           MPI_Allreduce(large, back, LONG, MPI_CHAR, MPI_MAX, world),
           MPI_Iallreduce(large, back, LONG, MPI_CHAR, MPI_MAX, world,
                          &request))
COLLECTIVE(reduce_scatter,
           MPI_Reduce_scatter(result, words, counts, MPI_INT, MPI_SUM, world),
           MPI_Ireduce_scatter(result, words, counts, MPI_INT, MPI_SUM, world,
                               &request))
COLLECTIVE(reduce_scatter_block,
           MPI_Reduce_scatter_block(result, words, 1, MPI_INT, MPI_SUM, world),
           MPI_Ireduce_scatter_block(result, words, 1, MPI_INT, MPI_SUM, world,
                                     &request))
COLLECTIVE(scan, MPI_Scan(words, result, 1, MPI_INT, MPI_SUM, world),
           MPI_Iscan(words, result, 1, MPI_INT, MPI_SUM, world, &request))
COLLECTIVE(exscan, MPI_Exscan(words, result, 1, MPI_INT, MPI_SUM, world),
           MPI_Iexscan(words, result, 1, MPI_INT, MPI_SUM, world, &request))
/* between the even ranks and the odd ones, of which rank 1 is the first */
COLLECTIVE(inter_barrier, MPI_Barrier(pair), MPI_Ibarrier(pair, &request))
COLLECTIVE(inter_allreduce,
           MPI_Allreduce(words, result, 1, MPI_INT, MPI_SUM, pair),
           MPI_Iallreduce(words, result, 1, MPI_INT, MPI_SUM, pair, &request))
COLLECTIVE(inter_alltoall,
           MPI_Alltoall(words, 1, MPI_INT, result, 1, MPI_INT, pair),
           MPI_Ialltoall(words, 1, MPI_INT, result, 1, MPI_INT, pair, &request))

static int call_barrier_init(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rc = MPI_Barrier_init(world, MPI_INFO_NULL, &request);

    rc = rc != MPI_SUCCESS ? rc : MPI_Start(&request);
    return wait_for(rc, &request);
}

static int call_win_test(void)
{
    MPI_Group group, one;
    int who = DEAD, flag = 0, rc;

    MPI_Comm_group(world, &group);
    MPI_Group_incl(group, 1, &who, &one);
    rc = MPI_Win_post(one, 0, active);
    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Win_test(active, &flag);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&one);
    return rc;
}

static int call_comm_dup(void)
{
    MPI_Comm comm;

    return MPI_Comm_dup(world, &comm);
}

static int call_comm_idup(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    static MPI_Comm comm;

    return wait_for(MPI_Comm_idup(world, &comm, &request), &request);
}

static int call_comm_split(void)
{
    MPI_Comm comm;

    return MPI_Comm_split(world, rank == 2, 0, &comm);
}

static int call_comm_split_type(void)
{
    MPI_Comm comm;

    return MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                               &comm);
}

static int call_comm_create(void)
{
    MPI_Group group;
    MPI_Comm comm;
    int rc;

    MPI_Comm_group(world, &group);
    rc = MPI_Comm_create(world, group, &comm);
    MPI_Group_free(&group);
    return rc;
}

static int call_intercomm_merge(void)
{
    MPI_Comm comm;

    return MPI_Intercomm_merge(pair, 0, &comm);
}

/* ------------------------------------------------------------ main */

/* `may` succeed when the rank dies meanwhile: the rest did their parts. */
static const struct {
    const char *name;
    int (*call)(void);
    int may;
} calls[] = {
#define CALL(_name, _may) {#_name, call_##_name, _may},
#define BOTH(_name)       {#_name, call_##_name, 1}, {"i" #_name, call_i##_name, 1},
    CALL(recv, 0) CALL(recv_strided, 0) CALL(recv_any, 0) CALL(irecv_any, 0)
    CALL(waitany, 0) CALL(waitany_any, 0) CALL(waitall, 0)
    CALL(waitall_any, 0) CALL(waitsome, 0) CALL(test, 0) CALL(test_any, 0)
    CALL(testall, 0) CALL(testsome, 0)
    CALL(probe, 0) CALL(probe_any, 0) CALL(mprobe, 0) CALL(iprobe, 0)
    CALL(improbe, 0) CALL(send, 1) CALL(send_large, 0) CALL(send_flood, 0)
    CALL(ssend, 0) CALL(isend, 0) CALL(sendrecv, 0) CALL(isendrecv, 0)
    CALL(persistent, 0) CALL(psend, 0) CALL(precv, 0) CALL(pstart, 0)
    CALL(put, 1) CALL(put_large, 1) CALL(put_strided, 1) CALL(get, 1)
    CALL(get_strided, 1) CALL(accumulate, 1) CALL(accumulate_strided, 1)
    CALL(get_accumulate, 1) CALL(fetch_and_op, 1) CALL(compare_and_swap, 1)
    CALL(rput, 1) CALL(rget, 1) CALL(raccumulate, 1)
    CALL(rget_accumulate, 1) CALL(flush_all, 1) CALL(flush_local, 1)
    CALL(lock, 0) CALL(fence, 0) CALL(start, 0) CALL(post, 0)
    CALL(win_test, 0) CALL(win_create, 0) CALL(barrier_init, 0)
    BOTH(barrier) BOTH(bcast) BOTH(bcast_large) BOTH(gather) BOTH(gatherv)
    BOTH(scatter) BOTH(scatterv) BOTH(allgather) BOTH(allgatherv)
    BOTH(alltoall) BOTH(alltoallv) BOTH(alltoallw) BOTH(reduce)
    BOTH(allreduce) BOTH(allreduce_large) BOTH(reduce_scatter)
    BOTH(reduce_scatter_block) BOTH(scan) BOTH(exscan) BOTH(inter_barrier)
    BOTH(inter_allreduce) BOTH(inter_alltoall)
    CALL(comm_dup, 0) CALL(comm_idup, 0) CALL(comm_split, 0)
    CALL(comm_split_type, 0) CALL(comm_create, 0) CALL(intercomm_merge, 0)
    CALL(unlock_all, 0) CALL(win_free, 0)
};

static void judge(const char *name, int rc, int may)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, named;

    MPI_Error_string(rc, text, &length);
    named = strstr(text, "rank 1 ") != NULL;
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\n' ? ' ' : *at;
    }
    printf("%d %s %s %s\n", rank, name,
           rc == MPI_SUCCESS ? (may ? "may" : "success")
                             : (named ? "ended" : "unnamed"),
           text);
    fflush(stdout);
}

static void set_up(void)
{
    MPI_Comm half;

    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        offsets[i] = i;
        types[i] = MPI_INT;
    }
    MPI_Comm_split(world, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 3, &pair);
    MPI_Type_vector(8, 1, 4, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Win_create(large, LONG, 1, MPI_INFO_NULL, world, &passive);
    MPI_Win_create(back, LONG, 1, MPI_INFO_NULL, world, &active);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(passive, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(active, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, passive);
    if (rank != DEAD) {
        MPI_Psend_init(words, 1, 1, MPI_INT, DEAD, 9, world, MPI_INFO_NULL,
                       &made_before);
    }
    MPI_Barrier(world);
}

static void make(const char *name, int during)
{
    const size_t count = sizeof(calls) / sizeof(calls[0]);
    size_t i = 0;

    while (i < count && strcmp(calls[i].name, name) != 0) {
        i++;
    }
    if (i == count) {
        printf("%d %s unknown\n", rank, name);
        return;
    }
    judge(name, calls[i].call(), during && calls[i].may);
    (void)call_recv(); /* by now it is known that the rank is dead */
    if (strcmp(name, "win_free") != 0 && strcmp(name, "unlock_all") != 0) {
        judge(name, calls[i].call(), 0);
    }
}

int main(int argc, char **argv)
{
    int during;

    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
            puts(calls[i].name);
        }
        return 0;
    }
    MPI_Init(&argc, &argv);
    during = strcmp(argv[1], "during") == 0;
    set_up();
    if (rank == DEAD) {
        if (during) {
            usleep(300000);
        }
        raise(SIGKILL);
    }
    if (!during) {
        int word;

        MPI_Recv(&word, 1, MPI_INT, DEAD, 4, world, MPI_STATUS_IGNORE);
    }
    for (int i = 2; i < argc; i++) {
        make(argv[i], during && i == 2);
    }
    {
        int flag = 1; /* nobody leaves while another needs an answer */

        (void)MPIX_Comm_agree(world, &flag);
    }
    MPI_Finalize();
    printf("%d done\n", rank);
    return 0;
}
