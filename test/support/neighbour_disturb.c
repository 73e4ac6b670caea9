/*
 * The rank of shm_neighbour_test that writes into the memory of the two others,
 * at random moments: words at random, and with knowledge of the layout.
 */
#define _GNU_SOURCE
#include "support/neighbour.h"

#include "am/ctx.h"
#include "base/prng.h"
#include "dev/shm/shm_inl.h"
#include "dev/wrap.h"

#include <am.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

struct view {
    struct shm_seg *seg;
    struct am_prng prng;
};

static char *lane_at(struct view *view)
{
    uint32_t to = (uint32_t)am_prng_below(&view->prng, 2);

    return view->seg->base + view->seg->geometry.lanes +
           ((uint64_t)to * view->seg->header.count + 1 - to) *
                   view->seg->geometry.lane_bytes;
}

static struct shm_slot *slot_at(struct view *view)
{
    uint32_t class = (uint32_t)am_prng_below(&view->prng, 2);

    return (struct shm_slot *)(lane_at(view) +
                               view->seg->geometry.slots[class]) +
           am_prng_below(&view->prng, view->seg->header.depth[class]);
}

static uint64_t odd_number(struct view *view, uint64_t old)
{
    switch (am_prng_below(&view->prng, 7)) {
    case 0:
        return am_prng_next(&view->prng);
    case 1:
        return 0;
    case 2:
        return UINT64_MAX;
    case 3:
        return old + 1 + am_prng_below(&view->prng, 300);
    case 4:
        return old - 1 - am_prng_below(&view->prng, 300);
    default:
        return old ^ UINT64_C(1) << am_prng_below(&view->prng, 64);
    }
}

/* A word of the lanes that is not a message's. */
static void write_ctl(struct view *view)
{
    _Atomic uint64_t *ctl = &slot_at(view)->ctl;
    uint64_t old = atomic_load(ctl);

    switch (am_prng_below(&view->prng, 4)) {
    case 0: /* the stamp: the lap before, or the next */
        atomic_store((_Atomic uint32_t *)ctl,
                     (uint32_t)old - 1 +
                             2 * (uint32_t)am_prng_below(&view->prng, 2));
        break;
    case 1: /* one of the other fields */
        atomic_store((_Atomic uint8_t *)ctl + 4 + am_prng_below(&view->prng, 4),
                     (uint8_t)am_prng_next(&view->prng));
        break;
    default:
        atomic_store(ctl, odd_number(view, old));
    }
}

static void write_number(struct view *view, void *at)
{
    _Atomic uint64_t *word = at;

    atomic_store(word, odd_number(view, atomic_load(word)));
}

static void write_rank(struct view *view)
{
    struct shm_rank *rank =
            shm_seg_rank(view->seg, (uint32_t)am_prng_below(&view->prng, 3));

    switch (am_prng_below(&view->prng, 6)) {
    case 0:
        atomic_store(&rank->state, SHM_RANK_CLOSED);
        break;
    case 1:
        atomic_store(&rank->pid, 0);
        break;
    case 2:
        atomic_store(&rank->attached, 0);
        break;
    default:
        write_number(view, (uint64_t *)rank + am_prng_below(&view->prng,
                                                            sizeof(*rank) / 8));
    }
}

static void write_word(struct view *view)
{
    const struct shm_geometry *geometry = &view->seg->geometry;
    struct am_prng *prng = &view->prng;
    uint32_t class = (uint32_t)am_prng_below(prng, 2);

    switch (neighbour_run.word) {
    case WORD_CTL:
        write_ctl(view);
        break;
    case WORD_HEAD:
        write_number(view, (struct shm_head *)lane_at(view) + class);
        write_number(view,
                     &((struct shm_head *)lane_at(view))[class].data_bytes);
        break;
    case WORD_TAIL:
        write_number(view,
                     lane_at(view) + SHM_TAIL_AT + 8 * am_prng_below(prng, 3));
        break;
    case WORD_BITMAP:
        write_number(view,
                     view->seg->base + geometry->bitmaps +
                             am_prng_below(prng, 3) * geometry->bitmap_bytes);
        break;
    case WORD_RANK:
        write_rank(view);
        break;
    case WORD_HEADER:
        write_number(view,
                     view->seg->base + 8 * am_prng_below(prng, SHM_PAGE / 8));
        break;
    case WORD_PLACE:
        write_number(view, &slot_at(view)->u.ext.place);
        break;
    default:
        if (am_prng_below(prng, 2) == 0) {
            write_number(view, &slot_at(view)->u.w[am_prng_below(prng, 7)]);
        } else {
            write_number(
                    view,
                    lane_at(view) + geometry->data[class] +
                            8 * am_prng_below(
                                        prng,
                                        view->seg->header.ring_bytes[class] /
                                                8));
        }
    }
}

static struct shm_dev *shm_under(struct am_dev *dev)
{
    return shm_dev_of(
            neighbour_run.reliability == NULL ? dev : am_wrap_of(dev)->lower);
}

int neighbour_disturb(struct rank *me)
{
    struct view view = {.seg = shm_under(me->ctx->devs[0])->job};
    uint64_t at_ps;

    am_prng_seed(&view.prng, ~neighbour_run.seed);
    neighbour_all_start(me);
    for (uint32_t i = 0; i < neighbour_run.writes; i++) {
        at_ps = am_env_now(am_env_real()) +
                am_prng_below(&view.prng, UINT64_C(2000000000));
        while (am_env_now(am_env_real()) < at_ps) {
            sched_yield();
        }
        write_word(&view);
    }
    while (atomic_load(&me->board->flag[FLAG_ENDED]) < 2) {
        usleep(1000);
    }
    am_close(me->ctx);
    return END_RIGHT;
}
