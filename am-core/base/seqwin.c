/*
 * The receive window: a bitmap of the numbers that came early.  A number's
 * bit is its value modulo the span, which divides both moduli.
 */
#include "base/seqwin.h"

#include "base/assert.h"

#include <string.h>

AM_STATIC_ASSERT(AM_SEQWIN_SPAN % 64 == 0 && 65536 % AM_SEQWIN_SPAN == 0,
                 "bits must not move when the numbers wrap");

static uint64_t *word_of(struct am_seqwin *win, uint32_t seq)
{
    return &win->bits[seq % AM_SEQWIN_SPAN / 64];
}

static uint64_t bit_of(uint32_t seq)
{
    return UINT64_C(1) << seq % 64;
}

void am_seqwin_init(struct am_seqwin *win, uint32_t first, uint32_t mask)
{
    AM_CHECK(mask == UINT16_MAX || mask == UINT32_MAX);
    memset(win, 0, sizeof(*win));
    win->next = first & mask;
    win->mask = mask;
}

am_seqwin_t am_seqwin_accept(struct am_seqwin *win, uint32_t seq)
{
    uint32_t ahead = (seq - win->next) & win->mask;
    uint64_t *word = word_of(win, seq);

    if (ahead >= AM_SEQWIN_SPAN) {
        return ahead > win->mask / 2 ? AM_SEQWIN_OLD : AM_SEQWIN_BEYOND;
    }
    if ((*word & bit_of(seq)) != 0) {
        return AM_SEQWIN_OLD;
    }
    *word |= bit_of(seq);
    return AM_SEQWIN_NEW;
}

uint32_t am_seqwin_advance(struct am_seqwin *win)
{
    uint32_t count = 0;

    while ((*word_of(win, win->next) & bit_of(win->next)) != 0) {
        *word_of(win, win->next) &= ~bit_of(win->next);
        win->next = (win->next + 1) & win->mask;
        count++;
    }
    return count;
}

bool am_seqwin_has_gap(const struct am_seqwin *win)
{
    uint64_t any = 0;

    for (uint32_t i = 0; i < AM_SEQWIN_SPAN / 64; i++) {
        any |= win->bits[i];
    }
    return any != 0;
}
