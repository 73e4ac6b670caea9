/*
 * The environment seam: the only way for am-core, collectives and nic-sim to
 * read a clock, draw a random number, or let time pass.  The real
 * implementation is env.c; a simulator supplies its own table.
 */
#ifndef AM_BASE_ENV_H
#define AM_BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Host work that a simulated host is charged for; units in parentheses. */
typedef enum {
    AM_COST_DISPATCH,   /* handler calls (1 each) */
    AM_COST_SEND,       /* building one message of libam (words) */
    AM_COST_MATCH,      /* match steps (1 each) */
    AM_COST_COPY,       /* copied bytes */
    AM_COST_ALLOC,      /* allocator steps (1 each) */
    AM_COST_POLL,       /* polls that found nothing (1 each) */
    AM_COST_CALL,       /* calls of an MPI above libam (1 each) */
    AM_COST_CLOCK,      /* readings of the clock by the program (1 each) */
    AM_COST_COUNT
} am_cost_t;

struct am_env;

struct am_env_ops {
    uint64_t (*now)(struct am_env *env); /* picoseconds, monotonic */
    void (*charge)(struct am_env *env, am_cost_t kind, uint64_t units);
    /* Let time pass until `deadline_ps` at the latest: yields the core. */
    void (*relax)(struct am_env *env, uint64_t deadline_ps);
    uint64_t (*random)(struct am_env *env);
    /* What follows may be NULL; real environments have alarm and faults only.
     *
     * The program is about to wait for what is no part of this environment (a
     * launcher).  Time stands still for all of the job until all have been
     * there and each has asked for something else. */
    void (*outside)(struct am_env *env);
    /* All programs of the job come here; those that wait call `poll`. */
    void (*meet)(struct am_env *env, void (*poll)(void *arg), void *arg);
    /* The program computes; the unit is the program's. */
    void (*compute)(struct am_env *env, uint64_t operations);
    /* Something that the program does begins or ends, for a timeline; `name`
     * lives as long as the process. */
    void (*slice)(struct am_env *env, const char *name, bool begins);
    /* What the program waits for, as text, is `waits(arg, text, bytes)`: for
     * who must tell why it does not go on. */
    void (*explain)(struct am_env *env,
                    size_t (*waits)(void *arg, char *text, size_t bytes),
                    void *arg);
    /* As relax, of a loop whose rounds are counted: let at most `rounds_max`
     * rounds go by that could find nothing new.  How many did: the caller counts
     * them as if it had gone round. */
    uint32_t (*pass)(struct am_env *env, uint32_t rounds_max);
    /* The program needs the environment's time, and nothing else, from here. */
    void (*end)(struct am_env *env);
    /* Only of environments whose time is the machine's own: a descriptor, the
     * caller's to close, that gets readable `ns` after it was set, once; 0: never.
     * Setting it takes back what it said.  -1: none is to be had (errno). */
    int (*alarm_open)(struct am_env *env);
    void (*alarm_set)(struct am_env *env, int alarm, uint64_t ns);
    /* Page faults that the calling thread has taken so far.  NULL: none. */
    uint64_t (*faults)(struct am_env *env);
};

struct am_env {
    const struct am_env_ops *ops;
    bool simulated; /* charge does something; devices must not block */
    void *port; /* struct ns_port of a host of nic-sim, for dev/snic; or NULL */
};

/* The machine's own environment: one for the process, never NULL. */
struct am_env *am_env_real(void);
/* Processor time of this process so far, ns. */
uint64_t am_env_processor_ns(void);
/* How often this thread gave its core away, or lost it. */
uint64_t am_env_switches(void);

static inline uint64_t am_env_now(struct am_env *env)
{
    return env->ops->now(env);
}

static inline uint64_t am_env_faults(struct am_env *env)
{
    return env->ops->faults == NULL ? 0 : env->ops->faults(env);
}

/* Does the program pay for its work? */
static inline bool am_env_is_charged(const struct am_env *env)
{
    return __builtin_expect(env->simulated, 0);
}

/* Free of cost but for one predictable branch where nobody pays. */
static inline void am_env_charge(struct am_env *env, am_cost_t kind,
                                 uint64_t units)
{
    if (am_env_is_charged(env)) {
        env->ops->charge(env, kind, units);
    }
}

static inline void am_env_relax(struct am_env *env, uint64_t deadline_ps)
{
    env->ops->relax(env, deadline_ps);
}

static inline void am_env_outside(struct am_env *env)
{
    if (env->ops->outside != NULL) {
        env->ops->outside(env);
    }
}

static inline void
am_env_explain(struct am_env *env,
               size_t (*waits)(void *arg, char *text, size_t bytes), void *arg)
{
    if (env->ops->explain != NULL) {
        env->ops->explain(env, waits, arg);
    }
}

static inline void am_env_end(struct am_env *env)
{
    if (env->ops->end != NULL) {
        env->ops->end(env);
    }
}

static inline uint64_t am_env_random(struct am_env *env)
{
    return env->ops->random(env);
}

#endif
