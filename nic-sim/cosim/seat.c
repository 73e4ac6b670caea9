/*
 * Serving a rank: its asks, one after the other, as the program itself would
 * do them in a fiber.
 */
#include "config.h"

#include "cosim/seat.h"

#include "cosim/post.h"
#include "kernel/engine.h"
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATHER_BYTES_MAX (UINT64_C(1) << 24)
#define TELL_SECONDS     10

/* ------------------------------------------------------------------- turns */

/* What the adapter and the bus will not do, while the rank runs. */
static void ahead_out(struct ns_node *node)
{
    struct ns_ahead *ahead = &node->seat.box->ahead;
    const struct ns_heap_entry *first =
            ns_queue_first(&node->view.sim->engine->queue);

    *ahead = (struct ns_ahead){.next_ps = NS_NEVER};
    node->view.sim->kind->ahead(node->nic,
                                first != NULL ? first->time_ps : NS_NEVER,
                                ahead);
    if (node->host.cpu.memory.coherent) {
        ahead->look_ps = ahead->touch_ps; /* DMA takes lines out of the cache */
    }
    ns_bus_ahead(&node->host.bus, ahead);
}

/* The register that the rank has loaded last, if it may keep its value. */
static void steady_out(struct ns_node *node)
{
    const struct ns_nic_ops *ops = node->host.nic_ops;
    struct ns_access *steady = &node->seat.steady;

    if (node->seat.box->ask == NS_ASK_ACCESS) {
        *steady = node->host.access;
        if (!steady->is_load || ops->reg_is_steady == NULL ||
            !ops->reg_is_steady(steady->reg)) {
            steady->bytes = 0;
        }
    }
    if (steady->bytes > 0) {
        steady->value =
                ops->reg_load(node->host.nic, steady->reg, steady->bytes);
    }
    node->seat.box->steady = *steady;
}

static void state_out(struct ns_node *node, ns_answer_t answer)
{
    const struct ns_engine *engine = node->view.sim->engine;
    struct ns_box *box = node->seat.box;

    box->now_ps = node->host.cpu.now_ps;
    box->stolen_ps = node->host.cpu.stolen_ps;
    box->idle = node->host.cpu.idle;
    box->answer = answer;
    box->met = node->view.sim->met;
    box->limit_ps = engine->params.limit_ps;
    ahead_out(node);
    steady_out(node);
}

static void records_in(struct ns_node *node)
{
    const struct ns_box *box = node->seat.box;

    for (uint32_t i = 0; i < box->record_count; i++) {
        const struct ns_box_record *record = &box->records[i];

        ns_seat_record(node, record->kind, record->time_ps, record->a,
                       record->b);
    }
}

/* Is it done at the rank's time, which then is not in the past? */
static bool is_timed(ns_ask_t ask)
{
    return ask != NS_ASK_JUMP && ask != NS_ASK_ROOM && ask != NS_ASK_END;
}

/* What the rank has written is peer input: could a rank have done so? */
static bool state_is_sane(const struct ns_node *node)
{
    const struct ns_box *box = node->seat.box;
    uint64_t from_ps = ns_engine_now(node->view.sim->engine);

    for (uint32_t i = 0;
         box->record_count <= NS_BOX_RECORDS && i < box->record_count; i++) {
        if (box->records[i].kind >= NS_BOX_KINDS) {
            return false;
        }
    }
    return box->record_count <= NS_BOX_RECORDS && box->ask < NS_ASK_COUNT &&
           ns_posts_are_sane(box, &node->host.cpu.memory) &&
           (box->now_ps >= from_ps ||
            (box->post_bytes == 0 && !is_timed((ns_ask_t)box->ask)));
}

/* What the rank has done since it had its turn; false: it has gone on further
 * than it may. */
static bool state_in(struct ns_node *node)
{
    const struct ns_box *box = node->seat.box;
    struct ns_cpu *cpu = &node->host.cpu;

    records_in(node);
    cpu->now_ps = box->now_ps;
    cpu->stolen_ps = box->stolen_ps;
    cpu->idle = box->idle;
    return ns_posts_do(box, &node->host);
}

