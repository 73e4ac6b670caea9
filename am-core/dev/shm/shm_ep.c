/*
 * Endpoints of the shm device: the job's ranks on this node, late peers, lanes
 * that peers open.
 */
#include "config.h"

#include "dev/shm/shm_pages.h"
#include "dev/shm/shm_wait.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

am_status_t shm_connect_all(struct am_dev *adev, const void *const *parts,
                            const size_t *part_bytes, uint32_t count)
{
    struct shm_dev *dev = shm_dev_of(adev);
    struct shm_seg *seg;
    size_t packet_bytes = 0;
    am_status_t status;

    dev->locals = calloc(count, sizeof(*dev->locals));
    if (dev->locals == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        struct shm_address address;
        struct shm_local *local = &dev->locals[dev->local_count];

        if (!shm_reachable(adev, parts[rank], part_bytes[rank])) {
            continue;
        }
        memcpy(&address, parts[rank], sizeof(address));
        *local = (struct shm_local){.rank = rank,
                                    .pid = address.pid,
                                    .nonce = address.nonce,
                                    .start = address.start,
                                    .pidfd = -1};
        if (address.packet_bytes > packet_bytes) {
            packet_bytes = address.packet_bytes;
        }
        if (rank == dev->rank) {
            dev->local_index = dev->local_count;
        }
        dev->local_count++;
    }
    if (dev->local_count <= 1) {
        return AM_OK;
    }
    if (dev->local_index != 0) {
        shm_fetch(dev);
        return AM_OK;
    }
    status = shm_seg_create(dev, dev->local_count, 0, packet_bytes, &seg);
    if (status != AM_OK) {
        return status;
    }
    dev->socket_mask = 15;
    shm_job_ready(dev, seg);
    return AM_OK;
}

bool shm_connected(struct am_dev *adev)
{
    struct shm_dev *dev = shm_dev_of(adev);

    if (dev->local_count <= 1) {
        return true;
    }
    if (dev->job == NULL ||
        (dev->local_index == 0 && dev->served_count < dev->local_count - 1)) {
        /* who asks has nothing else to do, and each time may be long: on a
         * busy machine it gives up its core in between */
        shm_sockets_serve(dev);
        return false;
    }
    (void)shm_is_crowded(dev); /* for the costs that protocols compare */
    return true;
}

