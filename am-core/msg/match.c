/*
 * The cold half of matching: the bins and their growth, and the queue of
 * posted receives.
 */
#include "msg/match_queue.h"

#include <stdlib.h>

/* ------------------------------------------------------------------- bins */

am_match_class_t am_match_class_of(uint64_t key_mask, uint32_t tag_mask)
{
    bool source = (uint32_t)key_mask == UINT32_MAX;
    bool tag = tag_mask == AM_MATCH_TAG_MASK;

    if (key_mask >> 32 != UINT32_MAX) {
        return AM_MATCH_LOOSE;
    }
    if (source) {
        return tag ? AM_MATCH_EXACT : AM_MATCH_ANY_TAG;
    }
    return tag ? AM_MATCH_ANY_SOURCE : AM_MATCH_ANY;
}

int am_match_queue_init(struct am_match_queue *queue, am_match_class_t class,
                        bool is_index)
{
    queue->bins = malloc(AM_MATCH_BINS_MIN * sizeof(*queue->bins));
    if (queue->bins == NULL) {
        return -1;
    }
    queue->count = 0;
    queue->limit = 2 * AM_MATCH_BINS_MIN;
    queue->shift = 64 - (uint32_t)__builtin_ctz(AM_MATCH_BINS_MIN);
    queue->class = class;
    queue->is_index = is_index;
    for (uint32_t i = 0; i < AM_MATCH_BINS_MIN; i++) {
        am_list_init(&queue->bins[i]);
    }
    return 0;
}

struct am_list *am_match_queue_bin(const struct am_match_queue *queue,
                                   uint64_t key, uint32_t tag)
{
    bool has_source =
            queue->class == AM_MATCH_EXACT || queue->class == AM_MATCH_ANY_TAG;
    bool has_tag = queue->class == AM_MATCH_EXACT ||
                   queue->class == AM_MATCH_ANY_SOURCE;

    return am_match_bin(queue, has_source ? key : key >> 32 << 32,
                        has_tag ? tag : 0);
}

static const struct am_match_node *node_of(const struct am_match_queue *queue,
                                           struct am_list *at)
{
    if (queue->is_index) {
        return am_container(at - queue->class, struct am_match_links, link)
                ->node;
    }
    return am_container(at, struct am_match_node, link);
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
            const struct am_match_node *node = node_of(queue, at);

            am_list_push(am_match_queue_bin(queue, node->key, node->tag), at);
        }
    }
    free(old);
}

/* ------------------------------------------------------------ the whole */

int am_match_init(struct am_match *match, uint64_t *steps)
{
    int failed = 0;

    *match = (struct am_match){.steps = steps};
    am_list_init(&match->loose);
    am_list_init(&match->order);
    failed |= am_match_queue_init(&match->posted, AM_MATCH_EXACT, false);
    failed |= am_match_queue_init(&match->unexpected, AM_MATCH_EXACT, false);
    for (int i = 0; i < AM_MATCH_WILD_COUNT; i++) {
        failed |= am_match_queue_init(&match->wild[i], (am_match_class_t)i,
                                      false);
    }
    if (failed != 0) {
        am_match_fini(match);
    }
    return failed;
}

void am_match_fini(struct am_match *match)
{
    free(match->posted.bins);
    free(match->unexpected.bins);
    for (int i = 0; i < AM_MATCH_WILD_COUNT; i++) {
        free(match->wild[i].bins);
        free(match->index[i].bins);
    }
}

/* --------------------------------------------------------------- receives */

void am_match_post_wild(struct am_match *match, struct am_match_node *node)
{
    am_match_class_t class = am_match_class_of(node->key_mask, node->tag_mask);
    struct am_match_queue *queue;

    match->wild_count++;
    if (class == AM_MATCH_LOOSE) {
        am_list_push(&match->loose, &node->link);
        return;
    }
    queue = &match->wild[class];
    am_list_push(am_match_queue_bin(queue, node->key, node->tag), &node->link);
    if (++queue->count > queue->limit) {
        am_match_grow(queue);
    }
}

/* The first receive of a list that fits, if it is older than `best`; else
 * `best`, which may be NULL. */
static struct am_match_node *older(struct am_match *match, struct am_list *list,
                                   uint64_t key, uint32_t tag,
                                   struct am_match_node *best)
{
    for (struct am_list *at = list->next; at != list; at = at->next) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, link);

        if (best != NULL && node->stamp > best->stamp) {
            break;
        }
        (*match->steps)++;
        if (am_match_fits(node, key, tag)) {
            return node;
        }
    }
    return best;
}

/* The exact receive that fits is not the one if a wild one is older.  Apart from
 * am_match_arrive, which then keeps little in registers that it has to save. */
static __attribute__((noinline)) struct am_match_node *
arrive_wild(struct am_match *match, struct am_match_node *exact, uint64_t key,
            uint32_t tag)
{
    struct am_match_node *best = exact;

    for (int i = 0; i < AM_MATCH_WILD_COUNT; i++) {
        struct am_match_queue *queue = &match->wild[i];

        if (queue->count != 0) {
            best = older(match, am_match_queue_bin(queue, key, tag), key, tag,
                         best);
        }
    }
    best = older(match, &match->loose, key, tag, best);
    if (best != NULL) {
        am_match_unpost(match, best);
    }
    return best;
}

struct am_match_node *am_match_arrive(struct am_match *match, uint64_t key,
                                      uint32_t tag)
{
    struct am_list *bin = am_match_bin(&match->posted, key, tag);
    struct am_match_node *exact = NULL;

    for (struct am_list *at = bin->next; at != bin; at = at->next) {
        struct am_match_node *node =
                am_container(at, struct am_match_node, link);

        (*match->steps)++;
        if (am_match_fits(node, key, tag)) {
            exact = node;
            break;
        }
    }
    if (__builtin_expect(match->wild_count != 0, 0)) {
        return arrive_wild(match, exact, key, tag);
    }
    if (exact != NULL) {
        match->posted.count--;
        am_list_cut(&exact->link);
    }
    return exact;
}

void am_match_unpost(struct am_match *match, struct am_match_node *node)
{
    am_match_class_t class = am_match_class_of(node->key_mask, node->tag_mask);

    if (class == AM_MATCH_EXACT) {
        match->posted.count--;
    } else {
        match->wild_count--;
    }
    if (class < AM_MATCH_WILD_COUNT) {
        match->wild[class].count--;
    }
    am_list_remove(&node->link);
}

/* One list; how many were taken. */
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

/* All bins of a queue; how many were taken. */
static uint32_t take_queue(struct am_match_queue *queue,
                           bool (*take)(void *arg, struct am_match_node *node),
                           void *arg, struct am_list *taken)
{
    uint32_t bin_count = 1u << (64 - queue->shift);
    uint32_t count = 0;

    for (uint32_t i = 0; i < bin_count; i++) {
        count += take_from(&queue->bins[i], take, arg, taken);
    }
    queue->count -= count;
    return count;
}

void am_match_take_posted(struct am_match *match,
                          bool (*take)(void *arg, struct am_match_node *node),
                          void *arg, struct am_list *taken)
{
    take_queue(&match->posted, take, arg, taken);
    for (int i = 0; i < AM_MATCH_WILD_COUNT; i++) {
        match->wild_count -= take_queue(&match->wild[i], take, arg, taken);
    }
    match->wild_count -= take_from(&match->loose, take, arg, taken);
}
