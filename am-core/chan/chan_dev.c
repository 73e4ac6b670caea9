/*
 * The channel as a device: windows over a lower device, with checksums, memory
 * and time, which the window itself knows nothing of.  May call chan, dev and
 * base only.
 */
#include "chan/chan_dev.h"

#include "base/copy.h"
#include "dev/defaults.h"

#include <stdlib.h>
#include <string.h>

#define TIMER_LOOK_NS UINT64_C(100000) /* as fine as AM_CHAN_ACK_DELAY */

/* ---------------------------------------------------- outputs of the window */

static uint32_t chan_crc(const struct chan_dev *chan,
                         const struct am_chan_hdr *hdr, const void *data,
                         size_t data_bytes)
{
    const size_t skip = offsetof(struct am_chan_hdr, conn);
    uint32_t crc;

    crc = am_crc32c_add(&chan->crc32c, 0, (const uint8_t *)hdr + skip,
                        sizeof(*hdr) - skip);
    return data_bytes == 0
                   ? crc
                   : am_crc32c_add(&chan->crc32c, crc, data, data_bytes);
}

static am_status_t chan_transmit(void *arg, uint32_t class,
                                 struct am_chan_hdr *hdr, const void *data,
                                 uint32_t data_bytes)
{
    struct chan_ep *ep = arg;
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);
    am_status_t status;

    hdr->crc = chan_crc(chan, hdr, data, data_bytes);
    chan->wrap.lower->more = ep->window.more;
    chan->wrap.lower->words = ep->window.words;
    status = chan->wrap.lower->ops->send(ep->wrap.lower, class, hdr,
                                         CHAN_HDR_BYTES, data, data_bytes);
    chan->wrap.lower->more = chan->wrap.lower->words = false;
    /* An endpoint that is dead is reported by the device's own upcall. */
    return status == AM_OK ? AM_OK : AM_ERR_AGAIN;
}

static void chan_deliver(void *arg, uint32_t class, void *message,
                         uint32_t hdr_bytes, uint32_t message_bytes)
{
    struct chan_ep *ep = arg;
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);
    uint64_t copy[CHAN_UPPER_HDR_MAX / sizeof(uint64_t)];
    const void *hdr = message;

    if (ep->left) {
        return;
    }
    if ((uintptr_t)message % sizeof(uint64_t) != 0) {
        memcpy(copy, message, hdr_bytes);
        hdr = copy;
    }
    chan->wrap.base.up.packet(ep->wrap.base.user, class, hdr, hdr_bytes,
                              (uint8_t *)message + hdr_bytes,
                              message_bytes - hdr_bytes);
}

/* Both for the window and for the lower device. */
static bool chan_ready(void *arg)
{
    struct chan_ep *ep = arg;
    const struct am_dev_up *up = &ep->wrap.base.dev->up;

    if (ep->left) {
        return true; /* taken to be dropped */
    }
    return am_window_has_room(&ep->window, AM_DEV_REPLY) &&
           (up->ready == NULL || up->ready(ep->wrap.base.user));
}

const struct am_window_ops chan_window_ops = {
        .transmit = chan_transmit,
        .deliver = chan_deliver,
        .ready = chan_ready,
        .memory = chan_memory,
        .landing = chan_landing,
        .early = chan_early,
};

/* ------------------------------------------------------------------ sending */

void chan_place(struct chan_ep *ep, chan_place_t place)
{
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);

    if (ep->place == place) {
        return;
    }
    if (ep->place != CHAN_IDLE) {
        am_list_remove(&ep->busy_link);
    }
    if (place != CHAN_IDLE) {
        am_list_push(place == CHAN_BUSY ? &chan->busy : &chan->waiting,
                     &ep->busy_link);
    }
    ep->place = place;
}

