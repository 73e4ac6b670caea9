/*
 * What a context has of each peer for collectives: credit both ways, and the
 * steps that wait for space to it.
 */
#include "config.h"

#include "am/cost.h"
#include "collectives/message.h"

#include <stdlib.h>

/* Before it is connected nobody knows. */
static bool learns(const struct am_peer *peer)
{
    const struct am_meter *meter = peer->ep == NULL ? NULL : peer->ep->meter;

    return peer->ep == NULL ? !am_ctx_env(peer->ctx)->simulated
                            : meter != NULL && meter->learns != 0;
}

bool am_coll_numbers_of(struct am_ctx *ctx, uint32_t peer_index,
                        const struct am_coll_config *config,
                        struct am_coll_numbers *numbers)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(ctx, peer_index, &status);
    const struct am_dev_perf *perf;
    size_t packet_max;

    if (peer == NULL || peer->dev == NULL) {
        return false;
    }
    packet_max = am_peer_payload_max(peer, AM_COLL_DATA_WORDS);
    perf = am_peer_perf(peer);
    *numbers = (struct am_coll_numbers){
            .perf = *perf,
            .follow =
                    learns(peer) || (perf->turn_ps > 0 && perf->round_ps == 0 &&
                                     perf->core_ranks > 1),
            .caps = peer->dev->attr.caps,
            .packet_bytes = packet_max,
            .ready_bytes = am_peer_ready_bytes(peer),
            .lane_bytes = peer->ep == NULL || peer->ep->pages == NULL
                                  ? 0
                                  : peer->ep->pages->most_bytes,
            .eager_max = config->eager_max < packet_max ? config->eager_max
                                                        : packet_max};
    return true;
}

struct am_coll_peer *am_coll_peer_of(struct am_coll *coll, struct am_peer *peer)
{
    struct am_coll_peer *cp = peer->slots[AM_COLL_SLOT];
    size_t packet_max;

    if (am_likely(cp != NULL)) {
        return cp;
    }
    cp = calloc(1, sizeof(*cp));
    if (cp == NULL) {
        return NULL;
    }
    packet_max = am_peer_payload_max(peer, AM_COLL_DATA_WORDS);
    cp->peer = peer;
    cp->coll = coll;
    cp->eager_max = coll->config->eager_max < packet_max
                            ? coll->config->eager_max
                            : packet_max;
    cp->credit = coll->window;
    am_list_init(&cp->waiting);
    am_list_init(&cp->noting);
    am_list_push(&coll->peers, &cp->link);
    peer->slots[AM_COLL_SLOT] = cp;
    return cp;
}

struct am_coll_peer *am_coll_member_peer(const struct am_coll_group *group,
                                         uint32_t member)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(group->coll->ctx,
                                       am_coll_member(group, member), &status);

    return peer == NULL ? NULL : am_coll_peer_of(group->coll, peer);
}

bool am_coll_peer_spares(struct am_coll_peer *cp, size_t bytes)
{
    struct am_peer *peer = cp->peer;
    const struct am_dev_perf *perf;

    if (bytes <= am_peer_ready_bytes(peer)) {
        return false;
    }
    perf = am_peer_perf(peer);
    return am_peer_spares(
            peer, bytes, am_cost_stream_ps(perf, bytes, bytes),
            am_cost_single_ps(perf, peer->dev->attr.caps, AM_COST_GET, bytes) +
                    2 * am_cost_short_ps(perf) + perf->turn_ps);
}

void am_coll_peer_free(struct am_peer *peer)
{
    struct am_coll_peer *cp = peer->slots[AM_COLL_SLOT];

    if (cp != NULL) {
        cp->is_closing = true;
        am_coll_held_drop(cp->coll, &cp->coll->strangers, cp);
        am_op_cancel(&cp->op);
        am_list_remove(&cp->link);
        free(cp);
        peer->slots[AM_COLL_SLOT] = NULL;
    }
}

void am_coll_peers_free(struct am_coll *coll)
{
    while (!am_list_is_empty(&coll->peers)) {
        am_coll_peer_free(
                am_container(coll->peers.next, struct am_coll_peer, link)
                        ->peer);
    }
}

/* Half the window in one message. */
static am_status_t credit_return(struct am_coll_peer *cp, struct am_op *op)
{
    uint64_t count = cp->consumed;
    am_status_t status;

    if (2 * count < cp->coll->window) {
        return AM_OK;
    }
    status = op != NULL
                     ? am_op_send(op, AM_COLL_H_CREDIT, 0, &count, 1, NULL, 0)
                     : am_peer_send(cp->peer, AM_COLL_H_CREDIT, 0, &count, 1,
                                    NULL, 0);
    if (status == AM_OK) {
        cp->unreturned -= cp->consumed;
        cp->consumed = 0;
        cp->coll->stats[AM_COLL_STAT_CREDITS]++;
    }
    return status;
}

void am_coll_peer_consumed(struct am_coll_peer *cp)
{
    cp->consumed++;
    if (cp->is_closing || cp->coll->is_closing) {
        return;
    }
    if (credit_return(cp, NULL) == AM_ERR_AGAIN) {
        am_coll_peer_queue(cp);
    }
}

/* The op: credit first, then the steps in order, until there is no space. */
static am_turn_t waiting_run(struct am_op *op)
{
    struct am_coll_peer *cp = am_container(op, struct am_coll_peer, op);
    am_status_t status = credit_return(cp, op);

    while (status != AM_ERR_AGAIN && !am_list_is_empty(&cp->waiting)) {
        struct am_list *at = am_list_pop(&cp->waiting);

        status = am_coll_step_offer(cp, am_container(at, struct am_step, link),
                                    op);
        if (status == AM_ERR_AGAIN) { /* back to the head */
            at->next = cp->waiting.next;
            at->prev = &cp->waiting;
            cp->waiting.next->prev = at;
            cp->waiting.next = at;
        }
    }
    return am_turn_of(status);
}

void am_coll_peer_queue(struct am_coll_peer *cp)
{
    if (!cp->op.queued) {
        am_op_queue(&cp->op, cp->peer, waiting_run, AM_OP_ORDERED);
    }
}
