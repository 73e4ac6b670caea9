/*
 * The channel's time: which windows are ticked when, how long a peer that owes
 * an answer may say nothing, and whose memory goes back.  May call chan, dev and
 * base only.
 *
 * A window of the nack variant counts polls, so every poll ticks it while it has
 * anything to do, and tells it the time, since polls may be far apart.  One of the
 * timer variant that only waits (for an acknowledgement, or to send one) goes on
 * the timer wheel until its time: a poll costs the same however many peers are
 * waited for.
 */
#include "chan/chan_dev.h"

#include "dev/silence.h"

#include <stdio.h>

#define PS_PER_S UINT64_C(1000000000000)
#define REST_PS  PS_PER_S
#define AWAY_PS  PS_PER_S /* without a look: nobody was listened to */

void chan_look(struct am_timer *timer)
{
    chan_place(am_container(timer, struct chan_ep, look), CHAN_BUSY);
}

/* Where an endpoint belongs after a tick. */
static void place_by_need(struct chan_dev *chan, struct chan_ep *ep,
                          uint64_t now_ps)
{
    uint64_t due_ps = am_window_due_ps(&ep->window);

    if (due_ps == UINT64_MAX) {
        chan_place(ep, CHAN_IDLE);
    } else if (due_ps > now_ps) {
        am_timer_start(&chan->wheel, &ep->look, due_ps);
        chan_place(ep, CHAN_WAITING);
    }
}

void chan_tick(struct chan_dev *chan)
{
    struct am_list *link, *next;
    uint64_t now_ps = 0;

    if (chan->window_params.timer &&
        (!am_list_is_empty(&chan->busy) || !am_list_is_empty(&chan->waiting))) {
        now_ps = am_env_now(chan->env);
        (void)am_twheel_advance(&chan->wheel, now_ps, UINT32_MAX);
    } else if (chan->window_params.asks_by_time &&
               !am_list_is_empty(&chan->busy)) {
        now_ps = am_env_now(chan->env);
    }
    for (link = chan->busy.next; link != &chan->busy; link = next) {
        struct chan_ep *ep = am_container(link, struct chan_ep, busy_link);

        next = link->next;
        am_window_tick(&ep->window, now_ps);
        if (ep->left) {
            chan_ep_leave(ep);
        } else {
            place_by_need(chan, ep, now_ps);
        }
    }
}

/* -------------------------------------------------------------- dead peers */

/* `wait_ps` from now, or, as the clock goes round before that, its end. */
static uint64_t end_of(uint64_t now_ps, uint64_t wait_ps)
{
    return now_ps < UINT64_MAX - wait_ps ? now_ps + wait_ps : UINT64_MAX;
}

/* At most AWAY_PS of the time since the last look counts as the peers' silence; for so
 * long after a longer one nobody is judged, since what came may be unread. */
static void away_count(struct chan_dev *chan, uint64_t now_ps)
{
    uint64_t away_ps = am_dev_away_ps(now_ps - chan->look_ps, AWAY_PS);

    chan->look_ps = now_ps;
    if (away_ps == 0) {
        return;
    }
    chan->back_ps = now_ps;
    for (struct am_list *link = chan->eps.next; link != &chan->eps;
         link = link->next) {
        am_container(link, struct chan_ep, link)->silent_ps += away_ps;
    }
}

void chan_verdict(struct am_timer *timer)
{
    struct chan_ep *ep = am_container(timer, struct chan_ep, verdict);
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);
    uint64_t now_ps = am_env_now(chan->env);
    uint64_t silent_ps;
    char why[80];

    if (ep->heard || am_window_is_drained(&ep->window)) {
        return; /* the next check starts it again if need be */
    }
    away_count(chan, now_ps);
    silent_ps = now_ps - ep->silent_ps;
    if (silent_ps < chan->give_up_ps) { /* the clock went round, or away */
        am_timer_start(&chan->wheel, timer,
                       end_of(now_ps, chan->give_up_ps - silent_ps));
        return;
    }
    if (now_ps - chan->back_ps < AWAY_PS) {
        am_timer_start(&chan->wheel, timer, end_of(now_ps, AWAY_PS));
        return;
    }
    ep->died = true;
    am_window_gone(&ep->window);
    if (!ep->left) {
        snprintf(why, sizeof(why), "nothing was heard of it for %llu s",
                 (unsigned long long)(chan->give_up_ps / PS_PER_S));
        chan->wrap.base.up.dead(ep->wrap.base.user, why);
    }
}

/* Let the verdict run over every peer that owes an answer, from its last word
 * on. */
static void verdicts_start(struct chan_dev *chan, const struct am_list *list,
                           uint64_t now_ps)
{
    for (struct am_list *link = list->next; link != list; link = link->next) {
        struct chan_ep *ep = am_container(link, struct chan_ep, busy_link);

        if (am_window_is_drained(&ep->window)) {
            am_timer_stop(&chan->wheel, &ep->verdict);
        } else if (ep->heard || !am_timer_is_running(&ep->verdict)) {
            ep->heard = false;
            ep->silent_ps = now_ps;
            am_timer_start(&chan->wheel, &ep->verdict,
                           end_of(now_ps, chan->give_up_ps));
        }
    }
}

/* Once a second: who was not used in the last one rests, and one that left ends
 * though its peer does not answer, or it would keep this process from sleeping. */
static void rest_some(struct chan_dev *chan, uint64_t now_ps)
{
    struct am_list *next;

    if (now_ps - chan->rest_ps < REST_PS) {
        return;
    }
    chan->rest_ps = now_ps;
    for (struct am_list *link = chan->eps.next; link != &chan->eps;
         link = next) {
        struct chan_ep *ep = am_container(link, struct chan_ep, link);

        next = link->next;
        if (chan_ep_is_alone(ep, now_ps)) {
            chan_ep_end(ep);
            continue;
        }
        if (!ep->used) {
            chan_ep_rest(ep);
        }
        ep->used = false;
    }
}

void chan_check(struct am_dev *dev)
{
    struct chan_dev *chan = chan_of(dev);
    uint64_t now_ps;

    am_wrap_check(dev);
    now_ps = am_env_now(chan->env);
    rest_some(chan, now_ps);
    if (chan->give_up_ps == 0) {
        return;
    }
    away_count(chan, now_ps);
    verdicts_start(chan, &chan->busy, now_ps);
    verdicts_start(chan, &chan->waiting, now_ps);
    (void)am_twheel_advance(&chan->wheel, now_ps, UINT32_MAX);
}
