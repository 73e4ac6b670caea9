/*
 * The host's half of the TB2 adapter: FIFO entries in shared memory, flushed
 * by hand; lengths and pops written across the MicroChannel as rarely as
 * possible.
 *
 *   slot states   free -> filled, not rung -> rung -> (adapter clears) free
 *                 ^ tx_tail (known free before)    ^ bell      ^ tx_next
 *
 * The paper's words have 32 bits, and each byte costs host, bus and link: of a
 * message that is words only, those that fit 32 bits go as such.
 *
 * Facts from Chang et al. 1996, section 2.
 */
#include "dev/snic/snic.h"

#include "base/assert.h"
#include "nicsim_tb2.h"

#include <stdlib.h>
#include <string.h>

/* The driver's part of an entry's header. */
enum {
    USER_CLASS,
    USER_HDR_BYTES,
    USER_DATA_BYTES,
    USER_NARROW /* bit i: the last word but i has 4 bytes and not 8 */
};

enum {
    WORD = sizeof(uint64_t),
    NARROW = sizeof(uint32_t),
    NARROW_MAX = 8 /* words that may be narrow */
};

AM_STATIC_ASSERT(sizeof(struct ns_tb2_header) == NS_TB2_HEADER_BYTES,
                 "the adapter's header");

#define TB2_BODY_MAX (NS_TB2_ENTRY_BYTES - NS_TB2_HEADER_BYTES)

struct tb2 {
    const struct ns_tb2_facts *facts;
    uint32_t tx_base, rx_base;
    uint32_t tx_next;  /* slot to fill next */
    uint32_t tx_used;  /* slots not known to be free, before tx_next */
    uint32_t unrung;   /* of these, the last ones: length not written yet */
    uint8_t length[4]; /* theirs */
    uint32_t rx_next, rx_entries;
    uint32_t unpopped;
};

static uint32_t entry_of(uint32_t base, uint32_t index)
{
    return base + index * NS_TB2_ENTRY_BYTES;
}

/* ------------------------------------------------------------------ sending */

/* Write the lengths of all filled entries with one access. */
static void bell(struct snic_dev *snic)
{
    struct tb2 *tb2 = snic->nic_data;
    uint32_t entries = tb2->facts->send_entries;
    uint32_t value = 0;
    uint32_t first;

    if (tb2->unrung == 0) {
        return;
    }
    first = (tb2->tx_next + entries - tb2->unrung) % entries;
    for (uint32_t i = 0; i < tb2->unrung; i++) {
        value |= (uint32_t)tb2->length[i] << (8 * i);
    }
    snic->port->ops->pio_store(snic->port, NS_TB2_REG_LENGTH + first, value,
                               tb2->unrung);
    tb2->unrung = 0;
}

/* Look which of the oldest slots the adapter has cleared: one access tells of
 * up to four. */
static void reclaim(struct snic_dev *snic)
{
    struct tb2 *tb2 = snic->nic_data;
    uint32_t entries = tb2->facts->send_entries;
    uint32_t oldest = (tb2->tx_next + entries - tb2->tx_used) % entries;
    uint32_t count = 4 - oldest % 4;
    uint32_t rung = tb2->tx_used - tb2->unrung;
    uint32_t value;

    count = count < rung ? count : rung;
    if (count == 0) {
        return;
    }
    value = snic->port->ops->pio_load(snic->port, NS_TB2_REG_LENGTH + oldest,
                                      count);
    for (uint32_t i = 0; i < count && (value >> (8 * i) & 0xff) == 0; i++) {
        tb2->tx_used--;
    }
}

static bool tb2_room(struct snic_dev *snic, uint32_t spare)
{
    struct tb2 *tb2 = snic->nic_data;

    if (tb2->tx_used + spare < tb2->facts->send_entries) {
        return true;
    }
    bell(snic);
    reclaim(snic);
    return tb2->tx_used + spare < tb2->facts->send_entries;
}

/* Make those of the last words narrow that can be; the words' bytes then. */
static uint32_t words_pack(uint8_t *words, uint32_t bytes, uint8_t *narrow_p)
{
    uint32_t count = bytes / WORD, to = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = count - 1 - i;
        uint32_t width = WORD;
        uint64_t word;

        memcpy(&word, words + (size_t)i * WORD, WORD);
        if (left < NARROW_MAX && word <= UINT32_MAX) {
            const uint32_t narrow = (uint32_t)word;

            memcpy(words + to, &narrow, NARROW);
            *narrow_p |= (uint8_t)(1 << left);
            width = NARROW;
        } else {
            memcpy(words + to, &word, WORD);
        }
        to += width;
    }
    return to;
}

