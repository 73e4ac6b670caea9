/*
 * What all members of a group must know alike before they can choose: the numbers of
 * member 0's device, and which members are on one node.  It is the first
 * collective of a group, before the first that is called: each member tells member 0
 * who is on its node, up a binomial tree; member 0 tells all of it to all, down the
 * tree.
 *
 * Numbers that follow what is seen are told again, by a collective down the tree:
 * after some calls, as what a wait costs where members share cores is not known before
 * anybody has waited, and then again and again, as cores may have come nearer or gone
 * away.  What is called after it waits for it.  Whether numbers follow is one of them;
 * but a member may call many collectives before those have come.  So the number of that
 * collective is kept free in all groups, and all count alike, by calls and their bytes,
 * when it is due.
 */
#include "config.h"

#include "collectives/algo/list.h"
#include "collectives/message.h"
#include "collectives/numbers.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES_MEMBERS_MAX = 1024 /* of groups that look who is where */
};

struct am_coll_exchange {
    struct am_coll_numbers numbers;
    uint32_t first[]; /* of each member, the first on its node */
};

static bool wants_nodes(const struct am_coll_group *group)
{
    return group->size > 2 && group->size <= NODES_MEMBERS_MAX;
}

static size_t exchange_bytes(const struct am_coll_group *group)
{
    return sizeof(struct am_coll_exchange) +
           (wants_nodes(group) ? group->size * sizeof(uint32_t) : 0);
}

/* Of what the network does itself: only what there is here, for all ranks. */
static bool network_is_sound(const struct am_coll_group *group,
                             const struct am_coll_numbers *numbers)
{
    const struct am_ctx *ctx = group->coll->ctx;
    bool casts = numbers->network.multicast_ps > 0;

    if (!casts && !numbers->may_combine) {
        return true;
    }
    return group->size == am_size(ctx) &&
           (!casts || am_ctx_network(ctx, AM_DEV_CAP_MULTICAST) != NULL) &&
           (!numbers->may_combine ||
            am_ctx_network(ctx, AM_DEV_CAP_COLLECTIVE) != NULL);
}

/* They come from another process: can they be? */
static bool numbers_are_sound(const struct am_coll_group *group,
                              const struct am_coll_numbers *numbers)
{
    return numbers->packet_bytes > 0 &&
           numbers->eager_max <= numbers->packet_bytes &&
           (!wants_nodes(group) || numbers->near.packet_bytes > 0) &&
           network_is_sound(group, numbers);
}

/* What was exchanged is here, and is the same at all members. */
static am_status_t numbers_take(struct am_coll_group *group)
{
    const struct am_coll_exchange *exchange = group->exchange;
    am_status_t status = AM_OK;

    if (!numbers_are_sound(group, &exchange->numbers)) {
        return AM_ERR_INVALID;
    }
    group->numbers = exchange->numbers;
    group->numbers.node_count = 0; /* unless this member finds that, too */
    if (group->rank != 0) {
        status = am_shared_accept(group, &group->numbers.shared);
    }
    if (status == AM_OK && wants_nodes(group)) {
        status = am_coll_nodes_set(group, exchange->first);
    }
    return status;
}

/* The numbers of the member that costs most to reach, of those that a group within a
 * node may have, or of the first and the last of more. */
static bool numbers_of_farthest(const struct am_coll_group *group,
                                struct am_coll_numbers *numbers)
{
    uint32_t step = group->size <= AM_SHARED_MEMBERS_MAX ? 1 : group->size - 2;
    uint64_t most = 0;

    for (uint32_t i = 1; i < group->size; i += step) {
        struct am_coll_numbers its;
        uint64_t ps;

        if (!am_coll_numbers_of(group->coll->ctx, am_coll_member(group, i),
                                group->coll->config, &its)) {
            return false;
        }
        ps = am_cost_short_ps(&its.perf);
        if (i == 1 || ps > most) {
            *numbers = its;
            most = ps;
        }
    }
    return true;
}

