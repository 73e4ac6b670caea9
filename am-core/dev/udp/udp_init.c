/*
 * The udp device's life: variables, open, address, description, close.
 */
#include "config.h"

#include "dev/defaults.h"
#include "dev/silence.h"
#include "dev/udp/udp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UDP_PACKET_LEAST 512
#define IP4_HDR_BYTES    (20 + 8) /* of IP and UDP */
#define IP6_HDR_BYTES    (40 + 8)

/* ---------------------------------------------------------------- variables */

static am_status_t check_if(const char *text, char *accepted, size_t bytes)
{
    if (udp_if_is_sound(text)) {
        return AM_OK;
    }
    snprintf(accepted, bytes,
             "nothing, the name of an interface, or a network such as "
             "10.1.0.0/16");
    return AM_ERR_CONFIG;
}

static am_status_t check_ports(const char *text, char *accepted, size_t bytes)
{
    uint16_t first, last;

    if (udp_ports_parse(text, &first, &last)) {
        return AM_OK;
    }
    snprintf(accepted, bytes,
             "any, a port, or a range of ports such as 40000-40100");
    return AM_ERR_CONFIG;
}

static am_status_t check_key(const char *text, char *accepted, size_t bytes)
{
    struct udp_key key;

    if (text[0] == '\0' || udp_key_parse(text, &key)) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "nothing, or 32 hexadecimal digits");
    return AM_ERR_CONFIG;
}

static am_status_t check_packet(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK &&
        (value == 0 ||
         (value >= UDP_PACKET_LEAST && value <= UDP_DATAGRAM_MAX))) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "0, or %d to %zu", UDP_PACKET_LEAST,
             UDP_DATAGRAM_MAX);
    return AM_ERR_CONFIG;
}

static am_status_t check_buffer(const char *text, char *accepted, size_t bytes)
{
    size_t value;

    if (am_config_parse_bytes(text, &value) == AM_OK && value >= 4096 &&
        value <= (size_t)1 << 30) {
        return AM_OK;
    }
    snprintf(accepted, bytes, "4k to 1g");
    return AM_ERR_CONFIG;
}

static const struct am_config_row udp_rows[] = {
        {"AM_UDP_IF", "", AM_CONFIG_TEXT, "",
         "interface of the udp device, by name or by its network in CIDR "
         "notation; empty: the one that the route to the world takes",
         offsetof(struct udp_config, interface), NULL, check_if},
        {"AM_UDP_PORTS", "any", AM_CONFIG_TEXT, "",
         "ports that the udp device's socket may have, for firewalls: any, "
         "one, or a range such as 40000-40100, of which each context takes the "
         "first free one",
         offsetof(struct udp_config, ports), NULL, check_ports},
        {"AM_UDP_AUTH", "on", AM_CONFIG_BOOL, "",
         "each packet carries a keyed message authentication code (MAC), and "
         "none is taken twice; the same on all ranks",
         offsetof(struct udp_config, auth), NULL, NULL},
        {"AM_UDP_KEY", "", AM_CONFIG_SECRET, "",
         "key of the job, 32 hexadecimal digits, handed to all ranks by who "
         "starts them; empty: each context makes a key, which its address "
         "carries",
         offsetof(struct udp_config, key), NULL, check_key},
        {"AM_UDP_PACKET", "0", AM_CONFIG_BYTES, "bytes",
         "largest packet with IP's header; 0: what the interface carries whole",
         offsetof(struct udp_config, packet_bytes), NULL, check_packet},
        {"AM_UDP_BUFFER", "4m", AM_CONFIG_BYTES, "bytes",
         "the kernel's memory for what comes and waits, as far as it allows",
         offsetof(struct udp_config, buffer_bytes), NULL, check_buffer},
        AM_DEV_SILENCE_ROW("AM_UDP_SILENCE", struct udp_config),
};

static const struct am_config_table udp_config_table = {
        udp_rows, sizeof(udp_rows) / sizeof(udp_rows[0])};

