/*
 * The provider: which one is taken, and opening it.
 *
 * libfabric lists what it has, the fastest first.  Taken is the first entry that
 * AM_OFI_PROVIDER and AM_OFI_DOMAIN allow, of those that keep the order of
 * messages if there is one; IPv4 goes before IPv6, and the loopback interface
 * comes last.  Unless it is named, a provider is left out that stays on its host
 * (shm) or is there for tests (sockets); one that makes datagrams reliable
 * by itself (rxd) is never taken: the device udp does that.
 */
#include "config.h"

#include "base/crc32c.h"
#include "dev/ofi/ofi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define API_VERSION FI_VERSION(1, 17)
/* What memory a provider may ask to be registered, and how. */
#define MR_MODE                                                    \
    (FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | \
     FI_MR_ENDPOINT)

/* ---------------------------------------------------------------- choosing */

bool ofi_provider_is_sound(const char *spec)
{
    return strstr(spec, "rxd") == NULL && strcmp(spec, "udp") != 0;
}

static bool is_local(const char *provider)
{
    return strncmp(provider, "shm", 3) == 0;
}

static bool is_sockets(const char *provider)
{
    return strncmp(provider, "sockets", 7) == 0;
}

static bool provider_is_wanted(const struct ofi_dev *dev, const char *provider)
{
    if (!ofi_provider_is_sound(provider)) {
        return false;
    }
    if (dev->config.provider[0] != '\0') {
        return true; /* it was in the hints */
    }
    return !is_local(provider) && !is_sockets(provider) &&
           strstr(provider, "mrail") == NULL;
}

/* How well an entry does: 0 is not at all. */
static int info_rank(const struct ofi_dev *dev, const struct fi_info *info)
{
    bool v6 = info->addr_format == FI_SOCKADDR_IN6;
    bool loopback = info->src_addr != NULL &&
                    ofi_name_is_loopback(info->addr_format, info->src_addr);

    if (!provider_is_wanted(dev, info->fabric_attr->prov_name) ||
        (dev->config.domain[0] != '\0' &&
         strcmp(info->domain_attr->name, dev->config.domain) != 0) ||
        (info->mode & ~(FI_CONTEXT | FI_CONTEXT2)) != 0 ||
        (info->domain_attr->mr_mode & ~MR_MODE) != 0 ||
        info->ep_attr->max_msg_size < dev->config.packet_bytes) {
        return 0;
    }
    if (dev->config.domain[0] != '\0') {
        loopback = false;
    }
    return 1 + !v6 + 2 * !loopback;
}

static bool is_like(const struct fi_info *info, const struct fi_info *like)
{
    return like == NULL ||
           (strcmp(info->fabric_attr->prov_name,
                   like->fabric_attr->prov_name) == 0 &&
            strcmp(info->domain_attr->name, like->domain_attr->name) == 0 &&
            info->addr_format == like->addr_format &&
            info->ep_attr->protocol == like->ep_attr->protocol);
}

/* The best entry of those that have `caps` and `order`, and are of the provider
 * and domain of `like`, if it is given; NULL: none. */
static struct fi_info *info_find(struct ofi_dev *dev, uint64_t caps,
                                 uint64_t order, const struct fi_info *like)
{
    struct fi_info *hints = dev->lib.dupinfo(NULL);
    struct fi_info *list = NULL, *found = NULL;
    int best = 0;

    if (hints == NULL) {
        return NULL;
    }
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = MR_MODE;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
    if (dev->config.provider[0] != '\0') {
        hints->fabric_attr->prov_name = strdup(dev->config.provider);
    }
    if (dev->lib.getinfo(API_VERSION, NULL, NULL, 0, hints, &list) == 0) {
        for (struct fi_info *at = list; at != NULL; at = at->next) {
            int rank = is_like(at, like) ? info_rank(dev, at) : 0;

            if (rank > best) {
                best = rank;
                found = at;
            }
        }
    }
    if (found != NULL) {
        found = dev->lib.dupinfo(found);
    }
    if (list != NULL) {
        dev->lib.freeinfo(list);
    }
    dev->lib.freeinfo(hints);
    return found;
}

