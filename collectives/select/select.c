/*
 * The choice of select.h.
 */
#include "config.h"

#include "collectives/algo/list.h"
#include "collectives/select/select.h"
#include "collectives/shared/way.h"

#include <stdlib.h>
#include <string.h>

/* Lengths of pieces that are tried. */
static const size_t chunks[] = {SIZE_MAX, (size_t)8 << 10, (size_t)32 << 10,
                                (size_t)128 << 10};

/* Of a reduction up a tree, the scratch memory of the member that holds most: a piece of
 * each child's and of the sum, or two of each.  So much of it is kept from call to call;
 * to make more of it each time, page by page, costs more than the reduction. */
#define SCRATCH_MOST ((size_t)3 << 20)
#define PIECE_UNIT   ((size_t)4 << 10)

/* Values, or blocks, of a node are one run of all members' only if its members are. */
static bool levels_fit(const struct am_coll_numbers *numbers,
                       const struct am_coll_wish *wish)
{
    bool wants_runs = wish->kind == AM_COLL_ALLGATHER || !wish->commutes;

    return numbers->node_count > 0 && (numbers->nodes_are_runs || !wants_runs);
}

static bool network_fits(am_coll_network_use_t use,
                         const struct am_coll_numbers *numbers,
                         const struct am_coll_wish *wish)
{
    switch (use) {
    case AM_COLL_NETWORK_UNUSED:
        return true;
    case AM_COLL_NETWORK_CASTS:
        return numbers->network.multicast_ps > 0 && numbers->eager_max > 0;
    case AM_COLL_NETWORK_COMBINES:
        break;
    }
    return numbers->may_combine &&
           (wish->kind == AM_COLL_BARRIER || wish->kind == AM_COLL_BCAST ||
            (wish->combine != AM_DEV_COMBINE_NONE &&
             wish->combine != AM_DEV_COMBINE_CAST));
}

bool am_coll_is_fit(const struct am_coll_algorithm *algorithm,
                    const struct am_coll_numbers *numbers,
                    const struct am_coll_wish *wish)
{
    return (wish->commutes || algorithm->keeps_order) &&
           (!wish->is_vector || algorithm->takes_vector) &&
           (!algorithm->has_levels || levels_fit(numbers, wish)) &&
           network_fits(algorithm->network, numbers, wish) &&
           (algorithm->way == NULL ||
            (numbers->shared.slot_bytes > 0 && algorithm->way->fits(wish)));
}

uint64_t am_coll_plan_ps(const struct am_coll_numbers *numbers,
                         const struct am_coll_wish *wish,
                         const struct am_coll_plan *plan)
{
    struct am_coll_cost cost = {.numbers = numbers,
                                .size = wish->size,
                                .bytes = wish->bytes,
                                .shape = plan->shape,
                                .chunk = plan->chunk_bytes};
    am_coll_cost_fn crowd = plan->algorithm->crowd;

    if (wish->size < 2) {
        return 0;
    }
    return crowd != NULL && am_cost_is_crowded(&cost)
                   ? crowd(&cost)
                   : plan->algorithm->cost(&cost);
}

/* A plan without a length of pieces gets one where the whole would be too much. */
static void pieces_bound(const struct am_coll_wish *wish,
                         struct am_coll_plan *plan)
{
    bool goes_up = plan->algorithm->build == am_reduce_shape ||
                   plan->algorithm->build == am_allreduce_shape;
    size_t held, piece;

    if (!goes_up || plan->chunk_bytes != SIZE_MAX) {
        return;
    }
    held = 1 + am_tree_child_count(plan->shape,
                                   (struct am_tree_span){0, wish->size});
    if (wish->bytes > SCRATCH_MOST / held) {
        piece = SCRATCH_MOST / 2 / held / PIECE_UNIT * PIECE_UNIT;
        plan->chunk_bytes = piece < PIECE_UNIT ? PIECE_UNIT : piece;
    }
}

uint64_t am_coll_pieces_find(const struct am_coll_numbers *numbers,
                             const struct am_coll_wish *wish,
                             struct am_coll_plan *plan)
{
    size_t count =
            plan->algorithm->has_chunk ? sizeof(chunks) / sizeof(chunks[0]) : 1;
    struct am_coll_plan at = *plan;
    uint64_t best_ps = AM_COST_NEVER;

