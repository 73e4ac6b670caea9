/*
 * Nodes as children of this process: the same program as in fibers, started by
 * fork, so that it needs no launcher.
 */
#include "config.h"

#include "sim.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child: becomes the node's rank, runs its program, ends. */
static void child_main(struct ns_node *node)
{
    struct ns_sim *sim = node->view.sim;
    struct ns_rank rank;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ns_rank_open(&rank, node->seat.box) != 0) {
        ns_end(EXIT_FAILURE, "nic-sim: node %u: %s\n", node->view.rank,
               strerror(errno));
    }
    node->rank = &rank;
    node->view.env = &rank.cpu.env;
    sim->body(sim->body_arg, &node->view);
    fflush(NULL);
    ns_rank_end(&rank);
    ns_end(EXIT_SUCCESS, NULL);
}

int ns_sim_fork(struct ns_sim *sim)
{
    fflush(NULL); /* or each child would write it again */
    ns_cores_one(&sim->cores);
    for (uint32_t i = 0; i < sim->node_count; i++) {
        struct ns_node *node = &sim->nodes[i];
        pid_t pid = fork();

        if (pid == 0) {
            child_main(node);
        }
        if (pid < 0 || ns_seat_take(node, pid) != 0) {
            ns_sim_fail(sim, "starting a process for node %u: %s", i,
                        strerror(errno));
            return -1;
        }
    }
    return 0;
}

void ns_sim_reap(struct ns_sim *sim, bool ours)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        struct ns_seat *seat = &sim->nodes[i].seat;

        ns_seat_dismiss(seat);
        while (ours && seat->pid > 0 && waitpid(seat->pid, NULL, 0) < 0 &&
               errno == EINTR) {
        }
    }
    if (ours) {
        ns_cores_restore(&sim->cores);
    }
}
