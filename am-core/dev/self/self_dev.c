/*
 * The self device's ops.  Each endpoint is a way from this context back to
 * itself: what is sent on it arrives on it.  May call base only.
 */
#include "dev/self/self_dev.h"
#include "dev/defaults.h"

#include <stdlib.h>
#include <string.h>

/* Costs on a core of about 3 GHz with everything in its cache. */
static const struct am_dev_attr self_attr = {
        .caps = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED | AM_DEV_CAP_PUT |
                AM_DEV_CAP_GET | AM_DEV_CAP_FETCH_ADD,
        .packet_bytes_max = SELF_PACKET_BYTES,
        .reply_bytes_max = SELF_PACKET_BYTES,
        .hdr_bytes_max = SELF_HDR_BYTES,
        .depth = SELF_SLOTS,
        .perf = {.send_overhead = {20000, 50000},
                 .recv_overhead = {20000, 0},
                 .wire = {0, 0},
                 .gap_ps = 20000,
                 .put = {20000, 50000},
                 .get = {20000, 50000},
                 .shared_core = true},
};

static am_status_t self_open(const struct am_dev_params *params,
                             struct am_dev **dev_p)
{
    struct self_dev *self = calloc(1, sizeof(*self));

    if (self == NULL) {
        return AM_ERR_MEMORY;
    }
    self->base.ops = &am_dev_self_ops;
    self->base.attr = self_attr;
    self->base.up = params->up;
    self->env = params->env;
    self->nonce = params->nonce;
    self->stats = params->stats;
    am_list_init(&self->eps);
    *dev_p = &self->base;
    return AM_OK;
}

static void self_ep_free(struct self_ep *ep)
{
    for (int class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
        free(ep->queue[class].memory);
    }
    free(ep);
}

static void self_disconnect(struct am_dev_ep *base)
{
    struct self_ep *ep = am_container(base, struct self_ep, base);

    am_list_remove(&ep->link);
    self_ep_free(ep);
}

static void self_close(struct am_dev *dev)
{
    struct self_dev *self = self_of(dev);
    struct am_list *link;

    while ((link = am_list_pop(&self->eps)) != NULL) {
        self_ep_free(am_container(link, struct self_ep, link));
    }
    free(self->regions);
    free(self);
}

/* ---------------------------------------------------------------- addresses */

static size_t self_address(struct am_dev *dev, void *to, size_t bytes_max)
{
    struct self_dev *self = self_of(dev);

    if (bytes_max < sizeof(self->nonce)) {
        return 0;
    }
    memcpy(to, &self->nonce, sizeof(self->nonce));
    return sizeof(self->nonce);
}

static bool self_reachable(struct am_dev *dev, const void *address,
                           size_t bytes)
{
    struct self_dev *self = self_of(dev);

    return bytes == sizeof(self->nonce) &&
           memcmp(address, &self->nonce, sizeof(self->nonce)) == 0;
}

static am_status_t self_queue_open(struct self_queue *queue)
{
    size_t bytes = am_ring_bytes(SELF_SLOTS, sizeof(struct self_packet));
    uintptr_t at;

    /* Fresh from calloc it is an empty ring, with its pages not made yet. */
    queue->memory = calloc(1, bytes + AM_RING_ALIGN);
    if (queue->memory == NULL) {
        return AM_ERR_MEMORY;
    }
    at = ((uintptr_t)queue->memory + AM_RING_ALIGN - 1) &
         ~(uintptr_t)(AM_RING_ALIGN - 1);
    am_ring_attach(&queue->tx, (void *)at, SELF_SLOTS,
                   sizeof(struct self_packet), false);
    queue->rx = queue->tx;
    return AM_OK;
}

static am_status_t self_connect(struct am_dev *dev, const void *address,
                                size_t bytes, uint32_t rank, void *user,
                                struct am_dev_ep **ep_p)
{
    struct self_dev *self = self_of(dev);
    struct self_ep *ep;

    if (!self_reachable(dev, address, bytes)) {
        return AM_ERR_PEER;
    }
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    for (int class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
        if (self_queue_open(&ep->queue[class]) != AM_OK) {
            self_ep_free(ep);
            return AM_ERR_MEMORY;
        }
    }
    ep->base.dev = dev;
    ep->base.user = user;
    am_list_push(&self->eps, &ep->link);
    *ep_p = &ep->base;
    return AM_OK;
}

