/*
 * See coll_trial.h.
 */
#include "support/coll_trial.h"

#include "support/cm.h"

#include "collectives/coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GUARD_BYTES = 64,
    GUARD = 0x5a,
    POLLS_MAX = 3000000
};

/* Memory of a member with guards on both sides. */
struct guarded {
    unsigned char *memory;
    size_t bytes;
};

struct member {
    struct guarded send, recv;
    unsigned char *given;  /* what it gave: `send`, or what was in `recv` */
    unsigned char *wanted; /* what `recv` is to be */
    bool is_done;
    am_status_t status;
};

struct trial_run {
    struct trial_group *tg;
    struct trial trial;
    struct am_coll_operator op;
    size_t unit;
    size_t counts[WORLD_MAX], offsets[WORLD_MAX];
    size_t total; /* units in all blocks, with gaps */
    struct member members[WORLD_MAX];
};

/* ------------------------------------------------------------------ groups */

void trial_group_open(struct trial_group *tg, struct world *world, uint32_t id,
                      const uint32_t *ranks, uint32_t size)
{
    memset(tg, 0, sizeof(*tg));
    tg->world = world;
    tg->size = size;
    for (uint32_t i = 0; i < size; i++) {
        tg->ranks[i] = ranks[i];
        assert_int_equal(am_coll_group_open(world->ctx[ranks[i]], id, ranks,
                                            size, &tg->group[i]),
                         AM_OK);
        assert_int_equal(am_coll_group_rank(tg->group[i]), i);
        assert_int_equal(am_coll_group_size(tg->group[i]), size);
    }
}

void trial_group_close(struct trial_group *tg)
{
    for (uint32_t i = 0; i < tg->size; i++) {
        assert_int_equal(am_coll_group_close(tg->group[i]), AM_OK);
    }
}

void trial_group_start(struct trial_group *tg, uint32_t member,
                       const struct am_coll_call *call, struct world_done *done)
{
    am_status_t status;

    *done = (struct world_done){0};
    status = am_coll_start(tg->group[member], call, world_on_done, done);
    if (status != AM_OK) {
        world_on_done(done, status == AM_DONE ? AM_OK : status);
    }
}

void trial_force(struct trial_group *tg, am_coll_kind_t kind, const char *name)
{
    for (uint32_t i = 0; i < tg->size; i++) {
        /* calloc's own, const to all but its owner and this test */
        struct am_coll_config *config =
                (struct am_coll_config *)(uintptr_t)tg->group[i]->coll->config;

        snprintf(config->algorithm[kind], sizeof(config->algorithm[kind]), "%s",
                 name);
        memset(tg->group[i]->chosen, 0, sizeof(tg->group[i]->chosen));
    }
}

/* --------------------------------------------------------------- operators */

struct map {
    uint32_t a, b; /* x -> a x + b */
};

/* left first, then right: right(left(x)) */
static void chain(void *arg, const void *left, void *inout, size_t count)
{
    (void)arg;
    for (size_t i = 0; i < count; i++) {
        struct map l, r, both;

        memcpy(&l, (const char *)left + i * sizeof(l), sizeof(l));
        memcpy(&r, (char *)inout + i * sizeof(r), sizeof(r));
        both = (struct map){l.a * r.a, l.b * r.a + r.b};
        memcpy((char *)inout + i * sizeof(both), &both, sizeof(both));
    }
}

static struct am_coll_operator operator_of(int op)
{
    struct am_coll_operator operator= {.reduce = chain,
                                       .element_bytes = sizeof(struct map)};

    if (op == TRIAL_SUM) {
        assert_int_equal(
                am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT64, &operator),
                AM_OK);
    } else if (op == TRIAL_BXOR) {
        assert_int_equal(
                am_coll_operator_get(AM_COLL_BXOR, AM_COLL_UINT8, &operator),
                AM_OK);
    }
    return operator;
}

