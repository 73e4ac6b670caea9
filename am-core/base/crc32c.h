/*
 * CRC32C (Castagnoli polynomial, as in iSCSI, RFC 3720), eight bytes at a time:
 * by the processor's instruction where there is one, else by tables.  These
 * belong to the caller, so nothing is global.
 */
#ifndef AM_BASE_CRC32C_H
#define AM_BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_crc32c {
    bool instruction; /* the processor has one */
    uint32_t table[8][256];
};

void am_crc32c_init(struct am_crc32c *crc32c);

/* Add `bytes` bytes at `data` to a checksum that starts as 0. */
uint32_t am_crc32c_add(const struct am_crc32c *crc32c, uint32_t crc,
                       const void *data, size_t bytes);

#endif
