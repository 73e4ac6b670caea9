/*
 * CRC32C, by the processor's instruction if it has one, and by tables: the
 * published check value, and every length and alignment against the bit-by-bit
 * definition.
 */
#include "base/crc32c.h"
#include "support/cm.h"

#include <string.h>

static struct am_crc32c crc32c;

static uint32_t by_bits(const uint8_t *data, size_t bytes)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc % 2 != 0 ? UINT32_C(0x82f63b78) : 0);
        }
    }
    return ~crc;
}

/* RFC 3720, appendix B.4. */
static void test_published(void **state)
{
    uint8_t zeros[32] = {0}, ones[32];

    memset(ones, 0xff, sizeof(ones));
    assert_int_equal(am_crc32c_add(&crc32c, 0, "123456789", 9), 0xe3069283);
    assert_int_equal(am_crc32c_add(&crc32c, 0, zeros, 32), 0x8a9136aa);
    assert_int_equal(am_crc32c_add(&crc32c, 0, ones, 32), 0x62a8ab43);
    assert_int_equal(am_crc32c_add(&crc32c, 0, zeros, 0), 0);
}

static void test_lengths(void **state)
{
    uint8_t data[200];

    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(i * 37 + 11);
    }
    for (size_t from = 0; from < 9; from++) {
        for (size_t bytes = 0; from + bytes <= sizeof(data); bytes++) {
            assert_int_equal(am_crc32c_add(&crc32c, 0, data + from, bytes),
                             by_bits(data + from, bytes));
        }
    }
}

/* In pieces it is the same as in one. */
static void test_pieces(void **state)
{
    const char text[] = "in pieces it is the same as in one";
    size_t bytes = sizeof(text);
    uint32_t whole = am_crc32c_add(&crc32c, 0, text, bytes);

    for (size_t first = 0; first <= bytes; first++) {
        uint32_t crc = am_crc32c_add(&crc32c, 0, text, first);

        assert_int_equal(
                am_crc32c_add(&crc32c, crc, text + first, bytes - first),
                whole);
    }
}

int main(void)
{
    int failed = 0;
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_published),
            cmocka_unit_test(test_lengths),
            cmocka_unit_test(test_pieces),
    };

    am_crc32c_init(&crc32c);
    if (crc32c.instruction) {
        failed = cmocka_run_group_tests_name("instruction", tests, NULL, NULL);
        crc32c.instruction = false;
    }
    return failed + cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
