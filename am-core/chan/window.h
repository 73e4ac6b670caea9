/*
 * The SP AM window (Chang et al. 1996, section 2.2) between two ends, as a
 * pure state machine: no clock, allocation, device or global inside.  Its
 * inputs are messages to send, packets that came, and ticks; its outputs go
 * through struct am_window_ops.  One struct am_window is one end, with both
 * directions and both classes.
 *
 *      reserve, commit                         transmit
 *   ------------------>+----------------+-------------------->
 *        deliver       |   am_window    |       packet
 *   <------------------+----------------+<--------------------
 *                          ^ tick
 *
 * Sending.  A message becomes a chunk of 1 to chunk_packets packets under one
 * sequence number and stays in the window's memory until it is acknowledged.
 * At most window_packets packets of a class are unacknowledged, and at most
 * chunks_max full chunks, of chunk_packets packets: with two, full chunk N
 * follows the acknowledgement of N-2.  At the limit reserve says no.
 *
 * Receiving.  Packets are taken in order only.  One that comes too early is
 * dropped (go-back-N), or, with early_packets, kept until what is before it has come
 * (selective repeat: window_early.c).  It is answered by a negative acknowledgement
 * that names what is missing, once for each gap; and, where it was dropped, again
 * when the sender has started over and the packet is lost again.  Acknowledgements ride on every packet; an
 * explicit one goes out from the next tick when 1/ack_fraction of the sender's
 * window, or a full chunk, is not acknowledged yet.  Less than that waits for
 * a packet to ride on, or for the sender's keep-alive.
 *
 * A network that drops what it has no space for (params.adapts) is given less
 * than the window when it does: window_rate.c.
 *
 * Loss at the end.  A sender whose oldest packet is not acknowledged for
 * keepalive_polls ticks sends a PROBE, which the peer answers with what it
 * wants next.  The wait doubles with each probe without an answer, up to
 * 2^AM_WINDOW_BACKOFF_MAX times.  Ticks can be far apart, where others have the
 * core as well: with asks_by_time a wait ends by time, too, as those of the timer
 * variant do.
 *
 * The timer variant (LCI's I-hrx, Verstoep et al. 2004) is the same machine
 * without negative acknowledgements and probes: after rto_ps of the oldest
 * packet all is sent again, doubling up to rto_max_ps, and the receiver
 * acknowledges ack_delay_ps after a packet at the latest.  With early_packets
 * its acknowledgements name packets, and only those that are missing are sent
 * again: window_sack.c.
 *
 * Connections.  Each end has an epoch, a number that no other connection of
 * its peer has had.  HELLO, HELLO, WELCOME tell both ends both epochs; no
 * message is taken before that, and packets of any other pair are dropped, so
 * a packet that a network held back cannot enter a later connection.
 *
 * An end that leaves says BYE until it is answered by GONE; a peer that heard it
 * waits for no acknowledgement any more.  Whoever stops listening, be it that
 * it answered or that it has waited long enough, says its last word several
 * times (am_window_farewell): what is lost after that costs the other end a
 * bounded wait and no message, for BYE is not said before all is acknowledged.
 *
 * Why it always ends.  Suppose that of infinitely many packets infinitely many
 * arrive unharmed, that both ends are ticked for ever, and that `ready` is
 * true again and again.  (1) While one end has something to send and does not
 * know the peer, it sends HELLO after every bounded number of ticks; the
 * answer to one arrives, and the end opens; its own WELCOME, repeated for
 * every HELLO that follows each dropped packet, opens the other.  (2) Let q be
 * what the receiver wants next, una <= q <= next.  While una < next the sender
 * first transmits all that waits, then probes after every bounded number of
 * ticks, so the receiver answers for ever, and an answer arrives.  It
 * acknowledges all chunks before q; if q < next it moves the sender's cursor
 * back to q, and q is transmitted again.  So q is transmitted for ever until
 * it is received, and q grows.  (3) q is at most next and never shrinks, so
 * all that was committed is delivered, una reaches next by the answer to the
 * next probe, and probing stops.  Timer: the same with the retransmission in
 * the place of the probe; where acknowledgements name packets, what they have
 * said is forgotten from the third time-out in a row on, the oldest packet is sent
 * again, its acknowledgement names q, and the time-out after that sends q.  Each
 * message is delivered once because q only grows, in order because only q is
 * taken.  test/model/chan_mc.c tries it.
 */
