/*
 * The seed of a random test: AM_TEST_SEED, or a new one each run.  It is
 * printed first, so that a failed run can be repeated.
 */
#ifndef AM_TEST_SUPPORT_SEED_H
#define AM_TEST_SUPPORT_SEED_H

#include "base/env.h"
#include "base/prng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static inline struct am_prng test_prng(const char *test_name)
{
    const char *text = getenv("AM_TEST_SEED");
    struct am_prng prng;

    am_prng_seed(&prng, text != NULL ? strtoull(text, NULL, 0)
                                     : am_env_random(am_env_real()));
    printf("%s: AM_TEST_SEED=%" PRIu64 "\n", test_name, prng.state);
    fflush(stdout);
    return prng;
}

#endif
