/*
 * Matching: posted receives and unexpected messages, by context, source, tag.
 * Owns the two queues and the order between their entries; a pure data
 * structure over intrusive nodes, with no requests, peers or payload inside.
 * May call base only.
 *
 *   posted       bins[hash(context, source, tag)] -> node -> node   exact
 *                wild -> node -> node                               the others
 *   unexpected   bins[hash(...)] -> node -> node     and, threaded through the
 *                order -> node -> node -> node       same nodes, by arrival
 *
 * A message takes the earliest posted receive that fits it: the first of its
 * bin or the first of the wild list, whichever has the smaller stamp.  A
 * receive takes the earliest message that fits it: from one bin when exact,
 * along `order` when not.
 *
 * Exact.  The top three tag bits are marks that never decide a match
 * (AM_MSG_TAG_MARKS); the caller keeps them out of every mask.  A receive is
 * exact when its mask covers context, source and the 29 tag bits that are left.
 *
 * Limits.  Bins double when there are more than two entries for each, up to
 * AM_MATCH_BINS_MAX; when memory for that is not to be had the bins there are
 * grow longer.  No other call allocates.
 */
#ifndef AM_MSG_MATCH_H
#define AM_MSG_MATCH_H

#include "base/list.h"

#include <stdint.h>

#define AM_MATCH_TAG_MASK 0x1fffffffu
#define AM_MATCH_BINS_MIN 64u
#define AM_MATCH_BINS_MAX 65536u

/* One receive or one message; embed it. */
struct am_match_node {
    struct am_list link;  /* its bin, or the wild list */
    struct am_list order; /* unexpected messages only */
    uint64_t stamp;
    uint64_t key;      /* context << 32 | source */
    uint64_t key_mask; /* receives only */
    uint32_t tag;      /* with its marks */
    uint32_t tag_mask; /* receives only; within AM_MATCH_TAG_MASK */
};

/* What a receive or a probe asks for. */
struct am_match_want {
    uint64_t key, key_mask;
    uint32_t tag, tag_mask;
};

struct am_match_queue {
    struct am_list *bins;
    uint32_t shift; /* 64 - log2(bin count) */
    uint32_t count; /* entries in bins */
    uint32_t limit; /* entries above which the bins double */
};

struct am_match {
    struct am_match_queue posted, unexpected;
    struct am_list wild;  /* posted receives that are not exact */
    struct am_list order; /* unexpected messages by arrival */
    uint64_t stamp;       /* of the next receive */
    uint32_t wild_count;
    uint64_t *steps; /* comparisons made; the owner's counter */
};

/* Make an empty structure in caller's memory, which counts comparisons in
 * *steps.  0, or -1 without memory. */
int am_match_init(struct am_match *match, uint64_t *steps);
/* Free the bins; nodes belong to their owners. */
void am_match_fini(struct am_match *match);

/* Add a receive whose key, tag and masks are set. */
static inline void am_match_post(struct am_match *match,
                                 struct am_match_node *node);
/* Take the earliest posted receive that fits a message, NULL if none. */
struct am_match_node *am_match_arrive(struct am_match *match, uint64_t key,
                                      uint32_t tag);
/* That receive, still in its queue, if all receives are exact and it is the
 * first of its bin; else NULL. */
static inline struct am_match_node *am_match_first(const struct am_match *match,
                                                   uint64_t key, uint32_t tag);
/* Take what am_match_first found. */
static inline void am_match_take_first(struct am_match *match,
                                       struct am_match_node *node);
/* Take all receives for which `take` says yes off the queue and append them,
 * by `link`, to `taken`. */
void am_match_take_posted(struct am_match *match,
                          bool (*take)(void *arg, struct am_match_node *node),
                          void *arg, struct am_list *taken);
/* Take a receive off the queue (cancel). */
void am_match_unpost(struct am_match *match, struct am_match_node *node);

/* Add a message whose key and tag are set, as the latest arrival. */
void am_match_store(struct am_match *match, struct am_match_node *node);
/* The earliest message that fits; stays in the queue.  NULL if none. */
struct am_match_node *am_match_find(struct am_match *match,
                                    const struct am_match_want *want);
/* Take a message out of the queue. */
void am_match_unstore(struct am_match *match, struct am_match_node *node);

/* Receives posted and messages waiting. */
static inline uint32_t am_match_posted_count(const struct am_match *match)
{
    return match->posted.count + match->wild_count;
}

static inline uint32_t am_match_unexpected_count(const struct am_match *match)
{
    return match->unexpected.count;
}

/* For match_inl.h. */
void am_match_grow(struct am_match_queue *queue);

#include "msg/match_inl.h"
#endif
