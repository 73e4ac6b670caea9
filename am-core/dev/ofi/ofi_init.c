/*
 * The ofi device's life: variables, open, address, description, close.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "dev/silence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OFI_PACKET_LEAST 1024
#define OFI_PACKET_MOST  65536
#define OFI_CACHE_MOST   65536
#define OFI_LINGER_PS    UINT64_C(1000000000000) /* a close waits at most 1 s */
#define OFI_BYE_PS       (OFI_LINGER_PS / 50) /* for a BYE that does not go */

/* ---------------------------------------------------------------- variables */

static am_status_t check_provider(const char *text, char *accepted,
                                  size_t bytes)
{
    if (ofi_provider_is_sound(text)) {
        return AM_OK;
    }
    snprintf(accepted, bytes,
             "nothing, or a provider of libfabric such as tcp;ofi_rxm, but no "
             "datagrams made reliable by ofi_rxd: the device udp does that");
    return AM_ERR_CONFIG;
}

static am_status_t check_packet(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK &&
        value >= OFI_PACKET_LEAST && value <= OFI_PACKET_MOST) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "%d to %d", OFI_PACKET_LEAST, OFI_PACKET_MOST);
    return AM_ERR_CONFIG;
}

static am_status_t check_cache(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    snprintf(accepted, bytes, "0 to %d", OFI_CACHE_MOST);
    return am_config_parse_bytes(text, &value) == AM_OK &&
                           value <= OFI_CACHE_MOST
                   ? AM_OK
                   : AM_ERR_CONFIG;
}

static const struct am_config_row ofi_rows[] = {
        {"AM_OFI_PROVIDER", "", AM_CONFIG_TEXT, "",
         "provider of libfabric that the ofi device uses, as fi_info lists "
         "them, such as tcp;ofi_rxm; empty: the first that reaches other "
         "hosts; the same on all ranks",
         offsetof(struct ofi_config, provider), NULL, check_provider},
        {"AM_OFI_DOMAIN", "", AM_CONFIG_TEXT, "",
         "domain of that provider (AM_OFI_PROVIDER), as fi_info lists it, such "
         "as eth0 or mlx5_0; empty: the provider's first that is not the "
         "loopback interface",
         offsetof(struct ofi_config, domain), NULL, NULL},
        {"AM_OFI_PACKET", "16k", AM_CONFIG_BYTES, "bytes",
         "largest packet of the ofi device; the same on all ranks",
         offsetof(struct ofi_config, packet_bytes), NULL, check_packet},
        {"AM_OFI_MULTI", "on", AM_CONFIG_BOOL, "",
         "receive buffers that take many packets each, where the provider has "
         "them; off: one packet each",
         offsetof(struct ofi_config, multi), NULL, NULL},
        {"AM_OFI_READS", "auto", AM_CONFIG_CHOICE, "",
         "gets by the provider's reads of remote memory, where it has them: "
         "auto over a network, on with the provider shm, too, off never; a "
         "key that is no good then ends the connection over TCP",
         offsetof(struct ofi_config, reads), "auto|on|off", NULL},
        {"AM_OFI_WRITES", "off", AM_CONFIG_BOOL, "",
         "puts by the provider's writes of remote memory, where it has them "
         "and "
         "can tell when they are there; of keys what AM_OFI_READS says",
         offsetof(struct ofi_config, writes), NULL, NULL},
        {"AM_OFI_CACHE", "0", AM_CONFIG_COUNT, "registrations",
         "registrations of memory that the ofi device keeps with the provider "
         "after their last use; "
         "only for programs that do not unmap memory which they have sent from "
         "or received into",
         offsetof(struct ofi_config, cache_count), NULL, check_cache},
        AM_DEV_SILENCE_ROW("AM_OFI_SILENCE", struct ofi_config),
};

static const struct am_config_table ofi_config_table = {
        ofi_rows, sizeof(ofi_rows) / sizeof(ofi_rows[0])};

/* --------------------------------------------------------------- open, close */

