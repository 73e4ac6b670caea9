/*
 * Clients that take what arrives into an inbox, for tests of sends to clients.
 */
#ifndef AM_TEST_SUPPORT_CLIENT_INBOX_H
#define AM_TEST_SUPPORT_CLIENT_INBOX_H

#include "support/msg_world.h"

#include <am.h>

enum {
    SIZE_MAX_HERE = 200000
};

/* One client's receiving side: lands in `memory`, or keeps what arrives. */
struct inbox {
    unsigned char *memory;
    struct am_recv *kept[64];
    uint32_t kept_count, arrived, landed;
    size_t bytes;
    size_t landing_bytes; /* that the callback names */
    am_status_t expected; /* of what lands */
    unsigned char info[AM_INFO_BYTES_MAX];
    size_t info_bytes;
    uint32_t order[4096];
    bool defer;
    am_status_t refusal; /* what the callback answers, if not AM_OK */
    bool take;           /* use the payload in the callback where it is there */
    uint32_t taken;
};

/* Two contexts with a client and an inbox each, and what is sent. */
struct duo {
    struct world world;
    struct inbox inbox[2];
    struct am_client *client[2];
    unsigned char *data; /* SIZE_MAX_HERE */
    int done;
    bool streamed;
};

/* Register a client for each rank, with an inbox that is empty; its `memory` is
 * the caller's to free. */
void inboxes_open(struct world *world, struct inbox *inbox,
                  struct am_client **client, am_order_t order);

/* `streamed` is set before. */
void duo_open(struct duo *duo);
void duo_close(struct duo *duo);

/* What the clients call: for what arrives, and when it has landed. */
am_status_t inbox_on_receive(void *arg, struct am_recv *recv, uint32_t source,
                             const void *info, size_t info_bytes, size_t bytes,
                             struct am_data *landing, am_done_fn *done,
                             void **done_arg);
void inbox_on_landed(void *arg, am_status_t status);

/* The end of a send that must be good: it counts in its argument, an int. */
void inbox_count_done(void *arg, am_status_t status);
void inbox_fill(unsigned char *data, size_t bytes, unsigned seed);

#endif
