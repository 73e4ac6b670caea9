/*
 * How long the ranks that share a core take to go round: each has the core once, and
 * yields it.  That is between 1 and 12 us, by system and hypervisor, and decides more
 * of a collective's time than its bytes do, where ranks outnumber the cores.  A rank
 * that waits yields anyway, so its first yields are timed.
 */
#include "config.h"

#include "dev/shm/shm_inl.h"

#include <inttypes.h>
#include <sched.h>

uint64_t shm_round_of(uint64_t *yields_ps, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint64_t ps = yields_ps[i];
        uint32_t at = i;

        for (; at > 0 && yields_ps[at - 1] > ps; at--) {
            yields_ps[at] = yields_ps[at - 1];
        }
        yields_ps[at] = ps;
    }
    return yields_ps[count / 8];
}

static bool is_timed(const struct shm_round *round)
{
    return round->count < SHM_YIELDS_TIMED &&
           (round->unused < SHM_YIELDS_UNUSED ||
            round->unused % SHM_YIELDS_SAMPLED == 0);
}

void shm_round_yield(struct shm_dev *dev)
{
    struct shm_round *round = &dev->round;
    uint64_t switches, ps;

    if (!is_timed(round)) {
        round->unused++;
        sched_yield();
        return;
    }
    switches = am_env_switches();
    ps = am_env_now(dev->env);
    sched_yield();
    ps = am_env_now(dev->env) - ps;
    if (am_env_switches() == switches) { /* nobody wanted it */
        round->unused++;
        return;
    }
    round->yields_ps[round->count++] = ps;
    if (round->count == SHM_YIELDS_GUESS) {
        shm_costs_guess(dev, shm_round_of(round->yields_ps, round->count));
    }
    if (round->count == SHM_YIELDS_TIMED) {
        ps = shm_round_of(round->yields_ps, round->count);
        am_log(dev->log, AM_LOG_DEBUG,
               "shm: the ranks of a core go round in %" PRIu64 " ns",
               ps / 1000);
        shm_costs_round(dev, ps);
    }
}
