/*
 * A job of several contexts in one process and thread, for tests of msg: open,
 * poll all in turn, check payloads of any shape.
 */
#ifndef AM_TEST_SUPPORT_MSG_WORLD_H
#define AM_TEST_SUPPORT_MSG_WORLD_H

#include <am_msg.h>
#include <stdbool.h>

enum {
    WORLD_MAX = 33
};

struct world {
    uint32_t size;
    struct am_ctx *ctx[WORLD_MAX];
};

/* The environment of the next context; a program that has none (all but the
 * tests on simulated hosts) leaves it out, and runs on the real machine. */
struct am_env *world_env(void) __attribute__((weak));
/* The same: let virtual time pass, as polls that find nothing hardly do. */
void world_pass(void) __attribute__((weak));

/* `options` is an array of lists, one for each rank, each ended by a NULL
 * name; NULL: none.  Fails the test when a context does not open. */
void world_open(struct world *world, uint32_t size,
                const struct am_option *const *options);
void world_close(struct world *world);
/* One poll of each context; the number of events. */
int world_poll(struct world *world);
void world_polls(struct world *world, int count);
/* Poll until nothing has happened for a while. */
void world_settle(struct world *world);

/* How often something has completed, and how: world_on_done is the am_done_fn, with
 * this as its argument. */
struct world_done {
    int count;
    am_status_t status;
};

void world_on_done(void *arg, am_status_t status);
/* The test fails unless it has, once, in this way. */
void world_check_done(const struct world_done *done, am_status_t status);
/* Poll until it has, once. */
void world_wait_done(struct world *world, struct world_done *done);

/* The value of a counter, by name. */
uint64_t world_counter(struct world *world, uint32_t rank, const char *name);

/* Shapes of data. */
enum {
    SHAPE_CONTIG,
    SHAPE_IOV,
    SHAPE_PACK,
    SHAPE_COUNT
};

/* A buffer with a shape over it: the message's bytes lie in `memory` with
 * gaps that must not change. */
struct shaped {
    struct am_data data;
    int shape;
    unsigned char *memory;
    size_t memory_bytes;
    struct iovec iov[8];
};

/* `bytes` of space, all of it 0xee. */
void shaped_open(struct shaped *shaped, int shape, size_t bytes);
void shaped_close(struct shaped *shaped);
/* Write, or check, the pattern of `seed` in the first `bytes` bytes; check
 * also that nothing else was touched. */
void shaped_fill(struct shaped *shaped, uint32_t seed);
void shaped_check(const struct shaped *shaped, uint32_t seed, size_t bytes);

/* An operation's end. */
struct ended {
    int count;
    struct am_msg_status status;
    struct am_msg_req *req;
};

void ended_done(void *arg, const struct am_msg_status *status);

/* Send and receive that note their end in `ended`, at once or later; now and
 * then by am_msg_send_now and am_msg_post. */
void world_send(struct world *world, uint32_t from, uint32_t to,
                struct am_msg_envelope envelope, const struct am_data *data,
                unsigned flags, struct ended *ended);
void world_recv(struct world *world, uint32_t at,
                struct am_msg_envelope envelope, struct am_msg_mask mask,
                const struct am_data *data, struct ended *ended);
/* Poll until it has ended; the test fails when it does not. */
void world_wait(struct world *world, struct ended *ended);

#define MASK_EXACT ((struct am_msg_mask){UINT32_MAX, UINT32_MAX, UINT32_MAX})

#endif
