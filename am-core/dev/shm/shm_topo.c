/*
 * The node as hwloc sees it: where a context may run and what it shares with
 * its neighbours.  Loading a topology takes tens of milliseconds, so it is done
 * when somebody asks, not at start-up: there, whether the ranks have a core each
 * is told by the kernel's affinity masks (shm_wait.c), in microseconds.
 */
#include "config.h"

#include "dev/shm/shm.h"

#include <hwloc.h>
#include <stdio.h>

/* Objects of a type under the CPUs this process is bound to. */
static int count_inside(hwloc_topology_t topology, hwloc_const_cpuset_t set,
                        hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set, type);

    /* A set smaller than the object has none inside, but is in one. */
    return count > 0 ? count : 1;
}

size_t shm_topo_describe(char *text, size_t bytes)
{
    hwloc_topology_t topology;
    hwloc_cpuset_t bound;
    int length = 0;

    if (hwloc_topology_init(&topology) != 0) {
        return 0;
    }
    bound = hwloc_bitmap_alloc();
    if (bound != NULL && hwloc_topology_load(topology) == 0 &&
        hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
        length = snprintf(
                text, bytes,
                "  node: %d packages, %d NUMA nodes, %d cores, %d PUs; this "
                "process may use %d cores (%d PUs) of %d NUMA nodes\n",
                hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE),
                hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE),
                hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE),
                hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU),
                count_inside(topology, bound, HWLOC_OBJ_CORE),
                count_inside(topology, bound, HWLOC_OBJ_PU),
                count_inside(topology, bound, HWLOC_OBJ_NUMANODE));
    }
    hwloc_bitmap_free(bound);
    hwloc_topology_destroy(topology);
    return length < 0 ? 0 : (size_t)length;
}
