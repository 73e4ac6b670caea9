/*
 * Remote-memory copy (I-rcpy of the LCI paper): put without a copy by a host.
 * The sender names the destination by a virtual address; both hosts have a TLB
 * of pinned pages, and the NI has a copy of the receiver's.
 *
 *   sender   page in the TLB: the NI fetches it by DMA
 *            else: the piece goes to NI memory by PIO, and the page is pinned
 *   receiver page in the NI's TLB: DMA in place
 *            else: a buffer; the host copies it, pins the page, tells the NI
 *
 * DMA moves whole words: what is not 4-byte aligned takes the way of a page
 * that is not known.  At the limit of transfers put answers AM_ERR_AGAIN.
 */
#include "dev/snic/snic_lanai_copy.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

AM_STATIC_ASSERT(LANAI_TRANSFERS_MAX <= UINT8_MAX, "a number in 8 bits");

/* ------------------------------------------------------------------- frames */

/* May the entry be used for another page, its transfers being over? */
static bool entry_quiet(struct snic_dev *snic, const struct lanai_entry *entry)
{
    const struct lanai *lanai = snic->nic_data;

    return entry->frame == NS_LANAI_TLB_NONE ||
           (int32_t)(lanai->done - entry->used) >= 0;
}

static bool entry_is(const struct lanai_entry *entry, uint32_t page)
{
    return entry->frame != NS_LANAI_TLB_NONE && entry->page == page;
}

/* The number of a page; for one that is new, one that is not in the TLB. */
static uint32_t page_number(struct lanai_copies *copies, uint8_t *memory)
{
    uint32_t number = lanai_known_find(&copies->known, memory);

    if (number != LANAI_PAGE_NONE) {
        return number;
    }
    while (entry_is(&copies->out[copies->known.next % NS_LANAI_TLB_ENTRIES],
                    copies->known.next)) {
        lanai_known_skip(&copies->known);
    }
    return lanai_known_add(&copies->known, memory);
}

/* The frame that holds the page of `from`, and where in it; or
 * NS_LANAI_TLB_NONE: then the page has been pinned for the next time, unless
 * its entry is in use. */
static uint32_t out_frame(struct snic_dev *snic, uint8_t *from)
{
    struct lanai_copies *copies = lanai_copies_of(snic);
    struct ns_port *port = snic->port;
    uint8_t *memory = lanai_page_start(from);
    uint32_t page = page_number(copies, memory);
    struct lanai_entry *entry = &copies->out[page % NS_LANAI_TLB_ENTRIES];

    port->ops->charge(port, NS_WORK_TLB, 1);
    if (entry_is(entry, page)) {
        entry->used = ((struct lanai *)snic->nic_data)->sent + 1;
        return entry->frame + (uint32_t)(from - memory);
    }
    if (entry_quiet(snic, entry)) {
        if (entry->frame != NS_LANAI_TLB_NONE) {
            port->ops->unpin(port, entry->frame);
        }
        *entry = (struct lanai_entry){page, port->ops->pin(port, memory), 0};
    }
    return NS_LANAI_TLB_NONE;
}

/* ------------------------------------------------------------------ sending */

/* What one packet takes of the rest: within a page on both sides. */
static uint32_t piece_bytes(const struct lanai *lanai, const uint8_t *from,
                            uint32_t to, size_t left)
{
    size_t bytes = lanai->facts->mtu_bytes - NS_LANAI_HEADER_BYTES;
    size_t here = NS_LANAI_PAGE_BYTES - (uintptr_t)from % NS_LANAI_PAGE_BYTES;
    size_t there = NS_LANAI_PAGE_BYTES - to % NS_LANAI_PAGE_BYTES;

    bytes = bytes < here ? bytes : here;
    bytes = bytes < there ? bytes : there;
    return (uint32_t)(bytes < left ? bytes : left);
}

void lanai_descriptor_tail(struct snic_dev *snic, uint32_t to, uint32_t notice)
{
    const struct lanai *lanai = snic->nic_data;
    struct ns_port *port = snic->port;
    uint32_t at = lanai->sent % lanai->facts->send_slots * NS_LANAI_DESC_BYTES;

    port->ops->pio_store(port, at + NS_LANAI_DESC_REMOTE, to, 4);
    port->ops->pio_store(port, at + NS_LANAI_DESC_NOTICE, notice, 4);
}

/* So many bytes of the transfer are under way; true: all. */
static bool transfer_step(struct lanai_transfer *transfer, uint32_t bytes)
{
    transfer->to += bytes;
    transfer->sent += bytes;
    if (transfer->sent == transfer->local[transfer->piece].iov_len) {
        transfer->piece++;
        transfer->sent = 0;
    }
    return transfer->piece == transfer->piece_count;
}

