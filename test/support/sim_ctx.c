/*
 * Opening and closing of sim_ctx.h.
 */
#include "support/sim_ctx.h"

struct am_ctx *sim_ctx_open(struct ns_sim_node *view,
                            const struct am_option *options,
                            uint32_t option_count)
{
    char error[256] = "";
    const struct am_params params = {
            .options = options,
            .option_count = option_count,
            .rank = view->rank,
            .size = view->size,
            .allgather = ns_sim_allgather,
            .allgather_arg = view,
            .env = view->env,
            .error = error,
            .error_bytes = sizeof(error),
    };
    struct am_ctx *ctx;

    if (am_open(&params, &ctx) != AM_OK) {
        ns_sim_abort(view);
        return NULL;
    }
    return ctx;
}

static void poll_once(void *arg)
{
    (void)am_ctx_poll(arg);
}

void sim_ctx_meet(struct ns_sim_node *view, struct am_ctx *ctx)
{
    ns_sim_meet(view, poll_once, ctx);
}

void sim_ctx_close(struct ns_sim_node *view, struct am_ctx *ctx)
{
    (void)am_flush(ctx);
    sim_ctx_meet(view, ctx);
    am_close(ctx);
}
