/*
 * A whole machine: builds it from a machine file, runs one program on every
 * node, checks at the end that nothing was lost unseen.
 */
#include "nicsim_sim.h"

#include "host/host.h"
#include "net/sp.h"
#include "nic/tb2/tb2.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct ns_sim_node view;
    struct ns_host host;
    struct ns_tb2 tb2;
    bool gather_waits;
};

/* Two buffers, so that a fast node may start the next gather while a slow one
 * still copies the last. */
struct gather {
    uint8_t *buffer[2];
    size_t bytes[2];
    uint32_t count;
    uint32_t turn;
};

struct ns_sim {
    const struct ns_machine *machine;
    struct ns_sim_params params;
    struct ns_engine *engine;
    struct ns_sp *net;
    struct node *nodes;
    uint32_t node_count; /* initialised so far */
    uint32_t running;
    bool aborted;
    uint64_t end_ps;
    struct gather gather;
    uint64_t met; /* arrivals at ns_sim_meet, of all nodes */
    void (*body)(void *arg, struct ns_sim_node *node);
    void *body_arg;
};

static struct node *node_of_host(struct ns_host *host)
{
    return am_container(host, struct node, host);
}

/* ------------------------------------------------------------------ gathers */

/* Make room for a gather of `bytes` from each node. */
static int gather_room(struct ns_sim *sim, uint32_t turn, size_t bytes)
{
    struct gather *gather = &sim->gather;
    uint8_t *buffer;

    if (bytes <= gather->bytes[turn]) {
        return 0;
    }
    buffer = realloc(gather->buffer[turn], bytes * sim->params.nodes);
    if (buffer == NULL) {
        return -1;
    }
    gather->buffer[turn] = buffer;
    gather->bytes[turn] = bytes;
    return 0;
}

static void gather_release(struct ns_sim *sim)
{
    for (uint32_t i = 0; i < sim->params.nodes; i++) {
        struct node *node = &sim->nodes[i];

        if (node->gather_waits) {
            node->gather_waits = false;
            ns_host_resume(&node->host);
        }
    }
}

int ns_sim_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    struct node *node = am_container(arg, struct node, view);
    struct ns_sim *sim = node->view.sim;
    struct gather *gather = &sim->gather;
    uint32_t turn;

    ns_host_sync(&node->host);
    node->host.idle.pio = true;
    turn = gather->turn;
    if (bytes > 0) {
        if (gather_room(sim, turn, bytes) != 0) {
            return -1;
        }
        memcpy(gather->buffer[turn] + bytes * node->view.rank, mine, bytes);
    }
    gather->count++;
    if (gather->count == sim->params.nodes) {
        gather->count = 0;
        gather->turn = 1 - turn;
        gather_release(sim);
    } else {
        node->gather_waits = true;
        ns_host_block(&node->host);
    }
    if (bytes > 0) {
        memcpy(all, gather->buffer[turn], bytes * sim->params.nodes);
    }
    return 0;
}

void ns_sim_barrier(struct ns_sim_node *view)
{
    (void)ns_sim_allgather(view, NULL, NULL, 0);
}

void ns_sim_meet(struct ns_sim_node *view, void (*poll)(void *arg), void *arg)
{
    struct node *node = am_container(view, struct node, view);
    struct ns_sim *sim = view->sim;
    uint64_t all;

    ns_host_sync(&node->host);
    all = (sim->met / sim->params.nodes + 1) * sim->params.nodes;
    sim->met++;
    while (sim->met < all) {
        poll(arg);
        node->host.idle.pio = true; /* looked at more than memory: no jump */
        ns_host_sync(&node->host);
    }
}

void ns_sim_note(struct ns_sim_node *view, uint64_t a, uint64_t b)
{
    struct node *node = am_container(view, struct node, view);

    ns_trace_at(&node->host.component, node->host.now_ps, NS_TRACE_USER, a, b);
}

/* ------------------------------------------------------------------- set-up */

