/*
 * One collective at all members of a group, against a serial reference: fill,
 * start (the members at different times), poll, compare, with guards around
 * every buffer.
 */
#ifndef AM_TEST_SUPPORT_COLL_TRIAL_H
#define AM_TEST_SUPPORT_COLL_TRIAL_H

#include "base/prng.h"
#include "support/msg_world.h"

#include <am_coll.h>

/* Operators of the trials. */
enum {
    TRIAL_SUM,   /* 64-bit integers, the library's */
    TRIAL_BXOR,  /* bytes */
    TRIAL_CHAIN, /* composition of maps a x + b: does not commute */
    TRIAL_OPS
};

struct trial_group {
    struct world *world;
    uint32_t size;
    uint32_t ranks[WORLD_MAX]; /* of the world */
    struct am_coll_group *group[WORLD_MAX];
};

struct trial {
    am_coll_kind_t kind;
    size_t count;
    uint32_t root;
    int op;
    bool in_place, is_vector;
    bool is_late; /* members start one after the other, with polls between */
};

/* A trial that is under way. */
struct trial_run;

/* Members are ranks[0..size) of the world; a different order at will. */
void trial_group_open(struct trial_group *tg, struct world *world, uint32_t id,
                      const uint32_t *ranks, uint32_t size);
void trial_group_close(struct trial_group *tg);
/* Start `call` at one member; *done tells how it has ended, maybe at once. */
void trial_group_start(struct trial_group *tg, uint32_t member,
                       const struct am_coll_call *call,
                       struct world_done *done);
/* Let all members use this algorithm; "auto": by cost. */
void trial_force(struct trial_group *tg, am_coll_kind_t kind, const char *name);

/* Start at all members, in an order that `prng` draws. */
struct trial_run *trial_start(struct trial_group *tg, const struct trial *trial,
                              struct am_prng *prng);
/* One poll of each member. */
void trial_poll(struct trial_group *tg);
bool trial_is_done(const struct trial_run *run);
/* Compare and free; the test fails when a byte is wrong. */
void trial_check(struct trial_run *run);
/* All of it, polling the world. */
void trial(struct trial_group *tg, const struct trial *trial,
           struct am_prng *prng);

/* Open a world that logs nothing, and a group of its members that have met and called
 * this kind again and again, through the memory. */
void trial_shared_open(struct world *world, struct trial_group *tg,
                       uint32_t size, const struct trial *t,
                       struct am_prng *prng);

#endif