/* ------------------------------------------------------------------ packets */

static void *self_packet_data(struct self_packet *packet)
{
    return (uint8_t *)packet->body + packet->hdr_bytes;
}

/* A claimed slot, its header and data still to come; NULL and the status when
 * there is none. */
static struct self_packet *self_claim(struct am_dev_ep *base, uint32_t class,
                                      size_t hdr_bytes, size_t data_bytes,
                                      am_status_t *status_p)
{
    struct self_ep *ep = am_container(base, struct self_ep, base);
    struct self_dev *self = self_of(base->dev);
    struct self_packet *packet;

    if (hdr_bytes > SELF_HDR_BYTES ||
        data_bytes > SELF_PACKET_BYTES - hdr_bytes) {
        *status_p = AM_ERR_INVALID;
        return NULL;
    }
    packet = am_ring_claim_single(&ep->queue[class].tx);
    if (packet == NULL) {
        self->stats[AM_DEV_STAT_TX_AGAIN]++;
        *status_p = AM_ERR_AGAIN;
        return NULL;
    }
    packet->hdr_bytes = (uint32_t)hdr_bytes;
    packet->data_bytes = (uint32_t)data_bytes;
    self->stats[AM_DEV_STAT_TX_PACKETS]++;
    self->stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    self->stats[AM_DEV_STAT_COPY_BYTES] += hdr_bytes + data_bytes;
    *status_p = AM_OK;
    return packet;
}

/* The packet is written; the result is the send's. */
static am_status_t self_commit(struct am_dev_ep *base, uint32_t class,
                               struct self_packet *packet)
{
    struct self_ep *ep = am_container(base, struct self_ep, base);

    am_ring_commit(&ep->queue[class].tx, packet);
    return AM_OK;
}

/* The same when its data is still to be copied. */
static am_status_t self_commit_data(struct am_dev_ep *base, uint32_t class,
                                    struct self_packet *packet,
                                    const void *data, size_t data_bytes)
{
    if (data_bytes > 0) {
        memcpy(self_packet_data(packet), data, data_bytes);
    }
    return self_commit(base, class, packet);
}

static am_status_t self_send(struct am_dev_ep *ep, uint32_t class,
                             const void *hdr, size_t hdr_bytes,
                             const void *data, size_t data_bytes)
{
    am_status_t status;
    struct self_packet *packet;

    packet = self_claim(ep, class, hdr_bytes, data_bytes, &status);
    if (packet == NULL) {
        return status;
    }
    memcpy(packet->body, hdr, hdr_bytes);
    return self_commit_data(ep, class, packet, data, data_bytes);
}

static am_status_t self_send_words(struct am_dev_ep *ep, uint32_t class,
                                   uint64_t first, const uint64_t *words,
                                   const void *data, size_t data_bytes)
{
    uint32_t count = am_dev_word_count(first);
    am_status_t status;
    struct self_packet *packet;

    packet = self_claim(ep, class, sizeof(first) * (1 + (size_t)count),
                        data_bytes, &status);
    if (packet == NULL) {
        return status;
    }
    packet->body[0] = first;
    for (uint32_t i = 0; i < count; i++) {
        packet->body[1 + i] = words[i];
    }
    return self_commit_data(ep, class, packet, data, data_bytes);
}

static am_status_t self_send_fill(struct am_dev_ep *ep, uint32_t class,
                                  const void *hdr, size_t hdr_bytes,
                                  am_dev_fill_fn fill, void *arg,
                                  size_t data_bytes)
{
    am_status_t status;
    struct self_packet *packet;

    packet = self_claim(ep, class, hdr_bytes, data_bytes, &status);
    if (packet == NULL) {
        return status;
    }
    memcpy(packet->body, hdr, hdr_bytes);
    if (data_bytes > 0) {
        fill(arg, self_packet_data(packet), data_bytes);
    }
    return self_commit(ep, class, packet);
}

static bool self_reply_ready(struct am_dev_ep *base)
{
    struct self_ep *ep = am_container(base, struct self_ep, base);

    return am_ring_has_space(&ep->queue[AM_DEV_REPLY].tx);
}

