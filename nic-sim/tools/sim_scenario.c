/*
 * am_sim --run: a user's program on every node, from a shared object.
 */
#include "tools/sim_run.h"

#include "tools/am_sim.h"
#include "tools/sim.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SCENARIO_NODES = 2 /* without -n */
};

typedef int (*main_fn)(struct am_sim_node *node, int argc, char **argv);

struct scenario {
    main_fn main;
    int argc;
    char **argv;
    char error[512]; /* of the node that failed first */
};

struct am_sim_node {
    struct run run;
};

struct am_ctx *am_sim_ctx(struct am_sim_node *node)
{
    return node->run.ctx;
}

uint64_t am_sim_now_ps(struct am_sim_node *node)
{
    return run_now(&node->run);
}

void am_sim_compute(struct am_sim_node *node, uint64_t ps)
{
    ns_sim_compute(node->run.node, ps);
}

void am_sim_barrier(struct am_sim_node *node)
{
    run_meet(&node->run);
}

static void node_main(void *arg, struct ns_sim_node *view)
{
    struct scenario *scenario = arg;
    struct am_sim_node node;
    char error[256] = "";
    int code;

    if (run_open_bare(&node.run, view, error, sizeof(error)) != 0) {
        snprintf(scenario->error, sizeof(scenario->error), "%s", error);
        ns_sim_abort(view);
        return;
    }
    code = scenario->main(&node, scenario->argc, scenario->argv);
    if (code != 0) {
        snprintf(scenario->error, sizeof(scenario->error),
                 "%s: am_sim_main of node %" PRIu32 " returned %d",
                 scenario->argv[0], view->rank, code);
        ns_sim_abort(view); /* the others would wait for this one */
        return;
    }
    run_close(&node.run);
}

/* The object's entry, or NULL after saying what is wrong. */
static main_fn entry_load(const char *path)
{
    char here[PATH_MAX];
    void *object;
    main_fn entry;

    /* A name without a slash would be looked for among the libraries. */
    snprintf(here, sizeof(here), "%s%s", strchr(path, '/') == NULL ? "./" : "",
             path);
    object = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        (void)sim_fail(dlerror());
        return NULL;
    }
    *(void **)&entry = dlsym(object, "am_sim_main");
    if (entry == NULL) {
        fprintf(stderr, "am_sim: %s defines no am_sim_main\n", path);
    }
    return entry;
}

/* What runs now, for those who are called by no one of here. */
static struct {
    struct ns_sim *sim; /* NULL: nothing */
    pid_t process;      /* which is not that of a node's own */
    struct sigaction before;
    char stack[64 * 1024]; /* of the handler */
} now;

/* exit() in a node would end the run as if all were well. */
static void exit_in_node(void)
{
    if (now.sim != NULL && getpid() == now.process) {
        fflush(stdout);
        (void)sim_fail("a node of the scenario called exit(); am_sim_main "
                       "returns");
        _exit(EXIT_FAILURE);
    }
}

/* A stack that was too small is told; all else is as if nobody had looked. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    static const char text[] =
            "am_sim: a node of the scenario needs more than its 8 MiB of "
            "stack\n";

    (void)context;
    if (now.sim != NULL && ns_sim_stack_over(now.sim, info->si_addr)) {
        (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
        _exit(EXIT_FAILURE);
    }
    (void)sigaction(number, &now.before, NULL);
}

static void watch(struct ns_sim *sim)
{
    const stack_t stack = {.ss_sp = now.stack, .ss_size = sizeof(now.stack)};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

    now.sim = sim;
    now.process = getpid();
    (void)atexit(exit_in_node);
    action.sa_sigaction = on_fault;
    sigemptyset(&action.sa_mask);
    if (sigaltstack(&stack, NULL) == 0) {
        (void)sigaction(SIGSEGV, &action, &now.before);
    }
}

/* In memory that is the same for all nodes, when they are processes. */
static struct scenario *scenario_new(const struct sim_options *options)
{
    struct scenario *scenario =
            mmap(NULL, sizeof(*scenario), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (scenario == MAP_FAILED) {
        (void)sim_fail("out of memory");
        return NULL;
    }
    *scenario = (struct scenario){.main = entry_load(options->run),
                                  .argc = options->run_argc,
                                  .argv = options->run_argv};
    if (scenario->main == NULL) {
        munmap(scenario, sizeof(*scenario));
        return NULL;
    }
    return scenario;
}

static int scenario_run(const struct sim_options *options,
                        const struct ns_machine *machine,
                        struct scenario *scenario)
{
    struct ns_sim_params params = options->params;
    struct ns_sim_result result;
    char error[512] = "";
    struct ns_sim *sim;
    int status;

    params.nodes = options->nodes != 0 ? options->nodes : SCENARIO_NODES;
    params.trace_path = options->trace;
    params.trace_records = options->trace != NULL ? SIM_TRACE_RECORDS : 0;
    sim = ns_sim_open(machine, &params, error, sizeof(error));
    if (sim == NULL) {
        return sim_fail(error);
    }
    watch(sim);
    status =
            ns_sim_run(sim, node_main, scenario, &result, error, sizeof(error));
    now.sim = NULL;
    ns_sim_close(sim);
    sim_bar_clear();
    fflush(stdout); /* the nodes' lines come first */
    if (scenario->error[0] != '\0' || status != 0) {
        return sim_fail(scenario->error[0] != '\0' ? scenario->error : error);
    }
    sim_scenario_print(options, machine, params.nodes, &result);
    return EXIT_SUCCESS;
}

int sim_scenario(const struct sim_options *options,
                 const struct ns_machine *machine)
{
    struct scenario *scenario = scenario_new(options);
    int status;

    if (scenario == NULL) {
        return EXIT_FAILURE;
    }
    status = scenario_run(options, machine, scenario);
    munmap(scenario, sizeof(*scenario));
    return status;
}
