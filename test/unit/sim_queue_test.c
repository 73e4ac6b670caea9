/*
 * nic-sim's queue of events: total order, whatever the spread of times and
 * however many are pending; events can be taken back wherever they are.
 */
#include "support/cm.h"
#include "support/seed.h"

#include "kernel/queue.h"

#include <stdlib.h>
#include <string.h>

/* How far ahead events are scheduled. */
struct spread {
    const char *name;
    uint64_t near_ps, far_ps; /* 1 of 16 goes far */
    uint32_t count;
};

static const struct spread spreads[] = {
        {"few", 1000, 1000, 20},
        {"even", 1000000, 1000000, 5000},
        {"dense", 100, 100, 5000},
        {"sparse", UINT64_C(1) << 40, UINT64_C(1) << 50, 3000},
        {"far ones", 5000, UINT64_C(1) << 45, 8000},
        {"one instant", 1, 1, 3000},
};

struct world {
    struct ns_queue queue;
    struct ns_event *events;
    uint64_t now_ps, sequence;
    struct am_prng prng;
};

static uint64_t draw(struct world *world, uint64_t below)
{
    return am_prng_next(&world->prng) % below;
}

static void schedule(struct world *world, const struct spread *spread,
                     struct ns_event *event)
{
    uint64_t ahead_ps = draw(world, 16) == 0 ? spread->far_ps : spread->near_ps;

    event->time_ps = world->now_ps + 1 + draw(world, ahead_ps);
    event->order = draw(world, 4) << 40 | world->sequence++;
    ns_queue_add(&world->queue, event);
    assert_true(ns_event_pending(event));
}

/* Take the first; it may not be before the last one taken. */
static struct ns_event *take(struct world *world, uint64_t *order)
{
    const struct ns_heap_entry *first = ns_queue_first(&world->queue);
    struct ns_event *event = first->event;

    assert_true(first->time_ps > world->now_ps ||
                (first->time_ps == world->now_ps && first->order > *order));
    assert_int_equal(first->time_ps, event->time_ps);
    world->now_ps = first->time_ps;
    *order = first->order;
    ns_queue_pop(&world->queue);
    assert_false(ns_event_pending(event));
    return event;
}

static void spread_run(const struct spread *spread, struct am_prng prng)
{
    struct world world = {.prng = prng};
    uint64_t order = 0;
    uint32_t pending = spread->count;

    assert_int_equal(ns_queue_init(&world.queue), 0);
    assert_null(ns_queue_first(&world.queue));
    world.events = calloc(spread->count, sizeof(*world.events));
    for (uint32_t i = 0; i < spread->count; i++) {
        schedule(&world, spread, &world.events[i]);
    }
    for (uint32_t n = 0; n < 20 * spread->count; n++) {
        struct ns_event *event = take(&world, &order);
        struct ns_event *other = &world.events[draw(&world, spread->count)];

        schedule(&world, spread, event);
        if (draw(&world, 4) == 0 && other != event) {
            ns_queue_remove(&world.queue, other);
            assert_false(ns_event_pending(other));
            schedule(&world, spread, other);
        }
    }
    while (pending > 0) { /* empty it: nothing is lost */
        (void)take(&world, &order);
        pending--;
    }
    assert_null(ns_queue_first(&world.queue));
    free(world.events);
    ns_queue_fini(&world.queue);
}

static void test_spreads(void **state)
{
    struct am_prng prng = test_prng("spreads");

    (void)state;
    for (size_t i = 0; i < sizeof(spreads) / sizeof(spreads[0]); i++) {
        print_message("%s\n", spreads[i].name);
        spread_run(&spreads[i], prng);
    }
}

/* The number of pending events grows and shrinks past every limit. */
static void test_waves(void **state)
{
    static const struct spread spread = {"waves", 100000, 1 << 30, 4000};
    struct world world = {.prng = test_prng("waves")};
    uint64_t order = 0;

    (void)state;
    assert_int_equal(ns_queue_init(&world.queue), 0);
    world.events = calloc(spread.count, sizeof(*world.events));
    for (int wave = 0; wave < 5; wave++) {
        for (uint32_t i = 0; i < spread.count; i++) {
            schedule(&world, &spread, &world.events[i]);
        }
        for (uint32_t i = 0; i < spread.count; i++) {
            (void)take(&world, &order);
        }
        assert_null(ns_queue_first(&world.queue));
    }
    free(world.events);
    ns_queue_fini(&world.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_spreads),
            cmocka_unit_test(test_waves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
