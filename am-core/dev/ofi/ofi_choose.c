/*
 * The provider: which one is taken.
 *
 * libfabric lists what it has, the fastest first.  Taken is the first entry that
 * AM_OFI_PROVIDER and AM_OFI_DOMAIN allow, of those that keep the order of
 * messages if there is one; IPv4 goes before IPv6, and the loopback interface
 * comes last.  Of several adapters on its network the nearest is taken
 * (ofi_nic.h).  Unless it is named, a provider is left out that stays on its host
 * (shm) or is there for tests (sockets); one that makes datagrams reliable
 * by itself (rxd) is never taken: the device udp does that.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "dev/ofi/ofi_nic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API_VERSION FI_VERSION(1, 17)
#define SYSFS       "/sys"
/* What memory a provider may ask to be registered, and how. */
#define MR_MODE                                                         \
    (FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | \
     FI_MR_ENDPOINT)

bool ofi_provider_is_sound(const char *spec)
{
    return strstr(spec, "rxd") == NULL && strcmp(spec, "udp") != 0;
}

bool ofi_provider_is_local(const char *provider)
{
    return strncmp(provider, "shm", 3) == 0;
}

bool ofi_reads_are_wanted(const struct ofi_dev *dev)
{
    return dev->config.reads == OFI_READS_ON ||
           (dev->config.reads == OFI_READS_AUTO &&
            !ofi_provider_is_local(dev->info->fabric_attr->prov_name));
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
    return !ofi_provider_is_local(provider) && !is_sockets(provider) &&
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

/* Two ends that use them can talk, if there is a way. */
static bool is_of_kind(const struct fi_info *info, const struct fi_info *like)
{
    return strcmp(info->fabric_attr->prov_name, like->fabric_attr->prov_name) ==
                   0 &&
           info->addr_format == like->addr_format &&
           info->ep_attr->protocol == like->ep_attr->protocol;
}

static bool is_like(const struct fi_info *info, const struct fi_info *like)
{
    return like == NULL ||
           (is_of_kind(info, like) &&
            strcmp(info->domain_attr->name, like->domain_attr->name) == 0);
}

/* Entries like `first` on other adapters of the same network; the first is one.
 * Those on other networks may have no way to each other. */
static uint32_t nics_find(struct ofi_dev *dev, struct fi_info *first,
                          struct fi_info *nics[OFI_NICS_MAX])
{
    uint32_t count = 0;

    for (struct fi_info *at = first; at != NULL && count < OFI_NICS_MAX;
         at = at->next) {
        bool is_new =
                is_of_kind(at, first) &&
                strcmp(at->fabric_attr->name, first->fabric_attr->name) == 0 &&
                info_rank(dev, at) == info_rank(dev, first);

        for (uint32_t i = 0; i < count; i++) {
            is_new = is_new && strcmp(at->domain_attr->name,
                                      nics[i]->domain_attr->name) != 0;
        }
        if (is_new) {
            nics[count++] = at;
        }
    }
    return count;
}

/* libfabric's own word of where the adapter is, or, of an interface, sysfs'. */
static ofi_nic_t nic_distance(const struct fi_info *info,
                              hwloc_const_bitmap_t bound)
{
    struct ofi_pci pci;

    if (info->nic != NULL && info->nic->bus_attr != NULL &&
        info->nic->bus_attr->bus_type == FI_BUS_PCI) {
        const struct fi_pci_attr *at = &info->nic->bus_attr->attr.pci;

        pci = (struct ofi_pci){at->domain_id, at->bus_id, at->device_id,
                               at->function_id};
    } else if (!ofi_pci_of_interface(SYSFS, info->domain_attr->name, &pci)) {
        return OFI_NIC_UNKNOWN;
    }
    return ofi_nic_distance(SYSFS, &pci, bound);
}

/* Where there are several adapters, the one that is this rank's. */
static struct fi_info *nic_take(struct ofi_dev *dev, struct fi_info *first)
{
    struct fi_info *nics[OFI_NICS_MAX];
    ofi_nic_t distances[OFI_NICS_MAX];
    uint32_t count = nics_find(dev, first, nics);
    hwloc_bitmap_t bound = count > 1 ? ofi_nic_bound() : NULL;

    if (count <= 1) {
        return first;
    }
    for (uint32_t i = 0; i < count; i++) {
        distances[i] =
                bound == NULL ? OFI_NIC_UNKNOWN : nic_distance(nics[i], bound);
    }
    hwloc_bitmap_free(bound);
    return nics[ofi_nic_choose(distances, count, dev->rank)];
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
    /* of writes, those that can tell when they are there */
    if ((caps & FI_WRITE) != 0) {
        hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    }
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
        found = dev->lib.dupinfo(like == NULL ? nic_take(dev, found) : found);
    }
    if (list != NULL) {
        dev->lib.freeinfo(list);
    }
    dev->lib.freeinfo(hints);
    return found;
}

/* The same entry with what AM_OFI_READS and AM_OFI_WRITES ask for, as far as the
 * provider has it. */
static void rma_add(struct ofi_dev *dev, uint64_t order)
{
    const uint64_t reads = FI_READ | FI_REMOTE_READ;
    const uint64_t writes = FI_WRITE | FI_REMOTE_WRITE;
    const uint64_t wanted =
            (ofi_reads_are_wanted(dev) ? reads : 0) |
            (dev->config.writes ? writes : 0);
    const uint64_t tries[] = {wanted, wanted & reads};
    struct fi_info *also = NULL;

    for (int i = 0; i < 2 && also == NULL && tries[i] != 0; i++) {
        also = info_find(dev, FI_MSG | FI_RMA | tries[i], order, dev->info);
    }
    if (also != NULL) {
        dev->lib.freeinfo(dev->info);
        dev->info = also;
        also->tx_attr->op_flags = 0; /* not of all that is sent */
    }
}

am_status_t ofi_provider_choose(struct ofi_dev *dev, char *error,
                                size_t error_bytes)
{
    static const uint64_t orders[] = {FI_ORDER_SAS, 0};
    bool named = dev->config.provider[0] != '\0';
    bool on = dev->config.domain[0] != '\0';

    for (int i = 0; i < 2 && dev->info == NULL; i++) {
        dev->info = info_find(dev, FI_MSG, orders[i], NULL);
        if (dev->info != NULL &&
            !is_sockets(dev->info->fabric_attr->prov_name)) {
            rma_add(dev, orders[i]);
        }
    }
    if (dev->info != NULL) {
        return AM_OK;
    }
    snprintf(
            error, error_bytes,
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
