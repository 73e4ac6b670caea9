/*
 * Ticks of the window that would only be counted: how many there are, and counting
 * them at once, where time can pass without polls (a simulated host).  Pure.
 */
#include "chan/window_inl.h"

/* Of a wait that window_is_overdue counts: its ticks before the last. */
static uint32_t quiet_left(uint32_t most, uint32_t polls, uint32_t backoff)
{
    uint64_t last = ((uint64_t)most << backoff) - 1;

    return polls >= last             ? 0
           : last - polls < UINT32_MAX ? (uint32_t)(last - polls)
                                       : UINT32_MAX;
}

uint32_t am_window_quiet_ticks(const struct am_window *window)
{
    uint32_t least = UINT32_MAX, left;

    if (window->due != 0) {
        return 0;
    }
    if (window_is_asking(window)) {
        least = quiet_left(window->params->keepalive_polls, window->hello_polls,
                           window->hello_backoff);
    }
    for (uint32_t i = 0;
         i < AM_WINDOW_CLASSES && window->state == AM_WINDOW_OPEN; i++) {
        const struct am_window_tx *tx = &window->tx[i];

        if (window->rx[i].held || window_tx_can_send(window, i)) {
            return 0;
        }
        if (window_has_unacked(tx)) {
            left = quiet_left(window_rate_polls(window, i), tx->quiet_polls,
                              tx->backoff);
            least = left < least ? left : least;
        }
    }
    return least;
}

void am_window_pass(struct am_window *window, uint32_t ticks)
{
    window->ticks += window->params->adapts ? ticks : 0;
    window->hello_polls += window_is_asking(window) ? ticks : 0;
    for (uint32_t i = 0;
         i < AM_WINDOW_CLASSES && window->state == AM_WINDOW_OPEN; i++) {
        if (window_has_unacked(&window->tx[i])) {
            window->tx[i].quiet_polls += ticks;
        }
    }
}