am_status_t ofi_provider_choose(struct ofi_dev *dev, char *error,
                                size_t error_bytes)
{
    static const uint64_t orders[] = {FI_ORDER_SAS, FI_ORDER_NONE};
    bool named = dev->config.provider[0] != '\0';
    bool on = dev->config.domain[0] != '\0';

    for (int i = 0; i < 2 && dev->info == NULL; i++) {
        struct fi_info *also;

        dev->info = info_find(dev, FI_MSG, orders[i], NULL);
        also = dev->info == NULL || !dev->config.reads ||
                               is_sockets(dev->info->fabric_attr->prov_name)
                       ? NULL
                       : info_find(dev, FI_MSG | FI_RMA | FI_READ |
                                                FI_REMOTE_READ,
                                   orders[i], dev->info);
        if (also != NULL) {
            dev->lib.freeinfo(dev->info);
            dev->info = also;
        }
    }
    if (dev->info != NULL) {
        return AM_OK;
    }
    snprintf(error, error_bytes,
             "ofi: libfabric has no provider%s%s%s%s with endpoints of the kind "
             "FI_EP_RDM for packets of %zu bytes here (fi_info -t FI_EP_RDM "
             "lists what it has)",
             named ? " " : "", dev->config.provider, on ? " on the domain " : "",
             dev->config.domain, dev->config.packet_bytes);
    return AM_ERR_UNSUPPORTED;
}

/* The provider sockets looks at a message only when its whole header of 24 bytes
 * has come, and leaves what there is of it in the socket.  The kernel counts the
 * page round those few bytes as full and may offer the sender no window: then
 * neither goes on, ever (seen with Linux 6.18 and packets of 16 KiB).  So no more
 * is given to it than a window takes in any case; all of it has a completion,
 * which with this provider means that the peer has it.  How much an answer to a
 * read takes is not in our hands: no reads. */
void ofi_provider_limits(struct ofi_dev *dev)
{
    bool few = is_sockets(dev->info->fabric_attr->prov_name);

    dev->inject_bytes = few ? 0 : dev->info->tx_attr->inject_size;
    dev->flying_bytes_max = few ? OFI_SOCKETS_FLYING : SIZE_MAX;
}

/* ----------------------------------------------------------------- opening */

/* One word for all that two ends must have in common. */
static uint32_t kind_of(const struct fi_info *info)
{
    struct am_crc32c crc32c;
    const uint32_t numbers[] = {info->ep_attr->protocol,
                                info->ep_attr->protocol_version,
                                info->addr_format, OFI_WIRE_VERSION};
    const char *name = info->fabric_attr->prov_name;
    char host[64] = {0};
    struct stat space;
    uint32_t kind;
    FILE *file;

    am_crc32c_init(&crc32c);
    kind = am_crc32c_add(&crc32c, 0, numbers, sizeof(numbers));
    kind = am_crc32c_add(&crc32c, kind, name, strlen(name));
    if (!is_local(name)) {
        return kind;
    }
    file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(host, sizeof(host), file) == NULL) {
            host[0] = '\0';
        }
        fclose(file);
    }
    if (stat("/proc/self/ns/pid", &space) != 0) {
        memset(&space, 0, sizeof(space));
    }
    kind = am_crc32c_add(&crc32c, kind, &space.st_ino, sizeof(space.st_ino));
    return am_crc32c_add(&crc32c, kind, host, sizeof(host));
}

