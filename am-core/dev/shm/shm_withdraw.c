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
 */
#include "config.h"

#include "dev/shm/shm_mem.h"

/* A copy that takes longer will not end: its process is stopped, or has written nonsense. */
#define COPY_MAX_PS UINT64_C(10000000000000)
#define LOOKS       100 /* before it is asked whether the process is there */

static uint32_t serial_of(const struct am_dev_key *key)
{
    return (uint32_t)(key->w[2] >> SHM_KEY_SERIAL_AT) & SHM_KEY_PART;
}

/* Of two serials, which are counted in a circle. */
static bool is_newer(uint32_t serial, uint32_t than)
{
    return ((serial - than) & SHM_KEY_PART) - 1 < SHM_KEY_PART / 2;
}

/* Serial and base in one word: never 0, as the first serial is 1 and it is not 0 again
 * before 16 million keys. */
static uint64_t word_of(const struct am_dev_key *key)
{
    return (uint64_t)serial_of(key) << 40 |
           (key->w[0] & (((uint64_t)1 << 40) - 1));
}

static __attribute__((noinline)) bool is_withdrawn(const struct shm_rank *owner,
                                                   const struct am_dev_key *key)
{
    uint64_t word = word_of(key);

    for (int i = 0; i < SHM_WITHDRAWN_KEYS; i++) {
        if (atomic_load(&owner->keys[i]) == word) {
            return true;
        }
    }
    return false;
}

bool shm_copy_begin(struct shm_ep *ep, const struct am_dev_key *key)
{
    uint32_t newest;

    atomic_store(&ep->seg->me->copying, ep->index + 1);
    newest = atomic_load(&ep->peer->withdrawn);
    return newest == 0 || is_newer(serial_of(key), newest & SHM_KEY_PART) ||
           !is_withdrawn(ep->peer, key);
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
    uint64_t until = 0;

    for (uint32_t looks = 1; atomic_load(&rank->copying) == seg->self + 1;
         looks++) {
        uint64_t now = am_env_now(dev->env);

        until = until == 0 ? now + COPY_MAX_PS : until;
        if (now > until) {
            am_log(dev->log, AM_LOG_WARN,
                   "shm: process %u is still copying memory that is taken back",
                   atomic_load(&rank->pid));
            return;
        }
        if (looks % LOOKS == 0 &&
            shm_process_has_ended(atomic_load(&rank->pid))) {
            atomic_store(&rank->copying, 0); /* nobody asks again */
            return;
        }
        am_env_relax(dev->env, 0);
    }
}

void shm_mem_withdraw(struct am_dev *adev, const struct am_dev_key *key)
{
    struct shm_dev *dev = shm_dev_of(adev);
    uint32_t serial = serial_of(key);
    struct shm_seg *seg;

    if (dev->forked || shm_key_kind(key) != SHM_KEY_VM) {
        return;
    }
    for (seg = dev->segs; seg != NULL; seg = seg->next) {
        uint32_t newest = atomic_load(&seg->me->withdrawn);

        atomic_store(&seg->me->keys[seg->withdrawn++ % SHM_WITHDRAWN_KEYS],
                     word_of(key));
        if (newest == 0 || is_newer(serial, newest & SHM_KEY_PART)) {
            atomic_store(&seg->me->withdrawn, SHM_WITHDRAWN | serial);
        }
    }
    for (seg = dev->segs; seg != NULL; seg = seg->next) {
        for (uint32_t i = 0; i < seg->header.count; i++) {
            if (i != seg->self) {
                copier_wait(dev, seg, i);
            }
        }
    }
}
