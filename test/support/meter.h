/*
 * What the tests of the meter share: one that begins with assumed costs, copies that it
 * sees, and a clock that copies move on.
 */
#ifndef AM_TEST_SUPPORT_METER_H
#define AM_TEST_SUPPORT_METER_H

#include "dev/meter.h"

#define BYTES ((size_t)64 * 1024)

static const struct am_dev_perf assumed = {.send_overhead = {15000, 18000},
                                           .recv_overhead = {15000, 18000},
                                           .wire = {55000, 0},
                                           .put = {1000000, 90000},
                                           .get = {1000000, 90000}};

static inline void count_change(void *arg)
{
    ++*(unsigned *)arg;
}

static inline void open_meter(struct am_meter *meter, unsigned *changes)
{
    *changes = 0;
    am_meter_init(meter, &assumed, AM_DISTANCE_CACHE);
    meter->learn = AM_LEARN_YES;
    meter->learns = 7;
    meter->changed = count_change;
    meter->arg = changes;
}

/* One of ranks that share a core, which learns as it does by default. */
static inline void open_shared(struct am_meter *meter, unsigned *changes)
{
    open_meter(meter, changes);
    meter->learn = AM_LEARN_MUCH;
    am_meter_turns(meter, true, 1100000);
}

/* `count` copies that cost so much for each byte. */
static inline void see(struct am_meter *meter, am_copy_t copy, int count,
                       uint64_t byte_fs)
{
    uint64_t fixed_ps = copy == AM_COPY_SINGLE ? assumed.get.fixed_ps : 0;

    for (int i = 0; i < count; i++) {
        am_meter_sample(meter, copy, BYTES, fixed_ps + BYTES / 1000 * byte_fs);
    }
}

/* Long messages go both ways until the meter has noticed. */
static inline void go_both_ways(struct am_meter *meter)
{
    for (int i = 0; i < 20; i++) {
        am_meter_sent(meter, true);
    }
}

/* As near as the meter promises: a quarter. */
static inline bool is_near(uint64_t value, uint64_t wanted)
{
    return value > wanted - wanted / 4 && value < wanted + wanted / 4;
}

/* A clock that the copies move on. */
struct clock {
    struct am_env env;
    uint64_t now_ps, faults;
    int asked; /* times for `faults` */
};

static inline uint64_t clock_now(struct am_env *env)
{
    return ((struct clock *)env)->now_ps;
}

static inline uint64_t clock_faults(struct am_env *env)
{
    ((struct clock *)env)->asked++;
    return ((struct clock *)env)->faults;
}

static const struct am_env_ops clock_ops = {.now = clock_now,
                                            .faults = clock_faults};

/* One copy that takes so long: is it timed? */
static inline bool copied(struct clock *clock, struct am_meter *meter,
                          am_copy_t copy, size_t bytes, uint64_t ps)
{
    uint64_t start = am_meter_start(meter, &clock->env, copy, bytes);

    clock->now_ps += ps;
    am_meter_stop(meter, &clock->env, copy, bytes, start);
    return start != 0;
}

/* `count` copies that take so long, each with so many page faults; how many of them are
 * timed? */
static inline int timed_by(struct clock *clock, struct am_meter *meter,
                           size_t bytes, int count, uint64_t byte_fs,
                           uint64_t faults)
{
    int times = 0;

    for (int i = 0; i < count; i++) {
        clock->faults += faults;
        times +=
                copied(clock, meter, AM_COPY_IN, bytes, bytes * byte_fs / 1000);
    }
    return times;
}

static inline int timed(struct am_meter *meter, size_t bytes, int count,
                        uint64_t byte_fs)
{
    struct clock clock = {.env = {.ops = &clock_ops}};

    return timed_by(&clock, meter, bytes, count, byte_fs, 0);
}

#endif
