/*
 * The pipe device of pipe_dev.h.
 */
#include "support/pipe_dev.h"

#include "base/list.h"
#include "dev/defaults.h"

#include <stdlib.h>
#include <string.h>

struct pipe_packet {
    struct am_list link;
    size_t hdr_bytes, data_bytes;
    uint64_t hdr[32];
    uint8_t data[];
};

struct pipe_ep {
    struct am_dev_ep base;
    struct pipe_dev *node;
    uint32_t peer; /* node number */
    struct am_list in[AM_DEV_CLASS_COUNT];
    uint32_t in_count[AM_DEV_CLASS_COUNT];
};

struct pipe_dev {
    struct am_dev base;
    struct pipe_net *net;
    uint32_t number; /* in net->nodes */
    uint32_t rank;
    uint64_t *stats;
    struct pipe_ep *eps[PIPE_NODES_MAX];
    bool refused[PIPE_NODES_MAX];
};

/* -------------------------------------------------------------- environment */

static uint64_t net_now(struct am_env *env)
{
    return am_container(env, struct pipe_net, env)->now_ps;
}

static void net_charge(struct am_env *env, am_cost_t kind, uint64_t units)
{
}

static void net_relax(struct am_env *env, uint64_t deadline_ps)
{
    struct pipe_net *net = am_container(env, struct pipe_net, env);

    net->now_ps = deadline_ps > net->now_ps ? deadline_ps
                                            : net->now_ps + net->poll_ps;
}

static uint64_t net_random(struct am_env *env)
{
    return am_container(env, struct pipe_net, env)->random +=
           UINT64_C(0x9e3779b97f4a7c15);
}

static const struct am_env_ops net_env_ops = {.now = net_now,
                                              .charge = net_charge,
                                              .relax = net_relax,
                                              .random = net_random};

void pipe_net_init(struct pipe_net *net, uint32_t caps)
{
    *net = (struct pipe_net){.env = {.ops = &net_env_ops},
                             .now_ps = 1000,
                             .poll_ps = 100000,
                             .packet_bytes = 256,
                             .hdr_bytes = 200,
                             .depth = 64,
                             .caps = caps};
}

/* ------------------------------------------------------------- open, connect */

static struct pipe_dev *pipe_of(struct am_dev *dev)
{
    return am_container(dev, struct pipe_dev, base);
}

static struct pipe_ep *pipe_ep_of(struct am_dev_ep *ep)
{
    return am_container(ep, struct pipe_ep, base);
}

static am_status_t pipe_open(const struct am_dev_params *params,
                             struct am_dev **dev_p)
{
    struct pipe_net *net = am_container(params->env, struct pipe_net, env);
    struct pipe_dev *pipe = calloc(1, sizeof(*pipe));

    if (pipe == NULL) {
        return AM_ERR_MEMORY;
    }
    while (net->nodes[pipe->number] != NULL) {
        if (++pipe->number == PIPE_NODES_MAX) {
            free(pipe);
            return AM_ERR_MEMORY;
        }
    }
    pipe->net = net;
    pipe->rank = params->rank;
    pipe->stats = params->stats;
    pipe->base.ops = &pipe_dev_ops;
    pipe->base.up = params->up;
    pipe->base.attr = (struct am_dev_attr){
            .caps = net->caps,
            .packet_bytes_max = net->packet_bytes,
            .reply_bytes_max = net->packet_bytes,
            .hdr_bytes_max = net->hdr_bytes,
            .depth = net->depth,
            .poll_rest_max = net->poll_rest_max,
            .perf = net->perf,
    };
    net->nodes[pipe->number] = pipe;
    *dev_p = &pipe->base;
    return AM_OK;
}

static void pipe_disconnect(struct am_dev_ep *base)
{
    struct pipe_ep *ep = pipe_ep_of(base);
    struct am_list *link;

    for (int class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
        while ((link = am_list_pop(&ep->in[class])) != NULL) {
            free(am_container(link, struct pipe_packet, link));
        }
    }
    ep->node->eps[ep->peer] = NULL;
    free(ep);
}

