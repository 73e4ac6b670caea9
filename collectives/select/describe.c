/*
 * The choices as text, with the costs that led to them: what `am_info --coll`
 * shows.
 */
#include "config.h"

#include "base/text.h"
#include "collectives/select/select.h"

#include <inttypes.h>

enum {
    SHIFT_MAX = 22 /* sizes up to 4 MiB are shown */
};

static void out_plan(struct am_text *out, const struct am_coll_plan *plan)
{
    am_text_add(out, "%s", plan->algorithm->name);
    if (plan->algorithm->has_shape) {
        am_text_add(out, ":%" PRIu32, plan->shape);
    }
    if (plan->chunk_bytes != SIZE_MAX) {
        am_text_add(out, "/");
        am_text_size(out, plan->chunk_bytes);
    }
}

static bool plans_are_same(const struct am_coll_plan *a,
                           const struct am_coll_plan *b)
{
    return a->algorithm == b->algorithm && a->shape == b->shape &&
           a->chunk_bytes == b->chunk_bytes && a->why == b->why;
}

/* The best of each algorithm, so that one sees how near they are. */
static void out_others(struct am_text *out,
                       const struct am_coll_numbers *numbers,
                       const struct am_coll_wish *wish)
{
    const struct am_coll_algorithm *algorithm = am_coll_algorithms[wish->kind];

    am_text_add(out, "; us at ");
    am_text_size(out, wish->bytes);
    am_text_add(out, ":");
    for (; algorithm->name != NULL; algorithm++) {
        struct am_coll_plan plan = {.algorithm = algorithm,
                                    .shape = algorithm->shape};
        uint64_t ps;

        if (!am_coll_is_fit(algorithm, numbers, wish)) {
            continue;
        }
        ps = am_coll_pieces_find(numbers, wish, &plan);
        if (ps == AM_COST_NEVER) {
            continue;
        }
        am_text_add(out, " ");
        out_plan(out, &plan);
        am_text_add(out, " %" PRIu64 ".%" PRIu64, ps / 1000000,
                    ps / 100000 % 10);
    }
}

static void out_row(struct am_text *out, const struct am_coll_numbers *numbers,
                    struct am_coll_wish wish, size_t end,
                    const struct am_coll_plan *plan)
{
    static const char *const why[] = {
            [AM_COLL_WHY_COST] = "lowest cost",
            [AM_COLL_WHY_SET] = "set by a variable",
            [AM_COLL_WHY_UNFIT] = "lowest cost, the variable's is not fit",
    };

    am_text_add(out, "  ");
    if (wish.kind != AM_COLL_BARRIER) {
        am_text_size(out, wish.bytes);
        am_text_add(out, " to ");
        if (end == SIZE_MAX) {
            am_text_add(out, "any");
        } else {
            am_text_size(out, end);
        }
        am_text_add(out, ": ");
    }
    out_plan(out, plan);
    am_text_add(out, ", %s", why[plan->why]);
    if (plan->why != AM_COLL_WHY_SET) {
        out_others(out, numbers, &wish);
    }
    am_text_add(out, "\n");
}

/* Rows of one kind: sizes that are powers of two, as long as the plan stays. */
static void out_kind(struct am_text *out, const struct am_coll_config *config,
                     const struct am_coll_numbers *numbers,
                     struct am_coll_wish wish)
{
    uint32_t shift_max = wish.kind == AM_COLL_BARRIER ? 0 : SHIFT_MAX;
    struct am_coll_plan plan = {.algorithm = NULL};
    size_t first = 0;

    am_text_add(out, "%s, %" PRIu32 " ranks, %s\n",
                am_coll_kind_names[wish.kind], wish.size,
                wish.kind == AM_COLL_BARRIER ? "no bytes"
                                             : "bytes of the count");
    for (uint32_t shift = 0; shift <= shift_max + 1; shift++) {
        struct am_coll_plan next = {.algorithm = NULL};

        wish.bytes = shift_max == 0 ? 0 : (size_t)1 << shift;
        if (shift <= shift_max) {
            next = am_coll_select(config, numbers, &wish);
        }
        if (plan.algorithm != NULL && !plans_are_same(&plan, &next)) {
            struct am_coll_wish at = wish;

            at.bytes = first;
            out_row(out, numbers, at,
                    shift > shift_max ? SIZE_MAX : wish.bytes - 1, &plan);
            plan.algorithm = NULL;
        }
        if (plan.algorithm == NULL) {
            first = wish.bytes;
            plan = next;
        }
    }
}

size_t am_coll_describe(const struct am_coll_config *config,
                        const struct am_coll_numbers *numbers, uint32_t size,
                        char *text, size_t bytes)
{
    struct am_text out = {.text = text, .bytes = bytes};

    if (am_coll_is_crowded(numbers)) {
        uint64_t round_ps = am_coll_round_ps(numbers);

        am_text_add(&out,
                    "%" PRIu32 " ranks to a core; they go round in %" PRIu64
                    ".%" PRIu64 " us (%s)\n",
                    numbers->perf.core_ranks, round_ps / 1000000,
                    round_ps / 100000 % 10,
                    numbers->perf.round_ps > 0 ? "measured" : "built in");
    }
    for (int kind = 0; kind < AM_COLL_KINDS; kind++) {
        struct am_coll_wish wish = {.kind = (am_coll_kind_t)kind,
                                    .size = size,
                                    .unit = 1,
                                    .commutes = true};

        out_kind(&out, config, numbers, wish);
    }
    return out.length;
}
