/*
 * Running programs on a machine, and the check at the end that nothing was
 * lost unseen.
 */
#include "sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct ns_node *node_of_host(struct ns_host *host)
{
    return am_container(host, struct ns_node, host);
}

/* ---------------------------------------------------------------------- run */

static void node_body(void *arg, struct ns_host *host)
{
    struct ns_sim *sim = arg;
    struct ns_node *node = node_of_host(host);

    if (sim->params.processes) {
        ns_seat_serve(node);
    } else {
        sim->body(sim->body_arg, &node->view);
    }
}

static void node_ended(void *arg, struct ns_host *host)
{
    struct ns_sim *sim = arg;

    if (host->cpu.now_ps > sim->end_ps) {
        sim->end_ps = host->cpu.now_ps;
    }
    if (--sim->running == 0) {
        ns_engine_stop(sim->engine);
    }
}

static uint64_t stat_sum(const struct ns_sim *sim, uint32_t stat)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < sim->node_count; i++) {
        sum += sim->kind->stats(sim->nodes[i].nic)[stat];
    }
    return sum;
}

/* Those that a process has done without its turn are told by itself. */
static void result_accesses(const struct ns_sim *sim,
                            struct ns_sim_result *result)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        const struct ns_node *node = &sim->nodes[i];

        result->accesses += node->host.cpu.accesses;
        if (sim->params.processes) {
            result->accesses += node->seat.box->accesses;
            result->turns += node->seat.turns;
        }
    }
}

/* What an adapter can only tell of all together. */
static int check_whole(struct ns_sim *sim, char *error, size_t error_bytes)
{
    void **nics;
    bool whole;

    if (sim->kind->whole == NULL) {
        return 0;
    }
    nics = calloc(sim->node_count, sizeof(*nics));
    if (nics == NULL) {
        snprintf(error, error_bytes, "out of memory");
        return -1;
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        nics[i] = sim->nodes[i].nic;
    }
    whole = sim->kind->whole(nics, sim->node_count, error, error_bytes);
    free(nics);
    return whole ? 0 : -1;
}

/* Packets that links have lost.  Where they send again they lose none, and each
 * that did not come well was sent again. */
static uint64_t links_lost(const struct ns_fault_counts *faults)
{
    uint64_t lost = faults->dropped + faults->overflowed;

    if (faults->resent == 0) {
        return lost;
    }
    NS_CHECK(faults->resent == lost + faults->corrupted);
    return 0;
}

static int check_conservation(struct ns_sim *sim, char *error,
                              size_t error_bytes)
{
    uint64_t sent = stat_sum(sim, NS_NIC_STAT_SENT);
    uint64_t received = stat_sum(sim, NS_NIC_STAT_RECEIVED);
    uint64_t lost = stat_sum(sim, NS_NIC_STAT_DROPPED) +
                    stat_sum(sim, NS_NIC_STAT_CLOSED) +
                    links_lost(ns_engine_faults(sim->engine));

    if (sent != received + lost || !sim->kind->net_quiet(sim->net)) {
        snprintf(error, error_bytes,
                 "packets or credits are missing: %" PRIu64 " sent, %" PRIu64
                 " received, %" PRIu64 " lost",
                 sent, received, lost);
        return -1;
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (sim->kind->busy(sim->nodes[i].nic)) {
            snprintf(error, error_bytes, "node %" PRIu32 " lost a buffer", i);
            return -1;
        }
    }
    return check_whole(sim, error, error_bytes);
}

void ns_sim_abort(struct ns_sim_node *view)
{
    struct ns_node *node = am_container(view, struct ns_node, view);

    if (node->rank != NULL) {
        ns_rank_abort(node->rank);
        return;
    }
    view->sim->aborted = true;
    ns_engine_stop(view->sim->engine);
}

void ns_sim_fail(struct ns_sim *sim, const char *format, ...)
{
    va_list args;

    if (sim->failed[0] == '\0') {
        va_start(args, format);
        vsnprintf(sim->failed, sizeof(sim->failed), format, args);
        va_end(args);
    }
    sim->aborted = true;
    ns_engine_stop(sim->engine);
}

/* The first adapter that has stopped the run, and why; NULL: none has. */
static const char *stopped_by(const struct ns_sim *sim, uint32_t *node_p)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        const char *why = sim->kind->failure == NULL
                                  ? NULL
                                  : sim->kind->failure(sim->nodes[i].nic);

        if (why != NULL) {
            *node_p = i;
            return why;
        }
    }
    return NULL;
}

