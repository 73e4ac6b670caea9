/*
 * The fault device's data path.  Faults happen on the way out: a send is stalled,
 * lost, spoilt, doubled or held back, in this order of draws.  May call the
 * lower device and base only.
 *
 *   send -> stalled? -> lost? -> spoilt? -> held back? -> lower send (twice?)
 *                                             |  held[]
 *   poll ---------------------------------> let go -> lower send
 */
#include "dev/fault/fault_dev.h"

#include <string.h>

#define FAULT_REORDER_SENDS 4 /* a reordered packet lets 1..4 others pass ... */
#define FAULT_REORDER_POLLS 64 /* ... or goes after so many polls */
#define FAULT_FLIPS_MAX     4  /* a spoilt packet has 1..4 bits flipped */

/* -------------------------------------------------------------------- draws */

/* A number in 0..count-1. */
static uint32_t draw_below(struct fault_dev *fault, uint32_t count)
{
    return (uint32_t)am_prng_below(&fault->prng, count);
}

static bool happens(struct fault_dev *fault, uint32_t kind,
                    struct am_ratio ratio)
{
    bool yes = am_prng_chance(&fault->prng, ratio);

    fault->counts[kind] += yes;
    return yes;
}

/* --------------------------------------------------------------- held packets */

static bool hold(struct fault_ep *ep, uint32_t class, const void *hdr,
                 size_t hdr_bytes, const void *data, size_t data_bytes,
                 uint32_t sends, uint32_t polls)
{
    struct fault_dev *fault = fault_of(ep->wrap.base.dev);

    for (uint32_t i = 0; i < FAULT_HELD_MAX; i++) {
        struct fault_held *held = &fault->held[class * FAULT_HELD_MAX + i];

        if (held->ep != NULL) {
            continue;
        }
        *held = (struct fault_held){.ep = ep,
                                    .class = class,
                                    .hdr_bytes = (uint32_t)hdr_bytes,
                                    .data_bytes = (uint32_t)data_bytes,
                                    .sends = sends,
                                    .polls = polls,
                                    .bytes = held->bytes};
        memcpy(held->bytes, hdr, hdr_bytes);
        if (data_bytes > 0) {
            memcpy(held->bytes + hdr_bytes, data, data_bytes);
        }
        fault->held_count[class]++;
        return true;
    }
    return false;
}

void fault_held_free(struct fault_dev *fault, struct fault_held *held)
{
    held->ep = NULL;
    fault->held_count[held->class]--;
}

/* Send the held packets whose time has come; the rest waits for space. */
static void let_go(struct fault_dev *fault)
{
    struct am_dev *lower = fault->wrap.lower;

    for (uint32_t i = 0; i < FAULT_HELD_ALL && fault_holds(fault); i++) {
        struct fault_held *held = &fault->held[i];

        if (held->ep == NULL || (held->sends != 0 && held->polls != 0)) {
            continue;
        }
        if (lower->ops->send(held->ep->wrap.lower, held->class, held->bytes,
                             held->hdr_bytes, held->bytes + held->hdr_bytes,
                             held->data_bytes) != AM_ERR_AGAIN) {
            fault_held_free(fault, held);
        }
    }
}

/* ------------------------------------------------------------------ sending */

