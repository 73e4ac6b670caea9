/*
 * The two ends of the model, which check what is delivered to them, and the form
 * in which their states are compared.
 */
#include "model/chan_model.h"

#include <stdlib.h>
#include <string.h>

struct mc mc;

void mc_fail(const char *what)
{
    if (mc.failure == NULL) {
        mc.failure = what;
    }
}

uint8_t mc_message_byte(uint32_t from, uint32_t number, uint32_t index)
{
    return (uint8_t)(1 + from * 100 + number * 10 + index);
}

static am_status_t mc_transmit(void *arg, uint32_t class,
                               struct am_chan_hdr *hdr, const void *data,
                               uint32_t data_bytes)
{
    struct packet *packet = &mc.now.net[mc.now.net_count];

    if (mc.now.net_count == mc.net_max) {
        return AM_ERR_AGAIN;
    }
    memset(packet, 0, sizeof(*packet));
    packet->hdr = *hdr;
    packet->to = arg == &mc.now.end[0];
    packet->class = (uint8_t) class;
    packet->data_bytes = (uint8_t)data_bytes;
    if (data_bytes > 0) {
        memcpy(packet->data, data, data_bytes);
    }
    mc.now.net_count++;
    return AM_OK;
}

static void mc_deliver(void *arg, uint32_t class, void *message,
                       uint32_t hdr_bytes, uint32_t message_bytes)
{
    struct end *end = arg;
    uint32_t from = end == &mc.now.end[0];
    uint8_t *bytes = message;

    if (end->got >= mc.now.end[from].sent) {
        mc_fail("delivered what was not sent");
        return;
    }
    if (message_bytes != mc.model->messages[from][end->got] ||
        class != mc.model->class || hdr_bytes != 1) {
        mc_fail("delivered with a wrong length");
        return;
    }
    for (uint32_t i = 0; i < message_bytes; i++) {
        if (bytes[i] != mc_message_byte(from, end->got, i)) {
            mc_fail("delivered out of order, twice, or spoilt");
        }
    }
    if (class == WINDOW_REQUEST && !end->ready) {
        mc_fail("delivered though not ready");
    }
    end->got++;
}

static bool mc_ready(void *arg)
{
    return ((struct end *)arg)->ready;
}

static void *mc_memory(void *arg, size_t bytes)
{
    return bytes <= MEMORY_BYTES ? ((struct end *)arg)->memory : NULL;
}

static void *mc_landing(void *arg, uint32_t class, uint32_t bytes)
{
    return bytes <= LANDING_BYTES ? ((struct end *)arg)->landing[class] : NULL;
}

static void *mc_early(void *arg, uint32_t class, size_t bytes)
{
    return class == mc.model->class && bytes <= EARLY_BYTES
                   ? ((struct end *)arg)->early
                   : NULL;
}

const struct am_window_ops mc_ops = {mc_transmit, mc_deliver, mc_ready,
                                     mc_memory,   mc_landing, mc_early};

/* ------------------------------------------------------------- equal states */

/* Drop what is never read again, so that equal futures are equal states. */
static void normalise_tx(struct am_window_tx *tx)
{
    struct am_window_chunk chunks[16];
    uint8_t slots[32] = {0};
    uint32_t entries = tx->chunk_mask + 1;

    tx->quiet_polls = tx->backoff = 0;
    tx->quiet_ps = 0;
    if (tx->chunks == NULL) {
        return;
    }
    memset(chunks, 0, sizeof(chunks));
    for (uint32_t i = tx->chunk_una; i != tx->chunk_next; i++) {
        const struct am_window_chunk *chunk = &tx->chunks[i & tx->chunk_mask];

        chunks[i & tx->chunk_mask] = *chunk;
        memcpy(slots + chunk->slot, tx->slots + chunk->slot, chunk->packets);
    }
    memcpy(tx->chunks, chunks, entries * sizeof(chunks[0]));
    memcpy(tx->slots, slots, tx->slot_count);
}

static void normalise_rx(struct am_window_rx *rx)
{
    if (rx->offset == 0) {
        rx->message_bytes = rx->hdr_bytes = 0;
    }
    if (!rx->gap) {
        rx->gap_seq = rx->gap_offset = 0;
    }
    if (rx->landing != NULL) {
        memset(rx->landing + rx->offset, 0, LANDING_BYTES - rx->offset);
    }
    rx->untold_ps = 0;
    if (rx->early != NULL) {
        for (uint32_t i = 0; i < rx->early->count; i++) {
            if (!rx->early->kept[i].used) {
                memset(window_early_data(rx->early, i), 0,
                       rx->early->data_stride);
            }
        }
    }
}

/* What a window has given back is all the same. */
static void normalise_memory(struct end *end)
{
    struct am_window *window = &end->window;

    if (window->tx[0].chunks == NULL) {
        memset(end->memory, 0, sizeof(end->memory));
    }
    for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
        if (window->rx[class].landing == NULL) {
            memset(end->landing[class], 0, LANDING_BYTES);
        }
    }
    if (window->rx[mc.model->class].early == NULL) {
        memset(end->early, 0, sizeof(end->early));
    }
}

static int packet_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct packet));
}

void mc_normalise(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct am_window *window = &mc.now.end[i].window;

        for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
            normalise_tx(&window->tx[class]);
            normalise_rx(&window->rx[class]);
        }
        normalise_memory(&mc.now.end[i]);
        window->hello_polls = window->hello_backoff = 0;
        window->hello_ps = 0;
    }
    qsort(mc.now.net, mc.now.net_count, sizeof(struct packet), packet_order);
    memset(&mc.now.net[mc.now.net_count], 0,
           (NET_MAX - mc.now.net_count) * sizeof(struct packet));
}
