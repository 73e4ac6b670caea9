/*
 * The runner: carries out the schedules of collectives, in the call that starts
 * one and then in am_ctx_poll.  Messages only queue what may begin; the module's
 * turn in the poll begins it, so a handler is short and nothing recurses.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/message.h"
#include "collectives/op/operate.h"

#include <stdlib.h>
#include <string.h>

/* On no list, nothing held, no steps: as req_end leaves one, too. */
static struct am_coll_req *req_alloc(struct am_coll *coll)
{
    struct am_coll_req *req = calloc(1, sizeof(*req));

    if (req != NULL) {
        req->coll = coll;
        am_list_init(&req->link);
        am_list_init(&req->due_link);
        am_list_init(&req->shared.link);
        am_list_init(&req->net.link);
        am_list_init(&req->levels_link);
        am_list_init(&req->held);
        for (uint32_t i = 0; i < AM_COLL_STEP_BUCKETS; i++) {
            am_list_init(&req->steps[i]);
        }
    }
    return req;
}

struct am_coll_req *am_coll_req_new(struct am_coll_group *group)
{
    struct am_coll *coll = group->coll;
    struct am_list *idle = am_list_pop(&coll->idle);
    struct am_coll_req *req =
            idle == NULL ? req_alloc(coll)
                         : am_container(idle, struct am_coll_req, link);

    if (req == NULL) {
        return NULL;
    }
    req->group = group;
    req->first = req->last = AM_STEP_NONE;
    req->left = 1; /* it has not ended before it is built */
    req->flying = 0;
    req->is_built = req->is_telling = req->has_levels = false;
    req->is_shared = req->is_combined = false;
    req->status = AM_OK;
    req->is_stopped = false;
    return req;
}

static void queue_push(struct am_coll_req *req, uint32_t index)
{
    struct am_step *steps = req->sched.steps;

    steps[index].next = AM_STEP_NONE;
    if (req->first == AM_STEP_NONE) {
        req->first = index;
    } else {
        steps[req->last].next = index;
    }
    req->last = index;
}

/* Count the step off at those that follow it. */
static void step_release(struct am_coll_req *req, const struct am_step *step)
{
    const struct am_edge *edges = req->sched.edges;

    req->left--;
    for (uint32_t i = step->edge; i != AM_STEP_NONE; i = edges[i].next) {
        if (--req->sched.steps[edges[i].to].waits_for == 0) {
            queue_push(req, edges[i].to);
        }
    }
}

static void req_wake(struct am_coll_req *req)
{
    if (am_list_is_empty(&req->due_link)) {
        am_list_push(&req->coll->due, &req->due_link);
    }
    am_module_wake(req->coll->ctx, AM_COLL_SLOT);
}

void am_coll_step_end(struct am_step *step)
{
    struct am_coll_req *req = step->req;

    step_release(req, step);
    if (req->first != AM_STEP_NONE || req->left == 0 || req->status != AM_OK) {
        req_wake(req);
    }
}

void am_coll_req_fail(struct am_coll_req *req, am_status_t status)
{
    bool is_first = req->status == AM_OK;

    if (is_first) {
        req->status = status;
    }
    req_wake(req);
    if (req->has_levels && is_first) {
        am_coll_nodes_fail(req);
    }
    am_coll_group_fail(req->group, req->status);
}

void am_coll_req_complete(struct am_coll_req *req, bool later)
{
    req->left = 0;
    if (later) {
        req_wake(req);
    }
}

bool am_coll_req_agrees(struct am_coll_req *req, uint32_t print,
                        uint32_t member)
{
    if (print == req->print) {
        return true;
    }
    am_log(am_ctx_log(req->coll->ctx), AM_LOG_ERROR,
           "collective %u of group %u: member %u calls another one, or with "
           "another length, root or algorithm (AM_COLL_*)",
           req->number, req->group->id, member);
    am_coll_req_tell(req, member);
    am_coll_req_fail(req, AM_ERR_INVALID);
    return false;
}

static void call_done(void *arg, am_status_t status)
{
    struct am_step *step = arg;

    step->req->flying--;
    if (status != AM_OK) {
        am_coll_req_fail(step->req, status);
    } else {
        am_coll_step_end(step);
    }
}

/* It may be complete already. */
static void call_begin(struct am_step *step)
{
    struct am_coll_req *req = step->req;
    am_status_t status;

    req->flying++;
    status = am_coll_start(step->to, step->from, call_done, step);
    if (status == AM_OK) {
        return;
    }
    req->flying--;
    if (status == AM_DONE) {
        step_release(req, step);
    } else {
        am_coll_req_fail(req, status);
    }
}