static bool is_reduction(am_coll_kind_t kind)
{
    return kind == AM_COLL_REDUCE || kind == AM_COLL_ALLREDUCE ||
           kind == AM_COLL_REDUCE_SCATTER || kind == AM_COLL_SCAN ||
           kind == AM_COLL_EXSCAN;
}

/* ------------------------------------------------------------------ memory */

static void guarded_open(struct guarded *g, size_t bytes)
{
    g->bytes = bytes;
    g->memory = malloc(bytes + 2 * GUARD_BYTES);
    assert_non_null(g->memory);
    memset(g->memory, GUARD, bytes + 2 * GUARD_BYTES);
}

static unsigned char *guarded_at(const struct guarded *g)
{
    return g->memory + GUARD_BYTES;
}

static void guarded_close(struct guarded *g)
{
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        assert_int_equal(g->memory[i], GUARD);
        assert_int_equal(g->memory[GUARD_BYTES + g->bytes + i], GUARD);
    }
    free(g->memory);
}

/* -------------------------------------------------------------- what is sent */

/* How many units a member gives, and gets. */
static size_t units_given(const struct trial_run *run, uint32_t i)
{
    const struct trial *t = &run->trial;

    switch (t->kind) {
    case AM_COLL_BARRIER:
        return 0;
    case AM_COLL_GATHER:
    case AM_COLL_ALLGATHER:
        return run->counts[i];
    case AM_COLL_SCATTER:
        return i == t->root ? run->total : 0;
    case AM_COLL_REDUCE_SCATTER:
    case AM_COLL_ALLTOALL:
        return run->total;
    default:
        return t->count;
    }
}

static size_t units_got(const struct trial_run *run, uint32_t i)
{
    const struct trial *t = &run->trial;

    switch (t->kind) {
    case AM_COLL_BARRIER:
        return 0;
    case AM_COLL_GATHER:
        return i == t->root ? run->total : 0;
    case AM_COLL_ALLGATHER:
    case AM_COLL_ALLTOALL:
        return run->total;
    case AM_COLL_SCATTER:
    case AM_COLL_REDUCE_SCATTER:
        return run->counts[i];
    case AM_COLL_REDUCE:
        return i == t->root ? t->count : 0;
    default:
        return t->count;
    }
}

/* All members know all counts, and in ALLTOALL all lengths to one are alike. */
static void blocks_set(struct trial_run *run, struct am_prng *prng)
{
    for (uint32_t i = 0; i < run->tg->size; i++) {
        run->counts[i] = run->trial.count;
        if (run->trial.is_vector) {
            run->counts[i] = am_prng_next(prng) % (2 * run->trial.count + 1);
            run->total += am_prng_next(prng) % 3;
        }
        run->offsets[i] = run->total;
        run->total += run->counts[i];
    }
    if (run->trial.is_vector && run->trial.kind == AM_COLL_ALLTOALL) {
        /* what i sends to j is as long as what j has of i: all of one length */
        for (uint32_t i = 0; i < run->tg->size; i++) {
            run->counts[i] = run->counts[0];
            run->offsets[i] = i * (run->counts[0] + 1);
        }
        run->total = run->tg->size * (run->counts[0] + 1);
    }
}

static void members_fill(struct trial_run *run, struct am_prng *prng)
{
    bool in_place = run->trial.in_place;

    for (uint32_t i = 0; i < run->tg->size; i++) {
        struct member *m = &run->members[i];
        size_t given = units_given(run, i) * run->unit;
        size_t got = units_got(run, i) * run->unit;

        m->given = malloc(given + 1);
        m->wanted = malloc(got + 1);
        assert_non_null(m->given);
        assert_non_null(m->wanted);
        for (size_t j = 0; j < given; j++) {
            m->given[j] = (unsigned char)am_prng_next(prng);
        }
        guarded_open(&m->send, given);
        guarded_open(&m->recv, got);
        memcpy(guarded_at(&m->send), m->given, given);
        if (run->trial.kind == AM_COLL_BCAST && i == run->trial.root) {
            memcpy(guarded_at(&m->recv), m->given, given);
        } else if (in_place && got > 0) {
            size_t at = run->trial.kind == AM_COLL_ALLGATHER ||
                                        run->trial.kind == AM_COLL_GATHER
                                ? run->offsets[i] * run->unit
                                : 0;

            memcpy(guarded_at(&m->recv) + at, m->given, given);
        }
        memcpy(m->wanted, guarded_at(&m->recv), got);
    }
}

