/*
 * The id table of a context: entries in an array that doubles, free ones in a
 * list through it.  May call nothing.
 */
#include "msg/msg_id.h"

#include <stdlib.h>

#define IDS_MIN  64u
#define IDS_NONE UINT32_MAX

struct am_msg_id_entry {
    struct am_msg_req *req; /* NULL: free */
    uint32_t generation;    /* never 0 */
    uint32_t next;
};

static am_status_t grow(struct am_msg *msg)
{
    uint32_t count = msg->id_count == 0 ? IDS_MIN : 2 * msg->id_count;
    struct am_msg_id_entry *ids =
            count < msg->id_count ? NULL
                                  : realloc(msg->ids, count * sizeof(*ids));

    if (ids == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t i = msg->id_count; i < count; i++) {
        ids[i] = (struct am_msg_id_entry){
                .generation = 1, .next = i + 1 < count ? i + 1 : IDS_NONE};
    }
    msg->ids = ids;
    msg->id_free = msg->id_count;
    msg->id_count = count;
    return AM_OK;
}

am_status_t am_msg_id_get(struct am_msg_req *req)
{
    struct am_msg *msg = req->msg;
    struct am_msg_id_entry *entry;
    uint32_t index;

    if (msg->id_count == 0 || msg->id_free == IDS_NONE) {
        am_status_t status = grow(msg);

        if (status != AM_OK) {
            return status;
        }
    }
    index = msg->id_free;
    entry = &msg->ids[index];
    msg->id_free = entry->next;
    entry->req = req;
    req->id = (uint64_t)entry->generation << 32 | index;
    return AM_OK;
}

struct am_msg_req *am_msg_id_find(struct am_msg_peer *mp, uint64_t id)
{
    struct am_msg *msg = mp->msg;
    uint32_t index = (uint32_t)id;
    struct am_msg_id_entry *entry;

    if (index < msg->id_count) {
        entry = &msg->ids[index];
        if (entry->req != NULL && entry->generation == id >> 32 &&
            entry->req->mp == mp) {
            return entry->req;
        }
    }
    msg->stats[AM_MSG_RX_BAD_ID]++;
    return NULL;
}

void am_msg_id_put(struct am_msg_req *req)
{
    struct am_msg *msg = req->msg;
    uint32_t index = (uint32_t)req->id;
    struct am_msg_id_entry *entry = &msg->ids[index];

    entry->req = NULL;
    entry->generation += entry->generation == UINT32_MAX ? 2 : 1;
    entry->next = msg->id_free;
    msg->id_free = index;
    req->id = 0;
}

void am_msg_id_fini(struct am_msg *msg)
{
    free(msg->ids);
}
