/*
 * What the ofi device puts on the wire: 24 bytes before each packet's header,
 * and its part of an address.  Numbers are in the machine's own byte order:
 * peers run the same build.
 *
 *   | to | from | conn, credits, flags, hdr_words | header | data |
 */
#ifndef AM_DEV_OFI_OFI_WIRE_H
#define AM_DEV_OFI_OFI_WIRE_H

#include "base/assert.h"

#include <stddef.h>
#include <stdint.h>

#define OFI_WIRE_VERSION 1
#define OFI_NAME_MAX     120 /* bytes of a provider's address */

enum {
    OFI_FLAG_REPLY = 1 << 0,  /* the class; else a request */
    OFI_FLAG_ANSWER = 1 << 1, /* from the end that was called (late peers) */
    /* What follows marks packets that the layer above does not see. */
    OFI_FLAG_PING = 1 << 2,   /* are you there? */
    OFI_FLAG_PONG = 1 << 3,   /* I am */
    OFI_FLAG_HELLO = 1 << 4,  /* the data is the address of who calls */
    OFI_FLAG_CREDIT = 1 << 5, /* for the sake of its credits */
    OFI_FLAG_BYE = 1 << 6,    /* the sender closes; nothing follows */
    OFI_FLAG_END = 1 << 7,
    OFI_FLAGS_CONTROL = OFI_FLAG_PING | OFI_FLAG_PONG | OFI_FLAG_HELLO |
                        OFI_FLAG_CREDIT | OFI_FLAG_BYE
};

struct ofi_hdr {
    uint64_t to;   /* the receiver's nonce, which others do not know */
    uint64_t from; /* the sender's */
    uint32_t conn; /* 0 between ranks of a job; else the caller's count */
    uint16_t credits; /* requests that the sender has taken since it last said */
    uint8_t flags;
    uint8_t hdr_words; /* of the layer above */
};

AM_STATIC_ASSERT(sizeof(struct ofi_hdr) == 24, "wire format");
AM_STATIC_ASSERT(offsetof(struct ofi_hdr, conn) == 16, "wire format");
AM_STATIC_ASSERT(offsetof(struct ofi_hdr, hdr_words) == 23, "wire format");

struct ofi_address {
    uint64_t nonce;
    /* Of the provider, its protocol and its form of addresses (for one that
     * stays on its host also of the host): contexts that differ in it cannot
     * talk. */
    uint32_t kind;
    uint32_t packet_bytes; /* largest that it takes */
    uint8_t version;
    uint8_t name_bytes;
    uint8_t name[OFI_NAME_MAX]; /* so many of them are sent */
};

#define OFI_ADDRESS_HEAD offsetof(struct ofi_address, name)

AM_STATIC_ASSERT(OFI_ADDRESS_HEAD == 18, "wire format");

#endif