    for (size_t i = 0; i < count; i++) {
        uint64_t ps;

        if (i > 0 && chunks[i] >= wish->bytes) {
            break;
        }
        at.chunk_bytes = chunks[i];
        pieces_bound(wish, &at);
        ps = am_coll_plan_ps(numbers, wish, &at);
        if (i == 0 || ps < best_ps) {
            *plan = at;
            best_ps = ps;
        }
    }
    return best_ps;
}

/* Compare an algorithm with the best so far. */
static void try(const struct am_coll_numbers *numbers,
                const struct am_coll_wish *wish,
                const struct am_coll_algorithm *algorithm,
                struct am_coll_plan *best, uint64_t *best_ps)
{
    struct am_coll_plan plan = {.algorithm = algorithm,
                                .shape = algorithm->shape,
                                .why = best->why};
    uint64_t ps = am_coll_pieces_find(numbers, wish, &plan);

    if (ps < *best_ps) {
        *best = plan;
        *best_ps = ps;
    }
}

/* The first that is fit, but rather one through memory that all see, if long
 * blocks can be read. */
static void vector_try(const struct am_coll_numbers *numbers,
                       const struct am_coll_algorithm *algorithm,
                       struct am_coll_plan *plan)
{
    bool is_shared = algorithm->way != NULL;

    if (is_shared ? (numbers->caps & AM_DEV_CAP_GET) != 0
                  : plan->algorithm == NULL) {
        plan->algorithm = algorithm;
        plan->shape = algorithm->shape;
        plan->chunk_bytes = SIZE_MAX;
    }
}

/* Of those that are fit: into *plan, and what it costs. */
static uint64_t cheapest_find(const struct am_coll_numbers *numbers,
                              const struct am_coll_wish *wish,
                              struct am_coll_plan *plan)
{
    const struct am_coll_algorithm *algorithm = am_coll_algorithms[wish->kind];
    uint64_t best_ps = UINT64_MAX;

    for (; algorithm->name != NULL; algorithm++) {
        if (!am_coll_is_fit(algorithm, numbers, wish)) {
            continue;
        }
        if (wish->is_vector) { /* members do not know each other's lengths */
            vector_try(numbers, algorithm, plan);
            continue;
        }
        try(numbers, wish, algorithm, plan, &best_ps);
    }
    return best_ps;
}

struct am_coll_plan am_coll_select(const struct am_coll_config *config,
                                   const struct am_coll_numbers *numbers,
                                   const struct am_coll_wish *wish)
{
    struct am_coll_plan plan = {.why = AM_COLL_WHY_COST};

    if (am_coll_plan_parse(wish->kind, config->algorithm[wish->kind], &plan)) {
        if (am_coll_is_fit(plan.algorithm, numbers, wish)) {
            plan.why = AM_COLL_WHY_SET;
            pieces_bound(wish, &plan);
            return plan;
        }
        plan.why = AM_COLL_WHY_UNFIT;
        plan.algorithm = NULL;
    }
    cheapest_find(numbers, wish, &plan);
    return plan;
}

uint64_t am_coll_least_ps(const struct am_coll_numbers *numbers,
                          const struct am_coll_wish *wish)
{
    struct am_coll_plan plan = {.why = AM_COLL_WHY_COST};

    return cheapest_find(numbers, wish, &plan);
}

/* "name", with ":count" and "/bytes" where the algorithm has them. */
bool am_coll_plan_parse(am_coll_kind_t kind, const char *text,
                        struct am_coll_plan *plan)
{
    size_t length = strcspn(text, ":/"), chunk = SIZE_MAX;
    const struct am_coll_algorithm *algorithm = am_coll_algorithms[kind];
    const char *rest = text + length;
    am_tree_shape_t shape;

    while (algorithm->name != NULL &&
           (strlen(algorithm->name) != length ||
            strncmp(algorithm->name, text, length) != 0)) {
        algorithm++;
    }
    if (algorithm->name == NULL) {
        return false;
    }
    shape = algorithm->shape;
    if (*rest == ':' && algorithm->has_shape) {
        char *end;
        unsigned long count = strtoul(rest + 1, &end, 10);

        if (rest[1] < '0' || rest[1] > '9' || count == 0 ||
            count >= UINT32_MAX) {
            return false;
        }
        shape = (am_tree_shape_t)count;
        rest = end;
    }
    if (*rest == '/' && algorithm->has_chunk) {
        if (am_config_parse_bytes(rest + 1, &chunk) != AM_OK || chunk == 0) {
            return false;
        }
        rest = "";
    }
    plan->algorithm = algorithm;
    plan->shape = shape;
    plan->chunk_bytes = chunk;
    return *rest == '\0';
}
