/*
 * Opening the provider that was chosen, its endpoint and what belongs to it.
 */
#include "config.h"

#include "base/crc32c.h"
#include "dev/ofi/ofi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    if (!ofi_provider_is_local(name)) {
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

/* The provider shm calls the file of an endpoint after its process's number, and
 * a process that was killed leaves its file: who gets that number later could not
 * open.  So the context's nonce stands behind the number. */
static int local_name_set(struct ofi_dev *dev)
{
    const char *number = dev->info->src_addr;
    char name[OFI_NAME_MAX];
    int length = snprintf(name, sizeof(name), "%s-%016" PRIx64,
                          number != NULL ? number : "", dev->nonce);

    if (length >= (int)sizeof(name) ||
        strncmp(name, OFI_SHM_PREFIX, strlen(OFI_SHM_PREFIX)) != 0) {
        return 0; /* a name of another form: as the provider likes it */
    }
    free(dev->info->src_addr);
    dev->info->src_addr = strdup(name);
    dev->info->src_addrlen = (size_t)length + 1;
    return dev->info->src_addr != NULL ? 0 : -FI_ENOMEM;
}

static int endpoint_open(struct ofi_dev *dev)
{
    bool local = ofi_provider_is_local(dev->info->fabric_attr->prov_name);
    struct fi_av_attr av = {.type = FI_AV_TABLE};
    int failed = ofi_cq_open(dev);

    if (dev->info->domain_attr->av_type == FI_AV_MAP) {
        av.type = FI_AV_MAP;
    }
    if (failed == 0) {
        failed = fi_av_open(dev->domain, &av, &dev->av, NULL);
    }
    if (failed == 0 && local) {
        failed = local_name_set(dev);
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
    if (failed == 0 && !local) {
        failed = multi_set(dev);
    }
    if (failed == 0) {
        failed = fi_enable(dev->ep);
    }
    return failed == 0 && local ? multi_set(dev) : failed;
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
