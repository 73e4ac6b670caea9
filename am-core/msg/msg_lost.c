/*
 * Receives that can match nothing any more, because their sender has died or
 * their context is given up.  Off every fast path: before the first death, or
 * am_msg_look, only am_msg_lost_check runs, once a second.
 *
 * After that, and after each receive that is posted later, the posted ones
 * are looked through once, from the next poll.  Who numbers the senders says
 * which of them are lost (am_msg_set_lost).
 */
#include "msg/msg_lost.h"

#include "msg/msg_credit.h"

#define MEET_PS    UINT64_C(1000000000000) /* 1 s */
#define MEET_RANKS 64 /* connected to in it, for who waits for any */

/* Sources are peer indices: what a program on libam alone does. */
static uint32_t lost_by_index(void *arg, am_msg_done_fn done, void *done_arg,
                              const struct am_msg_envelope *envelope,
                              const struct am_msg_mask *mask)
{
    struct am_ctx *ctx = arg;
    uint32_t dead = UINT32_MAX;

    if (mask->source == UINT32_MAX) {
        return envelope->source;
    }
    for (uint32_t rank = 0; mask->source == 0 && rank < am_size(ctx); rank++) {
        if (rank == am_rank(ctx)) {
            continue;
        }
        if (!am_peer_is_dead(ctx, rank)) {
            return UINT32_MAX;
        }
        dead = rank;
    }
    return dead;
}

void am_msg_lost_open(struct am_msg *msg)
{
    msg->lost = lost_by_index;
    msg->lost_arg = msg->ctx;
    am_list_init(&msg->lost_op.link);
}

void am_msg_set_lost(struct am_ctx *ctx, am_msg_lost_fn lost, void *arg)
{
    struct am_msg *msg = am_msg_of(ctx);

    msg->lost = lost;
    msg->lost_arg = arg;
}

/* How a receive ends that can match nothing any more; AM_ERR_AGAIN: it may
 * match.  *mp_p is the dead peer that it waits for. */
static am_status_t lost_how(struct am_msg *msg, am_msg_done_fn done,
                            void *done_arg,
                            const struct am_msg_envelope *envelope,
                            const struct am_msg_mask *mask,
                            struct am_msg_peer **mp_p)
{
    uint32_t index = msg->lost(msg->lost_arg, done, done_arg, envelope, mask);
    am_status_t status;
    struct am_peer *peer;

    *mp_p = NULL;
    if (index == AM_MSG_REVOKED) {
        return AM_ERR_CANCELLED;
    }
    if (index == UINT32_MAX || !am_peer_is_dead(msg->ctx, index)) {
        return AM_ERR_AGAIN;
    }
    peer = am_peer_get(msg->ctx, index, &status);
    if (peer != NULL) {
        *mp_p = am_msg_peer_of(msg, peer);
    }
    return *mp_p == NULL ? AM_ERR_AGAIN : AM_ERR_PEER;
}

static struct am_msg_mask mask_of(const struct am_match_node *node)
{
    return (struct am_msg_mask){(uint32_t)(node->key_mask >> 32),
                                (uint32_t)node->key_mask, node->tag_mask};
}

/* Is this posted receive lost?  Then it is the dead peer's from now on. */
static bool take_lost(void *arg, struct am_match_node *node)
{
    struct am_msg *msg = arg;
    struct am_msg_req *recv = am_container(node, struct am_msg_req, node);
    struct am_msg_envelope envelope = am_msg_envelope_of(node);
    struct am_msg_mask mask = mask_of(node);

    recv->status = lost_how(msg, recv->done, recv->arg, &envelope, &mask,
                            &recv->mp);
    if (recv->status == AM_ERR_AGAIN) {
        recv->status = AM_OK;
        return false;
    }
    recv->state = AM_REQ_RECEIVING;
    return true;
}