/* --------------------------------------------------------------- open, close */

/* Costs of a system call each way, and of the way through the kernel, measured
 * once over loopback. */
static void attr_fill(struct udp_dev *dev)
{
    struct am_dev_attr *attr = &dev->base.attr;
    size_t hdr_bytes = UDP_HDR_BYTES + (dev->me.version == 4 ? IP4_HDR_BYTES
                                                             : IP6_HDR_BYTES);
    size_t packet_bytes = dev->config.packet_bytes;

    if (packet_bytes == 0 || packet_bytes > dev->mtu_bytes) {
        packet_bytes = dev->mtu_bytes;
    }
    if (packet_bytes > UINT16_MAX) {
        packet_bytes = UINT16_MAX;
    }
    /* whole words: then each datagram of a run begins at one */
    attr->packet_bytes_max = (packet_bytes - hdr_bytes) & ~(size_t)7;
    attr->reply_bytes_max = attr->packet_bytes_max;
    attr->hdr_bytes_max = UDP_HDR_MAX;
    attr->depth = 64;
    attr->poll_rest_max = 31; /* an empty poll is a system call */
    attr->caps = AM_DEV_CAP_WAIT | AM_DEV_CAP_DROPS;
    attr->perf.send_overhead = (struct am_linfn){1000000, 500000};
    attr->perf.recv_overhead = (struct am_linfn){800000, 500000};
    /* Between long messages, where a rendezvous' answers are, a packet takes two
     * to three times what it takes in a ping-pong: put needed 11 to 20 us more
     * than eager for 16 to 128 KiB on loopback. */
    attr->perf.wire = (struct am_linfn){5000000, 0};
    attr->perf.gap_ps = 1000000;
}

static void address_fill(struct udp_dev *dev)
{
    dev->me.nonce = dev->nonce;
    if (dev->bound.any.sa_family == AF_INET) {
        dev->me.version = 4;
        dev->me.port = dev->bound.v4.sin_port;
        memcpy(dev->me.ip, &dev->bound.v4.sin_addr, 4);
    } else {
        dev->me.version = 6;
        dev->me.port = dev->bound.v6.sin6_port;
        memcpy(dev->me.ip, &dev->bound.v6.sin6_addr, 16);
    }
}

/* The child of a fork has no part in the connections, nor in the port: it is
 * closed when the parent ends. */
static void in_child(void *arg)
{
    struct udp_dev *dev = arg;

    udp_direct_close(dev);
    udp_sock_close(&dev->socks[UDP_ALL]);
    dev->tx.bytes = dev->tx.run_first = dev->tx.run_end = 0;
}

static struct udp_dev *dev_new(const struct am_dev_params *params)
{
    struct udp_dev *dev = calloc(1, sizeof(*dev));

    if (dev == NULL) {
        return NULL;
    }
    dev->socks[UDP_ALL].fd = -1;
    udp_direct_init(dev);
    dev->tx.memory = malloc(UDP_TX_BYTES);
    dev->rx.memory = malloc(UDP_RX_RUNS * UDP_DATAGRAM_MAX);
    dev->config = *(const struct udp_config *)params->values;
    dev->base.ops = &am_udp_ops;
    dev->base.up = params->up;
    dev->env = params->env;
    dev->log = params->log;
    dev->stats = params->stats;
    dev->nonce = params->nonce;
    am_list_init(&dev->eps);
    am_list_init(&dev->closed);
    dev->config.silence_s = am_dev_silence_s(dev->config.silence_s);
    return dev;
}

static void dev_free(struct udp_dev *dev)
{
    udp_direct_close(dev);
    udp_sock_close(&dev->socks[UDP_ALL]);
    udp_auth_close(dev);
    free(dev->job);
    free(dev->tx.memory);
    free(dev->rx.memory);
    free(dev);
}

