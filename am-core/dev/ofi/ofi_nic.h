/*
 * Which of several adapters: the rule, and how near one is to the CPUs that this
 * process may run on, by the kernel's files.  (hwloc reads the same files, and
 * all others with them, which takes tens of milliseconds.)
 */
#ifndef AM_DEV_OFI_OFI_NIC_H
#define AM_DEV_OFI_OFI_NIC_H

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OFI_NICS_MAX 32 /* looked at */

/* From the near to the far; what cannot be told is before what is surely far. */
typedef enum {
    OFI_NIC_NEAR,    /* to all CPUs of the process */
    OFI_NIC_PARTLY,  /* to some of them */
    OFI_NIC_UNKNOWN, /* no adapter of PCI, or a host that does not say */
    OFI_NIC_FAR
} ofi_nic_t;

struct ofi_pci {
    unsigned domain, bus, device, function;
};

/* Of `count` adapters that serve equally well, in libfabric's order, the one to
 * take: a nearest one, of which ranks take turns by their number. */
size_t ofi_nic_choose(const ofi_nic_t *distances, size_t count, uint32_t rank);

/* The last part of a path that is an address of PCI, such as 0000:3b:00.1. */
bool ofi_pci_parse(const char *path, struct ofi_pci *pci);

/* Of the adapter behind an interface of the kernel, in the sysfs at `root`
 * ("/sys"); false: there is none. */
bool ofi_pci_of_interface(const char *root, const char *name,
                          struct ofi_pci *pci);

/* How near is it to the CPUs in `bound`? */
ofi_nic_t ofi_nic_distance(const char *root, const struct ofi_pci *pci,
                           hwloc_const_bitmap_t bound);

/* The CPUs that this process may run on, to be freed; NULL: nobody knows. */
hwloc_bitmap_t ofi_nic_bound(void);

#endif
