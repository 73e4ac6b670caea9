/*
 * Keys that their owner takes back.
 *
 * A single copy needs nothing of the process whose memory it reads or writes.  When a request
 * there ends with an error, its memory is its caller's again, but peers may have a key to it
 * still, and be in the middle of a copy.  So who copies and who takes back meet as two
 * processes do that want to be alone (Dekker):
 *
 *   the copier    says whose memory it copies, then looks for the key among those taken back
 *   the owner     notes the key, then looks who copies, and waits until they have ended
 *
 * Either the copier finds the key, or the owner finds the copier.  The owner does not need a
 * copier that calls anything: it waits for a system call at most.
 *
 * Most keys are newer than any that was taken back, and one look tells that.  The owner keeps
 * the last keys.  Of older ones nobody knows: who has one sends packets instead, which name
 * the memory by a handle that the owner looks up.
 */
#include "config.h"

#include "dev/shm/shm_mem.h"

/* A copy that takes longer will not end: its process is stopped, or has written nonsense.
 * Later it is not waited for so long. */
#define COPY_MAX_PS  UINT64_C(10000000000000)
#define STUCK_MAX_PS UINT64_C(1000000000)
#define LOOKS        100 /* before it is asked whether the process is there */

/* Serials are counted in a circle of 2^32; so many of them after the newest key was taken
 * back all are forgotten.  One in so many looks. */
#define AGE_MAX    (UINT32_C(1) << 30)
#define AGE_LOOKED (UINT32_C(1) << 20)

/* `than`: one of struct shm_rank, or 0. */
static bool is_newer(uint32_t serial, uint64_t than)
{
    return than == 0 || (int32_t)(serial - (uint32_t)than) > 0;
}

static __attribute__((noinline)) am_status_t find(const struct shm_rank *owner,
                                                  uint32_t serial)
{
    uint64_t word = SHM_WITHDRAWN | serial;

    for (int i = 0; i < SHM_WITHDRAWN_KEYS; i++) {
        uint64_t key = atomic_load(&owner->keys[i]);

        if ((key & ~SHM_WITHDRAWN_DEATH) == word) {
            return (key & SHM_WITHDRAWN_DEATH) != 0 ? AM_ERR_PEER
                                                    : AM_ERR_INVALID;
        }
    }
    return is_newer(serial, atomic_load(&owner->forgotten))
                   ? AM_OK
                   : AM_ERR_UNSUPPORTED;
}

am_status_t shm_copy_begin(struct shm_ep *ep, const struct am_dev_key *key)
{
    uint32_t serial = shm_key_serial(key);

    atomic_store(&ep->seg->me->copying, ep->index + 1);
    return is_newer(serial, atomic_load(&ep->peer->withdrawn))
                   ? AM_OK
                   : find(ep->peer, serial);
}

void shm_copy_end(struct shm_ep *ep)
{
    atomic_store_explicit(&ep->seg->me->copying, 0, memory_order_release);
}

/* Until this rank copies none of my memory. */
static void copier_wait(struct shm_dev *dev, struct shm_seg *seg,
                        uint32_t index)
{
    struct shm_rank *rank = shm_seg_rank(seg, index);
    uint64_t bit = UINT64_C(1) << index % 64, until = 0;

    for (uint32_t looks = 1; atomic_load(&rank->copying) == seg->self + 1;
         looks++) {
        uint64_t now = am_env_now(dev->env);

        if (until == 0) {
            until = now +
                    ((dev->stuck & bit) != 0 ? STUCK_MAX_PS : COPY_MAX_PS);
        }
        if (now > until) {
            if ((dev->stuck & bit) == 0) {
                am_log(dev->log, AM_LOG_WARN,
                       "shm: process %u is still copying memory that is taken "
                       "back",
                       atomic_load(&rank->pid));
            }
            dev->stuck |= bit;
            return;
        }
        if (looks % LOOKS == 0 &&
            shm_process_has_ended(atomic_load(&rank->pid))) {
            atomic_store(&rank->copying, 0); /* nobody asks again */
        }
        am_env_relax(dev->env, 0);
    }
    dev->stuck &= ~bit;
}

/* What is overwritten is forgotten first: so a copier finds one of the two. */
static void note(struct shm_seg *seg, uint32_t serial, uint64_t why)
{
    struct shm_rank *me = seg->me;
    _Atomic uint64_t *key = &me->keys[seg->withdrawn++ % SHM_WITHDRAWN_KEYS];
    uint64_t old = atomic_load(key) & ~SHM_WITHDRAWN_DEATH;

    if (old != 0 && is_newer((uint32_t)old, atomic_load(&me->forgotten))) {
        atomic_store(&me->forgotten, old);
    }
    atomic_store(key, SHM_WITHDRAWN | serial | why);
    if (is_newer(serial, atomic_load(&me->withdrawn))) {
        atomic_store(&me->withdrawn, SHM_WITHDRAWN | serial);
    }
}

void shm_mem_withdraw(struct am_dev *adev, const struct am_dev_key *key,
                      am_status_t why)
{
    struct shm_dev *dev = shm_dev_of(adev);
    struct shm_seg *seg;

    if (dev->forked || shm_key_kind(key) != SHM_KEY_VM) {
        return;
    }
    for (seg = dev->segs; seg != NULL; seg = seg->next) {
        note(seg, shm_key_serial(key),
             why == AM_ERR_PEER ? SHM_WITHDRAWN_DEATH : 0);
    }
    for (seg = dev->segs; seg != NULL; seg = seg->next) {
        for (uint32_t i = 0; i < seg->header.count; i++) {
            if (i != seg->self) {
                copier_wait(dev, seg, i);
            }
        }
    }
}

static void forget(struct shm_rank *me)
{
    atomic_store(&me->withdrawn, 0);
    atomic_store(&me->forgotten, 0);
    for (int i = 0; i < SHM_WITHDRAWN_KEYS; i++) {
        atomic_store(&me->keys[i], 0);
    }
}

void shm_withdrawn_age(struct shm_dev *dev, uint32_t serial)
{
    struct shm_seg *seg = serial % AGE_LOOKED == 0 ? dev->segs : NULL;

    for (; seg != NULL; seg = seg->next) {
        uint64_t newest = atomic_load(&seg->me->withdrawn);

        if (newest != 0 && serial - (uint32_t)newest > AGE_MAX) {
            forget(seg->me);
        }
    }
}