/* Puts and gets by the provider: what it has of what was asked for. */
static void rma_fill(struct ofi_dev *dev)
{
    const struct am_linfn whole = {15000000, 200000};
    const uint64_t reads = FI_RMA | FI_READ | FI_REMOTE_READ;
    const uint64_t writes = FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
    struct am_dev_attr *attr = &dev->base.attr;

    if (dev->info->domain_attr->mr_key_size > sizeof(uint64_t)) {
        return;
    }
    if (ofi_reads_are_wanted(dev) && (dev->info->caps & reads) == reads) {
        attr->caps |= AM_DEV_CAP_GET;
        attr->perf.get = whole;
    }
    if (dev->config.writes && (dev->info->caps & writes) == writes) {
        attr->caps |= AM_DEV_CAP_PUT;
        attr->perf.put = whole;
    }
}

/* Estimates for tcp;ofi_rxm over loopback, where most of it is the way through the
 * kernel twice; not measured on a quiet machine. */
static void attr_fill(struct ofi_dev *dev)
{
    struct am_dev_attr *attr = &dev->base.attr;

    attr->packet_bytes_max =
            (dev->config.packet_bytes - OFI_HDR_BYTES) & ~(size_t)7;
    attr->reply_bytes_max = attr->packet_bytes_max;
    attr->hdr_bytes_max = OFI_HDR_MAX;
    attr->depth = OFI_CREDITS;
    attr->poll_rest_max = 31; /* an empty poll is a system call with most */
    attr->caps = AM_DEV_CAP_RELIABLE;
    if ((dev->info->tx_attr->msg_order & dev->info->rx_attr->msg_order &
         FI_ORDER_SAS) != 0) {
        attr->caps |= AM_DEV_CAP_ORDERED;
    }
    if (dev->wait_fd >= 0) {
        attr->caps |= AM_DEV_CAP_WAIT;
    }
    attr->perf.send_overhead = (struct am_linfn){2000000, 300000};
    attr->perf.recv_overhead = (struct am_linfn){1500000, 300000};
    attr->perf.wire = (struct am_linfn){2500000, 0};
    attr->perf.gap_ps = 1500000;
    rma_fill(dev);
}

/* The child of a fork has no part in the connections: whatever it did to them,
 * closing them above all, it would do to the parent's. */
static void in_child(void *arg)
{
    struct ofi_dev *dev = arg;

    dev->forked = true;
}

static am_status_t buffers_open(struct ofi_dev *dev)
{
    size_t bytes = dev->config.packet_bytes;

    dev->multi = dev->config.multi &&
                 (dev->info->rx_attr->caps & FI_MULTI_RECV) != 0;
    dev->rx_count = dev->multi ? OFI_RX_SLABS : OFI_RX_SINGLE;
    dev->rx_bytes = dev->multi ? OFI_RX_SLAB_BYTES : bytes;
    dev->tx = calloc(OFI_TX_COUNT, sizeof(*dev->tx));
    dev->rx = calloc(dev->rx_count, sizeof(*dev->rx));
    dev->tx_memory = malloc(OFI_TX_COUNT * bytes);
    dev->rx_memory = malloc(dev->rx_count * dev->rx_bytes);
    if (dev->tx == NULL || dev->rx == NULL || dev->tx_memory == NULL ||
        dev->rx_memory == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < OFI_TX_COUNT; i++) {
        dev->tx[i].context.kind = OFI_KIND_TX;
        dev->tx[i].memory = dev->tx_memory + i * bytes;
        am_list_push(&dev->tx_free, &dev->tx[i].link);
    }
    dev->tx_free_count = OFI_TX_COUNT;
    for (uint32_t i = 0; i < dev->rx_count; i++) {
        dev->rx[i].context.kind = OFI_KIND_RX;
        dev->rx[i].memory = dev->rx_memory + i * dev->rx_bytes;
    }
    return AM_OK;
}

