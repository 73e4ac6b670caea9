/*
 * A collective of one turn, made in the call that starts it: no request, nothing queued.
 *
 * So go most calls where each member has a core, and what a call does besides writing
 * and reading a flag is most of what it costs between cores that share a cache.  If the
 * others are not there in time, the call is queued as any other (shared/turn.c), with
 * its turn begun.  A barrier that a member leads (shared/barrier.c) has two turns.
 */
#include "config.h"

#include "collectives/numbers.h"
#include "collectives/shared/flags.h"
#include "collectives/shared/way.h"

/* Looks here for each of am_shared_patience: one here takes less time than one
 * in shared/turn.c. */
#define LOOKS 3

/* Of a caller that does not wait: about the time of a short payload between far cores.
 * One call in so many looks for so long in any case. */
#define BRIEF_MAX   64
#define BRIEF_TRIED 16

/* Of payloads: 64 bytes to 2 KiB that two members exchange take 0.9 to 0.95 times as long
 * (Intel's Emerald Rapids), and 4 KiB 1.03 times. */
#define EXCHANGED_MOST ((size_t)2048)

/* Is the next barrier one that a member leads (shared/barrier.c)? */
static bool is_led_next(const struct am_coll_group *group)
{
    return !group->has_met && group->leader < group->size;
}

bool am_shared_is_one_turn(const struct am_coll_numbers *numbers,
                           const struct am_shared_way *way,
                           const struct am_coll_wish *wish, size_t *written_p)
{
    *written_p =
            way == &am_shared_by_pieces
                    ? wish->bytes * am_shared_blocks(wish->kind, wish->size)
                    : 0;
    return !wish->is_vector &&
           *written_p <= am_shared_room(numbers, wish->kind, wish->size,
                                        wish->bytes) &&
           (way == &am_shared_by_pieces || way == &am_shared_by_flags);
}

bool am_shared_may_be_once(const struct am_coll_group *group,
                           const struct am_coll_call *call)
{
    const struct am_shared *shared = group->shared;

    return group->chosen[call->kind].is_one_turn && shared != NULL &&
           group->has_numbers && group->telling == NULL &&
           am_list_is_empty(&group->turns) && !group->has_held &&
           !shared->is_asleep && !shared->owes_nudges &&
           !am_coll_telling_is_due(group);
}

/* Look for the flags of the members from shared->ahead_at to `last`, and look
 * `looks` times more while one is missing. */
static bool look(struct am_shared *shared, uint32_t last, uint32_t turn,
                 uint64_t flag, uint32_t looks)
{
    uint32_t at = shared->ahead_at;

    for (;;) {
        while (at <= last && (at == shared->rank ||
                              am_shared_flag_of(shared, at, turn) == flag)) {
            at++;
        }
        if (at > last || looks-- == 0) {
            shared->ahead_at = at;
            return at > last;
        }
        am_barrier_look();
    }
}

/* Looks in a call: a caller that does not wait makes BRIEF_MAX at most, and few
 * or none where they have found nothing. */
static uint32_t looks_of(struct am_coll_group *group, bool is_waited_for)
{
    struct am_shared *shared = group->shared;

    if (is_waited_for) {
        return LOOKS * am_shared_patience(group);
    }
    if (am_coll_is_crowded(&group->numbers)) {
        return 0;
    }
    return ++shared->briefs % BRIEF_TRIED == 0 ? BRIEF_MAX : shared->brief;
}

static void learn(struct am_coll_group *group, bool is_waited_for, bool found)
{
    if (is_waited_for) {
        am_shared_learn(group, found);
    } else if (found) {
        group->shared->brief = BRIEF_MAX;
    } else {
        group->shared->brief /= 2;
    }
}

/* Wait for those whose data is taken in this turn, which I have begun; `root`:
 * whose it is where one member gives all. */