#ifndef AM_CHAN_WINDOW_H
#define AM_CHAN_WINDOW_H

#include "chan/chan_wire.h"

#include "base/seqwin.h"

#include <am_types.h>
#include <stdbool.h>

#define AM_WINDOW_CLASSES     2 /* request, reply; as in dev.h */
#define AM_WINDOW_BACKOFF_MAX 6

/* Counters, for each device; rows in chan_init.c. */
enum {
    AM_CHAN_STAT_TX_MESSAGES,
    AM_CHAN_STAT_TX_PACKETS,
    AM_CHAN_STAT_TX_RETRANSMITTED,
    AM_CHAN_STAT_TX_AGAIN_NACK,
    AM_CHAN_STAT_TX_AGAIN_PROBE,
    AM_CHAN_STAT_TX_AGAIN_TIME,
    AM_CHAN_STAT_TX_AGAIN_ACK,
    AM_CHAN_STAT_TX_HALVED,
    AM_CHAN_STAT_TX_WINDOW_FULL,
    AM_CHAN_STAT_TX_ACK,
    AM_CHAN_STAT_TX_NACK,
    AM_CHAN_STAT_TX_PROBE,
    AM_CHAN_STAT_RX_NACK,
    AM_CHAN_STAT_RX_DUPLICATE,
    AM_CHAN_STAT_RX_GAP,
    AM_CHAN_STAT_RX_HELD,
    AM_CHAN_STAT_RX_STALE,
    AM_CHAN_STAT_RX_BAD_CRC,
    AM_CHAN_STAT_RX_BAD,
    AM_CHAN_STAT_COUNT
};

/* The same for all windows of a device; must outlive them. */
struct am_window_params {
    uint32_t window_packets[AM_WINDOW_CLASSES]; /* 1..AM_CHAN_WINDOW_MAX */
    uint32_t chunk_packets;   /* at least 1, at most half of each window or 1 */
    uint32_t chunks_max;      /* full ones, unacknowledged */
    uint32_t payload_bytes;   /* data of one packet */
    uint32_t hdr_bytes_max;   /* largest header of a message */
    uint32_t ack_fraction;    /* 4: a quarter of the sender's window */
    uint32_t keepalive_polls; /* at least 1 */
    bool timer;               /* the variant; else nack */
    bool asks_by_time;        /* nack: a wait for the peer ends by time, too; not with
                               * am_window_pass */
    bool adapts;              /* to a network that drops: window_rate.c */
    uint32_t early_packets;   /* that came too early, kept, at most; 0: go-back-N */
    uint64_t rto_ps, rto_max_ps, ack_delay_ps;
};

struct am_window_ops {
    /* Put one packet on the device, class by AM_DEV_*; the data is consumed.
     * AM_OK, or AM_ERR_AGAIN without side effect.  May not call the window. */
    am_status_t (*transmit)(void *arg, uint32_t class, struct am_chan_hdr *hdr,
                            const void *data, uint32_t data_bytes);
    /* A whole message, in order: hdr_bytes of header, then data.  Valid until
     * it returns.  May reserve and commit on this window. */
    void (*deliver)(void *arg, uint32_t class, void *message,
                    uint32_t hdr_bytes, uint32_t message_bytes);
    /* May a request be delivered now? */
    bool (*ready)(void *arg);
    /* Memory is the window's from when it first needs it until it rests
     * (am_window_rest), 8-byte aligned; it may be asked for again and again.
     * For messages that wait or are not acknowledged, am_window_memory_bytes;
     * NULL: there is no room for any now. */
    void *(*memory)(void *arg, size_t bytes);
    /* To put together the peer's messages of a class of several packets, at most
     * `bytes`.  NULL: they are dropped, as if lost. */
    void *(*landing)(void *arg, uint32_t class, uint32_t bytes);
    /* For packets of a class that come too early.  NULL: they are dropped.  Only
     * with early_packets. */
    void *(*early)(void *arg, uint32_t class, size_t bytes);
};

/* A message in the window of the sender. */
struct am_window_chunk {
    uint32_t seq;
    uint32_t packets;
    uint32_t bytes;     /* header and data */
    uint32_t slot;      /* where it lies, in payload_bytes */
    uint32_t hdr_bytes; /* of `bytes`, the upper layer's header */
};

