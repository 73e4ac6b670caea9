/*
 * The shm device's life: variables, open, addresses, endpoints, close.
 */
#include "config.h"

#include "base/config.h"
#include "dev/shm/shm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static am_status_t check_power(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK && value >= 4096
        && value <= (1u << 30) && (value & (value - 1)) == 0) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "a power of two from 4k to 1g");
    return AM_ERR_CONFIG;
}

static am_status_t check_packet(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK && value >= 1024
        && value <= (256u << 20)) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "1k to 256m");
    return AM_ERR_CONFIG;
}

static am_status_t check_slots(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK && value >= 1
        && value <= 65536 && (value & (value - 1)) == 0) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "a power of two from 1 to 65536");
    return AM_ERR_CONFIG;
}

static const struct am_config_row shm_rows[] = {
        {"AM_WAIT", "auto", AM_CONFIG_CHOICE, "",
         "what a waiting process does: auto spins, yields when others want "
         "the core, sleeps on a doorbell after a longer idle time",
         offsetof(struct shm_config, wait), "auto|spin|yield|sleep", NULL},
        {"AM_SHM_SLOTS", "256", AM_CONFIG_COUNT, "slots",
         "64-byte slots of each class from one process to another",
         offsetof(struct shm_config, slots), NULL, check_slots},
        {"AM_SHM_RING", "256k", AM_CONFIG_BYTES, "bytes",
         "payload ring from one process to another",
         offsetof(struct shm_config, ring_bytes), NULL, check_power},
        {"AM_SHM_PACKET", "16k", AM_CONFIG_BYTES, "bytes",
         "largest packet; at most a quarter of AM_SHM_RING",
         offsetof(struct shm_config, packet_bytes), NULL, check_packet},
        {"AM_SHM_CMA", "auto", AM_CONFIG_CHOICE, "",
         "single copy by process_vm_readv and writev where it is allowed",
         offsetof(struct shm_config, cma_off), "auto|off", NULL},
};

const struct am_config_table am_shm_config = {
        shm_rows, sizeof(shm_rows) / sizeof(shm_rows[0])};

/* Two contexts share memory if they agree on this: same boot, same network
 * namespace (abstract sockets), same user. */
static uint64_t host_hash(void)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    char text[128] = "";
    struct stat st;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file != NULL) {
        if (fgets(text, sizeof(text), file) == NULL) {
            text[0] = '\0';
        }
        fclose(file);
    }
    if (stat("/proc/self/ns/net", &st) == 0) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "/%llu/%u",
                 (unsigned long long) st.st_ino, (unsigned) geteuid());
    }
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char) *c) * 0x100000001b3ull;
    }
    return hash;
}

/* Measured on the reference machine (docs/performance.md): the line transfer
 * and the copies of both sides; single copy is measured when opened. */
static void attr_fill(struct shm_dev *dev)
{
    struct am_dev_attr *attr = &dev->base.attr;

    attr->caps = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED | AM_DEV_CAP_WAIT
                 | AM_DEV_CAP_MAPPED | AM_DEV_CAP_FETCH_ADD;
    attr->packet_bytes_max = dev->config.packet_bytes;
    attr->reply_bytes_max = dev->config.packet_bytes / 4;
    attr->hdr_bytes_max = 8 + 8 * AM_WORDS_MAX;
    attr->depth = (uint32_t) dev->config.slots;
    attr->perf.send_overhead = (struct am_linfn){15000, 18000};
    attr->perf.recv_overhead = (struct am_linfn){15000, 18000};
    attr->perf.wire = (struct am_linfn){55000, 0};
    attr->perf.gap_ps = 15000;
}

static am_status_t shm_open(const struct am_dev_params *params,
                            struct am_dev **dev_p)
{
    struct shm_dev *dev = calloc(1, sizeof(*dev));
    am_status_t status;

