/*
 * Distances of cores from the kernel's files, of a machine that is written for
 * the test: two nodes, each with two caches of two cores of two threads.
 */
#include "config.h"

#include "support/cm.h"

#include "dev/shm/shm_near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    CPUS = 16
};

static char root[] = "/tmp/am_shm_near_XXXXXX";

/* Make the folders of a path under root, and write the file. */
static void file_write(const char *path, const char *text)
{
    char whole[512];
    FILE *file;

    snprintf(whole, sizeof(whole), "%s/%s", root, path);
    for (char *at = strchr(whole + sizeof(root), '/'); at != NULL;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void cpu_write(int cpu)
{
    char path[256], text[32];
    const char *base = "devices/system/cpu";

    snprintf(path, sizeof(path), "%s/cpu%d/topology/thread_siblings", base,
             cpu);
    snprintf(text, sizeof(text), "%x\n", 3 << cpu / 2 * 2);
    file_write(path, text);
    snprintf(path, sizeof(path), "%s/cpu%d/cache/index0/shared_cpu_map", base,
             cpu);
    file_write(path, text);
    snprintf(path, sizeof(path), "%s/cpu%d/cache/index2/shared_cpu_map", base,
             cpu);
    file_write(path, text);
    snprintf(path, sizeof(path), "%s/cpu%d/cache/index0/size", base, cpu);
    file_write(path, "32K\n");
    snprintf(path, sizeof(path), "%s/cpu%d/cache/index2/size", base, cpu);
    file_write(path, "512K\n");
    snprintf(path, sizeof(path), "%s/cpu%d/cache/index3/size", base, cpu);
    file_write(path, "16384K\n");
    snprintf(path, sizeof(path), "%s/cpu%d/cache/index3/shared_cpu_map", base,
             cpu);
    snprintf(text, sizeof(text), "%x\n", 15 << cpu / 4 * 4);
    file_write(path, text);
    snprintf(path, sizeof(path), "%s/cpu%d/node%d/cpumap", base, cpu, cpu / 8);
    snprintf(text, sizeof(text), "00000000,%08x\n", 255 << cpu / 8 * 8);
    file_write(path, text);
}

static int setup(void **state)
{
    assert_non_null(mkdtemp(root));
    for (int cpu = 0; cpu < CPUS; cpu++) {
        cpu_write(cpu);
    }
    return 0;
}

static int teardown(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static am_distance_t between(unsigned cpu, uint64_t mine, uint64_t theirs)
{
    const uint64_t a[SHM_CPU_WORDS] = {mine}, b[SHM_CPU_WORDS] = {theirs};
    struct shm_near near;

    shm_near_read(root, cpu, &near);
    return shm_near_distance(&near, a, b);
}

/* Each pair of CPUs, against what the machine was built as. */
static void test_pairs(void **state)
{
    for (unsigned a = 0; a < CPUS; a++) {
        for (unsigned b = 0; b < CPUS; b++) {
            am_distance_t wanted = a / 2 == b / 2   ? AM_DISTANCE_CORE
                                   : a / 4 == b / 4 ? AM_DISTANCE_CACHE
                                   : a / 8 == b / 8 ? AM_DISTANCE_NODE
                                                    : AM_DISTANCE_FAR;

            assert_int_equal(between(a, UINT64_C(1) << a, UINT64_C(1) << b),
                             wanted);
        }
    }
}

/* Ranks that may run in several places are as far as these are. */
static void test_sets(void **state)
{
    assert_int_equal(between(0, 0x000f, 0x000f), AM_DISTANCE_CACHE);
    assert_int_equal(between(0, 0x0003, 0x000c), AM_DISTANCE_CACHE);
    assert_int_equal(between(0, 0x00ff, 0x00ff), AM_DISTANCE_NODE);
    assert_int_equal(between(0, 0x0001, 0x00ff), AM_DISTANCE_NODE);
    assert_int_equal(between(0, 0xffff, 0xffff), AM_DISTANCE_FAR);
    assert_int_equal(between(8, 0xff00, 0xff00), AM_DISTANCE_NODE);
}

/* The cache of a core, not the one that is shared; a size that is none. */
static void test_core_cache(void **state)
{
    const char *size = "devices/system/cpu/cpu0/cache/index2/size";

    assert_int_equal(shm_near_core_cache(root), 512 * 1024);
    file_write(size, "large\n");
    assert_int_equal(shm_near_core_cache(root), 32 * 1024);
    file_write(size, "512K\n");
    assert_int_equal(shm_near_core_cache("/nowhere"), 0);
}

/* A CPU that has no files, as in some containers; one that no word has. */
static void test_unknown(void **state)
{
    const uint64_t high[SHM_CPU_WORDS] = {0, 0, 0, UINT64_MAX};
    struct shm_near near;

    assert_int_equal(between(99, 1, 2), AM_DISTANCE_CACHE);
    shm_near_read(root, 0, &near);
    assert_int_equal(shm_near_distance(&near, high, high), AM_DISTANCE_FAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_pairs),
            cmocka_unit_test(test_sets),
            cmocka_unit_test(test_unknown),
            cmocka_unit_test(test_core_cache),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
