/*
 * The calls of dead.c: collectives, and new communicators.
 */
#include "dead.h"

#define PART 40000 /* of `large`, for each rank; of two ranks a message each way */

#define COLLECTIVE(_name, _call, _icall)        \
    static int call_##_name(void)               \
    {                                           \
        return _call;                           \
    }                                           \
    static int call_i##_name(void)              \
    {                                           \
        MPI_Request request = MPI_REQUEST_NULL; \
                                                \
        return wait_for(_icall, &request);      \
    }

COLLECTIVE(barrier, MPI_Barrier(world), MPI_Ibarrier(world, &request))
COLLECTIVE(bcast, MPI_Bcast(words, WORDS, MPI_INT, 0, world),
           MPI_Ibcast(words, WORDS, MPI_INT, 0, world, &request))
COLLECTIVE(bcast_large, MPI_Bcast(large, LONG, MPI_CHAR, 0, world),
           MPI_Ibcast(large, LONG, MPI_CHAR, 0, world, &request))
COLLECTIVE(gather, MPI_Gather(words, 1, MPI_INT, result, 1, MPI_INT, 0, world),
           MPI_Igather(words, 1, MPI_INT, result, 1, MPI_INT, 0, world,
                       &request))
COLLECTIVE(gather_large,
           MPI_Gather(large, PART, MPI_CHAR, back, PART, MPI_CHAR, 0, world),
           MPI_Igather(large, PART, MPI_CHAR, back, PART, MPI_CHAR, 0, world,
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
COLLECTIVE(scatter_large,
           MPI_Scatter(large, PART, MPI_CHAR, back, PART, MPI_CHAR, 0, world),
           MPI_Iscatter(large, PART, MPI_CHAR, back, PART, MPI_CHAR, 0, world,
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
COLLECTIVE(allgather_large,
           MPI_Allgather(large, PART, MPI_CHAR, back, PART, MPI_CHAR, world),
           MPI_Iallgather(large, PART, MPI_CHAR, back, PART, MPI_CHAR, world,
                          &request))
COLLECTIVE(allgatherv,
           MPI_Allgatherv(words, 1, MPI_INT, result, counts, offsets, MPI_INT,
                          world),
           MPI_Iallgatherv(words, 1, MPI_INT, result, counts, offsets, MPI_INT,
                           world, &request))
COLLECTIVE(alltoall, MPI_Alltoall(words, 1, MPI_INT, result, 1, MPI_INT, world),
           MPI_Ialltoall(words, 1, MPI_INT, result, 1, MPI_INT, world,
                         &request))
COLLECTIVE(alltoall_large,
           MPI_Alltoall(large, PART, MPI_CHAR, back, PART, MPI_CHAR, world),
           MPI_Ialltoall(large, PART, MPI_CHAR, back, PART, MPI_CHAR, world,
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

#define BOTH(_name)                  \
    {#_name, call_##_name, 1},       \
    {                                \
        "i" #_name, call_i##_name, 1 \
    }

const struct dead_call dead_coll[] = {
        CALL(barrier_init, 0),
        BOTH(barrier),
        BOTH(bcast),
        BOTH(bcast_large),
        BOTH(gather),
        BOTH(gather_large),
        BOTH(gatherv),
        BOTH(scatter),
        BOTH(scatter_large),
        BOTH(scatterv),
        BOTH(allgather),
        BOTH(allgather_large),
        BOTH(allgatherv),
        BOTH(alltoall),
        BOTH(alltoall_large),
        BOTH(alltoallv),
        BOTH(alltoallw),
        BOTH(reduce),
        BOTH(allreduce),
        BOTH(allreduce_large),
        BOTH(reduce_scatter),
        BOTH(reduce_scatter_block),
        BOTH(scan),
        BOTH(exscan),
        BOTH(inter_barrier),
        BOTH(inter_allreduce),
        BOTH(inter_alltoall),
        CALL(comm_dup, 0),
        CALL(comm_idup, 0),
        CALL(comm_split, 0),
        CALL(comm_split_type, 0),
        CALL(comm_create, 0),
        CALL(intercomm_merge, 0),
        {NULL, NULL, 0},
};
