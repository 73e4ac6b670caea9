/*
 * A scenario for am_sim: a token goes round a ring of all nodes, and each adds
 * one to it.  The argument is the number of rounds (default: 10).
 *
 *     cc -shared -fPIC -o ring.so ring.c
 *     am_sim --run ./ring.so -n 8 sp-thin 100
 */
#include <am_sim.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    H_TOKEN = AM_HANDLER_USER
};

struct ring {
    uint64_t token;
    uint64_t arrived;
};

static void on_token(struct am_token *token, const uint64_t *words,
                     uint32_t word_count, void *data, size_t bytes)
{
    struct ring *ring = am_token_arg(token);

    (void)word_count;
    (void)data;
    (void)bytes;
    ring->token = words[0];
    ring->arrived++;
}

static int pass_on(struct am_ctx *ctx, uint64_t token)
{
    uint32_t next = (am_rank(ctx) + 1) % am_size(ctx);

    return am_ctx_request(ctx, next, H_TOKEN, &token, 1, NULL, 0) == AM_OK ? 0
                                                                           : 1;
}

int am_sim_main(struct am_sim_node *node, int argc, char **argv)
{
    struct am_ctx *ctx = am_sim_ctx(node);
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
    uint64_t hops = rounds * am_size(ctx);
    struct ring ring = {0, 0};
    uint64_t start;

    if (rounds == 0) {
        if (am_rank(ctx) == 0) {
            fprintf(stderr, "ring: the number of rounds must be 1 or more\n");
        }
        return 2;
    }
    am_handler_register(ctx, H_TOKEN, on_token, &ring, "token");
    am_sim_barrier(node); /* all know the handler */
    start = am_sim_now_ps(node);
    for (uint64_t round = 0; round < rounds; round++) {
        if (am_rank(ctx) == 0 && pass_on(ctx, ring.token + 1) != 0) {
            return 1;
        }
        while (ring.arrived == round) {
            (void)am_ctx_poll_wait(ctx);
        }
        if (am_rank(ctx) != 0 && pass_on(ctx, ring.token + 1) != 0) {
            return 1;
        }
    }
    if (am_rank(ctx) == 0) {
        printf("%llu hops, %.3f us each\n", (unsigned long long)ring.token,
               (double)(am_sim_now_ps(node) - start) / 1e6 / (double)hops);
        return ring.token == hops ? 0 : 1;
    }
    return 0;
}
