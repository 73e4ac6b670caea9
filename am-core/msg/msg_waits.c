/*
 * What a context waits for, as text: its sends and receives that are not
 * complete.  For whoever has to tell why a program does not go on.
 */
#include "msg/msg_waits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    WAITS_MAX = 4 /* are named; of more their number */
};

struct waits {
    char *text;
    size_t bytes, length;
    uint32_t count;
};

static __attribute__((format(printf, 2, 3))) void
waits_add(struct waits *waits, const char *format, ...)
{
    size_t left =
            waits->length < waits->bytes ? waits->bytes - waits->length : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(left > 0 ? waits->text + waits->length : NULL, left, format,
                  args);
    va_end(args);
    waits->length += n > 0 ? (size_t)n : 0;
}

/* NULL: it is not the program that waits for it. */
static const char *request_verb(const struct am_msg_req *req)
{
    switch (req->state) {
    case AM_REQ_POSTED:
    case AM_REQ_RECEIVING:
        return "receive";
    case AM_REQ_HELD:
    case AM_REQ_QUEUED:
    case AM_REQ_STREAM:
    case AM_REQ_WAIT:
    case AM_REQ_TRANSFER:
        return "send";
    case AM_REQ_FREE:
    case AM_REQ_UNEXPECTED:
    case AM_REQ_CLAIMED:
    case AM_REQ_DROPPED:
        break;
    }
    return NULL;
}

static void request_add(struct waits *waits, const struct am_msg_req *req)
{
    const struct am_match_node *node = &req->node;
    bool posted = req->state == AM_REQ_POSTED;

    if (req->state == AM_REQ_POSTED || req->state == AM_REQ_RECEIVING) {
        if (posted && (uint32_t)node->key_mask == 0) {
            waits_add(waits, " from any rank");
        } else {
            waits_add(waits, " from rank %" PRIu32, (uint32_t)node->key);
        }
    } else if (req->mp != NULL) {
        waits_add(waits, " of %zu bytes to rank %" PRIu32, req->data.bytes,
                  req->mp->peer->index);
    }
    if (posted && node->tag_mask == 0) {
        waits_add(waits, ", any tag");
    } else {
        waits_add(waits, ", tag %" PRIu32, node->tag & AM_MATCH_TAG_MASK);
    }
    waits_add(waits, ", context %" PRIu32, (uint32_t)(node->key >> 32));
}

static void on_request(void *arg, const struct am_msg_req *req)
{
    struct waits *waits = arg;
    const char *verb = request_verb(req);

    if (verb == NULL || waits->count++ >= WAITS_MAX) {
        return;
    }
    waits_add(waits, "%sa %s", waits->count > 1 ? "; " : "", verb);
    request_add(waits, req);
}

size_t am_msg_waits(struct am_msg *msg, char *text, size_t bytes)
{
    struct waits waits = {.text = text, .bytes = bytes};

    am_msg_req_each(msg, on_request, &waits);
    if (waits.count > WAITS_MAX) {
        waits_add(&waits, "; and %" PRIu32 " more", waits.count - WAITS_MAX);
    }
    return waits.length;
}
