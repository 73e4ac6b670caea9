/*
 * am_perf's table of tests.
 */
#include "tools/perf.h"

#include <string.h>

#define STREAM_OPS "isend|put|store|store_async|get|get_async"

const struct perf_test perf_tests[] = {
        {"rtt", "requests of 1 to 4 words and their replies: half round trip",
         perf_rtt, NULL, "request", 2, .pair = true},
        {"lat", "half round trip of a message; of put and get, the whole call",
         perf_lat, "0,1:4m:x2", STREAM_OPS, 2, .pair = true},
        {"bw", "bandwidth of a one-way stream of messages", perf_bw, "1:4m:x2",
         STREAM_OPS, 2, .pair = true},
        {"rate", "messages a second one way", perf_rate, "8", "request|isend",
         2, .pair = true},
        {"ring", "a token passed round a ring of all ranks: time of a hop",
         perf_ring, "0,1:1m:x4", "isend|request", 2, .pair = false},
        {"exchange",
         "two ranks send to each other: sends first, receives first, out of "
         "step (Saphir 1994)",
         perf_exchange, "1k:1m:x4", "isend", 2, .pair = true},
        {"overlap",
         "(compute + communicate) / compute for a sender and a receiver "
         "(DCMF)",
         perf_overlap, "1k:4m:x4", "isend", 2, .pair = true},
        {"logp", "LogP parameters os, or, L, g, and end to end", perf_logp,
         NULL, "request", 2, .pair = true},
        {"incast",
         "all ranks send to rank 0: bandwidth there, and how evenly they share "
         "it (Jain's index)",
         perf_incast, "64k", "isend", 2, .pair = false},
        {"mcast", "multicast from rank 0 to all, until all have answered",
         perf_mcast, "8:1m:x8", "mcast", 2, .pair = false},
        {"coll", "collectives over all ranks", perf_collective, "8:1m:x8",
         "allreduce|barrier|bcast|reduce|gather|scatter|allgather|"
         "reduce_scatter|alltoall|scan|exscan",
         1, .pair = false},
        {"fadd", "fetch-and-add on a word of another rank", perf_fadd, NULL,
         "fadd", 2, .pair = true},
        {"match", "half round trip behind a queue of other receives",
         perf_match, "8", "posted|unexpected", 2, .pair = true},
        {"limits",
         "probes of this machine without libam: what there is to reach",
         perf_limits, "64k:4m:x2", "all|flag|copy|handoff", 1, .no_job = true},
        {.name = NULL}};

const struct perf_test *perf_test_find(const char *name)
{
    for (const struct perf_test *test = perf_tests; test->name != NULL;
         test++) {
        if (strcmp(test->name, name) == 0) {
            return test;
        }
    }
    return NULL;
}
