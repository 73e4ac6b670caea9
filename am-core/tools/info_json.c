/*
 * am_info --json.  Devices and protocol tables are read out of the context as
 * numbers: am_describe gives them as text for people only.
 */
#include "tools/info.h"

#include "am/ctx.h"
#include "dev/dev.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"

#include <jansson.h>
#include <stdio.h>

static json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *version_json(void)
{
    json_t *devices = json_array();

    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        json_array_append_new(devices, json_string(am_dev_table[i]->name));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:i}", "version",
                     AM_VERSION_STRING, "build", info_build_kind(), "compiler",
                     __VERSION__, "simulated_hosts", info_build_sim(),
                     "devices", devices, "address_bytes", AM_ADDRESS_BYTES,
                     "words_max", AM_WORDS_MAX);
}

static void variable_json(const struct am_variable_info *info, void *arg)
{
    json_t *row =
            json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", info->name, "value",
                      info->value, "default", info->def, "unit",
                      info->unit == NULL ? "" : info->unit, "help", info->help);

    if (info->choices != NULL) {
        json_object_set_new(row, "choices", json_string(info->choices));
    }
    json_array_append_new(arg, row);
}

/* ---------------------------------------------------------------- devices */

static json_t *caps_json(uint32_t caps)
{
    static const char *const names[] = {
            "reliable", "ordered", "put",        "get",   "fetch_add", "wait",
            "mapped",   "timer",   "collective", "drops", "multicast"};
    json_t *list = json_array();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((caps >> i & 1) != 0) {
            json_array_append_new(list, json_string(names[i]));
        }
    }
    return list;
}

static json_t *line_json(const struct am_linfn *line)
{
    return json_pack("{s:o, s:o}", "fixed_ps", number(line->fixed_ps),
                     "per_byte_fs", number(line->per_byte_fs));
}

static json_t *perf_json(const struct am_dev_perf *perf)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "send_overhead",
                     line_json(&perf->send_overhead), "recv_overhead",
                     line_json(&perf->recv_overhead), "wire",
                     line_json(&perf->wire), "gap_ps", number(perf->gap_ps),
                     "put", line_json(&perf->put), "get", line_json(&perf->get),
                     "shared_core", perf->shared_core);
}

static json_t *devices_json(const struct am_ctx *ctx, char *text,
                            size_t text_bytes)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        struct am_dev *dev = ctx->devs[i];
        const struct am_dev_attr *attr = &dev->attr;

        text[0] = '\0';
        dev->ops->describe(dev, text, text_bytes);
        json_array_append_new(
                list,
                json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name",
                          dev->ops->name, "text", text, "capabilities",
                          caps_json(attr->caps), "packet_bytes_max",
                          number(attr->packet_bytes_max), "reply_bytes_max",
                          number(attr->reply_bytes_max), "depth",
                          number(attr->depth), "cost", perf_json(&attr->perf)));
    }
    return list;
}

/* -------------------------------------------------------------- protocols */

/* Cost of each protocol at `bytes`; those that cannot carry it are left out. */
static json_t *costs_json(const struct am_cost_in *in, size_t bytes)
{
    json_t *costs = json_object();

    for (int i = 0; i < AM_PROTO_COUNT; i++) {
        uint64_t ps = am_proto_cost_ps(in, (am_proto_t)i, bytes);

        if (ps != AM_COST_NEVER) {
            json_object_set_new(costs, am_protos[i]->name, number(ps));
        }
    }
    return costs;
}

static json_t *rows_json(const struct am_proto_kind *kind, bool contiguous)
{
    static const char *const why[] = {[AM_WHY_COST] = "lowest cost",
                                      [AM_WHY_SET] = "set by a variable",
                                      [AM_WHY_POLICY] = "AM_BUFFERING"};
    const struct am_proto_row *rows = am_proto_rows(kind, contiguous);
    struct am_cost_in in = kind->cost;
    json_t *list = json_array();
    size_t from = 0;

    in.contiguous = contiguous;
    for (uint32_t i = 0; i < kind->row_count[contiguous]; i++) {
        const struct am_proto_row *row = &rows[i];

        json_array_append_new(
                list,
                json_pack("{s:o, s:o, s:s, s:s, s:o}", "from", number(from),
                          "to", number(row->bytes_max), "protocol",
                          am_protos[row->proto]->name, "reason", why[row->why],
                          "cost_ps_at_from", costs_json(&in, from)));
        from = row->bytes_max + 1;
    }
    return list;
}

/* The rates in use of one way, and where they come from. */
static json_t *rates_json(const struct am_rate *rates)
{
    static const char *const names[AM_COPY_COUNT] = {"copy_in", "copy_out",
                                                     "single_copy"};
    json_t *costs = json_object();

    for (int i = 0; i < AM_COPY_COUNT; i++) {
        json_object_set_new(costs, names[i],
                            json_pack("{s:o, s:s}", "per_byte_fs",
                                      number(rates[i].used_fs), "from",
                                      am_from_text(rates[i].from)));
    }
    return costs;
}

static json_t *meter_json(const struct am_meter *meter)
{
    if (meter == NULL) {
        return json_null();
    }
    return json_pack("{s:s, s:b, s:o, s:o, s:i}", "distance",
                     am_distance_name(meter->distance), "both_ways_now",
                     meter->perf.both_ways, "one_way",
                     rates_json(meter->rates[AM_WAYS_ONE]), "both_ways",
                     rates_json(meter->rates[AM_WAYS_BOTH]), "changes",
                     (int)meter->changes);
}

/* am_describe makes the tables of the kinds of peer that there are. */
static json_t *protocols_json(struct am_ctx *ctx, char *text, size_t text_bytes)
{
    json_t *list = json_array();

    am_describe(ctx, "protocols", text, text_bytes);
    for (const struct am_proto_kind *kind = am_msg_of(ctx)->kinds; kind != NULL;
         kind = kind->next) {
        json_array_append_new(
                list, json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o}", "device",
                                kind->dev->ops->name, "packet_bytes_max",
                                number(kind->packet_max), "series_bytes_max",
                                number(kind->series_max), "without_space",
                                am_protos[kind->rndv]->name, "contiguous",
                                rows_json(kind, true), "other",
                                rows_json(kind, false), "meter",
                                meter_json(kind->meter)));
    }
    return list;
}

void info_json_print(const struct info_options *options, struct am_ctx *ctx,
                     char *text, size_t text_bytes)
{
    json_t *root = json_object();

    if (options->version) {
        json_object_set_new(root, "version", version_json());
    }
    if (options->variables) {
        json_t *rows = json_array();

        info_variables_each(ctx, variable_json, rows);
        json_object_set_new(root, "variables", rows);
    }
    if (options->devices) {
        json_object_set_new(root, "devices",
                            devices_json(ctx, text, text_bytes));
    }
    if (options->protocols) {
        json_object_set_new(root, "protocols",
                            protocols_json(ctx, text, text_bytes));
    }
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(root);
}