    if (dev == NULL) {
        return AM_ERR_MEMORY;
    }
    status = am_config_load(&am_shm_config, &dev->config, params->options,
                            params->option_count, params->error,
                            params->error_bytes);
    if (status == AM_OK
        && dev->config.packet_bytes > dev->config.ring_bytes / 4) {
        snprintf(params->error, params->error_bytes,
                 "AM_SHM_PACKET is larger than a quarter of AM_SHM_RING; "
                 "accepted is at most %zu bytes",
                 dev->config.ring_bytes / 4);
        status = AM_ERR_CONFIG;
    }
    if (status != AM_OK) {
        goto err_free;
    }
    dev->base.ops = &am_shm_ops;
    dev->base.up = params->up;
    dev->env = params->env;
    dev->log = params->log;
    dev->stats = params->stats;
    dev->rank = params->rank;
    dev->size = params->size;
    dev->nonce = params->nonce;
    dev->pid = (uint32_t) getpid();
    dev->host = host_hash();
    dev->listener = -1;
    dev->leader_socket = -1;
    dev->socket_mask = 4095;
    attr_fill(dev);
    shm_mem_probe(dev);
    shm_wait_init(dev);
    status = shm_listen(dev);
    if (status != AM_OK) {
        snprintf(params->error, params->error_bytes,
                 "shm: cannot open a listening socket: %m");
        goto err_free;
    }
    *dev_p = &dev->base;
    return AM_OK;

err_free:
    free(dev);
    return status;
}

static void shm_close(struct am_dev *adev)
{
    struct shm_dev *dev = shm_dev_of(adev);

    shm_sockets_close(dev);
    while (dev->eps != NULL) {
        struct shm_ep *ep = dev->eps;

        dev->eps = ep->next;
        free(ep);
    }
    for (uint32_t i = 0; dev->locals != NULL && i < dev->local_count; i++) {
        if (dev->locals[i].pidfd >= 0) {
            close(dev->locals[i].pidfd);
        }
    }
    shm_mem_close(dev);
    while (dev->segs != NULL) {
        struct shm_seg *seg = dev->segs;

        dev->segs = seg->next;
        shm_seg_close(seg);
    }
    free(dev->active);
    free(dev->locals);
    free(dev);
}

static size_t shm_address(struct am_dev *adev, void *to, size_t bytes_max)
{
    struct shm_dev *dev = shm_dev_of(adev);
    struct shm_address address = {dev->host, dev->nonce, dev->pid, 0};

    if (bytes_max < sizeof(address)) {
        return 0;
    }
    memcpy(to, &address, sizeof(address));
    return sizeof(address);
}

static bool shm_reachable(struct am_dev *adev, const void *part, size_t bytes)
{
    struct shm_address address;

    if (part == NULL || bytes != sizeof(address)) {
        return false;
    }
    memcpy(&address, part, sizeof(address));
    return address.host == shm_dev_of(adev)->host;
}

static am_status_t shm_connect_all(struct am_dev *adev,
                                   const void *const *parts,
                                   const size_t *part_bytes, uint32_t count)
{
    struct shm_dev *dev = shm_dev_of(adev);
    struct shm_seg *seg;
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
        *local = (struct shm_local){rank, address.pid, address.nonce, -1,
                                    false};
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
    status = shm_seg_create(dev, dev->local_count, 0, &seg);
    if (status != AM_OK) {
        return status;
    }
    dev->socket_mask = 15;
    shm_job_ready(dev, seg);
    return AM_OK;
}

static bool shm_connected(struct am_dev *adev)
{
    struct shm_dev *dev = shm_dev_of(adev);

    if (dev->local_count <= 1) {
        return true;
    }
    return dev->job != NULL
           && (dev->local_index != 0
               || dev->served_count == dev->local_count - 1);
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
    return low < dev->local_count && dev->locals[low].rank == rank
                   ? low
                   : UINT32_MAX;
}

