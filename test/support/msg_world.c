/*
 * See msg_world.h.
 */
#include "support/msg_world.h"

#include "am/ctx.h"
#include "base/env.h"

#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_POLLS = 2000,
    CONNECT_POLLS = 200000, /* a device may have to connect first */
    WAIT_POLLS = 3000000,
    GUARD = 0xee
};

#define SETTLE_PS UINT64_C(50000000000) /* 50 ms, where packets take their time */

/* ------------------------------------------------------------- contexts */

void world_open(struct world *world, uint32_t size,
                const struct am_option *const *options)
{
    char blobs[WORLD_MAX][AM_ADDRESS_BYTES];
    char error[512];

    memset(world, 0, sizeof(*world));
    assert_true(size <= WORLD_MAX);
    world->size = size;
    for (uint32_t i = 0; i < size; i++) {
        const struct am_option *list = options == NULL ? NULL : options[i];
        struct am_params params = {.rank = i,
                                   .size = size,
                                   .options = list,
                                   .env = world_env ? world_env() : NULL,
                                   .error = error,
                                   .error_bytes = sizeof(error)};

        while (list != NULL && list[params.option_count].name != NULL) {
            params.option_count++;
        }
        error[0] = '\0';
        if (am_open(&params, &world->ctx[i]) != AM_OK) {
            fail_msg("rank %u does not open: %s", i, error);
        }
        assert_int_equal(am_address(world->ctx[i], blobs[i]), AM_OK);
    }
    for (uint32_t i = 0; i < size; i++) {
        assert_int_equal(am_connect_all(world->ctx[i], blobs), AM_OK);
    }
}

void world_close(struct world *world)
{
    world_settle(world);
    for (uint32_t i = 0; i < world->size; i++) {
        am_close(world->ctx[i]);
    }
}

int world_poll(struct world *world)
{
    int events = 0;

    for (uint32_t i = 0; i < world->size; i++) {
        int n = am_ctx_poll(world->ctx[i]);

        assert_true(n >= 0);
        events += n;
    }
    return events;
}

void world_polls(struct world *world, int count)
{
    while (count-- > 0) {
        (void)world_poll(world);
    }
}

/* Has what was sent left all devices? */
static bool world_is_drained(const struct world *world)
{
    for (uint32_t i = 0; i < world->size; i++) {
        const struct am_ctx *ctx = world->ctx[i];

        for (uint32_t k = 0; k < ctx->dev_count; k++) {
            if (!ctx->devs[k]->ops->drained(ctx->devs[k])) {
                return false;
            }
        }
    }
    return true;
}

/* Is there a device whose packets take a time that polls do not tell? */
static bool world_is_wide(const struct world *world)
{
    const struct am_ctx *ctx = world->ctx[0];

    for (uint32_t k = 0; k < ctx->slot_count; k++) {
        if (strcmp(ctx->slots[k].ops->name, "ofi") == 0) {
            return true;
        }
    }
    return false;
}

/* Has nothing happened for so long that nothing is on its way? */
static bool world_is_quiet(const struct world *world, int idle,
                           uint64_t since_ps)
{
    if (idle < SETTLE_POLLS) {
        return false;
    }
    if (world_is_wide(world) &&
        am_env_now(am_env_real()) - since_ps < SETTLE_PS) {
        return false;
    }
    return idle >= CONNECT_POLLS || world_is_drained(world);
}

void world_settle(struct world *world)
{
    uint64_t since_ps = am_env_now(am_env_real());

    for (int idle = 0; !world_is_quiet(world, idle, since_ps); idle++) {
        if (world_poll(world) > 0) {
            idle = 0;
            since_ps = am_env_now(am_env_real());
        } else if (world_pass) {
            world_pass(); /* a device may be at work by itself */
        } else if (!world_env) {
            am_env_relax(am_env_real(), 0); /* the kernel may have packets */
        }
    }
}

void world_on_done(void *arg, am_status_t status)
{
    struct world_done *done = arg;

    done->count++;
    done->status = status;
}

void world_check_done(const struct world_done *done, am_status_t status)
{
    assert_int_equal(done->count, 1);
    assert_int_equal(done->status, status);
}

void world_wait_done(struct world *world, struct world_done *done)
{
    for (int i = 0; i < 10000000 && done->count == 0; i++) {
        world_poll(world);
    }
    assert_int_equal(done->count, 1);
}

uint64_t world_counter(struct world *world, uint32_t rank, const char *name)
{
    struct am_counter_info info;

    for (uint32_t i = 0; am_counter(world->ctx[rank], i, &info) == AM_OK; i++) {
        if (strcmp(info.name, name) == 0) {
            return info.value;
        }
    }
    fail_msg("no counter %s", name);
    return 0;
}

/* ---------------------------------------------------------------- shapes */

static unsigned char pattern(uint32_t seed, size_t at)
{
    return (unsigned char)(seed * 31 + at * 7 + (at >> 8) * 13 + (at >> 16));
}

/* Where byte `at` of the packed form lies. */
static size_t place(const struct shaped *shaped, size_t at)
{
    if (shaped->shape == SHAPE_PACK) {
        return at / 3 * 5 + at % 3; /* blocks of 3 with gaps of 2 */
    }
    if (shaped->shape == SHAPE_IOV) {
        for (uint32_t i = 0; i < shaped->data.iov_count; i++) {
            const struct iovec *piece = &shaped->iov[i];

            if (at < piece->iov_len) {
                return (size_t)((unsigned char *)piece->iov_base -
                                shaped->memory) +
                       at;
            }
            at -= piece->iov_len;
        }
        fail_msg("iov is too short");
    }
    return at;
}