static int report_stuck(const struct ns_sim *sim, ns_run_t why, char *error,
                        size_t error_bytes)
{
    uint64_t now_ps = ns_engine_now(sim->engine);
    uint32_t node = 0;
    const char *stopped = stopped_by(sim, &node);

    if (sim->failed[0] != '\0') {
        snprintf(error, error_bytes, "%s", sim->failed);
    } else if (stopped != NULL) {
        snprintf(error, error_bytes, "node %" PRIu32 ": %s", node, stopped);
    } else if (sim->aborted) {
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

/* Add what each rank waits for, a line for each. */
static void waits_add(struct ns_sim *sim, char *error, size_t error_bytes)
{
    size_t length = strlen(error);

    for (uint32_t i = 0; i < sim->node_count && length < error_bytes; i++) {
        char text[512];

        ns_seat_waits(&sim->nodes[i], text, sizeof(text));
        if (text[0] != '\0') {
            length += (size_t)snprintf(error + length, error_bytes - length,
                                       "\n  rank %" PRIu32 ": %s", i, text);
        }
    }
}

static bool sim_busy(const struct ns_sim *sim)
{
    bool busy = !sim->kind->net_quiet(sim->net);

    for (uint32_t i = 0; i < sim->node_count && !busy; i++) {
        busy = sim->kind->busy(sim->nodes[i].nic);
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

/* The engine has returned: what has come of it. */
static int sim_finish(struct ns_sim *sim, struct ns_sim_result *result,
                      char *error, size_t error_bytes)
{
    sim_drain(sim);
    *result = (struct ns_sim_result){
            .end_ps = sim->end_ps,
            .events = ns_engine_events(sim->engine),
            .hardware_events = ns_engine_hardware_events(sim->engine),
            .hash = ns_engine_hash(sim->engine),
            .packets = stat_sum(sim, NS_NIC_STAT_SENT),
            .dropped = stat_sum(sim, NS_NIC_STAT_DROPPED) +
                       links_lost(ns_engine_faults(sim->engine)),
            .faults = *ns_engine_faults(sim->engine),
    };
    result_accesses(sim, result);
    if (trace_write(sim, error, error_bytes) != 0) {
        return -1;
    }
    return check_conservation(sim, error, error_bytes);
}

/* Each node's program, or what serves it, in a fiber of its own. */
static ns_run_t nodes_run(struct ns_sim *sim)
{
    ns_run_t why;

    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (ns_host_start(&sim->nodes[i].host,
                          sim->params.threads ? NS_FIBER_THREAD
                                              : NS_FIBER_CONTEXT,
                          node_body, sim, node_ended, sim) != 0) {
            ns_sim_fail(sim, "out of memory");
            return NS_RUN_STOPPED;
        }
    }
    do {
        why = ns_engine_run(sim->engine);
    } while (why == NS_RUN_IDLE && sim->params.processes &&
             ns_seats_return(sim));
    return why;
}

int ns_sim_run(struct ns_sim *sim,
               void (*body)(void *arg, struct ns_sim_node *node), void *arg,
               struct ns_sim_result *result, char *error, size_t error_bytes)
{
    ns_run_t why = NS_RUN_STOPPED;

    sim->body = body;
    sim->body_arg = arg;
    sim->running = sim->params.nodes;
    if (!sim->params.processes || body == NULL || ns_sim_fork(sim) == 0) {
        why = nodes_run(sim);
    }
    if (why != NS_RUN_STOPPED || sim->aborted || sim->running > 0) {
        (void)report_stuck(sim, why, error, error_bytes);
        if (sim->params.processes && !sim->aborted) {
            waits_add(sim, error, error_bytes);
        }
        why = NS_RUN_IDLE;
    }
    if (sim->params.processes) {
        ns_sim_reap(sim, body != NULL);
    }
    if (why != NS_RUN_STOPPED) {
        return -1;
    }
    return sim_finish(sim, result, error, error_bytes);
}

/* -------------------------------------------------------------- shared fiber */

struct shared {
    struct ns_sim *sim;
    void (*body)(void *arg, struct ns_sim_node *const *nodes);
    void *arg;
    struct ns_sim_node **nodes;
};

static void shared_body(void *arg, struct ns_host *host)
{
    struct shared *shared = arg;

    (void)host;
    shared->body(shared->arg, shared->nodes);
}

static void shared_ended(void *arg, struct ns_host *host)
{
    struct shared *shared = arg;

    shared->sim->end_ps = ns_engine_now(host->component.engine);
    shared->sim->running = 0;
    ns_engine_stop(shared->sim->engine);
}

int ns_sim_run_shared(struct ns_sim *sim,
                      void (*body)(void *arg, struct ns_sim_node *const *nodes),
                      void *arg, struct ns_sim_result *result, char *error,
                      size_t error_bytes)
{
    struct shared shared = {sim, body, arg, NULL};
    struct ns_host *first = &sim->nodes[0].host;
    ns_run_t why = NS_RUN_IDLE;

    sim->running = sim->params.nodes;
    shared.nodes = calloc(sim->node_count, sizeof(struct ns_sim_node *));
    if (shared.nodes == NULL ||
        ns_host_start(first,
                      sim->params.threads ? NS_FIBER_THREAD : NS_FIBER_CONTEXT,
                      shared_body, &shared, shared_ended, &shared) != 0) {
        snprintf(error, error_bytes, "out of memory");
        free(shared.nodes);
        return -1;
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        struct ns_host *host = &sim->nodes[i].host;

        shared.nodes[i] = &sim->nodes[i].view;
        host->fiber = first->fiber;
        host->cpu.shared = true;
        host->ended = shared_ended;
        host->ended_arg = &shared;
    }
    why = ns_engine_run(sim->engine);
    ns_fiber_close(first->fiber);
    free(shared.nodes);
    if (why != NS_RUN_STOPPED || sim->aborted || sim->running > 0) {
        return report_stuck(sim, why, error, error_bytes);
    }
    return sim_finish(sim, result, error, error_bytes);
}

void ns_sim_stats_print(const struct ns_sim *sim, FILE *file)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        char prefix[48];

        snprintf(prefix, sizeof(prefix), "node %" PRIu32 " %s", i,
                 sim->kind->name);
        am_stats_print(file, prefix, sim->kind->stat_rows,
                       sim->kind->stats(sim->nodes[i].nic),
                       sim->kind->stat_count);
    }
}
