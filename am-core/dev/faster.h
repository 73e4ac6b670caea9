/*
 * By which long messages go faster, a stream of packets or a single copy: for each size, and
 * for each way in which messages follow each other.  A run finds it by trials
 * (msg/proto_trial.h); a profile keeps what am_tune has measured (dev/profile.h), and the
 * trials begin with that.
 */
#ifndef AM_DEV_FASTER_H
#define AM_DEV_FASTER_H

#include "dev/meter.h"

/* How the bytes of a message go. */
typedef enum {
    AM_BY_COST,   /* as costs less */
    AM_BY_STREAM, /* in packets */
    AM_BY_SINGLE, /* by the device itself, where it can */
    AM_BY_COUNT
} am_by_t;

/* How messages follow each other. */
typedef enum {
    AM_FLOW_ALONE,  /* each is answered before the next */
    AM_FLOW_SERIES, /* many, and then an answer */
    AM_FLOW_BOTH,   /* both ends send meanwhile */
    AM_FLOW_COUNT
} am_flow_t;

/* Shorter ones are a stream: a single copy's system call alone takes as long.  The count of
 * messages in a row begins with the same size. */
#define AM_FASTER_BYTES AM_METER_BYTES
/* From there on, each twice the one before; the last is of all longer ones. */
#define AM_FASTER_SIZES 10

/* The place of messages of this size, at least AM_FASTER_BYTES. */
static inline uint32_t am_faster_index(size_t bytes)
{
    uint32_t at = (uint32_t)__builtin_clzll(AM_FASTER_BYTES) -
                  (uint32_t)__builtin_clzll(bytes);

    return at < AM_FASTER_SIZES ? at : AM_FASTER_SIZES - 1;
}

/* am_by_t; AM_BY_COST: not known. */
struct am_faster {
    uint8_t by[AM_FLOW_COUNT][AM_FASTER_SIZES];
};

struct am_text;

/* For messages to people: "answered one by one", "a single copy". */
const char *am_flow_text(am_flow_t flow);
const char *am_by_text(am_by_t by);

/* What is known of one flow: "a stream from 8k, a single copy from 32k". */
void am_faster_text(struct am_text *out, const struct am_faster *faster,
                    am_flow_t flow);

#endif
