/*
 * A whole machine: builds it from a machine file, runs one program on every
 * node, checks at the end that nothing was lost unseen.
 */
#include "sim.h"

#include "kernel/large.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ gathers */

/* Make room for a gather of `bytes` from each node. */
static int gather_room(struct ns_sim *sim, uint32_t turn, size_t bytes)
{
    struct ns_gather *gather = &sim->gather;
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
        struct ns_node *node = &sim->nodes[i];

        if (node->gather_waits) {
            node->gather_waits = false;
            ns_host_resume(&node->host);
        }
    }
}

int ns_sim_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    struct ns_node *node = am_container(arg, struct ns_node, view);
    struct ns_sim *sim = node->view.sim;
    struct ns_gather *gather = &sim->gather;
    uint32_t turn;

    if (node->rank != NULL) {
        ns_rank_gather(node->rank, mine, all, bytes);
        return 0;
    }
    ns_host_sync(&node->host);
    node->host.cpu.idle.news = true;
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

uint64_t ns_sim_meet_enter(struct ns_node *node)
{
    struct ns_sim *sim = node->view.sim;

    ns_host_sync(&node->host);
    return (sim->met++ / sim->params.nodes + 1) * sim->params.nodes;
}

void ns_sim_meet(struct ns_sim_node *view, void (*poll)(void *arg), void *arg)
{
    struct ns_node *node = am_container(view, struct ns_node, view);
    const struct ns_sim *sim = view->sim;
    uint64_t all;

    if (node->rank != NULL) {
        ns_rank_meet(node->rank, poll, arg);
        return;
    }
    all = ns_sim_meet_enter(node);
    while (sim->met < all) {
        poll(arg);
        node->host.cpu.idle.news =
                true; /* looked at more than memory: no jump */
        ns_host_sync(&node->host);
    }
}

/* Where the node's program runs: here, or in its process. */
static struct ns_cpu *cpu_of(struct ns_node *node)
{
    return node->rank != NULL ? &node->rank->cpu : &node->host.cpu;
}

void ns_sim_compute(struct ns_sim_node *view, uint64_t ps)
{
    struct ns_node *node = am_container(view, struct ns_node, view);

    if (node->rank != NULL) {
        ns_rank_compute(node->rank, ps);
    } else {
        ns_host_compute(&node->host, ps);
    }
}

void ns_sim_work(struct ns_sim_node *view, uint64_t ps)
{
    cpu_of(am_container(view, struct ns_node, view))->now_ps += ps;
}

void ns_sim_interrupts(struct ns_sim_node *view, void (*fn)(void *arg),
                       void *arg)
{
    struct ns_node *node = am_container(view, struct ns_node, view);

    if (node->rank != NULL) {
        ns_rank_interrupts(node->rank, fn, arg);
    } else {
        node->host.interrupt = fn;
        node->host.interrupt_arg = arg;
    }
}

void ns_sim_note(struct ns_sim_node *view, uint64_t a, uint64_t b)
{
    struct ns_cpu *cpu = cpu_of(am_container(view, struct ns_node, view));

    cpu->ops->trace(cpu, NS_TRACE_USER, a, b);
}

/* ------------------------------------------------------------------- set-up */

static int node_init(struct ns_sim *sim, uint32_t rank)
{
    struct ns_node *node = &sim->nodes[rank];

    node->view = (struct ns_sim_node){
            .sim = sim,
            .rank = rank,
            .size = sim->params.nodes,
            .env = &node->host.cpu.env,
    };
    if (sim->params.processes && ns_seat_open(&node->seat, sim->machine) != 0) {
        return -1;
    }
    if (ns_host_init(&node->host, sim->engine, rank, sim->params.nodes,
                     sim->machine, sim->params.no_jump,
                     sim->params.processes ? ns_box_room(node->seat.box)
                                           : NULL) != 0) {
        return -1;
    }
    node->nic = sim->kind->open(&node->host, sim->net, sim->machine);
    if (node->nic == NULL) {
        return -1;
    }
    if (sim->params.processes) {
        ns_seat_describe(node);
    }
    return 0;
}

static int sim_build(struct ns_sim *sim)
{
    const struct ns_engine_params engine_params = {
            .seed = sim->params.seed,
            .fault = &sim->machine->fault,
            .limit_ps = sim->params.limit_ps,
            .trace_records = sim->params.trace_records,
            .no_sleep = sim->params.no_sleep,
            .tick = sim->params.tick,
            .tick_arg = sim->params.tick_arg,
    };

    sim->engine = ns_engine_open(&engine_params, sim->params.nodes);
    sim->nodes = ns_large_calloc(sim->params.nodes, sizeof(*sim->nodes));
    if (sim->engine == NULL || sim->nodes == NULL) {
        return -1;
    }
    sim->net =
            sim->kind->net_open(sim->engine, sim->machine, sim->params.nodes);
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
    const struct ns_nic_kind *kind = ns_nic_kind_find(machine->nic);
    uint32_t nodes_max = kind->nodes_max(machine);
    struct ns_sim *sim;

    if (params->nodes < 1 || params->nodes > nodes_max) {
        snprintf(error, error_bytes,
                 "%s has 1 to %" PRIu32 " nodes; %" PRIu32 " were asked for",
                 machine->name, nodes_max, params->nodes);
        return NULL;
    }
    if (kind->fits != NULL &&
        !kind->fits(machine, params->nodes, error, error_bytes)) {
        return NULL;
    }
    sim = calloc(1, sizeof(*sim));
    if (sim != NULL) {
        sim->machine = machine;
        sim->kind = kind;
        sim->params = *params;
        if (sim_build(sim) == 0) {
            if (ns_engine_fault_wrong(sim->engine, error, error_bytes) ==
                NULL) {
                return sim;
            }
            ns_sim_close(sim);
            return NULL;
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
        if (sim->nodes[i].nic != NULL) {
            sim->kind->close(sim->nodes[i].nic);
        }
        if (sim->params.processes) {
            ns_seat_close(&sim->nodes[i].seat);
        }
    }
    if (sim->net != NULL) {
        sim->kind->net_close(sim->net);
    }
    ns_engine_close(sim->engine);
    free(sim->nodes);
    free(sim->gather.buffer[0]);
    free(sim->gather.buffer[1]);
    free(sim);
}

bool ns_sim_stack_over(const struct ns_sim *sim, const void *address)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        const struct ns_fiber *fiber = sim->nodes[i].host.fiber;

        if (fiber != NULL && ns_fiber_guards(fiber, address)) {
            return true;
        }
    }
    return false;
}

struct ns_engine *ns_sim_engine(struct ns_sim *sim)
{
    return sim->engine;
}
