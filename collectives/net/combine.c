/*
 * Collectives by packets that the network combines.
 */
#include "config.h"

#include "collectives/coll.h"

#include <string.h>

enum {
    PACKET = AM_DEV_NETWORK_WORDS * sizeof(uint32_t)
};

/* ------------------------------------------------------------------ what it does */

struct row {
    am_coll_op_t op;
    am_coll_type_t type;
    am_dev_combine_t combine;
};

static const struct row rows[] = {
        {AM_COLL_SUM, AM_COLL_INT32, AM_DEV_COMBINE_ADD},
        {AM_COLL_SUM, AM_COLL_UINT32, AM_DEV_COMBINE_ADD},
        {AM_COLL_MAX, AM_COLL_INT32, AM_DEV_COMBINE_MAX},
        {AM_COLL_MAX, AM_COLL_UINT32, AM_DEV_COMBINE_MAX},
        {AM_COLL_MIN, AM_COLL_INT32, AM_DEV_COMBINE_MIN},
        {AM_COLL_MIN, AM_COLL_UINT32, AM_DEV_COMBINE_MIN},
};

/* Bits know no words: of integers of any length. */
static const struct row bits[] = {
        {AM_COLL_BAND, AM_COLL_INT8, AM_DEV_COMBINE_AND},
        {AM_COLL_BOR, AM_COLL_INT8, AM_DEV_COMBINE_OR},
        {AM_COLL_BXOR, AM_COLL_INT8, AM_DEV_COMBINE_XOR},
};

static bool is_of(const struct am_coll_operator *op, am_coll_op_t what,
                  am_coll_type_t type)
{
    struct am_coll_operator known;

    return am_coll_operator_get(what, type, &known) == AM_OK &&
           known.reduce == op->reduce;
}

am_dev_combine_t am_net_combine_of(const struct am_coll_operator *op)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (is_of(op, rows[i].op, rows[i].type)) {
            return rows[i].combine;
        }
    }
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        for (int type = AM_COLL_INT8; type <= AM_COLL_UINT64; type++) {
            if (is_of(op, bits[i].op, (am_coll_type_t)type)) {
                return bits[i].combine;
            }
        }
    }
    return AM_DEV_COMBINE_NONE;
}

/* The order of signed numbers is that of unsigned ones with the sign turned. */
static uint32_t flip_of(const struct am_coll_operator *op)
{
    bool is_signed = is_of(op, AM_COLL_MAX, AM_COLL_INT32) ||
                     is_of(op, AM_COLL_MIN, AM_COLL_INT32);

    return is_signed ? UINT32_C(1) << 31 : 0;
}

/* ------------------------------------------------------------- whose it is */

static struct am_dev *network_of(struct am_ctx *ctx)
{
    return am_ctx_network(ctx, AM_DEV_CAP_COLLECTIVE);
}

void am_net_numbers(struct am_ctx *ctx, struct am_coll_numbers *numbers)
{
    const struct am_dev *network = network_of(ctx);

    numbers->may_combine = network != NULL;
    if (network == NULL) {
        network = am_ctx_network(ctx, AM_DEV_CAP_MULTICAST);
    }
    if (network != NULL) {
        numbers->network = network->attr.network;
    }
    if (am_coll_of(ctx)->window == 0) { /* no message may be cast unasked */
        numbers->network.multicast_ps = 0;
    }
}

bool am_coll_has_network(struct am_ctx *ctx)
{
    return network_of(ctx) != NULL ||
           am_ctx_network(ctx, AM_DEV_CAP_MULTICAST) != NULL;
}

void am_net_offer(struct am_coll_group *group, struct am_coll_numbers *numbers)
{
    struct am_coll *coll = group->coll;

    if (group->size != am_size(coll->ctx)) {
        return;
    }
    am_net_numbers(coll->ctx, numbers);
    if (am_coll_member(group, 0) != 0 || coll->network_group != NULL ||
        coll->is_network_broken) {
        numbers->may_combine = false;
    }
    if (numbers->may_combine) {
        coll->network_group = group;
    }
}

void am_net_leave(struct am_coll_group *group)
{
    if (group->coll->network_group == group) {
        group->coll->network_group = NULL;
    }
}

/* ------------------------------------------------------------------ one request */

void am_net_queue(struct am_coll_req *req)
{
    const struct am_coll_call *call = &req->call;
    bool reduces =
            call->kind == AM_COLL_REDUCE || call->kind == AM_COLL_ALLREDUCE;
    struct am_coll *coll = req->coll;

    req->is_combined = true;
    req->net = (struct am_net_op){
            .op = reduces ? am_net_combine_of(&req->op) : AM_DEV_COMBINE_CAST,
            .meets = call->kind == AM_COLL_BARRIER,
            .flip = reduces ? flip_of(&req->op) : 0,
            .bytes = call->count * (reduces ? req->op.element_bytes : 1)};
    am_list_push(&coll->combining, &req->net.link);
    coll->stats[AM_COLL_STAT_NETWORK]++;
    am_module_wake(coll->ctx, AM_COLL_SLOT);
}

