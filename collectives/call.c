/*
 * The public calls: check what is given, choose an algorithm, build its schedule, start.
 */
#include "config.h"

#include "collectives/message.h"
#include "collectives/numbers.h"
#include "collectives/shared/flags.h"

#include <string.h>

/* ---------------------------------------------------------- what is asked */

/* Kinds whose buffers hold a block of each member. */
static bool has_blocks(am_coll_kind_t kind)
{
    return kind == AM_COLL_GATHER || kind == AM_COLL_SCATTER ||
           kind == AM_COLL_ALLGATHER || kind == AM_COLL_REDUCE_SCATTER ||
           kind == AM_COLL_ALLTOALL;
}

/* Are the counts there that a vector call needs? */
static bool counts_are_there(const struct am_coll_call *call, bool is_root)
{
    switch (call->kind) {
    case AM_COLL_GATHER:
        return !is_root || call->recv_counts != NULL;
    case AM_COLL_SCATTER:
        return !is_root || call->send_counts != NULL;
    case AM_COLL_ALLTOALL:
        return call->send_counts != NULL && call->recv_counts != NULL;
    default:
        return call->recv_counts != NULL;
    }
}

/* Is there anything in `send`, of a kind that cannot be in place? */
static bool gives(const struct am_coll_group *group,
                  const struct am_coll_call *call)
{
    const size_t *counts = call->kind == AM_COLL_ALLTOALL ? call->send_counts
                                                          : call->recv_counts;
    uint32_t i = 0;

    if (!call->is_vector) {
        return call->count > 0;
    }
    while (i < group->size && counts[i] == 0) {
        i++;
    }
    return i < group->size;
}

/* Is my own block of a vector call as long where it is given as where it goes? */
static bool own_block_agrees(const struct am_coll_group *group,
                             const struct am_coll_call *call)
{
    uint32_t rank = group->rank;

    switch (call->kind) {
    case AM_COLL_GATHER:
        return rank != call->root || call->send == NULL ||
               call->recv_counts[rank] == call->count;
    case AM_COLL_SCATTER:
        return rank != call->root || call->recv == NULL ||
               call->send_counts[rank] == call->count;
    case AM_COLL_ALLTOALL:
        return call->send_counts[rank] == call->recv_counts[rank];
    default:
        return true;
    }
}

static bool is_sound(const struct am_coll_group *group,
                     const struct am_coll_call *call)
{
    size_t unit = am_coll_has_operator(call->kind) ? call->op.element_bytes : 1;
    size_t blocks = has_blocks(call->kind) ? group->size : 1, bytes;

    if ((unsigned)call->kind >= AM_COLL_KINDS ||
        (am_coll_has_root(call->kind) && call->root >= group->size)) {
        return false;
    }
    if (am_coll_has_operator(call->kind) &&
        (call->op.reduce == NULL || unit == 0)) {
        return false;
    }
    if (call->is_vector &&
        (!has_blocks(call->kind) ||
         !counts_are_there(call, call->root == group->rank) ||
         !own_block_agrees(group, call))) {
        return false;
    }
    if (call->send == NULL && !am_coll_may_be_in_place(call->kind) &&
        gives(group, call)) {
        return false;
    }
    return !__builtin_mul_overflow(call->count, unit, &bytes) &&
           !__builtin_mul_overflow(bytes, 2 * blocks, &bytes);
}

/* ------------------------------------------------------------ how it is done */

bool am_coll_uses_network(struct am_coll_group *group,
                          const struct am_coll_call *call)
{
    return group->has_numbers && group->size >= 2 && is_sound(group, call) &&
           am_coll_choice_of(group, call)->plan.algorithm->network !=
                   AM_COLL_NETWORK_UNUSED;
}

/* The arrays that this member is to read, for later: the caller's own are read
 * during its call only.  Without memory the schedule is not good. */
