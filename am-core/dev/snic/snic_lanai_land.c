/*
 * Remote copies, the receiver: memory that peers may write, the NI's TLB, data
 * whose page the NI does not know, and the notices for those who wait.
 *
 * Registering gives a region virtual pages and pins those whose TLB entries
 * are free: they come by DMA from the first packet on.  Others are entered at
 * their first miss.  Deregistering takes the region's entries out of the TLB,
 * unpins the pages and frees their numbers; a later copy there ends with
 * AM_ERR_INVALID, also when a new region has got the numbers: its generation is
 * another.
 */
#include "dev/snic/snic_lanai_copy.h"

#include <string.h>

/* ---------------------------------------------------------------------- TLB */

static void tlb_write(struct snic_dev *snic, uint32_t name, uint32_t frame)
{
    struct ns_port *port = snic->port;

    port->ops->pio_store(port, NS_LANAI_REG_TLB_PAGE, name, 4);
    port->ops->pio_store(port, NS_LANAI_REG_TLB_FRAME, frame, 4);
}

static struct lanai_entry *entry_of(struct snic_dev *snic, uint32_t page)
{
    return &lanai_copies_of(snic)->in[page % NS_LANAI_TLB_ENTRIES];
}

static bool is_entered(struct snic_dev *snic, uint32_t page)
{
    const struct lanai_entry *entry = entry_of(snic, page);

    return entry->frame != NS_LANAI_TLB_NONE && entry->page == page;
}

static void frame_unpin(struct snic_dev *snic, uint32_t frame)
{
    if (frame != NS_LANAI_TLB_NONE && frame >= NS_PIN_BASE) {
        snic->port->ops->unpin(snic->port, frame);
    }
}

/* Let the NI know the page from now on. */
static void entry_set(struct snic_dev *snic, uint32_t page,
                      const struct lanai_page *memory)
{
    struct lanai_entry *entry = entry_of(snic, page);
    struct lanai_entry old = *entry;
    uint32_t frame = memory->memory == NULL
                             ? memory->shared
                             : snic->port->ops->pin(snic->port, memory->memory);

    if (frame == NS_ADDRESS_NONE) {
        return;
    }
    *entry = (struct lanai_entry){.page = page, .frame = frame};
    tlb_write(snic, ns_lanai_page_name(page, memory->generation), frame);
    frame_unpin(snic, old.frame);
}

static void entry_clear(struct snic_dev *snic, uint32_t page)
{
    struct lanai_entry *entry = entry_of(snic, page);
    uint32_t frame = entry->frame;

    if (is_entered(snic, page)) {
        entry->frame = NS_LANAI_TLB_NONE;
        tlb_write(snic, page, NS_LANAI_TLB_NONE);
        frame_unpin(snic, frame);
    }
}

/* ------------------------------------------------------------------ regions */

static size_t page_count(size_t skip, size_t bytes)
{
    return (skip + bytes) / NS_LANAI_PAGE_BYTES + 1;
}

static void key_make(struct am_dev_key *key, const struct lanai_pages *pages,
                     uint32_t first, size_t skip, size_t bytes)
{
    key->w[0] = (uint64_t)pages->generation << 32 |
                ((uint64_t)first * NS_LANAI_PAGE_BYTES + skip);
    key->w[1] = bytes;
    key->w[2] = snic_key_check(key);
}

am_status_t snic_lanai_register(struct snic_dev *snic, void *base, size_t bytes,
                                struct am_dev_key *key)
{
    struct lanai_copies *copies = lanai_copies_of(snic);
    uint8_t *start = lanai_page_start(base);
    size_t skip = (size_t)((uint8_t *)base - start);
    size_t count;
    uint32_t first;

    if (copies == NULL || base == NULL || bytes > SIZE_MAX / 2) {
        return AM_ERR_UNSUPPORTED;
    }
    count = page_count(skip, bytes);
    first = lanai_pages_get(&copies->pages, count);
    if (first == LANAI_PAGE_NONE) {
        return AM_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t page = first + (uint32_t)i;

        copies->pages.page[page] =
                (struct lanai_page){start + i * NS_LANAI_PAGE_BYTES,
                                    LANAI_PAGE_NONE, copies->pages.generation};
        if (entry_of(snic, page)->frame == NS_LANAI_TLB_NONE &&
            i < NS_LANAI_TLB_ENTRIES) {
            entry_set(snic, page, &copies->pages.page[page]);
        }
    }
    key_make(key, &copies->pages, first, skip, bytes);
    return AM_OK;
}

