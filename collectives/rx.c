/*
 * Messages of collectives as they come.  Every number is a peer's and is
 * checked: what names no group, member or collective of this context is counted
 * and dropped, or held if it may be early.
 */
#include "config.h"

#include "collectives/message.h"

#include <string.h>

static void rx_bad(struct am_coll *coll)
{
    coll->stats[AM_COLL_STAT_RX_BAD]++;
}

/* Is it of this group, and not of one that had its id before? */
static bool is_of(const struct am_coll_group *group,
                  const struct am_coll_held *what)
{
    return what->salt == group->salt && what->member < group->size &&
           am_coll_member(group, what->member) == what->from->peer->index;
}

static struct am_coll_req *req_find(const struct am_coll_group *group,
                                    uint32_t number)
{
    const struct am_list *at;

    for (at = group->active.next; at != &group->active; at = at->next) {
        struct am_coll_req *req = am_container(at, struct am_coll_req, link);

        if (req->number == number) {
            return req;
        }
    }
    return NULL;
}

/* A message for a collective that is under way here. */
static bool req_take(struct am_coll_req *req, const struct am_coll_held *what,
                     const void *data, bool *is_held)
{
    if (req->is_stopped || req->status != AM_OK) {
        return false;
    }
    if (what->handler != AM_COLL_H_FIN && req->is_built &&
        !am_coll_req_agrees(req, what->print, what->member)) {
        return false;
    }
    if (am_coll_step_deliver(req, what, data)) {
        return true;
    }
    *is_held = what->handler != AM_COLL_H_FIN &&
               am_coll_held_keep(req->coll, &req->held, what, data);
    return *is_held;
}

/* To its step, or held; `is_held` says which.  false: dropped. */
static bool take(struct am_coll *coll, const struct am_coll_held *what,
                 const void *data, bool *is_held)
{
    struct am_coll_group *group = am_coll_group_find(coll, what->group);
    struct am_list *list = &coll->strangers;

    if (group != NULL) {
        struct am_coll_req *req = req_find(group, what->number);

        if (!is_of(group, what)) {
            rx_bad(coll);
            return false;
        }
        if (req != NULL) {
            return req_take(req, what, data, is_held);
        }
        if ((int32_t)(what->number - group->next) < 0) { /* it has ended */
            rx_bad(coll);
            return false;
        }
        list = am_coll_held_of(group, what->number);
        group->has_held = true;
    }
    if (what->handler == AM_COLL_H_FIN) {
        rx_bad(coll);
        return false;
    }
    *is_held = am_coll_held_keep(coll, list, what, data);
    return *is_held;
}

/* The words of all messages but CREDIT; NULL: there are not so many. */
static struct am_coll_peer *
head_read(struct am_token *token, const uint64_t *words, uint32_t word_count,
          uint32_t wanted, uint32_t handler, struct am_coll_held *what)
{
    struct am_coll *coll = am_coll_of(token->ctx);
    uint64_t where, who;

    if (word_count != wanted) {
        rx_bad(coll);
        return NULL;
    }
    where = am_word(words, 0);
    who = am_word(words, 1);
    what->from = am_coll_peer_of(coll, token->peer);
    what->handler = handler;
    what->group = (uint32_t)(where >> 32);
    what->number = (uint32_t)where;
    what->member = (uint32_t)(who >> AM_COLL_MEMBER_AT);
    what->salt = (uint32_t)(who >> AM_COLL_SALT_AT) & AM_COLL_SALT_MASK;
    what->tag = (uint32_t)who;
    what->print = token->aux;
    what->has_key = false;
    return what->from;
}

/* To copy more than this twice costs more than a poll: what waited for it may begin
 * the step that the next is for before that is looked at. */
#define LONG_BYTES 1024

static void handle_data(struct am_token *token, const uint64_t *words,
                        uint32_t word_count, void *data, size_t bytes)
{
    struct am_coll *coll = am_coll_of(token->ctx);
    struct am_coll_held what;
    struct am_coll_peer *cp =
            head_read(token, words, word_count, AM_COLL_DATA_WORDS,
                      AM_COLL_H_DATA, &what);
    bool is_held = false;

    if (cp == NULL) {
        return;
    }
    if (cp->unreturned >= coll->window || bytes > cp->eager_max) {
        coll->stats[AM_COLL_STAT_RX_BAD_CREDIT]++;
        return;
    }
    cp->unreturned++;
    what.bytes = bytes;
    token->peer->dev->enough |= bytes >= LONG_BYTES;
    (void)take(coll, &what, data, &is_held);
    if (!is_held) {
        am_coll_peer_consumed(cp);
    }
}

/* An RTS or a READY: the length, and where the memory is, unless there are only three
 * words. */
static void note_take(struct am_token *token, const uint64_t *words,
                      uint32_t word_count, uint32_t wanted, uint32_t handler)
{
    struct am_coll_held what;
    bool is_held;

    if (head_read(token, words, word_count, wanted, handler, &what) == NULL) {
        return;
    }
    what.bytes = am_word(words, 2);
    what.has_key = wanted == AM_COLL_KEY_WORDS;
    for (uint32_t i = 0; what.has_key && i < 4; i++) {
        what.key.w[i] = am_word(words, 3 + i);
    }
    (void)take(am_coll_of(token->ctx), &what, NULL, &is_held);
}

