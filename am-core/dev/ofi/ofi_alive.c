/*
 * Who is still there.
 *
 * A peer is dead when the provider says so of a packet to it.  Providers over
 * TCP do not say it of a peer that nothing is sent to, and of one that has ended
 * some try for ever to connect again.  So a peer that was not heard of for a
 * while is pinged, and when it does not answer, or the provider has no space for
 * what goes to it, its host is asked (ofi_name.c).  Who only computes is waited
 * for as long as AM_OFI_SILENCE says; who closes in order says BYE, and what is
 * sent to it after that is lost, as with other devices.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "dev/silence.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PS_PER_S       UINT64_C(1000000000000)
#define PING_PS        PS_PER_S         /* after so long without a word */
#define CHECK_PS       (PS_PER_S / 10)  /* between looks */
#define PROBE_WAIT_PS  PS_PER_S         /* between questions; doubles up to */
#define PROBE_MOST_PS  (64 * PS_PER_S)
#define LOST_PS        PS_PER_S /* the provider is waited for after a death */

/* ------------------------------------------------------------------- errors */

void ofi_ep_doom(struct ofi_dev *dev, struct ofi_ep *ep, int error)
{
    if (ep->dead) {
        return;
    }
    if (ep->left || dev->closing) { /* nobody is surprised */
        ofi_tx_forget(dev, ep);
        return;
    }
    ep->dead = true;
    ep->error = error;
    am_list_push(&dev->doomed, &ep->doomed_link);
}

/* What libam knows of the provider ofi_rxm, and supposes of no other. */
static bool is_rxm(const struct ofi_dev *dev)
{
    return strstr(dev->info->fabric_attr->prov_name, "ofi_rxm") != NULL;
}

/* Longer than a buffer, which no peer of this device sends.  A buffer of many packets
 * comes back by FI_MULTI_RECV; but ofi_rxm of libfabric 1.17 lets go of one that a
 * packet was too long for without saying so, and would in the end have none left. */
static void rx_failed(struct ofi_dev *dev, struct ofi_rx *rx, int error,
                      uint64_t flags)
{
    if (error == FI_ECANCELED) {
        return;
    }
    dev->stats[AM_DEV_STAT_RX_BAD]++;
    if (!dev->multi || (flags & FI_MULTI_RECV) != 0 ||
        (error == FI_ETRUNC && is_rxm(dev))) {
        rx->next_unposted = dev->unposted;
        dev->unposted = rx;
    }
}

void ofi_error_read(struct ofi_dev *dev)
{
    struct fi_cq_err_entry entry = {0};

    if (fi_cq_readerr(dev->cq, &entry, 0) != 1 || entry.op_context == NULL) {
        return;
    }
    switch (((struct ofi_context *)entry.op_context)->kind) {
    case OFI_KIND_TX: {
        struct ofi_tx *tx =
                am_container(entry.op_context, struct ofi_tx, context);

        ofi_ep_doom(dev, tx->ep, entry.err);
        ofi_tx_done(dev, tx);
        break;
    }
    case OFI_KIND_RMA:
        ofi_rma_done(dev,
                     am_container(entry.op_context, struct ofi_rma, context),
                     entry.err);
        break;
    default:
        rx_failed(dev,
                  am_container(entry.op_context, struct ofi_rx, context),
                  entry.err, entry.flags);
    }
}

/* Nothing goes to this peer any more, and what the provider still has is not waited
 * for.  Another context may have got the address meanwhile: it keeps its connection.
 * ofi_rxm cuts the connection to a peer when its address is removed, and gives back all
 * that it has of it, with FI_AV_REMOVE_CLEANUP, which ofi_lib.c sets.  Without that
 * variable, and with other providers, nothing is given back as long as the peer's host
 * is silent; sockets and shm would go on using what they have of an address that was
 * removed. */
static void ep_cut(struct ofi_dev *dev, struct ofi_ep *ep)
{
    ep->told = true;
    ep->told_ps = am_env_now(dev->env);
    dev->tx_lost += ep->flying;
    if (ep->flying + ep->rmas == 0 || !is_rxm(dev)) {
        return;
    }
    for (struct am_list *link = dev->eps.next; link != &dev->eps;
         link = link->next) {
        const struct ofi_ep *other = am_container(link, struct ofi_ep, link);

        if (other->to == ep->to && !other->dead) {
            return;
        }
    }
    (void)fi_av_remove(dev->av, &ep->to, 1, 0);
}