static void arrays_keep(struct am_coll_req *req)
{
    struct am_coll_call *mine = &req->call;
    bool is_root = mine->root == req->group->rank;
    bool sends = mine->kind == AM_COLL_ALLTOALL ||
                 (mine->kind == AM_COLL_SCATTER && is_root);
    bool receives = mine->kind != AM_COLL_SCATTER &&
                    (mine->kind != AM_COLL_GATHER || is_root);
    const size_t **arrays[] = {&mine->send_counts, &mine->send_offsets,
                               &mine->recv_counts, &mine->recv_offsets};

    for (int i = 0; i < 4; i++) {
        size_t bytes = req->group->size * sizeof(size_t);
        const size_t *theirs = (i < 2 ? sends : receives) ? *arrays[i] : NULL;
        size_t *copy =
                theirs == NULL ? NULL : am_sched_scratch(&req->sched, bytes);

        if (copy != NULL) {
            memcpy(copy, theirs, bytes);
        }
        *arrays[i] = copy;
    }
}

static void call_keep(struct am_coll_req *req, const struct am_coll_call *call)
{
    req->call = *call;
    if (call->is_vector) {
        arrays_keep(req);
    }
}

/* The member that gives all; the size of the group: several do. */
static uint32_t giver_of(const struct am_coll_group *group,
                         const struct am_coll_call *call)
{
    switch (call->kind) {
    case AM_COLL_BCAST:
    case AM_COLL_SCATTER:
        return call->root;
    case AM_COLL_REDUCE:
    case AM_COLL_GATHER:
        return group->size == 2 ? 1 - call->root : group->size;
    default:
        return group->size;
    }
}

void am_coll_leader_note(struct am_coll_group *group,
                         const struct am_coll_call *call)
{
    if (group->has_met) {
        group->leader = giver_of(group, call);
    }
    group->has_met = call->kind == AM_COLL_BARRIER;
}

/* One that goes by the steps of a schedule. */
static am_status_t schedule_build(struct am_coll_req *req,
                                  const struct am_coll_call *call,
                                  const struct am_coll_plan *plan)
{
    struct am_coll_group *group = req->group;
    struct am_coll_build build = {.sched = &req->sched,
                                  .call = call,
                                  .rank = group->rank,
                                  .size = group->size,
                                  .unit = am_coll_unit_of(call),
                                  .eager_max = group->numbers.eager_max,
                                  .is_crowded =
                                          am_coll_is_crowded(&group->numbers),
                                  .shape = plan->shape,
                                  .chunk_bytes = plan->chunk_bytes};

    if (plan->algorithm->has_levels) {
        am_status_t status = am_coll_nodes_open(group);

        if (status != AM_OK) {
            return status;
        }
        build.nodes = group->nodes;
        req->has_levels = true;
        am_list_push(&group->levels, &req->levels_link);
    }
    plan->algorithm->build(&build);
    return am_sched_is_good(&req->sched) ? AM_OK : AM_ERR_MEMORY;
}

am_status_t am_coll_req_build(struct am_coll_req *req,
                              const struct am_coll_call *call)
{
    struct am_coll_group *group = req->group;
    const struct am_coll_choice *choice = am_coll_choice_of(group, call);
    const struct am_coll_algorithm *algorithm = choice->plan.algorithm;

    am_coll_leader_note(group, call);
    req->print = am_coll_print_of(choice, call);
    req->op = call->op;
    req->is_built = true;
    if (algorithm->way == NULL &&
        algorithm->network != AM_COLL_NETWORK_COMBINES) {
        return schedule_build(req, call, &choice->plan);
    }
    if (call != &req->call) {
        call_keep(req, call);
    }
    if (algorithm->way != NULL) {
        req->is_shared = true;
        group->coll->stats[AM_COLL_STAT_SHARED]++;
        return am_shared_queue(req, algorithm->way);
    }
    am_net_queue(req);
    return AM_OK;
}

