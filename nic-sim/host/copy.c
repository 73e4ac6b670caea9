/*
 * The cost of a copy: a start, and a rate by its size.
 *
 *   own memory   up to half a cache (what is read and what is written are both
 *                in it): that cache's rate; larger: memory's
 *   shared       one rate: DMA takes lines out of the caches, or the driver
 *                flushes them; what it fetches again is charged by the line
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

    return bytes == 0 ? 0
                      : start_ps + ns_bytes_ps(bytes, rate(host, kind, bytes));
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
