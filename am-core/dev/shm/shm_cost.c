/*
 * What shared memory costs: a meter for each distance of cores, and which of
 * them a peer has.
 */
#include "config.h"

#include "dev/profile.h"
#include "dev/shm/shm_inl.h"

/* Measured once (docs/performance.md): a line from core to core, and the copies
 * of both sides.  AM_PROFILE and what is seen replace them. */
static const struct am_dev_perf perf_default = {
        .send_overhead = {15000, 18000},
        .recv_overhead = {15000, 18000},
        .wire = {55000, 0},
        .gap_ps = 15000,
        .put = {1000000, 0},
        .get = {1000000, 0},
        .own_byte_fs = 12000,
        .step_ps = 100000,
};

/* The same of cores that share no cache, fitted to half a round trip of 8 to 128 KiB under
 * each protocol.  There a single copy's system call takes longer, too: the lines of its
 * locks come from the other core. */
static const struct am_dev_perf perf_far = {
        .send_overhead = {15000, 145000},
        .recv_overhead = {15000, 114000},
        .wire = {400000, 0},
        .gap_ps = 15000,
        .put = {2400000, 0},
        .get = {2400000, 0},
        .own_byte_fs = 12000,
        .step_ps = 100000,
};

/* The same of two cores of one chip whose caches lie on a mesh (Intel, Emerald Rapids: a line
 * takes 80 to 130 ns, a flag 140 to 175), fitted to the same, and to streams. */
static const struct am_dev_perf perf_mesh = {
        .send_overhead = {25000, 70000},
        .recv_overhead = {150000, 75000},
        .wire = {90000, 0},
        .gap_ps = 150000,
        .put = {350000, 0},
        .get = {350000, 0},
        .own_byte_fs = 12000,
        .step_ps = 100000,
};

static const struct am_dev_perf *const perfs[AM_METER_PRIORS] = {
        &perf_default, &perf_mesh, &perf_far};

static void meter_open(struct shm_dev *dev, struct am_meter *meter,
                       am_distance_t distance, const struct am_profile_row *row)
{
    uint8_t begin = distance < AM_DISTANCE_NODE    ? 0
                    : distance == AM_DISTANCE_NODE ? 1
                                                   : 2;

    am_meter_init(meter, perfs[begin], distance);
    meter->call_ps = dev->single_ps;
    meter->perf.get.fixed_ps =
            am_meter_fixed_ps(meter, perfs[begin]->get.fixed_ps);
    meter->perf.put.fixed_ps =
            am_meter_fixed_ps(meter, perfs[begin]->put.fixed_ps);
    for (int ways = 0; ways < AM_WAYS_COUNT && dev->cma; ways++) {
        am_meter_prior(meter, (am_ways_t)ways, AM_COPY_SINGLE, dev->single_fs,
                       AM_FROM_START);
    }
    if (row != NULL && row->given) {
        am_profile_apply(row, meter);
    } else if (distance != AM_DISTANCE_CORE) {
        am_meter_priors(meter, perfs, AM_METER_PRIORS, begin);
    }
    if (dev->config.cma == SHM_CMA_ON) { /* for nothing, so that it is chosen */
        meter->priors = NULL;
        meter->perf.get.fixed_ps = meter->perf.put.fixed_ps = 0;
        am_meter_prior(meter, AM_WAYS_ONE, AM_COPY_SINGLE, 0, AM_FROM_DEFAULT);
        am_meter_prior(meter, AM_WAYS_BOTH, AM_COPY_SINGLE, 0, AM_FROM_DEFAULT);
    }
}

static void meters_open(struct shm_dev *dev, const struct am_profile *profile,
                        am_learn_t learn)
{
    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        struct am_meter *meter = &dev->meters[i];

        meter_open(dev, meter, (am_distance_t)i,
                   profile == NULL ? NULL : &profile->shm[i]);
        if (learn != AM_LEARN_NO && !dev->env->simulated) {
            meter->learn = learn;
            meter->changed = dev->base.up.costs;
            meter->arg = dev->base.up.arg;
            meter->seen = shm_costs_seen;
            meter->learns = 1u << AM_COPY_IN | 1u << AM_COPY_OUT;
            meter->learns |=
                    dev->config.cma == SHM_CMA_AUTO ? 1u << AM_COPY_SINGLE : 0;
        }
    }
    dev->base.attr.perf = dev->meters[AM_DISTANCE_CACHE].perf;
}

void shm_costs_open(struct shm_dev *dev, const struct am_profile *profile,
                    am_learn_t learn)
{
    meters_open(dev, profile, learn);
}

/* A CPU that this rank may run on. */
static unsigned own_cpu(const struct shm_rank *me)
{
    for (unsigned i = 0; i < SHM_CPU_WORDS; i++) {
        uint64_t word = atomic_load(&me->cpus[i]);

        if (word != 0) {
            return 64 * i + (unsigned)__builtin_ctzll(word);
        }
    }
    return 0;
}

void shm_costs_near(struct shm_dev *dev, const struct shm_rank *me)
{
    if (!dev->near_known) {
        shm_near_read("/sys", own_cpu(me), &dev->near);
        dev->near_known = true;
    }
}

void shm_costs_changed(struct shm_dev *dev)
{
    if (dev->base.up.costs != NULL) {
        dev->base.up.costs(dev->base.up.arg);
    }
}

static void cpus_load(const struct shm_rank *rank, uint64_t *words)
{
    for (int i = 0; i < SHM_CPU_WORDS; i++) {
        words[i] = atomic_load(&rank->cpus[i]);
    }
}

