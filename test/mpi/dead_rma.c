/*
 * The calls of dead.c: one-sided, and the synchronisation of windows.
 */
#include "dead.h"

/* Of the window: so many of the strided type. */
#define STRIDED 9000

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
    return flush(
            MPI_Put(large, LONG, MPI_CHAR, DEAD, 0, LONG, MPI_CHAR, passive));
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

#define REQUESTED(_name, _call)                 \
    static int call_##_name(void)               \
    {                                           \
        MPI_Request request = MPI_REQUEST_NULL; \
        return wait_for(_call, &request);       \
    }

REQUESTED(rput,
          MPI_Rput(words, 8, MPI_INT, DEAD, 0, 1, strided, passive, &request))
REQUESTED(rget,
          MPI_Rget(result, 1, MPI_INT, DEAD, 0, 1, MPI_INT, passive, &request))
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

/* The put may fail at once: then there is nothing to wait for. */
static int call_flush_local_large(void)
{
    MPI_Put(large, 8 * STRIDED, MPI_INT, DEAD, 0, STRIDED, strided, passive);
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

static int call_win_allocate(void)
{
    void *base;
    MPI_Win win;

    return MPI_Win_allocate(sizeof(result), 1, MPI_INFO_NULL, world, &base,
                            &win);
}

static int call_win_allocate_shared(void)
{
    void *base;
    MPI_Win win;

    return MPI_Win_allocate_shared(sizeof(result), 1, MPI_INFO_NULL, world,
                                   &base, &win);
}

static int call_win_free(void)
{
    MPI_Win win = active;

    return MPI_Win_free(&win);
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

const struct dead_call dead_rma[] = {
        CALL(put, 1),
        CALL(put_large, 1),
        CALL(put_strided, 1),
        CALL(get, 1),
        CALL(get_strided, 1),
        CALL(accumulate, 1),
        CALL(accumulate_strided, 1),
        CALL(get_accumulate, 1),
        CALL(fetch_and_op, 1),
        CALL(compare_and_swap, 1),
        CALL(rput, 1),
        CALL(rget, 1),
        CALL(raccumulate, 1),
        CALL(rget_accumulate, 1),
        CALL(flush_all, 1),
        CALL(flush_local, 1),
        CALL(flush_local_large, 1),
        CALL(lock, 0),
        CALL(fence, 0),
        CALL(start, 0),
        CALL(post, 0),
        CALL(win_test, 0),
        CALL(win_create, 0),
        CALL(win_allocate, 0),
        CALL(win_allocate_shared, 0),
        {NULL, NULL, 0},
};

/* After these the window is no more, or not locked. */
const struct dead_call dead_last[] = {
        CALL(unlock_all, 0),
        CALL(win_free, 0),
        {NULL, NULL, 0},
};
