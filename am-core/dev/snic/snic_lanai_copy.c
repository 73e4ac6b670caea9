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
 * At the limit of transfers put answers AM_ERR_AGAIN.
 */
#include "dev/snic/snic_lanai.h"
#include "dev/snic/snic_lanai_page.h"

#include <stdlib.h>
#include <string.h>

#define TRANSFERS_MAX 64
#define COPY_KEY      UINT64_C(0x72637079)

/* One put; between `first` and `next` of the ring. */
struct transfer {
    uint32_t node;
    uint8_t *from;
    uint32_t to;
    size_t bytes, sent;
    bool waits; /* for the notice that it is in place */
    am_dev_done_fn done;
    void *arg;
};

/* An entry of a TLB. */
struct entry {
    uint32_t page, frame; /* frame NS_LANAI_TLB_NONE: empty */
    uint32_t used;        /* sender: send slots used when it was used last */
};

struct notice {
    uint32_t node, number;
};

struct lanai_copies {
    struct lanai_pages pages;
    struct entry out[NS_LANAI_TLB_ENTRIES]; /* what is sent */
    struct entry in[NS_LANAI_TLB_ENTRIES];  /* as the NI has it */
    struct transfer transfers[TRANSFERS_MAX];
    uint32_t order[TRANSFERS_MAX]; /* ring of those not sent yet */
    uint32_t first, count;
    struct notice *notices; /* ring of those to be given */
    uint32_t notice_first, notice_count, notice_max;
};

static struct lanai_copies *copies_of(struct snic_dev *snic)
{
    return ((struct lanai *)snic->nic_data)->copies;
}

/* ------------------------------------------------------------------ sending */

static uint8_t *page_start(const void *at)
{
    return (uint8_t *)at - (uintptr_t)at % NS_LANAI_PAGE_BYTES;
}

/* May the entry be used for another page, its transfers being over? */
static bool entry_quiet(struct snic_dev *snic, const struct entry *entry)
{
    const struct lanai *lanai = snic->nic_data;

    return entry->frame == NS_LANAI_TLB_NONE ||
           (int32_t)(lanai->done - entry->used) >= 0;
}

/* The frame that holds [from, from + bytes), or NS_LANAI_TLB_NONE: then the
 * page has been pinned for the next time, unless its entry is in use. */
static uint32_t out_frame(struct snic_dev *snic, uint8_t *from)
{
    struct lanai_copies *copies = copies_of(snic);
    struct ns_port *port = snic->port;
    uint8_t *memory = page_start(from);
    uint32_t page = lanai_page_number(&copies->pages, memory);
    struct entry *entry = &copies->out[page % NS_LANAI_TLB_ENTRIES];

    port->ops->charge(port, NS_WORK_TLB, 1);
    if (page == UINT32_MAX) {
        return NS_LANAI_TLB_NONE;
    }
    if (entry->frame != NS_LANAI_TLB_NONE && entry->page == page) {
        entry->used = ((struct lanai *)snic->nic_data)->sent + 1;
        return entry->frame + (uint32_t)(from - memory);
    }
    if (entry_quiet(snic, entry)) {
        if (entry->frame != NS_LANAI_TLB_NONE) {
            port->ops->unpin(port, entry->frame);
        }
        *entry = (struct entry){page, port->ops->pin(port, memory), 0};
    }
    return NS_LANAI_TLB_NONE;
}

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

static void descriptor_tail(struct snic_dev *snic, uint32_t to, uint32_t notice)
{
    const struct lanai *lanai = snic->nic_data;
    struct ns_port *port = snic->port;
    uint32_t at = lanai->sent % lanai->facts->send_slots * NS_LANAI_DESC_BYTES;

    port->ops->pio_store(port, at + NS_LANAI_DESC_REMOTE, to, 4);
    port->ops->pio_store(port, at + NS_LANAI_DESC_NOTICE, notice, 4);
}

/* The next piece of a transfer; there is room for it. */
static void piece_send(struct snic_dev *snic, uint32_t index)
{
    struct lanai *lanai = snic->nic_data;
    struct transfer *transfer = &copies_of(snic)->transfers[index];
    struct ns_port *port = snic->port;
    uint8_t *from = transfer->from + transfer->sent;
    uint32_t to = transfer->to + (uint32_t)transfer->sent;
    uint32_t bytes =
            piece_bytes(lanai, from, to, transfer->bytes - transfer->sent);
    uint32_t frame = out_frame(snic, from);

    transfer->sent += bytes;
    if (frame == NS_LANAI_TLB_NONE) {
        port->ops->pio_write(port, lanai_slot(lanai), from, bytes);
    }
    descriptor_tail(snic, to,
                    transfer->waits && transfer->sent == transfer->bytes
                            ? index + 1
                            : 0);
    port->ops->mark(port, NS_STAGE_BUILD);
    lanai_descriptor(snic, transfer->node,
                     frame == NS_LANAI_TLB_NONE ? NS_LANAI_SEND_COPY_SLOT
                                                : NS_LANAI_SEND_COPY,
                     bytes, frame);
}

