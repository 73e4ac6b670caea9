/*
 * The shm device's life: variables, open, addresses, endpoints, close.
 */
#include "config.h"

#include "base/config.h"
#include "dev/defaults.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_mem.h"
#include "dev/shm/shm_wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A message of one packet and a bit takes two, and in one of two states of the
 * machine it was measured on that costs a quarter of the bandwidth at 32 KiB
 * (benchmarks/am_core_compare, curve) and nothing to see at 64 KiB. */
#define SHM_PACKET_BYTES ((size_t)64 * 1024)

static am_status_t check_ring(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK &&
        (value == 0 || (value >= 4096 && value <= (1u << 30) &&
                        (value & (value - 1)) == 0))) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "0, or a power of two from 4k to 1g");
    return AM_ERR_CONFIG;
}

static am_status_t check_packet(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK &&
        (value == 0 || (value >= 1024 && value <= SHM_PACKET_MOST))) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "0, or 1k to 256m");
    return AM_ERR_CONFIG;
}

static am_status_t check_slots(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK && value >= 1 &&
        value <= 65536 && (value & (value - 1)) == 0) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "a power of two from 1 to 65536");
    return AM_ERR_CONFIG;
}

static const struct am_config_row shm_rows[] = {
        {"AM_SHM_SLOTS", "256", AM_CONFIG_COUNT, "slots",
         "64-byte slots of each class from one process to another",
         offsetof(struct shm_config, slots), NULL, check_slots},
        {"AM_SHM_RING", "0", AM_CONFIG_BYTES, "bytes",
         "payload ring from one process to another; 0 is twice the cache that "
         "a core has to itself (1m to 4m) in jobs of up to 4 processes, 512k "
         "of up to 8, and 256k of more, or where there are fewer CPUs",
         offsetof(struct shm_config, ring_bytes), NULL, check_ring},
        {"AM_SHM_PACKET", "0", AM_CONFIG_BYTES, "bytes",
         "largest packet, at most a quarter of AM_SHM_RING; 0 is 64k, or that "
         "quarter where it is less",
         offsetof(struct shm_config, packet_bytes), NULL, check_packet},
        {"AM_SHM_CMA", "auto", AM_CONFIG_CHOICE, "",
         "single copy by process_vm_readv and writev where it is allowed: auto "
         "where it costs less than a stream, on always, off never",
         offsetof(struct shm_config, cma), "auto|off|on", NULL},
};

static const struct am_config_table shm_config_table = {
        shm_rows, sizeof(shm_rows) / sizeof(shm_rows[0])};

static unsigned long long namespace_number(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Two contexts share memory if they agree on this: same boot, same namespaces
 * of the network (abstract sockets) and of processes (who is alive), same
 * user. */
static uint64_t host_hash(void)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    char text[160] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file != NULL) {
        if (fgets(text, sizeof(text), file) == NULL) {
            text[0] = '\0';
        }
        fclose(file);
    }
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "/%llu/%llu/%u",
             namespace_number("/proc/self/ns/net"),
             namespace_number("/proc/self/ns/pid"), (unsigned)geteuid());
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
    }
    return hash;
}

static void attr_fill(struct shm_dev *dev)
{
    struct am_dev_attr *attr = &dev->base.attr;

    attr->caps = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED | AM_DEV_CAP_WAIT |
                 AM_DEV_CAP_MAPPED | AM_DEV_CAP_FETCH_ADD;
    attr->packet_bytes_max = dev->config.packet_bytes;
    attr->reply_bytes_max = dev->config.packet_bytes / 4;
    attr->hdr_bytes_max = 8 + 8 * AM_WORDS_MAX;
    attr->depth = (uint32_t)dev->config.slots;
}

/* Take the values over, and judge those that depend on each other. */
static am_status_t config_take(struct shm_dev *dev,
                               const struct am_dev_params *params)
{
    struct shm_config *config = &dev->config;
    size_t packet_max;

    *config = *(const struct shm_config *)params->values;
    packet_max =
            (config->ring_bytes == 0 ? SHM_RING_LEAST : config->ring_bytes) / 4;
    if (config->packet_bytes == 0) {
        config->packet_bytes =
                packet_max < SHM_PACKET_BYTES ? packet_max : SHM_PACKET_BYTES;
    }
    if (config->packet_bytes > packet_max) {
        snprintf(params->error, params->error_bytes,
                 "AM_SHM_PACKET is %zu and larger than a quarter of "
                 "AM_SHM_RING (here %zu or more); accepted: at most %zu",
                 config->packet_bytes, 4 * packet_max, packet_max);
        return AM_ERR_CONFIG;
    }
    return AM_OK;
}

/* In the child of a fork, which may be inside a handler: whatever it sends or
 * takes from now on, the parent's lanes stay as they are. */