/* Register memory where the provider wants it for sending and receiving. */
static int memory_register(struct ofi_dev *dev, void *memory, size_t bytes,
                           uint64_t access, uint64_t key, struct fid_mr **mr_p,
                           void **desc_p)
{
    int failed;

    if ((dev->info->domain_attr->mr_mode & FI_MR_LOCAL) == 0) {
        return 0;
    }
    failed = fi_mr_reg(dev->domain, memory, bytes, access, 0, key, 0, mr_p,
                       NULL);
    if (failed == 0 &&
        (dev->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        failed = fi_mr_bind(*mr_p, &dev->ep->fid, 0);
        failed = failed != 0 ? failed : fi_mr_enable(*mr_p);
    }
    if (failed == 0) {
        *desc_p = fi_mr_desc(*mr_p);
    }
    return failed;
}

/* A receive buffer goes back when another packet might not fit. */
static int multi_set(struct ofi_dev *dev)
{
    size_t least_bytes = dev->config.packet_bytes;

    return !dev->multi ? 0
                       : fi_setopt(&dev->ep->fid, FI_OPT_ENDPOINT,
                                   FI_OPT_MIN_MULTI_RECV, &least_bytes,
                                   sizeof(least_bytes));
}

static int endpoint_open(struct ofi_dev *dev)
{
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    int failed = ofi_cq_open(dev);

    if (dev->info->domain_attr->av_type == FI_AV_MAP) {
        av.type = FI_AV_MAP;
    }
    if (failed == 0) {
        failed = fi_av_open(dev->domain, &av, &dev->av, NULL);
    }
    if (failed == 0) {
        failed = fi_endpoint(dev->domain, dev->info, &dev->ep, NULL);
    }
    if (failed == 0) {
        failed = fi_ep_bind(dev->ep, &dev->av->fid, 0);
    }
    if (failed == 0) {
        failed = fi_ep_bind(dev->ep, &dev->cq->fid, FI_TRANSMIT | FI_RECV);
    }
    /* shm's crashes when it is told so before (libfabric issue 10591), others
     * want it before */
    if (failed == 0 && !is_local(dev->info->fabric_attr->prov_name)) {
        failed = multi_set(dev);
    }
    if (failed == 0) {
        failed = fi_enable(dev->ep);
    }
    return failed == 0 && is_local(dev->info->fabric_attr->prov_name)
                   ? multi_set(dev)
                   : failed;
}

/* What the endpoint is called by others. */
static int name_take(struct ofi_dev *dev)
{
    uint8_t name[256];
    size_t bytes = sizeof(name);
    int failed = fi_getname(&dev->ep->fid, name, &bytes);

    if (failed == 0 && bytes > sizeof(dev->me.name)) {
        failed = -FI_ETOOSMALL;
    }
    if (failed == 0) {
        memcpy(dev->me.name, name, bytes);
        dev->me.name_bytes = (uint8_t)bytes;
        dev->me.kind = kind_of(dev->info);
    }
    return failed;
}

static int open_all(struct ofi_dev *dev, const char **what_p)
{
    int failed;

    *what_p = "open the fabric";
    failed = dev->lib.fabric(dev->info->fabric_attr, &dev->fabric, NULL);
    if (failed == 0) {
        *what_p = "open the domain";
        failed = fi_domain(dev->fabric, dev->info, &dev->domain, NULL);
    }
    if (failed == 0) {
        *what_p = "open an endpoint";
        failed = endpoint_open(dev);
    }
    if (failed == 0) {
        *what_p = "tell the endpoint's address";
        failed = name_take(dev);
    }
    if (failed == 0) {
        *what_p = "register memory";
        failed = memory_register(dev, dev->tx_memory,
                                 OFI_TX_COUNT * dev->config.packet_bytes,
                                 FI_SEND, 1, &dev->tx_mr, &dev->tx_desc);
    }
    if (failed == 0) {
        failed = memory_register(dev, dev->rx_memory,
                                 dev->rx_count * dev->rx_bytes, FI_RECV, 2,
                                 &dev->rx_mr, &dev->rx_desc);
    }
    return failed;
}

am_status_t ofi_fabric_open(struct ofi_dev *dev, char *error,
                            size_t error_bytes)
{
    const char *what;
    int failed = open_all(dev, &what);

    if (failed == 0) {
        return AM_OK;
    }
    snprintf(error, error_bytes, "ofi: the provider %s on %s cannot %s: %s",
             dev->info->fabric_attr->prov_name, dev->info->domain_attr->name,
             what, dev->lib.strerror(-failed));
    return AM_ERR_SYSTEM;
}

static void fid_close(void *fid)
{
    if (fid != NULL) {
        (void)fi_close((struct fid *)fid);
    }
}

void ofi_fabric_close(struct ofi_dev *dev)
{
    fid_close(dev->ep);
    fid_close(dev->tx_mr);
    fid_close(dev->rx_mr);
    fid_close(dev->av);
    fid_close(dev->cq);
    fid_close(dev->domain);
    fid_close(dev->fabric);
    if (dev->info != NULL) {
        dev->lib.freeinfo(dev->info);
    }
}