static bool self_may_deliver(struct self_ep *ep, uint32_t class)
{
    const struct am_dev_up *up = &ep->base.dev->up;

    if (class == AM_DEV_REPLY) {
        return true;
    }
    return self_reply_ready(&ep->base) &&
           (up->ready == NULL || up->ready(ep->base.user));
}

/* Deliver at most `packets_max` packets of one class; how many there were. */
static uint32_t self_deliver(struct self_ep *ep, uint32_t class,
                             uint32_t packets_max)
{
    struct self_dev *self = self_of(ep->base.dev);
    struct am_ring *ring = &ep->queue[class].rx;
    struct self_packet *packet;
    uint32_t count = 0;

    while (count < packets_max && (packet = am_ring_take(ring)) != NULL &&
           self_may_deliver(ep, class)) {
        self->stats[AM_DEV_STAT_RX_PACKETS]++;
        self->stats[AM_DEV_STAT_RX_BYTES] +=
                packet->hdr_bytes + packet->data_bytes;
        self->base.up.packet(ep->base.user, class, packet->body,
                             packet->hdr_bytes, self_packet_data(packet),
                             packet->data_bytes);
        am_ring_release(ring);
        count++;
    }
    return count;
}

/* Both ends of a queue are this context's: a look at the slots is not needed
 * to know that nothing is there, as in nearly every poll. */
static bool self_is_idle(const struct self_ep *ep)
{
    const struct self_queue *reply = &ep->queue[AM_DEV_REPLY];
    const struct self_queue *request = &ep->queue[AM_DEV_REQUEST];

    return reply->tx.next == reply->rx.next &&
           request->tx.next == request->rx.next;
}

static int self_poll(struct am_dev *dev, uint32_t packets_max)
{
    struct self_dev *self = self_of(dev);
    struct am_list *link = self->eps.next, *next;
    uint32_t count = 0;

    for (; link != &self->eps && count < packets_max; link = next) {
        struct self_ep *ep = am_container(link, struct self_ep, link);

        if (!self_is_idle(ep)) {
            count += self_deliver(ep, AM_DEV_REPLY, packets_max - count);
            count += self_deliver(ep, AM_DEV_REQUEST, packets_max - count);
        }
        next = link->next;
        if (count >= packets_max && next != &self->eps) {
            /* Spent: the endpoints not reached come first the next time. */
            am_list_remove(&self->eps);
            am_list_push(next, &self->eps);
        }
    }
    return (int)count;
}

static bool self_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest)
{
    if (idle > 0) {
        am_env_relax(self_of(dev)->env, 0);
    }
    return false;
}

/* What comes, this context has sent: there is nothing to watch. */
static am_status_t self_arm(struct am_dev *dev, uint64_t *most_ns)
{
    struct self_dev *self = self_of(dev);

    for (struct am_list *link = self->eps.next; link != &self->eps;
         link = link->next) {
        if (!self_is_idle(am_container(link, struct self_ep, link))) {
            return AM_ERR_AGAIN;
        }
    }
    return AM_OK;
}

const struct am_dev_ops am_dev_self_ops = {
        .name = "self",
        .number = AM_DEV_NUMBER_SELF,
        .open = self_open,
        .close = self_close,
        .address = self_address,
        .reachable = self_reachable,
        .connect_all = am_dev_no_connect_all,
        .connected = am_dev_no_connected,
        .drained = am_dev_no_drained,
        .connect = self_connect,
        .disconnect = self_disconnect,
        .presence = am_dev_no_presence,
        .send = self_send,
        .send_fill = self_send_fill,
        .send_words = self_send_words,
        .reply_ready = self_reply_ready,
        .poll = self_poll,
        .mem_register = self_mem_register,
        .mem_deregister = self_mem_deregister,
        .alloc = am_dev_no_alloc,
        .release = am_dev_no_release,
        .put = self_put,
        .get = self_get,
        .fetch_add = self_fetch_add,
        .map = am_dev_no_map,
        .wait = self_wait,
        .arm = self_arm,
        .check = am_dev_no_check,
        .describe = am_dev_no_describe,
};