static void tb2_transmit(struct snic_dev *snic, struct snic_tx *tx)
{
    struct tb2 *tb2 = snic->nic_data;
    struct ns_port *port = snic->port;
    struct ns_tb2_header header = {
            .node = (uint16_t)tx->info.node,
            /* one route for a pair of nodes, so that packets stay in order */
            .route = (uint8_t)((port->node + tx->info.node) %
                               tb2->facts->routes),
            .user = {[USER_CLASS] = (uint8_t)tx->info.class,
                     [USER_HDR_BYTES] = (uint8_t)tx->info.hdr_bytes,
                     [USER_DATA_BYTES] = (uint8_t)tx->info.data_bytes},
    };
    uint8_t *image = tx->body - NS_TB2_HEADER_BYTES;
    uint32_t entry = entry_of(tb2->tx_base, tb2->tx_next);
    uint32_t bytes = NS_TB2_HEADER_BYTES + tx->info.hdr_bytes;
    uint32_t units;

    bytes += snic->base.words ? words_pack(tx->body + tx->info.hdr_bytes,
                                           tx->info.data_bytes,
                                           &header.user[USER_NARROW])
                              : tx->info.data_bytes;
    units = (bytes + NS_TB2_LENGTH_UNIT - 1) / NS_TB2_LENGTH_UNIT;
    memcpy(image, &header, sizeof(header));
    port->ops->charge(port, NS_WORK_SEND, 1);
    port->ops->store(port, entry, image, bytes);
    port->ops->flush(port, entry, bytes);
    port->ops->mark(port, NS_STAGE_BUILD);
    tb2->length[tb2->unrung++] = (uint8_t)units;
    tb2->tx_next = (tb2->tx_next + 1) % tb2->facts->send_entries;
    tb2->tx_used++;
    /* Only full packets wait for others; poll rings what is left. */
    if (bytes < NS_TB2_ENTRY_BYTES || tb2->unrung == tb2->facts->length_batch ||
        tb2->tx_next % 4 == 0) {
        bell(snic);
    }
}

/* ---------------------------------------------------------------- receiving */

static void tb2_begin(struct snic_dev *snic)
{
    bell(snic);
    snic->port->ops->charge(snic->port, NS_WORK_POLL, 1);
}

/* The head entry has been copied out: free it, tell the adapter sometimes. */
static void pop(struct snic_dev *snic, uint32_t entry)
{
    struct tb2 *tb2 = snic->nic_data;
    struct ns_port *port = snic->port;
    const uint8_t invalid = 0;

    port->ops->store(port, entry + offsetof(struct ns_tb2_header, valid),
                     &invalid, 1);
    port->ops->flush(port, entry, NS_TB2_ENTRY_BYTES);
    tb2->rx_next = (tb2->rx_next + 1) % tb2->rx_entries;
    if (++tb2->unpopped == tb2->facts->pop_batch) {
        port->ops->pio_store(port, NS_TB2_REG_RX_POP, tb2->unpopped, 4);
        tb2->unpopped = 0;
    }
}

/* The narrow words of `info`, as it came, become whole, the last one first. */
static void words_unpack(const struct snic_info *info, uint32_t narrow,
                         struct snic_rx *rx)
{
    uint8_t *words = rx->data;
    uint32_t from = rx->info.data_bytes;

    for (uint32_t to = info->data_bytes; to > 0;) {
        uint32_t width = (narrow & 1) != 0 ? NARROW : WORD;
        uint64_t word = 0;

        from -= width;
        to -= WORD;
        memcpy(&word, words + from, width);
        memcpy(words + to, &word, WORD);
        narrow >>= 1;
    }
    rx->info.data_bytes = info->data_bytes;
}

/* Copy a packet out; false, and counted, when it cannot be one. */
static bool packet_take(struct snic_dev *snic, uint32_t entry,
                        const struct ns_tb2_header *header, struct snic_rx *rx)
{
    const struct snic_info info = {
            .node = header->node,
            .class = header->user[USER_CLASS],
            .hdr_bytes = header->user[USER_HDR_BYTES],
            .data_bytes = header->user[USER_DATA_BYTES],
            .credits = 0, /* the window above has its own */
    };
    uint32_t narrow = header->user[USER_NARROW];
    struct snic_info sent = info;

    if (narrow != 0 && (info.data_bytes % WORD != 0 ||
                        narrow >> info.data_bytes / WORD != 0)) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return false;
    }
    sent.data_bytes -= (uint32_t)__builtin_popcount(narrow) * (WORD - NARROW);
    if (!snic_take(snic, &sent, entry + NS_TB2_HEADER_BYTES, rx)) {
        return false;
    }
    if (narrow != 0) {
        words_unpack(&info, narrow, rx);
    }
    return true;
}