static void notices_give(struct snic_dev *snic)
{
    struct lanai_copies *copies = copies_of(snic);

    while (copies->notice_count > 0 && lanai_room(snic, 0)) {
        struct notice notice = copies->notices[copies->notice_first];

        copies->notice_first = (copies->notice_first + 1) % copies->notice_max;
        copies->notice_count--;
        descriptor_tail(snic, 0, notice.number);
        lanai_descriptor(snic, notice.node, NS_LANAI_SEND_COPIED, 0, 0);
    }
}

/* All of a transfer has been sent. */
static void sent_all(struct lanai_copies *copies, uint32_t index)
{
    copies->first = (copies->first + 1) % TRANSFERS_MAX;
    copies->count--;
    if (!copies->transfers[index].waits) {
        copies->transfers[index].bytes = 0;
    }
}

void lanai_copies_run(struct snic_dev *snic)
{
    struct lanai_copies *copies = copies_of(snic);

    notices_give(snic);
    while (copies->count > 0 && lanai_room(snic, 0)) {
        uint32_t index = copies->order[copies->first];

        piece_send(snic, index);
        if (copies->transfers[index].sent == copies->transfers[index].bytes) {
            sent_all(copies, index);
        }
    }
}

/* A transfer that is free, or TRANSFERS_MAX. */
static uint32_t transfer_new(struct lanai_copies *copies)
{
    for (uint32_t i = 0; i < TRANSFERS_MAX; i++) {
        if (copies->transfers[i].bytes == 0) {
            return i;
        }
    }
    return TRANSFERS_MAX;
}

am_status_t snic_lanai_put(struct snic_dev *snic, uint32_t node,
                           const struct iovec *local, uint32_t count,
                           const struct am_dev_key *key, size_t offset,
                           am_dev_done_fn done, void *arg)
{
    struct lanai_copies *copies = copies_of(snic);
    size_t bytes = count == 1 ? local->iov_len : 0;
    uint32_t index;

    if (copies == NULL || count != 1 || bytes == 0 || key->w[2] != COPY_KEY) {
        return AM_ERR_UNSUPPORTED;
    }
    if (offset > key->w[1] || bytes > key->w[1] - offset) {
        return AM_ERR_INVALID;
    }
    if (((uintptr_t)local->iov_base | (key->w[0] + offset) | bytes) % 4 != 0) {
        return AM_ERR_UNSUPPORTED; /* DMA moves whole words */
    }
    index = transfer_new(copies);
    if (index == TRANSFERS_MAX) {
        return AM_ERR_AGAIN;
    }
    snic->port->ops->charge(snic->port, NS_WORK_SEND, 1);
    copies->transfers[index] = (struct transfer){
            .node = node,
            .from = local->iov_base,
            .to = (uint32_t)(key->w[0] + offset),
            .bytes = bytes,
            .waits = done != NULL,
            .done = done,
            .arg = arg,
    };
    copies->order[(copies->first + copies->count++) % TRANSFERS_MAX] = index;
    snic->stats[AM_DEV_STAT_PUT]++;
    lanai_copies_run(snic);
    return AM_OK;
}

/* ---------------------------------------------------------------- receiving */

am_status_t snic_lanai_register(struct snic_dev *snic, void *base, size_t bytes,
                                struct am_dev_key *key)
{
    struct lanai_copies *copies = copies_of(snic);
    uint8_t *page = page_start(base);
    size_t skip = (size_t)((uint8_t *)base - page);
    size_t count = (skip + bytes) / NS_LANAI_PAGE_BYTES + 1;
    uint32_t first;

    if (copies == NULL || base == NULL || bytes > SIZE_MAX / 2) {
        return AM_ERR_UNSUPPORTED;
    }
    first = lanai_pages_new(&copies->pages, count);
    if (first == UINT32_MAX) {
        return AM_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        copies->pages.page[first + i] =
                (struct lanai_page){.memory = page + i * NS_LANAI_PAGE_BYTES};
    }
    key->w[0] = (uint64_t)first * NS_LANAI_PAGE_BYTES + skip;
    key->w[1] = bytes;
    key->w[2] = COPY_KEY;
    return AM_OK;
}

