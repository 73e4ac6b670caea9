/*
 * Linux leaves ranks that take turns where they are, for they never let their cache get
 * cold: three on one of two cores stay for seconds, and all wait for those three.  So
 * the first of them goes to the core with the fewest ranks, if its own has two more.
 * Each knows of the others where they last said they were.  That may be long ago, when
 * they had just begun or did not wait: so two looks have to say the same, with time
 * between them in which all who wait say it again.
 */
#include "config.h"

#include "dev/shm/shm_wait.h"

#include <sched.h>

#define LOOK_YIELDS 64
#define SURE_YIELDS 32 /* from the first look to the second */
#define TELL_YIELDS 8
#define REST_YIELDS 4096 /* when it did not help; doubles each time */
#define REST_MAX    (1u << 20)
#define CPUS_MAX    1024 /* cores looked at: those of a cpu_set_t */

/* How many ranks were last seen on each core, `mine` among them; ranks that
 * sleep are on none, and those of my process go where I go.  False: others that
 * are as well placed to leave my core come first. */
static bool cores_count(struct shm_seg *seg, uint32_t mine, uint16_t *counts)
{
    uint64_t pid = atomic_load(&seg->me->pid);
    bool first = true;

    for (uint32_t i = 0; i < seg->header.count; i++) {
        struct shm_rank *rank = shm_seg_rank(seg, i);
        uint32_t core = atomic_load_explicit(&rank->core, memory_order_relaxed);

        if (core == 0 || core > CPUS_MAX ||
            (rank != seg->me && atomic_load(&rank->pid) == pid)) {
            continue;
        }
        counts[core - 1]++;
        first = first && (core - 1 != mine || rank >= seg->me);
    }
    return first;
}

/* Is there a core that I may run on with two ranks less than mine?  The one with
 * the fewest, and where I may run. */
static bool better_core(struct shm_dev *dev, uint32_t mine, cpu_set_t *may,
                        uint32_t *best_p)
{
    uint16_t counts[CPUS_MAX] = {0};
    uint32_t best = mine;

    if (dev->job == NULL || mine >= CPUS_MAX ||
        !cores_count(dev->job, mine, counts) || counts[mine] < 2 ||
        sched_getaffinity(0, sizeof(*may), may) != 0) {
        return false;
    }
    for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (CPU_ISSET(cpu, may) && counts[cpu] < counts[best]) {
            best = cpu;
        }
    }
    *best_p = best;
    return counts[mine] >= counts[best] + 2;
}

/* Afterwards I may run where I might before. */
static bool go_to(struct shm_dev *dev, uint32_t cpu, const cpu_set_t *may)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) {
        return false;
    }
    (void)sched_setaffinity(0, sizeof(*may), may);
    shm_core_publish(dev, 1 + cpu);
    return true;
}

/* Where Linux takes me back, another job has that core: I try less and less often. */
static uint32_t rest_after(uint32_t rest)
{
    return rest == 0 ? REST_YIELDS : rest < REST_MAX ? rest * 2 : rest;
}

/* Have I gone, and do not run there any more? */
static bool was_taken_back(struct shm_spread *spread, uint32_t mine)
{
    uint32_t gone = spread->gone;

    spread->gone = 0;
    if (gone == 0) {
        return false;
    }
    spread->rest = gone == 1 + mine ? 0 : rest_after(spread->rest);
    return spread->rest != 0;
}

static void look(struct shm_dev *dev)
{
    struct shm_spread *spread = &dev->spread;
    uint32_t mine = (uint32_t)sched_getcpu(), best;
    cpu_set_t may;
    bool was_sure = spread->is_sure;

    spread->is_sure = false;
    spread->yields_left = LOOK_YIELDS;
    if (was_taken_back(spread, mine)) {
        spread->yields_left = spread->rest;
    } else if (!better_core(dev, mine, &may, &best)) {
        return;
    } else if (!was_sure) {
        spread->is_sure = true;
        spread->yields_left = SURE_YIELDS;
    } else if (go_to(dev, best, &may)) {
        spread->gone = 1 + best;
    }
}

void shm_spread_yielded(struct shm_dev *dev)
{
    struct shm_spread *spread = &dev->spread;

    if (spread->yields_left % TELL_YIELDS == 0) {
        (void)shm_core_tell(dev);
    }
    if (spread->yields_left-- == 0) {
        look(dev);
    }
}
