/*
 * Groups: opening, finding, closing.
 */
#include "config.h"

#include "collectives/message.h"
#include "collectives/numbers.h"

#include <stdlib.h>
#include <string.h>

static struct am_list *bucket(struct am_coll *coll, uint32_t id)
{
    return &coll->groups[id % AM_COLL_GROUP_BUCKETS];
}

struct am_coll_group *am_coll_group_find(struct am_coll *coll, uint32_t id)
{
    struct am_list *list = bucket(coll, id);

    for (struct am_list *at = list->next; at != list; at = at->next) {
        struct am_coll_group *group =
                am_container(at, struct am_coll_group, link);

        if (group->id == id) {
            return group;
        }
    }
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

/* Are they different, and all peers? */
static am_status_t members_check(struct am_ctx *ctx, const uint32_t *ranks,
                                 uint32_t count)
{
    uint32_t *sorted = malloc(count * sizeof(*sorted));
    am_status_t status = AM_OK;

    if (sorted == NULL) {
        return AM_ERR_MEMORY;
    }
    memcpy(sorted, ranks, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_number);
    for (uint32_t i = 0; i < count && status == AM_OK; i++) {
        if (i > 0 && sorted[i] == sorted[i - 1]) {
            status = AM_ERR_INVALID;
        } else if (sorted[i] >= am_size(ctx) &&
                   am_peer_get(ctx, sorted[i], &status) != NULL) {
            status = AM_OK; /* a late peer that is there */
        }
    }
    free(sorted);
    return status;
}

/* My place among them: in group->rank.  The lowest index is mine. */
static am_status_t members_set(struct am_coll_group *group,
                               const uint32_t *ranks, uint32_t count)
{
    struct am_ctx *ctx = group->coll->ctx;
    uint32_t me = am_rank(ctx);
    am_status_t status;

    group->rank = me;
    group->size = am_size(ctx);
    if (ranks == NULL) {
        return group->size <= AM_COLL_MEMBERS_MAX ? AM_OK : AM_ERR_INVALID;
    }
    if (count == 0 || count > AM_COLL_MEMBERS_MAX) {
        return AM_ERR_INVALID;
    }
    status = members_check(ctx, ranks, count);
    if (status != AM_OK) {
        return status;
    }
    group->ranks = malloc(count * sizeof(*ranks));
    if (group->ranks == NULL) {
        return AM_ERR_MEMORY;
    }
    memcpy(group->ranks, ranks, count * sizeof(*ranks));
    group->size = count;
    for (group->rank = 0; group->rank < count; group->rank++) {
        if (ranks[group->rank] == me) {
            return AM_OK;
        }
    }
    return AM_ERR_INVALID;
}

am_status_t am_coll_group_new(struct am_coll *coll, uint32_t id,
                              const uint32_t *ranks, uint32_t count,
                              struct am_coll_group *parent,
                              struct am_coll_group **group_p)
{
    struct am_coll_group *group;
    am_status_t status;

    if (am_coll_group_find(coll, id) != NULL) {
        return AM_ERR_INVALID;
    }
    group = calloc(1, sizeof(*group));
    if (group == NULL) {
        return AM_ERR_MEMORY;
    }
    group->coll = coll;
    group->id = id;
    group->parent = parent;
    status = members_set(group, ranks, count);
    if (status != AM_OK) {
        free(group->ranks);
        free(group);
        return status;
    }
    for (uint32_t i = 0; i < group->size; i++) {
        if (am_peer_is_dead(coll->ctx, am_coll_member(group, i))) {
            group->status = AM_ERR_PEER;
        }
    }
    group->leader = group->size;
    group->until = AM_COLL_TOLD_AFTER;
    group->weight_least = AM_COLL_TOLD_AFTER / AM_COLL_TOLD_CALLS;
    am_list_init(&group->active);
    for (uint32_t i = 0; i < AM_COLL_HELD_BUCKETS; i++) {
        am_list_init(&group->held[i]);
    }
    am_list_init(&group->levels);
    am_list_init(&group->turns);
    am_list_init(&group->looks_link);
    am_list_push(bucket(coll, id), &group->link);
    group->salt = am_coll_salt_of(group);
    am_coll_strangers_take(group);
    *group_p = group;
    return AM_OK;
}

am_status_t am_coll_group_open(struct am_ctx *ctx, uint32_t id,
                               const uint32_t *ranks, uint32_t count,
                               struct am_coll_group **group_p)
{
    struct am_coll *coll = am_coll_of(ctx);

