/*
 * Between am_win_init.c, which makes windows reachable, and am_win.c, which reaches them.
 */
#ifndef AM_WIN_H_INCLUDED
#define AM_WIN_H_INCLUDED

#include "am_impl.h"

/* What a rank tells of its part of the window: MPIDI_AM_WIN(win).parts[rank]. */
struct MPIDI_AM_win_part {
    struct am_key key;
    uint64_t disp_unit;
    uint64_t bytes;             /* 0: not reachable */
    uint64_t is_gpu;            /* its memory is a GPU's */
    uint64_t has_words;         /* its base is aligned as a word, and only messages add to it */
};

#endif /* AM_WIN_H_INCLUDED */
