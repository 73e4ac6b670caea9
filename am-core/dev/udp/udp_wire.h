/*
 * What the udp device puts on the wire: 32 bytes before each packet's header,
 * and its part of an address.  Numbers are in the machine's own byte order:
 * peers run the same build.
 *
 *   | mac | number | from | conn, version, flags, hdr_bytes | header | data |
 *         '----------------- the mac is of all this ----------------------'
 */
#ifndef AM_DEV_UDP_UDP_WIRE_H
#define AM_DEV_UDP_UDP_WIRE_H

#include "base/assert.h"

#include <stddef.h>
#include <stdint.h>

#define UDP_WIRE_VERSION 1
#define UDP_KEY_BYTES    16

enum {
    UDP_FLAG_REPLY = 1 << 0,  /* the class; else a request */
    UDP_FLAG_ANSWER = 1 << 1, /* from the end that was called (late peers) */
    UDP_FLAG_PING = 1 << 2,   /* no packet: are you there? */
    UDP_FLAG_PONG = 1 << 3,   /* no packet: I am */
    UDP_FLAG_END = 1 << 4
};

struct udp_hdr {
    /* SipHash-2-4 of the rest under the connection's key; without
     * authentication the receiver's nonce, which others do not know. */
    uint64_t mac;
    uint64_t number; /* grows with each packet of a key */
    uint64_t from;   /* the sender's nonce */
    uint32_t conn;   /* 0 between ranks of a job; else the caller's count */
    uint8_t version;
    uint8_t flags;
    uint16_t hdr_bytes; /* of the layer above */
};

AM_STATIC_ASSERT(sizeof(struct udp_hdr) == 32, "wire format");
AM_STATIC_ASSERT(offsetof(struct udp_hdr, number) == 8, "wire format");
AM_STATIC_ASSERT(offsetof(struct udp_hdr, conn) == 24, "wire format");
AM_STATIC_ASSERT(offsetof(struct udp_hdr, hdr_bytes) == 30, "wire format");

enum {
    UDP_ADDRESS_AUTH = 1 << 0,   /* it wants a mac on each packet */
    UDP_ADDRESS_SHARED = 1 << 1, /* its key comes from AM_UDP_KEY */
};

struct udp_address {
    uint64_t nonce;
    /* The key of packets to this context; when it comes from AM_UDP_KEY, a
     * fingerprint of that, by which two jobs' keys are told apart. */
    uint8_t key[UDP_KEY_BYTES];
    uint32_t packet_bytes; /* largest that it sends */
    uint16_t port;         /* in network order */
    uint8_t version;       /* of IP: 4 or 6 */
    uint8_t flags;
    uint8_t ip[16]; /* the last 12 are not sent for version 4 */
};

AM_STATIC_ASSERT(sizeof(struct udp_address) == 48, "wire format");
AM_STATIC_ASSERT(offsetof(struct udp_address, ip) == 32, "wire format");

/* How much of it is sent: the name of an MPI port, in which it stands with
 * shm's, has little room. */
static inline size_t udp_address_bytes(uint8_t version)
{
    return offsetof(struct udp_address, ip) + (version == 4 ? 4 : 16);
}

#endif
