/*
 * Two contexts that have talked by shared memory.
 */
#include "support/shm_two.h"
#include "support/cm.h"

#include <am.h>

void shm_two_count(struct am_token *token, const uint64_t *words,
                   uint32_t count, void *data, size_t bytes)
{
    ++*(uint32_t *)am_token_arg(token);
}

void shm_two_open(struct world *world, uint32_t *got)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"},
                                             {"AM_UNEXP_MAX", "1m"},
                                             {"AM_SHM_RING", "64k"},
                                             {NULL, NULL}};
    const struct am_option *options[] = {quiet, quiet};
    uint64_t word = 1;

    world_open(world, 2, options);
    world_settle(world);
    for (uint32_t i = 0; i < 2; i++) {
        am_handler_register(world->ctx[i], AM_HANDLER_USER, shm_two_count, got,
                            "word");
    }
    *got = 0;
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(am_ctx_request(world->ctx[i], 1 - i, AM_HANDLER_USER,
                                        &word, 1, NULL, 0),
                         AM_OK);
    }
    world_settle(world);
    assert_int_equal(*got, 2);
}
