/*
 * What a scenario of am_sim is written against: a shared object that defines
 * am_sim_main, which runs once on every simulated node.
 *
 *     cc -shared -fPIC -o ring.so ring.c
 *     am_sim --run ./ring.so -n 8 sp-thin
 *
 * All of libam's functions that take a context are there; the object is not
 * linked with libam.  All nodes run in one process and take turns, so they
 * share global variables: keep a node's state in am_sim_main's own, and pass it
 * to handlers as their `arg`.  A node's stack has 8 MiB.  exit() ends all nodes
 * and is a failure: return.
 */
#ifndef AM_TOOLS_AM_SIM_H
#define AM_TOOLS_AM_SIM_H

#include <am.h>

#ifdef __cplusplus
extern "C" {
#endif

struct am_sim_node;

/*
 * A node's program; the scenario defines it.  argv[0] is the scenario's path,
 * the others what follows the machine on the command line.  0, or what is wrong
 * with this node: then the run ends at once, and am_sim fails.  A node whose
 * program has returned polls until all have; messages that may still come must
 * find what their handlers use.
 */
AM_API int am_sim_main(struct am_sim_node *node, int argc, char **argv);

/* The node's context, open and connected; am_sim closes it. */
AM_API struct am_ctx *am_sim_ctx(struct am_sim_node *node);

/* The node's virtual time. */
AM_API uint64_t am_sim_now_ps(struct am_sim_node *node);

/* `ps` of computation: the program's own work costs nothing unless it says. */
AM_API void am_sim_compute(struct am_sim_node *node, uint64_t ps);

/* All nodes reach this point, polling.  Not in a handler.  It sends nothing. */
AM_API void am_sim_barrier(struct am_sim_node *node);

#ifdef __cplusplus
}
#endif

#endif
