/*
 * Which members of a group are on one node, and the two groups that a collective of
 * two levels is made of (algo/nodes.c): the members of my node, and the first
 * members of all nodes.  They are the library's own, opened with the first such
 * collective; what is asked of them comes from their parent only.
 */
#include "config.h"

#include "collectives/message.h"

#include <stdlib.h>
#include <string.h>

/* Ids of callers are below: am_coll_group_open. */
#define ID_INNER ((uint32_t)1 << 31)
#define ID_OUTER ((uint32_t)1 << 30)

_Static_assert(AM_COLL_ID_MAX < ID_OUTER, "ids of callers' groups");

/* ------------------------------------------------------------ who is where */

static struct am_peer *near_peer(const struct am_coll_group *group,
                                 uint32_t member)
{
    struct am_ctx *ctx = group->coll->ctx;
    uint64_t ranks = group->coll->config->node_ranks;
    uint32_t index = am_coll_member(group, member);
    am_status_t status;
    struct am_peer *peer;

    if (index >= am_size(ctx) ||
        (ranks > 0 && index / ranks != am_rank(ctx) / ranks)) {
        return NULL;
    }
    peer = am_peer_get(ctx, index, &status);
    return peer != NULL && peer->dev != NULL &&
                           (peer->dev->attr.caps & AM_DEV_CAP_MAPPED) != 0
                   ? peer
                   : NULL;
}

bool am_coll_nodes_have(const struct am_coll_group *group, uint32_t member)
{
    return member == group->rank || near_peer(group, member) != NULL;
}

uint32_t am_coll_nodes_first(const struct am_coll_group *group)
{
    uint32_t first = 0;

    while (!am_coll_nodes_have(group, first)) {
        first++;
    }
    return first;
}

struct am_coll_near am_coll_nodes_near(const struct am_coll_group *group)
{
    const struct am_coll_config *config = group->coll->config;
    const struct am_coll_numbers *far = &group->numbers;
    struct am_coll_near near = {.perf = far->perf,
                                .caps = far->caps,
                                .packet_bytes = far->packet_bytes,
                                .eager_max = far->eager_max,
                                .ready_bytes = far->ready_bytes,
                                .lane_bytes = far->lane_bytes};

    for (uint32_t i = 1; i < group->size; i++) {
        struct am_coll_numbers numbers;

        if (near_peer(group, i) != NULL &&
            am_coll_numbers_of(group->coll->ctx, am_coll_member(group, i),
                               config, &numbers)) {
            return (struct am_coll_near){
                    .perf = numbers.perf,
                    .caps = numbers.caps,
                    .packet_bytes = numbers.packet_bytes,
                    .eager_max = numbers.eager_max,
                    .ready_bytes = numbers.ready_bytes,
                    .lane_bytes = numbers.lane_bytes,
                    .slot_bytes = config->shared ? AM_SHARED_SLOT_BYTES : 0,
                    .follow = numbers.follow};
        }
    }
    return near;
}

/* Is it an answer that members can have given? */
static bool is_sound(const uint32_t *first, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        if (first[i] > i || first[first[i]] != first[i]) {
            return false;
        }
    }
    return true;
}

static uint32_t nodes_count(const uint32_t *first, uint32_t size)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < size; i++) {
        count += first[i] == i;
    }
    return count;
}

static struct am_coll_nodes *nodes_new(uint32_t size, uint32_t count)
{
    size_t numbers = 2 * (size_t)size + count + 1;
    struct am_coll_nodes *nodes =
            malloc(sizeof(*nodes) + numbers * sizeof(uint32_t));

    if (nodes != NULL) {
        memset(nodes, 0, sizeof(*nodes) + numbers * sizeof(uint32_t));
        nodes->count = count;
        nodes->node = (uint32_t *)(nodes + 1);
        nodes->place = nodes->node + size;
        nodes->first = nodes->place + size;
        nodes->first[count] = size;
    }
    return nodes;
}