static int node_init(struct ns_sim *sim, uint32_t rank)
{
    struct node *node = &sim->nodes[rank];

    node->view = (struct ns_sim_node){
            .sim = sim,
            .rank = rank,
            .size = sim->params.nodes,
            .env = &node->host.env,
    };
    if (ns_host_init(&node->host, sim->engine, rank, sim->params.nodes,
                     sim->machine, sim->params.no_jump) != 0) {
        return -1;
    }
    return ns_tb2_init(&node->tb2, &node->host, sim->net, sim->machine);
}

static int sim_build(struct ns_sim *sim)
{
    const struct ns_engine_params engine_params = {
            .seed = sim->params.seed,
            .limit_ps = sim->params.limit_ps,
            .trace_records = sim->params.trace_records,
            .no_sleep = sim->params.no_sleep,
    };

    sim->engine = ns_engine_open(&engine_params, sim->params.nodes);
    sim->nodes = calloc(sim->params.nodes, sizeof(*sim->nodes));
    if (sim->engine == NULL || sim->nodes == NULL) {
        return -1;
    }
    sim->net = ns_sp_open(sim->engine, &sim->machine->sp, sim->params.nodes,
                          ns_tb2_in_packets(&sim->machine->tb2));
    if (sim->net == NULL) {
        return -1;
    }
    while (sim->node_count < sim->params.nodes) {
        if (node_init(sim, sim->node_count++) != 0) {
            return -1;
        }
    }
    return 0;
}

struct ns_sim *ns_sim_open(const struct ns_machine *machine,
                           const struct ns_sim_params *params, char *error,
                           size_t error_bytes)
{
    struct ns_sim *sim;

    if (params->nodes < 1 || params->nodes > machine->sp.nodes_max) {
        snprintf(error, error_bytes,
                 "%s has 1 to %" PRIu64 " nodes; %" PRIu32 " were asked for",
                 machine->name, machine->sp.nodes_max, params->nodes);
        return NULL;
    }
    sim = calloc(1, sizeof(*sim));
    if (sim != NULL) {
        sim->machine = machine;
        sim->params = *params;
        if (sim_build(sim) == 0) {
            return sim;
        }
        ns_sim_close(sim);
    }
    snprintf(error, error_bytes, "out of memory");
    return NULL;
}

void ns_sim_close(struct ns_sim *sim)
{
    if (sim == NULL) {
        return;
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        ns_host_fini(&sim->nodes[i].host);
        ns_tb2_fini(&sim->nodes[i].tb2);
    }
    ns_sp_close(sim->net);
    ns_engine_close(sim->engine);
    free(sim->nodes);
    free(sim->gather.buffer[0]);
    free(sim->gather.buffer[1]);
    free(sim);
}

struct ns_engine *ns_sim_engine(struct ns_sim *sim)
{
    return sim->engine;
}

/* ---------------------------------------------------------------------- run */

static void node_body(void *arg, struct ns_host *host)
{
    struct ns_sim *sim = arg;

    sim->body(sim->body_arg, &node_of_host(host)->view);
}

static void node_ended(void *arg, struct ns_host *host)
{
    struct ns_sim *sim = arg;

    if (host->now_ps > sim->end_ps) {
        sim->end_ps = host->now_ps;
    }
    if (--sim->running == 0) {
        ns_engine_stop(sim->engine);
    }
}

static uint64_t tb2_sum(const struct ns_sim *sim, uint32_t stat)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < sim->node_count; i++) {
        sum += sim->nodes[i].tb2.stats[stat];
    }
    return sum;
}

static int check_conservation(struct ns_sim *sim, char *error,
                              size_t error_bytes)
{
    uint64_t sent = tb2_sum(sim, NS_TB2_STAT_SENT);
    uint64_t received = tb2_sum(sim, NS_TB2_STAT_RECEIVED);
    uint64_t dropped = tb2_sum(sim, NS_TB2_STAT_DROPPED);

    if (sent != received + dropped || sim->net->pool.out != 0 ||
        sent != sim->net->injected || sent != sim->net->delivered) {
        snprintf(error, error_bytes,
                 "packets are missing: %" PRIu64 " sent, %" PRIu64
                 " received, %" PRIu64 " dropped, %" PRIu64 " left over",
                 sent, received, dropped, sim->net->pool.out);
        return -1;
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        const struct ns_sp_port *port = &sim->net->ports[i];

        if (port->inject.credits != port->inject.credits_max ||
            port->eject.credits != port->eject.credits_max ||
            sim->nodes[i].tb2.out_used != 0) {
            snprintf(error, error_bytes, "node %" PRIu32 " lost a buffer", i);
            return -1;
        }
    }
    return 0;
}

