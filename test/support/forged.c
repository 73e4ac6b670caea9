/*
 * A peer that forges: the contexts, and the packets.
 */
#include "support/forged.h"

#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

const struct am_option forged_tiny[] = {
        {"AM_SHM_CMA", "off"},   {"AM_SHM_SLOTS", "2"}, {"AM_SHM_RING", "8k"},
        {"AM_SHM_PACKET", "1k"}, {"AM_LOG", "none"},    {NULL, NULL}};

static void on_user(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct forged *scene = am_token_arg(token);

    scene->called++;
    scene->called_data = data;
}

void forged_open(struct forged *scene, const struct am_option *option)
{
    const struct am_option *options[] = {option, option, option};

    memset(scene, 0, sizeof(*scene));
    scene->memory = malloc(BYTES);
    scene->data = malloc(BYTES);
    memset(scene->memory, 0xee, BYTES);
    memset(scene->data, 0x11, BYTES);
    scene->local = am_data_contig(scene->data, BYTES);
    world_open(&scene->world, RANKS, option == NULL ? NULL : options);
    for (uint32_t i = 0; i < RANKS; i++) {
        am_handler_register(scene->world.ctx[i], H_USER, on_user, scene, "u");
    }
    assert_int_equal(am_region_register(scene->world.ctx[OWNER], scene->memory,
                                        BYTES, &scene->region),
                     AM_OK);
    am_region_key(scene->region, &scene->key);
    world_settle(&scene->world);
}

void forged_close(struct forged *scene)
{
    world_close(&scene->world);
    free(scene->memory);
    free(scene->data);
}

void forged_untouched(const struct forged *scene)
{
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(scene->memory[i], 0xee);
    }
}

void forged_send(struct forged *scene, uint32_t from, uint32_t to,
                 uint32_t handler, uint32_t aux, const uint64_t *words,
                 uint32_t word_count, const void *data, size_t bytes)
{
    struct am_ctx *ctx = scene->world.ctx[from];
    am_status_t status;
    struct am_peer *peer = am_peer_get(ctx, to, &status);

    assert_int_equal(peer->send(peer->ep, AM_DEV_REPLY,
                                am_hdr_bits(handler, aux, word_count), words,
                                data, bytes),
                     AM_OK);
    for (int i = 0; i < 20; i++) {
        (void)am_ctx_poll(scene->world.ctx[to]);
    }
}

uint64_t forged_handle(struct am_ctx *ctx, am_handle_kind_t kind)
{
    uint64_t found = 0;

    for (uint32_t i = 0; i < ctx->handle_count; i++) {
        if (ctx->handles[i].kind == kind) {
            assert_int_equal(found, 0);
            found = (uint64_t)ctx->handles[i].generation << 32 | i;
        }
    }
    assert_true(found != 0);
    return found;
}

bool forged_has(struct am_ctx *ctx, am_handle_kind_t kind)
{
    uint32_t i = 0;

    while (i < ctx->handle_count && ctx->handles[i].kind != kind) {
        i++;
    }
    return i < ctx->handle_count;
}

uint64_t forged_refused(struct forged *scene, uint32_t rank)
{
    static const char *const names[] = {"rx_bad_handle", "rx_bad_region",
                                        "rx_bad_packet", "rx_bad_handler",
                                        "msg_rx_bad_id", "msg_rx_bad_length"};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sum += world_counter(&scene->world, rank, names[i]);
    }
    return sum;
}
