/*
 * What a context waits for, as text: its sends and receives that are not
 * complete.  For whoever has to tell why a program does not go on.
 */
#include "msg/msg_waits.h"

#include "base/text.h"

#include <inttypes.h>

enum {
    WAITS_MAX = 4 /* are named; of more their number */
};

struct waits {
    struct am_text text;
    uint32_t count;
};

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
            am_text_add(&waits->text, " from any rank");
        } else {
            am_text_add(&waits->text, " from rank %" PRIu32,
                        (uint32_t)node->key);
        }
    } else if (req->mp != NULL) {
        am_text_add(&waits->text, " of %zu bytes to rank %" PRIu32,
                    req->data.bytes, req->mp->peer->index);
    }
    if (posted && node->tag_mask == 0) {
        am_text_add(&waits->text, ", any tag");
    } else {
        am_text_add(&waits->text, ", tag %" PRIu32,
                    node->tag & AM_MATCH_TAG_MASK);
    }
    am_text_add(&waits->text, ", context %" PRIu32,
                (uint32_t)(node->key >> 32));
}

static void on_request(void *arg, const struct am_msg_req *req)
{
    struct waits *waits = arg;
    const char *verb = request_verb(req);

    if (verb == NULL || waits->count++ >= WAITS_MAX) {
        return;
    }
    am_text_add(&waits->text, "%sa %s", waits->count > 1 ? "; " : "", verb);
    request_add(waits, req);
}

size_t am_msg_waits(struct am_msg *msg, char *text, size_t bytes)
{
    struct waits waits = {.text = {.text = text, .bytes = bytes}};

    am_msg_req_each(msg, on_request, &waits);
    if (waits.count > WAITS_MAX) {
        am_text_add(&waits.text, "; and %" PRIu32 " more",
                    waits.count - WAITS_MAX);
    }
    return waits.text.length;
}
