/*
 * A cpu whose engine is another process.  What needs no turn happens here:
 * charges, the cache, looks at memory that the adapter has left alone.
 */
#include "config.h"

#include "cosim/rank.h"

#include "cosim/post.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct ns_rank *rank_of(struct ns_cpu *cpu)
{
    return am_container(cpu, struct ns_rank, cpu);
}

/* Shorter gaps between two asks are libam's and MPI's own work, at costs that the
 * machine has, and not the program's: they are not measured. */
#define GAP_LEAST_NS 2000

/* ------------------------------------------------------------------- turns */

static void state_out(struct ns_rank *rank, ns_ask_t ask)
{
    struct ns_box *box = rank->box;

    box->now_ps = rank->cpu.now_ps;
    if (box->post_bytes > 0) {
        box->now_ps = rank->posts_ps;
        box->tail_ps = rank->cpu.now_ps - rank->post_ps;
    }
    box->stolen_ps = rank->cpu.stolen_ps;
    box->idle = rank->cpu.idle;
    box->accesses = rank->cpu.accesses;
    box->interrupts = rank->interrupt != NULL;
    box->ask = ask;
}

/* Wait for the turn; the process ends here when there is none any more. */
static void turn_wait(struct ns_rank *rank)
{
    struct ns_box *box = rank->box;

    if (ns_box_wait(box, NS_TURN_RANK, rank->engine, 0) != NS_BOX_TURN) {
        ns_end(EXIT_FAILURE,
               box->node == 0 ? "libam: the simulator (process %d) has ended\n"
                              : NULL, /* one says it for all */
               box->engine);
    }
}

static void turn_take(struct ns_rank *rank)
{
    struct ns_box *box = rank->box;

    turn_wait(rank);
    while (box->answer == NS_ANSWER_TELL) {
        box->data[0] = '\0';
        if (rank->waits != NULL) {
            (void)rank->waits(rank->waits_arg, (char *)box->data,
                              sizeof(box->data));
        }
        ns_box_give(box, NS_TURN_ENGINE);
        turn_wait(rank);
    }
    if (box->answer == NS_ANSWER_STOP) {
        ns_end(EXIT_FAILURE, NULL); /* the engine has said why */
    }
    rank->cpu.now_ps = box->now_ps;
    rank->cpu.stolen_ps = box->stolen_ps;
    rank->cpu.idle = box->idle;
    box->record_count = 0;
    box->post_bytes = box->known_bytes = 0;
}

/* From here on the rank computes. */
static void measure_on(struct ns_rank *rank)
{
    if (rank->box->measured != 0) {
        rank->measured_ns = am_env_processor_ns();
    }
}

static void ask(struct ns_rank *rank, ns_ask_t what)
{
    if (rank->ended) {
        ns_end(EXIT_FAILURE,
               "libam: rank %u: a process is on a simulated machine once, and "
               "it has left it\n",
               rank->box->node);
    }
    rank->outside = false;
    state_out(rank, what);
    ns_box_give(rank->box, NS_TURN_ENGINE);
    turn_take(rank);
    while (rank->box->answer == NS_ANSWER_INTERRUPT) {
        rank->interrupt(rank->interrupt_arg);
        state_out(rank, NS_ASK_HANDLED);
        ns_box_give(rank->box, NS_TURN_ENGINE);
        turn_take(rank);
    }
    measure_on(rank);
}

void ns_rank_measure(struct ns_rank *rank)
{
    struct ns_box *box = rank->box;
    uint64_t gap_ns;

    if (box->measured == 0 || rank->measured_ns == 0 || rank->ended) {
        return;
    }
    gap_ns = am_env_processor_ns() - rank->measured_ns;
    if (gap_ns >= GAP_LEAST_NS) {
        box->a = gap_ns * box->measured; /* ns, thousandths: ps */
        ask(rank, NS_ASK_COMPUTE);
    }
}

void ns_rank_settle(struct ns_rank *rank)
{
    if (!ns_posts_are_known(rank)) {
        ask(rank, NS_ASK_ROOM);
    }
}