/* What is known of a packet in the window: window_sack.c. */
struct am_window_sent {
    uint32_t after; /* the first one that was first sent after it was last sent */
    uint32_t state;
};

/* How much may be on its way, when the window adapts: window_rate.c. */
struct am_window_rate {
    uint32_t limit; /* packets sent and not acknowledged, at most */
    uint32_t goal;  /* up to here it grows fast */
    uint32_t part;  /* acknowledged since it last grew slowly */
    bool lost;      /* ever; */
    uint32_t lost_end; /* for losses before this it was halved */
    bool timed; /* one packet's way there and back is counted: */
    uint32_t timed_end, timed_tick;
    uint32_t rtt_ticks_8; /* their mean, times 8; 0: not known */
    bool answered;        /* since the last tick */
    uint64_t timed_ps;    /* the first tick after it went; 0: none yet */
    uint64_t rtt_ps, rtt_var_ps; /* mean, mean deviation; 0: not known */
    uint32_t doubled; /* times, the wait that follows from them */
};

/*
 * One direction of one class, sending side.  Chunks are counted from 0 without
 * end and lie at (count & chunk_mask); sequence numbers count packets.
 *
 *   chunk_una        chunk_cur.packet      chunk_next
 *   | sent, not acked |  not (re)sent yet  |  free ...
 *       | again |
 *
 * `again` are packets before the cursor that the peer misses, while it has some
 * after them.
 */
struct am_window_tx {
    struct am_seq_tx seq; /* una and next: of chunk_una and chunk_next */
    uint32_t chunk_una, chunk_cur, chunk_next;
    uint32_t cur_packet;  /* of chunk_cur */
    uint32_t again_next, again_end; /* numbers of packets; equal: none */
    uint32_t again_chunk;           /* that again_next is of */
    uint32_t chunk_mask;  /* entries of `chunks` - 1 */
    uint32_t slot_next;   /* first free slot */
    uint32_t slot_count;  /* of `slots`: window_packets + chunk_packets */
    uint32_t full_count;  /* chunks of chunk_packets packets */
    uint32_t quiet_polls; /* ticks since una moved or was transmitted */
    uint32_t backoff;     /* probes or timeouts since una moved or a nack */
    uint64_t quiet_ps;    /* time of the first of them */
    bool recovers; /* una moved after several timeouts: more is lost */
    uint32_t round;       /* times that it went back, modulo WINDOW_ROUNDS */
    uint32_t flying, lost; /* packets in these states of window_sack.c */
    uint32_t in_end;       /* after the latest packet that the peer has */
    uint32_t missing;      /* the first that it has said to miss */
    struct am_window_rate rate;
    struct am_window_sent *sent; /* by number & chunk_mask; NULL: not kept */
    struct am_window_chunk *chunks; /* NULL: no memory yet, or any more */
    uint8_t *slots;
};

/* The receiving side. */
struct am_window_rx {
    struct am_seq_rx seq;   /* next: chunk wanted, all before are delivered */
    uint32_t offset;        /* bytes of it that are in the landing */
    uint32_t packets;       /* packets of it that are in */
    uint32_t message_bytes; /* of the chunk that is in part there */
    uint32_t hdr_bytes;
    uint32_t gap_seq;    /* the earliest packet that came too early */
    uint32_t gap_offset; /* valid while `gap` */
    bool gap;            /* the missing packet has been asked for */
    bool held;           /* a request was not taken because not ready */
    uint32_t early_end;  /* after the latest packet that came early and was kept */
    uint32_t hole, hole_end; /* to ask for; equal: all from the packet wanted on */
    struct am_window_early *early; /* or NULL */
    uint32_t probe_end;  /* of the probe that the next NACK answers: what it */
    uint16_t probe_mark; /* said; 0: it answers none */
    uint64_t untold_ps;  /* first tick with something not told, or 0 */
    uint8_t *landing;
};

enum {
    AM_WINDOW_OPENING,
    AM_WINDOW_OPEN,
    AM_WINDOW_GONE
};

