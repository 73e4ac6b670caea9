/*
 * The turns of a group: writing, waiting, reading.
 */
#include "config.h"

#include "collectives/shared/flags.h"
#include "collectives/shared/way.h"

/* Empty polls before a member sleeps; LOOKS_FENCE: where each has a core, and
 * the sleeper passes a fence for all. */
#define LOOKS_MAX    150
#define LOOKS_FENCE  1500
#define PATIENCE_MAX 300 /* looks: about as long as some messages take */

/* ------------------------------------------------------------------ flags */

/* Has the member begun this turn?  Then what it wrote can be read. */
static bool is_there(struct am_coll_req *req, uint32_t member, uint32_t turn)
{
    uint64_t flag = am_shared_flag_of(req->group->shared, member, turn);

    if ((int32_t)(am_shared_flag_turn(flag) - turn) < 0) {
        return false;
    }
    if (turn == req->shared.turn && am_shared_flag_turn(flag) == turn &&
        (uint32_t)flag != req->print) {
        (void)am_coll_req_agrees(req, (uint32_t)flag, member);
        return false;
    }
    return true;
}

/* Have all from req->shared.at to `last` begun the turn of the collective? */
static bool are_there(struct am_coll_req *req, uint32_t last)
{
    while (req->shared.at <= last &&
           is_there(req, req->shared.at, req->shared.turn)) {
        req->shared.at++;
    }
    return req->shared.at > last;
}

/* ------------------------------------------------------------------ turns */

/* Write what I give and then the flag. */
static void turn_begin(struct am_coll_req *req, size_t bytes)
{
    struct am_shared *shared = req->group->shared;
    struct am_shared_op *op = &req->shared;
    uint32_t me = shared->rank, turn = op->turn;
    size_t room = op->way->is_long ? AM_SHARED_SLOT_BYTES : bytes;

    if (bytes > 0) {
        op->way->write(req, am_shared_payload(shared, me, turn, room));
        am_shared_copied(req->coll, bytes);
    }
    am_shared_tell(req->group, turn, req->print);
    op->is_begun = true;
    op->at = op->way->whose(req) == AM_SHARED_ROOTS ? req->call.root : 0;
}

/* Take what I want of this turn, once it is there. */
static bool turn_take(struct am_coll_req *req)
{
    struct am_shared_op *op = &req->shared;
    am_shared_whose_t whose = op->way->whose(req);

    if (whose == AM_SHARED_NOBODYS) {
        return true;
    }
    if (!are_there(req, whose == AM_SHARED_ROOTS ? req->call.root
                                                 : req->group->size - 1)) {
        return false;
    }
    if (whose == AM_SHARED_ALL) {
        am_shared_begun(req->group, op->turn);
    }
    return req->flying == 0 && op->way->take(req);
}

/* As far as it goes; true: the collective is done. */
static bool op_run(struct am_coll_req *req)
{
    struct am_shared_op *op = &req->shared;

    for (;;) {
        if (!op->is_begun) {
            size_t bytes = op->way->gives(req);

            if (bytes > 0 &&
                !am_shared_may_write(req->group, op->turn, &op->at)) {
                return false;
            }
            turn_begin(req, bytes);
        }
        if (!turn_take(req)) {
            return false;
        }
        op->stage++;
        op->turn++;
        op->is_begun = false;
        op->at = 0;
        op->reads.item = 0;
        if (--op->turns_left == 0) {
            return true;
        }
    }
}

am_status_t am_shared_queue(struct am_coll_req *req,
                            const struct am_shared_way *way)
{
    struct am_shared *shared = req->group->shared;
    struct am_shared_op *op = &req->shared;

    op->way = way;
    op->stage = 0;
    op->turns_left = way->open(req);
    op->turn = shared->next;
    op->is_begun = shared->is_ahead; /* am_shared_once */
    op->at = shared->is_ahead ? shared->ahead_at : 0;
    op->has_asked = false;
    shared->is_ahead = false;
    am_shared_forget(shared); /* before its own turns: nobody has begun these */
    shared->next += op->turns_left;
    am_list_push(&req->group->turns, &op->link);
    return op->turns_left > 0 ? AM_OK : AM_ERR_MEMORY;
}

void am_shared_end(struct am_coll_req *req, bool at_close)
{
    am_list_remove(&req->shared.link);
    req->shared.way->close(req, at_close);
}

/* ------------------------------------------------------------------ waiting */

static void wake_up(struct am_shared *shared)
{
    if (shared->is_asleep) {
        shared->is_asleep = false;
        atomic_store(am_shared_sleeps(shared, shared->rank), 0);
    }
}

