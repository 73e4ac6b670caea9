/*
 * How far cores are from each other, by the kernel's files: which CPUs share a
 * core, the last cache and the memory with one of them.  Loading hwloc's whole
 * topology would take tens of milliseconds at each start; these are three small
 * files.
 */
#ifndef AM_DEV_SHM_SHM_NEAR_H
#define AM_DEV_SHM_SHM_NEAR_H

#include "dev/meter.h"
#include "dev/shm/shm_layout.h"

/* CPUs, as bits; those beyond 256 count as their remainder. */
struct shm_near {
    uint64_t core[SHM_CPU_WORDS], cache[SHM_CPU_WORDS], node[SHM_CPU_WORDS];
};

/* What is near to `cpu`, in the sysfs at `root` ("/sys"); sets that cannot be
 * read are empty. */
void shm_near_read(const char *root, unsigned cpu, struct shm_near *near);

/* Bytes of the largest cache that the first CPU's core has to itself, which is the
 * same for all cores of most machines; 0: that cannot be read. */
size_t shm_near_core_cache(const char *root);

/* The distance of two ranks that may run on these CPUs, of which `near` was
 * read for one of the first's.  Ranks that may run anywhere are as far as any
 * two of their CPUs are. */
am_distance_t shm_near_distance(const struct shm_near *near,
                                const uint64_t mine[SHM_CPU_WORDS],
                                const uint64_t theirs[SHM_CPU_WORDS]);

#endif
