/*
 * Reads and compares the sets of shm_near.h.
 */
#include "config.h"

#include "dev/shm/shm_near.h"

#include <hwloc/linux.h>
#include <stdio.h>
#include <string.h>

enum {
    CACHES_MAX = 8, /* cache/index0.. of a CPU */
    NODES_MAX = 256
};

static bool set_read(const char *path, uint64_t words[SHM_CPU_WORDS])
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    bool read = set != NULL && hwloc_linux_read_path_as_cpumask(path, set) == 0;

    if (read) {
        int cpu = hwloc_bitmap_first(set);

        memset(words, 0, SHM_CPU_WORDS * sizeof(*words));
        for (; cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) {
            words[cpu / 64 % SHM_CPU_WORDS] |= UINT64_C(1) << cpu % 64;
        }
    }
    hwloc_bitmap_free(set);
    return read;
}

/* "1024K", as the kernel writes the size of a cache. */
static size_t size_read(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned kib = 0;

    if (file != NULL) {
        if (fscanf(file, "%7uK", &kib) != 1) {
            kib = 0;
        }
        fclose(file);
    }
    return (size_t)kib * 1024;
}

/* The CPUs that share a core with `cpu`, and the index-th of its caches. */
static bool core_read(const char *root, unsigned cpu, uint64_t *words)
{
    char path[256];

    snprintf(path, sizeof(path),
             "%s/devices/system/cpu/cpu%u/topology/thread_siblings", root, cpu);
    return set_read(path, words);
}

static bool cache_read(const char *root, unsigned cpu, int index,
                       uint64_t *words)
{
    char path[256];

    snprintf(path, sizeof(path),
             "%s/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_map", root,
             cpu, index);
    return set_read(path, words);
}

void shm_near_read(const char *root, unsigned cpu, struct shm_near *near)
{
    char path[256];
    bool found = false;

    memset(near, 0, sizeof(*near));
    (void)core_read(root, cpu, near->core);
    for (int i = CACHES_MAX; i >= 0 && !found; i--) { /* the last is largest */
        found = cache_read(root, cpu, i, near->cache);
    }
    found = false;
    for (int i = 0; i < NODES_MAX && !found; i++) {
        snprintf(path, sizeof(path),
                 "%s/devices/system/cpu/cpu%u/node%d/cpumap", root, cpu, i);
        found = set_read(path, near->node);
    }
}

size_t shm_near_core_cache(const char *root)
{
    uint64_t core[SHM_CPU_WORDS], cache[SHM_CPU_WORDS];
    char path[256];
    bool found = false;
    size_t bytes = 0;

    if (!core_read(root, 0, core)) {
        return 0;
    }
    for (int i = CACHES_MAX; i >= 0 && !found; i--) {
        found = cache_read(root, 0, i, cache) &&
                memcmp(cache, core, sizeof(core)) == 0;
        if (found) {
            snprintf(path, sizeof(path),
                     "%s/devices/system/cpu/cpu0/cache/index%d/size", root, i);
            bytes = size_read(path);
            found = bytes > 0;
        }
    }
    return bytes;
}

static bool is_inside(const uint64_t set[SHM_CPU_WORDS],
                      const uint64_t mine[SHM_CPU_WORDS],
                      const uint64_t theirs[SHM_CPU_WORDS])
{
    bool any = false;

    for (int i = 0; i < SHM_CPU_WORDS; i++) {
        if (((mine[i] | theirs[i]) & ~set[i]) != 0) {
            return false;
        }
        any = any || theirs[i] != 0;
    }
    return any;
}

am_distance_t shm_near_distance(const struct shm_near *near,
                                const uint64_t mine[SHM_CPU_WORDS],
                                const uint64_t theirs[SHM_CPU_WORDS])
{
    static const uint64_t none[SHM_CPU_WORDS];

    if (is_inside(near->core, mine, theirs)) {
        return AM_DISTANCE_CORE;
    }
    if (is_inside(near->cache, mine, theirs) ||
        memcmp(near->cache, none, sizeof(none)) == 0) {
        return AM_DISTANCE_CACHE; /* or nobody knows */
    }
    return is_inside(near->node, mine, theirs) ? AM_DISTANCE_NODE
                                               : AM_DISTANCE_FAR;
}
