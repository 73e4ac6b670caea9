/*
 * A rank's process that goes ahead of the simulator puts what it does into a list.
 * When that is full, the turn which empties it changes what the rank knew of its
 * adapter: the trace is that of fibers all the same.
 */
#include "support/cm.h"
#include "support/sim_ctx.h"

#include "am.h"
#include "nicsim_port.h"
#include "nicsim_sim.h"

#include <stdlib.h>

enum {
    NODES = 16,
    ROUNDS = 60, /* fewer meet no register that changes just then */
    BYTES = 64
};

enum {
    H_PING = AM_HANDLER_USER,
    H_PONG
};

struct node {
    struct ns_sim_node *view;
    struct am_ctx *ctx;
    uint64_t pongs;
};

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct node *node = am_token_arg(token);

    (void)data;
    (void)bytes;
    ns_sim_note(node->view, words[0], am_env_now(node->view->env));
    (void)am_token_reply(token, H_PONG, words, word_count, NULL, 0);
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct node *node = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    node->pongs++;
}

/* All send requests to all, and have their replies. */
static void body_all(void *arg, struct ns_sim_node *view)
{
    static const uint8_t data[BYTES];
    const uint64_t word = 1;
    struct node node = {.view = view};

    (void)arg;
    node.ctx = sim_ctx_open(view, NULL, 0);
    if (node.ctx == NULL) {
        return;
    }
    am_handler_register(node.ctx, H_PING, on_ping, &node, "ping");
    am_handler_register(node.ctx, H_PONG, on_pong, &node, "pong");
    sim_ctx_meet(view, node.ctx);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t far = 1; far < view->size; far++) {
            (void)am_ctx_request(node.ctx, (view->rank + far) % view->size,
                                 H_PING, &word, 1, data, sizeof(data));
        }
    }
    while (node.pongs < (uint64_t)ROUNDS * (view->size - 1)) {
        (void)am_ctx_poll_wait(node.ctx);
    }
    sim_ctx_close(view, node.ctx);
}

static struct ns_sim_result run(const struct ns_machine *machine,
                                struct ns_sim_params params)
{
    struct ns_sim_result result;
    char error[256] = "";
    struct ns_sim *sim;

    params.nodes = NODES;
    params.limit_ps = NS_PS_PER_SECOND;
    sim = ns_sim_open(machine, &params, error, sizeof(error));
    if (sim == NULL ||
        ns_sim_run(sim, body_all, NULL, &result, error, sizeof(error)) != 0) {
        fail_msg("%u bytes: %s", params.post_bytes, error);
    }
    ns_sim_close(sim);
    return result;
}

static void test_room(void **state)
{
    char error[256] = "";
    struct ns_machine *machine =
            ns_machine_load("sp-thin", NULL, 0, error, sizeof(error));
    struct ns_sim_result fibers, processes;

    (void)state;
    assert_non_null(machine);
    fibers = run(machine, (struct ns_sim_params){0});
    processes = run(machine, (struct ns_sim_params){.processes = true,
                                                    .post_bytes = 300});
    assert_true(processes.hash == fibers.hash);
    free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