static bool has_near(const struct am_coll_group *group)
{
    return wants_nodes(group) && group->numbers.node_count > 0;
}

/* Does member 0 tell them again?  All find the same in its numbers. */
static bool wants_telling(const struct am_coll_group *group)
{
    const struct am_coll_numbers *numbers = &group->numbers;

    return numbers->follow || (has_near(group) && numbers->near.follow);
}

/* What member 0 tells. */
static void told_set(struct am_coll_group *group)
{
    struct am_coll_numbers numbers;

    am_shared_ask_near(group);
    if (numbers_of_farthest(group, &numbers)) {
        group->told.perf = numbers.perf;
        group->told.follow = numbers.follow;
    }
    if (has_near(group)) {
        struct am_coll_near near = am_coll_nodes_near(group);

        group->told.near = near.perf;
        group->told.near_follows = near.follow;
    }
}

/* That collective; of no steps where none is wanted.  AM_ERR_MEMORY. */
static am_status_t telling_build(struct am_coll_req *req)
{
    struct am_coll_group *group = req->group;
    struct am_coll_call call = {.kind = AM_COLL_BCAST};
    struct am_coll_build build = {.sched = &req->sched,
                                  .call = &call,
                                  .size = group->size,
                                  .rank = group->rank};

    req->is_built = true;
    req->print = (uint32_t)sizeof(group->numbers) + 1;
    group->told =
            (struct am_coll_told){.perf = group->numbers.perf,
                                  .near = group->numbers.near.perf,
                                  .follow = group->numbers.follow,
                                  .near_follows = group->numbers.near.follow};
    if (!wants_telling(group)) {
        return AM_OK;
    }
    if (group->rank == 0) {
        told_set(group);
    }
    am_bcast_tree(&build, &group->told, sizeof(group->told), SIZE_MAX, 0, NULL);
    return am_sched_is_good(&req->sched) ? AM_OK : AM_ERR_MEMORY;
}

/* Build the calls that waited, up to one that the others wait for. */
static void calls_build(struct am_coll_group *group, am_status_t status)
{
    struct am_list *at;

    for (at = group->active.next; at != &group->active; at = at->next) {
        struct am_coll_req *req = am_container(at, struct am_coll_req, link);

        if (req->is_built) {
            continue;
        }
        if (status == AM_OK) {
            status = req->is_telling ? telling_build(req)
                                     : am_coll_req_build(req, &req->call);
        }
        if (status == AM_OK) {
            am_coll_req_held(req);
            if (req->is_shared) {
                am_shared_nudged(group);
            } else if (!req->is_combined) { /* else it is in its queue */
                am_coll_req_start_later(req);
            }
            if (req->is_telling) {
                group->telling = req;
                return;
            }
        } else {
            am_coll_req_fail(req, status);
        }
    }
}

static void numbers_done(void *arg, am_status_t status)
{
    struct am_coll_group *group = arg;

    if (status == AM_OK) {
        status = numbers_take(group);
    }
    free(group->exchange);
    group->exchange = NULL;
    group->has_numbers = status == AM_OK;
    if (status != AM_OK) { /* also where no call waits yet */
        am_coll_group_fail(group, status);
    }
    calls_build(group, status);
}

/* Choices are made anew if they may be others. */
static void told_take(struct am_coll_group *group)
{
    struct am_coll_numbers *numbers = &group->numbers;
    const struct am_coll_told *told = &group->told;

    numbers->follow = told->follow;
    numbers->near.follow = told->near_follows;
    if (memcmp(&numbers->perf, &told->perf, sizeof(told->perf)) == 0 &&
        memcmp(&numbers->near.perf, &told->near, sizeof(told->near)) == 0) {
        return;
    }
    numbers->perf = told->perf;
    numbers->near.perf = told->near;
    for (int kind = 0; kind < AM_COLL_KINDS; kind++) {
        group->chosen[kind].plan.algorithm = NULL;
    }
}