static void step_begin(struct am_coll_req *req, struct am_step *step)
{
    struct am_coll *coll = req->coll;
    size_t bytes = step->length;

    step->req = req;
    switch (step->kind) {
    case AM_STEP_SEND:
        am_coll_send_begin(step);
        return;
    case AM_STEP_RECV:
        am_coll_recv_begin(step);
        return;
    case AM_STEP_CAST:
        am_net_cast(step);
        return;
    case AM_STEP_COPY:
        if (bytes > 0) {
            am_move(step->to, step->from, bytes);
        }
        break;
    case AM_STEP_REDUCE:
        am_coll_operate(req->coll, &req->op, step->from, step->to, bytes);
        bytes *= req->op.element_bytes;
        break;
    case AM_STEP_JOIN:
        break;
    case AM_STEP_CALL:
        call_begin(step);
        return;
    }
    am_env_charge(coll->env, AM_COST_COPY, bytes);
    coll->stats[AM_COLL_STAT_COPY_BYTES] += bytes;
    step_release(req, step);
}

/* After an error: begin nothing more, take back what can be. */
static void req_stop(struct am_coll_req *req, bool at_close)
{
    if (!req->is_stopped || at_close) {
        req->is_stopped = true;
        req->first = AM_STEP_NONE;
        for (uint32_t i = 0; i < req->sched.step_count; i++) {
            am_coll_step_stop(&req->sched.steps[i], at_close);
        }
    }
}

/* Begin what may begin.  Has it ended? */
static bool req_run(struct am_coll_req *req)
{
    while (req->first != AM_STEP_NONE && req->status == AM_OK) {
        struct am_step *step = &req->sched.steps[req->first];

        req->first = step->next;
        step_begin(req, step);
    }
    if (req->status != AM_OK) {
        req_stop(req, false);
    } else if (req->left > 0) {
        return false;
    }
    return req->flying == 0;
}

/* Of those that use the groups of the levels, only the first of a group runs: so
 * all members start their collectives in the same order. */
static bool waits_for_levels(const struct am_coll_req *req)
{
    return req->has_levels && req->group->levels.next != &req->levels_link;
}

static void queue_fill(struct am_coll_req *req)
{
    if (waits_for_levels(req)) {
        return;
    }
    req->left = req->sched.step_count;
    for (uint32_t i = 0; i < req->sched.step_count; i++) {
        if (req->sched.steps[i].waits_for == 0) {
            queue_push(req, i);
        }
    }
}

/* The next of the group may use the levels. */
static void levels_pass_on(struct am_coll_req *req)
{
    struct am_list *levels = &req->group->levels;
    bool was_first = levels->next == &req->levels_link;

    am_list_remove(&req->levels_link);
    if (was_first && !am_list_is_empty(levels) && !req->coll->is_closing) {
        am_coll_req_start_later(
                am_container(levels->next, struct am_coll_req, levels_link));
    }
}

/* Off all lists; what came for it and was not wanted is dropped.  It can be used
 * again. */
static void req_end(struct am_coll_req *req)
{
    am_list_remove(&req->due_link);
    if (req->has_levels) {
        levels_pass_on(req);
    }
    if (req->is_shared) {
        am_shared_end(req, req->coll->is_closing);
    }
    if (req->is_combined) {
        am_net_end(req);
    }
    am_list_remove(&req->link);
    am_coll_held_drop(req->coll, &req->held, NULL);
    am_sched_reset(&req->sched);
    am_list_push(&req->coll->idle, &req->link);
}

void am_coll_req_start_later(struct am_coll_req *req)
{
    queue_fill(req);
    req_wake(req);
}

am_status_t am_coll_req_start(struct am_coll_req *req)
{
    queue_fill(req);
    return am_coll_req_try(req);
}

am_status_t am_coll_req_try(struct am_coll_req *req)
{
    am_status_t status;

    if (!req_run(req)) {
        return AM_OK;
    }
    status = req->status;
    req_end(req);
    return status == AM_OK ? AM_DONE : status;
}

void am_coll_req_drop(struct am_coll_req *req)
{
    req_stop(req, true);
    req_end(req);
}

int am_coll_run_due(struct am_coll *coll)
{
    struct am_list *last = coll->due.prev;
    struct am_list *at = NULL;
    int count = 0;

    while (at != last && (at = am_list_pop(&coll->due)) != NULL) {
        struct am_coll_req *req =
                am_container(at, struct am_coll_req, due_link);

        count++;
        if (req_run(req)) {
            am_done_fn done = req->done;
            void *arg = req->arg;
            am_status_t status = req->status;

            req_end(req);
            done(arg, status);
        }
    }
    return count;
}
