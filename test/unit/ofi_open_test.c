/*
 * The ofi device opens though an earlier process left something behind: the
 * provider shm names an endpoint's file after the number of its process, and who
 * is killed leaves the file.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "support/cm.h"
#include "support/dev_pair.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 4096, /* of such a file: whose it is */
    FILES = 16
};

static const struct am_option shm[] = {{"AM_OFI_PROVIDER", "shm"},
                                       {"AM_OFI_DOMAIN", ""}};

/* The start of the file of an endpoint that this process has opened. */
static void head_take(struct ofi_dev *dev, uint8_t head[HEAD_BYTES])
{
    char path[OFI_NAME_MAX + 1] = "";
    const char *name = (const char *)dev->me.name;
    int fd;

    assert_memory_equal(name, OFI_SHM_PREFIX, strlen(OFI_SHM_PREFIX));
    snprintf(path, sizeof(path), "/%s", name + strlen(OFI_SHM_PREFIX));
    fd = shm_open(path, O_RDONLY, 0);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, head, HEAD_BYTES), HEAD_BYTES);
    close(fd);
}

static void file_name(char path[64], int i)
{
    snprintf(path, 64, "/%ld:%ld:%d", (long)getpid(), (long)getuid(), i);
}

static void file_leave(int i, const uint8_t head[HEAD_BYTES])
{
    char path[64];
    int fd;

    file_name(path, i);
    fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, head, HEAD_BYTES), HEAD_BYTES);
    close(fd);
}

static void test_number_used_again(void **state)
{
    static struct dev_node nodes[2];
    uint8_t head[HEAD_BYTES];
    char path[64];

    dev_pair_open(nodes, &am_ofi_ops, am_env_real(), shm, 2);
    head_take(ofi_dev_of(nodes[0].dev), head);
    dev_pair_close(nodes);
    for (int i = 0; i < FILES; i++) {
        file_leave(i, head);
    }
    dev_pair_open(nodes, &am_ofi_ops, am_env_real(), shm, 2);
    dev_pair_close(nodes);
    for (int i = 0; i < FILES; i++) {
        file_name(path, i);
        assert_int_equal(shm_unlink(path), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_number_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
