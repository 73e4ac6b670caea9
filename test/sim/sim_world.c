/*
 * Runs a test program of am-core, unmodified, on simulated hosts: its main is
 * test_main here, in one fiber that plays all hosts in turn; each context of
 * msg_world gets the next host.  The machine is the first argument, settings
 * of it (key=value) are the others.
 */
#include "nicsim_sim.h"
#include "support/msg_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#undef main /* the build renames the test's own */
#define NODES 16

#ifdef SIM_MAIN_ARGUMENTS
int test_main(int argc, char **argv);
#else
int test_main(void);
#endif

static struct ns_sim_node *const *hosts;
static uint32_t next;
static int exit_code;

struct am_env *world_env(void)
{
    return hosts[next++ % NODES]->env;
}

void world_pass(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        ns_sim_work(hosts[i], 10 * UINT64_C(1000000));
    }
}

static void body(void *arg, struct ns_sim_node *const *nodes)
{
    (void)arg;
    hosts = nodes;
#ifdef SIM_MAIN_ARGUMENTS
    exit_code = test_main(1, (char *[]){(char *)"test", NULL});
#else
    exit_code = test_main();
#endif
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "sp-thin";
    const struct ns_sim_params params = {.nodes = NODES};
    struct ns_sim_result result;
    char error[512] = "";
    struct ns_machine *machine = ns_machine_load(
            name, (const char *const *)argv + 2,
            argc > 2 ? (uint32_t)argc - 2 : 0, error, sizeof(error));
    struct ns_sim *sim = machine == NULL ? NULL
                                         : ns_sim_open(machine, &params, error,
                                                       sizeof(error));

    if (sim == NULL || ns_sim_run_shared(sim, body, NULL, &result, error,
                                         sizeof(error)) != 0) {
        fprintf(stderr, "sim_world: %s\n", error);
        exit_code = EXIT_FAILURE;
    } else {
        printf("# simulated %s: %.6f s, %" PRIu64 " events, %" PRIu64
               " packets, %" PRIu64 " dropped, %" PRIu64
               " sent again by links\n",
               name, (double)result.end_ps / 1e12, result.events,
               result.packets, result.dropped, result.faults.resent);
    }
    ns_sim_close(sim);
    free(machine);
    return exit_code;
}
