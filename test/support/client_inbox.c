/*
 * Clients that take what arrives into an inbox.
 */
#include "support/client_inbox.h"
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

void inbox_on_landed(void *arg, am_status_t status)
{
    struct inbox *inbox = arg;

    assert_int_equal(status, inbox->expected);
    inbox->landed++;
}

am_status_t inbox_on_receive(void *arg, struct am_recv *recv, uint32_t source,
                             const void *info, size_t info_bytes, size_t bytes,
                             struct am_data *landing, am_done_fn *done,
                             void **done_arg)
{
    struct inbox *inbox = arg;

    assert_true(info_bytes <= sizeof(inbox->info));
    if (info_bytes > 0) {
        memcpy(inbox->info, info, info_bytes);
    }
    if (info_bytes >= 4 && inbox->arrived < 4096) {
        memcpy(&inbox->order[inbox->arrived], info, 4);
    }
    inbox->info_bytes = info_bytes;
    inbox->bytes = bytes;
    inbox->arrived++;
    if (inbox->take && am_recv_payload(recv) != NULL) {
        memcpy(inbox->memory, am_recv_payload(recv), bytes);
        inbox->taken++;
        return AM_DONE;
    }
    if (inbox->refusal != AM_OK) {
        return inbox->refusal;
    }
    if (inbox->defer) {
        inbox->kept[inbox->kept_count++] = recv;
        return AM_ERR_AGAIN;
    }
    *landing = am_data_contig(inbox->memory, inbox->landing_bytes);
    *done = inbox_on_landed;
    *done_arg = inbox;
    return AM_OK;
}

void inboxes_open(struct world *world, struct inbox *inbox,
                  struct am_client **client, am_order_t order)
{
    for (uint32_t r = 0; r < world->size; r++) {
        memset(&inbox[r], 0, sizeof(inbox[r]));
        inbox[r].memory = calloc(1, SIZE_MAX_HERE);
        inbox[r].landing_bytes = SIZE_MAX_HERE;
        assert_int_equal(am_client_register(world->ctx[r], order,
                                            inbox_on_receive, &inbox[r],
                                            &client[r]),
                         AM_OK);
    }
}

void duo_open(struct duo *duo)
{
    /* no single copy, which would not ask the sender */
    static const struct am_option stream[] = {{"AM_SHM_CMA", "off"},
                                              {NULL, NULL}};
    const struct am_option *options[] = {stream, stream};

    duo->data = malloc(SIZE_MAX_HERE);
    duo->done = 0;
    world_open(&duo->world, 2, duo->streamed ? options : NULL);
    inboxes_open(&duo->world, duo->inbox, duo->client, AM_ORDERED);
}

void duo_close(struct duo *duo)
{
    world_close(&duo->world);
    free(duo->inbox[0].memory);
    free(duo->inbox[1].memory);
    free(duo->data);
}

void inbox_count_done(void *arg, am_status_t status)
{
    assert_int_equal(status, AM_OK);
    ++*(int *)arg;
}

void inbox_fill(unsigned char *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)(i * 13 + i / 251 + seed);
    }
}
