/*
 * Lanes that are broken: somebody wrote a word that cannot be, or wrote over
 * one that should be there.  What can be seen as a packet is taken is seen
 * there (shm_rx.c); the rest is looked for here, now and then, off the way of
 * messages.  The two then part: each tells the layer above, names what is wrong,
 * and tells the other in the tail of its lane.
 *
 * Each word has one writer, who knows what it should say, and a reader, who
 * knows in which range it is.
 *
 *   stamp   the next slot's is this lap's or the last one's; it is this lap's
 *           when the sender's tail says that the slot has been sent
 *   head    grows, and is not beyond what has been sent; the receiver's own
 *   tail    grows, and is not beyond what the lane holds; the sender's own
 *   bitmap  the sender's bit is set: else it is set again
 *   rank    my own state and number: else they are written again
 *
 * What a packet holds, in its slot or in the ring, is not looked at.
 */
#include "config.h"

#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_wait.h"

#include <stdio.h>

void shm_break(struct shm_ep *ep, const char *what)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);

    if (ep->broken == NULL && !ep->dead) {
        ep->broken = what;
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        dev->broken = true;
        dev->polls |= 7; /* the next poll tells */
    }
}

/* The peer may look at its lanes every few polls, and may sleep. */
static void tell_peer(struct shm_ep *ep)
{
    atomic_store(&ep->tail_out->broken, 1);
    atomic_fetch_add(&ep->peer->attached, 1);
    shm_wake(ep);
}

void shm_breaks_tell(struct shm_dev *dev)
{
    dev->broken = false;
    for (struct shm_ep *ep = dev->eps; ep != NULL; ep = ep->next) {
        char why[120];

        if (ep->broken != NULL && !ep->dead) {
            tell_peer(ep);
            snprintf(why, sizeof(why),
                     "the shared memory lane to process %u is broken: %s",
                     ep->pid, ep->broken);
            shm_ep_cut(dev, ep, why);
        }
    }
}

/* ------------------------------------------------------------------ senders */

static uint64_t tx_position(const struct shm_tx *tx)
{
    return tx->stop_at - (uint64_t)(tx->stop - tx->next);
}

static void tx_tell(struct shm_ep *ep, uint32_t class)
{
    struct shm_tx *tx = &ep->tx[class];
    uint64_t tail = tx_position(tx);

    if (tail != tx->told) {
        tx->told = tail;
        am_publish64(&ep->tail_out->slots[class], tail);
    }
}

static void tx_look(struct shm_ep *ep, uint32_t class)
{
    struct shm_tx *tx = &ep->tx[class];

    if (am_observe64(&ep->tail_out->slots[class]) != tx->told) {
        shm_break(ep, "somebody else wrote what I have sent");
    } else if (!shm_tx_refresh(tx)) {
        shm_break(ep, "more or less was consumed than can be");
    }
    tx_tell(ep, class);
}

void shm_tails_publish(struct shm_dev *dev)
{
    for (struct shm_ep *ep = dev->eps; ep != NULL; ep = ep->next) {
        for (uint32_t class = 0; class < 2 && ep->tx_open; class ++) {
            tx_tell(ep, class);
        }
    }
}

/* ---------------------------------------------------------------- receivers */

static void rx_look(struct shm_ep *ep, uint32_t class)
{
    struct shm_rx *rx = &ep->rx[class];
    uint64_t position = rx->stop_at - (uint64_t)(rx->stop - rx->next);
    uint64_t tail = am_observe64(&ep->tail_in->slots[class]);
    /* after the tail: what it counts is stamped */
    uint32_t stamp = (uint32_t)am_observe64(&rx->next->ctl);
    bool is_sent = (int64_t)(tail - position) > 0;

    if (am_observe64(&rx->shared->slots) != rx->told_slots ||
        am_observe64(&rx->shared->data_bytes) != rx->told_data) {
        shm_break(ep, "somebody else wrote what I have consumed");
    } else if (tail - rx->tail > position + rx->mask + 1 - rx->tail) {
        shm_break(ep, "more or less was sent than can be");
    } else if (stamp != rx->lap && (is_sent || stamp != rx->lap - 1)) {
        shm_break(ep, "a slot's stamp is wrong");
    }
    rx->tail = tail;
    if (position != rx->told_slots) {
        shm_rx_publish(rx);
    }
}

/* --------------------------------------------------------------------- both */

void shm_lanes_look(struct shm_ep *ep)
{
    for (uint32_t class = 0; class < 2; class ++) {
        if (ep->tx_open) {
            tx_look(ep, class);
        }
        if (ep->rx_open) {
            rx_look(ep, class);
        }
    }
}

static void ep_look(struct shm_ep *ep)
{
    if (ep->dead) {
        if (ep->broken != NULL && atomic_load(&ep->tail_out->broken) == 0) {
            tell_peer(ep);
        }
        return;
    }
    shm_lanes_look(ep);
    if (ep->tx_open && !shm_ep_is_announced(ep)) {
        shm_ep_announce(ep);
    }
}

void shm_look(struct shm_dev *dev)
{
    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        if (atomic_load(&seg->me->state) != SHM_RANK_OPEN ||
            atomic_load(&seg->me->pid) != dev->pid) {
            atomic_store(&seg->me->state, SHM_RANK_OPEN);
            atomic_store(&seg->me->pid, dev->pid);
        }
        (void)shm_attach_new(dev, seg);
    }
    for (struct shm_ep *ep = dev->eps; ep != NULL; ep = ep->next) {
        if (ep->seg != NULL) {
            ep_look(ep);
        }
    }
    if (dev->broken) {
        shm_breaks_tell(dev);
    }
}
