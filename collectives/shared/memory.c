/*
 * The memory of a group: who has it, who maps it, when it is free again.
 */
#include "config.h"

#include "collectives/shared/layout.h"

#include "collectives/coll.h"

#include <stdlib.h>
#include <string.h>

#define TOTAL_BYTES_MAX ((size_t)16 << 20) /* of all groups of a context */

static struct am_peer *member_peer(const struct am_coll_group *group,
                                   uint32_t member)
{
    am_status_t status;

    return am_peer_get(group->coll->ctx, am_coll_member(group, member),
                       &status);
}

/* The device by which all members of a group see each other's memory; NULL. */
static struct am_dev *common_device(const struct am_coll_group *group)
{
    struct am_dev *dev = NULL;

    for (uint32_t i = 1; i < group->size; i++) {
        struct am_peer *peer =
                am_coll_nodes_have(group, i) ? member_peer(group, i) : NULL;

        if (peer == NULL || (dev != NULL && peer->dev != dev)) {
            return NULL;
        }
        dev = peer->dev;
    }
    return dev;
}

static struct am_shared *shared_new(const struct am_coll_group *group)
{
    struct am_shared *shared = calloc(1, sizeof(*shared));

    if (shared != NULL) {
        shared->size = group->size;
        shared->rank = group->rank;
        shared->can_fence = group->coll->can_fence;
        shared->bytes = am_shared_bytes(group->size);
        shared->next = shared->begun = AM_SHARED_DEPTH;
        am_list_init(&shared->link);
    }
    return shared;
}

static void shared_take(struct am_coll_group *group, struct am_shared *shared)
{
    if (!shared->can_fence) {
        atomic_store(am_shared_strong(shared), 1);
    }
    shared->may_be_light =
            shared->can_fence && !am_coll_is_crowded(&group->numbers);
    group->shared = shared;
}

void am_shared_offer(struct am_coll_group *group, struct am_shared_key *key)
{
    struct am_coll *coll = group->coll;
    struct am_dev *dev = NULL;
    struct am_shared *shared = NULL;

    key->slot_bytes = 0;
    am_shared_reap(coll, false);
    if (coll->config->shared && group->size <= AM_SHARED_MEMBERS_MAX &&
        coll->shared_bytes + am_shared_bytes(group->size) <= TOTAL_BYTES_MAX) {
        dev = common_device(group);
    }
    if (dev != NULL) {
        shared = shared_new(group);
    }
    if (shared == NULL) {
        return;
    }
    shared->base = dev->ops->alloc(dev, shared->bytes, &key->key);
    if (shared->base == NULL) {
        free(shared);
        return;
    }
    shared->owner = dev;
    coll->shared_bytes += shared->bytes;
    am_shared_clear(shared);
    shared_take(group, shared);
    key->slot_bytes = AM_SHARED_SLOT_BYTES;
}

am_status_t am_shared_accept(struct am_coll_group *group,
                             const struct am_shared_key *key)
{
    struct am_peer *peer = member_peer(group, 0);
    struct am_shared *shared;

    if (key->slot_bytes == 0 || group->shared != NULL) {
        return AM_OK;
    }
    if (peer == NULL || group->size > AM_SHARED_MEMBERS_MAX ||
        key->slot_bytes != AM_SHARED_SLOT_BYTES) {
        return AM_ERR_INVALID;
    }
    shared = shared_new(group);
    if (shared == NULL) {
        return AM_ERR_MEMORY;
    }
    shared->base = peer->dev->ops->map(peer->ep, &key->key, 0, shared->bytes);
    if (shared->base == NULL || (uintptr_t)shared->base % 64 != 0) {
        am_log(am_ctx_log(group->coll->ctx), AM_LOG_ERROR,
               "the memory of group %u is not to be reached", group->id);
        free(shared);
        return AM_ERR_INVALID;
    }
    shared_take(group, shared);
    return AM_OK;
}

/* Has every member left, or died? */
static bool all_left(struct am_coll *coll, const struct am_shared *shared)
{
    for (uint32_t i = 0; i < shared->size; i++) {
        if (atomic_load(am_shared_gone(shared, i)) == 0 &&
            !am_peer_is_dead(coll->ctx, shared->ranks[i])) {
            return false;
        }
    }
    return true;
}

void am_shared_reap(struct am_coll *coll, bool at_close)
{
    struct am_list *at = coll->left.next;

    while (at != &coll->left) {
        struct am_shared *shared = am_container(at, struct am_shared, link);

        at = at->next;
        if (at_close || all_left(coll, shared)) {
            am_list_remove(&shared->link);
            shared->owner->ops->release(shared->owner, shared->base,
                                        shared->bytes);
            coll->shared_bytes -= shared->bytes;
            free(shared->ranks);
            free(shared);
        }
    }
}

/* Who is to leave it, or die.  False: no memory. */
static bool ranks_keep(const struct am_coll_group *group)
{
    struct am_shared *shared = group->shared;

    shared->ranks = malloc(shared->size * sizeof(*shared->ranks));
    for (uint32_t i = 0; shared->ranks != NULL && i < shared->size; i++) {
        shared->ranks[i] = am_coll_member(group, i);
    }
    return shared->ranks != NULL;
}

am_status_t am_shared_leave(struct am_coll_group *group)
{
    struct am_coll *coll = group->coll;
    struct am_shared *shared = group->shared;

    if (shared == NULL || coll->forked) { /* it is the parent's */
        return AM_OK;
    }
    if (!coll->is_closing && !am_shared_settle(group)) {
        return AM_ERR_AGAIN;
    }
    if (shared->owner != NULL) { /* it stays until all have left */
        if (!coll->is_closing && !ranks_keep(group)) {
            return AM_ERR_AGAIN;
        }
        am_list_push(&coll->left, &shared->link);
    }
    atomic_store(am_shared_gone(shared, shared->rank), 1);
    group->shared = NULL;
    if (shared->owner == NULL) {
        free(shared);
    }
    am_shared_reap(coll, coll->is_closing);
    return AM_OK;
}