static void pipe_close(struct am_dev *dev)
{
    struct pipe_dev *pipe = pipe_of(dev);

    for (uint32_t i = 0; i < PIPE_NODES_MAX; i++) {
        if (pipe->eps[i] != NULL) {
            pipe_disconnect(&pipe->eps[i]->base);
        }
    }
    pipe->net->nodes[pipe->number] = NULL;
    free(pipe);
}

static size_t pipe_address(struct am_dev *dev, void *to, size_t bytes_max)
{
    memcpy(to, &pipe_of(dev)->number, sizeof(uint32_t));
    return sizeof(uint32_t);
}

static bool pipe_reachable(struct am_dev *dev, const void *address,
                           size_t bytes)
{
    uint32_t number;

    if (bytes != sizeof(number)) {
        return false;
    }
    memcpy(&number, address, sizeof(number));
    return number < PIPE_NODES_MAX && pipe_of(dev)->net->nodes[number] != NULL;
}

static struct pipe_ep *pipe_ep_new(struct pipe_dev *pipe, uint32_t peer,
                                   void *user)
{
    struct pipe_ep *ep = calloc(1, sizeof(*ep));

    if (ep != NULL) {
        ep->base.dev = &pipe->base;
        ep->base.user = user;
        ep->node = pipe;
        ep->peer = peer;
        am_list_init(&ep->in[0]);
        am_list_init(&ep->in[1]);
        pipe->eps[peer] = ep;
    }
    return ep;
}

static am_status_t pipe_connect(struct am_dev *dev, const void *address,
                                size_t bytes, uint32_t rank, void *user,
                                struct am_dev_ep **ep_p)
{
    struct pipe_dev *pipe = pipe_of(dev);
    struct pipe_ep *ep;
    uint32_t number;

    if (!pipe_reachable(dev, address, bytes)) {
        return AM_ERR_PEER;
    }
    memcpy(&number, address, sizeof(number));
    ep = pipe->eps[number]; /* the peer's packets may have come before */
    if (ep == NULL) {
        ep = pipe_ep_new(pipe, number, user);
    }
    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    ep->base.user = user;
    *ep_p = &ep->base;
    return AM_OK;
}

/* ------------------------------------------------------------------ packets */

/* The peer's endpoint of this one; it accepts if it has none. */
static struct pipe_ep *pipe_peer(struct pipe_ep *ep)
{
    struct pipe_dev *node = ep->node->net->nodes[ep->peer];
    uint32_t me = ep->node->number;
    struct pipe_ep *peer;

    if (node == NULL || node->eps[me] != NULL || node->refused[me]) {
        return node == NULL ? NULL : node->eps[me];
    }
    peer = pipe_ep_new(node, me, NULL);
    if (peer != NULL) {
        peer->base.user = NULL; /* accepted by the peer's poll */
    }
    return peer;
}

