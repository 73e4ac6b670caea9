/*
 * One node of a figure: its context on its host's environment, handlers that
 * count.
 */
#include "tools/sim_run.h"

#include "nicsim_port.h"

uint64_t run_now(const struct run *run)
{
    return am_env_now(run->node->env);
}

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct run *run = am_token_arg(token);

    (void)data;
    (void)bytes;
    ns_mark(ns_sim_engine(run->node->sim), NS_STAGE_HANDLER, run_now(run));
    run->pings++;
    (void)am_token_reply(token, H_PONG, words, word_count, NULL, 0);
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct run *run = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    run->pongs++;
}

static void on_count(struct am_token *token, const uint64_t *words,
                     uint32_t word_count, void *data, size_t bytes)
{
    struct run *run = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    run->counted++;
}

void run_done(void *arg, am_status_t status)
{
    struct run *run = arg;

    (void)status;
    run->done++;
}

static void poll_once(void *arg)
{
    struct run *run = arg;

    (void)am_ctx_poll(run->ctx);
}

/* All nodes reach this point, polling. */
void run_meet(struct run *run)
{
    ns_sim_meet(run->node, poll_once, run);
}

int run_open(struct run *run, struct ns_sim_node *node, char *error,
             size_t error_bytes)
{
    return run_open_with(run, node, NULL, 0, error, error_bytes);
}

static int ctx_open(struct run *run, struct ns_sim_node *node,
                    const struct am_option *options, uint32_t option_count,
                    char *error, size_t error_bytes)
{
    const struct am_params params = {
            .options = options,
            .option_count = option_count,
            .rank = node->rank,
            .size = node->size,
            .allgather = ns_sim_allgather,
            .allgather_arg = node,
            .env = node->env,
            .error = error,
            .error_bytes = error_bytes,
    };

    *run = (struct run){
            .node = node, .error = error, .error_bytes = error_bytes};
    return am_open(&params, &run->ctx) == AM_OK ? 0 : -1;
}

int run_open_bare(struct run *run, struct ns_sim_node *node, char *error,
                  size_t error_bytes)
{
    return ctx_open(run, node, NULL, 0, error, error_bytes);
}

int run_open_with(struct run *run, struct ns_sim_node *node,
                  const struct am_option *options, uint32_t option_count,
                  char *error, size_t error_bytes)
{
    if (ctx_open(run, node, options, option_count, error, error_bytes) != 0) {
        return -1;
    }
    am_handler_register(run->ctx, H_PING, on_ping, run, "ping");
    am_handler_register(run->ctx, H_PONG, on_pong, run, "pong");
    am_handler_register(run->ctx, H_COUNT, on_count, run, "count");
    am_handler_register(run->ctx, H_GOT, on_count, run, "got");
    run_meet(run);
    return 0;
}

void run_close(struct run *run)
{
    (void)am_flush(run->ctx);
    run_meet(run);
    am_close(run->ctx);
}

void run_wait(struct run *run, const uint64_t *count, uint64_t wanted)
{
    while (*count < wanted) {
        (void)am_ctx_poll_wait(run->ctx);
    }
}

/* Poll until the windows have nothing to say any more. */
void run_settle(struct run *run)
{
    (void)am_flush(run->ctx);
    for (int i = 0; i < 100; i++) {
        (void)am_ctx_poll(run->ctx);
    }
}