static void telling_done(void *arg, am_status_t status)
{
    struct am_coll_group *group = arg;

    group->telling = NULL;
    if (status == AM_OK) {
        told_take(group);
    }
    calls_build(group, status);
}

/* Member 0's part. */
static bool numbers_give(struct am_coll_group *group)
{
    struct am_coll_numbers *numbers = &group->numbers;

    if (!numbers_of_farthest(group, numbers)) {
        return false;
    }
    am_shared_offer(group, &numbers->shared);
    am_net_offer(group, numbers);
    if (wants_nodes(group)) {
        numbers->near = am_coll_nodes_near(group);
    }
    group->exchange->numbers = *numbers;
    return true;
}

/* To member 0 and from it; at member 0 the second after the first. */
static void exchange_build(struct am_coll_group *group, struct am_sched *sched)
{
    struct am_coll_exchange *exchange = group->exchange;
    uint32_t mine = wants_nodes(group) ? am_coll_nodes_first(group) : 0;
    uint32_t *give = am_sched_scratch(sched, sizeof(*give));
    struct am_coll_call gather = {.kind = AM_COLL_GATHER,
                                  .send = give,
                                  .recv = exchange->first,
                                  .count = sizeof(*give)};
    struct am_coll_build build = {.sched = sched,
                                  .call = &gather,
                                  .size = group->size,
                                  .rank = group->rank};
    uint32_t all = AM_STEP_NONE;

    if (give == NULL) {
        return;
    }
    *give = mine;
    if (wants_nodes(group)) {
        am_gather_shape(&build);
    }
    if (group->rank == 0) {
        uint32_t count = sched->step_count;

        all = am_sched_join(sched);
        for (uint32_t i = 0; i < count; i++) {
            am_sched_edge(sched, i, all);
        }
    }
    am_bcast_tree(&build, exchange, exchange_bytes(group), SIZE_MAX, 0,
                  group->rank == 0 ? &all : NULL);
}

/* The collective in which numbers go round; errors as am_coll_start. */
static am_status_t exchange_start(struct am_coll_req *req, am_done_fn done)
{
    struct am_coll_group *group = req->group;
    am_status_t status;

    if (!am_sched_is_good(&req->sched)) {
        am_coll_req_fail(req, AM_ERR_MEMORY);
    }
    am_coll_req_held(req);
    status = am_coll_req_start(req);
    if (status == AM_OK) {
        return AM_OK;
    }
    status = status == AM_DONE ? AM_OK : status;
    done(group, status);
    return status == AM_OK ? group->status : status;
}

am_status_t am_coll_numbers_ask(struct am_coll_group *group)
{
    struct am_coll_req *req = am_coll_req_open(group, numbers_done, group);

    group->exchange = req == NULL ? NULL : calloc(1, exchange_bytes(group));
    if (req == NULL) {
        return AM_ERR_MEMORY;
    }
    group->asks_numbers = true;
    req->is_built = true;
    req->print = (uint32_t)sizeof(group->numbers);
    if (group->exchange == NULL) {
        am_coll_req_fail(req, AM_ERR_MEMORY);
    } else if (group->rank == 0 && !numbers_give(group)) {
        am_coll_req_fail(req, AM_ERR_PEER);
    } else {
        exchange_build(group, &req->sched);
    }
    return exchange_start(req, numbers_done);
}

am_status_t am_coll_tell_again(struct am_coll_group *group)
{
    struct am_coll_req *req;

    group->weight_least = 1;
    group->until = AM_COLL_TOLD_AFTER;
    if (group->has_numbers && group->telling == NULL && !wants_telling(group)) {
        group->next++;
        return AM_OK;
    }
    am_shared_tell_near(group);
    req = am_coll_req_open(group, telling_done, group);
    if (req == NULL) {
        return AM_ERR_MEMORY;
    }
    req->is_telling = true;
    if (!group->has_numbers || group->telling != NULL) {
        return AM_OK; /* in its turn */
    }
    group->telling = req;
    (void)telling_build(req);
    return exchange_start(req, telling_done);
}
