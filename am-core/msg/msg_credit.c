/*
 * Credit, both sides: taking and returning, the sends held for want of it,
 * and the receiver's watch for peers that starve.  The rules and the argument
 * are in msg_credit.h.
 */
#include "msg/msg_credit.h"

/* ------------------------------------------------------------ the sender */

static uint64_t share_of(const struct am_msg *msg)
{
    uint64_t ranks = am_size(msg->ctx);
    uint64_t bytes = msg->config->unexp_max / (ranks == 0 ? 1 : ranks);
    uint64_t messages = bytes / 256;

    if (bytes > AM_CREDIT_BYTES_MAX) {
        bytes = AM_CREDIT_BYTES_MAX;
    }
    if (messages > AM_CREDIT_MESSAGES_MAX) {
        messages = AM_CREDIT_MESSAGES_MAX;
    }
    if (messages < AM_CREDIT_MESSAGES_MIN) {
        messages = AM_CREDIT_MESSAGES_MIN;
    }
    return am_credit_pack(messages, bytes);
}

void am_credit_open(struct am_msg_peer *mp)
{
    uint64_t share = share_of(mp->msg);
    uint64_t bytes = am_credit_bytes(share);
    uint64_t first;

    mp->share = share;
    mp->owed_limit = AM_CREDIT_GUARDS |
                     am_credit_pack(am_credit_messages(share) / 4, bytes / 4);
    if (bytes > AM_CREDIT_FIRST_BYTES) {
        bytes = AM_CREDIT_FIRST_BYTES;
    }
    first = am_credit_pack(am_credit_messages(share) < AM_CREDIT_FIRST_MESSAGES
                                   ? am_credit_messages(share)
                                   : AM_CREDIT_FIRST_MESSAGES,
                           bytes);
    mp->credit = AM_CREDIT_GUARDS | first;
    mp->granted_messages = am_credit_messages(first);
    mp->granted_bytes = bytes;
    am_msg_control(mp, AM_MSG_H_HELLO, &first, 1);
}

bool am_credit_take(struct am_msg_peer *mp, uint64_t charge)
{
    uint64_t left = mp->credit - charge;

    if (!am_credit_covers(left)) {
        return false;
    }
    mp->credit = left;
    return true;
}

void am_credit_hold(struct am_msg_req *send)
{
    struct am_msg_peer *mp = send->mp;

    send->state = AM_REQ_HELD;
    am_list_push(&mp->held, &send->active);
    mp->eager_limit = 0;
    send->msg->stats[AM_MSG_CREDIT_HELD]++;
    if (!mp->stall_said) {
        mp->stall_said = true;
        am_msg_control(mp, AM_MSG_H_STALL, NULL, 0);
    }
}

void am_credit_unhold(struct am_msg_req *send)
{
    am_list_remove(&send->active);
    send->active.next = NULL;
    if (am_list_is_empty(&send->mp->held)) {
        send->mp->eager_limit = send->mp->eager_short;
        send->mp->stall_said = false; /* the next one held says it anew */
    }
}

/* Start what was held, in order, as far as the credit goes. */
static void release_held(struct am_msg_peer *mp)
{
    while (!am_list_is_empty(&mp->held)) {
        struct am_msg_req *send =
                am_container(mp->held.next, struct am_msg_req, active);

        if (!am_credit_covers(mp->credit - AM_CREDIT_MESSAGE)) {
            if (!mp->stall_said) {
                mp->stall_said = true;
                am_msg_control(mp, AM_MSG_H_STALL, NULL, 0);
            }
            return;
        }
        am_list_remove(&send->active);
        send->active.next = NULL;
        am_msg_send_start(send);
    }
    mp->eager_limit = mp->eager_short;
}

/* Pay what a smaller grant took away; the rest can be used. */
static uint64_t pay_debt(struct am_msg_peer *mp, uint64_t packed)
{
    uint64_t messages = am_credit_messages(packed);
    uint64_t bytes = am_credit_bytes(packed);
    uint64_t debt_messages = am_credit_messages(mp->debt);
    uint64_t debt_bytes = am_credit_bytes(mp->debt);
    uint64_t pay_messages = messages < debt_messages ? messages : debt_messages;
    uint64_t pay_bytes = bytes < debt_bytes ? bytes : debt_bytes;

    mp->debt -= am_credit_pack(pay_messages, pay_bytes);
    mp->granted_messages -= pay_messages;
    mp->granted_bytes -= pay_bytes;
    return packed - am_credit_pack(pay_messages, pay_bytes);
}