void snic_lanai_deregister(struct snic_dev *snic, const struct am_dev_key *key)
{
    struct lanai_copies *copies = lanai_copies_of(snic);
    uint32_t first = lanai_key_address(key) / NS_LANAI_PAGE_BYTES;
    size_t count =
            page_count(lanai_key_address(key) % NS_LANAI_PAGE_BYTES, key->w[1]);

    if (copies == NULL || !snic_key_reaches(key, 0, key->w[1]) ||
        lanai_page_at(&copies->pages, first, lanai_key_generation(key)) ==
                NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        entry_clear(snic, first + (uint32_t)i);
    }
    (void)lanai_pages_put(&copies->pages, first, count);
}

am_status_t snic_lanai_expose(struct am_dev *dev, uint32_t address,
                              size_t bytes, struct am_dev_key *key)
{
    struct lanai_copies *copies = lanai_copies_of(snic_of(dev));
    size_t count = page_count(0, bytes - 1);
    uint32_t first = copies == NULL ? LANAI_PAGE_NONE
                                    : lanai_pages_get(&copies->pages, count);

    if (first == LANAI_PAGE_NONE || address % NS_LANAI_PAGE_BYTES != 0) {
        return AM_ERR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < count; i++) {
        copies->pages.page[first + i] =
                (struct lanai_page){NULL, address + i * NS_LANAI_PAGE_BYTES,
                                    copies->pages.generation};
    }
    key_make(key, &copies->pages, first, 0, bytes);
    return AM_OK;
}

/* ------------------------------------------------------------ what comes in */

void lanai_notices_give(struct snic_dev *snic)
{
    struct lanai_copies *copies = lanai_copies_of(snic);

    while (copies->notice_count > 0 && lanai_room(snic, 0)) {
        struct lanai_notice notice = copies->notices[copies->notice_first];

        copies->notice_first = (copies->notice_first + 1) % copies->notice_max;
        copies->notice_count--;
        lanai_descriptor_tail(snic, 0, notice.number);
        lanai_descriptor(snic, notice.node, NS_LANAI_SEND_COPIED, 0, 0);
    }
}

/* Copy data from a buffer of the NI's to their address; false: it is in no
 * region. */
static bool data_land(struct snic_dev *snic, uint32_t buffer, uint32_t to,
                      uint32_t generation, uint32_t bytes)
{
    struct lanai_copies *copies = lanai_copies_of(snic);
    struct ns_port *port = snic->port;
    uint64_t data[SNIC_PACKET_BYTES / 8];
    uint32_t page = to / NS_LANAI_PAGE_BYTES, at = to % NS_LANAI_PAGE_BYTES;
    const struct lanai_page *memory =
            lanai_page_at(&copies->pages, page, generation);

    if (memory == NULL || bytes > NS_LANAI_PAGE_BYTES - at) {
        return false;
    }
    port->ops->load(port, buffer + NS_LANAI_HEADER_BYTES, data, bytes);
    if (memory->memory != NULL) {
        memcpy(memory->memory + at, data, bytes);
    } else {
        port->ops->store(port, memory->shared + at, data, bytes);
    }
    snic->stats[AM_DEV_STAT_COPY_BYTES] += bytes;
    if (!is_entered(snic, page) && (to | bytes) % 4 == 0) {
        entry_set(snic, page, memory);
    }
    return true;
}

void lanai_missed(struct snic_dev *snic, uint32_t buffer,
                  const struct ns_lanai_header *header)
{
    struct lanai_copies *copies = lanai_copies_of(snic);
    uint32_t to, number = header->user[1];
    uint16_t generation;
    bool good;

    if (copies == NULL || header->node >= snic->port->nodes) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return;
    }
    memcpy(&generation, header->user + 2, sizeof(generation));
    memcpy(&to, header->user + 4, sizeof(to));
    good = data_land(snic, buffer, to, generation, header->bytes);
    snic->stats[AM_DEV_STAT_RX_BAD] += !good;
    snic->port->ops->pio_store(snic->port, NS_LANAI_REG_COPIED, header->node,
                               4);
    if (number != 0 && copies->notice_count < copies->notice_max) {
        copies->notices[(copies->notice_first + copies->notice_count++) %
                        copies->notice_max] = (struct lanai_notice){
                header->node,
                number | (good ? 0 : (uint32_t)NS_LANAI_NOTICE_REFUSED)};
        lanai_notices_give(snic);
    }
}
