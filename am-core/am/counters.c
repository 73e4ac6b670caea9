/*
 * Counters: the context's own, its devices' (of all together, and of each), its
 * channels', its modules'; and their printing at the end.
 */
#include "config.h"

#include "am/counters.h"
#include "chan/chan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct am_stat_row am_ctx_stat_rows[AM_STAT_COUNT] = {
        {"tx_requests", "packets", "requests sent by public calls"},
        {"tx_replies", "packets", "replies sent"},
        {"rx_requests", "packets", "requests handled"},
        {"rx_replies", "packets", "replies handled"},
        {"queued", "packets", "requests that handlers had to queue"},
        {"stream_bytes", "bytes", "sent by put over send"},
        {"landed_bytes", "bytes", "put in place for put over send"},
        {"device_puts", "transfers", "single-copy puts"},
        {"device_gets", "transfers", "single-copy gets"},
        {"spared", "messages",
         "sent by a single copy that leaves new pages of a ring unused"},
        {"fetch_adds", "operations", "fetch-and-adds made here for peers"},
        {"rx_bad_packet", "packets", "malformed, dropped"},
        {"rx_bad_handler", "packets", "for a handler that is not there"},
        {"rx_bad_region", "packets", "outside every region, dropped"},
        {"rx_bad_handle", "packets", "for an operation that is not there"},
        {"rx_bad_connection", "peers", "of a rank that is connected, refused"},
        {"peers_dead", "peers", "peers that died"},
        {"posted", "packets", "requests handed over by other threads"},
        {"post_failed", "packets", "of these, for a peer that is not there"},
};

const struct am_stat_row am_dev_stat_rows[AM_DEV_STAT_COUNT] = {
        {"tx_packets", "packets", "sent"},
        {"tx_bytes", "bytes", "sent, headers included"},
        {"tx_again", "times", "a send found no space"},
        {"rx_packets", "packets", "received"},
        {"rx_bytes", "bytes", "received, headers included"},
        {"rx_bad", "packets", "with an impossible length or offset"},
        {"copy_bytes", "bytes", "copied by the CPU inside the device"},
        {"put", "transfers", "puts by the device"},
        {"get", "transfers", "gets by the device"},
        {"wake", "times", "a sleeping peer was woken"},
        {"sleep", "times", "this context slept"},
        {"rx_foreign", "packets", "of nobody known, or with a wrong mac"},
        {"rx_stale", "packets", "of a connection that is over, or very late"},
        {"rx_replayed", "packets", "that came before, dropped"},
        {"rx_held", "packets", "requests dropped as not ready"},
        {"tx_lost", "packets", "the system refused to send"},
};

/* clang-format off: a table */
/* The same of one device: its name stands before theirs. */
#define DEV_ROWS(_dev)                                                       \
    {                                                                        \
        {_dev "_tx_packets", "packets", "sent by " _dev},                    \
        {_dev "_tx_bytes", "bytes", "sent by " _dev ", headers included"},   \
        {_dev "_tx_again", "times", "a send by " _dev " found no space"},    \
        {_dev "_rx_packets", "packets", "received by " _dev},                \
        {_dev "_rx_bytes", "bytes",                                          \
         "received by " _dev ", headers included"},                          \
        {_dev "_rx_bad", "packets",                                          \
         "of " _dev " with an impossible length"},                           \
        {_dev "_copy_bytes", "bytes", "copied by the CPU inside " _dev},     \
        {_dev "_put", "transfers", "puts by " _dev},                         \
        {_dev "_get", "transfers", "gets by " _dev},                         \
        {_dev "_wake", "times", "a sleeping peer was woken by " _dev},       \
        {_dev "_sleep", "times", "this context slept in " _dev},             \
        {_dev "_rx_foreign", "packets", "of " _dev " of nobody known"},      \
        {_dev "_rx_stale", "packets", "of " _dev " that are late, dropped"}, \
        {_dev "_rx_replayed", "packets", "of " _dev " that came before"},    \
        {_dev "_rx_held", "packets", "of " _dev " dropped as not ready"},    \
        {_dev "_tx_lost", "packets", "of " _dev " that were not sent"},      \
    }
/* clang-format on */

static const struct am_stat_row one_dev_rows[][AM_DEV_STAT_COUNT] = {
        [AM_DEV_NUMBER_SELF] = DEV_ROWS("self"),
        [AM_DEV_NUMBER_SHM] = DEV_ROWS("shm"),
        [AM_DEV_NUMBER_SIM] = DEV_ROWS("sim"),
        [AM_DEV_NUMBER_UDP] = DEV_ROWS("udp"),
        [AM_DEV_NUMBER_OFI] = DEV_ROWS("ofi"),
};

enum {
    GROUP_CTX,
    GROUP_DEVS, /* all devices together */
    GROUP_CHAN, /* all channels */
    GROUP_MODULES,
    SUMS_MAX = 64
};

/* The counters of one owner. */
struct group {
    const struct am_stat_row *rows;
    const uint64_t *values; /* NULL: this context has none */
    uint32_t count;
    uint64_t sums[SUMS_MAX]; /* values, if they are of several */
};