/* The rank has its turn: wait until it asks; false: it will not. */
static bool rank_wait(struct ns_node *node)
{
    struct ns_seat *seat = &node->seat;
    uint64_t patience = node->view.sim->params.patience_seconds;
    const char *what = NULL;

    switch (ns_box_wait(seat->box, NS_TURN_ENGINE, seat->process, patience)) {
    case NS_BOX_TURN:
        break;
    case NS_BOX_GONE:
        what = "ended before its program was over";
        seat->over = true;
        break;
    case NS_BOX_LATE:
        what = "computes without end: it has not called libam for longer than "
               "--patience says";
        seat->over = true;
        break;
    }
    if (what != NULL) {
        ns_sim_fail(node->view.sim, "rank %" PRIu32 " (process %d) %s",
                    node->view.rank, seat->pid, what);
    }
    return what == NULL;
}

/* Take what it has done. */
static bool rank_take(struct ns_node *node)
{
    if (!state_is_sane(node) || !state_in(node)) {
        ns_sim_fail(node->view.sim,
                    "rank %" PRIu32 " (process %d) wrote over what it shares "
                    "with the simulator",
                    node->view.rank, node->seat.pid);
        return false;
    }
    return true;
}

void ns_seat_waits(struct ns_node *node, char *text, size_t bytes)
{
    struct ns_seat *seat = &node->seat;
    struct ns_box *box = seat->box;

    text[0] = '\0';
    if (seat->over || seat->outside ||
        atomic_load(&box->turn) != NS_TURN_ENGINE) {
        return;
    }
    box->answer = NS_ANSWER_TELL;
    ns_box_give(box, NS_TURN_RANK);
    if (ns_box_wait(box, NS_TURN_ENGINE, seat->process, TELL_SECONDS) !=
        NS_BOX_TURN) {
        seat->over = true;
        return;
    }
    box->data[NS_BOX_DATA - 1] = '\0';
    snprintf(text, bytes, "%s", (const char *)box->data);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at < ' ' || *at > '~' ? '?' : *at; /* the rank wrote it */
    }
}

/* ------------------------------------------------------------------- outside */

/* Is every rank outside whose program is not over? */
static bool all_outside(const struct ns_sim *sim)
{
    bool all = true;

    for (uint32_t i = 0; i < sim->node_count; i++) {
        all = all && (sim->nodes[i].seat.outside || sim->nodes[i].seat.over);
    }
    return all;
}

/* Wait until all that are outside have asked for something, and let them go on;
 * `me` does so by itself. */
