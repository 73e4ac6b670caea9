/*
 * The protocol of an agreement (am_agree.h): what each member does when it begins,
 * when a message comes and when somebody dies; and the results, which are kept for
 * those that ask when this member is through already.
 */
#include <mpidimpl.h>
#include "am_agree.h"

#if MPIDI_AM_FT

struct result {
    struct result *next;
    int context_id;
    uint32_t number;
    struct MPIDI_AM_value *value;
};

static struct {
    struct MPIDI_AM_agreement *active;
    struct result *results;
} global;

/* ------------------------------------------------------------- results */

static struct result *result_find(int context_id)
{
    struct result *result = global.results;

    while (result != NULL && result->context_id != context_id) {
        result = result->next;
    }
    return result;
}

void MPIDI_AM_agree_forget(int context_id)
{
    for (struct result ** at = &global.results; *at != NULL; at = &(*at)->next) {
        struct result *result = *at;

        if (result->context_id == context_id) {
            *at = result->next;
            MPL_free(result->value);
            MPL_free(result);
            return;
        }
    }
}

void MPIDI_AM_agree_forget_all(void)
{
    while (global.results != NULL) {
        MPIDI_AM_agree_forget(global.results->context_id);
    }
}

static void result_keep(struct MPIDI_AM_agreement *agreement)
{
    struct result *result = MPL_malloc(sizeof(*result), MPL_MEM_OTHER);

    MPIR_Assertp(result != NULL);
    MPIDI_AM_agree_forget(agreement->comm->recvcontext_id);
    result->context_id = agreement->comm->recvcontext_id;
    result->number = agreement->number;
    result->value = MPIDI_AM_value_copy(agreement->taken);
    result->next = global.results;
    global.results = result;
}

/* ------------------------------------------------------------- the protocol */

static void take(struct MPIDI_AM_agreement *agreement, const struct MPIDI_AM_value *value,
                 int offered_by)
{
    struct MPIDI_AM_value *copy = MPIDI_AM_value_copy(value);

    MPL_free(agreement->taken);
    agreement->taken = copy;
    agreement->offered_by = offered_by;
}

static void finish(struct MPIDI_AM_agreement *agreement, const struct MPIDI_AM_value *value)
{
    take(agreement, value, agreement->offered_by);
    agreement->done = true;
    result_keep(agreement);
    if (agreement->coordinator == agreement->comm->rank) {
        MPIDI_AM_agree_say_all(agreement, MPIDI_AM_DONE, agreement->taken);
        return;
    }
    for (int i = 0; i < agreement->comm->local_size; i++) {
        if (agreement->asked[i]) {
            MPIDI_AM_agree_say(agreement, i, MPIDI_AM_DONE, agreement->taken, 0);
        }
    }
}

/* Of each rank that lives? */
static bool of_all(struct MPIDI_AM_agreement *agreement, const uint8_t * flags)
{
    for (int i = 0; i < agreement->comm->local_size; i++) {
        if (!flags[i] && !MPIDI_AM_member_is_dead(agreement->comm, i)) {
            return false;
        }
    }
    return true;
}

static void coordinate(struct MPIDI_AM_agreement *agreement)
{
    int me = agreement->comm->rank;

    agreement->given[me] = 1;
    if (!agreement->offering) {
        if (!of_all(agreement, agreement->given)) {
            return;
        }
        for (int i = 0; i < agreement->comm->local_size; i++) {
            if (MPIDI_AM_member_is_dead(agreement->comm, i)) {
                MPIDI_AM_value_ranks(agreement->mine)[i] |= MPIDI_AM_RANK_FAILED;
            }
        }
        take(agreement, agreement->taken != NULL ? agreement->taken : agreement->mine, me);
        agreement->offering = true;
        agreement->agreed[me] = 1;
        MPIDI_AM_agree_say_all(agreement, MPIDI_AM_OFFER, agreement->taken);
    }
    if (of_all(agreement, agreement->agreed)) {
        finish(agreement, agreement->taken);
    }
}

