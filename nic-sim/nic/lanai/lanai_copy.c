/*
 * Remote-memory copy (I-rcpy): data go straight to their virtual address.  The
 * NI has a TLB, which its host fills; a packet whose page is not there goes to
 * an ordinary buffer, from which the host copies it.  While the host has such a
 * packet of a sender, those that somebody waits for take the same way, so that
 * none is told of before all before it are in place.
 */
#include "nic/lanai/lanai.h"

#include <string.h>

void ns_lanai_tlb_write(struct ns_lanai *lanai, uint32_t frame)
{
    uint32_t index = lanai->tlb_written % NS_LANAI_TLB_ENTRIES;

    lanai->tlb_page[index] = lanai->tlb_written;
    lanai->tlb_frame[index] = frame;
}

/* Where the NI may put what a packet brings, or NS_LANAI_TLB_NONE.  DMA moves
 * whole words. */
static uint32_t translate(const struct ns_lanai *lanai,
                          const struct ns_lanai_wire *wire, uint32_t bytes)
{
    uint32_t address = wire->value;
    uint32_t page = address / NS_LANAI_PAGE_BYTES;
    uint32_t index = page % NS_LANAI_TLB_ENTRIES;

    return (address | bytes) % 4 == 0 &&
                           lanai->tlb_page[index] ==
                                   ns_lanai_page_name(page, wire->root) &&
                           lanai->tlb_frame[index] != NS_LANAI_TLB_NONE
                   ? lanai->tlb_frame[index] + address % NS_LANAI_PAGE_BYTES
                   : NS_LANAI_TLB_NONE;
}

/* Into a host buffer, behind a header that says where it belongs. */
static void miss(struct ns_lanai *lanai, struct ns_packet *packet,
                 const struct ns_lanai_wire *wire)
{
    struct ns_lanai_header header = {
            .bytes = (uint16_t)(packet->bytes - NS_LANAI_WIRE_BYTES),
            .user = {NS_LANAI_USER_MISS, wire->notice},
    };
    uint8_t *at = packet->data + NS_LANAI_WIRE_BYTES;

    memcpy(header.user + 2, &wire->root, sizeof(wire->root));
    memcpy(header.user + 4, &wire->value, sizeof(wire->value));
    memmove(at + sizeof(header), at, header.bytes);
    memcpy(at, &header, sizeof(header));
    packet->bytes += sizeof(header);
    ns_lanai_wire_of(packet)->type = NS_LANAI_DATA;
    lanai->peers[packet->source].misses++;
    lanai->stats[NS_LANAI_STAT_MISSES]++;
    ns_lanai_to_host(lanai, packet);
}

void ns_lanai_copy_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                           const struct ns_lanai_wire *wire)
{
    uint32_t to = translate(lanai, wire, packet->bytes - NS_LANAI_WIRE_BYTES);

    if (to == NS_LANAI_TLB_NONE ||
        (wire->notice != 0 && lanai->peers[packet->source].misses > 0)) {
        miss(lanai, packet, wire);
        return;
    }
    ns_lanai_job_queue(lanai, (struct ns_lanai_job){
                                      .packet = packet,
                                      .address = to,
                                      .in = true,
                              });
}

void ns_lanai_copied_send(struct ns_lanai *lanai, uint32_t to, uint32_t notice)
{
    ns_lanai_flow_send(
            lanai, ns_lanai_packet_new(lanai, to, NS_LANAI_COPIED, notice, 0));
}

void ns_lanai_copy_done(struct ns_lanai *lanai, struct ns_packet *packet)
{
    uint32_t notice = ns_lanai_wire_of(packet)->notice;

    if (notice != 0) {
        ns_lanai_copied_send(lanai, packet->source, notice);
    }
}