/* The upcall may let go of endpoints. */
void ofi_doomed_tell(struct ofi_dev *dev)
{
    while (!am_list_is_empty(&dev->doomed)) {
        struct ofi_ep *ep = am_container(am_list_pop(&dev->doomed),
                                         struct ofi_ep, doomed_link);
        char why[384], where[160];

        ofi_tx_forget(dev, ep);
        ep_cut(dev, ep);
        if (!ep->open) {
            continue;
        }
        snprintf(why, sizeof(why), "%s (%s): %s",
                 ofi_name_text(dev, ep->name, ep->name_bytes, where,
                               sizeof(where)),
                 dev->info->fabric_attr->prov_name,
                 dev->lib.strerror(ep->error));
        dev->base.up.dead(ep->base.user, why);
    }
}

/* ------------------------------------------------------------------ silence */

static void probe_end(struct ofi_ep *ep)
{
    if (ep->probe_fd >= 0) {
        close(ep->probe_fd);
        ep->probe_fd = -1;
    }
    ep->probe_wait_ps = PROBE_WAIT_PS;
}

/* Ask its host, now and then, and more and more rarely. */
static void ep_probe(struct ofi_dev *dev, struct ofi_ep *ep, uint64_t now_ps)
{
    if (ep->probe_fd < 0) {
        if (now_ps - ep->probe_ps < ep->probe_wait_ps) {
            return;
        }
        ep->probe_ps = now_ps;
        if (ep->probe_wait_ps < PROBE_MOST_PS) {
            ep->probe_wait_ps *= 2;
        }
    }
    if (ofi_name_is_gone(dev, ep->name, ep->name_bytes, &ep->probe_fd)) {
        ofi_ep_doom(dev, ep, FI_ECONNREFUSED);
    }
}

/* One that this end has let go of is not pinged, but what waits for it would wait
 * for ever if it had ended.  One that was not greeted yet knows nothing of this end,
 * and would not answer. */
static void ep_ask(struct ofi_dev *dev, struct ofi_ep *ep, uint64_t now_ps)
{
    if (ep->open && !ep->greets && !ep->pinged &&
        ofi_tx_control(ep, OFI_FLAG_PING)) {
        ep->pinged = true;
        ep->pinged_ps = now_ps;
    } else if (!ep->pinged || now_ps - ep->pinged_ps >= PING_PS) {
        ep_probe(dev, ep, now_ps);
    }
}

/* `away_ps` of the time since the last look this process heard nobody, and what came
 * meanwhile may be unread: that is no silence of the peer's, who is asked again. */
static void ep_look(struct ofi_dev *dev, struct ofi_ep *ep, uint64_t now_ps,
                    uint64_t away_ps)
{
    ep->heard_ps += away_ps;
    ep->pinged = ep->pinged && away_ps == 0;
    if (ep->heard) {
        ep->heard = ep->pinged = false;
        ep->heard_ps = now_ps;
        probe_end(ep);
    }
    if (now_ps - ep->heard_ps < PING_PS) {
        return;
    }
    ep_ask(dev, ep, now_ps);
    if (dev->config.silence_s != 0 && away_ps == 0 && !ep->greets &&
        (!ep->pinged || now_ps - ep->pinged_ps >= PING_PS) &&
        (now_ps - ep->heard_ps) / PS_PER_S >= dev->config.silence_s) {
        ofi_ep_doom(dev, ep, FI_ETIMEDOUT);
    }
}

void ofi_check(struct am_dev *base)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    uint64_t now_ps = am_env_now(dev->env);
    uint64_t gap_ps = now_ps - dev->check_ps;

    if (dev->forked || gap_ps < CHECK_PS) {
        return;
    }
    dev->check_ps = now_ps;
    for (struct am_list *link = dev->eps.next; link != &dev->eps;
         link = link->next) {
        struct ofi_ep *ep = am_container(link, struct ofi_ep, link);

        if ((ep->open || !am_list_is_empty(&ep->queue)) && !ep->dead &&
            !ep->left) {
            ep_look(dev, ep, now_ps, am_dev_away_ps(gap_ps, PING_PS));
        }
    }
    if (!am_list_is_empty(&dev->doomed)) {
        ofi_doomed_tell(dev);
    }
    if (!am_list_is_empty(&dev->rmas) && now_ps >= LOST_PS) {
        ofi_rmas_lose(dev, now_ps - LOST_PS);
    }
}