static bool all_return(struct ns_sim *sim, const struct ns_node *me)
{
    bool returned = false;

    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (sim->nodes[i].seat.outside && !rank_wait(&sim->nodes[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (sim->nodes[i].seat.outside) {
            sim->nodes[i].seat.outside = false;
            returned = true;
            if (&sim->nodes[i] != me) {
                ns_host_resume(&sim->nodes[i].host);
            }
        }
    }
    return returned;
}

bool ns_seats_return(struct ns_sim *sim)
{
    return all_return(sim, NULL);
}

/* What it did outside comes after the time that all waited. */
static void box_shift(struct ns_box *box, uint64_t ps)
{
    box->now_ps += ps;
    for (uint32_t i = 0; i < box->record_count && i < NS_BOX_RECORDS; i++) {
        box->records[i].time_ps += ps;
    }
}

/* Let the rank run outside: its next ask comes at the time at which the last one
 * went there, as in ns_sim_allgather. */
static bool rank_run_outside(struct ns_node *node)
{
    struct ns_sim *sim = node->view.sim;
    struct ns_box *box = node->seat.box;
    uint64_t out_ps;

    ns_host_sync(&node->host);
    node->host.cpu.idle.news = true;
    state_out(node, NS_ANSWER_GO);
    out_ps = box->now_ps;
    box->ahead = (struct ns_ahead){0}; /* nothing without a turn */
    node->seat.turns++;
    ns_box_give(box, NS_TURN_RANK);
    node->seat.outside = true;
    if (all_outside(sim)) {
        (void)all_return(sim, node);
    } else {
        ns_fiber_yield(node->host.fiber);
    }
    if (sim->aborted) {
        return false;
    }
    box_shift(box, ns_engine_now(sim->engine) - out_ps);
    return rank_take(node);
}

/* Let the rank run until its next ask; false: it will not run any more. */
static bool rank_run(struct ns_node *node, ns_answer_t answer)
{
    if (answer == NS_ANSWER_GO && node->seat.box->ask == NS_ASK_OUTSIDE) {
        return rank_run_outside(node);
    }
    state_out(node, answer);
    node->seat.turns++;
    ns_box_give(node->seat.box, NS_TURN_RANK);
    return rank_wait(node) && rank_take(node);
}

/* ------------------------------------------------------------------- serving */

static bool serve_until(struct ns_node *node, ns_ask_t last, ns_answer_t first);

/* ns_host_compute calls it: the rank's function runs, and asks. */
static void on_interrupt(void *arg)
{
    (void)serve_until(arg, NS_ASK_HANDLED, NS_ANSWER_INTERRUPT);
}

static bool serve_gather(struct ns_node *node)
{
    const struct ns_box *box = node->seat.box;
    struct ns_memory *memory = &node->host.cpu.memory;
    uint64_t bytes = box->c, mine_at = box->a, all_at = box->b;
    uint8_t *mine, *all;
    bool done;

    if (bytes > GATHER_BYTES_MAX) {
        return false;
    }
    mine = malloc(bytes + 1);
    all = malloc(bytes * node->view.size + 1);
    done = mine != NULL && all != NULL &&
           ns_memory_own_read(memory, mine_at, mine, bytes) &&
           ns_sim_allgather(&node->view, mine, all, bytes) == 0 &&
           ns_memory_own_write(memory, all_at, all, bytes * node->view.size);
    free(mine);
    free(all);
    return done;
}

static bool serve_load(struct ns_node *node)
{
    struct ns_box *box = node->seat.box;
    struct ns_port *port = &node->host.cpu.port;
    uint32_t address = box->access.reg, bytes = box->access.bytes;

    if (bytes > NS_BOX_DATA ||
        !ns_memory_holds(&node->host.cpu.memory, address, bytes)) {
        return false;
    }
    port->ops->load(port, address, box->data, bytes);
    return true;
}

/* Do what the rank asks; false: it could not be done. */
static bool serve_one(struct ns_node *node)
{
    struct ns_box *box = node->seat.box;
    struct ns_host *host = &node->host;

    switch ((ns_ask_t)box->ask) {
    case NS_ASK_SYNC:
        ns_host_sync(host);
        return true;
    case NS_ASK_ACCESS:
        box->value = ns_host_access(host, &box->access);
        return true;
    case NS_ASK_WRITE:
        if (box->access.bytes == 0 || box->access.bytes > NS_BOX_DATA) {
            return false;
        }
        ns_host_write(host, box->access.reg, box->data, box->access.bytes);
        return true;
    case NS_ASK_LOAD:
        return serve_load(node);
    case NS_ASK_JUMP:
        ns_host_jump(host);
        return true;
    case NS_ASK_COMPUTE:
        host->interrupt = box->interrupts ? on_interrupt : NULL;
        host->interrupt_arg = node;
        ns_host_compute(host, box->a);
        return true;
    case NS_ASK_GATHER:
        return serve_gather(node);
    case NS_ASK_MEET:
        box->meets = ns_sim_meet_enter(node);
        return true;
    case NS_ASK_ABORT:
        ns_sim_abort(&node->view);
        return true;
    case NS_ASK_ROOM:
    case NS_ASK_OUTSIDE:
    case NS_ASK_HANDLED:
    case NS_ASK_END:
    case NS_ASK_COUNT:
        break;
    }
    return true;
}

static bool serve_until(struct ns_node *node, ns_ask_t last, ns_answer_t first)
{
    ns_answer_t answer = first;

    while (rank_run(node, answer)) {
        if (node->seat.box->ask == last) {
            return true;
        }
        answer = NS_ANSWER_GO;
        if (!serve_one(node)) {
            ns_sim_fail(node->view.sim,
                        "rank %" PRIu32 " (process %d): the simulator cannot "
                        "reach its memory",
                        node->view.rank, node->seat.pid);
            return false;
        }
    }
    return false;
}

void ns_seat_serve(struct ns_node *node)
{
    if (serve_until(node, NS_ASK_END, NS_ANSWER_GO)) {
        node->seat.over = true;
        ns_slices_end(&node->host.component, node->host.cpu.now_ps);
    }
}
