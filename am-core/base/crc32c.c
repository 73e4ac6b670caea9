/*
 * CRC32C by slicing: table[k][b] is the checksum of byte b followed by k zero
 * bytes, so eight look-ups take in eight bytes.  Pure.
 */
#include "base/crc32c.h"

#include <string.h>

#ifdef __x86_64__
#include <nmmintrin.h>
#endif

#define CRC32C_POLYNOMIAL UINT32_C(0x82f63b78) /* bits reversed */

#ifdef __x86_64__
static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2") != 0;
}

__attribute__((target("sse4.2"))) static uint32_t
add_instruction(uint32_t crc, const uint8_t *at, size_t bytes)
{
    uint64_t wide = crc;

    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t word;

        memcpy(&word, at, sizeof(word));
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; bytes > 0; bytes--, at++) {
        crc = _mm_crc32_u8(crc, *at);
    }
    return crc;
}
#else
static bool has_instruction(void)
{
    return false;
}

static uint32_t add_instruction(uint32_t crc, const uint8_t *at, size_t bytes)
{
    (void)at;
    (void)bytes;
    return crc;
}
#endif

void am_crc32c_init(struct am_crc32c *crc32c)
{
    crc32c->instruction = has_instruction();
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc % 2 != 0 ? CRC32C_POLYNOMIAL : 0);
        }
        crc32c->table[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = crc32c->table[0][byte];

        for (int k = 1; k < 8; k++) {
            crc = crc >> 8 ^ crc32c->table[0][crc & 0xff];
            crc32c->table[k][byte] = crc;
        }
    }
}

static uint32_t load_le32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static uint32_t add_tables(const uint32_t (*table)[256], uint32_t crc,
                           const uint8_t *at, size_t bytes)
{
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint32_t low = load_le32(at) ^ crc;
        uint32_t high = load_le32(at + 4);

        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^
              table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^
              table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
              table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    for (; bytes > 0; bytes--, at++) {
        crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
    }
    return crc;
}

uint32_t am_crc32c_add(const struct am_crc32c *crc32c, uint32_t crc,
                       const void *data, size_t bytes)
{
    return crc32c->instruction ? ~add_instruction(~crc, data, bytes)
                               : ~add_tables(crc32c->table, ~crc, data, bytes);
}
