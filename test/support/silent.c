/*
 * All calls go to the machine's environment, but that for an alarm.
 */
#include "support/silent.h"

struct am_env silent_env;
struct am_env_ops silent_env_ops;
uint32_t silent_short;
static uint64_t silent_most_ns;

static int alarm_open_real(struct am_env *env)
{
    return am_env_real()->ops->alarm_open(am_env_real());
}

static void alarm_set_silent(struct am_env *env, int alarm, uint64_t ns)
{
    silent_short += ns > 0 && ns < silent_most_ns;
    am_env_real()->ops->alarm_set(am_env_real(), alarm,
                                  ns < silent_most_ns ? ns : 0);
}

static uint64_t now_real(struct am_env *env)
{
    return am_env_now(am_env_real());
}

static void relax_real(struct am_env *env, uint64_t deadline_ps)
{
    am_env_relax(am_env_real(), deadline_ps);
}

static uint64_t random_real(struct am_env *env)
{
    return am_env_random(am_env_real());
}

void silent_init(uint64_t most_ns)
{
    silent_most_ns = most_ns;
    silent_env_ops = *am_env_real()->ops;
    silent_env_ops.now = now_real;
    silent_env_ops.relax = relax_real;
    silent_env_ops.random = random_real;
    silent_env_ops.alarm_open = alarm_open_real;
    silent_env_ops.alarm_set = alarm_set_silent;
    silent_env.ops = &silent_env_ops;
}
