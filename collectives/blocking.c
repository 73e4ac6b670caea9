/*
 * The public calls that wait, and those by name.
 */
#include "config.h"

#include "collectives/coll.h"

/* A call that is done at once polls nothing.  One in so many polls all the same: what
 * others want of this context goes on while its caller calls nothing else. */
#define POLLED 64

struct wait {
    bool is_done;
    am_status_t status;
};

static void wait_done(void *arg, am_status_t status)
{
    struct wait *wait = arg;

    wait->is_done = true;
    wait->status = status;
}

am_status_t am_coll_run(struct am_coll_group *group,
                        const struct am_coll_call *call)
{
    struct am_ctx *ctx = group->coll->ctx;
    struct wait wait = {false, AM_OK};
    struct am_coll_call waited = *call;
    am_status_t status;
    bool died = false; /* somebody, as a poll said */

    if (am_ctx_is_polling(ctx)) {
        return AM_ERR_HANDLER;
    }
    waited.is_waited_for = true;
    status = am_coll_start(group, &waited, wait_done, &wait);
    if (status == AM_DONE) {
        if (group->next % POLLED == 0 && am_ctx_poll(ctx) == AM_ERR_PEER) {
            am_poll_owe(ctx);
        }
        return AM_OK;
    }
    if (status != AM_OK) {
        return status;
    }
    while (!wait.is_done) { /* a member's death ends the collective */
        died = am_ctx_poll_wait(ctx) == AM_ERR_PEER || died;
    }
    if (died) {
        am_poll_owe(ctx);
    }
    return wait.status;
}

am_status_t am_coll_barrier(struct am_coll_group *group)
{
    struct am_coll_call call = {.kind = AM_COLL_BARRIER};

    return am_coll_run(group, &call);
}

am_status_t am_coll_bcast(struct am_coll_group *group, void *buffer,
                          size_t bytes, uint32_t root)
{
    struct am_coll_call call = {.kind = AM_COLL_BCAST,
                                .root = root,
                                .recv = buffer,
                                .count = bytes};

    return am_coll_run(group, &call);
}

am_status_t am_coll_reduce(struct am_coll_group *group, const void *send,
                           void *recv, size_t count,
                           const struct am_coll_operator *op, uint32_t root)
{
    struct am_coll_call call = {.kind = AM_COLL_REDUCE,
                                .root = root,
                                .send = send,
                                .recv = recv,
                                .count = count,
                                .op = *op};

    return am_coll_run(group, &call);
}

am_status_t am_coll_allreduce(struct am_coll_group *group, const void *send,
                              void *recv, size_t count,
                              const struct am_coll_operator *op)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
                                .send = send,
                                .recv = recv,
                                .count = count,
                                .op = *op};

    return am_coll_run(group, &call);
}

am_status_t am_coll_allgather(struct am_coll_group *group, const void *send,
                              void *recv, size_t bytes)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLGATHER,
                                .send = send,
                                .recv = recv,
                                .count = bytes};

    return am_coll_run(group, &call);
}

am_status_t am_coll_alltoall(struct am_coll_group *group, const void *send,
                             void *recv, size_t bytes)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLTOALL,
                                .send = send,
                                .recv = recv,
                                .count = bytes};

    return am_coll_run(group, &call);
}