static am_status_t udp_open(const struct am_dev_params *params,
                            struct am_dev **dev_p)
{
    struct udp_dev *dev = dev_new(params);
    struct udp_if on;
    am_status_t status;

    if (dev == NULL) {
        return AM_ERR_MEMORY;
    }
    status = dev->tx.memory == NULL || dev->rx.memory == NULL ? AM_ERR_MEMORY
                                                              : AM_OK;
    if (status == AM_OK) {
        status = udp_if_find(dev->config.interface, &on, params->error,
                             params->error_bytes);
    }
    if (status == AM_OK) {
        status = udp_socket_open(dev, &on, params->error, params->error_bytes);
    }
    if (status == AM_OK) {
        status = udp_auth_open(dev, params->error, params->error_bytes);
    }
    if (status != AM_OK) {
        dev_free(dev);
        return status;
    }
    address_fill(dev);
    attr_fill(dev);
    dev->me.packet_bytes = (uint32_t)dev->base.attr.packet_bytes_max;
    udp_rx_init(dev);
    am_fork_watch_start(&dev->fork_watch, in_child, dev);
    *dev_p = &dev->base;
    return AM_OK;
}

static void udp_close(struct am_dev *base)
{
    struct udp_dev *dev = udp_dev_of(base);

    am_fork_watch_stop(&dev->fork_watch);
    if (udp_is_open(dev)) {
        udp_tx_flush(dev);
    }
    udp_eps_free(dev);
    dev_free(dev);
}

static size_t udp_address(struct am_dev *base, void *to, size_t bytes_max)
{
    struct udp_dev *dev = udp_dev_of(base);
    size_t bytes = udp_address_bytes(dev->me.version);

    if (bytes_max < bytes) {
        return 0;
    }
    memcpy(to, &dev->me, bytes);
    return bytes;
}

static size_t udp_describe(struct am_dev *base, char *text, size_t bytes)
{
    struct udp_dev *dev = udp_dev_of(base);
    char where[64];
    int length = snprintf(
            text, bytes,
            "udp: %s on %s, mtu %zu B; %s; UDP_SEGMENT %s, UDP_GRO %s; receive "
            "buffer %zu B\n",
            udp_address_text(&dev->bound, where, sizeof(where)), dev->interface,
            dev->mtu_bytes,
            !dev->config.auth                           ? "no authentication"
            : (dev->me.flags & UDP_ADDRESS_SHARED) != 0 ? "key of AM_UDP_KEY"
                                                        : "key of its own",
            dev->segments ? "yes" : "no", dev->coalesces ? "yes" : "no",
            dev->socket_bytes);

    return length < 0 || (size_t)length >= bytes ? 0 : (size_t)length;
}

const struct am_dev_ops am_udp_ops = {
        .name = "udp",
        .number = AM_DEV_NUMBER_UDP,
        .config = &udp_config_table,
        .config_bytes = sizeof(struct udp_config),
        .own_ends = true,
        .far = true,
        .open = udp_open,
        .close = udp_close,
        .address = udp_address,
        .reachable = udp_reachable,
        .connect_all = udp_connect_all,
        .connected = am_dev_no_connected,
        .drained = udp_drained,
        .connect = udp_connect,
        .disconnect = udp_disconnect,
        .presence = am_dev_no_presence,
        .send = udp_send,
        .send_fill = udp_send_fill,
        .send_words = am_dev_send_words,
        .reply_ready = udp_reply_ready,
        .poll = udp_poll,
        .mem_register = am_dev_no_mem_register,
        .mem_deregister = am_dev_no_mem_deregister,
        .alloc = am_dev_no_alloc,
        .release = am_dev_no_release,
        .put = am_dev_no_xfer,
        .get = am_dev_no_xfer,
        .fetch_add = am_dev_no_fetch_add,
        .map = am_dev_no_map,
        .wait = udp_wait,
        .watch = udp_watch,
        .arm = udp_arm,
        .check = udp_check,
        .describe = udp_describe,
};
