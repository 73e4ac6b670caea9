/*
 * The queue of unexpected messages, and the indices of it for receives and
 * probes with wildcards.
 */
#include "msg/match_queue.h"

/* -------------------------------------------------------------- the indices */

static void index_add(struct am_match_queue *index, struct am_match_node *node)
{
    am_list_push(am_match_queue_bin(index, node->key, node->tag),
                 &node->links->link[index->class]);
    if (++index->count > index->limit) {
        am_match_grow(index);
    }
}

/* Put all messages, by arrival, into the index of a class. */
static bool index_make(struct am_match *match, am_match_class_t class)
{
    struct am_match_queue *index = &match->index[class];

    if (index->bins == NULL && am_match_queue_init(index, class, true) != 0) {
        return false;
    }
    for (struct am_list *at = match->order.next; at != &match->order;
         at = at->next) {
        (*match->steps)++;
        index_add(index, am_container(at, struct am_match_node, order));
    }
    match->index_mask |= 1u << class;
    return true;
}

static void indices_add(struct am_match *match, struct am_match_node *node)
{
    for (int i = 0; i < AM_MATCH_WILD_COUNT; i++) {
        if ((match->index_mask & (1u << i)) != 0) {
            index_add(&match->index[i], node);
        }
    }
}

static void indices_remove(struct am_match *match, struct am_match_node *node)
{
    for (int i = 0; i < AM_MATCH_WILD_COUNT; i++) {
        if ((match->index_mask & (1u << i)) != 0) {
            match->index[i].count--;
            am_list_remove(&node->links->link[i]);
        }
    }
    if (match->unexpected.count == 0) {
        match->index_mask = 0;
    }
}

/* ---------------------------------------------------------------- the queue */

void am_match_store(struct am_match *match, struct am_match_node *node,
                    struct am_match_links *links)
{
    struct am_match_queue *queue = &match->unexpected;

    if (queue->count > queue->limit) {
        am_match_grow(queue);
    }
    queue->count++;
    am_list_push(am_match_bin(queue, node->key, node->tag), &node->link);
    am_list_push(&match->order, &node->order);
    node->links = links;
    links->node = node;
    if (match->index_mask != 0) {
        indices_add(match, node);
    }
}

void am_match_unstore(struct am_match *match, struct am_match_node *node)
{
    match->unexpected.count--;
    am_list_remove(&node->link);
    am_list_remove(&node->order);
    if (match->index_mask != 0) {
        indices_remove(match, node);
    }
}

static bool wanted(struct am_match *match, const struct am_match_want *want,
                   const struct am_match_node *node)
{
    (*match->steps)++;
    return (((want->key ^ node->key) & want->key_mask) |
            ((want->tag ^ node->tag) & want->tag_mask)) == 0;
}

static struct am_match_node *find_exact(struct am_match *match,
                                        const struct am_match_want *want)
{
    struct am_list *bin =
            am_match_bin(&match->unexpected, want->key, want->tag);

    for (struct am_list *at = bin->next; at != bin; at = at->next) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, link);

        if (wanted(match, want, node)) {
            return node;
        }
    }
    return NULL;
}

static struct am_match_node *find_indexed(struct am_match *match,
                                          const struct am_match_want *want,
                                          am_match_class_t class)
{
    struct am_list *bin =
            am_match_queue_bin(&match->index[class], want->key, want->tag);

    for (struct am_list *at = bin->next; at != bin; at = at->next) {
        struct am_match_node *node =
                am_container(at - class, struct am_match_links, link)->node;

        if (wanted(match, want, node)) {
            return node;
        }
    }
    return NULL;
}

/* By arrival, up to `most` messages; *end_p: there are no more. */
static struct am_match_node *find_ordered(struct am_match *match,
                                          const struct am_match_want *want,
                                          uint32_t most, bool *end_p)
{
    struct am_list *at = match->order.next;

    for (uint32_t i = 0; at != &match->order && i < most; i++, at = at->next) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, order);

        if (wanted(match, want, node)) {
            return node;
        }
    }
    *end_p = at == &match->order;
    return NULL;
}

struct am_match_node *am_match_find(struct am_match *match,
                                    const struct am_match_want *want)
{
    am_match_class_t class;
    struct am_match_node *node = NULL;
    bool end = false;

    if (match->unexpected.count == 0) {
        return NULL;
    }
    class = am_match_class_of(want->key_mask, want->tag_mask);
    if (class == AM_MATCH_EXACT) {
        return find_exact(match, want);
    }
    if (class == AM_MATCH_LOOSE) {
        return find_ordered(match, want, UINT32_MAX, &end);
    }
    if ((match->index_mask & (1u << class)) == 0) {
        node = find_ordered(match, want, AM_MATCH_WALK, &end);
        if (node != NULL || end) {
            return node;
        }
        if (!index_make(match, class)) {
            return find_ordered(match, want, UINT32_MAX, &end);
        }
    }
    return find_indexed(match, want, class);
}