/* Number them, and the members of each; the most that a node has. */
static uint32_t nodes_fill(struct am_coll_nodes *nodes, const uint32_t *first,
                           uint32_t size)
{
    uint32_t count = 0, most = 0;

    for (uint32_t i = 0; i < size; i++) {
        if (first[i] == i) {
            nodes->first[count] = i;
            nodes->node[i] = count++;
            nodes->place[i] = 0;
        } else {
            nodes->node[i] = nodes->node[first[i]];
            /* until all are counted, the first has the last place */
            nodes->place[i] = ++nodes->place[first[i]];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *place = &nodes->place[nodes->first[i]];

        most = *place + 1 > most ? *place + 1 : most;
        *place = 0;
    }
    return most;
}

am_status_t am_coll_nodes_set(struct am_coll_group *group,
                              const uint32_t *first)
{
    struct am_coll_numbers *numbers = &group->numbers;
    uint32_t size = group->size, count;

    numbers->node_count = 0;
    if (!is_sound(first, size)) {
        return AM_OK;
    }
    count = nodes_count(first, size);
    if (count == 1 || count == size) {
        return AM_OK;
    }
    group->nodes = nodes_new(size, count);
    if (group->nodes == NULL) {
        return AM_ERR_MEMORY;
    }
    numbers->node_count = count;
    numbers->node_members_max = nodes_fill(group->nodes, first, size);
    numbers->nodes_are_runs = true;
    for (uint32_t i = 1; i < size; i++) {
        if (group->nodes->node[i] < group->nodes->node[i - 1]) {
            numbers->nodes_are_runs = false;
        }
    }
    return AM_OK;
}

/* ------------------------------------------------------------- their groups */

/* Of those members that are on my node, or are first members. */
static am_status_t level_open(struct am_coll_group *group, bool is_inner,
                              struct am_coll_group **level_p)
{
    const struct am_coll_nodes *nodes = group->nodes;
    uint32_t *ranks = malloc(group->size * sizeof(*ranks));
    uint32_t count = 0;
    am_status_t status;

    if (ranks == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < group->size; i++) {
        if (is_inner ? nodes->node[i] == nodes->node[group->rank]
                     : nodes->place[i] == 0) {
            ranks[count++] = am_coll_member(group, i);
        }
    }
    status = am_coll_group_new(group->coll,
                               group->id | (is_inner ? ID_INNER : ID_OUTER),
                               ranks, count, group, level_p);
    free(ranks);
    return status;
}

am_status_t am_coll_nodes_open(struct am_coll_group *group)
{
    struct am_coll_nodes *nodes = group->nodes;
    am_status_t status = AM_OK;

    if (nodes->inner == NULL) {
        status = level_open(group, true, &nodes->inner);
    }
    if (status == AM_OK && nodes->outer == NULL &&
        nodes->place[group->rank] == 0) {
        status = level_open(group, false, &nodes->outer);
    }
    return status;
}

am_status_t am_coll_nodes_close(struct am_coll_group *group)
{
    struct am_coll_nodes *nodes = group->nodes;

    if (nodes == NULL) {
        return AM_OK;
    }
    if (nodes->inner != NULL &&
        am_coll_group_close(nodes->inner) == AM_ERR_AGAIN) {
        return AM_ERR_AGAIN;
    }
    if (nodes->outer != NULL &&
        am_coll_group_close(nodes->outer) == AM_ERR_AGAIN) {
        return AM_ERR_AGAIN;
    }
    free(nodes);
    group->nodes = NULL;
    return AM_OK;
}

void am_coll_nodes_forget(const struct am_coll_group *level)
{
    struct am_coll_nodes *nodes =
            level->parent == NULL ? NULL : level->parent->nodes;

    if (nodes != NULL) {
        *(nodes->inner == level ? &nodes->inner : &nodes->outer) = NULL;
    }
}

static void level_end(struct am_coll_group *level, am_status_t status)
{
    if (level != NULL) {
        am_coll_group_end(level, status);
    }
}

void am_coll_nodes_fail(struct am_coll_req *req)
{
    const struct am_coll_nodes *nodes = req->group->nodes;

    level_end(nodes->inner, req->status);
    level_end(nodes->outer, req->status);
}
