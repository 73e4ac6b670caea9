/*
 * Serving a rank: its asks, one after the other, as the program itself would
 * do them in a fiber.
 */
#include "config.h"

#include "cosim/seat.h"

#include "kernel/engine.h"
#include "sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GATHER_BYTES_MAX (UINT64_C(1) << 24)

/* ------------------------------------------------------------------- set-up */

int ns_seat_open(struct ns_seat *seat, const struct ns_machine *machine)
{
    const struct ns_host_settings *cost = &machine->host;
    void *map = MAP_FAILED;

    *seat = (struct ns_seat){.fd = -1, .pid = -1, .process = -1};
    seat->bytes = ns_box_bytes((uint32_t)cost->shared_bytes,
                               (uint32_t)cost->line_bytes, machine->coherent);
    seat->fd = memfd_create("libam-sim", MFD_CLOEXEC);
    if (seat->fd >= 0 && ftruncate(seat->fd, (off_t)seat->bytes) == 0) {
        map = mmap(NULL, seat->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                   seat->fd, 0);
    }
    if (map == MAP_FAILED) {
        ns_seat_close(seat);
        return -1;
    }
    seat->box = map;
    return 0;
}

void ns_seat_dismiss(struct ns_seat *seat)
{
    if (seat->process >= 0) {
        if (!seat->over) {
            seat->box->answer = NS_ANSWER_STOP;
            ns_box_give(seat->box, NS_TURN_RANK);
        }
        close(seat->process);
        seat->process = -1;
    }
}

void ns_seat_close(struct ns_seat *seat)
{
    ns_seat_dismiss(seat);
    if (seat->box != NULL) {
        munmap(seat->box, seat->bytes);
    }
    if (seat->fd >= 0) {
        close(seat->fd);
    }
    *seat = (struct ns_seat){.fd = -1, .pid = -1, .process = -1};
}

void ns_seat_describe(struct ns_node *node)
{
    const struct ns_sim *sim = node->view.sim;
    const struct ns_machine *machine = sim->machine;
    const struct ns_cpu *cpu = &node->host.cpu;
    struct ns_box *box = node->seat.box;

    box->magic = NS_BOX_MAGIC;
    box->engine = getpid();
    box->cost = machine->host;
    snprintf(box->nic, sizeof(box->nic), "%s", cpu->port.nic);
    box->node = node->view.rank;
    box->nodes = node->view.size;
    box->memory_bytes = cpu->memory.bytes;
    box->coherent = machine->coherent;
    box->no_jump = sim->params.no_jump;
    box->random = cpu->random;
    NS_CHECK(sim->kind->facts_bytes <= sizeof(box->facts));
    memcpy(box->facts, cpu->port.facts, sim->kind->facts_bytes);
}

int ns_seat_take(struct ns_node *node, int pid)
{
    struct ns_seat *seat = &node->seat;

    seat->pid = pid;
    seat->process = (int)syscall(SYS_pidfd_open, pid, 0);
    node->host.cpu.memory.process = pid;
    return seat->process < 0 ? -1 : 0;
}

/* ------------------------------------------------------------------- turns */

static void state_out(struct ns_node *node, ns_answer_t answer)
{
    const struct ns_engine *engine = node->view.sim->engine;
    const struct ns_component *component = &node->host.component;
    const struct ns_heap_entry *first =
            ns_queue_first(&node->view.sim->engine->queue);
    struct ns_box *box = node->seat.box;

    box->now_ps = node->host.cpu.now_ps;
    box->stolen_ps = node->host.cpu.stolen_ps;
    box->idle = node->host.cpu.idle;
    box->answer = answer;
    box->met = node->view.sim->met;
    box->next_ps = first != NULL ? first->time_ps : NS_NEVER;
    box->next_order = first != NULL ? first->order : UINT64_MAX;
    box->order = ns_engine_order(component, NS_PHASE_HOST);
    box->limit_ps = engine->params.limit_ps;
}

static void records_in(struct ns_node *node)
{
    const struct ns_box *box = node->seat.box;

    for (uint32_t i = 0; i < box->record_count; i++) {
        const struct ns_box_record *record = &box->records[i];

        if (record->kind < NS_TRACE_COUNT) {
            ns_trace_at(&node->host.component, record->time_ps,
                        (ns_trace_t)record->kind, record->a, record->b);
        } else {
            ns_mark(node->view.sim->engine, record->kind - NS_TRACE_COUNT,
                    record->time_ps);
        }
    }
}

/* Is it done at the rank's time, which then is not in the past? */
static bool is_timed(ns_ask_t ask)
{
    return ask != NS_ASK_JUMP && ask != NS_ASK_RECORDS && ask != NS_ASK_END;
}

/* What the rank has written is peer input: could a rank have done so? */
static bool state_is_sane(const struct ns_node *node)
{
    const struct ns_box *box = node->seat.box;
    uint64_t from_ps = ns_engine_now(node->view.sim->engine);

    for (uint32_t i = 0;
         box->record_count <= NS_BOX_RECORDS && i < box->record_count; i++) {
        if (box->records[i].kind >= NS_TRACE_COUNT + NS_STAGE_COUNT) {
            return false;
        }
    }
    if (box->advances > 0) {
        if (box->advanced_ps < from_ps || box->advanced_ps > box->next_ps ||
            box->advanced_ps > box->limit_ps) {
            return false;
        }
        from_ps = box->advanced_ps;
    }
    return box->record_count <= NS_BOX_RECORDS && box->ask < NS_ASK_COUNT &&
           (box->now_ps >= from_ps || !is_timed((ns_ask_t)box->ask));
}

/* What the rank has done since it had its turn. */
static void state_in(struct ns_node *node)
{
    const struct ns_box *box = node->seat.box;
    struct ns_cpu *cpu = &node->host.cpu;

    records_in(node);
    if (box->advances > 0) {
        NS_CHECK(ns_engine_advance(&node->host.component, NS_PHASE_HOST,
                                   box->advanced_ps));
        ns_engine_events_stand(node->view.sim->engine, box->advances);
        node->host.syncs += box->advances;
    }
    cpu->now_ps = box->now_ps;
    cpu->stolen_ps = box->stolen_ps;
    cpu->idle = box->idle;
}

/* Let the rank run until its next ask; false: it will not run any more. */
static bool rank_run(struct ns_node *node, ns_answer_t answer)
{
    struct ns_seat *seat = &node->seat;
    const char *what = NULL;

    state_out(node, answer);
    ns_box_give(seat->box, NS_TURN_RANK);
    if (!ns_box_wait(seat->box, NS_TURN_ENGINE, seat->process)) {
        what = "ended before its program was over";
        seat->over = true;
    } else if (!state_is_sane(node)) {
        what = "wrote over what it shares with the simulator";
    }
    if (what != NULL) {
        ns_sim_fail(node->view.sim, "rank %" PRIu32 " (process %d) %s",
                    node->view.rank, seat->pid, what);
        return false;
    }
    state_in(node);
    return true;
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
    case NS_ASK_RECORDS:
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
    }
}