void ns_rank_room(struct ns_rank *rank)
{
    if (rank->box->post_bytes > 0) {
        ask(rank, NS_ASK_ROOM);
    }
}

void ns_rank_load(struct ns_rank *rank, uint32_t address, void *to,
                  uint32_t bytes)
{
    rank->box->access =
            (struct ns_access){.reg = address, .bytes = bytes, .is_load = true};
    ask(rank, NS_ASK_LOAD);
    memcpy(to, rank->box->data, bytes);
}

bool ns_rank_is_ahead(const struct ns_rank *rank)
{
    const struct ns_box *box = rank->box;

    return ns_posts_are_known(rank) && !rank->ended &&
           rank->cpu.now_ps <= box->limit_ps &&
           rank->cpu.now_ps < (rank->looks ? box->ahead.look_ps
                                           : box->ahead.touch_ps);
}

/* --------------------------------------------------------------------- cpu */

static void rank_sync(struct ns_cpu *cpu)
{
    ns_rank_measure(rank_of(cpu));
    if (ns_post_sync(rank_of(cpu))) {
        measure_on(rank_of(cpu));
    } else {
        ask(rank_of(cpu), NS_ASK_SYNC);
    }
}

static uint32_t rank_access(struct ns_cpu *cpu, const struct ns_access *access)
{
    struct ns_rank *rank = rank_of(cpu);

    ns_rank_measure(rank);
    rank->box->access = *access;
    ask(rank, NS_ASK_ACCESS);
    return rank->box->value;
}

static void rank_write(struct ns_cpu *cpu, uint32_t reg, const void *from,
                       size_t bytes)
{
    struct ns_box *box = rank_of(cpu)->box;

    NS_CHECK(bytes <= sizeof(box->data));
    ns_rank_measure(rank_of(cpu));
    box->access = (struct ns_access){.reg = reg, .bytes = (uint32_t)bytes};
    memcpy(box->data, from, bytes);
    ask(rank_of(cpu), NS_ASK_WRITE);
}

static void rank_jump(struct ns_cpu *cpu)
{
    ask(rank_of(cpu), NS_ASK_JUMP);
}

static void rank_catch_up(struct ns_cpu *cpu)
{
    (void)cpu; /* a process has one host */
}

static void record(struct ns_cpu *cpu, uint32_t kind, uint64_t a, uint64_t b)
{
    struct ns_box *box = rank_of(cpu)->box;

    if (ns_post_record(rank_of(cpu), kind, a, b)) {
        return;
    }
    if (box->record_count == NS_BOX_RECORDS) {
        ask(rank_of(cpu), NS_ASK_ROOM);
    }
    box->records[box->record_count++] = (struct ns_box_record){
            .time_ps = cpu->now_ps, .a = a, .b = b, .kind = kind};
}

static void rank_trace(struct ns_cpu *cpu, ns_trace_t kind, uint64_t a,
                       uint64_t b)
{
    record(cpu, kind, a, b);
}

static void rank_mark(struct ns_cpu *cpu, ns_stage_t stage)
{
    record(cpu, NS_BOX_STAGE + stage, 0, 0);
}

void ns_rank_slice(struct ns_rank *rank, const char *name, bool begins)
{
    if (rank->box->slices && !rank->ended) {
        record(&rank->cpu, begins ? NS_BOX_BEGIN : NS_BOX_END,
               (uint64_t)(uintptr_t)name, strlen(name));
    }
}

static const struct ns_cpu_ops rank_ops = {
        .sync = rank_sync,
        .access = rank_access,
        .write = rank_write,
        .jump = rank_jump,
        .catch_up = rank_catch_up,
        .trace = rank_trace,
        .mark = rank_mark,
};

/* -------------------------------------------------------------- environment */

static struct ns_rank *rank_of_env(struct am_env *env)
{
    return rank_of(am_container(env, struct ns_cpu, env));
}