static bool tb2_receive(struct snic_dev *snic, struct snic_rx *rx)
{
    struct tb2 *tb2 = snic->nic_data;
    struct ns_port *port = snic->port;
    struct ns_tb2_header header;
    bool taken = false;

    while (!taken) {
        uint32_t entry = entry_of(tb2->rx_base, tb2->rx_next);

        /* Not coherent: drop the line, so that memory is looked at. */
        port->ops->flush(port, entry, NS_TB2_HEADER_BYTES);
        port->ops->load(port, entry, &header, sizeof(header));
        if (header.valid == 0) {
            return false;
        }
        port->ops->mark(port, NS_STAGE_POLLED);
        taken = packet_take(snic, entry, &header, rx);
        pop(snic, entry);
    }
    port->ops->mark(port, NS_STAGE_COPIED);
    return true;
}

/* ------------------------------------------------------------------- set-up */

/* Hints for the choice of protocols, from the machine's own numbers. */
static void attr_set(struct am_dev_attr *attr, const struct ns_tb2_facts *facts)
{
    uint64_t byte_fs = UINT64_C(1000000000000000) / facts->bytes_per_second;

    *attr = (struct am_dev_attr){
            .caps = 0, /* packets are lost when the receive FIFO is full */
            .packet_bytes_max = TB2_BODY_MAX,
            .reply_bytes_max = TB2_BODY_MAX,
            .hdr_bytes_max = SNIC_HDR_BYTES,
            .depth = facts->receive_entries,
            .perf = {.send_overhead = {facts->send_ps, facts->copy_byte_fs},
                     .recv_overhead = {facts->receive_ps, facts->copy_byte_fs},
                     .wire = {facts->wire_ps, byte_fs},
                     .gap_ps = facts->packet_ps,
                     .gap_byte_fs = byte_fs},
    };
}

static am_status_t tb2_open(struct snic_dev *snic)
{
    struct tb2 *tb2 = calloc(1, sizeof(*tb2));
    struct ns_port *port = snic->port;

    if (tb2 == NULL) {
        return AM_ERR_MEMORY;
    }
    tb2->facts = port->facts;
    tb2->rx_entries = tb2->facts->receive_entries * port->nodes;
    tb2->tx_base = port->ops->alloc(
            port, (size_t)tb2->facts->send_entries * NS_TB2_ENTRY_BYTES,
            NS_TB2_ENTRY_BYTES);
    tb2->rx_base =
            port->ops->alloc(port, (size_t)tb2->rx_entries * NS_TB2_ENTRY_BYTES,
                             NS_TB2_ENTRY_BYTES);
    if (tb2->tx_base == NS_ADDRESS_NONE || tb2->rx_base == NS_ADDRESS_NONE) {
        free(tb2);
        return AM_ERR_MEMORY;
    }
    snic->nic_data = tb2;
    attr_set(&snic->base.attr, tb2->facts);
    port->ops->pio_store(port, NS_TB2_REG_TX_BASE, tb2->tx_base, 4);
    port->ops->pio_store(port, NS_TB2_REG_RX_BASE, tb2->rx_base, 4);
    port->ops->pio_store(port, NS_TB2_REG_RX_COUNT, tb2->rx_entries, 4);
    return AM_OK;
}

static void tb2_close(struct snic_dev *snic)
{
    struct tb2 *tb2 = snic->nic_data;
    struct ns_port *port = snic->port;

    bell(snic);
    while (tb2->tx_used > 0) {
        reclaim(snic);
    }
    port->ops->pio_store(port, NS_TB2_REG_RX_COUNT, 0, 4);
    while (port->ops->pio_load(port, NS_TB2_REG_BUSY, 4) != 0) {
    }
    port->ops->release(port);
    free(snic->nic_data);
}

const struct snic_nic snic_tb2 = {
        .name = "tb2",
        .open = tb2_open,
        .close = tb2_close,
        .room = tb2_room,
        .transmit = tb2_transmit,
        .begin = tb2_begin,
        .receive = tb2_receive,
};