void ns_sim_abort(struct ns_sim_node *view)
{
    view->sim->aborted = true;
    ns_engine_stop(view->sim->engine);
}

static int report_stuck(const struct ns_sim *sim, ns_run_t why, char *error,
                        size_t error_bytes)
{
    uint64_t now_ps = ns_engine_now(sim->engine);

    if (sim->aborted) {
        snprintf(error, error_bytes, "a node gave up");
    } else if (why == NS_RUN_LIMIT) {
        snprintf(error, error_bytes,
                 "the limit of %" PRIu64 " us of virtual time was reached with "
                 "%" PRIu32 " nodes still running",
                 sim->params.limit_ps / 1000000, sim->running);
    } else {
        snprintf(error, error_bytes,
                 "deadlock at %" PRIu64 " us of virtual time: %" PRIu32
                 " nodes wait and nothing is under way",
                 now_ps / 1000000, sim->running);
    }
    return -1;
}

static bool sim_busy(const struct ns_sim *sim)
{
    bool busy = sim->net->pool.out > 0;

    for (uint32_t i = 0; i < sim->node_count && !busy; i++) {
        busy = ns_tb2_busy(&sim->nodes[i].tb2);
    }
    return busy;
}

/* Let what is under way arrive. */
static void sim_drain(struct ns_sim *sim)
{
    while (sim_busy(sim) && ns_engine_step(sim->engine) == NS_RUN_STOPPED) {
    }
}

static int trace_write(const struct ns_sim *sim, char *error,
                       size_t error_bytes)
{
    const char *path = sim->params.trace_path;
    FILE *file;
    int status;

    if (path == NULL) {
        return 0;
    }
    file = fopen(path, "w");
    status = file == NULL ? -1 : ns_engine_trace_write(sim->engine, file);
    if ((file != NULL && fclose(file) != 0) || status != 0) {
        snprintf(error, error_bytes, "writing the trace %s: %m", path);
        return -1;
    }
    return 0;
}

int ns_sim_run(struct ns_sim *sim,
               void (*body)(void *arg, struct ns_sim_node *node), void *arg,
               struct ns_sim_result *result, char *error, size_t error_bytes)
{
    ns_run_t why;

    sim->body = body;
    sim->body_arg = arg;
    sim->running = sim->params.nodes;
    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (ns_host_start(&sim->nodes[i].host,
                          sim->params.threads ? NS_FIBER_THREAD
                                              : NS_FIBER_CONTEXT,
                          node_body, sim, node_ended, sim) != 0) {
            snprintf(error, error_bytes, "out of memory");
            return -1;
        }
    }
    why = ns_engine_run(sim->engine);
    if (why != NS_RUN_STOPPED || sim->aborted) {
        return report_stuck(sim, why, error, error_bytes);
    }
    sim_drain(sim);
    *result = (struct ns_sim_result){
            .end_ps = sim->end_ps,
            .events = ns_engine_events(sim->engine),
            .hash = ns_engine_hash(sim->engine),
            .packets = tb2_sum(sim, NS_TB2_STAT_SENT),
            .dropped = tb2_sum(sim, NS_TB2_STAT_DROPPED),
    };
    if (trace_write(sim, error, error_bytes) != 0) {
        return -1;
    }
    return check_conservation(sim, error, error_bytes);
}

void ns_sim_stats_print(const struct ns_sim *sim, FILE *file)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        char prefix[32];

        snprintf(prefix, sizeof(prefix), "node %" PRIu32 " tb2", i);
        am_stats_print(file, prefix, ns_tb2_stats, sim->nodes[i].tb2.stats,
                       NS_TB2_STAT_COUNT);
    }
}
