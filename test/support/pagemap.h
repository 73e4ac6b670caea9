/*
 * Which pages of this process are mapped, as /proc/self/pagemap tells it.
 */
#ifndef AM_TEST_SUPPORT_PAGEMAP_H
#define AM_TEST_SUPPORT_PAGEMAP_H

#include "dev/shm/shm_layout.h"
#include "support/cm.h"

#include <stdio.h>

/* The words of pagemap begin with this bit: the page is mapped. */
static inline uint32_t mapped_pages(const char *from, size_t bytes)
{
    FILE *file = fopen("/proc/self/pagemap", "rb");
    uint32_t count = 0;

    assert_non_null(file);
    for (size_t at = 0; at < bytes; at += SHM_PAGE) {
        uint64_t entry = 0;
        uintptr_t page = (uintptr_t)(from + at) / SHM_PAGE;

        assert_int_equal(fseek(file, (long)(page * sizeof(entry)), SEEK_SET),
                         0);
        assert_int_equal(fread(&entry, sizeof(entry), 1, file), 1);
        count += entry >> 63 != 0;
    }
    fclose(file);
    return count;
}

#endif
