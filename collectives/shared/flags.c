/*
 * What is seldom done about flags: waking members that sleep, and the first meeting.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/message.h"
#include "collectives/shared/flags.h"
#include "collectives/shared/way.h"

void am_shared_meet(struct am_coll_group *group)
{
    struct am_shared *shared = group->shared;

    shared->has_met_all = true;
    shared->is_light =
            shared->may_be_light && atomic_load(am_shared_strong(shared)) == 0;
}

bool am_shared_ask(struct am_coll_group *group, uint32_t member,
                   const struct am_coll_req *asks)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(group->coll->ctx,
                                       am_coll_member(group, member), &status);
    uint64_t words[2];

    if (peer == NULL) {
        return true;
    }
    am_coll_head_write(group, asks != NULL ? asks->number : 0, asks != NULL,
                       words);
    status = am_peer_send(peer, AM_COLL_H_NUDGE, asks != NULL ? asks->print : 0,
                          words, 2, NULL, 0);
    group->coll->stats[AM_COLL_STAT_NUDGES] += status == AM_OK;
    return status != AM_ERR_AGAIN;
}

void am_shared_nudge(struct am_coll_group *group, bool all)
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
        if (!am_shared_ask(group, i, NULL)) { /* in a later poll */
            whom = 0;
            (void)atomic_compare_exchange_strong(sleeps, &whom, me);
            shared->owes_nudges = true;
        }
    }
    if (shared->owes_nudges) {
        am_shared_nudged(group); /* looks on, whatever else it waits for */
    }
}

/* One in so many is timed; a prime, so that it is not always the same member. */
#define TAKES_TIMED 17

/* NULL: none yet. */
static struct am_dev_ep *ep_of(const struct am_coll_group *group,
                               uint32_t member)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(group->coll->ctx,
                                       am_coll_member(group, member), &status);

    return peer == NULL ? NULL : peer->ep;
}

static bool is_far(const struct am_dev_ep *ep)
{
    return ep != NULL && ep->meter != NULL &&
           ep->meter->distance >= AM_DISTANCE_NODE;
}

/* To member 0, which may be about to choose by it. */
static void say_near(struct am_shared *shared, bool far)
{
    shared->told_far = far;
    atomic_store_explicit(am_shared_seen(shared, shared->rank),
                          far ? AM_SHARED_FAR : AM_SHARED_NEAR,
                          memory_order_relaxed);
}

void am_shared_learn_near(struct am_coll_group *group, uint32_t member,
                          const _Atomic uint64_t *word)
{
    struct am_shared *shared = group->shared;
    struct am_dev_ep *ep;

    if (!shared->is_light || shared->takes++ % TAKES_TIMED != 0) {
        return;
    }
    shared->is_near = am_copy_is_near(group->coll->env, word, AM_COPY_NEAR_PS);
    ep = ep_of(group, member);
    am_meter_seen(ep, shared->is_near);
    if (member == 0) {
        say_near(shared, is_far(ep));
    }
}

void am_shared_tell_near(struct am_coll_group *group)
{
    struct am_shared *shared = group->shared;
    bool far;

    if (shared == NULL || group->rank == 0) {
        return;
    }
    far = is_far(ep_of(group, 0));
    if (far != shared->told_far) {
        say_near(shared, far);
    }
}

/* Lines take as long the other way. */
void am_shared_ask_near(struct am_coll_group *group)
{
    struct am_shared *shared = group->shared;

    for (uint32_t i = 1; shared != NULL && i < group->size; i++) {
        uint32_t seen = atomic_exchange(am_shared_seen(shared, i), 0);
        struct am_dev_ep *ep = seen == 0 ? NULL : ep_of(group, i);

        for (int j = 0; j < AM_METER_FAR_SURE && ep != NULL; j++) {
            am_meter_seen(ep, seen == AM_SHARED_NEAR);
        }
    }
}
