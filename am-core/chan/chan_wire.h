/*
 * The channel's packets as they lie on the wire: 32 bytes of header, as on the
 * SP (Chang et al. 1996), then data.  Numbers are in the machine's own byte
 * order: peers run the same build.
 *
 * A chunk is one message of the layer above: 1 to chunk_packets packets that
 * all carry the sequence number of the first.  The window slides by the
 * packets of a chunk: the next chunk's number is larger by their count.
 *
 *   type     seq             offset           message_bytes    hdr_bytes
 *   DATA     chunk           bytes before     bytes of chunk   upper header's
 *   ACK      -               -                -                -
 *   NACK     packet missing  the next one in  (PROBE's seq)    PROBE's mark, or 0
 *   PROBE    all before sent -                -                its mark, or 0
 *   HELLO    sender's epoch  receiver's or 0  sender's largest wire version
 *   WELCOME  sender's epoch  receiver's       sender's largest wire version
 *   BYE      -               -                -                -
 *   GONE     -               -                -                -
 *   SACK     packet wanted   -                -                -
 *
 * All but HELLO and WELCOME carry `conn`, a hash of both epochs, and in `ack`
 * the chunk wanted next of each class (all before it are in).  HELLO and
 * WELCOME carry there the data bytes of a packet, and in `ack` the sender's window
 * of each class.
 *
 * A NACK names packets by number, that of the chunk plus the packet's place in it:
 * the first that is missing, and the first after it that is in; the same number
 * twice when none is, and then all from there on is missing.
 *
 * A SACK's data are bits, at most AM_CHAN_SACK_BYTES of them: bit i of byte j is
 * set when the packet 1 + 8j + i after the one wanted is in.  Who does not know
 * the type drops it, and loses only time.
 */
#ifndef AM_CHAN_CHAN_WIRE_H
#define AM_CHAN_CHAN_WIRE_H

#include "base/assert.h"

#include <stddef.h>
#include <stdint.h>

#define AM_CHAN_WIRE_VERSION 3

enum {
    AM_CHAN_DATA = 1,
    AM_CHAN_ACK,
    AM_CHAN_NACK,
    AM_CHAN_PROBE,
    AM_CHAN_HELLO,
    AM_CHAN_WELCOME,
    AM_CHAN_BYE,
    AM_CHAN_GONE,
    AM_CHAN_SACK,
    AM_CHAN_TYPE_END
};

struct am_chan_hdr {
    _Alignas(8) uint32_t crc; /* CRC32C of what follows, header and data */
    uint32_t conn;
    uint32_t seq;
    uint32_t ack[2];
    uint32_t offset;
    uint32_t message_bytes;
    uint16_t hdr_bytes;
    uint8_t type;
    uint8_t class; /* AM_DEV_REQUEST or AM_DEV_REPLY */
};

AM_STATIC_ASSERT(sizeof(struct am_chan_hdr) == 32, "wire format");
AM_STATIC_ASSERT(_Alignof(struct am_chan_hdr) == 8, "headers are words");
AM_STATIC_ASSERT(offsetof(struct am_chan_hdr, crc) == 0, "wire format");
AM_STATIC_ASSERT(offsetof(struct am_chan_hdr, seq) == 8, "wire format");
AM_STATIC_ASSERT(offsetof(struct am_chan_hdr, offset) == 20, "wire format");
AM_STATIC_ASSERT(offsetof(struct am_chan_hdr, class) == 31, "wire format");

/* Bounds of what a peer may announce; anything else is refused. */
#define AM_CHAN_WINDOW_MAX  UINT32_C(16384)       /* packets */
#define AM_CHAN_MESSAGE_MAX UINT32_C(1024 * 1024) /* bytes of a chunk */
#define AM_CHAN_SACK_BYTES  UINT32_C(32)

#endif