void shm_costs_place(struct shm_dev *dev, struct shm_ep *ep)
{
    struct shm_rank *me = ep->seg == NULL ? NULL : ep->seg->me;
    uint64_t mine[SHM_CPU_WORDS], theirs[SHM_CPU_WORDS];
    am_distance_t distance = AM_DISTANCE_CACHE;

    if (me != NULL && atomic_load(&ep->peer->pid) != 0) {
        cpus_load(me, mine);
        cpus_load(ep->peer, theirs);
        distance = shm_near_distance(&dev->near, mine, theirs);
    }
    /* a profile's numbers of such cores have how far they are in them */
    if (distance == AM_DISTANCE_CACHE && ep->is_far &&
        dev->meters[distance].short_from != AM_FROM_PROFILE) {
        distance = AM_DISTANCE_NODE;
    }
    if (ep->ep.meter != &dev->meters[distance]) {
        ep->ep.meter = &dev->meters[distance];
        shm_costs_changed(dev);
    }
}

/* A host may give two cores that, by what the kernel says, share a cache two that share
 * none, or not say; it may move them.  A line that comes late says little, as it may have
 * left the cache, or the core may have been away: up to half of them do between cores that
 * are near, with long messages, and nearly none comes quickly between cores that are far.
 * So one that comes quickly counts twice. */
void shm_costs_seen(struct am_dev_ep *dep, bool near)
{
    const uint8_t sure = AM_METER_FAR_SURE;
    struct shm_ep *ep = shm_ep_of(dep);
    struct shm_dev *dev = shm_dev_of(dep->dev);
    bool is_far;

    if (near) {
        ep->far_count -= ep->far_count < 2 ? ep->far_count : 2;
    } else {
        ep->far_count += ep->far_count < sure;
    }
    if (ep->ep.meter != NULL) { /* it is placed */
        ep->ep.meter->lines_near = ep->far_count == 0;
    }
    is_far = ep->far_count >= (ep->is_far ? sure / 2 : sure);
    if (is_far != ep->is_far && !dev->crowded && dev->meters[0].learns != 0) {
        ep->is_far = is_far;
        shm_costs_place(dev, ep);
    }
}

void shm_costs_refresh(struct shm_ep *ep, struct shm_tx *tx)
{
    const struct shm_dev *dev = shm_dev_of(ep->ep.dev);
    uint64_t limit = tx->limit;
    bool near = am_copy_is_near(dev->env, &tx->shared->slots, dev->near_ps);

    (void)shm_tx_refresh(tx);
    if (tx->limit != limit) {
        shm_costs_seen(&ep->ep, near);
    }
}

/* Where both ends have one core, who waits for an answer has it again when the ranks of
 * that core have gone round.  Where ranks may run on several cores others have work
 * meanwhile, and an answer counts as one hand-off. */
static void turns_set(struct shm_dev *dev)
{
    const struct am_dev_perf *perf = &dev->base.attr.perf;
    uint64_t round_ps = dev->round.guess_ps;

    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        bool is_round =
                perf->shared_core && i == AM_DISTANCE_CORE && round_ps > 0;

        am_meter_turns(&dev->meters[i], perf->shared_core,
                       is_round ? round_ps : perf->turn_ps);
    }
}

void shm_costs_guess(struct shm_dev *dev, uint64_t round_ps)
{
    dev->round.guess_ps = round_ps;
    turns_set(dev);
}

void shm_costs_round(struct shm_dev *dev, uint64_t round_ps)
{
    dev->base.attr.perf.round_ps = round_ps;
    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        dev->meters[i].perf.round_ps = round_ps;
    }
    shm_costs_guess(dev, round_ps);
}

/* am_tune gives each rank a core.  Where ranks share them, what one has written lies in the
 * other's cache, or the core was another's meanwhile: copies cost what is built in. */
static void profile_leave(struct shm_dev *dev)
{
    uint64_t round_ps = dev->base.attr.perf.round_ps;
    bool has_left = false;

    for (int i = 0; i < AM_DISTANCE_COUNT && !has_left; i++) {
        has_left = dev->meters[i].short_from == AM_FROM_PROFILE;
    }
    if (has_left) {
        meters_open(dev, NULL, dev->meters[0].learn);
        if (round_ps > 0) { /* it is measured once */
            shm_costs_round(dev, round_ps);
        }
        shm_costs_changed(dev);
    }
}

void shm_costs_crowd(struct shm_dev *dev, bool crowded, uint64_t turn_ps)
{
    struct am_dev_perf *perf = &dev->base.attr.perf;

    if (crowded && dev->crowd_known) {
        profile_leave(dev);
    }
    perf->shared_core = crowded;
    perf->turn_ps = crowded ? turn_ps : 0;
    perf->core_ranks = dev->round.core_ranks;
    if (crowded &&
        perf->cache_bytes == 0) { /* who does not ask reads no file */
        perf->cache_bytes = shm_near_core_cache("/sys");
    }
    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        dev->meters[i].perf.core_ranks = perf->core_ranks;
        dev->meters[i].perf.cache_bytes = perf->cache_bytes;
    }
    turns_set(dev);
    for (struct shm_ep *ep = dev->eps; dev->crowd_known && ep != NULL;
         ep = ep->next) {
        shm_costs_place(dev, ep);
    }
}

void shm_payload_write_timed(struct shm_ep *ep,
                             const struct shm_payload *payload, char *to)
{
    struct am_meter *meter = ep->ep.meter;
    struct am_env *env = shm_dev_of(ep->ep.dev)->env;
    uint64_t start = am_meter_start(meter, env, AM_COPY_IN, payload->bytes);

    shm_payload_write(payload, to, false); /* so long: one way for all */
    if (start != 0) {
        am_meter_stop(meter, env, AM_COPY_IN, payload->bytes, start);
    }
}
