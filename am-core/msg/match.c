/*
 * The cold half of matching: growth of the bins, wildcard receives, and the
 * queue of unexpected messages.
 */
#include "msg/match.h"

#include <stdlib.h>

static int queue_init(struct am_match_queue *queue)
{
    queue->bins = malloc(AM_MATCH_BINS_MIN * sizeof(*queue->bins));
    if (queue->bins == NULL) {
        return -1;
    }
    queue->count = 0;
    queue->limit = 2 * AM_MATCH_BINS_MIN;
    queue->shift = 64 - (uint32_t)__builtin_ctz(AM_MATCH_BINS_MIN);
    for (uint32_t i = 0; i < AM_MATCH_BINS_MIN; i++) {
        am_list_init(&queue->bins[i]);
    }
    return 0;
}

int am_match_init(struct am_match *match, uint64_t *steps)
{
    *match = (struct am_match){.steps = steps};
    if (queue_init(&match->posted) != 0) {
        return -1;
    }
    if (queue_init(&match->unexpected) != 0) {
        free(match->posted.bins);
        return -1;
    }
    am_list_init(&match->wild);
    am_list_init(&match->order);
    return 0;
}

void am_match_fini(struct am_match *match)
{
    free(match->posted.bins);
    free(match->unexpected.bins);
}

/* Twice the bins; entries of one key keep their order, since a bin is emptied
 * from its head onto the tails of two others. */
void am_match_grow(struct am_match_queue *queue)
{
    uint32_t old_count = 1u << (64 - queue->shift);
    struct am_list *old = queue->bins;
    struct am_list *bins;

    bins = old_count >= AM_MATCH_BINS_MAX
                   ? NULL
                   : malloc(2 * (size_t)old_count * sizeof(*bins));
    if (bins == NULL) {
        queue->limit = UINT32_MAX; /* do not try again */
        return;
    }
    for (uint32_t i = 0; i < 2 * old_count; i++) {
        am_list_init(&bins[i]);
    }
    queue->bins = bins;
    queue->shift--;
    queue->limit *= 2;
    for (uint32_t i = 0; i < old_count; i++) {
        struct am_list *at;

        while ((at = am_list_pop(&old[i])) != NULL) {
            struct am_match_node *node =
                    am_container(at, struct am_match_node, link);

            am_list_push(am_match_bin(queue, node->key, node->tag), at);
        }
    }
    free(old);
}

/* The exact receive that fits is not the one if a wild one is older. */
static struct am_match_node *arrive_wild(struct am_match *match,
                                         struct am_match_node *exact,
                                         uint64_t key, uint32_t tag)
{
    struct am_list *at;

    for (at = match->wild.next; at != &match->wild; at = at->next) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, link);

        if (exact != NULL && node->stamp > exact->stamp) {
            break;
        }
        (*match->steps)++;
        if (am_match_fits(node, key, tag)) {
            match->wild_count--;
            am_list_remove(at);
            return node;
        }
    }
    return exact;
}

struct am_match_node *am_match_arrive(struct am_match *match, uint64_t key,
                                      uint32_t tag)
{
    struct am_list *bin = am_match_bin(&match->posted, key, tag);
    struct am_match_node *exact = NULL;
    struct am_match_node *found;

    for (struct am_list *at = bin->next; at != bin; at = at->next) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, link);

        (*match->steps)++;
        if (am_match_fits(node, key, tag)) {
            exact = node;
            break;
        }
    }
    found = match->wild_count == 0 ? exact
                                   : arrive_wild(match, exact, key, tag);
    if (found != NULL && found == exact) {
        match->posted.count--;
        am_list_cut(&found->link);
    }
    return found;
}

void am_match_unpost(struct am_match *match, struct am_match_node *node)
{
    if (am_match_is_exact(node->key_mask, node->tag_mask)) {
        match->posted.count--;
    } else {
        match->wild_count--;
    }
    am_list_remove(&node->link);
}

/* One bin, or the wild list; how many were taken. */
static uint32_t take_from(struct am_list *list,
                          bool (*take)(void *arg, struct am_match_node *node),
                          void *arg, struct am_list *taken)
{
    struct am_list *at, *next;
    uint32_t count = 0;

    for (at = list->next; at != list; at = next) {
        next = at->next;
        if (take(arg, am_container(at, struct am_match_node, link))) {
            am_list_remove(at);
            am_list_push(taken, at);
            count++;
        }
    }
    return count;
}

void am_match_take_posted(struct am_match *match,
                          bool (*take)(void *arg, struct am_match_node *node),
                          void *arg, struct am_list *taken)
{
    uint32_t bin_count = 1u << (64 - match->posted.shift);

    for (uint32_t i = 0; i < bin_count; i++) {
        match->posted.count -=
                take_from(&match->posted.bins[i], take, arg, taken);
    }
    match->wild_count -= take_from(&match->wild, take, arg, taken);
}

void am_match_store(struct am_match *match, struct am_match_node *node)
{
    struct am_match_queue *queue = &match->unexpected;

    if (queue->count > queue->limit) {
        am_match_grow(queue);
    }
    queue->count++;
    am_list_push(am_match_bin(queue, node->key, node->tag), &node->link);
    am_list_push(&match->order, &node->order);
}

static bool wanted(const struct am_match_want *want,
                   const struct am_match_node *node)
{
    return (((want->key ^ node->key) & want->key_mask) |
            ((want->tag ^ node->tag) & want->tag_mask)) == 0;
}

struct am_match_node *am_match_find(struct am_match *match,
                                    const struct am_match_want *want)
{
    struct am_list *bin, *at;

    if (match->unexpected.count == 0) {
        return NULL;
    }
    if (am_match_is_exact(want->key_mask, want->tag_mask)) {
        bin = am_match_bin(&match->unexpected, want->key, want->tag);
        for (at = bin->next; at != bin; at = at->next) {
            struct am_match_node *node =
                    am_container(at, struct am_match_node, link);

            (*match->steps)++;
            if (wanted(want, node)) {
                return node;
            }
        }
        return NULL;
    }
    for (at = match->order.next; at != &match->order; at = at->next) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, order);

        (*match->steps)++;
        if (wanted(want, node)) {
            return node;
        }
    }
    return NULL;
}

void am_match_unstore(struct am_match *match, struct am_match_node *node)
{
    match->unexpected.count--;
    am_list_remove(&node->link);
    am_list_remove(&node->order);
}
