/*
 * Clients: their sends, what arrives for them, and the words of both.
 */
#ifndef AM_AM_CLIENT_H
#define AM_AM_CLIENT_H

#include "am/ctx.h"

struct am_client {
    struct am_ctx *ctx;
    uint32_t id;
    am_order_t order;
    am_receive_fn receive;
    void *arg;
};

struct am_send {
    struct am_op op;
    struct am_client *client;
    struct am_data data;
    struct am_region region; /* long */
    uint64_t handle;
    am_done_fn done;
    void *arg;
    uint32_t info_bytes;
    char info[AM_INFO_BYTES_MAX];
};

struct am_recv {
    struct am_ctx *ctx;
    struct am_peer *peer;
    size_t bytes;
    bool is_long;
    bool deferred;
    const void *payload; /* short, inside the callback: in the packet */
    char *copy;          /* short and deferred: the payload */
    struct am_list link; /* on ctx->deferred, if there is a copy */
    struct am_key key;
    uint64_t sender; /* long: the sender's handle */
    struct am_bulk bulk;
    am_done_fn done;
    void *arg;
};

AM_STATIC_ASSERT(sizeof(struct am_send) <= AM_SEND_BYTES, "fits its pool");
AM_STATIC_ASSERT(sizeof(struct am_recv) <= AM_SEND_BYTES, "fits its pool");

enum {
    SEND_CLIENT,
    SEND_BYTES,
    SEND_WORDS
};

enum {
    RTS_CLIENT,
    RTS_BYTES,
    RTS_HANDLE,
    RTS_KEY,
    RTS_WORDS = RTS_KEY + 4
};

enum {
    FIN_HANDLE, /* the sender's */
    FIN_STATUS,
    FIN_WORDS
};

/* The send is over: free it, tell its owner. */
void am_send_end(struct am_send *send, am_status_t status);

#endif