static void in_child(void *arg)
{
    struct shm_dev *dev = arg;

    dev->forked = true;
    dev->active_count = dev->busy_count = 0;
    for (struct shm_ep *ep = dev->eps; ep != NULL; ep = ep->next) {
        ep->dead = true;
        ep->tx_open = false;
        for (int c = 0; c < 2; c++) {
            struct shm_rx *rx = &ep->rx[c];

            rx->shared = &dev->forked_head;
            /* no slot of this run, or of the next, bears this stamp */
            rx->lap += UINT32_C(1) << 31;
            rx->stop_at += ((uint64_t)rx->mask + 1) << 31;
        }
    }
}

static am_status_t shm_open(const struct am_dev_params *params,
                            struct am_dev **dev_p)
{
    struct shm_dev *dev = calloc(1, sizeof(*dev));
    am_status_t status;

    if (dev == NULL) {
        return AM_ERR_MEMORY;
    }
    status = config_take(dev, params);
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
    dev->pid = (uint32_t)getpid();
    dev->wait = params->wait;
    dev->start = shm_process_start(dev->pid);
    dev->host = host_hash();
    dev->listener = -1;
    dev->bell = -1;
    dev->ringer = -1;
    dev->leader_socket = -1;
    dev->socket_mask = 4095;
    dev->near_ps = AM_COPY_NEAR_PS;
    attr_fill(dev);
    shm_mem_probe(dev);
    shm_costs_open(dev, params->profile, params->learn);
    shm_wait_init(dev);
    status = shm_listen(dev);
    if (status != AM_OK) {
        snprintf(params->error, params->error_bytes,
                 "shm: cannot open a listening socket: %m");
        goto err_free;
    }
    am_fork_watch_start(&dev->fork_watch, in_child, dev);
    *dev_p = &dev->base;
    return AM_OK;

err_free:
    shm_mem_close(dev);
    free(dev);
    return status;
}

static void shm_close(struct am_dev *adev)
{
    struct shm_dev *dev = shm_dev_of(adev);

    am_fork_watch_stop(&dev->fork_watch);
    shm_sockets_close(dev);
    shm_tails_publish(dev);
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
    struct shm_address address = {dev->host, dev->nonce, dev->pid,
                                  (uint32_t)dev->config.packet_bytes,
                                  dev->start};

    if (bytes_max < sizeof(address)) {
        return 0;
    }
    memcpy(to, &address, sizeof(address));
    return sizeof(address);
}

bool shm_reachable(struct am_dev *adev, const void *part, size_t bytes)
{
    struct shm_address address;

    if (part == NULL || bytes != sizeof(address)) {
        return false;
    }
    memcpy(&address, part, sizeof(address));
    return address.host == shm_dev_of(adev)->host;
}

static size_t shm_describe(struct am_dev *adev, char *text, size_t bytes)
{
    struct shm_dev *dev = shm_dev_of(adev);
    int length = snprintf(
            text, bytes,
            "shm: %u contexts on this node, %s; slots %u, ring %zu B, packet "
            "%zu B; single copy %s; doorbell %s\n",
            dev->local_count,
            dev->base.attr.perf.shared_core ? "more than cores"
                                            : "a core for each",
            (unsigned)dev->config.slots,
            dev->job != NULL ? dev->job->header.ring_bytes[AM_DEV_REQUEST]
                             : shm_seg_ring_bytes(dev, dev->local_count),
            dev->config.packet_bytes, dev->cma ? "yes" : "no",
            dev->membarrier ? "asymmetric" : "timed");

    if (length < 0 || (size_t)length >= bytes) {
        return 0;
    }
    return (size_t)length +
           shm_topo_describe(text + length, bytes - (size_t)length);
}

const struct am_dev_ops am_shm_ops = {
        .name = "shm",
        .number = AM_DEV_NUMBER_SHM,
        .config = &shm_config_table,
        .config_bytes = sizeof(struct shm_config),
        .own_ends = true,
        .open = shm_open,
        .close = shm_close,
        .address = shm_address,
        .reachable = shm_reachable,
        .connect_all = shm_connect_all,
        .connected = shm_connected,
        .drained = am_dev_no_drained,
        .connect = shm_connect,
        .disconnect = shm_disconnect,
        .presence = shm_presence,
        .send = shm_send,
        .send_fill = shm_send_fill,
        .send_words = shm_send_words,
        .reply_ready = shm_reply_ready,
        .poll = shm_poll,
        .mem_register = shm_mem_register,
        .mem_deregister = shm_mem_deregister,
        .mem_withdraw = shm_mem_withdraw,
        .alloc = shm_alloc,
        .release = shm_release,
        .put = shm_put,
        .get = shm_get,
        .fetch_add = shm_fetch_add,
        .map = shm_map,
        .wait = shm_wait,
        .watch = shm_watch,
        .arm = shm_arm,
        .check = shm_check,
        .describe = shm_describe,
};
