/*
 * Messages that came early.  Their number is bounded: DATA by the credit of each
 * peer, RTS and READY by AM_COLL_NOTES_MAX of each peer.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/coll.h"

#include <string.h>

/* May the peer have one more of these here?  Its DATA was counted already. */
static bool may_keep(struct am_coll *coll, struct am_coll_peer *cp,
                     uint32_t handler)
{
    if (handler != AM_COLL_H_DATA && cp->note_count >= AM_COLL_NOTES_MAX) {
        coll->stats[AM_COLL_STAT_RX_BAD_CREDIT]++;
        return false;
    }
    cp->note_count += handler != AM_COLL_H_DATA;
    return true;
}

static struct am_coll_held *held_new(struct am_coll *coll, bool is_large)
{
    struct am_coll_held *held =
            am_pool_get(is_large ? &coll->large : &coll->small);

    if (held == NULL) {
        am_log(am_ctx_log(coll->ctx), AM_LOG_ERROR,
               "out of memory: a message of a collective is lost");
    }
    return held;
}

bool am_coll_held_keep(struct am_coll *coll, struct am_list *list,
                       const struct am_coll_held *what, const void *data)
{
    bool is_data = what->handler == AM_COLL_H_DATA;
    bool is_large = is_data && what->bytes > AM_COLL_SMALL_BYTES;
    uint64_t *stats = coll->stats;
    struct am_coll_held *held;

    if (!may_keep(coll, what->from, what->handler)) {
        return false;
    }
    held = held_new(coll, is_large);
    if (held == NULL) {
        return false;
    }
    memcpy(held, what, offsetof(struct am_coll_held, data));
    held->is_large = is_large;
    if (!is_data) {
        held->key = what->key;
    } else if (what->bytes > 0) {
        am_copy(held->data, data, what->bytes);
        am_env_charge(coll->env, AM_COST_COPY, what->bytes);
        stats[AM_COLL_STAT_COPY_BYTES] += what->bytes;
    }
    am_list_push(list, &held->link);
    stats[AM_COLL_STAT_HELD]++;
    if (++stats[AM_COLL_STAT_HELD_NOW] > stats[AM_COLL_STAT_HELD_PEAK]) {
        stats[AM_COLL_STAT_HELD_PEAK] = stats[AM_COLL_STAT_HELD_NOW];
    }
    return true;
}

void am_coll_held_free(struct am_coll *coll, struct am_coll_held *held)
{
    struct am_coll_peer *from = held->from;
    bool is_data = held->handler == AM_COLL_H_DATA;

    from->note_count -= !is_data;
    coll->stats[AM_COLL_STAT_HELD_NOW]--;
    am_pool_put(held->is_large ? &coll->large : &coll->small, held);
    if (is_data) {
        am_coll_peer_consumed(from);
    }
}

void am_coll_held_drop(struct am_coll *coll, struct am_list *list,
                       const struct am_coll_peer *from)
{
    struct am_list *at = list->next;

    while (at != list) {
        struct am_coll_held *held = am_container(at, struct am_coll_held, link);

        at = at->next;
        if (from == NULL || held->from == from) {
            am_list_remove(&held->link);
            coll->stats[AM_COLL_STAT_RX_BAD]++;
            am_coll_held_free(coll, held);
        }
    }
}