static struct ofi_dev *dev_new(const struct am_dev_params *params)
{
    struct ofi_dev *dev = calloc(1, sizeof(*dev));

    if (dev == NULL) {
        return NULL;
    }
    dev->config = *(const struct ofi_config *)params->values;
    dev->base.ops = &am_ofi_ops;
    dev->base.up = params->up;
    dev->env = params->env;
    dev->log = params->log;
    dev->stats = params->stats;
    dev->nonce = params->nonce;
    dev->rank = params->rank;
    dev->sleeps = params->wait == AM_WAIT_SLEEP;
    dev->wait_fd = -1;
    am_list_init(&dev->tx_free);
    am_list_init(&dev->stuck);
    am_list_init(&dev->held);
    am_list_init(&dev->owing);
    am_list_init(&dev->doomed);
    am_list_init(&dev->eps);
    am_list_init(&dev->rmas);
    am_list_init(&dev->rmas_free);
    ofi_mem_init(dev);
    dev->config.packet_bytes &= ~(size_t)7;
    dev->config.silence_s = am_dev_silence_s(dev->config.silence_s);
    dev->me = (struct ofi_address){.nonce = dev->nonce,
                                   .packet_bytes =
                                           (uint32_t)dev->config.packet_bytes,
                                   .version = OFI_WIRE_VERSION};
    return dev;
}

static void dev_free(struct ofi_dev *dev)
{
    ofi_mem_close(dev);
    ofi_fabric_close(dev);
    ofi_rmas_free(dev);
    free(dev->job);
    free(dev->tx);
    free(dev->rx);
    free(dev->tx_memory);
    free(dev->rx_memory);
    free(dev);
}

static am_status_t ofi_open(const struct am_dev_params *params,
                            struct am_dev **dev_p)
{
    struct ofi_dev *dev = dev_new(params);
    am_status_t status;

    if (dev == NULL) {
        return AM_ERR_MEMORY;
    }
    status = ofi_lib_load(&dev->lib, params->error, params->error_bytes);
    if (status == AM_OK) {
        status = ofi_provider_choose(dev, params->error, params->error_bytes);
    }
    if (status == AM_OK) {
        status = buffers_open(dev);
    }
    if (status == AM_OK) {
        status = ofi_fabric_open(dev, params->error, params->error_bytes);
    }
    if (status == AM_OK) {
        status = ofi_rx_post_all(dev);
    }
    if (status != AM_OK) {
        dev_free(dev);
        return status;
    }
    ofi_provider_limits(dev);
    attr_fill(dev);
    am_fork_watch_start(&dev->fork_watch, in_child, dev);
    *dev_p = &dev->base;
    return AM_OK;
}

#define BYE_POLLS 16 /* for the BYEs of those who closed before */

/* Does nothing wait to go but a BYE that the provider finds no way for?  Then
 * who it is for may have closed at the same time. */
static bool only_byes_wait(const struct ofi_dev *dev)
{
    for (struct am_list *link = dev->eps.next; link != &dev->eps;
         link = link->next) {
        const struct ofi_ep *ep = am_container(link, struct ofi_ep, link);

        if (ep->flying > 0 || ep->rmas > 0 ||
            (!am_list_is_empty(&ep->queue) &&
             !am_container(ep->queue.next, struct ofi_tx, link)->told)) {
            return false;
        }
    }
    return true;
}

/* Say BYE to those who know this context, behind all that was sent to them; the
 * provider tells when it has gone, which it does not of packets before it.  Who
 * has left is not to be sent to: shm's memory of it may be no more. */
