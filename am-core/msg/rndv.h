/*
 * What the rendezvous protocols share: a request's region and bulk transfer,
 * the answer that carries the destination's key, and the ends.
 */
#ifndef AM_MSG_RNDV_H
#define AM_MSG_RNDV_H

#include "msg/msg_core.h"

/* What a receiver answered. */
typedef enum {
    AM_ANSWER_NONE,
    AM_ANSWER_CTS,
    AM_ANSWER_END
} am_answer_kind_t;

struct am_answer {
    am_answer_kind_t kind;
    am_status_t status; /* END */
    uint64_t remote_id; /* CTS: the receive, its length and its key */
    size_t bytes;
    struct am_key key;
};

struct am_rndv {
    struct am_region region;
    struct am_bulk bulk;
    bool is_open; /* region */
    /* of the data, which only the peer's device may fetch: is it registered, and how */
    bool has_key;
    struct am_dev_key key;
    bool busy;    /* bulk: its done function will be called */
    /* a prefix whose request has gone ahead of it, and what came meanwhile */
    bool is_ahead;
    struct am_answer answer;
};

/* Give a request its id and its transfer state.  AM_ERR_MEMORY. */
am_status_t am_rndv_get(struct am_msg_req *req);
/* Close the region and give the state back; the bulk is not busy. */
void am_rndv_put(struct am_msg_req *req);
/* Before that, where the peer has failed: it may live, and have the key to the memory. */
void am_rndv_withdraw(struct am_msg_req *req);

/* Open a region over the first `bytes` of the request's data, where its peer,
 * and no other, may do what `caps` say (as am_region_open), and its key. */
am_status_t am_rndv_open(struct am_msg_req *req, uint32_t caps, size_t bytes,
                         struct am_key *key);

/* Receiver: answer a request to send with the key of the receive buffer.
 * AM_DONE when nothing is left to come (`have` bytes are there). */
am_status_t am_rndv_answer(struct am_msg_req *recv, size_t have);

/* Sender: all has left that goes before an answer; act on one that has come.
 * AM_DONE, AM_OK or the error of the send, as emit returns them. */
am_status_t am_rndv_resume(struct am_msg_req *send);

/* Tell the sender `id` that its message is matched, or fetched. */
void am_rndv_end(struct am_msg_peer *mp, uint64_t id, am_status_t status);

enum {
    AM_RNDV_WORDS = 4 /* with which every request to send begins */
};

/* Fill these. */
am_status_t am_rndv_words(struct am_msg_req *send, uint64_t *words,
                          uint64_t kind);

#endif