void am_net_end(struct am_coll_req *req)
{
    if (req->status != AM_OK) {
        req->coll->is_network_broken = true;
    }
    am_list_remove(&req->net.link);
}

static bool is_root(const struct am_coll_req *req)
{
    return req->group->rank == req->call.root;
}

/* Does this member send packets? */
static bool gives(const struct am_coll_req *req)
{
    return !req->net.meets &&
           (req->net.op != AM_DEV_COMBINE_CAST || is_root(req));
}

/* A reduction's result is the root's only; what comes of my own cast, I have. */
static void *place_of(const struct am_coll_req *req)
{
    bool wants = req->call.kind == AM_COLL_ALLREDUCE ||
                 is_root(req) == (req->call.kind == AM_COLL_REDUCE);

    return wants ? req->call.recv : NULL;
}

static size_t packet_bytes(const struct am_net_op *net, size_t at)
{
    return net->bytes - at < PACKET ? net->bytes - at : PACKET;
}

static void flip(uint32_t *words, uint32_t with)
{
    for (uint32_t i = 0; with != 0 && i < AM_DEV_NETWORK_WORDS; i++) {
        words[i] ^= with;
    }
}

/* Send the next packet of it.  False: there is none, or no room. */
static bool packet_send(struct am_coll_req *req, struct am_dev *network)
{
    const void *from = req->call.kind == AM_COLL_BCAST
                               ? req->call.recv
                               : am_given(&req->call);
    struct am_net_op *net = &req->net;
    uint32_t words[AM_DEV_NETWORK_WORDS] = {0};
    size_t bytes = packet_bytes(net, net->sent);

    if (net->sent == net->bytes) {
        return false;
    }
    memcpy(words, am_at(from, net->sent), bytes);
    flip(words, net->flip);
    if (network->ops->network->combine(network, net->op, words) != AM_OK) {
        return false;
    }
    net->sent += bytes;
    return true;
}

/* Take the next result, which is the first request's. */
static bool packet_take(struct am_coll_req *req, struct am_dev *network)
{
    struct am_net_op *net = &req->net;
    uint32_t words[AM_DEV_NETWORK_WORDS], op;
    size_t bytes = packet_bytes(net, net->taken);
    void *to = place_of(req);

    if (network->ops->network->combined(network, &op, words) != AM_OK) {
        return false;
    }
    if (op != net->op) {
        am_coll_req_fail(req, AM_ERR_INVALID);
        return false;
    }
    if (to != NULL) {
        flip(words, net->flip);
        memcpy(am_at_mutable(to, net->taken), words, bytes);
    }
    net->taken += bytes;
    return true;
}

/* Go on with the first.  Is it over? */
static bool first_run(struct am_coll_req *req, struct am_dev *network)
{
    const struct am_dev_network_ops *ops = network->ops->network;
    struct am_net_op *net = &req->net;

    if (net->meets) {
        net->has_come = net->has_come || ops->enter(network) == AM_OK;
        return net->has_come && ops->has_met(network);
    }
    while (net->taken < net->bytes && packet_take(req, network)) {
    }
    return net->taken == net->bytes;
}

/* All that is to be sent, in order, as far as there is room.  Casts and what is combined
 * overtake each other in the network: so a cast goes when all before it is over at its
 * root, who sends nothing else until it has come back.  What the others send ahead
 * waits for the root's part. */
static void all_send(struct am_coll *coll, struct am_dev *network)
{
    struct am_list *first = coll->combining.next;

    for (struct am_list *at = first; at != &coll->combining; at = at->next) {
        struct am_coll_req *req =
                am_container(at, struct am_coll_req, net.link);
        bool is_cast = req->net.op == AM_DEV_COMBINE_CAST;

        if (!gives(req) || req->net.bytes == 0) {
            continue;
        }
        if (!is_cast || at == first) {
            while (packet_send(req, network)) {
            }
        }
        if (is_cast || req->net.sent < req->net.bytes) {
            return;
        }
    }
}

static void all_fail(struct am_coll *coll)
{
    for (struct am_list *at = coll->combining.next; at != &coll->combining;
         at = at->next) {
        am_coll_req_fail(am_container(at, struct am_coll_req, net.link),
                         AM_ERR_INVALID);
    }
}

void am_net_combine_run(struct am_coll *coll)
{
    struct am_dev *network = network_of(coll->ctx);

    if (coll->is_network_broken) {
        all_fail(coll);
        return;
    }
    while (!am_list_is_empty(&coll->combining)) {
        struct am_coll_req *req = am_container(coll->combining.next,
                                               struct am_coll_req, net.link);

        all_send(coll, network);
        if (req->status != AM_OK || !first_run(req, network)) {
            return;
        }
        am_list_remove(&req->net.link);
        am_coll_req_complete(req, true);
    }
}
