/*
 * The timer wheel.  Pure: time comes from its caller.
 */
#include "base/twheel.h"

#include "base/assert.h"

#define DIGIT_BITS 4
#define DIGIT_MASK (AM_TWHEEL_SLOTS - 1)
#define LEVEL_IDLE (-1)
#define LEVEL_DUE  AM_TWHEEL_LEVELS

AM_STATIC_ASSERT(AM_TWHEEL_SLOTS == 1 << DIGIT_BITS, "a digit is a slot");
AM_STATIC_ASSERT(AM_TWHEEL_LEVELS *DIGIT_BITS + 16 >= 64,
                 "levels reach the end of time at the finest tick");

static uint32_t digit_of(uint64_t tick, uint32_t level)
{
    return (uint32_t)(tick >> (level * DIGIT_BITS)) & DIGIT_MASK;
}

/* The first tick of the slot that `tick` is in at a level. */
static uint64_t slot_start(uint64_t tick, uint32_t level)
{
    return tick >> (level * DIGIT_BITS) << (level * DIGIT_BITS);
}

void am_twheel_init(struct am_twheel *wheel, uint64_t now_ps,
                    uint32_t tick_shift)
{
    AM_CHECK(tick_shift >= 16 && tick_shift <= 40);
    *wheel = (struct am_twheel){.tick = now_ps >> tick_shift,
                                .tick_shift = tick_shift};
    am_list_init(&wheel->due);
    for (uint32_t level = 0; level < AM_TWHEEL_LEVELS; level++) {
        for (uint32_t slot = 0; slot < AM_TWHEEL_SLOTS; slot++) {
            am_list_init(&wheel->lists[level][slot]);
        }
    }
}

void am_timer_init(struct am_timer *timer, am_timer_fn fn)
{
    *timer = (struct am_timer){.fn = fn, .level = LEVEL_IDLE};
    am_list_init(&timer->link);
}

/* Put a timer that is on no list where its tick says. */
static void place(struct am_twheel *wheel, struct am_timer *timer)
{
    uint32_t level;

    if (timer->tick <= wheel->tick) {
        timer->level = LEVEL_DUE;
        am_list_push(&wheel->due, &timer->link);
        return;
    }
    level = (uint32_t)(63 - __builtin_clzll(timer->tick ^ wheel->tick)) /
            DIGIT_BITS;
    timer->level = (int8_t)level;
    timer->slot = (uint8_t)digit_of(timer->tick, level);
    am_list_push(&wheel->lists[level][timer->slot], &timer->link);
    wheel->slots[level] |= (uint16_t)(1u << timer->slot);
    wheel->levels |= (uint16_t)(1u << level);
}

/* Clear the bits of a slot that has become empty. */
static void note_empty(struct am_twheel *wheel, uint32_t level, uint32_t slot)
{
    wheel->slots[level] &= (uint16_t) ~(1u << slot);
    if (wheel->slots[level] == 0) {
        wheel->levels &= (uint16_t) ~(1u << level);
    }
}

void am_timer_start(struct am_twheel *wheel, struct am_timer *timer,
                    uint64_t deadline_ps)
{
    uint64_t tick_max = UINT64_MAX >> wheel->tick_shift;

    am_timer_stop(wheel, timer);
    timer->tick = deadline_ps >> wheel->tick_shift;
    if (timer->tick << wheel->tick_shift != deadline_ps &&
        timer->tick < tick_max) {
        timer->tick++; /* never early */
    }
    place(wheel, timer);
    wheel->timer_count++;
}

void am_timer_stop(struct am_twheel *wheel, struct am_timer *timer)
{
    int level = timer->level;

    if (level == LEVEL_IDLE) {
        return;
    }
    am_list_remove(&timer->link);
    timer->level = LEVEL_IDLE;
    wheel->timer_count--;
    if (level != LEVEL_DUE &&
        am_list_is_empty(&wheel->lists[level][timer->slot])) {
        note_empty(wheel, (uint32_t)level, timer->slot);
    }
}

/* Find the slot that comes first; false if all are empty.  A lower level is
 * always earlier, because its timers share more digits with the wheel. */
static bool first_slot(const struct am_twheel *wheel, uint32_t *level_p,
                       uint32_t *slot_p)
{
    if (wheel->levels == 0) {
        return false;
    }
    *level_p = (uint32_t)__builtin_ctz(wheel->levels);
    *slot_p = (uint32_t)__builtin_ctz(wheel->slots[*level_p]);
    return true;
}

