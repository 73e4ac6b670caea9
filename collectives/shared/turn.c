/*
 * The turns of a group: writing, waiting, reading.
 */
#include "config.h"

#include "base/barrier.h"
#include "collectives/shared/way.h"

/* Empty polls before it sleeps; FENCE: and passes a fence for all, who have cores. */
#define LOOKS_MAX    150
#define LOOKS_FENCE  1500
#define PATIENCE_MAX 300 /* looks: about as long as some messages take */

/* ------------------------------------------------------------------ flags */

static uint32_t flag_turn(uint64_t flag)
{
    return (uint32_t)(flag >> 32);
}

/* Tell a member something by a message.  false: no space. */
static bool nudge(struct am_coll_group *group, uint32_t member,
                  const struct am_coll_req *asks)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(group->coll->ctx,
                                       am_coll_member(group, member), &status);
    uint64_t words[2] = {(uint64_t)group->id << 32 |
                                 (asks != NULL ? asks->number : 0),
                         (uint64_t)group->rank << 32 | (asks != NULL)};

    if (peer == NULL) {
        return true;
    }
    status = am_peer_send(peer, AM_COLL_H_NUDGE, asks != NULL ? asks->print : 0,
                          words, 2, NULL, 0);
    group->coll->stats[AM_COLL_STAT_NUDGES] += status == AM_OK;
    return status != AM_ERR_AGAIN;
}

/* Wake those who sleep until I have written; `all`: for whomever they wait. */
static void nudge_sleepers(struct am_coll_group *group, bool all)
{
    struct am_shared *shared = group->shared;
    uint32_t me = shared->rank + 1; /* in sleeps[] */

    shared->owes_nudges = false;
    for (uint32_t i = 0; i < shared->size; i++) {
        _Atomic uint32_t *sleeps = am_shared_sleeps(shared, i);
        uint32_t whom = atomic_load(sleeps);

        if (whom == 0 || i + 1 == me || (!all && whom != me) ||
            !atomic_compare_exchange_strong(sleeps, &whom, 0)) {
            continue;
        }
        if (!nudge(group, i, NULL)) { /* in a later poll */
            whom = 0;
            (void)atomic_compare_exchange_strong(sleeps, &whom, me);
            shared->owes_nudges = true;
        }
    }
}

/* Has the member begun this turn?  What it wrote is to be seen then. */
static bool is_there(struct am_coll_req *req, uint32_t member, uint32_t turn)
{
    uint64_t flag = atomic_load_explicit(
            &am_shared_slot(req->group->shared, member, turn)->flag,
            memory_order_acquire);

    if ((int32_t)(flag_turn(flag) - turn) < 0) {
        return false;
    }
    if (turn == req->shared.turn && flag_turn(flag) == turn &&
        (uint32_t)flag != req->print) {
        (void)am_coll_req_agrees(req, (uint32_t)flag, member);
        return false;
    }
    return true;
}

/* Have all members from op->at to `last`? */
static bool are_there(struct am_coll_req *req, uint32_t last, uint32_t turn)
{
    while (req->shared.at <= last && is_there(req, req->shared.at, turn)) {
        req->shared.at++;
    }
    return req->shared.at > last;
}

/* May others write without a fence?  Where each member has a core of its own, and
 * this one can pass it for them. */
static bool may_be_light(const struct am_coll_group *group)
{
    return !am_coll_is_crowded(&group->numbers) && group->shared->can_fence;
}

/* All members have begun this turn. */
static void begun_set(struct am_coll_group *group, uint32_t turn)
{
    struct am_shared *shared = group->shared;

    shared->begun = turn;
    if (!shared->has_met_all) {
        shared->has_met_all = true;
        shared->is_light = may_be_light(group) &&
                           atomic_load(am_shared_strong(shared)) == 0;
    }
}

/* Before the look at sleeps[]; who sleeps looks in the other order. */
static void flag_set(struct am_shared *shared, struct am_shared_slot *slot,
                     uint64_t flag)
{
    if (shared->is_light) {
        am_publish64(&slot->flag, flag);
        am_barrier_often();
    } else {
        atomic_store(&slot->flag, flag);
    }
}

/* ------------------------------------------------------------------ turns */

/* The turn after the one in my slot: when all have begun that, I may write. */
static uint32_t turn_before(const struct am_coll_req *req)
{
    return req->shared.turn - AM_SHARED_DEPTH + 1;
}

static bool may_write(struct am_coll_req *req)
{
    struct am_shared *shared = req->group->shared;

    if ((int32_t)(shared->begun - turn_before(req)) >= 0) {
        return true;
    }
    if (!are_there(req, shared->size - 1, turn_before(req))) {
        return false;
    }
    begun_set(req->group, turn_before(req));
    return true;
}

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
    flag_set(shared, am_shared_slot(shared, me, turn),
             (uint64_t)turn << 32 | req->print);
    nudge_sleepers(req->group, false);
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
    if (!are_there(req,
                   whose == AM_SHARED_ROOTS ? req->call.root
                                            : req->group->size - 1,
                   op->turn)) {
        return false;
    }
    if (whose == AM_SHARED_ALL) {
        begun_set(req->group, op->turn);
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

            if (bytes > 0 && !may_write(req)) {
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
    struct am_coll_group *group = req->group;
    struct am_shared_op *op = &req->shared;

    op->way = way;
    op->stage = 0;
    op->turns_left = way->open(req);
    op->turn = group->shared->next;
    op->at = 0;
    op->is_begun = op->has_asked = false;
    group->shared->next += op->turns_left;
    am_list_push(&group->turns, &op->link);
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
    uint32_t turn = req->shared.is_begun ? req->shared.turn : turn_before(req);

    shared->is_asleep = true;
    atomic_store(am_shared_sleeps(shared, shared->rank), missing + 1);
    if ((may_be_light(group) && !am_barrier_seldom()) ||
        is_there(req, missing, turn) || req->status != AM_OK ||
        atomic_load(am_shared_broken(shared)) != 0) {
        wake_up(shared);
        return false;
    }
    /* it may be in another collective, and find out by this */
    if (!req->shared.has_asked) {
        req->shared.has_asked = nudge(group, missing, req);
    }
    return true;
}

static uint32_t looks_max(const struct am_coll_group *group)
{
    return may_be_light(group) ? LOOKS_FENCE : LOOKS_MAX;
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
        nudge_sleepers(group, false);
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
    if (waits) {
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
        nudge_sleepers(group, true);
        look_on(group);
    }
}

bool am_shared_settle(struct am_coll_group *group)
{
    if (group->shared != NULL && group->shared->owes_nudges) {
        nudge_sleepers(group, false);
    }
    return group->shared == NULL || !group->shared->owes_nudges;
}