/* Say for whom the first collective waits, and look again.  False: look on. */
static bool fall_asleep(struct am_coll_group *group, struct am_coll_req *req)
{
    struct am_shared *shared = group->shared;
    uint32_t missing = req->shared.at;
    uint32_t turn = req->shared.is_begun
                            ? req->shared.turn
                            : am_shared_turn_before(req->shared.turn);

    shared->is_asleep = true;
    atomic_store(am_shared_sleeps(shared, shared->rank), missing + 1);
    am_barrier_announce(); /* before the flag is looked at once more */
    if ((group->shared->may_be_light && !am_barrier_seldom()) ||
        is_there(req, missing, turn) || req->status != AM_OK ||
        atomic_load(am_shared_broken(shared)) != 0) {
        wake_up(shared);
        return false;
    }
    /* it may be in another collective, and find out by this */
    if (!req->shared.has_asked) {
        req->shared.has_asked = am_shared_ask(group, missing, req);
    }
    return true;
}

static uint32_t looks_max(const struct am_coll_group *group)
{
    return group->shared->may_be_light ? LOOKS_FENCE : LOOKS_MAX;
}

static void look_on(struct am_coll_group *group)
{
    if (am_list_is_empty(&group->looks_link)) {
        am_list_push(&group->coll->looking, &group->looks_link);
    }
    am_module_wake(group->coll->ctx, AM_COLL_SLOT);
}

/* The first that is not done; NULL: none, or the group is at its end. */
static struct am_coll_req *turns_run(struct am_coll_group *group,
                                     const struct am_coll_req *mine,
                                     uint32_t looks)
{
    struct am_shared *shared = group->shared;

    while (!am_list_is_empty(&group->turns) && group->status == AM_OK) {
        struct am_coll_req *req = am_container(group->turns.next,
                                               struct am_coll_req, shared.link);

        if (op_run(req)) {
            am_list_remove(&req->shared.link);
            shared->looks = 0;
            am_coll_req_complete(req, req != mine);
        } else if (req->status != AM_OK) {
            return NULL;
        } else if (req->flying > 0 || looks-- == 0) {
            return req;
        }
    }
    return NULL;
}

static void turns_fail(struct am_coll_group *group)
{
    am_status_t status =
            group->status != AM_OK ? group->status : AM_ERR_INVALID;

    for (struct am_list *at = group->turns.next; at != &group->turns;
         at = at->next) {
        am_coll_req_fail(am_container(at, struct am_coll_req, shared.link),
                         status);
    }
}

void am_shared_run(struct am_coll_group *group, const struct am_coll_req *mine,
                   uint32_t looks)
{
    struct am_shared *shared = group->shared;
    struct am_coll_req *req;

    wake_up(shared);
    if (shared->owes_nudges) {
        am_shared_nudge(group, false);
    }
    do {
        req = turns_run(group, mine, looks);
        if (group->status != AM_OK ||
            (req != NULL && atomic_load(am_shared_broken(shared)) != 0)) {
            turns_fail(group);
            req = NULL;
        }
        if (req != NULL && req->flying > 0 && !shared->owes_nudges) {
            return; /* it goes on when that ends */
        }
        if (shared->owes_nudges ||
            (req != NULL && ++shared->looks < looks_max(group))) {
            look_on(group);
            return;
        }
    } while (req != NULL && !fall_asleep(group, req));
}

void am_shared_learn(struct am_coll_group *group, bool found)
{
    uint32_t *patience = &group->shared->patience;

    if (!found) {
        *patience /= 2;
    } else if (*patience < PATIENCE_MAX) {
        *patience += *patience / 2 + 4;
    }
}

/* A group's turn in a poll. */
static void look(struct am_coll_group *group)
{
    const struct am_list *first = group->turns.next;
    bool waits = am_ctx_is_waiting(group->coll->ctx);

    am_shared_run(group, NULL, waits ? am_shared_patience(group) : 0);
    if (waits && first != &group->turns) {
        am_shared_learn(group, group->turns.next != first);
    }
}

void am_shared_poll(struct am_coll *coll)
{
    struct am_list *last = coll->looking.prev;
    struct am_list *at = NULL;

    while (at != last && (at = am_list_pop(&coll->looking)) != NULL) {
        look(am_container(at, struct am_coll_group, looks_link));
    }
}

void am_shared_nudged(struct am_coll_group *group)
{
    if (group->shared != NULL) {
        look_on(group);
    }
}

void am_shared_break(struct am_coll_group *group)
{
    if (group->shared != NULL &&
        atomic_exchange(am_shared_broken(group->shared), 1) == 0) {
        am_shared_nudge(group, true);
        look_on(group);
    }
}

bool am_shared_settle(struct am_coll_group *group)
{
    if (group->shared != NULL && group->shared->owes_nudges) {
        am_shared_nudge(group, false);
    }
    return group->shared == NULL || !group->shared->owes_nudges;
}