/* Room for a message with its header written, or NULL and why. */
static void *chan_reserve(struct chan_ep *ep, uint32_t class, const void *hdr,
                          size_t hdr_bytes, size_t data_bytes,
                          am_status_t *status_p)
{
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);
    size_t bytes_max = chan->wrap.base.attr.packet_bytes_max;
    uint8_t *message;

    if (hdr_bytes > chan->wrap.base.attr.hdr_bytes_max ||
        hdr_bytes > bytes_max || data_bytes > bytes_max - hdr_bytes) {
        *status_p = AM_ERR_INVALID;
        return NULL;
    }
    if (ep->window.state == AM_WINDOW_GONE) {
        *status_p = AM_ERR_PEER;
        return NULL;
    }
    message = am_window_reserve(&ep->window, class,
                                (uint32_t)(hdr_bytes + data_bytes));
    if (message == NULL) {
        *status_p = AM_ERR_AGAIN;
        return NULL;
    }
    memcpy(message, hdr, hdr_bytes);
    chan->dev_stats[AM_DEV_STAT_COPY_BYTES] += hdr_bytes + data_bytes;
    *status_p = AM_OK;
    return message + hdr_bytes;
}

static void chan_commit(struct chan_ep *ep, uint32_t class, size_t hdr_bytes,
                        size_t data_bytes)
{
    am_window_commit(&ep->window, class, (uint32_t)hdr_bytes,
                     (uint32_t)(hdr_bytes + data_bytes));
    ep->used = true;
    chan_place(ep, CHAN_BUSY);
}

static am_status_t chan_send(struct am_dev_ep *base, uint32_t class,
                             const void *hdr, size_t hdr_bytes,
                             const void *data, size_t data_bytes)
{
    struct chan_ep *ep = chan_ep_of(base);
    am_status_t status;
    void *to = chan_reserve(ep, class, hdr, hdr_bytes, data_bytes, &status);

    if (to != NULL) {
        if (data_bytes > 0) {
            am_copy(to, data, data_bytes);
        }
        chan_commit(ep, class, hdr_bytes, data_bytes);
    }
    return status;
}

static am_status_t chan_send_fill(struct am_dev_ep *base, uint32_t class,
                                  const void *hdr, size_t hdr_bytes,
                                  am_dev_fill_fn fill, void *arg,
                                  size_t data_bytes)
{
    struct chan_ep *ep = chan_ep_of(base);
    am_status_t status;
    void *to = chan_reserve(ep, class, hdr, hdr_bytes, data_bytes, &status);

    if (to != NULL) {
        if (data_bytes > 0) {
            fill(arg, to, data_bytes);
        }
        chan_commit(ep, class, hdr_bytes, data_bytes);
    }
    return status;
}

static bool chan_reply_ready(struct am_dev_ep *base)
{
    return am_window_has_room(&chan_ep_of(base)->window, AM_DEV_REPLY);
}

/* ------------------------------------------------- upcalls of the lower device */

static void chan_packet(void *user, uint32_t class, const void *lower_hdr,
                        size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct chan_ep *ep = user;
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);
    struct am_chan_hdr hdr;

    if (hdr_bytes != sizeof(hdr)) {
        chan->stats[AM_CHAN_STAT_RX_BAD]++;
        return;
    }
    memcpy(&hdr, lower_hdr, sizeof(hdr)); /* a peer may still write the other */
    if (hdr.crc != chan_crc(chan, &hdr, data, data_bytes)) {
        chan->stats[AM_CHAN_STAT_RX_BAD_CRC]++;
        return;
    }
    if (hdr.type == AM_CHAN_DATA && hdr.class != class) {
        chan->stats[AM_CHAN_STAT_RX_BAD]++;
        return;
    }
    ep->heard = ep->used = true;
    am_window_packet(&ep->window, &hdr, data, data_bytes);
    chan->due = chan->due || ep->window.due != 0;
    if (!am_window_is_idle(&ep->window)) {
        chan_place(ep, CHAN_BUSY);
    }
}

/* chan_verdict may have told of it before. */
static void chan_dead(void *user, const char *why)
{
    struct chan_ep *ep = user;
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);
    bool told = ep->died;

    ep->died = told || ep->window.state != AM_WINDOW_GONE;
    am_window_gone(&ep->window);
    ep->window.parted = true;
    if (!ep->left && !told) {
        chan->wrap.base.up.dead(ep->wrap.base.user, why);
    }
}

const struct am_dev_up chan_up = {
        .packet = chan_packet,
        .ready = chan_ready,
        .accept = am_wrap_accept,
        .dead = chan_dead,
};

/* ----------------------------------------------------------------- progress */

/* After a packet upon which nothing has to be sent the caller, who may want to
 * answer it, does not wait for the tick: the next poll that finds nothing ticks. */
