/*
 * The simulator's own speed and size on this machine: events a second, memory
 * a node.  It measures, so it is never a test.
 *
 *   queue     events scheduled and run, so many pending, nothing else
 *   exchange  every node sends requests to all others and gets the replies
 */
#include "tools/sim.h"
#include "tools/sim_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NODES_DEFAULT = 16,
    ROUNDS_DEFAULT = 200,
    GROWTH_ROUNDS_MAX = 256,
    QUEUE_EVENTS = 5000000,
    DATA_BYTES = 64
};

static uint64_t core_of(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return ((uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
                    1000000 +
            (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)) *
           1000000;
}

uint64_t sim_core_ps(void)
{
    return core_of(RUSAGE_SELF) + core_of(RUSAGE_CHILDREN);
}

/* Memory that this process has in use. */
static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file != NULL) {
        if (fscanf(file, "%*u %lu", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* -------------------------------------------------------------------- queue */

/* Each event schedules itself again, up to 2 us later. */
struct hold {
    struct ns_component component;
    uint64_t random, left;
};

struct held {
    struct ns_event event;
    struct hold *hold;
};

static void held_run(struct ns_event *event)
{
    struct hold *hold = am_container(event, struct held, event)->hold;

    hold->random = hold->random * UINT64_C(6364136223846793005) + 1;
    if (hold->left == 0) {
        ns_engine_stop(hold->component.engine);
        return;
    }
    hold->left--;
    ns_event_schedule(&hold->component, event, NS_PHASE_WIRE,
                      ns_engine_now(hold->component.engine) +
                              (hold->random >> 43));
}

static int queue_speed(const struct sim_options *options,
                       const struct ns_machine *machine, uint32_t pending)
{
    const struct ns_engine_params params = {.seed = 1};
    struct ns_engine *engine = ns_engine_open(&params, 0);
    struct held *held = calloc(pending, sizeof(*held));
    struct hold hold = {.left = QUEUE_EVENTS};
    struct sim_speed row = {.metric = "queue",
                            .traffic = pending,
                            .events = QUEUE_EVENTS,
                            .hardware_events = QUEUE_EVENTS};

    if (engine == NULL || held == NULL) {
        ns_engine_close(engine);
        free(held);
        return sim_fail("out of memory");
    }
    ns_component_init(&hold.component, engine, "hold", NS_NODE_NONE);
    for (uint32_t i = 0; i < pending; i++) {
        held[i].hold = &hold;
        ns_event_init(&held[i].event, held_run);
        ns_event_schedule(&hold.component, &held[i].event, NS_PHASE_WIRE, i);
    }
    row.core_ps = sim_core_ps();
    (void)ns_engine_run(engine);
    row.core_ps = sim_core_ps() - row.core_ps;
    ns_engine_close(engine);
    free(held);
    sim_speed_print(options, machine, &row);
    return EXIT_SUCCESS;
}

/* ----------------------------------------------------------------- exchange */

struct exchange {
    const struct sim_options *options;
    uint32_t rounds;
    bool failed;
    char error[256];
};

static void exchange_node(void *arg, struct ns_sim_node *node)
{
    struct exchange *exchange = arg;
    const uint8_t data[DATA_BYTES] = {0};
    const uint64_t word = 1;
    uint64_t sent = 0;
    struct run run;

    if (run_open(&run, node, exchange->error, sizeof(exchange->error)) != 0) {
        exchange->failed = true;
        ns_sim_abort(node);
        return;
    }
    for (uint32_t round = 0; round < exchange->rounds; round++) {
        for (uint32_t far = 1; far < node->size; far++) {
            (void)am_ctx_request(run.ctx, (node->rank + far) % node->size,
                                 H_PING, &word, 1, data, sizeof(data));
            sent++;
        }
        if (node->rank == 0) {
            sim_progress(exchange->options, round, exchange->rounds,
                         run_now(&run));
        }
    }
    run_wait(&run, &run.pongs, sent);
    run_close(&run);
}

/* One simulation of `nodes` that exchange `rounds` times. */
static int exchange_once(const struct sim_options *options,
                         const struct ns_machine *machine, uint32_t nodes,
                         uint32_t rounds)
{
    struct exchange exchange = {.options = options, .rounds = rounds};
    struct sim_speed row = {
            .metric = "exchange", .nodes = nodes, .traffic = rounds};
    struct ns_sim_params params = options->params;
    struct ns_sim_result result;
    uint64_t before_bytes = resident_bytes();
    char error[512] = "";
    struct ns_sim *sim;
    int status;

    params.nodes = nodes;
    sim = ns_sim_open(machine, &params, error, sizeof(error));
    if (sim == NULL) {
        return sim_fail(error);
    }
    row.core_ps = sim_core_ps();
    status = ns_sim_run(sim, exchange_node, &exchange, &result, error,
                        sizeof(error));
    row.core_ps = sim_core_ps() - row.core_ps;
    row.node_bytes = resident_bytes();
    row.node_bytes = row.node_bytes > before_bytes
                             ? (row.node_bytes - before_bytes) / nodes
                             : 0;
    ns_sim_close(sim);
    sim_progress(options, 1, 1, 0);
    if (status != 0 || exchange.failed) {
        return sim_fail(exchange.failed ? exchange.error : error);
    }
    row.events = result.events;
    row.hardware_events = result.hardware_events;
    row.packets = result.packets;
    row.virtual_ps = result.end_ps;
    row.result = &result;
    sim_speed_print(options, machine, &row);
    return EXIT_SUCCESS;
}

/* The same in a process of its own, whose memory no run before has used. */
static int exchange_run(const struct sim_options *options,
                        const struct ns_machine *machine, uint32_t nodes,
                        uint32_t rounds)
{
    int status = EXIT_FAILURE;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        status = exchange_once(options, machine, nodes, rounds);
        fflush(stdout);
        _exit(status);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return sim_fail("no process could be started");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int sim_speed(const struct sim_options *options,
              const struct ns_machine *machine)
{
    uint32_t nodes = options->nodes != 0 ? options->nodes : NODES_DEFAULT;
    int status = EXIT_SUCCESS;

    for (uint32_t pending = 64; pending <= 1 << 18; pending *= 64) {
        status |= queue_speed(options, machine, pending);
    }
    return status | exchange_run(options, machine, nodes, ROUNDS_DEFAULT);
}

int sim_growth(const struct sim_options *options,
               const struct ns_machine *machine)
{
    uint32_t nodes_max = options->nodes != 0 ? options->nodes : NODES_DEFAULT;
    int status = EXIT_SUCCESS;

    for (uint32_t nodes = 2; nodes <= nodes_max && status == EXIT_SUCCESS;
         nodes *= 2) {
        status = exchange_run(options, machine, nodes, 1);
    }
    for (uint32_t rounds = 2;
         rounds <= GROWTH_ROUNDS_MAX && status == EXIT_SUCCESS; rounds *= 2) {
        status = exchange_run(
                options, machine,
                NODES_DEFAULT < nodes_max ? NODES_DEFAULT : nodes_max, rounds);
    }
    return status;
}
