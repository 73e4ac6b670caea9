/*
 * Which algorithm a call uses: the one that a variable names, or the cheapest of
 * those that are fit for it.
 */
#ifndef AM_COLLECTIVES_SELECT_H
#define AM_COLLECTIVES_SELECT_H

#include "base/config.h"
#include "collectives/select/cost.h"

/* The variables of the module. */
struct am_coll_config {
    size_t eager_max;
    uint64_t window;
    int shared; /* bool: AM_COLL_SHARED */
    uint64_t node_ranks;
    char algorithm[AM_COLL_KINDS][AM_CONFIG_TEXT_BYTES];
};

extern const struct am_config_table am_coll_config_table;

typedef enum {
    AM_COLL_WHY_COST,
    AM_COLL_WHY_SET,
    AM_COLL_WHY_UNFIT /* a variable names one that is not fit for the call */
} am_coll_why_t;

/* An algorithm with its parameters. */
struct am_coll_plan {
    const struct am_coll_algorithm *algorithm;
    am_tree_shape_t shape;
    size_t chunk_bytes; /* SIZE_MAX: one piece */
    am_coll_why_t why;
};

/* What a choice depends on; all members have the same. */
struct am_coll_wish {
    am_coll_kind_t kind;
    uint32_t size;
    size_t bytes; /* as am_coll_cost; of no meaning with is_vector */
    size_t unit;  /* bytes that it may be cut at */
    bool commutes, is_vector;
    am_dev_combine_t combine; /* what a network has of the operator */
};

/* Read "name", "kary:8", "ring/64k"; false when it is not one of the kind's. */
bool am_coll_plan_parse(am_coll_kind_t kind, const char *text,
                        struct am_coll_plan *plan);

/* Can the algorithm do it at all? */
bool am_coll_is_fit(const struct am_coll_algorithm *algorithm,
                    const struct am_coll_numbers *numbers,
                    const struct am_coll_wish *wish);

/* The plan for a wish.  Costs some hundred instructions for each algorithm. */
struct am_coll_plan am_coll_select(const struct am_coll_config *config,
                                   const struct am_coll_numbers *numbers,
                                   const struct am_coll_wish *wish);

/* The cheapest pieces of the plan's algorithm, and what it costs then, picoseconds;
 * AM_COST_NEVER: only a variable chooses it. */
uint64_t am_coll_pieces_find(const struct am_coll_numbers *numbers,
                             const struct am_coll_wish *wish,
                             struct am_coll_plan *plan);

/* What the cheapest plan costs, picoseconds. */
uint64_t am_coll_least_ps(const struct am_coll_numbers *numbers,
                          const struct am_coll_wish *wish);

/* What a plan would cost, picoseconds. */
uint64_t am_coll_plan_ps(const struct am_coll_numbers *numbers,
                         const struct am_coll_wish *wish,
                         const struct am_coll_plan *plan);

/* The plans of all kinds by size, with reasons, for `size` members, as text; as
 * snprintf. */
size_t am_coll_describe(const struct am_coll_config *config,
                        const struct am_coll_numbers *numbers, uint32_t size,
                        char *text, size_t bytes);

#endif