int chan_poll(struct am_dev *dev, uint32_t packets_max)
{
    struct chan_dev *chan = chan_of(dev);
    struct am_dev *lower = chan->wrap.lower;
    int count = lower->ops->poll(lower, packets_max);

    if (count == 0 || chan->due || ++chan->unticked == CHAN_UNTICKED_MAX) {
        chan->due = false;
        chan->unticked = 0;
        chan_tick(chan);
    }
    return count;
}

static bool all_drained(const struct am_list *list)
{
    for (struct am_list *link = list->next; link != list; link = link->next) {
        struct chan_ep *ep = am_container(link, struct chan_ep, busy_link);

        if (!am_window_is_drained(&ep->window)) {
            return false;
        }
    }
    return true;
}

static bool chan_drained(struct am_dev *dev)
{
    struct chan_dev *chan = chan_of(dev);
    struct am_dev *lower = chan->wrap.lower;

    return all_drained(&chan->busy) && all_drained(&chan->waiting) &&
           lower->ops->drained(lower);
}

static bool chan_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest)
{
    struct chan_dev *chan = chan_of(dev);
    struct am_dev *lower = chan->wrap.lower;

    /* Polls are counted, and timers seen by polls: somebody has to poll. */
    if (!am_list_is_empty(&chan->busy) || !am_list_is_empty(&chan->waiting)) {
        rest = AM_DEV_REST_BRIEF;
    }
    return lower->ops->wait(lower, idle, rest);
}

/* What is not acknowledged needs polls: by their number, or by the clock. */
static am_status_t chan_arm(struct am_dev *dev, uint64_t *most_ns)
{
    struct chan_dev *chan = chan_of(dev);

    if (!am_list_is_empty(&chan->busy) || !am_list_is_empty(&chan->waiting)) {
        if (!chan->window_params.timer) {
            return AM_ERR_AGAIN;
        }
        am_dev_sleep_less(most_ns, TIMER_LOOK_NS);
    }
    return am_dev_arm(chan->wrap.lower, most_ns);
}

bool chan_pass(struct am_dev *dev)
{
    struct chan_dev *chan = chan_of(dev);
    uint32_t polls = UINT32_MAX;

    if (chan->window_params.timer || am_list_is_empty(&chan->busy)) {
        return false;
    }
    for (struct am_list *link = chan->busy.next; link != &chan->busy;
         link = link->next) {
        struct chan_ep *ep = am_container(link, struct chan_ep, busy_link);
        uint32_t quiet = ep->left ? 0 : am_window_quiet_ticks(&ep->window);

        polls = quiet < polls ? quiet : polls;
    }
    polls = chan->env->ops->pass(chan->env, polls);
    for (struct am_list *link = chan->busy.next; link != &chan->busy;
         link = link->next) {
        am_window_pass(&am_container(link, struct chan_ep, busy_link)->window,
                       polls);
    }
    return true;
}

/* ---------------------------------------------------------------------- ops */

static am_status_t chan_open(const struct am_dev_params *params,
                             struct am_dev **dev_p)
{
    return AM_ERR_UNSUPPORTED; /* wraps a device: am_chan_wrap */
}

const struct am_dev_ops chan_ops = {
        .name = "chan",
        .open = chan_open,
        .close = chan_close,
        .address = am_wrap_address,
        .reachable = am_wrap_reachable,
        .connect_all = am_wrap_connect_all,
        .connected = am_wrap_connected,
        .drained = chan_drained,
        .connect = am_wrap_connect,
        .disconnect = chan_disconnect,
        .presence = chan_presence,
        .send = chan_send,
        .send_fill = chan_send_fill,
        .send_words = am_dev_send_words,
        .reply_ready = chan_reply_ready,
        .poll = chan_poll,
        .mem_register = am_dev_no_mem_register,
        .mem_deregister = am_dev_no_mem_deregister,
        .alloc = am_dev_no_alloc,
        .release = am_dev_no_release,
        .put = am_dev_no_xfer,
        .get = am_dev_no_xfer,
        .fetch_add = am_dev_no_fetch_add,
        .map = am_dev_no_map,
        .wait = chan_wait,
        .watch = am_wrap_watch,
        .arm = chan_arm,
        .pass = chan_pass,
        .check = chan_check,
        .describe = chan_describe,
};