/* ----------------------------------------------------------- the reference */

/* Members first .. last reduced, in order, from `at` on. */
static void reduce_serial(struct trial_run *run, unsigned char *to, size_t at,
                          size_t units, uint32_t first, uint32_t last)
{
    size_t bytes = units * run->unit;

    if (bytes == 0) {
        return;
    }
    memcpy(to, run->members[last].given + at, bytes);
    while (last-- > first) {
        run->op.reduce(run->op.arg, run->members[last].given + at, to, units);
    }
}

static void wanted_set(struct trial_run *run, uint32_t i)
{
    const struct trial *t = &run->trial;
    struct member *m = run->members;
    unsigned char *to = m[i].wanted;
    uint32_t size = run->tg->size;

    switch (t->kind) {
    case AM_COLL_BARRIER:
        break;
    case AM_COLL_BCAST:
        memcpy(to, m[t->root].given, t->count);
        break;
    case AM_COLL_REDUCE:
    case AM_COLL_ALLREDUCE:
        if (i == t->root || t->kind == AM_COLL_ALLREDUCE) {
            reduce_serial(run, to, 0, t->count, 0, size - 1);
        }
        break;
    case AM_COLL_SCAN:
        reduce_serial(run, to, 0, t->count, 0, i);
        break;
    case AM_COLL_EXSCAN:
        if (i > 0) {
            reduce_serial(run, to, 0, t->count, 0, i - 1);
        }
        break;
    case AM_COLL_REDUCE_SCATTER:
        reduce_serial(run, to, run->offsets[i] * run->unit, run->counts[i], 0,
                      size - 1);
        break;
    case AM_COLL_GATHER:
    case AM_COLL_ALLGATHER:
        for (uint32_t j = 0; j < size && m[i].recv.bytes > 0; j++) {
            memcpy(to + run->offsets[j], m[j].given, run->counts[j]);
        }
        break;
    case AM_COLL_SCATTER:
        memcpy(to, m[t->root].given + run->offsets[i], run->counts[i]);
        break;
    case AM_COLL_ALLTOALL:
        for (uint32_t j = 0; j < size; j++) {
            memcpy(to + run->offsets[j], m[j].given + run->offsets[i],
                   run->counts[j]);
        }
    }
}

/* ------------------------------------------------------------------ running */

static void member_done(void *arg, am_status_t status)
{
    struct member *m = arg;

    assert_false(m->is_done);
    m->is_done = true;
    m->status = status;
}

static void member_start(struct trial_run *run, uint32_t i)
{
    const struct trial *t = &run->trial;
    struct member *m = &run->members[i];
    bool is_root = i == t->root;
    struct am_coll_call call = {.kind = t->kind,
                                .root = t->root,
                                .send = guarded_at(&m->send),
                                .recv = guarded_at(&m->recv),
                                .count = t->count,
                                .is_vector = t->is_vector,
                                .op = run->op};
    am_status_t status;

    if (t->is_vector) {
        call.count = run->counts[i];
        call.send_counts = call.recv_counts = run->counts;
        call.send_offsets = call.recv_offsets = run->offsets;
    }
    if (t->in_place) {
        switch (t->kind) {
        case AM_COLL_REDUCE:
        case AM_COLL_GATHER:
            call.send = is_root ? NULL : call.send;
            break;
        case AM_COLL_ALLREDUCE:
        case AM_COLL_SCAN:
        case AM_COLL_EXSCAN:
        case AM_COLL_ALLGATHER:
            call.send = NULL;
            break;
        default:
            break;
        }
    }
    status = am_coll_start(run->tg->group[i], &call, member_done, m);
    if (status == AM_DONE) {
        m->is_done = true;
        m->status = AM_OK;
    } else {
        assert_int_equal(status, AM_OK);
    }
}