am_status_t snic_lanai_expose(struct am_dev *dev, uint32_t address,
                              size_t bytes, struct am_dev_key *key)
{
    struct lanai_copies *copies = copies_of(snic_of(dev));
    size_t count = (bytes + NS_LANAI_PAGE_BYTES - 1) / NS_LANAI_PAGE_BYTES;
    uint32_t first = copies == NULL ? UINT32_MAX
                                    : lanai_pages_new(&copies->pages, count);

    if (first == UINT32_MAX || address % NS_LANAI_PAGE_BYTES != 0) {
        return AM_ERR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < count; i++) {
        copies->pages.page[first + i] = (struct lanai_page){
                .shared = address + i * NS_LANAI_PAGE_BYTES};
    }
    *key = (struct am_dev_key){
            {(uint64_t)first * NS_LANAI_PAGE_BYTES, bytes, COPY_KEY}};
    return AM_OK;
}

void lanai_copied(struct snic_dev *snic, const struct ns_lanai_header *header)
{
    struct lanai_copies *copies = copies_of(snic);
    struct transfer transfer;
    uint32_t number;

    memcpy(&number, header->user + 4, sizeof(number));
    if (copies == NULL || number == 0 || number > TRANSFERS_MAX ||
        !copies->transfers[number - 1].waits) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return;
    }
    transfer = copies->transfers[number - 1];
    copies->transfers[number - 1].bytes = 0;
    copies->transfers[number - 1].waits = false;
    transfer.done(transfer.arg, AM_OK);
}

/* Let the NI know the page from now on. */
static void in_enter(struct snic_dev *snic, uint32_t page)
{
    struct lanai_copies *copies = copies_of(snic);
    struct ns_port *port = snic->port;
    const struct lanai_page *memory = &copies->pages.page[page];
    struct entry *entry = &copies->in[page % NS_LANAI_TLB_ENTRIES];
    struct entry old = *entry;
    uint32_t frame = memory->memory == NULL
                             ? memory->shared
                             : port->ops->pin(port, memory->memory);

    if (frame == NS_ADDRESS_NONE) {
        return;
    }
    *entry = (struct entry){.page = page, .frame = frame};
    port->ops->pio_store(port, NS_LANAI_REG_TLB_PAGE, page, 4);
    port->ops->pio_store(port, NS_LANAI_REG_TLB_FRAME, frame, 4);
    if (old.frame != NS_LANAI_TLB_NONE && old.frame >= NS_PIN_BASE) {
        port->ops->unpin(port, old.frame);
    }
}

void lanai_missed(struct snic_dev *snic, uint32_t buffer,
                  const struct ns_lanai_header *header)
{
    struct lanai_copies *copies = copies_of(snic);
    struct ns_port *port = snic->port;
    uint64_t data[SNIC_PACKET_BYTES / 8];
    uint32_t to, page, at;
    uint16_t number;

    memcpy(&number, header->user + 2, sizeof(number));
    memcpy(&to, header->user + 4, sizeof(to));
    page = to / NS_LANAI_PAGE_BYTES;
    at = to % NS_LANAI_PAGE_BYTES;
    if (copies == NULL || page >= copies->pages.count ||
        header->bytes > NS_LANAI_PAGE_BYTES - at) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return;
    }
    port->ops->load(port, buffer + NS_LANAI_HEADER_BYTES, data, header->bytes);
    if (copies->pages.page[page].memory != NULL) {
        memcpy(copies->pages.page[page].memory + at, data, header->bytes);
    } else {
        port->ops->store(port, copies->pages.page[page].shared + at, data,
                         header->bytes);
    }
    snic->stats[AM_DEV_STAT_COPY_BYTES] += header->bytes;
    if (copies->in[page % NS_LANAI_TLB_ENTRIES].frame == NS_LANAI_TLB_NONE ||
        copies->in[page % NS_LANAI_TLB_ENTRIES].page != page) {
        in_enter(snic, page);
    }
    port->ops->pio_store(port, NS_LANAI_REG_COPIED, header->node, 4);
    if (number != 0 && copies->notice_count < copies->notice_max) {
        copies->notices[(copies->notice_first + copies->notice_count++) %
                        copies->notice_max] =
                (struct notice){header->node, number};
        notices_give(snic);
    }
}

/* ------------------------------------------------------------------- set-up */

struct lanai_copies *lanai_copies_new(uint32_t nodes)
{
    struct lanai_copies *copies = calloc(1, sizeof(*copies));

    if (copies == NULL) {
        return NULL;
    }
    /* No peer has more transfers that wait. */
    copies->notice_max = TRANSFERS_MAX * nodes;
    copies->notices = calloc(copies->notice_max, sizeof(*copies->notices));
    if (copies->notices == NULL) {
        free(copies);
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
    lanai_pages_fini(&copies->pages);
    free(copies->notices);
    free(copies);
}