static am_status_t pipe_push(struct am_dev_ep *base, uint32_t class,
                             const void *hdr, size_t hdr_bytes,
                             size_t data_bytes, struct pipe_packet **packet_p)
{
    struct pipe_ep *ep = pipe_ep_of(base), *peer;
    struct pipe_packet *packet;

    if (hdr_bytes > base->dev->attr.hdr_bytes_max ||
        hdr_bytes + data_bytes > base->dev->attr.packet_bytes_max) {
        return AM_ERR_INVALID;
    }
    peer = pipe_peer(ep);
    if (peer != NULL && peer->in_count[class] >= ep->node->net->depth) {
        ep->node->stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    packet = malloc(sizeof(*packet) + data_bytes);
    if (packet == NULL) {
        return AM_ERR_MEMORY;
    }
    packet->hdr_bytes = hdr_bytes;
    packet->data_bytes = data_bytes;
    memcpy(packet->hdr, hdr, hdr_bytes);
    ep->node->stats[AM_DEV_STAT_TX_PACKETS]++;
    ep->node->stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    ep->node->stats[AM_DEV_STAT_COPY_BYTES] += hdr_bytes + data_bytes;
    *packet_p = packet;
    if (peer == NULL) {
        am_list_init(&packet->link); /* nobody there: it goes nowhere */
        return AM_OK;
    }
    am_list_push(&peer->in[class], &packet->link);
    peer->in_count[class]++;
    return AM_OK;
}

static void pipe_pushed(struct pipe_packet *packet)
{
    if (am_list_is_empty(&packet->link)) {
        free(packet);
    }
}

static am_status_t pipe_send(struct am_dev_ep *ep, uint32_t class,
                             const void *hdr, size_t hdr_bytes,
                             const void *data, size_t data_bytes)
{
    struct pipe_packet *packet;
    am_status_t status =
            pipe_push(ep, class, hdr, hdr_bytes, data_bytes, &packet);

    if (status == AM_OK) {
        if (data_bytes > 0) {
            memcpy(packet->data, data, data_bytes);
        }
        pipe_pushed(packet);
    }
    return status;
}

static am_status_t pipe_send_fill(struct am_dev_ep *ep, uint32_t class,
                                  const void *hdr, size_t hdr_bytes,
                                  am_dev_fill_fn fill, void *arg,
                                  size_t data_bytes)
{
    struct pipe_packet *packet;
    am_status_t status =
            pipe_push(ep, class, hdr, hdr_bytes, data_bytes, &packet);

    if (status == AM_OK) {
        fill(arg, packet->data, data_bytes);
        pipe_pushed(packet);
    }
    return status;
}

static bool pipe_reply_ready(struct am_dev_ep *base)
{
    struct pipe_ep *ep = pipe_ep_of(base);
    struct pipe_ep *peer = pipe_peer(ep);

    return peer == NULL || peer->in_count[AM_DEV_REPLY] < ep->node->net->depth;
}

static bool pipe_may_deliver(struct pipe_ep *ep, uint32_t class)
{
    const struct am_dev_up *up = &ep->node->base.up;

    return class == AM_DEV_REPLY ||
           (pipe_reply_ready(&ep->base) &&
            (up->ready == NULL || up->ready(ep->base.user)));
}

static uint32_t pipe_drain(struct pipe_ep *ep, uint32_t class, uint32_t max)
{
    struct pipe_dev *pipe = ep->node;
    uint32_t count = 0;

    while (count < max && !am_list_is_empty(&ep->in[class]) &&
           pipe_may_deliver(ep, class)) {
        struct pipe_packet *packet = am_container(am_list_pop(&ep->in[class]),
                                                  struct pipe_packet, link);

        ep->in_count[class]--;
        pipe->stats[AM_DEV_STAT_RX_PACKETS]++;
        pipe->stats[AM_DEV_STAT_RX_BYTES] +=
                packet->hdr_bytes + packet->data_bytes;
        pipe->base.up.packet(ep->base.user, class, packet->hdr,
                             packet->hdr_bytes, packet->data,
                             packet->data_bytes);
        free(packet);
        count++;
    }
    return count;
}

/* An endpoint that a peer's packet made: does the layer above want it? */
static bool pipe_accept(struct pipe_dev *pipe, struct pipe_ep *ep)
{
    const struct pipe_dev *peer = pipe->net->nodes[ep->peer];

    if (ep->base.user == NULL) {
        ep->base.user =
                pipe->base.up.accept(pipe->base.up.arg, &ep->base,
                                     peer == NULL ? UINT32_MAX : peer->rank);
    }
    if (ep->base.user == NULL) {
        pipe->refused[ep->peer] = true;
        pipe_disconnect(&ep->base);
        return false;
    }
    return true;
}

static int pipe_poll(struct am_dev *dev, uint32_t packets_max)
{
    struct pipe_dev *pipe = pipe_of(dev);
    uint32_t count = 0;

    pipe->net->now_ps += pipe->net->poll_ps;
    pipe->net->polls++;
    for (uint32_t i = 0; i < PIPE_NODES_MAX; i++) {
        struct pipe_ep *ep = pipe->eps[i];

        if (ep == NULL || !pipe_accept(pipe, ep)) {
            continue;
        }
        count += pipe_drain(ep, AM_DEV_REPLY, packets_max - count);
        count += pipe_drain(ep, AM_DEV_REQUEST, packets_max - count);
    }
    return (int)count;
}

/* ------------------------------------------------------------------- memory */

/* The node that a key is of; another device's key has no such mark. */
static uint64_t pipe_mark(const struct pipe_dev *pipe)
{
    return UINT64_C(0x706970650000) | pipe->number; /* "pipe" */
}

static am_status_t pipe_mem_register(struct am_dev *dev, void *base,
                                     size_t bytes, uint32_t rights,
                                     struct am_dev_key *key)
{
    struct pipe_dev *pipe = pipe_of(dev);

    if ((dev->attr.caps & (AM_DEV_CAP_PUT | AM_DEV_CAP_GET)) == 0) {
        return AM_ERR_UNSUPPORTED;
    }
    *key = (struct am_dev_key){{(uintptr_t)base, bytes, pipe_mark(pipe)}};
    pipe->net->registered++;
    return AM_OK;
}

static void pipe_mem_deregister(struct am_dev *dev,
                                const struct am_dev_key *key)
{
    pipe_of(dev)->net->registered--;
}

/* The memory of the peer that a key names, as all nodes are one process; NULL,
 * counted, if it is not its key or [offset, offset + bytes) is not inside. */
static char *pipe_range(const struct pipe_ep *ep, const struct am_dev_key *key,
                        size_t offset, size_t bytes)
{
    const struct pipe_dev *peer = ep->node->net->nodes[ep->peer];

    if (peer == NULL || key->w[2] != pipe_mark(peer) || offset > key->w[1] ||
        bytes > key->w[1] - offset) {
        ep->node->stats[AM_DEV_STAT_RX_BAD]++;
        return NULL;
    }
    return (char *)(uintptr_t)key->w[0] + offset;
}

static am_status_t pipe_copy(struct am_dev_ep *base, const struct iovec *local,
                             uint32_t count, const struct am_dev_key *key,
                             size_t offset, bool put)
{
    struct pipe_ep *ep = pipe_ep_of(base);
    size_t bytes = 0;
    char *at;

    if ((base->dev->attr.caps & (put ? AM_DEV_CAP_PUT : AM_DEV_CAP_GET)) == 0) {
        return AM_ERR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < count; i++) {
        bytes += local[i].iov_len;
    }
    at = pipe_range(ep, key, offset, bytes);
    if (at == NULL) {
        return AM_ERR_INVALID;
    }
    for (uint32_t i = 0; i < count; i++) {
        memmove(put ? at : local[i].iov_base, put ? local[i].iov_base : at,
                local[i].iov_len);
        at += local[i].iov_len;
    }
    ep->node->stats[put ? AM_DEV_STAT_PUT : AM_DEV_STAT_GET]++;
    ep->node->stats[AM_DEV_STAT_COPY_BYTES] += bytes;
    return AM_DONE;
}

static am_status_t pipe_put(struct am_dev_ep *ep, const struct iovec *local,
                            uint32_t count, const struct am_dev_key *key,
                            size_t offset, am_dev_done_fn done, void *arg)
{
    return pipe_copy(ep, local, count, key, offset, true);
}

static am_status_t pipe_get(struct am_dev_ep *ep, const struct iovec *local,
                            uint32_t count, const struct am_dev_key *key,
                            size_t offset, am_dev_done_fn done, void *arg)
{
    return pipe_copy(ep, local, count, key, offset, false);
}

const struct am_dev_ops pipe_dev_ops = {
        .name = "pipe",
        .number = AM_DEV_NUMBER_TEST,
        .open = pipe_open,
        .close = pipe_close,
        .address = pipe_address,
        .reachable = pipe_reachable,
        .connect_all = am_dev_no_connect_all,
        .connected = am_dev_no_connected,
        .drained = am_dev_no_drained,
        .connect = pipe_connect,
        .disconnect = pipe_disconnect,
        .presence = am_dev_no_presence,
        .send = pipe_send,
        .send_fill = pipe_send_fill,
        .send_words = am_dev_send_words,
        .reply_ready = pipe_reply_ready,
        .poll = pipe_poll,
        .mem_register = pipe_mem_register,
        .mem_deregister = pipe_mem_deregister,
        .alloc = am_dev_no_alloc,
        .release = am_dev_no_release,
        .put = pipe_put,
        .get = pipe_get,
        .fetch_add = am_dev_no_fetch_add,
        .map = am_dev_no_map,
        .wait = am_dev_no_wait,
        .check = am_dev_no_check,
        .describe = am_dev_no_describe,
};
