/*
 * The choice of a protocol: once for each kind of peer (each device, and each
 * distance where the device tells them apart), as a short table of size ranges
 * that a send looks up.  The table is the lower envelope of the cost model, with
 * the user's variables on top; it is made again when the costs change.
 */
#ifndef AM_MSG_PROTO_CHOICE_H
#define AM_MSG_PROTO_CHOICE_H

#include "msg/proto_cost.h"

enum {
    AM_PROTO_ROWS_MAX = 16,
    AM_PROTO_SERIES = 4 /* so many in a row, and the next is one of a series */
};

/* Why a range goes by its protocol. */
typedef enum {
    AM_WHY_COST,   /* lowest cost of those allowed */
    AM_WHY_SET,    /* a threshold or list of the user's */
    AM_WHY_POLICY, /* AM_BUFFERING */
} am_proto_why_t;

struct am_proto_row {
    size_t bytes_max; /* last size of the range */
    am_proto_t proto;
    am_proto_why_t why;
};

struct am_msg;

struct am_proto_kind {
    struct am_proto_kind *next; /* on msg->kinds */
    struct am_msg *msg;
    const struct am_dev *dev;
    struct am_meter *meter; /* NULL: the device has none */
    const struct am_dev_pages *pages; /* of the first peer of the kind, or NULL */
    const struct am_dev_perf *perf; /* that `cost` was made from */
    size_t packet_max;  /* largest eager message in one packet */
    size_t eager_limit; /* smaller contiguous ones go the short way */
    size_t series_max;  /* to here messages in a row are eager */
    am_proto_t rndv;    /* when there is no credit or no region */
    bool is_free;            /* the user has set nothing */
    bool tries;              /* what takes less time (proto_trial.h) */
    struct am_cost_in cost;
    /* [contiguous]; that of other data is made when it is first asked for */
    uint32_t tables; /* times that they were made */
    uint32_t row_count[2];
    struct am_proto_row rows[2][AM_PROTO_ROWS_MAX];
};

/* Make its tables from what it costs now. */
void am_proto_kind_fill(struct am_proto_kind *kind, struct am_msg *msg);
/* Make the table of data that is not contiguous; called by am_proto_rows. */
void am_proto_kind_fill_other(struct am_proto_kind *kind);
/* The kind of this peer, computed on first use; NULL without memory. */
const struct am_proto_kind *am_proto_kind_of(struct am_msg *msg,
                                             struct am_peer *peer);
/* Make the tables of those again whose costs have changed; was there one? */
bool am_proto_kinds_update(struct am_msg *msg);
void am_proto_kinds_free(struct am_msg *msg);
/* A message is sent, or matched.  For those of several packets the meter is told
 * whether both ends send: who has posted a receive when it sends, or fetches what one
 * has met, and had a long message not long ago, will receive meanwhile; in a ping-pong
 * the receive is posted later. */
void am_proto_long_sent(struct am_msg_peer *mp, size_t bytes);
void am_proto_long_received(struct am_msg_peer *mp,
                            const struct am_msg_info *info);

/* A contiguous message of at least AM_FASTER_BYTES to a peer of a kind that tries costs least
 * by `proto`: by which does it go? */
am_proto_t am_round_proto(struct am_msg_req *send, am_proto_t proto);
/* May one of as many bytes as the one before (mp->trial.rest) go the short way without that
 * question?  It is sent. */
bool am_round_rests(struct am_msg_peer *mp);
/* By which do the costs say that a message goes by this protocol to this peer? */
am_by_t am_round_by_cost(struct am_msg_peer *mp, am_proto_t proto,
                         size_t bytes);
/* Settle which contiguous messages to this peer go the short way from now on. */
void am_proto_short_set(struct am_msg_peer *mp);
/* A contiguous message would go by `proto`: by which does it go, so that a stream does
 * not use pages for the first time (am/spare.h)? */
am_proto_t am_proto_spare(struct am_msg_req *send, am_proto_t proto);

/* The table; its last row's bytes_max is SIZE_MAX. */
static inline const struct am_proto_row *
am_proto_rows(const struct am_proto_kind *kind, bool contiguous)
{
    if (kind->row_count[contiguous] == 0) {
        /* no kind is a constant: who asks only may not change it */
        am_proto_kind_fill_other((struct am_proto_kind *)(uintptr_t)kind);
    }
    return kind->rows[contiguous];
}

static inline const struct am_proto_row *
am_proto_row_of(const struct am_proto_kind *kind, size_t bytes, bool contiguous)
{
    const struct am_proto_row *row = am_proto_rows(kind, contiguous);

    while (bytes > row->bytes_max) {
        row++;
    }
    return row;
}

static inline am_proto_t am_proto_select(const struct am_proto_kind *kind,
                                         size_t bytes, bool contiguous)
{
    return am_proto_row_of(kind, bytes, contiguous)->proto;
}

/* The same of contiguous bytes that follow others: so many long messages have been sent
 * since any has come. */
static inline am_proto_t
am_proto_select_behind(const struct am_proto_kind *kind, size_t bytes,
                       uint32_t others)
{
    return others >= AM_PROTO_SERIES && bytes <= kind->series_max
                   ? AM_PROTO_EAGER
                   : am_proto_select(kind, bytes, true);
}

/* Words of a header beside a packet's payload, as the longest eager one has. */
#define AM_PROTO_KIND_WORDS 5

/* The tables with their reasons, as text; `unmet`: also those of devices by which
 * no peer was met.  Returns its length. */
size_t am_proto_describe(struct am_msg *msg, bool unmet, char *text,
                         size_t bytes);

/* Checks of configuration text, for the variables' rows. */
am_status_t am_proto_check_list(const char *text, char *accepted, size_t bytes);
am_status_t am_proto_check_limit(const char *text, char *accepted,
                                 size_t bytes);
am_status_t am_proto_check_bins(const char *text, char *accepted, size_t bytes);

#endif