static void handle_rts(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    note_take(token, words, word_count,
              word_count == AM_COLL_KEY_WORDS ? AM_COLL_KEY_WORDS : 3,
              AM_COLL_H_RTS);
}

static void handle_ready(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    note_take(token, words, word_count, AM_COLL_KEY_WORDS, AM_COLL_H_READY);
}

static void handle_fin(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_coll_held what;
    bool is_held;

    if (head_read(token, words, word_count, 2, AM_COLL_H_FIN, &what) != NULL) {
        what.bytes = 0;
        (void)take(am_coll_of(token->ctx), &what, NULL, &is_held);
    }
}

/* A member asks whether we agree on a collective.  What is not under way here is not
 * kept: it may have been asked in a group that had this id before, and who begins the
 * collective finds by the flags whether it agrees. */
static void asked(struct am_coll *coll, const struct am_coll_group *group,
                  const struct am_coll_held *what)
{
    struct am_coll_req *req = req_find(group, what->number);

    if (!is_of(group, what)) {
        rx_bad(coll);
    } else if (req != NULL && req->is_built && !req->is_stopped &&
               req->status == AM_OK) {
        (void)am_coll_req_agrees(req, what->print, what->member);
    }
}

/* Look into the group's memory again; with a tag, it is a question. */
static void handle_nudge(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_coll *coll = am_coll_of(token->ctx);
    struct am_coll_group *group;
    struct am_coll_held what;

    if (head_read(token, words, word_count, 2, AM_COLL_H_NUDGE, &what) ==
        NULL) {
        return;
    }
    group = am_coll_group_find(coll, what.group);
    if (group == NULL) {
        return;
    }
    if (what.tag != 0) {
        asked(coll, group, &what);
    } else {
        am_shared_nudged(group);
    }
}

/* Collectives of the group have failed at a member, which may not have been opened here. */
static void handle_failed(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
    struct am_coll *coll = am_coll_of(token->ctx);
    struct am_coll_group *group;
    struct am_coll_held what;

    if (head_read(token, words, word_count, 2, AM_COLL_H_FAILED, &what) ==
        NULL) {
        return;
    }
    what.bytes = 0;
    group = am_coll_group_find(coll, what.group);
    if (group == NULL) {
        (void)am_coll_held_keep(coll, &coll->strangers, &what, NULL);
    } else if (is_of(group, &what)) {
        am_coll_group_told(group);
    } else {
        rx_bad(coll);
    }
}

void am_coll_strangers_drop(const struct am_coll_group *group)
{
    struct am_list *list = &group->coll->strangers;
    struct am_list *at = list->next;

    while (at != list) {
        struct am_coll_held *held = am_container(at, struct am_coll_held, link);

        at = at->next;
        if ((held->group & AM_COLL_ID_MAX) == (group->id & AM_COLL_ID_MAX)) {
            am_list_remove(&held->link);
            rx_bad(group->coll);
            am_coll_held_free(group->coll, held);
        }
    }
}

void am_coll_strangers_take(struct am_coll_group *group)
{
    struct am_coll *coll = group->coll;
    struct am_list *list = &coll->strangers;
    struct am_list *at = list->next;

    while (at != list) {
        struct am_coll_held *held = am_container(at, struct am_coll_held, link);

        at = at->next;
        if (held->group != group->id) {
            continue;
        }
        am_list_remove(&held->link);
        if (is_of(group, held) && held->handler != AM_COLL_H_FAILED) {
            am_list_push(am_coll_held_of(group, held->number), &held->link);
            group->has_held = true;
            continue;
        }
        if (is_of(group, held)) {
            am_coll_group_told(group);
        } else {
            rx_bad(coll);
        }
        am_coll_held_free(coll, held);
    }
}

/* Credit never exceeds the window. */
static void handle_credit(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
    struct am_coll *coll = am_coll_of(token->ctx);
    struct am_coll_peer *cp = am_coll_peer_of(coll, token->peer);
    uint64_t count = word_count == 1 ? am_word(words, 0) : UINT64_MAX;

    if (cp == NULL || count > coll->window - cp->credit) {
        coll->stats[AM_COLL_STAT_RX_BAD_CREDIT]++;
        return;
    }
    cp->credit += (uint32_t)count;
}

void am_coll_rx_register(struct am_coll *coll)
{
    static const struct {
        uint32_t handler;
        am_handler_fn fn;
        const char *name;
    } rows[] = {
            {AM_COLL_H_DATA, handle_data, "coll_data"},
            {AM_COLL_H_RTS, handle_rts, "coll_rts"},
            {AM_COLL_H_READY, handle_ready, "coll_ready"},
            {AM_COLL_H_FIN, handle_fin, "coll_fin"},
            {AM_COLL_H_CREDIT, handle_credit, "coll_credit"},
            {AM_COLL_H_NUDGE, handle_nudge, "coll_nudge"},
            {AM_COLL_H_FAILED, handle_failed, "coll_failed"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)am_handler_set(coll->ctx, rows[i].handler, rows[i].fn, coll,
                             rows[i].name);
    }
}