/* The next packet of a transfer; there is room for it.  True: the last. */
static bool packet_send(struct snic_dev *snic, uint32_t index)
{
    struct lanai *lanai = snic->nic_data;
    struct lanai_transfer *transfer = &lanai_copies_of(snic)->transfers[index];
    struct ns_port *port = snic->port;
    const struct iovec *local = &transfer->local[transfer->piece];
    uint8_t *from = (uint8_t *)local->iov_base + transfer->sent;
    uint32_t to = transfer->to;
    uint32_t bytes =
            piece_bytes(lanai, from, to, local->iov_len - transfer->sent);
    uint32_t frame = ((uintptr_t)from | bytes) % 4 == 0 ? out_frame(snic, from)
                                                        : NS_LANAI_TLB_NONE;
    bool last = transfer_step(transfer, bytes);

    if (frame == NS_LANAI_TLB_NONE) {
        port->ops->pio_write(port, lanai_slot(lanai), from, bytes);
    }
    lanai_descriptor_tail(snic, to,
                          transfer->generation << 16 |
                                  (transfer->waits && last ? index + 1 : 0));
    port->ops->mark(port, NS_STAGE_BUILD);
    lanai_descriptor(snic, transfer->node,
                     frame == NS_LANAI_TLB_NONE ? NS_LANAI_SEND_COPY_SLOT
                                                : NS_LANAI_SEND_COPY,
                     bytes, frame);
    return last;
}

void lanai_copies_run(struct snic_dev *snic)
{
    struct lanai_copies *copies = lanai_copies_of(snic);

    lanai_notices_give(snic);
    while (copies->count > 0 && lanai_room(snic, 0)) {
        uint32_t index = copies->order[copies->first];

        if (packet_send(snic, index)) {
            copies->first = (copies->first + 1) % LANAI_TRANSFERS_MAX;
            copies->count--;
            copies->transfers[index].busy = copies->transfers[index].waits;
        }
    }
}

/* A transfer that is free, or LANAI_TRANSFERS_MAX. */
static uint32_t transfer_new(const struct lanai_copies *copies)
{
    uint32_t index = 0;

    while (index < LANAI_TRANSFERS_MAX && copies->transfers[index].busy) {
        index++;
    }
    return index;
}

/* Its local memory without what is empty; false: in too many pieces. */
static bool transfer_local(struct lanai_transfer *transfer,
                           const struct iovec *local, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (local[i].iov_len == 0) {
            continue;
        }
        if (transfer->piece_count == LANAI_PIECES_MAX) {
            return false;
        }
        transfer->local[transfer->piece_count++] = local[i];
    }
    return true;
}

am_status_t snic_lanai_put(struct snic_dev *snic, uint32_t node,
                           const struct iovec *local, uint32_t count,
                           const struct am_dev_key *key, size_t offset,
                           am_dev_done_fn done, void *arg)
{
    struct lanai_copies *copies = lanai_copies_of(snic);
    struct lanai_transfer transfer = {.node = node,
                                      .to = lanai_key_address(key) +
                                            (uint32_t)offset,
                                      .generation = lanai_key_generation(key),
                                      .busy = true,
                                      .waits = done != NULL,
                                      .done = done,
                                      .arg = arg};
    size_t bytes = 0;
    uint32_t index;

    if (copies == NULL || node == snic->port->node ||
        !transfer_local(&transfer, local, count)) {
        return AM_ERR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < transfer.piece_count; i++) {
        bytes += transfer.local[i].iov_len;
    }
    if (!snic_key_reaches(key, offset, bytes)) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_INVALID;
    }
    if (bytes == 0) {
        return AM_DONE;
    }
    index = transfer_new(copies);
    if (index == LANAI_TRANSFERS_MAX) {
        return AM_ERR_AGAIN;
    }
    snic->port->ops->charge(snic->port, NS_WORK_SEND, 1);
    copies->transfers[index] = transfer;
    copies->order[(copies->first + copies->count++) % LANAI_TRANSFERS_MAX] =
            index;
    snic->stats[AM_DEV_STAT_PUT]++;
    lanai_copies_run(snic);
    return AM_OK;
}

void lanai_copied(struct snic_dev *snic, const struct ns_lanai_header *header)
{
    struct lanai_copies *copies = lanai_copies_of(snic);
    struct lanai_transfer *transfer;
    uint32_t notice, number;

    memcpy(&notice, header->user + 4, sizeof(notice));
    number = notice & ~NS_LANAI_NOTICE_REFUSED;
    if (copies == NULL || number == 0 || number > LANAI_TRANSFERS_MAX ||
        !copies->transfers[number - 1].busy ||
        !copies->transfers[number - 1].waits) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return;
    }
    transfer = &copies->transfers[number - 1];
    transfer->busy = false;
    transfer->done(transfer->arg, (notice & NS_LANAI_NOTICE_REFUSED) != 0
                                          ? AM_ERR_INVALID
                                          : AM_OK);
}

/* ------------------------------------------------------------------- set-up */

struct lanai_copies *lanai_copies_new(uint32_t nodes)
{
    struct lanai_copies *copies = calloc(1, sizeof(*copies));

    if (copies == NULL) {
        return NULL;
    }
    /* No peer has more transfers that wait. */
    copies->notice_max = LANAI_TRANSFERS_MAX * nodes;
    copies->notices = calloc(copies->notice_max, sizeof(*copies->notices));
    if (copies->notices == NULL || lanai_pages_open(&copies->pages) != AM_OK) {
        lanai_copies_free(copies);
        return NULL;
    }
    for (uint32_t i = 0; i < NS_LANAI_TLB_ENTRIES; i++) {
        copies->out[i].frame = NS_LANAI_TLB_NONE;
        copies->in[i].frame = NS_LANAI_TLB_NONE;
    }
    return copies;
}

void lanai_copies_free(struct lanai_copies *copies)
{
    if (copies == NULL) {
        return;
    }
    lanai_pages_close(&copies->pages);
    free(copies->notices);
    free(copies);
}