static void step(struct MPIDI_AM_agreement *agreement)
{
    int me = agreement->comm->rank, lowest = 0;

    if (agreement->done) {
        return;
    }
    while (lowest < me && MPIDI_AM_member_is_dead(agreement->comm, lowest)) {
        lowest++;
    }
    if (lowest != agreement->coordinator) {
        agreement->coordinator = lowest;
        if (lowest != me) {
            MPIDI_AM_agree_say(agreement, lowest, MPIDI_AM_GIVE,
                               agreement->taken != NULL ? agreement->taken : agreement->mine,
                               agreement->taken != NULL ? agreement->offered_by : -1);
        } else if (me > 0) {
            MPIDI_AM_agree_say_all(agreement, MPIDI_AM_ASK, NULL);
        }
    }
    if (lowest == me) {
        coordinate(agreement);
    }
}

static void given(struct MPIDI_AM_agreement *agreement, const struct MPIDI_AM_wire *wire,
                  const struct MPIDI_AM_value *value)
{
    agreement->given[wire->rank] = 1;
    if (wire->offered_by < 0) {
        MPIDI_AM_value_join(agreement->mine, value);
    } else if (agreement->taken == NULL || wire->offered_by > agreement->offered_by) {
        take(agreement, value, wire->offered_by);
    }
    step(agreement);
}

static void handle(struct MPIDI_AM_agreement *agreement, const struct MPIDI_AM_wire *wire,
                   const struct MPIDI_AM_value *value)
{
    bool has_value = value->count == agreement->mine->count &&
        value->size == agreement->mine->size;

    if (agreement->done || wire->rank < 0 || wire->rank >= agreement->comm->local_size ||
        (!has_value && (wire->type == MPIDI_AM_GIVE || wire->type == MPIDI_AM_OFFER ||
                        wire->type == MPIDI_AM_DONE))) {
        return;
    }
    if (wire->type == MPIDI_AM_DONE) {
        finish(agreement, value);
        return;
    }
    if (MPIDI_AM_member_is_dead(agreement->comm, wire->rank)) {
        return;                 /* the next one coordinates */
    }
    switch (wire->type) {
        case MPIDI_AM_GIVE:
            given(agreement, wire, value);
            break;
        case MPIDI_AM_OFFER:
            take(agreement, value, wire->rank);
            MPIDI_AM_agree_say(agreement, wire->rank, MPIDI_AM_TAKEN, NULL, 0);
            break;
        case MPIDI_AM_TAKEN:
            agreement->agreed[wire->rank] = 1;
            step(agreement);
            break;
        case MPIDI_AM_ASK:
            agreement->asked[wire->rank] = 1;
            break;
        default:
            break;
    }
}

/* ------------------------------------------------------------- what happens */

void MPIDI_AM_agree_begin(struct MPIDI_AM_agreement *agreement)
{
    agreement->next = global.active;
    global.active = agreement;
    MPIDI_AM_agree_letters_read();
    step(agreement);
}

void MPIDI_AM_agree_end(struct MPIDI_AM_agreement *agreement)
{
    struct MPIDI_AM_agreement **at = &global.active;

    while (*at != agreement) {
        at = &(*at)->next;
    }
    *at = agreement->next;
}

bool MPIDI_AM_agree_message(uint32_t source, const struct MPIDI_AM_wire *wire,
                            const struct MPIDI_AM_value *value)
{
    struct MPIDI_AM_agreement *agreement = global.active;
    struct result *result;

    while (agreement != NULL && (agreement->comm->recvcontext_id != wire->context_id ||
                                 agreement->number != wire->number)) {
        agreement = agreement->next;
    }
    if (agreement != NULL) {
        handle(agreement, wire, value);
        return true;
    }
    result = result_find(wire->context_id);
    if (result == NULL || result->number < wire->number) {
        return false;
    }
    if (result->number == wire->number &&
        (wire->type == MPIDI_AM_GIVE || wire->type == MPIDI_AM_ASK)) {
        struct MPIDI_AM_wire answer = *wire;

        answer.type = MPIDI_AM_DONE;
        answer.rank = 0;
        MPIDI_AM_agree_post(source, &answer, result->value);
    }
    return true;
}

void MPIDI_AM_agree_dead(void)
{
    for (struct MPIDI_AM_agreement * at = global.active; at != NULL; at = at->next) {
        step(at);
    }
}

#endif /* MPIDI_AM_FT */
