/*
 * One message to all other members by the network: a DATA of each of them, with the
 * credit of each.
 */
#include "config.h"

#include "collectives/message.h"

/* May each be sent a message?  AM_ERR_AGAIN: not yet. */
static am_status_t credits_look(struct am_coll_group *group)
{
    for (uint32_t i = 0; i < group->size; i++) {
        const struct am_coll_peer *cp =
                i == group->rank ? NULL : am_coll_member_peer(group, i);

        if (cp == NULL && i != group->rank) {
            return AM_ERR_PEER;
        }
        if (cp != NULL && cp->credit == 0) {
            return AM_ERR_AGAIN;
        }
    }
    return AM_OK;
}

static void credits_take(struct am_coll_group *group)
{
    for (uint32_t i = 0; i < group->size; i++) {
        if (i != group->rank) {
            am_coll_member_peer(group, i)->credit--;
        }
    }
}

/* AM_ERR_AGAIN: it waits. */
static am_status_t cast(struct am_step *step)
{
    struct am_coll_req *req = step->req;
    struct am_coll *coll = req->coll;
    uint64_t words[2];
    am_status_t status = credits_look(req->group);

    if (status != AM_OK) {
        return status;
    }
    am_coll_step_words(step, words);
    status = am_ctx_multicast(
            coll->ctx, am_ctx_network(coll->ctx, AM_DEV_CAP_MULTICAST),
            AM_COLL_H_DATA, req->print, words, 2, step->from, step->length);
    if (status == AM_OK) {
        credits_take(req->group);
        coll->stats[AM_COLL_STAT_CAST]++;
        am_coll_step_end(step);
    }
    return status;
}

/* Those that wait stay in their order. */
static void casts_run(struct am_coll *coll)
{
    while (!am_list_is_empty(&coll->casting)) {
        struct am_step *step =
                am_container(coll->casting.next, struct am_step, link);
        am_status_t status = cast(step);

        if (status == AM_ERR_AGAIN) {
            return;
        }
        am_list_remove(&step->link);
        if (status != AM_OK) {
            am_coll_req_fail(step->req, status);
        }
    }
}

void am_net_cast(struct am_step *step)
{
    struct am_coll *coll = step->req->coll;

    am_list_init(&step->link);
    am_list_push(&coll->casting, &step->link);
    am_net_run(coll);
}

void am_net_run(struct am_coll *coll)
{
    casts_run(coll);
    if (!am_list_is_empty(&coll->combining)) {
        am_net_combine_run(coll);
    }
    if (!am_list_is_empty(&coll->casting) ||
        !am_list_is_empty(&coll->combining)) {
        am_module_wake(coll->ctx, AM_COLL_SLOT);
    }
}