/* From the group's to the request's.  Are there others? */
static bool held_take(struct am_coll_req *req)
{
    struct am_coll_group *group = req->group;
    struct am_list *list = am_coll_held_of(group, req->number);
    struct am_list *at = list->next;

    while (at != list) {
        struct am_coll_held *held = am_container(at, struct am_coll_held, link);

        at = at->next;
        if (held->number == req->number) {
            am_list_remove(&held->link);
            am_list_push(&req->held, &held->link);
        }
    }
    for (uint32_t i = 0; i < AM_COLL_HELD_BUCKETS; i++) {
        if (!am_list_is_empty(&group->held[i])) {
            return true;
        }
    }
    return false;
}

void am_coll_req_held(struct am_coll_req *req)
{
    struct am_list *at;

    if (req->group->has_held) {
        req->group->has_held = held_take(req);
    }
    for (at = req->held.next; at != &req->held; at = at->next) {
        struct am_coll_held *held = am_container(at, struct am_coll_held, link);

        (void)am_coll_req_agrees(req, held->print, held->member);
    }
}

struct am_coll_req *am_coll_req_open(struct am_coll_group *group,
                                     am_done_fn done, void *arg)
{
    struct am_coll_req *req = am_coll_req_new(group);

    if (req != NULL) {
        req->done = done;
        req->arg = arg;
        req->number = group->next++;
        am_list_push(&group->active, &req->link);
    }
    return req;
}

/* Build it and begin, what has looked for the others already or not; as
 * am_coll_req_start. */
static am_status_t req_go(struct am_coll_req *req,
                          const struct am_coll_call *call, bool has_looked)
{
    am_status_t status = am_coll_req_build(req, call);

    if (status != AM_OK) {
        am_coll_req_fail(req, status);
    } else {
        am_coll_req_held(req);
    }
    if (req->is_shared) {
        bool looks = call->is_waited_for && !has_looked;

        am_shared_run(req->group, req,
                      looks ? am_shared_patience(req->group) : 0);
        if (looks) {
            am_shared_learn(req->group, req->left == 0);
        }
        return am_coll_req_try(req);
    }
    if (req->is_combined) {
        am_net_run(req->coll);
        return am_coll_req_try(req);
    }
    return am_coll_req_start(req);
}

/* What comes before a call: the group's numbers are asked for, once, and told again
 * later.  Errors as am_coll_start. */
static am_status_t ask(struct am_coll_group *group)
{
    am_status_t status = AM_OK;

    if (group->size > 1 && !group->asks_numbers) {
        status = am_coll_numbers_ask(group);
    }
    if (status == AM_OK && am_coll_telling_is_due(group)) {
        status = am_coll_tell_again(group);
    }
    return status;
}

/* As am_coll_start, of a call that is sound. */
static am_status_t start(struct am_coll_group *group,
                         const struct am_coll_call *call, bool has_looked,
                         am_done_fn done, void *arg)
{
    struct am_coll_req *req = NULL;
    am_status_t status = ask(group);

    if (status == AM_OK) {
        req = am_coll_req_open(group, done, arg);
        status = req == NULL ? AM_ERR_MEMORY : AM_OK;
    }
    if (status != AM_OK) {
        am_coll_group_fail(group, status);
        return status;
    }
    am_coll_numbers_count(group, am_coll_weight_of(call));
    group->coll->stats[AM_COLL_STAT_STARTED]++;
    if ((group->has_numbers && group->telling == NULL) || group->size == 1) {
        return req_go(req, call, has_looked);
    }
    call_keep(req, call);
    return AM_OK;
}

am_status_t am_coll_start(struct am_coll_group *group,
                          const struct am_coll_call *call, am_done_fn done,
                          void *arg)
{
    bool has_looked = false;

    if (group->coll->refuses != AM_OK) {
        return group->coll->refuses;
    }
    if (group->status != AM_OK) {
        return group->status;
    }
    if (!am_coll_is_as_before(group, call)) {
        if (!is_sound(group, call)) {
            return AM_ERR_INVALID;
        }
    } else if (am_shared_may_be_once(group, call)) {
        if (am_shared_once(group, call)) {
            return AM_DONE;
        }
        has_looked = group->shared->is_ahead;
    }
    return start(group, call, has_looked, done, arg);
}
