/*
 * What a context tells of itself: variables, devices.
 */
#include "config.h"

#include "am/ctx.h"
#include "chan/chan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_MS "60000"

static am_status_t check_devices(const char *text, char *accepted, size_t bytes)
{
    size_t at = 0;

    if (strcmp(text, "auto") == 0) {
        return AM_OK;
    }
    for (const char *name = text; *name != '\0';) {
        size_t length = strcspn(name, ",");
        bool known = false;

        for (int i = 0; am_dev_table[i] != NULL; i++) {
            known = known ||
                    (strlen(am_dev_table[i]->name) == length &&
                     strncmp(am_dev_table[i]->name, name, length) == 0);
        }
        if (!known) {
            break;
        }
        name += length;
        if (*name == '\0') {
            return AM_OK;
        }
        name++;
    }
    at += (size_t)snprintf(accepted, bytes, "auto, or a list of");
    for (int i = 0; am_dev_table[i] != NULL && at < bytes; i++) {
        at += (size_t)snprintf(accepted + at, bytes - at, "%s %s",
                               i == 0 ? "" : ",", am_dev_table[i]->name);
    }
    return AM_ERR_CONFIG;
}

/* Also where nothing is simulated: the program may run in am_sim next. */
static am_status_t check_compute(const char *text, char *accepted, size_t bytes)
{
    static const char measured[] = "measured:";
    uint64_t factor;

    if (*text == '\0' || strcmp(text, "none") == 0 ||
        strcmp(text, "declared") == 0 ||
        (strncmp(text, measured, sizeof(measured) - 1) == 0 &&
         am_config_parse_thousandths(text + sizeof(measured) - 1,
                                     UINT64_C(1000) * AM_SIM_FACTOR_MAX,
                                     &factor) == AM_OK)) {
        return AM_OK;
    }
    snprintf(accepted, bytes,
             "none, declared, or measured:F with a factor F of 0.001 to %d",
             AM_SIM_FACTOR_MAX);
    return AM_ERR_CONFIG;
}

static const struct am_config_row ctx_rows[] = {
        {"AM_DEVICES", "auto", AM_CONFIG_TEXT, "",
         "devices that may be used, by name, with commas between; auto: those "
         "of the host, and udp when the job has ranks on another host; ofi "
         "opens only where it is named",
         offsetof(struct am_values, devices), NULL, check_devices},
        {"AM_LOG", "warn", AM_CONFIG_TEXT, "",
         "level (none, error, warn, info, debug, trace, data), or "
         "level:file with %r for the rank",
         offsetof(struct am_values, log), NULL, NULL},
        {"AM_STATS", "", AM_CONFIG_TEXT, "",
         "file that the counters are written to at the end, %r for the rank; "
         "- for stderr",
         offsetof(struct am_values, stats), NULL, NULL},
        {"AM_TRACE", "", AM_CONFIG_TEXT, "",
         "file that a Chrome trace is written to at the end, %r for the rank",
         offsetof(struct am_values, trace), NULL, NULL},
        {"AM_TRACE_RECORDS", "64k", AM_CONFIG_BYTES, "records",
         "length of the trace ring", offsetof(struct am_values, trace_records),
         NULL, NULL},
        {"AM_SIM_MACHINE", "", AM_CONFIG_TEXT, "",
         "simulated machine of am_perf and am_sim when their command lines "
         "name none: one of am_sim --list, or a file; empty: am_perf runs on "
         "this machine",
         offsetof(struct am_values, sim_machine), NULL, NULL},
        {"AM_SIM_COMPUTE", "none", AM_CONFIG_TEXT, "",
         "time that a program's own computation takes on a simulated machine "
         "(am_sim --mpi): none; declared, what it tells am_compute; "
         "measured:F, "
         "its processor time times F, which is not the same in every run",
         offsetof(struct am_values, sim_compute), NULL, check_compute},
        {"AM_SIM_ENGINE", "", AM_CONFIG_TEXT, "",
         "set by am_sim --mpi for the programs that it starts: the simulator "
         "of whose machine they are ranks",
         offsetof(struct am_values, sim_engine), NULL, NULL},
        {"AM_CONNECT_TIMEOUT", CONNECT_TIMEOUT_MS, AM_CONFIG_COUNT, "ms",
         "how long a job's ranks wait for each other when they start; 0: for "
         "ever",
         offsetof(struct am_values, connect_timeout_ms), NULL, NULL},
        {"AM_PROFILE", "auto", AM_CONFIG_TEXT, "",
         "file of am_tune with the costs that this machine begins with, and by "
         "which long messages go faster there; auto: "
         "~/.config/libam/profile-HOST, else libam/profile in the system's "
         "folder of settings, if there is one; none. It is not used where "
         "ranks outnumber the cores",
         offsetof(struct am_values, profile), NULL, NULL},
        {"AM_LEARN", "much", AM_CONFIG_CHOICE, "",
         "do the costs that protocols are chosen by follow what long copies "
         "are seen to take? much: they begin with what is built in for the "
         "kind of cores that copies show these to be, and follow what "
         "differs by a factor of eight (by a quarter, where ranks outnumber "
         "the cores, or while both ends send and the two copies of a stream "
         "cost a quarter more than a single copy); libam also tries a stream "
         "and a single copy on contiguous messages of 8 KiB and more, by "
         "size, and uses the faster. yes: they follow what differs by a "
         "quarter. no: they stay as they began. With much and yes, cores "
         "between which lines come late count as cores that share no cache",
         offsetof(struct am_values, learn), "no|much|yes", NULL},
        {"AM_WAIT", "auto", AM_CONFIG_CHOICE, "",
         "what a waiting process does: auto spins, yields when others want "
         "the core, sleeps on a doorbell after a longer idle time",
         offsetof(struct am_values, wait), "auto|spin|yield|sleep", NULL},
};

