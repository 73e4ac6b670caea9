/*
 * Waiting: what a context does when a poll found nothing.  The only place of
 * the device that yields or sleeps.
 *
 * Sleeping.  The sleeper sets its flag, then makes every running core of the
 * other processes pass a barrier (membarrier), then looks at its lanes once
 * more, then waits on its bell.  A sender stamps its slot, then loads the flag,
 * with no fence of its own: by the barrier either the sleeper sees the stamp or
 * the sender sees the flag.  Without membarrier a nap is short instead.
 */
#include "config.h"

#include "base/config.h"
#include "dev/shm/shm.h"
#include "dev/shm/shm_wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Calls before the next step, measured in benchmarks/am_core_compare: an empty
 * poll is about 5 ns alone, a look at the lanes 1 ns, a yield 0.4 us alone and
 * 1.1 us as a hand-off, waking a sleeper 2 us on this core and 14 us on
 * another.  With a core for each rank a yield gains nothing, and where another
 * job runs on the core it loses a time slice: so it comes late, unless another
 * rank waits on the same core. */
#define SPIN_CALLS     2000  /* a core of its own: look on, for 0.1 ms */
#define SPIN_LOOKS     32    /* in the poll after each */
#define YIELD_CALLS    20000 /* then yield now and then, for 0.5 ms */
#define YIELD_EVERY    16
#define CORE_CALLS     16 /* look whether I share my core */
#define CORE_RANKS     8  /* with so many others at a time */
#define CROWDED_SPIN   2
#define CROWDED_YIELDS 200
#define TURN_PS        UINT64_C(1100000) /* that hand-off, in the cost model */
#define NAP_NS         20000000 /* sockets and dead peers are looked at */
#define NAP_BLIND_NS   200000   /* when nobody rings: no membarrier */
#define NAP_SPACE_NS   50000    /* space that gets free rings no bell */

/* Linux wants room for all CPUs that the machine may have: of one cpu_set_t, which
 * is for 1024, it may not be enough. */
struct cpus {
    cpu_set_t parts[8];
};

/* On which this process may run; false: nobody knows. */
static bool cpus_read(struct cpus *cpus)
{
    memset(cpus, 0, sizeof(*cpus));
    return sched_getaffinity(0, sizeof(*cpus), cpus->parts) == 0;
}

void shm_cpus_publish(struct shm_rank *me)
{
    struct cpus cpus;
    uint64_t words[SHM_CPU_WORDS] = {0};
    bool known = cpus_read(&cpus);

    for (unsigned cpu = 0; cpu < 8 * sizeof(cpus); cpu++) {
        if (!known || CPU_ISSET_S(cpu, sizeof(cpus), cpus.parts)) {
            words[cpu / 64 % SHM_CPU_WORDS] |= 1ull << cpu % 64;
        }
    }
    for (int i = 0; i < SHM_CPU_WORDS; i++) {
        atomic_store(&me->cpus[i], words[i]);
    }
}

/* A process that is bound to one CPU learns nothing about the others'. */
uint32_t shm_cpu_count(void)
{
    struct cpus cpus;
    int count = cpus_read(&cpus) ? CPU_COUNT_S(sizeof(cpus), cpus.parts) : 0;

    return count <= 1 ? (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)
                      : (uint32_t)count;
}

/* Count the ranks that may run where I may, and the CPUs they have.  A rank
 * that has not told its CPUs yet is taken to have mine. */
static bool crowd_compute(struct shm_dev *dev, bool *known_p)
{
    struct shm_seg *seg = dev->job;
    uint64_t all[SHM_CPU_WORDS] = {0};
    uint32_t ranks = 0, cpus = 0;

    *known_p = true;
    for (uint32_t r = 0; r < seg->header.count; r++) {
        struct shm_rank *rank = shm_seg_rank(seg, r);
        bool meets = false;

        if (atomic_load(&rank->pid) == 0) {
            *known_p = false;
            ranks++;
            continue;
        }
        for (int i = 0; i < SHM_CPU_WORDS; i++) {
            meets = meets || (rank->cpus[i] & seg->me->cpus[i]) != 0;
        }
        for (int i = 0; meets && i < SHM_CPU_WORDS; i++) {
            all[i] |= rank->cpus[i];
        }
        ranks += meets;
    }
    for (int i = 0; i < SHM_CPU_WORDS; i++) {
        cpus += (uint32_t)__builtin_popcountll(all[i]);
    }
    dev->round.core_ranks = cpus == 0 ? 1 : (ranks + cpus - 1) / cpus;
    return ranks > cpus;
}

bool shm_is_crowded(struct shm_dev *dev)
{
    if (!dev->crowd_known && dev->job != NULL) {
        dev->crowded = crowd_compute(dev, &dev->crowd_known);
        shm_costs_crowd(dev, dev->crowded, TURN_PS);
    }
    return dev->crowded;
}

/* Tell all whom I share memory with on which CPU I wait; 0: on none. */
void shm_core_publish(struct shm_dev *dev, uint32_t core)
{
    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        if (atomic_load_explicit(&seg->me->core, memory_order_relaxed) !=
            core) {
            atomic_store_explicit(&seg->me->core, core, memory_order_relaxed);
        }
    }
}

