/*
 * Failures that not all members find out by themselves, and messages that come too late.
 *
 * A member whose collective fails for want of memory, or as the counts of two do not agree,
 * sends FAILED to the others, which may wait for what it does not send.
 *
 * The id of a group that failed at some members before they opened it is used again by a
 * group of those that live.  What the dead group's members had sent is not for that one: all
 * messages bear a hash of who the members are.
 */
#include "config.h"

#include "collectives/message.h"

void am_coll_group_end(struct am_coll_group *group, am_status_t status)
{
    struct am_list *at;

    group->status = status;
    for (at = group->active.next; at != &group->active; at = at->next) {
        am_coll_req_fail(am_container(at, struct am_coll_req, link), status);
    }
}

static void tell(const struct am_coll_group *group, uint32_t member)
{
    struct am_coll_peer *cp = am_coll_member_peer(group, member);
    uint64_t words[2];

    if (cp == NULL) {
        return;
    }
    am_coll_head_write(group, group->next, 0, words);
    if (am_peer_send(cp->peer, AM_COLL_H_FAILED, 0, words, 2, NULL, 0) ==
        AM_ERR_AGAIN) {
        (void)am_request_queue(cp->peer, AM_COLL_H_FAILED, words, 2, NULL, 0);
    }
}

void am_coll_group_fail(struct am_coll_group *group, am_status_t status)
{
    bool is_first = group->status == AM_OK;

    group->status = status;
    if (status == AM_ERR_PEER) {
        return;
    }
    am_shared_break(group); /* its members look there */
    for (uint32_t i = 0; is_first && i < group->size; i++) {
        if (i != group->rank && !group->coll->is_closing) {
            tell(group, i);
        }
    }
}

void am_coll_group_told(struct am_coll_group *group)
{
    if (group->status == AM_OK) {
        am_log(am_ctx_log(group->coll->ctx), AM_LOG_ERROR,
               "collectives of group %u have failed at another member",
               group->id);
        am_coll_group_end(group, AM_ERR_INVALID);
        am_shared_break(group);
    }
}

/* Those of another job have other numbers at other members: then only the size counts.
 * FNV-1a, folded. */
uint32_t am_coll_salt_of(const struct am_coll_group *group)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ group->size;

    for (uint32_t i = 0; i < group->size; i++) {
        uint32_t index = am_coll_member(group, i);

        if (index >= am_size(group->coll->ctx)) {
            return group->size & AM_COLL_SALT_MASK;
        }
        hash *= UINT64_C(1099511628211);
        hash ^= index;
    }
    if (group->parent != NULL) { /* part of a group of other members */
        hash ^= group->parent->salt;
    }
    hash *= UINT64_C(1099511628211);
    return (uint32_t)(hash >> 32 ^ hash >> 52) & AM_COLL_SALT_MASK;
}
