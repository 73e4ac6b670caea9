/*
 * All of a job on one core: one of its processes runs at a time, and a hand-over
 * within a core takes a tenth of one to another core that sleeps.
 */
#include "config.h"

#include "nicsim_door.h"

#include <sched.h>

_Static_assert(sizeof(struct ns_cores) == sizeof(cpu_set_t), "a set of cores");

void ns_cores_one(struct ns_cores *before)
{
    cpu_set_t one;
    int core = sched_getcpu();

    if (sched_getaffinity(0, sizeof(*before), (cpu_set_t *)before->set) != 0) {
        *before = (struct ns_cores){{0}};
        return;
    }
    if (core >= 0) {
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        (void)sched_setaffinity(0, sizeof(one), &one);
    }
}

void ns_cores_restore(const struct ns_cores *before)
{
    const cpu_set_t *set = (const cpu_set_t *)before->set;

    if (CPU_COUNT(set) > 0) {
        (void)sched_setaffinity(0, sizeof(*set), set);
    }
}
