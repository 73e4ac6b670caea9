/*
 * The inside of the channel device, shared by chan_dev.c (data path),
 * chan_time.c (ticks, timers, dead peers), chan_ep.c (endpoints) and
 * chan_init.c (set-up, close, description) only.
 */
#ifndef AM_CHAN_CHAN_DEV_H
#define AM_CHAN_CHAN_DEV_H

#include "chan/chan.h"
#include "chan/window.h"

#include "base/crc32c.h"
#include "base/list.h"
#include "base/twheel.h"
#include "dev/wrap.h"

/* Largest header of the layer above. */
#define CHAN_UPPER_HDR_MAX 256

/* Windows' memory kept for the next that needs some. */
#define CHAN_SPARES_MAX 8

#define CHAN_HDR_BYTES ((uint32_t)sizeof(struct am_chan_hdr))

#define CHAN_UNTICKED_MAX 4 /* polls with packets between two ticks */

struct chan_dev {
    struct am_wrap_dev wrap;
    struct am_env *env;
    uint64_t nonce, epoch_count;
    uint64_t linger_ps;
    uint64_t give_up_ps; /* 0: never */
    uint64_t *dev_stats;
    bool closing;           /* nobody is accepted any more */
    bool due;               /* a packet came after which a window must send */
    uint32_t unticked;      /* polls since the last tick */
    struct am_list eps;     /* chan_ep.link; those that left, too */
    struct am_list busy;    /* chan_ep.busy_link: ticked by every poll */
    struct am_list waiting; /* the same link: ticked when `look` fires */
    void *spares[CHAN_SPARES_MAX];
    uint32_t spare_count;
    uint64_t rest_ps; /* the last look at who rests */
    uint64_t look_ps; /* the last look at who says nothing, */
    uint64_t back_ps; /* and the last one that followed a while without any */
    struct am_twheel wheel;
    struct am_window_params window_params;
    uint64_t stats[AM_CHAN_STAT_COUNT];
    struct am_crc32c crc32c;
};

/* What has to be done for an endpoint's window, and so which list it is on. */
typedef enum {
    CHAN_IDLE,   /* nothing, until the next send or packet; on no list */
    CHAN_BUSY,   /* a tick with every poll */
    CHAN_WAITING /* a tick when its timer fires (timer variant) */
} chan_place_t;

struct chan_ep {
    struct am_wrap_ep wrap;
    chan_place_t place;
    bool left;  /* disconnected: no upcalls; goes when the peer knows */
    bool died;  /* the peer is gone, and had not said BYE */
    bool heard; /* something of the peer since `verdict` was started */
    bool used;  /* sent or received since chan_time.c looked who rests */
    uint64_t silent_ps; /* when its silence began, less what does not count */
    uint64_t left_ps;   /* when it was let go of */
    struct am_timer look;    /* when the window has something to do again */
    struct am_timer verdict; /* when a silent peer counts as dead */
    struct am_window window;
    struct am_list link, busy_link;
    /* what the window has asked for, or NULL */
    void *memory;
    void *landing[AM_DEV_CLASS_COUNT];
    void *early[AM_DEV_CLASS_COUNT];
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
void chan_place(struct chan_ep *ep, chan_place_t place);
int chan_poll(struct am_dev *dev, uint32_t packets_max);
/* As am_dev_ops says, where the environment can let polls pass. */
bool chan_pass(struct am_dev *dev);

/* chan_ep.c */
struct am_wrap_ep *chan_ep_new(struct am_wrap_dev *wrap);
void chan_ep_delete(struct am_wrap_ep *ep);
void *chan_memory(void *arg, size_t bytes);
void *chan_landing(void *arg, uint32_t class, uint32_t bytes);
void *chan_early(void *arg, uint32_t class, size_t bytes);
void chan_disconnect(struct am_dev_ep *base);
am_dev_presence_t chan_presence(struct am_dev_ep *base);
/* Lower endpoint and memory, at once. */
void chan_ep_end(struct chan_ep *ep);
/* Nothing went to or came from the peer for a while: its window's memory goes
 * back, unless there is something in it. */
void chan_ep_rest(struct chan_ep *ep);
void chan_spares_free(struct chan_dev *chan);
/* An endpoint that left: say BYE when drained, end it when that is known. */
void chan_ep_leave(struct chan_ep *ep);
/* Has it said BYE so often, and for so long, that nobody will answer? */
bool chan_ep_is_alone(const struct chan_ep *ep, uint64_t now_ps);

/* chan_time.c */
void chan_look(struct am_timer *timer);
void chan_verdict(struct am_timer *timer);
/* Tick the windows that need it. */
void chan_tick(struct chan_dev *chan);
/* The check op: the lower device's, and peers that say nothing for long. */
void chan_check(struct am_dev *dev);

/* chan_init.c */
uint32_t chan_epoch(struct chan_dev *chan); /* a new one for each endpoint */
void chan_close(struct am_dev *dev);
size_t chan_describe(struct am_dev *dev, char *text, size_t bytes);

#endif
