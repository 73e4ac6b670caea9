/*
 * sysfs has a folder for each device of PCI, in which local_cpulist names the CPUs
 * of its NUMA node; an interface's `device` leads there.
 */
#define _GNU_SOURCE
#include "config.h"

#include "dev/ofi/ofi_nic.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t ofi_nic_choose(const ofi_nic_t *distances, size_t count, uint32_t rank)
{
    ofi_nic_t least = OFI_NIC_FAR;
    size_t nearest = 0, turn;

    for (size_t i = 0; i < count; i++) {
        if (distances[i] < least) {
            least = distances[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        nearest += distances[i] == least;
    }
    turn = nearest == 0 ? 0 : rank % nearest;
    for (size_t i = 0; i < count; i++) {
        if (distances[i] == least && turn-- == 0) {
            return i;
        }
    }
    return 0;
}

bool ofi_pci_parse(const char *path, struct ofi_pci *pci)
{
    bool found = false;

    while (path != NULL) {
        const char *part = *path == '/' ? path + 1 : path;
        struct ofi_pci at;
        int end = 0;

        if (sscanf(part, "%x:%x:%x.%1x%n", &at.domain, &at.bus, &at.device,
                   &at.function, &end) == 4 &&
            (part[end] == '\0' || part[end] == '/')) {
            *pci = at;
            found = true;
        }
        path = strchr(part, '/');
    }
    return found;
}

bool ofi_pci_of_interface(const char *root, const char *name,
                          struct ofi_pci *pci)
{
    char link[PATH_MAX], path[PATH_MAX];

    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL) {
        return false;
    }
    snprintf(link, sizeof(link), "%s/class/net/%s/device", root, name);
    return realpath(link, path) != NULL && ofi_pci_parse(path, pci);
}

ofi_nic_t ofi_nic_distance(const char *root, const struct ofi_pci *pci,
                           hwloc_const_bitmap_t bound)
{
    hwloc_bitmap_t local = hwloc_bitmap_alloc();
    char path[PATH_MAX], text[4096];
    ofi_nic_t distance = OFI_NIC_UNKNOWN;
    FILE *file;

    snprintf(path, sizeof(path),
             "%s/bus/pci/devices/%04x:%02x:%02x.%x/local_cpulist", root,
             pci->domain, pci->bus, pci->device, pci->function);
    file = fopen(path, "re");
    if (local != NULL && file != NULL &&
        fgets(text, sizeof(text), file) != NULL &&
        hwloc_bitmap_list_sscanf(local, text) == 0 &&
        !hwloc_bitmap_iszero(local)) {
        distance = hwloc_bitmap_isincluded(bound, local)   ? OFI_NIC_NEAR
                   : hwloc_bitmap_intersects(bound, local) ? OFI_NIC_PARTLY
                                                           : OFI_NIC_FAR;
    }
    if (file != NULL) {
        fclose(file);
    }
    hwloc_bitmap_free(local);
    return distance;
}

hwloc_bitmap_t ofi_nic_bound(void)
{
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    cpu_set_t set;

    if (bound == NULL || sched_getaffinity(0, sizeof(set), &set) != 0) {
        hwloc_bitmap_free(bound);
        return NULL;
    }
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            hwloc_bitmap_set(bound, cpu);
        }
    }
    return bound;
}
