/*
 * The inside of the channel device, shared by chan_dev.c (data path),
 * chan_ep.c (endpoints) and chan_init.c (set-up, close, description) only.
 */
#ifndef AM_CHAN_CHAN_DEV_H
#define AM_CHAN_CHAN_DEV_H

#include "chan/chan.h"
#include "chan/crc32c.h"
#include "chan/window.h"

#include "base/list.h"
#include "dev/wrap.h"

/* Largest header of the layer above. */
#define CHAN_UPPER_HDR_MAX 256

#define CHAN_HDR_BYTES ((uint32_t)sizeof(struct am_chan_hdr))

struct chan_dev {
    struct am_wrap_dev wrap;
    struct am_env *env;
    uint64_t nonce, epoch_count;
    uint64_t linger_ps;
    uint64_t *dev_stats;
    bool closing;        /* nobody is accepted any more */
    struct am_list eps;  /* chan_ep.link; those that left, too */
    struct am_list busy; /* chan_ep.busy_link: windows that need ticks */
    struct am_window_params window_params;
    uint64_t stats[AM_CHAN_STAT_COUNT];
    struct am_crc32c crc32c;
};

struct chan_ep {
    struct am_wrap_ep wrap;
    bool busy;
    bool left; /* disconnected: no upcalls; goes when the peer knows */
    struct am_window window;
    struct am_list link, busy_link;
    void *memory; /* of the window */
    void *landing[AM_DEV_CLASS_COUNT];
};

static inline struct chan_dev *chan_of(struct am_dev *dev)
{
    return (struct chan_dev *)am_wrap_of(dev);
}

static inline struct chan_ep *chan_ep_of(struct am_dev_ep *ep)
{
    return am_container(ep, struct chan_ep, wrap.base);
}

/* chan_dev.c */
extern const struct am_dev_ops chan_ops;
extern const struct am_dev_up chan_up; /* but for its arg */
extern const struct am_window_ops chan_window_ops;
void chan_busy(struct chan_ep *ep); /* have poll tick its window */
void chan_idle(struct chan_ep *ep); /* no longer */
int chan_poll(struct am_dev *dev, uint32_t packets_max);

/* chan_ep.c */
struct chan_ep *chan_ep_new(struct chan_dev *chan, void *user);
void chan_ep_delete(struct chan_ep *ep);
void *chan_landing(void *arg, uint32_t class, uint32_t bytes);
void *chan_accept(void *arg, struct am_dev_ep *lower, uint32_t rank);
am_status_t chan_connect(struct am_dev *dev, const void *address, size_t bytes,
                         uint32_t rank, void *user, struct am_dev_ep **ep_p);
void chan_disconnect(struct am_dev_ep *base);
/* Lower endpoint and memory, at once. */
void chan_ep_end(struct chan_ep *ep);
/* An endpoint that left: say BYE when drained, end it when that is known. */
void chan_ep_leave(struct chan_ep *ep);

/* chan_init.c */
uint32_t chan_epoch(struct chan_dev *chan); /* a new one for each endpoint */
void chan_close(struct am_dev *dev);
size_t chan_describe(struct am_dev *dev, char *text, size_t bytes);

#endif