struct am_window {
    const struct am_window_params *params;
    const struct am_window_ops *ops;
    void *arg;
    uint64_t *stats; /* AM_CHAN_STAT_COUNT, of the device */
    uint32_t state;
    uint32_t epoch, peer_epoch; /* peer's: 0 until heard of */
    uint32_t conn_tx, conn_rx;  /* from OPEN on */
    uint32_t landing_bytes;     /* of each landing: the peer's largest */
    uint32_t peer_payload_bytes; /* of each of its packets but a chunk's last */
    uint32_t ack_packets[AM_WINDOW_CLASSES]; /* explicit from here on */
    uint32_t ticks; /* modulo 2^32 */
    uint32_t due; /* control packets to send, WINDOW_DUE_* of window_inl.h */
    bool more;    /* in transmit: another packet follows at once */
    bool words; /* in transmit: of a message that is all header, whole words */
    bool leaving; /* say BYE until it is answered */
    bool parted;  /* the peer knows that this end is gone, or is gone itself */
    uint32_t hello_polls, hello_backoff; /* of HELLO and BYE, as those of tx */
    uint64_t hello_ps;
    struct am_window_tx tx[AM_WINDOW_CLASSES];
    struct am_window_rx rx[AM_WINDOW_CLASSES];
};

/* Bytes of memory that a window with these parameters needs. */
size_t am_window_memory_bytes(const struct am_window_params *params);

/* `epoch` is non-zero.  `stats` is shared. */
void am_window_init(struct am_window *window,
                    const struct am_window_params *params, uint32_t epoch,
                    const struct am_window_ops *ops, void *arg,
                    uint64_t *stats);

/*
 * Room for a message of `bytes` (header and data, at most chunk_packets *
 * payload_bytes) in one piece, or NULL when the window is full.  Nothing is
 * taken until commit, which must follow at once if at all.
 */
void *am_window_reserve(struct am_window *window, uint32_t class,
                        uint32_t bytes);
/* The message is written; its first hdr_bytes are the header. */
void am_window_commit(struct am_window *window, uint32_t class,
                      uint32_t hdr_bytes, uint32_t bytes);
/* Would reserve find room for the largest message?  Then it will. */
bool am_window_has_room(struct am_window *window, uint32_t class);

/*
 * A packet came whose checksum is right.  `hdr` is a copy that nobody else
 * writes.  All of its fields are checked; a bad one is counted and dropped.
 */
void am_window_packet(struct am_window *window, const struct am_chan_hdr *hdr,
                      void *data, size_t data_bytes);

/* After each poll of the device; now_ps, not 0, is used by the timer variant and
 * with asks_by_time only. */
void am_window_tick(struct am_window *window, uint64_t now_ps);

/*
 * When a tick is needed again: 0, the next one; UINT64_MAX, none until the
 * next commit or packet (the window is idle); else, in the timer variant and
 * after a tick, a time before which ticks change nothing.
 */
uint64_t am_window_due_ps(const struct am_window *window);

/*
 * Nack variant: how many ticks from now on would do nothing but count, if no
 * packet comes and nothing is committed; count so many of them.
 */
uint32_t am_window_quiet_ticks(const struct am_window *window);
void am_window_pass(struct am_window *window, uint32_t ticks);

/*
 * For who has seen nothing of the window for a while: if there is nothing in its
 * memory that is still needed, it holds none from now on, and the caller may
 * take back all that the ops gave it; else false.
 */
bool am_window_rest(struct am_window *window);

/* Nothing unacknowledged and nothing to send: no tick is needed until the
 * next commit or packet. */
bool am_window_is_idle(const struct am_window *window);
/* All that was committed is acknowledged, or can never be. */
bool am_window_is_drained(const struct am_window *window);

/*
 * This end is about to go: tell the peer, again and again, until it has said
 * that it knows.  Call when drained; goes on with ticks until the window is
 * GONE.  A peer that has heard of it drops what it still had to send.
 */
void am_window_bye(struct am_window *window);

/*
 * The end of this end, after which nobody answers the peer any more.  If it may
 * not know that yet, say so AM_WINDOW_FAREWELLS times at once: the last word
 * has no answer, so only more of them make it likely that one arrives.
 */
#define AM_WINDOW_FAREWELLS 5
void am_window_farewell(struct am_window *window);

/* The peer is gone, by other news than its own: drop all, for ever. */
void am_window_gone(struct am_window *window);

#endif
