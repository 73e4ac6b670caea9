/*
 * The order in which polls look at the lanes.
 *
 * To look at a lane that nothing comes by costs the two cache lines where the
 * next packets would be, and most programs hear from few of the peers that they
 * know.  So the lanes are in two groups: each poll looks at all of the busy ones,
 * and at a few of the quiet ones by turns.  A quiet one with a packet is busy from
 * then on; a busy one is quiet when nothing came by it from one sorting to the
 * next.  With few lanes all are busy.
 *
 *     dev->active   | busy ...          | quiet ...                |
 *                   0                   busy_count                 active_count
 *                                                ^ quiet_at: next to be looked at
 */
#include "config.h"

#include "dev/shm/shm.h"

#include <stdlib.h>

#define QUIET_LOOKS 8  /* in each poll: so a packet waits for count / 8 polls */
#define FEW_LANES   16 /* that are not worth sorting */

static void swap(struct shm_dev *dev, uint32_t a, uint32_t b)
{
    struct shm_ep *ep = dev->active[a];

    dev->active[a] = dev->active[b];
    dev->active[b] = ep;
}

am_status_t shm_lanes_add(struct shm_dev *dev, struct shm_ep *ep)
{
    struct shm_ep **active =
            realloc(dev->active, (dev->active_count + 1) * sizeof(ep));

    if (active == NULL) {
        return AM_ERR_MEMORY;
    }
    dev->active = active;
    dev->active[dev->active_count++] = ep;
    swap(dev, dev->busy_count++, dev->active_count - 1);
    return AM_OK;
}

void shm_lanes_remove(struct shm_dev *dev, const struct shm_ep *ep)
{
    for (uint32_t i = 0; i < dev->active_count; i++) {
        if (dev->active[i] == ep) {
            if (i < dev->busy_count) {
                swap(dev, i, --dev->busy_count);
                i = dev->busy_count;
            }
            swap(dev, i, --dev->active_count);
            return;
        }
    }
}

bool shm_lanes_look_quiet(struct shm_dev *dev)
{
    uint32_t left = dev->active_count - dev->busy_count;

    for (left = left < QUIET_LOOKS ? left : QUIET_LOOKS; left > 0; left--) {
        if (dev->quiet_at < dev->busy_count ||
            dev->quiet_at >= dev->active_count) {
            dev->quiet_at = dev->busy_count;
        }
        if (shm_ep_has_packet(dev->active[dev->quiet_at])) {
            swap(dev, dev->quiet_at++, dev->busy_count++);
            return true;
        }
        dev->quiet_at++;
    }
    return false;
}

/* A number that packets change. */
static uint64_t position(const struct shm_ep *ep)
{
    uint64_t sum = 0;

    for (int class = 0; class < AM_DEV_CLASS_COUNT; class++) {
        const struct shm_rx *rx = &ep->rx[class];

        sum += rx->stop_at - (uint64_t)(rx->stop - rx->next);
    }
    return sum;
}

void shm_lanes_sort(struct shm_dev *dev)
{
    for (uint32_t i = dev->active_count <= FEW_LANES ? 0 : dev->busy_count;
         i-- > 0;) {
        struct shm_ep *ep = dev->active[i];
        uint64_t now = position(ep);

        if (now == ep->sorted_at) {
            swap(dev, i, --dev->busy_count);
        }
        ep->sorted_at = now;
    }
}