/* Copy the packet and flip bits anywhere in it. */
static void spoil(struct fault_dev *fault, const void **hdr_p, size_t hdr_bytes,
                  const void **data_p, size_t data_bytes)
{
    uint32_t flips = 1 + draw_below(fault, FAULT_FLIPS_MAX);
    uint8_t *to = fault->spoilt;

    if (hdr_bytes + data_bytes == 0) {
        return;
    }
    memcpy(to, *hdr_p, hdr_bytes);
    if (data_bytes > 0) {
        memcpy(to + hdr_bytes, *data_p, data_bytes);
    }
    for (uint32_t i = 0; i < flips; i++) {
        uint32_t bit =
                draw_below(fault, (uint32_t)(hdr_bytes + data_bytes) * 8);

        to[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    *hdr_p = to;
    *data_p = to + hdr_bytes;
}

/* The packet is neither stalled nor lost. */
static am_status_t fault_pass(struct fault_ep *ep, uint32_t class,
                              const void *hdr, size_t hdr_bytes,
                              const void *data, size_t data_bytes)
{
    struct fault_dev *fault = fault_of(ep->wrap.base.dev);
    struct am_dev *lower = fault->wrap.lower;
    am_status_t status;

    if (happens(fault, FAULT_CORRUPT, fault->spec.corrupt)) {
        spoil(fault, &hdr, hdr_bytes, &data, data_bytes);
    }
    if (happens(fault, FAULT_DELAY, fault->spec.delay) &&
        hold(ep, class, hdr, hdr_bytes, data, data_bytes, UINT32_MAX,
             fault->spec.delay_polls)) {
        return AM_OK;
    }
    if (happens(fault, FAULT_REORDER, fault->spec.reorder) &&
        hold(ep, class, hdr, hdr_bytes, data, data_bytes,
             2 + draw_below(fault, FAULT_REORDER_SENDS), FAULT_REORDER_POLLS)) {
        return AM_OK;
    }
    status = lower->ops->send(ep->wrap.lower, class, hdr, hdr_bytes, data,
                              data_bytes);
    if (status == AM_OK &&
        happens(fault, FAULT_DUPLICATE, fault->spec.duplicate)) {
        lower->ops->send(ep->wrap.lower, class, hdr, hdr_bytes, data,
                         data_bytes);
    }
    return status;
}

/* One more send: it passes the reordered packets of its endpoint. */
static void count_send(struct fault_dev *fault, const struct fault_ep *ep)
{
    for (uint32_t i = 0; i < FAULT_HELD_ALL && fault_holds(fault); i++) {
        struct fault_held *held = &fault->held[i];

        if (held->ep == ep && held->sends != UINT32_MAX && held->sends > 0) {
            held->sends--;
        }
    }
    let_go(fault);
}

am_status_t fault_send(struct am_dev_ep *base, uint32_t class, const void *hdr,
                       size_t hdr_bytes, const void *data, size_t data_bytes)
{
    struct fault_ep *ep = fault_ep_of(base);
    struct fault_dev *fault = fault_of(base->dev);
    am_status_t status = AM_OK;

    if (hdr_bytes > base->dev->attr.hdr_bytes_max ||
        data_bytes > base->dev->attr.packet_bytes_max - hdr_bytes) {
        return AM_ERR_INVALID;
    }
    if (ep->stall_polls[class] != 0) {
        return AM_ERR_AGAIN;
    }
    if (!happens(fault, FAULT_DROP, fault->spec.drop)) {
        status = fault_pass(ep, class, hdr, hdr_bytes, data, data_bytes);
    }
    if (status == AM_OK) {
        count_send(fault, ep);
        /* Drawn now for the next send, so that reply_ready can know. */
        if (happens(fault, FAULT_STALL, fault->spec.stall)) {
            ep->stall_polls[class] = fault->spec.stall_polls;
        }
    }
    return status;
}

am_status_t fault_send_fill(struct am_dev_ep *base, uint32_t class,
                            const void *hdr, size_t hdr_bytes,
                            am_dev_fill_fn fill, void *arg, size_t data_bytes)
{
    struct fault_ep *ep = fault_ep_of(base);
    struct fault_dev *fault = fault_of(base->dev);
    am_status_t status;

    if (hdr_bytes > base->dev->attr.hdr_bytes_max ||
        data_bytes > base->dev->attr.packet_bytes_max - hdr_bytes) {
        return AM_ERR_INVALID;
    }
    if (ep->stall_polls[class] != 0 ||
        fault->held_count[class] == FAULT_HELD_MAX) {
        return AM_ERR_AGAIN;
    }
    fill(arg, fault->filled, data_bytes);
    status = fault_send(base, class, hdr, hdr_bytes, fault->filled, data_bytes);
    if (status == AM_ERR_AGAIN) {
        /* It is filled, so it is sent: as soon as there is space. */
        hold(ep, class, hdr, hdr_bytes, fault->filled, data_bytes, 0, 0);
        status = AM_OK;
    }
    return status;
}

bool fault_reply_ready(struct am_dev_ep *base)
{
    struct fault_ep *ep = fault_ep_of(base);
    struct fault_dev *fault = fault_of(base->dev);
    struct am_dev *lower = fault->wrap.lower;

    return ep->stall_polls[AM_DEV_REPLY] == 0 &&
           fault->held_count[AM_DEV_REPLY] < FAULT_HELD_MAX &&
           lower->ops->reply_ready(ep->wrap.lower);
}

int fault_poll(struct am_dev *dev, uint32_t packets_max)
{
    struct fault_dev *fault = fault_of(dev);
    struct am_dev *lower = fault->wrap.lower;

    for (struct am_list *link = fault->eps.next; link != &fault->eps;
         link = link->next) {
        struct fault_ep *ep = am_container(link, struct fault_ep, link);

        for (uint32_t class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
            ep->stall_polls[class] -= ep->stall_polls[class] > 0;
        }
    }
    for (uint32_t i = 0; i < FAULT_HELD_ALL && fault_holds(fault); i++) {
        fault->held[i].polls -= fault->held[i].polls > 0;
    }
    let_go(fault);
    return lower->ops->poll(lower, packets_max);
}

bool fault_drained(struct am_dev *dev)
{
    struct fault_dev *fault = fault_of(dev);
    struct am_dev *lower = fault->wrap.lower;

    return !fault_holds(fault) && lower->ops->drained(lower);
}

am_status_t fault_arm(struct am_dev *dev, uint64_t *most_ns)
{
    struct fault_dev *fault = fault_of(dev);

    return fault_holds(fault) ? AM_ERR_AGAIN
                              : am_dev_arm(fault->wrap.lower, most_ns);
}

bool fault_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest)
{
    struct fault_dev *fault = fault_of(dev);
    struct am_dev *lower = fault->wrap.lower;

    /* Held packets are let go by polls: asleep there are none. */
    return lower->ops->wait(lower, idle,
                            fault_holds(fault) ? AM_DEV_REST_BRIEF : rest);
}