/* Index of a job rank on this node, or UINT32_MAX; locals are in rank order. */
static uint32_t local_find(const struct shm_dev *dev, uint32_t rank)
{
    uint32_t low = 0, high = dev->local_count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (dev->locals[middle].rank < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < dev->local_count && dev->locals[low].rank == rank ? low
                                                                   : UINT32_MAX;
}

am_status_t shm_ep_create(struct shm_dev *dev, void *user, uint32_t rank,
                          struct shm_ep **ep_p)
{
    struct shm_ep *ep = aligned_alloc(
            SHM_LINE, (sizeof(*ep) + SHM_LINE - 1) & ~(size_t)(SHM_LINE - 1));

    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    memset(ep, 0, sizeof(*ep));
    ep->ep.dev = &dev->base;
    ep->ep.user = user;
    ep->ep.meter = &dev->meters[AM_DISTANCE_CACHE];
    ep->rank = rank;
    ep->next = dev->eps;
    dev->eps = ep;
    *ep_p = ep;
    return AM_OK;
}

/* A late peer: make the pair's segment and hand it over. */
static am_status_t connect_late(struct shm_dev *dev,
                                const struct shm_address *address, void *user,
                                struct shm_ep **ep_p)
{
    struct shm_seg *seg;
    am_status_t status = shm_seg_create(dev, 2, 0, address->packet_bytes, &seg);

    if (status != AM_OK) {
        return status;
    }
    status = shm_offer(dev, address, seg->fd);
    if (status == AM_OK) {
        status = shm_ep_create(dev, user, UINT32_MAX, ep_p);
    }
    if (status != AM_OK) {
        shm_seg_close(seg);
        return status;
    }
    close(seg->fd);
    seg->fd = -1;
    shm_seg_add(dev, seg);
    (*ep_p)->pid = address->pid;
    (*ep_p)->start = address->start;
    shm_ep_bind(*ep_p, seg, 1);
    return AM_OK;
}

am_status_t shm_connect(struct am_dev *adev, const void *part, size_t bytes,
                        uint32_t rank, void *user, struct am_dev_ep **ep_p)
{
    struct shm_dev *dev = shm_dev_of(adev);
    struct shm_address address;
    struct shm_ep *ep = NULL;
    am_status_t status;

    if (!shm_reachable(adev, part, bytes)) {
        return AM_ERR_PEER;
    }
    memcpy(&address, part, sizeof(address));
    if (rank == UINT32_MAX) {
        status = connect_late(dev, &address, user, &ep);
    } else {
        uint32_t index = local_find(dev, rank);

        if (index == UINT32_MAX || index == dev->local_index) {
            return AM_ERR_PEER;
        }
        status = shm_ep_create(dev, user, rank, &ep);
        if (status == AM_OK) {
            ep->pid = address.pid;
            ep->index = index;
            if (dev->job != NULL) {
                shm_ep_bind(ep, dev->job, index);
            }
        }
    }
    if (status == AM_OK) {
        *ep_p = &ep->ep;
    }
    return status;
}

/* Nothing goes to it or is taken from it any more. */
static void ep_close(struct shm_dev *dev, struct shm_ep *ep)
{
    ep->dead = true;
    ep->tx_open = false;
    shm_lanes_remove(dev, ep);
}

/* Off the device's list, with the pair's segment. */
static void late_free(struct shm_dev *dev, struct shm_ep *ep)
{
    struct shm_ep **ep_at = &dev->eps;
    struct shm_seg **seg_at = &dev->segs;

    while (*ep_at != ep) {
        ep_at = &(*ep_at)->next;
    }
    while (*seg_at != ep->seg) {
        seg_at = &(*seg_at)->next;
    }
    *ep_at = ep->next;
    *seg_at = ep->seg->next;
    if (dev->seg_at == ep->seg) {
        dev->seg_at = ep->seg->next;
    }
    shm_seg_close(ep->seg);
    free(ep);
}

/* Endpoints of the job live as long as the device: a peer may still write to its
 * lane, which is not looked at any more, so there are no more upcalls.  A late
 * peer has the pair's segment mapped for itself. */
void shm_disconnect(struct am_dev_ep *dep)
{
    struct shm_ep *ep = shm_ep_of(dep);
    struct shm_dev *dev = shm_dev_of(dep->dev);

    ep_close(dev, ep);
    ep->ep.user = NULL;
    if (ep->rank == UINT32_MAX) {
        late_free(dev, ep);
    }
}

am_dev_presence_t shm_presence(struct am_dev_ep *dep)
{
    struct shm_ep *ep = shm_ep_of(dep);

    if (ep->rank != UINT32_MAX ||
        atomic_load(&ep->peer->state) != SHM_RANK_CLOSED) {
        return AM_DEV_HERE;
    }
    return shm_ep_has_packet(ep) ||
                           (!ep->rx_open &&
                            shm_seg_announced(ep->seg, ep->index))
                   ? AM_DEV_LEAVING
                   : AM_DEV_LEFT;
}

void shm_job_ready(struct shm_dev *dev, struct shm_seg *seg)
{
    dev->job = seg;
    shm_seg_pages_make(seg);
    shm_seg_add(dev, seg);
    for (struct shm_ep *ep = dev->eps; ep != NULL; ep = ep->next) {
        if (ep->seg == NULL && ep->rank != UINT32_MAX) {
            shm_ep_bind(ep, seg, ep->index);
        }
    }
}

/* The endpoint of index in seg; made, and announced upwards, if new. */
static struct shm_ep *ep_accept(struct shm_dev *dev, struct shm_seg *seg,
                                uint32_t index)
{
    struct shm_ep *ep = seg->eps[index];
    uint32_t rank = UINT32_MAX;

    if (ep != NULL) {
        return ep;
    }
    if (seg == dev->job) {
        rank = dev->locals[index].rank;
    }
    if (shm_ep_create(dev, NULL, rank, &ep) != AM_OK) {
        return NULL;
    }
    if (seg == dev->job) {
        ep->pid = dev->locals[index].pid;
        ep->start = dev->locals[index].start;
    } else {
        ep->pid = seg->maker_pid;
        ep->start = seg->maker_start;
    }
    shm_ep_bind(ep, seg, index);
    ep->ep.user = dev->base.up.accept(dev->base.up.arg, &ep->ep, rank);
    ep->dead = ep->ep.user == NULL;
    return ep;
}

int shm_attach_new(struct shm_dev *dev, struct shm_seg *seg)
{
    int count = 0;

    seg->attached_seen = atomic_load(&seg->me->attached);
    for (uint32_t i = 0; i < seg->header.count; i++) {
        struct shm_ep *ep = seg->eps[i];

        if (ep != NULL && !ep->dead && (ep->tx_open || ep->rx_open) &&
            atomic_load(&ep->tail_in->broken) != 0) {
            shm_break(ep, "the other end says so");
        }
        if (i == seg->self || (ep != NULL && (ep->rx_open || ep->dead)) ||
            !shm_seg_announced(seg, i)) {
            continue;
        }
        ep = ep_accept(dev, seg, i);
        if (ep != NULL && ep->ep.user != NULL &&
            shm_lanes_add(dev, ep) == AM_OK) {
            ep->rx_open = true;
            count++;
        }
    }
    return count;
}

/* The endpoint of a rank of the job whose segment is not there yet. */
static struct shm_ep *ep_without_segment(struct shm_dev *dev, uint32_t index)
{
    uint32_t rank = dev->locals[index].rank;
    struct shm_ep *ep = dev->eps;

    while (ep != NULL && ep->rank != rank) {
        ep = ep->next;
    }
    if (ep == NULL && shm_ep_create(dev, NULL, rank, &ep) == AM_OK) {
        ep->index = index;
        ep->ep.user = dev->base.up.accept(dev->base.up.arg, &ep->ep, rank);
        ep->dead = ep->ep.user == NULL;
    }
    return ep;
}

struct shm_ep *shm_ep_of_local(struct shm_dev *dev, uint32_t index)
{
    return dev->job == NULL ? ep_without_segment(dev, index)
                            : ep_accept(dev, dev->job, index);
}

void shm_ep_die(struct shm_dev *dev, struct shm_ep *ep, const char *why)
{
    if (ep->dead) {
        return;
    }
    if (ep->seg != NULL) {
        (void)shm_attach_new(dev, ep->seg);
    }
    shm_rx_empty(ep);
    shm_ep_cut(dev, ep, why);
}

void shm_ep_cut(struct shm_dev *dev, struct shm_ep *ep, const char *why)
{
    if (!ep->dead) {
        ep_close(dev, ep);
        dev->base.up.dead(ep->ep.user, why);
    }
}