/* Tick at which a slot of a level begins. */
static uint64_t start_of(const struct am_twheel *wheel, uint32_t level,
                         uint32_t slot)
{
    uint32_t shift = level * DIGIT_BITS;
    uint64_t above = wheel->tick >> shift & ~(uint64_t)DIGIT_MASK;

    return (above | slot) << shift;
}

/* Move the wheel to the start of a slot and its timers down, or to `due`. */
static void enter_slot(struct am_twheel *wheel, uint32_t level, uint32_t slot)
{
    struct am_list *list = &wheel->lists[level][slot];

    wheel->tick = start_of(wheel, level, slot);
    note_empty(wheel, level, slot);
    while (!am_list_is_empty(list)) {
        place(wheel, am_container(am_list_pop(list), struct am_timer, link));
    }
}

/* Call the timers of the list, until it is empty or the limit is reached. */
static uint32_t fire(struct am_twheel *wheel, struct am_list *list,
                     uint32_t fire_max)
{
    uint32_t fired = 0;

    while (fired < fire_max && !am_list_is_empty(list)) {
        struct am_timer *timer =
                am_container(am_list_pop(list), struct am_timer, link);

        timer->level = LEVEL_IDLE;
        wheel->timer_count--;
        fired++;
        timer->fn(timer);
    }
    return fired;
}

/* Move all of `from` before what `to` has, in order. */
static void splice_before(struct am_list *to, struct am_list *from)
{
    while (!am_list_is_empty(from)) {
        struct am_list *last = from->prev;

        am_list_remove(last);
        am_list_push(to->next, last);
    }
}

uint32_t am_twheel_advance(struct am_twheel *wheel, uint64_t now_ps,
                           uint32_t fire_max)
{
    uint64_t now = now_ps >> wheel->tick_shift;
    /* So far back no clock is set: it went round. */
    bool is_round = now < wheel->tick &&
                    wheel->tick - now > UINT64_MAX >> wheel->tick_shift >> 1;
    struct am_list firing;
    uint32_t fired;
    uint32_t level;
    uint32_t slot;

    while (first_slot(wheel, &level, &slot) &&
           (is_round || start_of(wheel, level, slot) <= now)) {
        enter_slot(wheel, level, slot);
    }
    if (is_round || now > wheel->tick) {
        wheel->tick = now;
    }
    /* Fire from a list of its own: a timer started meanwhile waits. */
    am_list_init(&firing);
    splice_before(&firing, &wheel->due);
    fired = fire(wheel, &firing, fire_max);
    splice_before(&wheel->due, &firing);
    return fired;
}

uint64_t am_twheel_next_ps(const struct am_twheel *wheel)
{
    uint32_t level;
    uint32_t slot;

    if (!am_list_is_empty(&wheel->due)) {
        return 0;
    }
    if (!first_slot(wheel, &level, &slot)) {
        return UINT64_MAX;
    }
    return start_of(wheel, level, slot) << wheel->tick_shift;
}

/* ------------------------------------------------------------- validation */

/* Check one slot; adds its timers to *count_p. */
static bool slot_is_valid(const struct am_twheel *wheel, uint32_t level,
                          uint32_t slot, uint32_t *count_p)
{
    const struct am_list *list = &wheel->lists[level][slot];
    bool marked = (wheel->slots[level] >> slot & 1) != 0;

    if (marked == am_list_is_empty(list)) {
        return false;
    }
    for (const struct am_list *at = list->next; at != list; at = at->next) {
        const struct am_timer *timer = am_container(at, struct am_timer, link);
        uint64_t start = start_of(wheel, level, slot);

        if (timer->level != (int)level || timer->slot != slot ||
            slot_start(timer->tick, level) != start || start <= wheel->tick ||
            at->next->prev != at) {
            return false;
        }
        ++*count_p;
    }
    return true;
}

bool am_twheel_is_valid(const struct am_twheel *wheel)
{
    uint32_t count = 0;

    for (const struct am_list *at = wheel->due.next; at != &wheel->due;
         at = at->next) {
        count++;
    }
    for (uint32_t level = 0; level < AM_TWHEEL_LEVELS; level++) {
        bool marked = (wheel->levels >> level & 1) != 0;

        if (marked != (wheel->slots[level] != 0)) {
            return false;
        }
        for (uint32_t slot = 0; slot < AM_TWHEEL_SLOTS; slot++) {
            if (!slot_is_valid(wheel, level, slot, &count)) {
                return false;
            }
        }
    }
    return count == wheel->timer_count;
}
