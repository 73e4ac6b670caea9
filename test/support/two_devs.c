/*
 * The table of devices, and the environment, of two_devs.h.
 */
#define _GNU_SOURCE /* udp.h */
#include "support/two_devs.h"

#include "support/cm.h"

#include "dev/self/self.h"
#include "dev/shm/shm.h"
#ifdef TWO_UDP
#include "dev/udp/udp.h"
#endif
#ifdef TWO_OFI
#include "dev/ofi/ofi.h"
#endif

#include <stdio.h>

struct pipe_net two_net;
am_status_t two_broken = AM_ERR_UNSUPPORTED;
static uint32_t shift; /* of the ranks on their nodes */

/* Shared memory as if this rank's node were another machine. */
static am_status_t node_shm_open(const struct am_dev_params *params,
                                 struct am_dev **dev_p)
{
    am_status_t status = am_shm_ops.open(params, dev_p);

    if (status == AM_OK) {
        shm_dev_of(*dev_p)->host += (params->rank + shift) / 2;
    }
    return status;
}

static am_status_t broken_open(const struct am_dev_params *params,
                               struct am_dev **dev_p)
{
    snprintf(params->error, params->error_bytes, "it is broken");
    return two_broken;
}

static struct am_dev_ops node_shm_ops;
static const struct am_dev_ops broken_ops = {.name = "broken",
                                             .number = AM_DEV_NUMBER_TEST + 1,
                                             .open = broken_open};

#ifdef TWO_UDP /* the real machine, with datagrams between the nodes */
#define TWO_FAR_OPS &am_udp_ops
#elif defined(TWO_OFI)
#define TWO_FAR_OPS &am_ofi_ops
#else
#define TWO_FAR_OPS &pipe_dev_ops

struct am_env *world_env(void)
{
    return &two_net.env;
}
#endif

const struct am_dev_ops *const am_dev_table[] = {
        &am_dev_self_ops, &node_shm_ops, TWO_FAR_OPS, &broken_ops, NULL};

void two_devs_init(int nodes, uint32_t caps)
{
    const struct am_linfn overhead = {1000000, 1000000};

    node_shm_ops = am_shm_ops;
    node_shm_ops.open = node_shm_open;
    shift = nodes == TWO_FAR ? 1 : 0;
    pipe_net_init(&two_net, caps);
    two_net.random = am_env_random(am_env_real()); /* as no other program's */
    two_net.perf.send_overhead = overhead;
    two_net.perf.recv_overhead = overhead;
    two_net.perf.wire.fixed_ps = 20 * UINT64_C(1000000);
}

void two_count(struct am_token *token, const uint64_t *words,
               uint32_t word_count, void *data, size_t bytes)
{
    ++*(uint32_t *)am_token_arg(token);
}

void two_each_to_each(struct world *world, uint32_t *calls)
{
    world_settle(world); /* they wait for the segment, which rank 0 makes */
    for (uint32_t from = 0; from < world->size; from++) {
        am_handler_register(world->ctx[from], TWO_USER, two_count, calls,
                            "user");
        for (uint32_t to = 0; to < world->size; to++) {
            assert_int_equal(am_ctx_request(world->ctx[from], to, TWO_USER,
                                            NULL, 0, NULL, 0),
                             AM_OK);
        }
    }
    world_settle(world);
}