void am_credit_returned(struct am_msg_peer *mp, uint64_t packed)
{
    uint64_t have = mp->credit & ~AM_CREDIT_GUARDS;
    uint64_t messages = am_credit_messages(packed) + am_credit_messages(have);
    uint64_t bytes = am_credit_bytes(packed) + am_credit_bytes(have);

    if ((packed & AM_CREDIT_GUARDS) != 0 || messages > mp->granted_messages ||
        messages > AM_CREDIT_FIELD_MAX || bytes > mp->granted_bytes ||
        bytes > AM_CREDIT_BYTES_MAX) {
        mp->msg->stats[AM_MSG_RX_BAD_CREDIT]++;
        return;
    }
    if (am_unlikely(mp->debt != 0)) {
        packed = pay_debt(mp, packed);
    }
    mp->credit += packed;
    if (am_unlikely(!am_list_is_empty(&mp->held))) {
        mp->stall_said = false;
        release_held(mp);
    }
}

/* ---------------------------------------------------------- the receiver */

static void stall_over(struct am_msg_peer *mp)
{
    if (mp->stalled) {
        mp->stalled = false;
        mp->msg->trouble_count--;
    }
}

/* What may be given back of what is owed: an extra grant is kept first. */
static uint64_t owed_take(struct am_msg_peer *mp)
{
    uint64_t owed = mp->owed;

    mp->owed = 0;
    if (am_unlikely(mp->extra != 0)) {
        uint64_t messages = am_credit_messages(owed);
        uint64_t keep = messages < mp->extra ? messages : mp->extra;

        mp->extra -= keep;
        owed -= am_credit_pack(keep, 0);
    }
    return owed;
}

void am_credit_flush(struct am_msg_peer *mp)
{
    uint64_t packed = owed_take(mp);

    if (packed != 0) {
        stall_over(mp);
        mp->msg->stats[AM_MSG_CREDIT_SENT]++;
        am_msg_control(mp, AM_MSG_H_CREDIT, &packed, 1);
    }
}

void am_credit_ridden(struct am_msg_peer *mp, uint64_t packed)
{
    if (packed != 0) {
        mp->owed -= packed;
        stall_over(mp);
        mp->msg->stats[AM_MSG_CREDIT_RIDDEN]++;
    }
}

bool am_credit_admit(struct am_msg_peer *mp, uint64_t charge)
{
    uint64_t messages = am_credit_messages(mp->share);
    uint64_t bytes = am_credit_bytes(mp->share);

    messages = messages > AM_CREDIT_FIRST_MESSAGES ? messages
                                                   : AM_CREDIT_FIRST_MESSAGES;
    bytes = bytes > AM_CREDIT_FIRST_BYTES ? bytes : AM_CREDIT_FIRST_BYTES;
    if (mp->waiting_messages + am_credit_messages(charge) >
                messages + mp->extra ||
        mp->waiting_bytes + am_credit_bytes(charge) > bytes) {
        mp->msg->stats[AM_MSG_RX_BAD_CREDIT]++;
        return false;
    }
    mp->waiting_messages += am_credit_messages(charge);
    mp->waiting_bytes += am_credit_bytes(charge);
    return true;
}

/* One more set of envelopes for a peer whose messages are all held. */
static void grant_extra(struct am_msg_peer *mp)
{
    uint64_t messages = am_credit_messages(mp->share) / 4;
    uint64_t words[2] = {0, 0};

    /* more each time, so that a deep queue is reached in few grants */
    messages = mp->extra / 2 > messages ? mp->extra / 2 : messages;
    messages = messages > AM_CREDIT_EXTRA_MAX ? AM_CREDIT_EXTRA_MAX : messages;
    words[0] = am_credit_pack(messages, 0);
    if (mp->owed != 0) {
        am_credit_flush(mp);
        return;
    }
    stall_over(mp);
    mp->extra += messages;
    mp->msg->stats[AM_MSG_CREDIT_EXTRA]++;
    am_msg_control(mp, AM_MSG_H_GRANT, words, 2);
}

/* Does a peer that says so starve?  The messages of its extra grants are here
 * then: one that keeps asking without sending gets no more. */
static bool starves(const struct am_msg_peer *mp)
{
    return mp->owed != 0 || mp->waiting_messages >= mp->extra;
}

/* Runs once a poll while its peer is stalled and something is wanted.  It counts
 * anew when a message of this peer has gone, as that gives it credit; those of
 * others do not. */
