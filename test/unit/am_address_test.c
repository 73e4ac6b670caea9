/*
 * Address blobs: what a context writes, and what becomes of blobs that others
 * made: of another version, too long, with parts that do not add up.
 */
#include "config.h"

#include "support/cm.h"
#include "support/seed.h"

#include "am/ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES offsetof(struct am_blob, parts)

/* Append a part of `bytes` times the byte `fill`. */
static void part_add(struct am_blob *blob, uint8_t number, uint16_t bytes,
                     uint8_t fill)
{
    struct am_blob_part part = {.number = number, .bytes = bytes};
    uint8_t *at = (uint8_t *)blob + blob->bytes;

    memcpy(at, &part, sizeof(part));
    memset(at + sizeof(part), fill, bytes);
    blob->bytes += (uint16_t)(sizeof(part) + (bytes + 7u) / 8 * 8);
}

static struct am_blob blob_new(void)
{
    return (struct am_blob){.magic = AM_BLOB_MAGIC,
                            .version = AM_BLOB_VERSION,
                            .bytes = HEAD_BYTES,
                            .rank = 3,
                            .nonce = 4};
}

/* The part of a device of this number: `bytes` times `fill`, or none. */
static void assert_part(const struct am_blob *blob, uint32_t number,
                        size_t bytes, uint8_t fill)
{
    const struct am_dev_ops ops = {.number = number};
    const struct am_dev dev = {.bottom = &ops};
    struct am_blob_part found;
    const uint8_t *part = am_blob_part(blob, &dev, &found);

    assert_int_equal(found.bytes, bytes);
    if (bytes == 0) {
        assert_null(part);
        return;
    }
    assert_non_null(part);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(part[i], fill);
    }
}

static void test_parts(void **state)
{
    struct am_blob blob = blob_new(), read, *copy;

    part_add(&blob, AM_DEV_NUMBER_SHM, 32, 's');
    part_add(&blob, 99, 5, '?'); /* of a device that this build lacks */
    part_add(&blob, AM_DEV_NUMBER_SIM, 1, 'i');
    part_add(&blob, AM_DEV_NUMBER_OFI, 120, 'o');
    assert_int_equal(am_blob_read(&blob, blob.bytes, &read), AM_OK);
    assert_memory_equal(&read, &blob, sizeof(blob));
    assert_int_equal(am_address_bytes(&blob), blob.bytes);
    copy = am_blob_copy(&read);
    assert_non_null(copy);
    assert_part(copy, AM_DEV_NUMBER_SHM, 32, 's');
    assert_part(copy, AM_DEV_NUMBER_SIM, 1, 'i');
    assert_part(copy, AM_DEV_NUMBER_OFI, 120, 'o');
    assert_part(copy, AM_DEV_NUMBER_UDP, 0, 0);
    free(copy);
}

static void assert_refused(const struct am_blob *blob, size_t bytes)
{
    struct am_blob read;

    assert_int_equal(am_blob_read(blob, bytes, &read), AM_ERR_INVALID);
}

static void test_refused(void **state)
{
    struct am_blob blob = blob_new(), bad;
    struct am_blob_part part;

    part_add(&blob, AM_DEV_NUMBER_SHM, 20, 's');
    for (size_t bytes = 0; bytes < blob.bytes; bytes++) {
        assert_refused(&blob, bytes); /* cut off */
    }
    assert_refused(&blob, sizeof(blob) + 8);
    bad = blob;
    bad.magic++;
    assert_refused(&bad, sizeof(bad));
    assert_int_equal(am_address_bytes(&bad), 0);
    bad = blob;
    bad.version++;
    assert_refused(&bad, sizeof(bad));
    bad = blob;
    bad.bytes = HEAD_BYTES - 8;
    assert_refused(&bad, sizeof(bad));
    bad = blob;
    bad.bytes++; /* not whole words */
    assert_refused(&bad, sizeof(bad));
    bad = blob;
    bad.bytes += 4096;
    assert_refused(&bad, sizeof(bad));
    bad = blob; /* the part is longer than what is there */
    part = (struct am_blob_part){.number = AM_DEV_NUMBER_SHM, .bytes = 25};
    memcpy(bad.parts, &part, sizeof(part));
    assert_refused(&bad, sizeof(bad));
    part.bytes = UINT16_MAX;
    memcpy(bad.parts, &part, sizeof(part));
    assert_refused(&bad, sizeof(bad));
}