const struct am_config_table am_ctx_config = {
        ctx_rows, sizeof(ctx_rows) / sizeof(ctx_rows[0])};

struct table_list {
    const struct am_config_table **tables;
    size_t *value_bytes;
    uint32_t count;
};

static void table_add(struct table_list *list,
                      const struct am_config_table *table, size_t bytes)
{
    if (table != NULL) {
        AM_CHECK(list->count < AM_TABLES_MAX);
        list->tables[list->count] = table;
        list->value_bytes[list->count++] = bytes;
    }
}

uint32_t am_config_tables(const struct am_config_table **tables,
                          size_t *value_bytes)
{
    struct table_list list = {tables, value_bytes, 0};

    table_add(&list, &am_ctx_config, sizeof(struct am_values));
    table_add(&list, &am_chan_config, sizeof(struct am_chan_values));
    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        table_add(&list, am_dev_table[i]->config,
                  am_dev_table[i]->config_bytes);
    }
    for (uint32_t i = 0; am_modules[i] != NULL; i++) {
        table_add(&list, am_modules[i]->config, am_modules[i]->config_bytes);
    }
    return list.count;
}

const void *am_ctx_values(const struct am_ctx *ctx,
                          const struct am_config_table *table)
{
    const struct am_config_table *tables[AM_TABLES_MAX];
    size_t value_bytes[AM_TABLES_MAX];
    uint32_t count = am_config_tables(tables, value_bytes);

    for (uint32_t i = 0; i < count; i++) {
        if (tables[i] == table) {
            return ctx->table_values[i];
        }
    }
    return NULL;
}

uint64_t am_connect_timeout_ms(const struct am_option *options,
                               uint32_t option_count)
{
    struct am_values values;
    char error[512];

    if (am_config_load(&am_ctx_config, &values, options, option_count, error,
                       sizeof(error)) != AM_OK) {
        return strtoull(CONNECT_TIMEOUT_MS, NULL, 10);
    }
    return values.connect_timeout_ms == 0 ? UINT64_MAX
                                          : values.connect_timeout_ms;
}

am_status_t am_variable(const struct am_ctx *ctx, uint32_t index,
                        struct am_variable_info *info, char *text,
                        size_t text_bytes)
{
    const struct am_config_table *tables[AM_TABLES_MAX];
    size_t value_bytes[AM_TABLES_MAX];
    uint32_t count = am_config_tables(tables, value_bytes);

    for (uint32_t t = 0; t < count; t++) {
        const struct am_config_row *row = &tables[t]->rows[index];

        if (index >= tables[t]->row_count) {
            index -= tables[t]->row_count;
            continue;
        }
        if (ctx != NULL) {
            am_config_print(row, ctx->table_values[t], text, text_bytes);
        } else {
            snprintf(text, text_bytes, "%s", row->def);
        }
        *info = (struct am_variable_info){row->name, text,      row->def,
                                          row->unit, row->help, row->choices};
        return AM_OK;
    }
    return AM_ERR_INVALID;
}

static size_t describe_devices(struct am_ctx *ctx, char *text, size_t bytes)
{
    size_t at = 0;

    for (uint32_t i = 0; i < ctx->dev_count && at < bytes; i++) {
        struct am_dev *dev = ctx->devs[i];
        const struct am_dev_perf *p = &dev->attr.perf;

        at += dev->ops->describe(dev, text + at, bytes - at);
        if (at >= bytes) {
            break;
        }
        at += (size_t)snprintf(
                text + at, bytes - at,
                "  %s: o_s %llu ns + %llu ps/B, o_r %llu ns + %llu ps/B, "
                "L %llu ns, g %llu ns, put %llu ns + %llu ps/B, packet %zu B\n",
                dev->ops->name,
                (unsigned long long)p->send_overhead.fixed_ps / 1000,
                (unsigned long long)p->send_overhead.per_byte_fs / 1000,
                (unsigned long long)p->recv_overhead.fixed_ps / 1000,
                (unsigned long long)p->recv_overhead.per_byte_fs / 1000,
                (unsigned long long)p->wire.fixed_ps / 1000,
                (unsigned long long)p->gap_ps / 1000,
                (unsigned long long)p->put.fixed_ps / 1000,
                (unsigned long long)p->put.per_byte_fs / 1000,
                dev->attr.packet_bytes_max);
    }
    return at;
}

size_t am_describe(struct am_ctx *ctx, const char *what, char *text,
                   size_t text_bytes)
{
    if (text_bytes > 0) {
        text[0] = '\0';
    }
    if (strcmp(what, "devices") == 0) {
        return describe_devices(ctx, text, text_bytes);
    }
    for (uint32_t i = 0; am_modules[i] != NULL; i++) {
        size_t length =
                am_modules[i]->describe == NULL
                        ? 0
                        : am_modules[i]->describe(ctx, what, text, text_bytes);

        if (length > 0) {
            return length;
        }
    }
    return 0;
}
