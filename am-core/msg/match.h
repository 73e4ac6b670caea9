/*
 * Matching: posted receives and unexpected messages, by context, source, tag.
 * Owns the queues and the order between their entries; a pure data structure
 * over intrusive nodes, with no requests, peers or payload inside.  May call
 * base only.
 *
 *   class         bins by              the receives, probes in it
 *   EXACT         context source tag   all three are said
 *   ANY_SOURCE    context        tag   the source is open
 *   ANY_TAG       context source       the tag is open, wholly or in part
 *   ANY           context              both are open, wholly or in part
 *   LOOSE         none                 the context is open
 *
 *   posted        posted.bins[hash] -> node -> node             EXACT
 *                 wild[class].bins[hash] -> node -> node        three classes
 *                 loose -> node -> node                         LOOSE
 *   unexpected    unexpected.bins[hash] -> node -> node         every message,
 *                 order -> node -> node -> node                 by arrival too,
 *                 index[class].bins[hash] -> links -> links     when in use
 *
 * A message takes the earliest posted receive that fits it: the first that fits
 * in its bin of each class, and of these the one with the smallest stamp.  A
 * receive takes the earliest message that fits it: the first that fits in the
 * bin of its own class.
 *
 * An index of messages is made when a search of its class has looked at
 * AM_MATCH_WALK messages along `order` in vain, and kept until no message is
 * left; a program that asks for all three costs no more for it.
 *
 * Exact.  The top three tag bits are marks that never decide a match
 * (AM_MSG_TAG_MARKS); the caller keeps them out of every mask.  A receive is
 * exact when its mask covers context, source and the 29 tag bits that are left.
 *
 * Limits.  Entries that are in one bin and do not fit are looked at one after
 * the other: of ANY_TAG and ANY those whose masks leave some tag bits or some
 * source bits, and all of LOOSE.  MPI has neither: its masks cover the context,
 * and where the tag is open they are all the same.  Bins double when there are
 * more than two entries for each, up to AM_MATCH_BINS_MAX; when memory for that
 * is not to be had the bins there are grow longer, and searches go along
 * `order`.  am_match_init, growth and the first index of a class allocate.
 */
#ifndef AM_MSG_MATCH_H
#define AM_MSG_MATCH_H

#include "base/list.h"

#include <stdint.h>

#define AM_MATCH_TAG_MASK 0x1fffffffu
#define AM_MATCH_BINS_MIN 64u
#define AM_MATCH_BINS_MAX (1u << 20)
#define AM_MATCH_WALK     16u

/* Which of context, source and tag a receive or probe names. */
typedef enum {
    AM_MATCH_ANY_SOURCE,
    AM_MATCH_ANY_TAG,
    AM_MATCH_ANY,
    AM_MATCH_WILD_COUNT, /* these have bins of their own */
    AM_MATCH_EXACT = AM_MATCH_WILD_COUNT,
    AM_MATCH_LOOSE
} am_match_class_t;

struct am_match_links;

/* One receive or one message; embed it.  One cache line. */
struct am_match_node {
    struct am_list link;  /* its bin, or the loose list */
    struct am_list order; /* unexpected messages only */
    uint64_t stamp;       /* receives only */
    uint64_t key;         /* context << 32 | source */

    union {
        uint64_t key_mask;            /* receives */
        struct am_match_links *links; /* messages */
    };
    uint32_t tag;      /* with its marks */
    uint32_t tag_mask; /* receives only; within AM_MATCH_TAG_MASK */
};

/* A message in the indices; embed it where it is not in the way of receives. */
struct am_match_links {
    struct am_match_node *node;
    struct am_list link[AM_MATCH_WILD_COUNT];
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
    am_match_class_t class;
    bool is_index; /* of am_match_links, not of am_match_node */
};

struct am_match {
    uint64_t stamp; /* of the next receive */
    struct am_match_queue posted, unexpected;
    struct am_list order; /* unexpected messages by arrival */
    uint32_t wild_count;  /* posted receives that are not exact */
    uint32_t index_mask;  /* bit i: index[i] holds all messages */
    uint64_t *steps;      /* comparisons made; the owner's counter */
    struct am_list loose; /* posted receives that leave the context open */
    struct am_match_queue wild[AM_MATCH_WILD_COUNT];
    struct am_match_queue index[AM_MATCH_WILD_COUNT]; /* bins NULL: not yet */
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

/* Add a message whose key and tag are set, as the latest arrival; `links` lives
 * as long as `node` does. */
void am_match_store(struct am_match *match, struct am_match_node *node,
                    struct am_match_links *links);
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
void am_match_post_wild(struct am_match *match, struct am_match_node *node);

#include "msg/match_inl.h"
#endif