    if (coll->forked) {
        return AM_ERR_FORKED;
    }
    return id > AM_COLL_ID_MAX
                   ? AM_ERR_INVALID
                   : am_coll_group_new(coll, id, ranks, count, NULL, group_p);
}

am_status_t am_coll_group_close(struct am_coll_group *group)
{
    if (!am_list_is_empty(&group->active) ||
        am_coll_nodes_close(group) == AM_ERR_AGAIN ||
        am_shared_leave(group) == AM_ERR_AGAIN) {
        return AM_ERR_AGAIN;
    }
    am_coll_nodes_forget(group);
    am_net_leave(group);
    am_list_remove(&group->link);
    am_list_remove(&group->looks_link);
    for (uint32_t i = 0; i < AM_COLL_HELD_BUCKETS; i++) {
        am_coll_held_drop(group->coll, &group->held[i], NULL);
    }
    am_coll_strangers_drop(group);
    free(group->exchange);
    free(group->ranks);
    free(group);
    return AM_OK;
}

am_status_t am_coll_group_status(const struct am_coll_group *group)
{
    return group->status;
}

uint32_t am_coll_group_rank(const struct am_coll_group *group)
{
    return group->rank;
}

uint32_t am_coll_group_size(const struct am_coll_group *group)
{
    return group->size;
}

static void group_drop(struct am_coll_group *group)
{
    while (!am_list_is_empty(&group->active)) {
        am_coll_req_drop(am_container(group->active.next, struct am_coll_req,
                                      link));
    }
}

/* First what is under way in any: a group may have others of its own. */
void am_coll_groups_free(struct am_coll *coll)
{
    for (uint32_t i = 0; i < AM_COLL_GROUP_BUCKETS; i++) {
        struct am_list *list = &coll->groups[i];

        for (struct am_list *at = list->next; at != list; at = at->next) {
            group_drop(am_container(at, struct am_coll_group, link));
        }
    }
    for (uint32_t i = 0; i < AM_COLL_GROUP_BUCKETS; i++) {
        while (!am_list_is_empty(&coll->groups[i])) {
            (void)am_coll_group_close(am_container(
                    coll->groups[i].next, struct am_coll_group, link));
        }
    }
}

static bool has_member(const struct am_coll_group *group, uint32_t peer_index)
{
    if (group->ranks == NULL) {
        return peer_index < group->size;
    }
    for (uint32_t i = 0; i < group->size; i++) {
        if (group->ranks[i] == peer_index) {
            return true;
        }
    }
    return false;
}

bool am_coll_groups_have(struct am_coll *coll, uint32_t peer_index)
{
    for (uint32_t i = 0; i < AM_COLL_GROUP_BUCKETS; i++) {
        struct am_list *list = &coll->groups[i];

        for (struct am_list *at = list->next; at != list; at = at->next) {
            if (has_member(am_container(at, struct am_coll_group, link),
                           peer_index)) {
                return true;
            }
        }
    }
    return false;
}

void am_coll_group_abandon(struct am_coll_group *group)
{
    am_coll_group_end(group, AM_ERR_PEER);
}

bool am_coll_is_named(const struct am_coll_group *group, am_coll_kind_t kind)
{
    return strcmp(group->coll->config->algorithm[kind], "auto") != 0;
}

size_t am_coll_group_shared_bytes(const struct am_coll_group *group)
{
    return group->has_numbers ? group->numbers.shared.slot_bytes : 0;
}

void am_coll_groups_dead(struct am_coll *coll, uint32_t peer_index)
{
    for (uint32_t i = 0; i < AM_COLL_GROUP_BUCKETS; i++) {
        struct am_list *list = &coll->groups[i];

        for (struct am_list *at = list->next; at != list; at = at->next) {
            struct am_coll_group *group =
                    am_container(at, struct am_coll_group, link);

            if (has_member(group, peer_index)) {
                am_coll_group_end(group, AM_ERR_PEER);
            }
        }
    }
}