static am_turn_t lost_run(struct am_op *op)
{
    struct am_msg *msg = am_container(op, struct am_msg, lost_op);
    struct am_list lost, *at;

    am_list_init(&lost);
    am_match_take_posted(&msg->match, take_lost, msg, &lost);
    while ((at = am_list_pop(&lost)) != NULL) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, link);

        struct am_msg_req *recv = am_container(node, struct am_msg_req, node);

        am_msg_recv_finish(recv, recv->status);
    }
    return AM_TURN_LAST;
}

static void look(struct am_msg *msg)
{
    if (msg->look_peer != NULL && !msg->lost_op.queued &&
        am_match_posted_count(&msg->match) != 0) {
        am_op_queue(&msg->lost_op, msg->look_peer, lost_run, AM_OP_BULK);
    }
}

/* Any peer will do, as the look is queued as work for it, but it must stay: a rank of the
 * job. */
void am_msg_lost_dead(struct am_msg *msg)
{
    am_status_t status;

    if (msg->look_peer == NULL) {
        msg->look_peer = am_peer_get(msg->ctx, am_rank(msg->ctx), &status);
    }
    msg->trouble_count++;
    look(msg);
}

/* Connect to a rank that somebody waits for. */
static void meet_rank(struct am_msg *msg, uint32_t index)
{
    am_status_t status;

    if (index < am_size(msg->ctx)) {
        (void)am_peer_get(msg->ctx, index, &status);
    }
}

/* Takes none. */
static bool meet(void *arg, struct am_match_node *node)
{
    struct am_msg *msg = arg;
    struct am_msg_req *recv = am_container(node, struct am_msg_req, node);
    struct am_msg_envelope envelope = am_msg_envelope_of(node);
    struct am_msg_mask mask = mask_of(node);

    meet_rank(msg, msg->lost(msg->lost_arg, recv->done, recv->arg, &envelope,
                             &mask));
    msg->waits_any = msg->waits_any || mask.source == 0;
    return false;
}

/* The last probe that found nothing: its source may be numbered in a way that
 * only the receive which would follow tells (am_msg_set_lost). */
static void meet_probed(struct am_msg *msg)
{
    uint32_t index = msg->lost(msg->lost_arg, NULL, NULL, &msg->probe,
                               &msg->probe_mask);

    meet_rank(msg, index);
    msg->waits_any = msg->waits_any || index >= am_size(msg->ctx);
    msg->probes = false;
}

/* The next of those who are not connected yet, in the order of their ranks. */
static void meet_some(struct am_msg *msg)
{
    uint32_t count = 0, size = am_size(msg->ctx);

    for (; msg->met_rank < size && count < MEET_RANKS; msg->met_rank++) {
        if (msg->met_rank != am_rank(msg->ctx)) {
            meet_rank(msg, msg->met_rank);
            count++;
        }
    }
}

void am_msg_lost_check(struct am_ctx *ctx)
{
    struct am_msg *msg = am_msg_of(ctx);
    uint64_t now_ps = am_env_now(msg->env);
    struct am_list none;

    if (now_ps - msg->met_ps < MEET_PS) {
        return;
    }
    msg->met_ps = now_ps;
    msg->waits_any = false;
    am_list_init(&none);
    am_match_take_posted(&msg->match, meet, msg, &none);
    if (msg->probes) {
        meet_probed(msg);
    }
    if (msg->waits_any) {
        meet_some(msg);
    }
}

void am_msg_look(struct am_ctx *ctx)
{
    struct am_msg *msg = am_msg_of(ctx);

    if (msg->look_peer == NULL) {
        am_msg_lost_dead(msg);
    } else {
        look(msg);
    }
}

void am_msg_trouble(struct am_msg *msg)
{
    am_credit_watch(msg);
    look(msg);
}

am_status_t am_msg_probe_trouble(struct am_msg *msg,
                                 const struct am_msg_envelope *envelope,
                                 const struct am_msg_mask *mask)
{
    struct am_msg_peer *dead;

    msg->probed = true;
    am_credit_watch(msg);
    return msg->look_peer == NULL
                   ? AM_ERR_AGAIN
                   : lost_how(msg, NULL, NULL, envelope, mask, &dead);
}
