/*
 * fadd: rank 0 adds one to a word of rank 1 and waits for the old value (LCI's
 * fetch-and-add), once after the other.
 */
#include "tools/perf.h"

#include <string.h>

enum {
    FADD_ITERATIONS = 50000
};

struct fadd {
    struct perf *perf;
    struct am_key key;
    uint64_t steps, done;
    uint64_t old;
    bool wrong; /* an old value was not the number of adds before it */
    am_status_t status;
};

static void on_done(void *arg, am_status_t status)
{
    struct fadd *fadd = arg;

    fadd->done++;
    if (status < 0) {
        fadd->status = status;
    }
}

static int step(void *state)
{
    struct fadd *fadd = state;
    am_status_t status = am_ctx_fetch_add(fadd->perf->ctx, 1, &fadd->key, 0, 1,
                                          &fadd->old, on_done, fadd);

    if (status < 0) {
        return perf_ok(fadd->perf, status, "am_ctx_fetch_add");
    }
    fadd->steps++;
    while (fadd->done < fadd->steps) {
        if (perf_wait(fadd->perf) != 0) {
            return -1;
        }
    }
    fadd->wrong |= fadd->old != fadd->steps - 1;
    return fadd->status < 0 ? perf_ok(fadd->perf, fadd->status, "fetch-and-add")
                            : 0;
}

/* Rank 1's word must be the number of adds, and each old value its turn. */
static int validate(struct fadd *fadd, const volatile uint64_t *word)
{
    struct perf *perf = fadd->perf;
    uint64_t all[2];

    if (perf_gather(perf, &fadd->steps, 1, all) != 0) {
        return -1;
    }
    if (perf->options->validate &&
        (fadd->wrong || (perf->rank == 1 && *word != all[0]))) {
        return perf_fail(perf, "fetch-and-add lost or doubled an addition");
    }
    return 0;
}

int perf_fadd(struct perf *perf)
{
    enum {
        KEY_WORDS = AM_KEY_BYTES / 8
    };
    struct fadd fadd = {.perf = perf};
    struct perf_row row = {.metric = "fetch_add",
                           .unit = "ns",
                           .bytes = sizeof(uint64_t),
                           .has_bytes = true};
    uint64_t iterations = perf_iterations(perf, 0, FADD_ITERATIONS, 0);
    uint64_t word = 0, all[2 * KEY_WORDS];
    struct am_region *region;

    if (perf_ok(perf,
                am_region_register(perf->ctx, &word, sizeof(word), &region),
                "registering a region") != 0) {
        return -1;
    }
    am_region_key(region, &fadd.key);
    if (perf_gather(perf, fadd.key.w, KEY_WORDS, all) != 0) {
        return -1;
    }
    memcpy(&fadd.key, all + KEY_WORDS, sizeof(fadd.key)); /* rank 1's */
    if (perf->rank == 0
                ? perf_time(perf, step, &fadd, iterations, &row.figure) != 0
                : perf_barrier(perf) != 0) {
        return -1;
    }
    if (validate(&fadd, &word) != 0) {
        return -1;
    }
    am_region_deregister(perf->ctx, region);
    perf_report_row(perf, &row);
    return 0;
}
