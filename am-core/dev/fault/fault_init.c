/*
 * The fault device's upcalls, endpoints, set-up and close.  May call the lower
 * device and base only.
 */
#include "dev/defaults.h"
#include "dev/fault/fault_dev.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const fault_names[FAULT_COUNT] = {
        "drop", "dup", "reorder", "corrupt", "delay", "stall"};

static void fault_packet(void *user, uint32_t class, const void *hdr,
                         size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct fault_ep *ep = user;

    ep->wrap.base.dev->up.packet(ep->wrap.base.user, class, hdr, hdr_bytes,
                                 data, data_bytes);
}

static bool fault_ready(void *user)
{
    struct fault_ep *ep = user;
    const struct am_dev_up *up = &ep->wrap.base.dev->up;

    return fault_reply_ready(&ep->wrap.base) &&
           (up->ready == NULL || up->ready(ep->wrap.base.user));
}

static void fault_dead(void *user, const char *why)
{
    struct fault_ep *ep = user;

    ep->wrap.base.dev->up.dead(ep->wrap.base.user, why);
}

static struct am_wrap_ep *fault_ep_new(struct am_wrap_dev *wrap)
{
    struct fault_ep *ep = calloc(1, sizeof(*ep));

    if (ep == NULL) {
        return NULL;
    }
    am_list_push(&fault_of(&wrap->base)->eps, &ep->link);
    return &ep->wrap;
}

static void fault_ep_delete(struct am_wrap_ep *wrap_ep)
{
    struct fault_ep *ep = fault_ep_of(&wrap_ep->base);
    struct fault_dev *fault = fault_of(wrap_ep->base.dev);

    for (uint32_t i = 0; i < FAULT_HELD_ALL; i++) {
        if (fault->held[i].ep == ep) {
            fault_held_free(fault, &fault->held[i]);
        }
    }
    am_list_remove(&ep->link);
    free(ep);
}

static void fault_disconnect(struct am_dev_ep *base)
{
    struct fault_ep *ep = fault_ep_of(base);

    fault_of(base->dev)->wrap.lower->ops->disconnect(ep->wrap.lower);
    fault_ep_delete(&ep->wrap);
}

/* ------------------------------------------------------------- open, close */

static am_status_t fault_open(const struct am_dev_params *params,
                              struct am_dev **dev_p)
{
    return AM_ERR_UNSUPPORTED; /* wraps a device: am_fault_wrap */
}

static void fault_free(struct fault_dev *fault)
{
    for (uint32_t i = 0; i < FAULT_HELD_ALL; i++) {
        free(fault->held[i].bytes);
    }
    free(fault->spoilt);
    free(fault->filled);
    free(fault);
}

static void fault_close(struct am_dev *dev)
{
    struct fault_dev *fault = fault_of(dev);
    struct am_dev *lower = fault->wrap.lower;

    while (!am_list_is_empty(&fault->eps)) {
        struct fault_ep *ep =
                am_container(fault->eps.next, struct fault_ep, link);

        fault_disconnect(&ep->wrap.base);
    }
    lower->abandoned = dev->abandoned;
    lower->ops->close(lower);
    fault_free(fault);
}

static size_t fault_describe(struct am_dev *dev, char *text, size_t bytes)
{
    struct fault_dev *fault = fault_of(dev);
    struct am_dev *lower = fault->wrap.lower;
    size_t length = 0;

    for (uint32_t i = 0; i < FAULT_COUNT; i++) {
        int wrote = snprintf(length < bytes ? text + length : NULL,
                             length < bytes ? bytes - length : 0, "%s%s %llu",
                             i == 0 ? "faults: " : ", ", fault_names[i],
                             (unsigned long long)fault->counts[i]);

        length += wrote > 0 ? (size_t)wrote : 0;
    }
    if (length + 1 < bytes) {
        text[length++] = '\n';
        length += lower->ops->describe(lower, text + length, bytes - length);
    }
    return length;
}

static const struct am_dev_ops fault_ops = {
        .name = "fault",
        .open = fault_open,
        .close = fault_close,
        .address = am_wrap_address,
        .reachable = am_wrap_reachable,
        .connect_all = am_wrap_connect_all,
        .connected = am_wrap_connected,
        .drained = fault_drained,
        .connect = am_wrap_connect,
        .disconnect = fault_disconnect,
        .presence = am_wrap_presence,
        .send = fault_send,
        .send_fill = fault_send_fill,
        .send_words = am_dev_send_words,
        .reply_ready = fault_reply_ready,
        .poll = fault_poll,
        .mem_register = am_dev_no_mem_register,
        .mem_deregister = am_dev_no_mem_deregister,
        .alloc = am_dev_no_alloc,
        .release = am_dev_no_release,
        .put = am_dev_no_xfer,
        .get = am_dev_no_xfer,
        .fetch_add = am_dev_no_fetch_add,
        .map = am_dev_no_map,
        .wait = fault_wait,
        .watch = am_wrap_watch,
        .arm = fault_arm,
        .check = am_wrap_check,
        .describe = fault_describe,
};

am_status_t am_fault_wrap(struct am_dev *lower,
                          const struct am_dev_params *params,
                          const struct am_fault_spec *spec,
                          struct am_dev **dev_p)
{
    struct fault_dev *fault = calloc(1, sizeof(*fault));
    size_t bytes = lower->attr.packet_bytes_max;
    bool full;

    if (fault == NULL) {
        return AM_ERR_MEMORY;
    }
    fault->spoilt = malloc(bytes);
    fault->filled = malloc(bytes);
    full = fault->spoilt == NULL || fault->filled == NULL;
    for (uint32_t i = 0; i < FAULT_HELD_ALL; i++) {
        fault->held[i].bytes = malloc(bytes);
        full |= fault->held[i].bytes == NULL;
    }
    if (full) {
        fault_free(fault);
        return AM_ERR_MEMORY;
    }
    fault->wrap.base.ops = &fault_ops;
    fault->wrap.base.attr = lower->attr;
    fault->wrap.base.attr.caps &= AM_DEV_CAP_WAIT | AM_DEV_CAP_DROPS;
    fault->wrap.base.attr.perf.put = (struct am_linfn){0, 0};
    fault->wrap.base.attr.perf.get = (struct am_linfn){0, 0};
    fault->wrap.base.up = params->up;
    fault->wrap.lower = lower;
    fault->wrap.ep_new = fault_ep_new;
    fault->wrap.ep_delete = fault_ep_delete;
    fault->spec = *spec;
    am_prng_seed(&fault->prng, spec->seed + ((uint64_t)params->rank << 32));
    am_list_init(&fault->eps);
    lower->up = (struct am_dev_up){.arg = fault,
                                   .packet = fault_packet,
                                   .ready = fault_ready,
                                   .accept = am_wrap_accept,
                                   .dead = fault_dead};
    *dev_p = &fault->wrap.base;
    return AM_OK;
}