am_status_t shm_ep_create(struct shm_dev *dev, void *user, uint32_t rank,
                          struct shm_ep **ep_p)
{
    struct shm_ep *ep = aligned_alloc(SHM_LINE,
                                      (sizeof(*ep) + SHM_LINE - 1)
                                              & ~(size_t) (SHM_LINE - 1));

    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    memset(ep, 0, sizeof(*ep));
    ep->ep.dev = &dev->base;
    ep->ep.user = user;
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
    am_status_t status = shm_seg_create(dev, 2, 0, &seg);

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
    seg->next = dev->segs;
    dev->segs = seg;
    (*ep_p)->pid = address->pid;
    shm_ep_bind(*ep_p, seg, 1);
    return AM_OK;
}

static am_status_t shm_connect(struct am_dev *adev, const void *part,
                               size_t bytes, uint32_t rank, void *user,
                               struct am_dev_ep **ep_p)
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

/* Endpoints live as long as the device: a peer may still write to its lane. */
static void shm_disconnect(struct am_dev_ep *ep)
{
    shm_ep_of(ep)->dead = true;
}

void shm_job_ready(struct shm_dev *dev, struct shm_seg *seg)
{
    dev->job = seg;
    seg->next = dev->segs;
    dev->segs = seg;
    for (struct shm_ep *ep = dev->eps; ep != NULL; ep = ep->next) {
        if (ep->seg == NULL && ep->rank != UINT32_MAX) {
            shm_ep_bind(ep, seg, ep->index);
        }
    }
}

/* Poll this endpoint's lane from now on. */
static am_status_t ep_activate(struct shm_dev *dev, struct shm_ep *ep)
{
    struct shm_ep **active =
            realloc(dev->active, (dev->active_count + 1) * sizeof(ep));

    if (active == NULL) {
        return AM_ERR_MEMORY;
    }
    dev->active = active;
    dev->active[dev->active_count++] = ep;
    ep->rx_open = true;
    return AM_OK;
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
    ep->pid = seg == dev->job ? dev->locals[index].pid
                              : atomic_load(&shm_seg_rank(seg, index)->pid);
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

        if (i == seg->self || (ep != NULL && ep->rx_open)
            || !shm_seg_announced(seg, i)) {
            continue;
        }
        ep = ep_accept(dev, seg, i);
        if (ep != NULL && ep->ep.user != NULL
            && ep_activate(dev, ep) == AM_OK) {
            count++;
        }
    }
    return count;
}

void shm_ep_die(struct shm_dev *dev, uint32_t index, const char *why)
{
    struct shm_ep *ep = dev->job == NULL ? NULL
                                         : ep_accept(dev, dev->job, index);

    if (ep != NULL && !ep->dead) {
        ep->dead = true;
        dev->base.up.dead(ep->ep.user, why);
    }
}

static size_t shm_describe(struct am_dev *adev, char *text, size_t bytes)
{
    struct shm_dev *dev = shm_dev_of(adev);
    int length = snprintf(
            text, bytes,
            "shm: %u contexts on this node, %s; slots %u, ring %zu B, packet "
            "%zu B; single copy %s; doorbell %s\n",
            dev->local_count, dev->base.attr.perf.shared_core
                    ? "more than cores"
                    : "a core for each",
            (unsigned) dev->config.slots, dev->config.ring_bytes,
            dev->config.packet_bytes, dev->cma ? "yes" : "no",
            dev->membarrier ? "asymmetric" : "timed");

    return length < 0 ? 0 : (size_t) length;
}

const struct am_dev_ops am_shm_ops = {
        .name = "shm",
        .open = shm_open,
        .close = shm_close,
        .address = shm_address,
        .reachable = shm_reachable,
        .connect_all = shm_connect_all,
        .connected = shm_connected,
        .drained = am_dev_no_drained,
        .connect = shm_connect,
        .disconnect = shm_disconnect,
        .send = shm_send,
        .send_fill = shm_send_fill,
        .reply_ready = shm_reply_ready,
        .poll = shm_poll,
        .mem_register = shm_mem_register,
        .mem_deregister = shm_mem_deregister,
        .alloc = shm_alloc,
        .release = shm_release,
        .put = shm_put,
        .get = shm_get,
        .fetch_add = shm_fetch_add,
        .map = shm_map,
        .wait = shm_wait,
        .check = shm_check,
        .describe = shm_describe,
};
