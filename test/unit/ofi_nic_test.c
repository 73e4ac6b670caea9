/*
 * Which of several adapters a rank takes, and how near one is: by a small sysfs of
 * the test's own, of a host with two NUMA nodes of four CPUs.
 */
#include "config.h"

#include "dev/ofi/ofi_nic.h"
#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void chosen(const ofi_nic_t *distances, size_t count,
                   const size_t expected[4])
{
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(ofi_nic_choose(distances, count, rank),
                         expected[rank]);
    }
}

static void test_choose(void **state)
{
    static const ofi_nic_t one[] = {OFI_NIC_FAR};
    static const ofi_nic_t near[] = {OFI_NIC_FAR, OFI_NIC_PARTLY, OFI_NIC_NEAR};
    static const ofi_nic_t two[] = {OFI_NIC_NEAR, OFI_NIC_FAR, OFI_NIC_NEAR};
    static const ofi_nic_t same[] = {OFI_NIC_UNKNOWN, OFI_NIC_UNKNOWN,
                                     OFI_NIC_UNKNOWN};
    static const ofi_nic_t far[] = {OFI_NIC_FAR, OFI_NIC_UNKNOWN};

    chosen(one, 1, (size_t[]){0, 0, 0, 0});
    chosen(near, 3, (size_t[]){2, 2, 2, 2});
    chosen(two, 3, (size_t[]){0, 2, 0, 2});
    chosen(same, 3, (size_t[]){0, 1, 2, 0});
    chosen(far, 2, (size_t[]){1, 1, 1, 1});
    assert_int_equal(ofi_nic_choose(same, 3, UINT32_MAX), 0);
}

static void parsed(const char *path, const char *expected)
{
    struct ofi_pci pci;
    char text[64] = "none";

    if (ofi_pci_parse(path, &pci)) {
        snprintf(text, sizeof(text), "%04x:%02x:%02x.%x", pci.domain, pci.bus,
                 pci.device, pci.function);
    }
    assert_string_equal(text, expected);
}

static void test_parse(void **state)
{
    parsed("0000:3b:00.1", "0000:3b:00.1");
    parsed("/sys/devices/pci0000:00/0000:00:03.0/virtio0", "0000:00:03.0");
    parsed("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0", "0000:01:00.0");
    parsed("/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0x",
           "0000:00:01.0");
    parsed("/sys/devices/virtual/net/lo", "none");
    parsed("", "none");
}

/* ---------------------------------------------------------------- a sysfs */

static char root[64];

static void make(const char *path, const char *text)
{
    char whole[256];
    FILE *file;

    snprintf(whole, sizeof(whole), "%s/%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL;
         at++) {
        *at = '\0';
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    if (text == NULL) {
        return;
    }
    file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_distance(void **state)
{
    static const struct {
        const char *bound;
        ofi_nic_t first, second;
    } cases[] = {
            {"0-3", OFI_NIC_NEAR, OFI_NIC_FAR},
            {"5", OFI_NIC_FAR, OFI_NIC_NEAR},
            {"3-4", OFI_NIC_PARTLY, OFI_NIC_PARTLY},
            {"0-7", OFI_NIC_PARTLY, OFI_NIC_PARTLY},
    };
    const struct ofi_pci first = {0, 1, 0, 0}, second = {0, 0x81, 0, 1};
    const struct ofi_pci none = {0, 2, 0, 0}, empty = {0, 3, 0, 0};
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();

    make("bus/pci/devices/0000:01:00.0/local_cpulist", "0-3\n");
    make("bus/pci/devices/0000:81:00.1/local_cpulist", "4-7\n");
    make("bus/pci/devices/0000:03:00.0/local_cpulist", "\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hwloc_bitmap_list_sscanf(bound, cases[i].bound);
        assert_int_equal(ofi_nic_distance(root, &first, bound), cases[i].first);
        assert_int_equal(ofi_nic_distance(root, &second, bound),
                         cases[i].second);
        assert_int_equal(ofi_nic_distance(root, &none, bound), OFI_NIC_UNKNOWN);
        assert_int_equal(ofi_nic_distance(root, &empty, bound),
                         OFI_NIC_UNKNOWN);
    }
    hwloc_bitmap_free(bound);
}

static void test_interface(void **state)
{
    struct ofi_pci pci;
    char link[128];

    make("devices/pci0000:80/0000:81:00.1/virtio3/driver", "");
    make("class/net/eth1/speed", "");
    make("class/net/lo/speed", "");
    snprintf(link, sizeof(link), "%s/class/net/eth1/device", root);
    assert_int_equal(
            symlink("../../../devices/pci0000:80/0000:81:00.1/virtio3", link),
            0);
    assert_true(ofi_pci_of_interface(root, "eth1", &pci));
    assert_int_equal(pci.bus, 0x81);
    assert_int_equal(pci.function, 1);
    assert_false(ofi_pci_of_interface(root, "lo", &pci));
    assert_false(ofi_pci_of_interface(root, "nosuch", &pci));
    assert_false(ofi_pci_of_interface(root, "", &pci));
    assert_false(ofi_pci_of_interface(root, "../net/eth1", &pci));
}

static void test_bound(void **state)
{
    hwloc_bitmap_t bound = ofi_nic_bound();

    assert_non_null(bound);
    assert_true(hwloc_bitmap_weight(bound) >= 1);
    hwloc_bitmap_free(bound);
}

static int setup(void **state)
{
    snprintf(root, sizeof(root), "/tmp/ofi_nic_XXXXXX");
    return mkdtemp(root) == NULL;
}

static int teardown(void **state)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r '%s'", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_choose),   cmocka_unit_test(test_parse),
            cmocka_unit_test(test_distance), cmocka_unit_test(test_interface),
            cmocka_unit_test(test_bound),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
