/*
 * Memory for payload that has no other place (unexpected, packed), and the
 * counted copies.  Buffers come in classes, four to each power of two, and go
 * back to a list of their class; those above the largest class go back to the
 * system.  How much is in use is bounded by the callers (msg_credit.h).
 */
#include "msg/proto_eager_inl.h"

#include <stdlib.h>

enum {
    CLASS_COUNT = 32,
    CLASS_UNIT = 64
};

/* Class c holds 64 * (4 + c % 4) / 4 * 2^(c / 4) bytes: 64, 80, 96, 112, 128,
 * ... 14336.  Returns CLASS_COUNT for more than the largest. */
static uint32_t class_of(size_t bytes, size_t *class_bytes)
{
    size_t at = CLASS_UNIT;

    for (uint32_t class = 0; class < CLASS_COUNT; class += 4, at *= 2) {
        if (bytes <= at + 3 * at / 4) {
            size_t step = at / 4;
            size_t steps = bytes <= at ? 0 : (bytes - at + step - 1) / step;

            *class_bytes = at + steps * step;
            return class + (uint32_t)steps;
        }
    }
    *class_bytes = bytes;
    return CLASS_COUNT;
}

static void count_use(struct am_msg *msg, size_t bytes)
{
    uint64_t *stats = msg->stats;

    stats[AM_MSG_UNEXP_BYTES_NOW] += bytes;
    if (stats[AM_MSG_UNEXP_BYTES_NOW] > stats[AM_MSG_UNEXP_BYTES_PEAK]) {
        stats[AM_MSG_UNEXP_BYTES_PEAK] = stats[AM_MSG_UNEXP_BYTES_NOW];
    }
}

void *am_msg_buffer_get(struct am_msg *msg, size_t bytes)
{
    size_t class_bytes;
    uint32_t class = class_of(bytes, &class_bytes);
    void *buffer;

    if (class < CLASS_COUNT && msg->buffer_free[class] != NULL) {
        buffer = msg->buffer_free[class];
        msg->buffer_free[class] = *(void **)buffer;
    } else {
        buffer = malloc(class_bytes);
    }
    if (buffer != NULL) {
        count_use(msg, bytes);
    }
    return buffer;
}

void am_msg_buffer_put(struct am_msg *msg, void *buffer, size_t bytes)
{
    size_t class_bytes;
    uint32_t class = class_of(bytes, &class_bytes);

    msg->stats[AM_MSG_UNEXP_BYTES_NOW] -= bytes;
    if (class == CLASS_COUNT) {
        free(buffer);
        return;
    }
    *(void **)buffer = msg->buffer_free[class];
    msg->buffer_free[class] = buffer;
}

void am_msg_buffer_fini(struct am_msg *msg)
{
    for (uint32_t class = 0; class < CLASS_COUNT; class ++) {
        void *buffer = msg->buffer_free[class];

        while (buffer != NULL) {
            void *next = *(void **)buffer;

            free(buffer);
            buffer = next;
        }
    }
}

void am_msg_charge_steps(struct am_msg *msg)
{
    uint64_t steps = msg->stats[AM_MSG_MATCH_STEPS];

    am_env_charge(msg->env, AM_COST_MATCH, steps - msg->steps_charged);
    msg->steps_charged = steps;
}

static void copy_in(struct am_msg *msg, const struct am_data *data,
                    size_t offset, const void *from, size_t bytes, bool near)
{
    if (offset >= data->bytes || bytes == 0) {
        return;
    }
    if (bytes > data->bytes - offset) {
        bytes = data->bytes - offset;
    }
    am_data_write(data, offset, from, bytes, near);
    msg->stats[AM_MSG_COPIES]++;
    msg->stats[AM_MSG_COPY_BYTES] += bytes;
    am_env_charge(msg->env, AM_COST_COPY, bytes);
}

void am_msg_copy_in(struct am_msg *msg, const struct am_data *data,
                    size_t offset, const void *from, size_t bytes)
{
    copy_in(msg, data, offset, from, bytes, false);
}

void am_msg_copy_long(const struct am_peer *peer, const struct am_data *data,
                      size_t offset, const void *from, size_t bytes)
{
    uint64_t start = am_peer_copy_start(peer, bytes);

    copy_in(am_msg_of(peer->ctx), data, offset, from, bytes, peer->ep->near);
    am_peer_copy_stop(peer, bytes, start);
}

static __attribute__((noinline)) void
copy_timed(const struct am_peer *peer, void *to, const void *from, size_t bytes)
{
    struct am_msg_peer *mp = peer->msg;
    uint64_t start = am_peer_copy_start(peer, bytes);

    am_copy_far(to, from, bytes, peer->ep->near);
    am_peer_copy_stop(peer, bytes, start);
    am_round_hear(&mp->trial, bytes, AM_BY_STREAM);
}

__attribute__((noinline)) void am_msg_copy_far(const struct am_peer *peer,
                                               void *to, const void *from,
                                               size_t bytes)
{
    if (am_unlikely(bytes >= AM_FASTER_BYTES)) { /* as many as are timed */
        copy_timed(peer, to, from, bytes);
    } else {
        am_copy_far(to, from, bytes, peer->ep->near);
    }
}

void am_msg_copy_out(struct am_msg *msg, const struct am_data *data,
                     size_t offset, void *to, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    am_data_read(data, offset, to, bytes);
    msg->stats[AM_MSG_COPIES]++;
    msg->stats[AM_MSG_COPY_BYTES] += bytes;
    am_env_charge(msg->env, AM_COST_COPY, bytes);
}