static bool wait(struct am_coll_group *group, am_shared_whose_t whose,
                 uint32_t root, uint32_t turn, uint32_t print,
                 bool is_waited_for)
{
    struct am_shared *shared = group->shared;
    bool is_one = whose == AM_SHARED_ROOTS;
    bool found;

    if (whose != AM_SHARED_ALL) {
        am_shared_forget(shared);
    }
    if (whose == AM_SHARED_NOBODYS) {
        return true;
    }
    shared->ahead_at = is_one ? root : 0;
    found = look(shared, is_one ? root : group->size - 1, turn,
                 am_shared_flag(turn, print), looks_of(group, is_waited_for));
    learn(group, is_waited_for, found);
    if (found && whose == AM_SHARED_ALL) {
        am_shared_begun(group, turn);
    }
    shared->is_ahead = !found;
    return found;
}

static void note(struct am_coll_group *group, const struct am_coll_call *call,
                 uint32_t turns)
{
    am_coll_leader_note(group, call);
    am_coll_numbers_count(group, group->chosen[call->kind].weight);
    group->next++;
    group->shared->next += turns;
    group->shared->looks = 0;
    group->coll->stats[AM_COLL_STAT_STARTED]++;
    group->coll->stats[AM_COLL_STAT_SHARED]++;
    group->coll->stats[AM_COLL_STAT_ONCE]++;
}

/* A barrier that a member leads: all tell it, and it tells all.  If this
 * returns false, the barrier is queued; a member that does not lead then tells
 * its second turn once more, which changes nothing. */
static bool barrier_led(struct am_coll_group *group,
                        const struct am_coll_call *call)
{
    struct am_shared *shared = group->shared;
    bool is_leader = shared->rank == group->leader;
    bool is_waited_for = call->is_waited_for;
    uint32_t turn = shared->next;
    uint32_t print = am_shared_led_print(
            am_coll_print_of(&group->chosen[call->kind], call), group->leader);

    am_shared_tell(group, turn, print);
    if (is_leader &&
        !wait(group, AM_SHARED_ALL, 0, turn, print, is_waited_for)) {
        return false;
    }
    am_shared_tell(group, turn + 1, print);
    if (!is_leader && !wait(group, AM_SHARED_ROOTS, group->leader, turn + 1,
                            print, is_waited_for)) {
        return false;
    }
    note(group, call, 2);
    return true;
}

/* What all wait for goes to the cache that their cores share (shm_tx_data.c tells of packets). */
static __attribute__((noinline)) void
payload_share(const struct am_shared_part *part)
{
    const struct am_coll_group *group = part->group;
    const struct am_shared *shared = group->shared;

    if (!am_coll_is_crowded(&group->numbers)) {
        am_lines_share(am_shared_payload(shared, shared->rank, part->turn,
                                         part->written),
                       part->written);
    }
}

bool am_shared_once(struct am_coll_group *group,
                    const struct am_coll_call *call)
{
    const struct am_coll_choice *choice = &group->chosen[call->kind];
    struct am_shared *shared = group->shared;
    struct am_shared_part part = {.group = group,
                                  .call = call,
                                  .turn = shared->next,
                                  .block = choice->wish.bytes,
                                  .bytes = choice->wish.bytes,
                                  .written = choice->written};
    am_shared_whose_t whose = am_shared_part_whose(group, call);
    uint32_t print = am_coll_print_of(choice, call);

    if (call->kind == AM_COLL_BARRIER && is_led_next(group)) {
        return barrier_led(group, call);
    }
    if (part.written > 0 && am_shared_part_gives(group, call)) {
        uint32_t at = 0;

        if (!am_shared_may_write(group, part.turn, &at)) {
            return false;
        }
        am_shared_part_write(&part, am_shared_payload(shared, shared->rank,
                                                      part.turn, part.written));
        am_shared_copied(group->coll, part.written);
    }
    am_shared_tell(group, part.turn, print);
    if (part.written > AM_SHARED_FEW_BYTES && part.written <= EXCHANGED_MOST &&
        whose == AM_SHARED_ALL && call->kind != AM_COLL_REDUCE) {
        payload_share(&part);
    }
    if (!wait(group, whose, call->root, part.turn, print,
              call->is_waited_for)) {
        return false;
    }
    if (part.written > 0 && whose != AM_SHARED_NOBODYS) {
        am_shared_part_take(&part);
    }
    note(group, call, 1);
    return true;
}