static am_turn_t watch_run(struct am_op *op)
{
    struct am_msg_peer *mp = am_container(op, struct am_msg_peer, watch);
    struct am_msg *msg = mp->msg;

    if (!mp->stalled ||
        (am_match_posted_count(&msg->match) == 0 && !msg->probed)) {
        return AM_TURN_LAST;
    }
    if (mp->waiting_messages != mp->watch_waiting) {
        mp->watch_waiting = mp->waiting_messages;
        mp->watch_polls = 0;
    }
    if (++mp->watch_polls < AM_CREDIT_STARVE_POLLS) {
        return AM_TURN_MORE;
    }
    msg->probed = false;
    mp->watch_polls = 0;
    if (starves(mp)) {
        grant_extra(mp);
    }
    return mp->stalled ? AM_TURN_MORE : AM_TURN_LAST;
}

static void watch_start(struct am_msg_peer *mp)
{
    if (mp->stalled && !mp->watch.queued && !mp->peer->dead) {
        mp->watch_polls = 0;
        am_op_queue(&mp->watch, mp->peer, watch_run, AM_OP_BULK);
    }
}

void am_credit_watch(struct am_msg *msg)
{
    for (struct am_list *at = msg->peers.next; at != &msg->peers;
         at = at->next) {
        watch_start(am_container(at, struct am_msg_peer, link));
    }
}

/* ---------------------------------------------------------------- handlers */

static void credit_handle(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = am_msg_peer_of(msg, token->peer);

    if (mp == NULL || word_count != 1) {
        msg->stats[AM_MSG_RX_BAD_CREDIT]++;
        return;
    }
    am_credit_returned(mp, am_msg_word(words, 0));
}

/* The peer says what it assumes: correct it to what is granted here. */
static void hello_handle(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = am_msg_peer_of(msg, token->peer);
    uint64_t assumed, more, bytes_there, bytes_here, grant[2] = {0, 0};

    if (mp == NULL || word_count != 1 || mp->hello_seen) {
        msg->stats[AM_MSG_RX_BAD_CREDIT]++;
        return;
    }
    mp->hello_seen = true;
    assumed = am_msg_word(words, 0);
    more = am_credit_messages(assumed) > am_credit_messages(mp->share);
    grant[more] = am_credit_pack(
            more ? am_credit_messages(assumed) - am_credit_messages(mp->share)
                 : am_credit_messages(mp->share) - am_credit_messages(assumed),
            0);
    bytes_there = am_credit_bytes(assumed);
    bytes_here = am_credit_bytes(mp->share);
    if (bytes_there > bytes_here) {
        grant[1] += bytes_there - bytes_here;
    } else {
        grant[0] += bytes_here - bytes_there;
    }
    if (grant[0] != 0 || grant[1] != 0) {
        am_msg_control(mp, AM_MSG_H_GRANT, grant, 2);
    }
}

static void grant_handle(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = am_msg_peer_of(msg, token->peer);
    uint64_t add, less, have;

    if (mp == NULL || word_count != 2) {
        msg->stats[AM_MSG_RX_BAD_CREDIT]++;
        return;
    }
    add = am_msg_word(words, 0);
    less = am_msg_word(words, 1);
    have = mp->credit & ~AM_CREDIT_GUARDS;
    if (((add | less) & AM_CREDIT_GUARDS) != 0 ||
        am_credit_messages(add) + am_credit_messages(have) >
                AM_CREDIT_FIELD_MAX ||
        am_credit_bytes(add) + am_credit_bytes(have) > AM_CREDIT_BYTES_MAX ||
        am_credit_messages(less) > mp->granted_messages ||
        am_credit_bytes(less) > mp->granted_bytes) {
        msg->stats[AM_MSG_RX_BAD_CREDIT]++;
        return;
    }
    mp->granted_messages += am_credit_messages(add);
    mp->granted_bytes += am_credit_bytes(add);
    if (less != 0) {
        mp->debt = less;
        have = pay_debt(mp, have);
        mp->credit = AM_CREDIT_GUARDS | have;
    }
    am_credit_returned(mp, add);
}

static void stall_handle(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = am_msg_peer_of(msg, token->peer);

    if (mp == NULL) {
        return;
    }
    if (!mp->stalled) {
        mp->stalled = true;
        msg->trouble_count++;
    }
    if (am_match_posted_count(&msg->match) != 0) {
        watch_start(mp);
    }
}

void am_credit_register(struct am_msg *msg)
{
    am_handler_set(msg->ctx, AM_MSG_H_CREDIT, credit_handle, msg, "msg_credit");
    am_handler_set(msg->ctx, AM_MSG_H_HELLO, hello_handle, msg, "msg_hello");
    am_handler_set(msg->ctx, AM_MSG_H_GRANT, grant_handle, msg, "msg_grant");
    am_handler_set(msg->ctx, AM_MSG_H_STALL, stall_handle, msg, "msg_stall");
}

void am_credit_close(struct am_msg_peer *mp)
{
    am_op_cancel(&mp->watch);
    stall_over(mp);
    mp->owed = 0;
}