void trial_poll(struct trial_group *tg)
{
    for (uint32_t i = 0; i < tg->size; i++) {
        assert_true(am_ctx_poll(tg->world->ctx[tg->ranks[i]]) >= 0);
    }
}

struct trial_run *trial_start(struct trial_group *tg, const struct trial *t,
                              struct am_prng *prng)
{
    struct trial_run *run = calloc(1, sizeof(*run));
    uint32_t order[WORLD_MAX];

    assert_non_null(run);
    run->tg = tg;
    run->trial = *t;
    run->op = operator_of(t->op);
    run->unit = is_reduction(t->kind) ? run->op.element_bytes : 1;
    blocks_set(run, prng);
    members_fill(run, prng);
    for (uint32_t i = 0; i < tg->size; i++) {
        uint32_t with = (uint32_t)(am_prng_next(prng) % (i + 1));

        order[i] = order[with];
        order[with] = i;
        wanted_set(run, i);
    }
    for (uint32_t i = 0; i < tg->size; i++) {
        member_start(run, order[i]);
        for (uint64_t polls = t->is_late ? am_prng_next(prng) % 3 : 0;
             polls > 0; polls--) {
            trial_poll(tg);
        }
    }
    return run;
}

bool trial_is_done(const struct trial_run *run)
{
    for (uint32_t i = 0; i < run->tg->size; i++) {
        if (!run->members[i].is_done) {
            return false;
        }
    }
    return true;
}

void trial_check(struct trial_run *run)
{
    const struct trial *t = &run->trial;

    for (uint32_t i = 0; i < run->tg->size; i++) {
        struct member *m = &run->members[i];

        assert_int_equal(m->status, AM_OK);
        for (size_t j = 0; j < m->recv.bytes; j++) {
            if (guarded_at(&m->recv)[j] != m->wanted[j]) {
                fail_msg("%s of %zu by %u members, root %u, operator %d%s%s: "
                         "byte %zu at member %u is %02x, not %02x",
                         am_coll_kind_names[t->kind], t->count, run->tg->size,
                         t->root, t->op, t->in_place ? ", in place" : "",
                         t->is_vector ? ", vector" : "", j, i,
                         guarded_at(&m->recv)[j], m->wanted[j]);
            }
        }
        assert_memory_equal(guarded_at(&m->send), m->given, m->send.bytes);
        guarded_close(&m->send);
        guarded_close(&m->recv);
        free(m->given);
        free(m->wanted);
    }
    free(run);
}

void trial(struct trial_group *tg, const struct trial *t, struct am_prng *prng)
{
    struct trial_run *run = trial_start(tg, t, prng);

    for (int i = 0; !trial_is_done(run); i++) {
        if (i == POLLS_MAX) {
            fail_msg("%s of %zu by %u members, root %u, does not end",
                     am_coll_kind_names[t->kind], t->count, tg->size, t->root);
        }
        trial_poll(tg);
    }
    trial_check(run);
}

void trial_shared_open(struct world *world, struct trial_group *tg,
                       uint32_t size, const struct trial *t,
                       struct am_prng *prng)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
    static const struct trial meet = {.kind = AM_COLL_BARRIER};
    const struct am_option *options[WORLD_MAX];
    uint32_t ranks[WORLD_MAX];

    for (uint32_t i = 0; i < size; i++) {
        options[i] = quiet;
        ranks[i] = i;
    }
    world_open(world, size, options);
    trial_group_open(tg, world, 1, ranks, size);
    trial(tg, &meet, prng);
    trial_force(tg, t->kind, "shared");
    trial(tg, t, prng);
    trial(tg, t, prng);
}