static void say_bye(struct ofi_dev *dev)
{
    uint64_t start_ps = am_env_now(dev->env), spent_ps = 0;

    dev->closing = true;
    for (int i = 0; i < BYE_POLLS; i++) {
        (void)ofi_poll(&dev->base, OFI_CQ_ENTRIES);
    }
    for (struct am_list *link = dev->eps.next; link != &dev->eps;
         link = link->next) {
        struct ofi_ep *ep = am_container(link, struct ofi_ep, link);

        while (ep->used && !ep->left && !ep->dead && !ep->gone &&
               !ofi_tx_control(ep, OFI_FLAG_BYE) &&
               am_env_now(dev->env) - start_ps < OFI_LINGER_PS) {
            (void)ofi_poll(&dev->base, OFI_CQ_ENTRIES);
        }
    }
    while (!ofi_drained(&dev->base) && spent_ps < OFI_LINGER_PS &&
           (spent_ps < OFI_BYE_PS || !only_byes_wait(dev))) {
        (void)ofi_poll(&dev->base, OFI_CQ_ENTRIES);
        am_env_relax(dev->env, 0);
        spent_ps = am_env_now(dev->env) - start_ps;
    }
}

static void ofi_close(struct am_dev *base)
{
    struct ofi_dev *dev = ofi_dev_of(base);

    am_fork_watch_stop(&dev->fork_watch);
    if (dev->forked) {
        return; /* all of it is the parent's */
    }
    if (!base->abandoned) {
        say_bye(dev);
    }
    dev->closing = true;
    ofi_eps_free(dev);
    dev_free(dev);
}

static size_t ofi_address(struct am_dev *base, void *to, size_t bytes_max)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    size_t bytes = ofi_address_bytes(&dev->me);

    if (bytes_max < bytes) {
        return 0;
    }
    memcpy(to, &dev->me, bytes);
    return bytes;
}

static size_t ofi_describe(struct am_dev *base, char *text, size_t bytes)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    const struct fi_info *info = dev->info;
    char where[160];
    int length = snprintf(
            text, bytes,
            "ofi: libfabric %u.%u, provider %s on %s, %s; inject up to %zu B; "
            "receive buffers of %s; order %s; sleep %s; reads of memory %s, "
            "writes %s\n",
            FI_MAJOR(dev->lib.version()), FI_MINOR(dev->lib.version()),
            info->fabric_attr->prov_name, info->domain_attr->name,
            ofi_name_text(dev, dev->me.name, dev->me.name_bytes, where,
                          sizeof(where)),
            dev->inject_bytes, dev->multi ? "many packets" : "one packet",
            (base->attr.caps & AM_DEV_CAP_ORDERED) != 0 ? "kept" : "not kept",
            dev->wait_fd >= 0 ? "yes" : "no",
            (base->attr.caps & AM_DEV_CAP_GET) != 0 ? "yes" : "no",
            (base->attr.caps & AM_DEV_CAP_PUT) != 0 ? "yes" : "no");

    return length < 0 || (size_t)length >= bytes ? 0 : (size_t)length;
}

const struct am_dev_ops am_ofi_ops = {
        .name = "ofi",
        .number = AM_DEV_NUMBER_OFI,
        .config = &ofi_config_table,
        .config_bytes = sizeof(struct ofi_config),
        .own_ends = true,
        .named = true,
        .open = ofi_open,
        .close = ofi_close,
        .address = ofi_address,
        .reachable = ofi_reachable,
        .connect_all = ofi_connect_all,
        .connected = am_dev_no_connected,
        .drained = ofi_drained,
        .connect = ofi_connect,
        .disconnect = ofi_disconnect,
        .presence = am_dev_no_presence,
        .send = ofi_send,
        .send_fill = ofi_send_fill,
        .send_words = am_dev_send_words,
        .reply_ready = ofi_reply_ready,
        .poll = ofi_poll,
        .mem_register = ofi_mem_register,
        .mem_deregister = ofi_mem_deregister,
        .mem_withdraw = ofi_mem_withdraw,
        .alloc = am_dev_no_alloc,
        .release = am_dev_no_release,
        .put = ofi_put,
        .get = ofi_get,
        .fetch_add = am_dev_no_fetch_add,
        .map = am_dev_no_map,
        .wait = ofi_wait,
        .watch = ofi_watch,
        .arm = ofi_arm,
        .check = ofi_check,
        .describe = ofi_describe,
};