uint32_t shm_core_tell(struct shm_dev *dev)
{
    uint32_t core = 1 + (uint32_t)sched_getcpu();

    shm_core_publish(dev, core);
    return core;
}

/* Does another rank of this segment wait on the CPU `core`? */
static bool core_is_in(struct shm_seg *seg, uint32_t core)
{
    uint32_t count = seg->header.count;

    for (uint32_t i = 0; i < count && i < CORE_RANKS; i++) {
        struct shm_rank *rank;

        seg->core_turn = (seg->core_turn + 1) % count;
        rank = shm_seg_rank(seg, seg->core_turn);
        if (rank != seg->me &&
            atomic_load_explicit(&rank->core, memory_order_relaxed) == core) {
            return true;
        }
    }
    return false;
}

/* Is another context on the CPU that I wait on?  Linux wakes a sleeper on the
 * core of who rings, and may leave the two there for seconds: each would spin
 * while the other has work. */
static bool core_is_shared(struct shm_dev *dev)
{
    uint32_t core = shm_core_tell(dev);

    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        if (core_is_in(seg, core)) {
            return true;
        }
    }
    return false;
}

void shm_wait_init(struct shm_dev *dev)
{
    dev->membarrier = am_barrier_open();
}

bool shm_announce_sleep(struct shm_dev *dev, uint32_t how)
{
    shm_core_publish(dev, 0);
    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        atomic_store(&seg->me->sleeping, how);
    }
    return dev->membarrier && am_barrier_seldom();
}

/* Sleep until a packet comes; `brief` when something else is waited for too. */
static void nap(struct shm_dev *dev, bool brief)
{
    struct shm_rank *me = dev->job->me;
    uint32_t bell = atomic_load(&me->bell);
    bool rung = dev->membarrier && dev->segs->next == NULL && !brief;
    struct timespec timeout = {0, brief  ? NAP_SPACE_NS
                                  : rung ? NAP_NS
                                         : NAP_BLIND_NS};
    bool idle = false;

    shm_core_publish(dev, 0);
    atomic_store(&me->sleeping, SHM_SLEEP_FUTEX);
    if (rung) {
        (void)am_barrier_seldom();
    }
    if (!shm_has_packet(dev) && !shm_has_lane(dev)) {
        dev->stats[AM_DEV_STAT_SLEEP]++;
        idle = syscall(SYS_futex, &me->bell, FUTEX_WAIT, bell, &timeout, NULL,
                       0) != 0 &&
               errno == ETIMEDOUT;
    }
    atomic_store(&me->sleeping, 0);
    (void)shm_core_tell(dev);
    shm_sockets_serve(dev);
    if (idle && rung) { /* nothing for so long: is that so? */
        dev->look = true;
        dev->polls |= 7;
    }
}

__attribute__((noinline)) void shm_wake(struct shm_ep *ep)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);

    uint32_t how = atomic_exchange(ep->peer_sleeping, 0);

    if (how == 0) {
        return; /* somebody else rang */
    }
    if (how == SHM_SLEEP_DATAGRAM) {
        shm_bell_ring(dev, atomic_load(&ep->peer->bell_nonce));
    } else {
        atomic_fetch_add(&ep->peer->bell, 1);
        (void)syscall(SYS_futex, &ep->peer->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    dev->stats[AM_DEV_STAT_WAKE]++;
}

/* Is it time to sleep?  Until then this yields, or the next poll spins.  Yields
 * alone would not do: where Linux shares the cores among sessions, and each rank
 * is one, a yield does not reach another rank. */
static bool wait_auto(struct shm_dev *dev, uint64_t idle)
{
    bool crowded = shm_is_crowded(dev);

    if (!crowded && dev->segs != NULL &&
        (dev->core_shared || idle % CORE_CALLS == CORE_CALLS / 2)) {
        dev->core_shared = core_is_shared(dev);
    }
    if (crowded || dev->core_shared) {
        if (idle >= CROWDED_YIELDS) {
            return true;
        }
        if (idle >= CROWDED_SPIN) {
            shm_round_yield(dev);
            shm_spread_yielded(dev);
        }
        return false;
    }
    if (idle >= YIELD_CALLS) {
        return true;
    }
    if (idle < SPIN_CALLS) {
        dev->looks = SPIN_LOOKS;
    } else if (idle % YIELD_EVERY == 0) {
        sched_yield();
    }
    return false;
}

bool shm_wait(struct am_dev *adev, uint64_t idle, am_dev_rest_t rest)
{
    struct shm_dev *dev = shm_dev_of(adev);

    switch (dev->wait) {
    case AM_WAIT_SPIN:
        dev->looks = SPIN_LOOKS;
        return false;
    case AM_WAIT_YIELD:
        sched_yield();
        return false;
    case AM_WAIT_SLEEP:
        break;
    case AM_WAIT_AUTO:
        if (!wait_auto(dev, idle)) {
            return false;
        }
        break;
    }
    if (rest == AM_DEV_REST_ASK) {
        return true;
    }
    if (shm_is_met(dev)) {
        nap(dev, rest == AM_DEV_REST_BRIEF);
    } else {
        sched_yield();
    }
    return false;
}