/* Whatever is changed in a blob, a part of one that is accepted lies in it. */
static void test_mutated(void **state)
{
    enum {
        ROUNDS = 200000
    };
    struct am_prng prng = test_prng("am_address_test");
    struct am_blob blob = blob_new();
    uint32_t accepted = 0;

    part_add(&blob, AM_DEV_NUMBER_SHM, 32, 's');
    part_add(&blob, AM_DEV_NUMBER_UDP, 28, 'u');
    for (int i = 0; i < ROUNDS; i++) {
        struct am_blob bad = blob, *read = malloc(sizeof(*read));
        struct am_blob *copy;

        assert_non_null(read);
        for (int flips = 0; flips < 3; flips++) {
            ((uint8_t *)&bad)[am_prng_below(&prng, blob.bytes)] ^=
                    (uint8_t)(1u << am_prng_below(&prng, 8));
        }
        if (am_blob_read(&bad, am_prng_below(&prng, sizeof(bad) + 1), read) ==
            AM_OK) {
            accepted++;
            copy = am_blob_copy(read); /* as long as it is, so that a
                                          sanitizer sees what is read past it */
            assert_non_null(copy);
            for (uint32_t number = 0; number < 8; number++) {
                const struct am_dev_ops ops = {.number = number};
                const struct am_dev dev = {.bottom = &ops};
                struct am_blob_part found;
                const uint8_t *part = am_blob_part(copy, &dev, &found);

                assert_true(part == NULL
                                    ? found.bytes == 0
                                    : part >= (uint8_t *)copy + HEAD_BYTES &&
                                              part + found.bytes <=
                                                      (uint8_t *)copy +
                                                              copy->bytes);
            }
            free(copy);
        }
        free(read);
    }
    assert_true(accepted > 0); /* flips in the nonce, in a device's bytes */
}

/* A context's own address has the devices that it opened, and the job's ranks
 * are refused by name when one of them is no address. */
static void test_of_a_context(void **state)
{
    struct am_option quiet = {"AM_LOG", "none"};
    struct am_params params = {
            .rank = 0, .size = 2, .options = &quiet, .option_count = 1};
    uint8_t room[2][AM_ADDRESS_BYTES];
    struct am_blob blob;
    struct am_blob_part part;
    struct am_ctx *ctx;

    assert_int_equal(am_open(&params, &ctx), AM_OK);
    assert_int_equal(am_address(ctx, room[0]), AM_OK);
    assert_int_equal(am_blob_read(room[0], sizeof(room[0]), &blob), AM_OK);
    assert_non_null(am_blob_part(&blob, ctx->devs[0], &part));
    for (size_t at = blob.bytes; at < sizeof(room[0]); at++) {
        assert_int_equal(room[0][at], 0);
    }
    memset(room[1], 0, sizeof(room[1]));
    assert_int_equal(am_connect_all(ctx, room), AM_ERR_INVALID);
    assert_non_null(strstr(am_error_text(ctx), "rank 1"));
    am_close(ctx);
}

static struct am_ctx *open_reliable(uint32_t rank, const char *reliability)
{
    struct am_option options[] = {{"AM_LOG", "none"},
                                  {"AM_DEVICES", "shm"},
                                  {"AM_RELIABILITY", reliability}};
    struct am_params params = {
            .rank = rank, .size = 2, .options = options, .option_count = 3};
    struct am_ctx *ctx;

    assert_int_equal(am_open(&params, &ctx), AM_OK);
    return ctx;
}

/* What one rank says of the other. */
static void assert_told(struct am_ctx *ctx, const void *addresses,
                        const char *mine, const char *other, uint32_t other_rank)
{
    char want[200];

    snprintf(want, sizeof(want),
             "AM_RELIABILITY and AM_FAULT have to be the same on all ranks: over "
             "shm it is %s here, on rank %u, and %s on rank %u",
             mine, 1 - other_rank, other, other_rank);
    assert_int_equal(am_connect_all(ctx, addresses), AM_ERR_CONFIG);
    assert_string_equal(am_error_text(ctx), want);
}

/* Ranks that do not make packets reliable in the same way would wait for each
 * other for ever: both are told, with both values. */
static void test_reliability_differs(void **state)
{
    static const char *const pairs[][4] = {{"nack", "timer", "nack", "timer"},
                                           {"auto", "nack", "none", "nack"},
                                           {"timer", "none", "timer", "none"}};

    for (int i = 0; i < 3; i++) {
        struct am_ctx *ctx[2];
        _Alignas(struct am_blob) uint8_t room[2][AM_ADDRESS_BYTES];
        uint32_t peer;

        for (uint32_t rank = 0; rank < 2; rank++) {
            ctx[rank] = open_reliable(rank, pairs[i][rank]);
            assert_int_equal(am_address(ctx[rank], room[rank]), AM_OK);
        }
        assert_told(ctx[0], room, pairs[i][2], pairs[i][3], 1);
        assert_told(ctx[1], room, pairs[i][3], pairs[i][2], 0);
        /* and who calls somebody outside the job */
        ((struct am_blob *)room[1])->nonce++;
        assert_int_equal(am_connect(ctx[0], room[1], &peer), AM_ERR_CONFIG);
        assert_non_null(strstr(am_error_text(ctx[0]), "a process outside"));
        am_close(ctx[0]);
        am_close(ctx[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_parts),
            cmocka_unit_test(test_refused),
            cmocka_unit_test(test_mutated),
            cmocka_unit_test(test_of_a_context),
            cmocka_unit_test(test_reliability_differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
