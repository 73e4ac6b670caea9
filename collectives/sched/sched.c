/*
 * Building schedules.
 */
#include "config.h"

#include "collectives/sched/sched.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64u
#define BLOCK_MIN  (16u << 10)
#define KEEP_STEPS (1u << 14)
#define KEEP_BYTES ((size_t)4 << 20)

struct am_sched_block {
    struct am_sched_block *next;
    size_t bytes; /* of `data` */
    _Alignas(LINE_BYTES) char data[];
};

static void scratch_free(struct am_sched *sched)
{
    while (sched->scratch != NULL) {
        struct am_sched_block *block = sched->scratch;

        sched->scratch = block->next;
        free(block);
    }
}

/* One block is kept.  Of several, which were too short, the next one gets the length
 * together: calls that are alike then find all in it. */
static void scratch_reset(struct am_sched *sched)
{
    struct am_sched_block *block = sched->scratch;
    size_t bytes = 0;

    for (; block != NULL; block = block->next) {
        bytes += block->bytes;
    }
    sched->scratch_next = bytes <= KEEP_BYTES ? bytes : 0;
    if (bytes > KEEP_BYTES ||
        (sched->scratch != NULL && sched->scratch->next != NULL)) {
        scratch_free(sched);
    }
}

void am_sched_fini(struct am_sched *sched)
{
    scratch_free(sched);
    free(sched->steps);
    free(sched->edges);
    memset(sched, 0, sizeof(*sched));
}

void am_sched_reset(struct am_sched *sched)
{
    if (sched->step_max > KEEP_STEPS || sched->edge_max > 4 * KEEP_STEPS) {
        am_sched_fini(sched);
    }
    scratch_reset(sched);
    sched->step_count = 0;
    sched->edge_count = 0;
    sched->scratch_used = 0;
    sched->failed = false;
}

bool am_sched_is_good(const struct am_sched *sched)
{
    return !sched->failed;
}

void *am_sched_scratch(struct am_sched *sched, size_t bytes)
{
    size_t whole = (bytes + LINE_BYTES - 1) & ~(size_t)(LINE_BYTES - 1);
    struct am_sched_block *block = sched->scratch;
    void *at;

    if (bytes == 0) {
        return NULL;
    }
    if (block == NULL || whole > block->bytes - sched->scratch_used) {
        size_t least = block == NULL && sched->scratch_next > BLOCK_MIN
                               ? sched->scratch_next
                               : BLOCK_MIN;
        size_t room = whole < least ? least : whole;

        block = whole < bytes || room > SIZE_MAX - sizeof(*block)
                        ? NULL
                        : aligned_alloc(LINE_BYTES, sizeof(*block) + room);
        if (block == NULL) {
            sched->failed = true;
            return NULL;
        }
        block->bytes = room;
        block->next = sched->scratch;
        sched->scratch = block;
        sched->scratch_used = 0;
    }
    at = block->data + sched->scratch_used;
    sched->scratch_used += whole;
    return at;
}

/* Room for one more of `bytes`; false and noted when there is none. */
static bool grow(struct am_sched *sched, void **array, uint32_t count,
                 uint32_t *max, size_t bytes)
{
    uint32_t more = *max == 0 ? 32 : 2 * *max;
    void *grown;

    if (count < *max) {
        return true;
    }
    grown = more > *max ? realloc(*array, more * bytes) : NULL;
    if (grown == NULL) {
        sched->failed = true;
        return false;
    }
    *array = grown;
    *max = more;
    return true;
}

static uint32_t step_new(struct am_sched *sched, am_step_kind_t kind,
                         uint32_t member, uint32_t tag, const void *from,
                         void *to, size_t length)
{
    void *steps = sched->steps;

    if (!grow(sched, &steps, sched->step_count, &sched->step_max,
              sizeof(*sched->steps))) {
        return AM_STEP_NONE;
    }
    sched->steps = steps;
    sched->steps[sched->step_count] = (struct am_step){
            .kind = kind,
            .member = member,
            .tag = tag,
            .edge = AM_STEP_NONE,
            .edge_last = AM_STEP_NONE,
            .from = from,
            .to = to,
            .length = length,
            .next = AM_STEP_NONE,
    };
    return sched->step_count++;
}

uint32_t am_sched_send(struct am_sched *sched, uint32_t member, uint32_t tag,
                       const void *from, size_t bytes)
{
    return step_new(sched, AM_STEP_SEND, member, tag, from, NULL, bytes);
}

uint32_t am_sched_recv(struct am_sched *sched, uint32_t member, uint32_t tag,
                       void *to, size_t bytes)
{
    return step_new(sched, AM_STEP_RECV, member, tag, NULL, to, bytes);
}

uint32_t am_sched_cast(struct am_sched *sched, uint32_t tag, const void *from,
                       size_t bytes)
{
    return step_new(sched, AM_STEP_CAST, 0, tag, from, NULL, bytes);
}

uint32_t am_sched_copy(struct am_sched *sched, const void *from, void *to,
                       size_t bytes)
{
    return step_new(sched, AM_STEP_COPY, 0, 0, from, to, bytes);
}

uint32_t am_sched_reduce(struct am_sched *sched, const void *left, void *inout,
                         size_t count)
{
    return step_new(sched, AM_STEP_REDUCE, 0, 0, left, inout, count);
}

uint32_t am_sched_join(struct am_sched *sched)
{
    return step_new(sched, AM_STEP_JOIN, 0, 0, NULL, NULL, 0);
}

uint32_t am_sched_call(struct am_sched *sched, struct am_coll_group *group,
                       const struct am_coll_call *call)
{
    struct am_coll_call *copy = am_sched_scratch(sched, sizeof(*copy));

    if (copy == NULL) {
        return AM_STEP_NONE;
    }
    *copy = *call;
    return step_new(sched, AM_STEP_CALL, 0, 0, copy, group, 0);
}

void am_sched_edge(struct am_sched *sched, uint32_t before, uint32_t after)
{
    void *edges = sched->edges;
    struct am_step *step;

    if (before == AM_STEP_NONE || after == AM_STEP_NONE ||
        !grow(sched, &edges, sched->edge_count, &sched->edge_max,
              sizeof(*sched->edges))) {
        return;
    }
    sched->edges = edges;
    step = &sched->steps[before];
    sched->edges[sched->edge_count] = (struct am_edge){after, AM_STEP_NONE};
    if (step->edge == AM_STEP_NONE) {
        step->edge = sched->edge_count;
    } else {
        sched->edges[step->edge_last].next = sched->edge_count;
    }
    step->edge_last = sched->edge_count++;
    sched->steps[after].waits_for++;
}
