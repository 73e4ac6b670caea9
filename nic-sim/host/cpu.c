/*
 * The environment that am-core runs in on a simulated host: local time, what
 * work costs, idle polling.
 */
#include "host/cpu.h"

#include "host/copy.h"

static struct ns_cpu *cpu_of(struct am_env *env)
{
    return am_container(env, struct ns_cpu, env);
}

static uint64_t cpu_now(struct am_env *env)
{
    struct ns_cpu *cpu = cpu_of(env);

    if (cpu->shared) {
        cpu->ops->catch_up(cpu);
    }
    return cpu->now_ps;
}

static void cpu_charge(struct am_env *env, am_cost_t kind, uint64_t units)
{
    struct ns_cpu *cpu = cpu_of(env);
    const struct ns_host_settings *cost = cpu->cost;

    switch (kind) {
    case AM_COST_DISPATCH:
        cpu->now_ps += cost->am_dispatch_ps * units;
        break;
    case AM_COST_SEND:
        cpu->now_ps += cost->am_send_ps + cost->am_word_ps * units;
        break;
    case AM_COST_MATCH:
        cpu->now_ps += cost->am_match_ps * units;
        break;
    case AM_COST_COPY:
        cpu->now_ps += ns_copy_ps(cost, NS_MEMORY_OWN, units);
        break;
    case AM_COST_ALLOC:
        cpu->now_ps += cost->am_alloc_ps * units;
        break;
    case AM_COST_POLL:
        cpu->now_ps += cost->am_poll_ps * units;
        break;
    case AM_COST_CALL:
        cpu->now_ps += cost->call_ps * units;
        break;
    case AM_COST_CLOCK:
        cpu->now_ps += cost->clock_read_ps * units;
        break;
    case AM_COST_COUNT:
        break;
    }
}

/* splitmix64 */
static uint64_t cpu_random(struct am_env *env)
{
    struct ns_cpu *cpu = cpu_of(env);
    uint64_t z = cpu->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/*
 * Idle polling.  A loop that finds nothing calls relax once a round:
 *
 *   R0 ..look.. R1 ..look.. R2 ..look..     R(k) = R0 + k * period
 *       O0          O1          O2          O(k) = R(k) + seen
 *
 * Only a loop that finds nothing calls relax.  When the last rounds were alike
 * and each looked exactly once at memory that had not changed (as far as a miss
 * in a coherent cache tells), nothing can differ before the first look O(k) that
 * is not before the next change of memory.  So the fiber sleeps until that change
 * and goes on as if it were at R(k): later accesses happen at the times at which
 * spinning would make them.  In every other case the round is spun.  Once such
 * rounds are known, one that is like them, to the picosecond, is enough.
 */
static bool idle_learn(struct ns_cpu *cpu)
{
    struct ns_idle *idle = &cpu->idle;
    uint64_t period_ps = cpu->now_ps - idle->last_ps;
    uint64_t seen_ps = idle->sync_ps - idle->last_ps;
    bool plain = idle->syncs == 1 && !idle->news && period_ps > 0;

    if (plain && period_ps == idle->period_ps && seen_ps == idle->seen_ps) {
        idle->same++;
    } else {
        idle->same = 0;
    }
    idle->period_ps = period_ps;
    idle->seen_ps = seen_ps;
    idle->last_ps = cpu->now_ps;
    idle->syncs = 0;
    idle->news = false;
    if (idle->same >= 2) {
        idle->known_period_ps = period_ps;
        idle->known_seen_ps = seen_ps;
    }
    return (idle->same >= 2 ||
            (plain && period_ps == idle->known_period_ps &&
             seen_ps == idle->known_seen_ps)) &&
           !cpu->no_jump && !cpu->shared;
}

uint64_t ns_cpu_rounds(uint64_t base_ps, uint64_t period_ps, uint64_t time_ps)
{
    return time_ps <= base_ps ? 0
                              : (time_ps - base_ps + period_ps - 1) / period_ps;
}

static void cpu_relax(struct am_env *env, uint64_t deadline_ps)
{
    struct ns_cpu *cpu = cpu_of(env);
    struct ns_idle *idle = &cpu->idle;

    if (idle->syncs == 0 && cpu->now_ps == idle->last_ps &&
        deadline_ps != NS_NEVER && deadline_ps > cpu->now_ps) {
        cpu->now_ps = deadline_ps; /* a loop that only waits: computation */
        idle->last_ps = deadline_ps;
        return;
    }
    if (!idle_learn(cpu)) {
        return;
    }
    idle->deadline_round = NS_NEVER;
    if (deadline_ps != NS_NEVER) {
        idle->deadline_round =
                ns_cpu_rounds(idle->last_ps, idle->period_ps, deadline_ps);
    }
    if (idle->deadline_round == 0) {
        return;
    }
    idle->jumping = true;
    cpu->ops->jump(cpu);
}

/* The polls of rounds 0 to k - 1 are those that go by when it lands at R(k). */
static uint32_t cpu_pass(struct am_env *env, uint32_t rounds_max)
{
    struct ns_cpu *cpu = cpu_of(env);
    struct ns_idle *idle = &cpu->idle;
    uint64_t from_ps = cpu->now_ps;

    if (!idle_learn(cpu) || rounds_max == 0) {
        return 0;
    }
    idle->deadline_round = rounds_max;
    idle->jumping = true;
    cpu->ops->jump(cpu);
    return (uint32_t)((idle->last_ps - from_ps) / idle->period_ps);
}

static const struct am_env_ops cpu_env_ops = {
        .now = cpu_now,
        .charge = cpu_charge,
        .relax = cpu_relax,
        .random = cpu_random,
        .pass = cpu_pass,
};

void ns_cpu_looked(struct ns_cpu *cpu)
{
    cpu->idle.syncs++;
    cpu->idle.sync_ps = cpu->now_ps;
}

void ns_cpu_stolen(struct ns_cpu *cpu)
{
    cpu->now_ps += cpu->stolen_ps;
    cpu->stolen_ps = 0;
}

void ns_cpu_init(struct ns_cpu *cpu, const struct ns_cpu_ops *ops,
                 const struct ns_host_settings *cost)
{
    cpu->ops = ops;
    cpu->cost = cost;
    cpu->env = (struct am_env){
            .ops = &cpu_env_ops, .simulated = true, .port = &cpu->port};
    cpu->port.ops = &ns_cpu_port_ops;
    cpu->port.line_bytes = (uint32_t)cost->line_bytes;
}
