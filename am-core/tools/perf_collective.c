/*
 * coll: the time of a collective over all ranks, one after the other, as rank 0
 * sees it, for sizes of a block (gather, scatter, all-gather, reduce-scatter,
 * all-to-all) or of the whole (the others), in doubles where there is an operator.
 * --op says which; the algorithm is the cheapest, or the one that AM_COLL_...
 * names.
 */
#include "tools/perf.h"

#include <am_coll.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLL_ITERATIONS = 5000
};

#define COLL_TOTAL_BYTES (UINT64_C(256) << 20)

static const struct {
    const char *name;
    am_coll_kind_t kind;
    bool has_blocks, has_operator;
} kinds[] = {
        {"barrier", AM_COLL_BARRIER, false, false},
        {"bcast", AM_COLL_BCAST, false, false},
        {"reduce", AM_COLL_REDUCE, false, true},
        {"allreduce", AM_COLL_ALLREDUCE, false, true},
        {"gather", AM_COLL_GATHER, true, false},
        {"scatter", AM_COLL_SCATTER, true, false},
        {"allgather", AM_COLL_ALLGATHER, true, false},
        {"reduce_scatter", AM_COLL_REDUCE_SCATTER, true, true},
        {"alltoall", AM_COLL_ALLTOALL, true, false},
        {"scan", AM_COLL_SCAN, false, true},
        {"exscan", AM_COLL_EXSCAN, false, true},
};

enum {
    KINDS = sizeof(kinds) / sizeof(kinds[0])
};

struct collective {
    struct perf *perf;
    struct am_coll_group *group;
    struct am_coll_call call;
};

static int step(void *state)
{
    struct collective *c = state;

    return perf_ok(c->perf, am_coll_run(c->group, &c->call), "a collective");
}

static int run_size(struct collective *c, int which, size_t bytes)
{
    struct perf *perf = c->perf;
    size_t unit = kinds[which].has_operator ? sizeof(double) : 1;
    struct perf_row row = {.metric = kinds[which].name,
                           .unit = "ns",
                           .bytes = bytes,
                           .has_bytes = kinds[which].kind != AM_COLL_BARRIER};
    uint64_t iterations =
            perf_iterations(perf, bytes, COLL_ITERATIONS, COLL_TOTAL_BYTES);

    c->call.count = (bytes + unit - 1) / unit;
    if (perf_time(perf, step, c, iterations, &row.figure) != 0) {
        return -1;
    }
    perf_report_row(perf, &row);
    return 0;
}

static int run_sizes(struct collective *c, int which)
{
    const struct perf_options *options = c->perf->options;
    uint32_t count =
            kinds[which].kind == AM_COLL_BARRIER ? 1 : options->size_count;

    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = kinds[which].kind == AM_COLL_BARRIER
                               ? 0
                               : options->sizes[i];

        if (run_size(c, which, bytes) != 0) {
            return -1;
        }
        perf_report_progress(c->perf, i + 1, count);
    }
    return 0;
}

int perf_collective(struct perf *perf)
{
    struct collective c = {.perf = perf};
    size_t bytes = perf_size_max(perf->options) + sizeof(double);
    int which = 0, status = -1;
    void *send, *recv;

    while (which < KINDS - 1 &&
           strcmp(kinds[which].name, perf->options->op) != 0) {
        which++;
    }
    bytes *= kinds[which].has_blocks ? perf->size : 1;
    send = perf_alloc(perf, bytes);
    recv = perf_alloc(perf, bytes);
    c.call.kind = kinds[which].kind;
    c.call.send = send;
    c.call.recv = recv;
    (void)am_coll_operator_get(AM_COLL_SUM, AM_COLL_DOUBLE, &c.call.op);
    if (send != NULL && recv != NULL &&
        perf_ok(perf, am_coll_group_open(perf->ctx, 1, NULL, 0, &c.group),
                "am_coll_group_open") == 0) {
        status = perf->start(perf) == 0 ? run_sizes(&c, which) : -1;
        if (status == 0) {
            status = perf_barrier(perf);
            (void)am_coll_group_close(c.group);
        }
    }
    free(send);
    free(recv);
    return status;
}