static void group_add(struct group *group, const uint64_t *values)
{
    AM_CHECK(group->count <= SUMS_MAX);
    if (values != NULL) {
        for (uint32_t i = 0; i < group->count; i++) {
            group->sums[i] += values[i];
        }
        group->values = group->sums;
    }
}

static void group_devs(const struct am_ctx *ctx, struct group *group)
{
    group->rows = am_dev_stat_rows;
    group->count = AM_DEV_STAT_COUNT;
    for (uint32_t i = 0; ctx != NULL && i < ctx->slot_count; i++) {
        group_add(group, ctx->slots[i].stats);
    }
}

static void group_chan(const struct am_ctx *ctx, struct group *group)
{
    group->rows = am_chan_stat_rows;
    (void)am_chan_stats(NULL, &group->count);
    for (uint32_t i = 0; ctx != NULL && i < ctx->dev_count; i++) {
        group_add(group, am_chan_stats(ctx->devs[i], &group->count));
    }
}

/* Those of one device of the build, open or not. */
static void group_dev(const struct am_ctx *ctx, const struct am_dev_ops *ops,
                      struct group *group)
{
    const uint32_t known = sizeof(one_dev_rows) / sizeof(one_dev_rows[0]);

    if (ops->number >= known) {
        return; /* of a test: none */
    }
    group->rows = one_dev_rows[ops->number];
    group->count = AM_DEV_STAT_COUNT;
    for (uint32_t i = 0; ctx != NULL && i < ctx->slot_count; i++) {
        if (ctx->slots[i].ops == ops) {
            group->values = ctx->slots[i].stats;
        }
    }
}

/* Owner `index`; false past the last one.  What there is depends on the build
 * only, so that a counter keeps its number. */
static bool group_get(const struct am_ctx *ctx, uint32_t index,
                      struct group *group)
{
    *group = (struct group){0};
    switch (index) {
    case GROUP_CTX:
        group->rows = am_ctx_stat_rows;
        group->values = ctx == NULL ? NULL : ctx->stats;
        group->count = AM_STAT_COUNT;
        return true;
    case GROUP_DEVS:
        group_devs(ctx, group);
        return true;
    case GROUP_CHAN:
        group_chan(ctx, group);
        return true;
    default:
        index -= GROUP_MODULES;
    }
    for (uint32_t m = 0; am_modules[m] != NULL; m++, index--) {
        if (index == 0) {
            group->rows = am_modules[m]->stats;
            group->values = ctx == NULL ? NULL : ctx->module_stats[m];
            group->count = am_modules[m]->stat_count;
            return true;
        }
    }
    for (uint32_t d = 0; am_dev_table[d] != NULL; d++, index--) {
        if (index == 0) {
            group_dev(ctx, am_dev_table[d], group);
            return true;
        }
    }
    return false;
}

am_status_t am_counter(const struct am_ctx *ctx, uint32_t index,
                       struct am_counter_info *info)
{
    struct group group;

    for (uint32_t g = 0; group_get(ctx, g, &group); g++) {
        if (index < group.count) {
            const struct am_stat_row *row = &group.rows[index];

            *info = (struct am_counter_info){
                    row->name, row->unit, row->help,
                    group.values == NULL ? 0 : group.values[index]};
            return AM_OK;
        }
        index -= group.count;
    }
    return AM_ERR_INVALID;
}

/* ----------------------------------------------------------- at the end */

/* The file that a variable names; failing to open it is said once. */
static FILE *output_open(struct am_ctx *ctx, const char *variable,
                         const char *name, bool together)
{
    FILE *file = am_log_output_open(name, ctx->rank, together);

    if (file == NULL) {
        am_log(&ctx->log, AM_LOG_ERROR,
               "%s names the file %s, which cannot be written: %m", variable,
               name);
    }
    return file;
}

/* The same for what was written to it; `error` is an errno, or 0 so far. */
static void output_close(struct am_ctx *ctx, const char *variable,
                         const char *name, FILE *file, int error)
{
    if (am_log_output_close(file) != 0 && error == 0) {
        error = errno;
    }
    if (error != 0) {
        am_log(&ctx->log, AM_LOG_ERROR,
               "%s names the file %s, which is not complete: %s", variable,
               name, strerror(error));
    }
}

static void stats_print(const struct am_ctx *ctx, FILE *file)
{
    struct group group;
    char prefix[32];

    snprintf(prefix, sizeof(prefix), "rank %u", ctx->rank);
    for (uint32_t g = 0; group_get(ctx, g, &group); g++) {
        if (group.values != NULL) {
            am_stats_print(file, prefix, group.rows, group.values, group.count);
        }
    }
}

void am_ctx_stats_write(struct am_ctx *ctx)
{
    FILE *file =
            ctx->values.stats[0] == '\0'
                    ? NULL
                    : output_open(ctx, "AM_STATS", ctx->values.stats, true);

    if (file != NULL) {
        stats_print(ctx, file);
        output_close(ctx, "AM_STATS", ctx->values.stats, file, 0);
    }
    file = ctx->trace == NULL
                   ? NULL
                   : output_open(ctx, "AM_TRACE", ctx->values.trace, false);
    if (file != NULL) {
        int error = am_trace_write(ctx->trace, file) != 0 ? errno : 0;

        output_close(ctx, "AM_TRACE", ctx->values.trace, file, error);
    }
}
