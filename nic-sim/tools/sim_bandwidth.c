/*
 * The two bandwidth tests of the SP AM paper: blocking, and pipelined.
 */
#include "tools/sim_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOTAL_BYTES (UINT64_C(1) << 20)

static int transfer(struct run *run, const struct bandwidth *bandwidth,
                    uint8_t *local, uint8_t *remote)
{
    bool get = strncmp(bandwidth->op, "get", 3) == 0;
    bool pipelined = strstr(bandwidth->op, "async") != NULL;
    uint64_t started = 0;
    size_t at = 0;

    run->done = 0;
    run->counted = 0;
    while (at < bandwidth->total) {
        size_t left = bandwidth->total - at;
        size_t bytes = left < bandwidth->bytes ? left : bandwidth->bytes;
        am_status_t status =
                get ? am_ctx_get(run->ctx, 1, remote + at, local + at, bytes,
                                 H_GOT, NULL, 0)
                    : am_ctx_store_async(run->ctx, 1, local + at, remote + at,
                                         bytes, 0, NULL, 0, run_done, run);

        if (status != AM_OK) {
            snprintf(run->error, run->error_bytes, "%s: %s", bandwidth->op,
                     am_status_text(status));
            return -1;
        }
        started++;
        at += bytes;
        if (!pipelined) {
            run_wait(run, get ? &run->counted : &run->done, started);
        }
    }
    run_wait(run, get ? &run->counted : &run->done, started);
    return 0;
}

int bandwidth_run(struct ns_sim_node *node, uint64_t *value_p,
                  const struct bandwidth *bandwidth, char *error,
                  size_t error_bytes)
{
    uint8_t *memory = malloc(bandwidth->total);
    struct am_region *region = NULL;
    uint64_t mine, all[2], from_ps;
    struct run run;
    int result = -1;

    if (memory == NULL || run_open(&run, node, error, error_bytes) != 0) {
        free(memory);
        return -1;
    }
    memset(memory, (int)node->rank + 1, bandwidth->total);
    mine = (uintptr_t)memory;
    if (am_region_register(run.ctx, memory, bandwidth->total, &region) ==
        AM_OK) {
        (void)ns_sim_allgather(node, &mine, all, sizeof(mine));
        from_ps = run_now(&run);
        result = 0;
        if (node->rank == 0) {
            uint64_t ps;

            result = transfer(&run, bandwidth, memory,
                              (uint8_t *)(uintptr_t)all[1]);
            ps = run_now(&run) - from_ps;
            *value_p = (uint64_t)((unsigned __int128)bandwidth->total *
                                  NS_PS_PER_SECOND / ps);
            (void)am_ctx_request(run.ctx, 1, H_COUNT, NULL, 0, NULL, 0);
        } else {
            run_wait(&run, &run.counted, 1);
            if (memory[0] != (strncmp(bandwidth->op, "get", 3) == 0 ? 2 : 1) ||
                memory[0] != memory[bandwidth->total - 1]) {
                snprintf(error, error_bytes, "%s: wrong bytes", bandwidth->op);
                result = -1;
            }
        }
    }
    run_close(&run);
    free(memory);
    return result;
}

int figure_store_bandwidth(struct ns_sim_node *node, uint64_t *value_p,
                           char *error, size_t error_bytes)
{
    const struct bandwidth bandwidth = {"store_async", TOTAL_BYTES,
                                        TOTAL_BYTES};

    return bandwidth_run(node, value_p, &bandwidth, error, error_bytes);
}

int figure_get_bandwidth(struct ns_sim_node *node, uint64_t *value_p,
                         char *error, size_t error_bytes)
{
    const struct bandwidth bandwidth = {"get_async", TOTAL_BYTES, TOTAL_BYTES};

    return bandwidth_run(node, value_p, &bandwidth, error, error_bytes);
}
