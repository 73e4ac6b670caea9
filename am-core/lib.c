/*
 * What this build of libam consists of: the modules above am, the environments
 * beside the real one.  The only file that may name a layer from below it.
 */
#include "config.h"

#include "am/ctx.h"
#include "msg/msg.h"

#include "collectives/module.h"

#ifdef AM_SIM
#include "nicsim_cosim.h"
#endif
#include <am_time.h>
#include <stdio.h>

const char *am_version(void)
{
    return AM_VERSION_STRING;
}

const struct am_module *const am_modules[] = {&am_msg_module, &am_coll_module,
                                              NULL};

struct am_env *am_env_find(const struct am_params *params, char *error,
                           size_t error_bytes)
{
    const char *engine = am_config_getenv("AM_SIM_ENGINE");

    if (params->env != NULL) {
        return params->env;
    }
    if (engine == NULL || *engine == '\0' || params->allgather == NULL) {
        return am_env_real();
    }
#ifdef AM_SIM
    return ns_attach(engine, params->rank, params->size, error, error_bytes);
#else
    snprintf(error, error_bytes,
             "AM_SIM_ENGINE is set, but this libam has no simulator");
    return NULL;
#endif
}

/* The environment of this process, as far as it is not the real one. */
static struct am_env *job_env(void)
{
#ifdef AM_SIM
    return ns_attached();
#else
    return NULL;
#endif
}

bool am_time_is_virtual(void)
{
    return job_env() != NULL;
}

uint64_t am_time_ps(void)
{
    struct am_env *env = job_env();

    if (env == NULL) {
        return am_env_now(am_env_real());
    }
    am_env_charge(env, AM_COST_CLOCK, 1);
    return am_env_now(env);
}

void am_time_call(void)
{
    struct am_env *env = job_env();

    if (env != NULL) {
        am_env_charge(env, AM_COST_CALL, 1);
    }
}

static void slice(const char *name, bool begins)
{
    struct am_env *env = job_env();

    if (env != NULL) {
        env->ops->slice(env, name, begins);
    }
}

void am_time_begin(const char *name)
{
    slice(name, true);
}

void am_time_end(const char *name)
{
    slice(name, false);
}

void am_compute(uint64_t operations)
{
    struct am_env *env = job_env();

    if (env != NULL) {
        env->ops->compute(env, operations);
    }
}
