/*
 * Very many peers of one context, over udp: each is heard, and the memory that an idle
 * one keeps is small.  Four processes are 256 peers each.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"

#include <am.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    H_HELLO = AM_HANDLER_USER,
    PROCESSES = 4,
    EACH = 256,
    PEER_BYTES = 16 << 10, /* so many resident for a peer at most */
    OPEN_POLLS = 50,
    REST_US = 20000
};

static uint32_t heard;

static void on_hello(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    heard++;
}

static struct am_ctx *open_alone(void)
{
    const struct am_option options[] = {{"AM_DEVICES", "udp"}};
    struct am_params params = {
            .size = 1, .options = options, .option_count = 1};
    struct am_ctx *ctx;

    if (am_open(&params, &ctx) != AM_OK) {
        return NULL;
    }
    am_handler_register(ctx, H_HELLO, on_hello, NULL, "hello");
    return ctx;
}

static size_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long all = 0, resident = 0;

    if (file != NULL) {
        if (fscanf(file, "%lu %lu", &all, &resident) != 2) {
            resident = 0;
        }
        fclose(file);
    }
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* The context that all connect to. */
static int be_hub(struct rank *me)
{
    struct am_ctx *ctx = open_alone();
    size_t before, after;

    if (ctx == NULL) {
        return 1;
    }
    (void)am_address(ctx, me->board->blobs[0]);
    before = resident_bytes();
    atomic_store(&me->board->flag[0], 1);
    while (heard < PROCESSES * EACH) {
        (void)am_ctx_poll_wait(ctx);
    }
    after = resident_bytes();
    atomic_store(&me->board->flag[1], 1);
    am_close(ctx);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (after > before && (after - before) / heard > PEER_BYTES) {
        fprintf(stderr, "%zu bytes for each peer\n", (after - before) / heard);
        return 2;
    }
#endif
    return 0;
}

static int be_peers(struct rank *me)
{
    static struct am_ctx *ctxs[EACH];
    unsigned char blob[AM_ADDRESS_BYTES];

    while (atomic_load(&me->board->flag[0]) == 0) {
        usleep(1000);
    }
    memcpy(blob, me->board->blobs[0], sizeof(blob));
    for (int i = 0; i < EACH; i++) {
        uint32_t peer;

        ctxs[i] = open_alone();
        if (ctxs[i] == NULL || am_connect(ctxs[i], blob, &peer) != AM_OK ||
            am_ctx_request(ctxs[i], peer, H_HELLO, NULL, 0, NULL, 0) != AM_OK) {
            return 3;
        }
        for (int polls = 0; polls < OPEN_POLLS; polls++) {
            (void)am_ctx_poll(ctxs[i]);
        }
    }
    while (atomic_load(&me->board->flag[1]) == 0) {
        for (int i = 0; i < EACH; i++) { /* what was lost is sent again */
            (void)am_ctx_poll(ctxs[i]);
        }
        usleep(REST_US);
    }
    return 0;
}

static int body(struct rank *me)
{
    return me->rank == 0 ? be_hub(me) : be_peers(me);
}

static void test_many(void **state)
{
    run_ranks(1 + PROCESSES, body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
