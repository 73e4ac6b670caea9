/*
 * The variables of collectives.
 */
#include "config.h"

#include "collectives/select/select.h"

#include <stdio.h>
#include <string.h>

/* What is accepted for a kind, after what is not. */
static am_status_t check_kind(am_coll_kind_t kind, const char *text,
                              char *accepted, size_t bytes)
{
    const struct am_coll_algorithm *algorithm = am_coll_algorithms[kind];
    struct am_coll_plan plan;
    size_t at;

    if (strcmp(text, "auto") == 0 || am_coll_plan_parse(kind, text, &plan)) {
        return AM_OK;
    }
    at = (size_t)snprintf(accepted, bytes, "auto");
    for (; algorithm->name != NULL && at < bytes; algorithm++) {
        at += (size_t)snprintf(accepted + at, bytes - at, ", %s%s%s",
                               algorithm->name,
                               algorithm->has_shape ? ":4" : "",
                               algorithm->has_chunk ? "[/64k]" : "");
    }
    return AM_ERR_CONFIG;
}

#define CHECK(_name, _kind)                                            \
    static am_status_t check_##_name(const char *text, char *accepted, \
                                     size_t bytes)                     \
    {                                                                  \
        return check_kind(_kind, text, accepted, bytes);               \
    }

CHECK(barrier, AM_COLL_BARRIER)
CHECK(bcast, AM_COLL_BCAST)
CHECK(reduce, AM_COLL_REDUCE)
CHECK(allreduce, AM_COLL_ALLREDUCE)
CHECK(gather, AM_COLL_GATHER)
CHECK(scatter, AM_COLL_SCATTER)
CHECK(allgather, AM_COLL_ALLGATHER)
CHECK(reduce_scatter, AM_COLL_REDUCE_SCATTER)
CHECK(alltoall, AM_COLL_ALLTOALL)
CHECK(scan, AM_COLL_SCAN)
CHECK(exscan, AM_COLL_EXSCAN)

#define ROW(_name, _kind, _check, _what)                                     \
    {                                                                        \
        _name, "auto", AM_CONFIG_TEXT, "",                                   \
                "algorithm of " _what                                        \
                "; auto: by cost; am_info --coll shows them (name, kary:4, " \
                "name/64k for pieces of 64 KiB); the same on all ranks",     \
                offsetof(struct am_coll_config, algorithm[_kind]), NULL,     \
                _check                                                       \
    }

static const struct am_config_row rows[] = {
        {"AM_COLL_EAGER_MAX", "32k", AM_CONFIG_BYTES, "bytes",
         "largest message of a collective that is sent before its receiver "
         "says "
         "where it goes, at most one packet; the same on all ranks",
         offsetof(struct am_coll_config, eager_max), NULL, NULL},
        {"AM_COLL_WINDOW", "64", AM_CONFIG_COUNT, "messages",
         "messages of collectives, sent before the receiver says where they go "
         "(AM_COLL_EAGER_MAX), that may wait at a receiver from each sender; "
         "the same on all ranks",
         offsetof(struct am_coll_config, window), NULL, NULL},
        {"AM_COLL_SHARED", "yes", AM_CONFIG_BOOL, "",
         "groups within a node have memory that all members see, for the "
         "algorithms named shared; asked at the group's first member",
         offsetof(struct am_coll_config, shared), NULL, NULL},
        {"AM_COLL_NODE_RANKS", "0", AM_CONFIG_COUNT, "ranks",
         "so many ranks, one after the other, count as a node, to try on one "
         "host what is done between nodes; 0: the devices say who is near; the "
         "same on all ranks",
         offsetof(struct am_coll_config, node_ranks), NULL, NULL},
        ROW("AM_COLL_BARRIER", AM_COLL_BARRIER, check_barrier, "barrier"),
        ROW("AM_COLL_BCAST", AM_COLL_BCAST, check_bcast, "broadcast"),
        ROW("AM_COLL_REDUCE", AM_COLL_REDUCE, check_reduce, "reduce"),
        ROW("AM_COLL_ALLREDUCE", AM_COLL_ALLREDUCE, check_allreduce,
            "allreduce"),
        ROW("AM_COLL_GATHER", AM_COLL_GATHER, check_gather, "gather"),
        ROW("AM_COLL_SCATTER", AM_COLL_SCATTER, check_scatter, "scatter"),
        ROW("AM_COLL_ALLGATHER", AM_COLL_ALLGATHER, check_allgather,
            "allgather"),
        ROW("AM_COLL_REDUCE_SCATTER", AM_COLL_REDUCE_SCATTER,
            check_reduce_scatter, "reduce-scatter"),
        ROW("AM_COLL_ALLTOALL", AM_COLL_ALLTOALL, check_alltoall, "all-to-all"),
        ROW("AM_COLL_SCAN", AM_COLL_SCAN, check_scan, "scan"),
        ROW("AM_COLL_EXSCAN", AM_COLL_EXSCAN, check_exscan, "exclusive scan"),
};

const struct am_config_table am_coll_config_table = {
        .rows = rows,
        .row_count = sizeof(rows) / sizeof(rows[0])};
