/*
 * An environment whose time is the test's; all else is real.
 */
#ifndef AM_TEST_SUPPORT_CLOCK_H
#define AM_TEST_SUPPORT_CLOCK_H

#include "base/env.h"

struct clock {
    struct am_env env;
    uint64_t now_ps;
    uint64_t look_ps;  /* passes before each look at it */
    uint64_t yield_ps; /* passes with each yield */
};

static inline uint64_t clock_now(struct am_env *env)
{
    struct clock *clock = (struct clock *)env;

    clock->now_ps += clock->look_ps;
    return clock->now_ps;
}

static inline void clock_charge(struct am_env *env, am_cost_t kind,
                                uint64_t units)
{
}

static inline void clock_relax(struct am_env *env, uint64_t deadline_ps)
{
    am_env_relax(am_env_real(), 0); /* the core; not the real time */
    ((struct clock *)env)->now_ps += ((struct clock *)env)->yield_ps;
}

static inline uint64_t clock_random(struct am_env *env)
{
    return am_env_random(am_env_real());
}

static const struct am_env_ops clock_ops = {.now = clock_now,
                                            .charge = clock_charge,
                                            .relax = clock_relax,
                                            .random = clock_random};

#endif
