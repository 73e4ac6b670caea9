/*
 * A poll: which of the open lanes has a packet, and now and then what is rare.
 */
#include "config.h"

#include "dev/shm/shm_inl.h"

bool shm_ep_has_packet(const struct shm_ep *ep)
{
    return shm_rx_is_stamped(&ep->rx[AM_DEV_REPLY]) ||
           shm_rx_is_stamped(&ep->rx[AM_DEV_REQUEST]);
}

bool shm_has_packet(const struct shm_dev *dev)
{
    for (uint32_t i = 0; i < dev->active_count; i++) {
        if (shm_ep_has_packet(dev->active[i])) {
            return true;
        }
    }
    return false;
}

bool shm_has_lane(const struct shm_dev *dev)
{
    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        if (atomic_load(&seg->me->attached) != seg->attached_seen) {
            return true;
        }
    }
    return false;
}

#define SEG_LOOKS 4

static inline int attach_if_new(struct shm_dev *dev, struct shm_seg *seg)
{
    bool new = atomic_load_explicit(&seg->me->attached, memory_order_relaxed) !=
               seg->attached_seen;

    return new ? shm_attach_new(dev, seg) : 0;
}

/* Lanes that peers have opened: in some of the segments, by turns. */
static int poll_segs(struct shm_dev *dev)
{
    int count = 0;

    if (dev->seg_at == NULL) {
        dev->seg_at = dev->segs;
    }
    for (int left = SEG_LOOKS; left > 0 && dev->seg_at != NULL; left--) {
        struct shm_seg *seg = dev->seg_at;

        dev->seg_at = seg->next;
        count += attach_if_new(dev, seg);
    }
    return count;
}

#define SORT_MASK 4095 /* polls */

/* Every few polls: lanes that peers have opened; rarely: the sockets, but less so
 * where nothing comes but by them: there the polls themselves may be rare. */
static __attribute__((noinline)) int poll_rare(struct shm_dev *dev)
{
    uint32_t mask =
            dev->active_count == 0 ? dev->socket_mask & 15 : dev->socket_mask;
    struct shm_seg *job = dev->job;
    int count = job != NULL ? attach_if_new(dev, job) : 0;

    if (dev->segs != job || (job != NULL && job->next != NULL)) {
        count += poll_segs(dev); /* there are late pairs */
    }
    if (dev->look) {
        dev->look = false;
        shm_look(dev);
    }
    if (dev->broken) {
        shm_breaks_tell(dev);
    }
    if ((dev->polls & mask) == 0) {
        shm_sockets_serve(dev);
    }
    if ((dev->polls & SORT_MASK) == 0) {
        shm_lanes_sort(dev);
    }
    return count;
}

/* The lanes from `first` on; there is something. */
static __attribute__((noinline)) int poll_from(struct shm_dev *dev,
                                               uint32_t first, uint32_t max)
{
    int count = 0;

    for (uint32_t i = first; i < dev->busy_count; i++) {
        struct shm_ep *ep = dev->active[i];

        if (shm_rx_is_stamped(&ep->rx[AM_DEV_REPLY])) {
            count += shm_rx_drain(dev, ep, AM_DEV_REPLY, max);
        }
        if (shm_rx_is_stamped(&ep->rx[AM_DEV_REQUEST])) {
            count += shm_rx_drain(dev, ep, AM_DEV_REQUEST, max);
        }
    }
    if (SHM_UNLIKELY((++dev->polls & 7) == 0)) {
        count += poll_rare(dev);
    }
    return count;
}

/* The busy lanes and some of the quiet ones. */
static __attribute__((noinline)) int poll_all(struct shm_dev *dev, uint32_t max)
{
    (void)shm_lanes_look_quiet(
            dev); /* first: those who are loud do not stop it */
    return poll_from(dev, 0, max);
}

/* An empty poll, of which there are many, saves no register.  A context that
 * only waits has asked for many looks: from here the way to the handler is
 * shorter than from a loop around polls. */
int shm_poll(struct am_dev *adev, uint32_t packets_max)
{
    struct shm_dev *dev = shm_dev_of(adev);
    uint32_t looks = dev->looks;

    dev->looks = 0;
    if (SHM_UNLIKELY(dev->busy_count < dev->active_count)) {
        return poll_all(dev, packets_max);
    }
    for (;;) {
        for (uint32_t i = 0; i < dev->busy_count; i++) {
            struct shm_ep *ep = dev->active[i];

            if (shm_rx_is_stamped(&ep->rx[AM_DEV_REPLY]) ||
                shm_rx_is_stamped(&ep->rx[AM_DEV_REQUEST])) {
                return poll_from(dev, i, packets_max);
            }
        }
        if (looks-- == 0) {
            break;
        }
        if (SHM_UNLIKELY(dev->expected != NULL)) {
            __builtin_prefetch(dev->expected);
        }
        am_barrier_look();
    }
    if (SHM_UNLIKELY((++dev->polls & 7) == 0)) {
        return poll_rare(dev);
    }
    return 0;
}
