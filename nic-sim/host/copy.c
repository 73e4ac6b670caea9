/*
 * The cost of a copy: a start, and a rate by its size.
 *
 *   own memory   up to half a cache (what is read and what is written are both
 *                in it): that cache's rate; larger: memory's
 *   shared       one rate: DMA takes lines out of the caches, or the driver
 *                flushes them; what it fetches again is charged by the line.
 *                Where the rate in the first cache is known, the first line
 *                has that: headers and flags go to registers, not to memory
 *   adapter      the rate of stores across the bus
 *
 * The size is that of one call: a message that is copied by the packet counts
 * as many small ones.
 */
#include "host/copy.h"

static uint64_t own_rate(const struct ns_copy_settings *copy, uint64_t bytes)
{
    for (uint32_t i = 0; i < NS_CACHES; i++) {
        if (bytes <= copy->cache_bytes[i] / 2 &&
            copy->cached_bytes_per_second[i] != 0) {
            return copy->cached_bytes_per_second[i];
        }
    }
    return copy->bytes_per_second;
}

/* How much of a copy from or to shared memory is as if it were in the cache. */
static uint64_t near_bytes(const struct ns_host_settings *host, uint64_t bytes)
{
    if (host->copy.cached_bytes_per_second[0] == 0) {
        return 0;
    }
    return bytes < host->line_bytes ? bytes : host->line_bytes;
}

static uint64_t rate(const struct ns_host_settings *host, ns_memory_kind_t kind,
                     uint64_t bytes)
{
    const struct ns_copy_settings *copy = &host->copy;

    if (kind == NS_MEMORY_ADAPTER) {
        return host->pio_stream_bytes_per_second;
    }
    if (kind == NS_MEMORY_OWN) {
        return own_rate(copy, bytes);
    }
    return copy->shared_bytes_per_second != 0 ? copy->shared_bytes_per_second
                                              : copy->bytes_per_second;
}

uint64_t ns_copy_ps(const struct ns_host_settings *host, ns_memory_kind_t kind,
                    uint64_t bytes)
{
    const uint64_t start_ps = kind == NS_MEMORY_OWN ? host->copy.start_ps
                              : kind == NS_MEMORY_SHARED
                                      ? host->copy.shared_start_ps
                                      : 0;

    uint64_t near = kind == NS_MEMORY_SHARED ? near_bytes(host, bytes) : 0;
    uint64_t ps = start_ps;

    if (near > 0) {
        ps += ns_bytes_ps(near, host->copy.cached_bytes_per_second[0]);
    }
    if (bytes > near) {
        ps += ns_bytes_ps(bytes - near, rate(host, kind, bytes));
    }
    return bytes == 0 ? 0 : ps;
}

uint64_t ns_copy_byte_fs(const struct ns_host_settings *host,
                         ns_memory_kind_t kind, uint64_t bytes)
{
    return UINT64_C(1000000000000000) / rate(host, kind, bytes);
}

const char *ns_copy_check(const struct ns_host_settings *host)
{
    const struct ns_copy_settings *copy = &host->copy;

    for (uint32_t i = 0; i < NS_CACHES; i++) {
        if ((copy->cache_bytes[i] == 0) !=
            (copy->cached_bytes_per_second[i] == 0)) {
            return i == 0 ? "host.cache and host.copy_cached go together"
                          : "host.cache2 and host.copy_cached2 go together";
        }
    }
    if (copy->cache_bytes[1] != 0 &&
        copy->cache_bytes[1] <= copy->cache_bytes[0]) {
        return "host.cache2 must be larger than host.cache";
    }
    return NULL;
}