static void blocks_pack(void *arg, size_t offset, void *to, size_t bytes)
{
    struct shaped *shaped = arg;
    unsigned char *out = to;

    for (size_t i = 0; i < bytes; i++) {
        out[i] = shaped->memory[place(shaped, offset + i)];
    }
}

static void blocks_unpack(void *arg, size_t offset, const void *from,
                          size_t bytes)
{
    struct shaped *shaped = arg;
    const unsigned char *in = from;

    for (size_t i = 0; i < bytes; i++) {
        shaped->memory[place(shaped, offset + i)] = in[i];
    }
}

/* Pieces of unequal length, one of them empty, gaps of 16 between them. */
static void iov_open(struct shaped *shaped, size_t bytes)
{
    size_t at = 0, left = bytes;

    for (int i = 0; i < 7; i++) {
        size_t length = i == 6 ? left : i == 3 ? 0 : left / (size_t)(7 - i) / 2;

        shaped->iov[i].iov_base = shaped->memory + at;
        shaped->iov[i].iov_len = length;
        at += length + 16;
        left -= length;
    }
    shaped->data = (struct am_data){.kind = AM_DATA_IOV,
                                    .iov_count = 7,
                                    .bytes = bytes,
                                    .u.iov = shaped->iov};
}

void shaped_open(struct shaped *shaped, int shape, size_t bytes)
{
    shaped->shape = shape;
    shaped->memory_bytes = bytes * 2 + 256;
    shaped->memory = malloc(shaped->memory_bytes);
    assert_non_null(shaped->memory);
    memset(shaped->memory, GUARD, shaped->memory_bytes);
    switch (shape) {
    case SHAPE_IOV:
        iov_open(shaped, bytes);
        break;
    case SHAPE_PACK:
        shaped->data = (struct am_data){.kind = AM_DATA_PACK,
                                        .bytes = bytes,
                                        .u.arg = shaped,
                                        .pack = blocks_pack,
                                        .unpack = blocks_unpack};
        break;
    default:
        shaped->data = am_data_contig(shaped->memory, bytes);
    }
}

void shaped_close(struct shaped *shaped)
{
    free(shaped->memory);
}

void shaped_fill(struct shaped *shaped, uint32_t seed)
{
    for (size_t i = 0; i < shaped->data.bytes; i++) {
        shaped->memory[place(shaped, i)] = pattern(seed, i);
    }
}

void shaped_check(const struct shaped *shaped, uint32_t seed, size_t bytes)
{
    unsigned char *expected = malloc(shaped->memory_bytes);

    assert_non_null(expected);
    memset(expected, GUARD, shaped->memory_bytes);
    for (size_t i = 0; i < bytes; i++) {
        expected[place(shaped, i)] = pattern(seed, i);
    }
    for (size_t i = 0; i < shaped->memory_bytes; i++) {
        if (shaped->memory[i] != expected[i]) {
            fail_msg("byte %zu of memory (message of %zu bytes, shape %d) is "
                     "%02x, not %02x",
                     i, bytes, shaped->shape, shaped->memory[i], expected[i]);
        }
    }
    free(expected);
}

/* ------------------------------------------------------------- operations */

void ended_done(void *arg, const struct am_msg_status *status)
{
    struct ended *ended = arg;

    ended->count++;
    ended->status = *status;
}

/* Every other call tries the short forms of the API first. */
static bool is_turn(void)
{
    static unsigned calls;

    return ++calls % 2 == 0;
}

void world_send(struct world *world, uint32_t from, uint32_t to,
                struct am_msg_envelope envelope, const struct am_data *data,
                unsigned flags, struct ended *ended)
{
    am_status_t status;

    *ended = (struct ended){0};
    if (flags == 0 && data->kind == AM_DATA_CONTIG && is_turn() &&
        am_msg_send_now(world->ctx[from], to,
                        am_msg_key(envelope.context, envelope.source),
                        envelope.tag, data->u.base, data->bytes)) {
        ended->count++;
        ended->status.status = AM_OK;
        return;
    }
    status = am_msg_isend(world->ctx[from], to, &envelope, data, flags,
                          ended_done, ended, &ended->req);
    if (status == AM_DONE) {
        ended->count++;
        ended->status.status = AM_OK;
    } else {
        assert_int_equal(status, AM_OK);
    }
}

void world_recv(struct world *world, uint32_t at,
                struct am_msg_envelope envelope, struct am_msg_mask mask,
                const struct am_data *data, struct ended *ended)
{
    am_status_t status;

    *ended = (struct ended){0};
    if ((mask.context & mask.source & mask.tag) == UINT32_MAX &&
        data->kind == AM_DATA_CONTIG && is_turn()) {
        ended->req = am_msg_post(
                world->ctx[at], am_msg_key(envelope.context, envelope.source),
                envelope.tag, data->u.base, data->bytes, ended_done, ended);
        if (ended->req != NULL) {
            return;
        }
    }
    status = am_msg_irecv(world->ctx[at], &envelope, &mask, data, ended_done,
                          ended, &ended->status, &ended->req);
    if (status == AM_DONE) {
        ended->count++;
    } else {
        assert_int_equal(status, AM_OK);
    }
}

void world_wait(struct world *world, struct ended *ended)
{
    for (int i = 0; ended->count == 0; i++) {
        if (i == WAIT_POLLS) {
            fail_msg("an operation does not end");
        }
        world_poll(world);
    }
    assert_int_equal(ended->count, 1);
}
