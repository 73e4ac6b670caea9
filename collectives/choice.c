/*
 * The algorithm for a call: as for the last of its kind, or chosen anew.
 */
#include "config.h"

#include "collectives/numbers.h"
#include "collectives/shared/way.h"

/* What all members must agree on: as a hash, but for the root. */
static uint32_t print_of(const struct am_coll_numbers *numbers,
                         const struct am_coll_wish *wish,
                         const struct am_coll_plan *plan)
{
    uint64_t parts[] = {
            wish->kind,
            wish->is_vector ? 0 : wish->bytes,
            wish->is_vector,
            wish->commutes,
            (uint64_t)(plan->algorithm - am_coll_algorithms[wish->kind]),
            plan->shape,
            plan->chunk_bytes,
            am_shared_room(numbers, wish->kind, wish->size, wish->bytes)};
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a, by words */

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        hash = (hash ^ parts[i]) * UINT64_C(1099511628211);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static bool wishes_are_same(const struct am_coll_wish *a,
                            const struct am_coll_wish *b)
{
    return a->bytes == b->bytes && a->unit == b->unit &&
           a->combine == b->combine && a->commutes == b->commutes &&
           a->is_vector == b->is_vector;
}

static struct am_coll_wish wish_of(const struct am_coll_group *group,
                                   const struct am_coll_call *call)
{
    bool is_reduction = am_coll_has_operator(call->kind);
    size_t unit = am_coll_unit_of(call);

    return (struct am_coll_wish){
            .kind = call->kind,
            .size = group->size,
            .bytes = call->is_vector ? 0 : call->count * unit,
            .unit = unit,
            .commutes = !is_reduction || call->op.is_commutative,
            .is_vector = call->is_vector,
            .combine = is_reduction && group->numbers.may_combine
                               ? am_net_combine_of(&call->op)
                               : AM_DEV_COMBINE_NONE};
}

bool am_coll_is_as_before(const struct am_coll_group *group,
                          const struct am_coll_call *call)
{
    const struct am_coll_choice *choice;

    if ((unsigned)call->kind >= AM_COLL_KINDS || call->is_vector ||
        call->root >= group->size || group->numbers.may_combine) {
        return false;
    }
    choice = &group->chosen[call->kind];
    if (choice->plan.algorithm == NULL || choice->wish.is_vector ||
        choice->count != call->count ||
        (call->send == NULL && !am_coll_may_be_in_place(call->kind))) {
        return false;
    }
    return !am_coll_has_operator(call->kind) ||
           (call->op.reduce != NULL &&
            call->op.element_bytes == choice->wish.unit &&
            call->op.is_commutative == choice->wish.commutes);
}

const struct am_coll_choice *am_coll_choice_of(struct am_coll_group *group,
                                               const struct am_coll_call *call)
{
    struct am_coll_choice *choice = &group->chosen[call->kind];
    struct am_coll_wish wish;

    if (am_coll_is_as_before(group, call)) {
        return choice;
    }
    wish = wish_of(group, call);
    if (choice->plan.algorithm == NULL ||
        !wishes_are_same(&choice->wish, &wish)) {
        choice->plan =
                am_coll_select(group->coll->config, &group->numbers, &wish);
        choice->wish = wish;
        choice->print = print_of(&group->numbers, &wish, &choice->plan);
        choice->is_one_turn = am_shared_is_one_turn(&group->numbers,
                                                    choice->plan.algorithm->way,
                                                    &wish, &choice->written);
    }
    choice->count = call->count;
    choice->weight = am_coll_weight_of(call);
    return choice;
}
