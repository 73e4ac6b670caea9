/*
 * Hot inlines of match.h: an exact receive is posted, a message finds it.
 */
#ifndef AM_MSG_MATCH_INL_H
#define AM_MSG_MATCH_INL_H

#include "msg/match.h"

/* Multiplicative hashing (Knuth, vol. 3, 6.4): the high bits of a sum of two
 * products, so that consecutive tags and sources spread evenly. */
static inline struct am_list *am_match_bin(const struct am_match_queue *queue,
                                           uint64_t key, uint32_t tag)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15) +
                    (tag & AM_MATCH_TAG_MASK) * UINT64_C(0xd1b54a32d192ed03);

    return &queue->bins[hash >> queue->shift];
}

static inline bool am_match_is_exact(uint64_t key_mask, uint32_t tag_mask)
{
    return key_mask == UINT64_MAX && tag_mask == AM_MATCH_TAG_MASK;
}

/* Does the receive `node` accept this message? */
static inline bool am_match_fits(const struct am_match_node *node, uint64_t key,
                                 uint32_t tag)
{
    return (((node->key ^ key) & node->key_mask) |
            ((node->tag ^ tag) & node->tag_mask)) == 0;
}

static inline void am_match_push(struct am_match *match,
                                 struct am_match_node *node)
{
    am_list_push(am_match_bin(&match->posted, node->key, node->tag),
                 &node->link);
    match->posted.count++;
}

static inline void am_match_post(struct am_match *match,
                                 struct am_match_node *node)
{
    node->stamp = match->stamp++;
    if (__builtin_expect(!am_match_is_exact(node->key_mask, node->tag_mask),
                         0)) {
        am_match_post_wild(match, node);
        return;
    }
    am_match_push(match, node);
    /* last, so that a caller has little to keep over the call */
    if (__builtin_expect(match->posted.count > match->posted.limit, 0)) {
        am_match_grow(&match->posted);
    }
}

/* Can a receive be posted without am_match_grow? */
static inline bool am_match_has_room(const struct am_match *match)
{
    return match->posted.count < match->posted.limit;
}

/* Post a receive of which all bits must agree; there is room. */
static inline void am_match_post_exact(struct am_match *match,
                                       struct am_match_node *node, uint64_t key,
                                       uint32_t tag)
{
    node->stamp = match->stamp++;
    node->key = key;
    node->key_mask = UINT64_MAX;
    node->tag = tag;
    node->tag_mask = AM_MATCH_TAG_MASK;
    am_match_push(match, node);
}

static inline struct am_match_node *am_match_first(const struct am_match *match,
                                                   uint64_t key, uint32_t tag)
{
    const struct am_list *bin = am_match_bin(&match->posted, key, tag);
    struct am_match_node *node =
            am_container(bin->next, struct am_match_node, link);
    bool found = bin->next != bin && match->wild_count == 0 &&
                 am_match_fits(node, key, tag);

    return __builtin_expect(found, 1) ? node : NULL;
}

static inline void am_match_take_first(struct am_match *match,
                                       struct am_match_node *node)
{
    (*match->steps)++;
    match->posted.count--;
    am_list_cut(&node->link);
}

#endif