static uint64_t env_now(struct am_env *env)
{
    ns_rank_settle(rank_of_env(env));
    return rank_of_env(env)->cpu_ops->now(env);
}

static void env_relax(struct am_env *env, uint64_t deadline_ps)
{
    ns_rank_settle(rank_of_env(env));
    rank_of_env(env)->cpu_ops->relax(env, deadline_ps);
}

static uint32_t env_pass(struct am_env *env, uint32_t rounds_max)
{
    ns_rank_settle(rank_of_env(env));
    return rank_of_env(env)->cpu_ops->pass(env, rounds_max);
}

/* ----------------------------------------------------------------- the node */

/* The cpu's environment and port, with a list in front. */
static void cpu_init(struct ns_rank *rank)
{
    ns_cpu_init(&rank->cpu, &rank_ops, &rank->box->cost);
    rank->cpu_ops = rank->cpu.env.ops;
    rank->env_ops = *rank->cpu_ops;
    rank->env_ops.now = env_now;
    rank->env_ops.relax = env_relax;
    rank->env_ops.pass = env_pass;
    rank->cpu.env.ops = &rank->env_ops;
    ns_post_port(&rank->port_ops);
    rank->cpu.port.ops = &rank->port_ops;
}

int ns_rank_open(struct ns_rank *rank, struct ns_box *box)
{
    *rank = (struct ns_rank){.box = box};
    rank->engine = (int)syscall(SYS_pidfd_open, box->engine, 0);
    if (rank->engine < 0 ||
        ns_memory_init(&rank->cpu.memory, box->memory_bytes,
                       (uint32_t)box->cost.line_bytes, box->coherent != 0,
                       ns_box_room(box)) != 0) {
        return -1;
    }
    rank->cpu.random = box->random;
    rank->cpu.no_jump = box->no_jump != 0;
    rank->cpu.port = (struct ns_port){.nic = box->nic,
                                      .node = box->node,
                                      .nodes = box->nodes,
                                      .facts = box->facts};
    cpu_init(rank);
    turn_take(rank);
    return 0;
}

void ns_rank_gather(struct ns_rank *rank, const void *mine, void *all,
                    size_t bytes)
{
    struct ns_box *box = rank->box;

    box->a = (uint64_t)(uintptr_t)mine;
    box->b = (uint64_t)(uintptr_t)all;
    box->c = bytes;
    ask(rank, NS_ASK_GATHER);
}

void ns_rank_meet(struct ns_rank *rank, void (*poll)(void *arg), void *arg)
{
    uint64_t all;

    ask(rank, NS_ASK_MEET);
    all = rank->box->meets;
    while (rank->box->met < all) {
        poll(arg);
        rank->cpu.idle.news = true; /* looked at more than memory: no jump */
        ask(rank, NS_ASK_SYNC);     /* others tell at any time */
    }
}

void ns_rank_compute(struct ns_rank *rank, uint64_t ps)
{
    if (rank->interrupt == NULL && ns_post_compute(rank, ps)) {
        return;
    }
    rank->box->a = ps;
    ask(rank, NS_ASK_COMPUTE);
}

void ns_rank_interrupts(struct ns_rank *rank, void (*fn)(void *arg), void *arg)
{
    rank->interrupt = fn;
    rank->interrupt_arg = arg;
}

void ns_rank_outside(struct ns_rank *rank)
{
    if (!rank->outside && !rank->ended) {
        ns_rank_measure(rank);
        ask(rank, NS_ASK_OUTSIDE);
        rank->outside = true;
        rank->measured_ns = 0; /* what it does there takes no time */
    }
}

void ns_rank_abort(struct ns_rank *rank)
{
    ask(rank, NS_ASK_ABORT);
}

void ns_rank_end(struct ns_rank *rank)
{
    if (!rank->ended) {
        ns_rank_measure(rank);
        rank->ended = true;
        state_out(rank, NS_ASK_END);
        ns_box_give(rank->box, NS_TURN_ENGINE);
    }
}
