/*
 * The protocol tables as text, with the numbers that led to them: what
 * `am_info -p` and AM_EXPLAIN show.
 */
#include "base/text.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"

#include <inttypes.h>
#include <stdlib.h>

static void out_costs(struct am_text *out, const struct am_cost_in *in,
                      size_t bytes)
{
    am_text_add(out, "ns at ");
    am_text_size(out, bytes);
    am_text_add(out, ":");
    for (int i = 0; i < AM_PROTO_COUNT; i++) {
        uint64_t ps = am_proto_cost_ps(in, (am_proto_t)i, bytes);

        if (ps == AM_COST_NEVER) {
            am_text_add(out, " %s no", am_protos[i]->name);
        } else {
            am_text_add(out, " %s %" PRIu64, am_protos[i]->name, ps / 1000);
        }
    }
}

static void out_row(struct am_text *out, const struct am_proto_kind *kind,
                    const struct am_proto_row *row, size_t from,
                    bool contiguous)
{
    static const char *const why[] = {
            [AM_WHY_COST] = "lowest cost",
            [AM_WHY_SET] = "set by a variable",
            [AM_WHY_POLICY] = "AM_BUFFERING",
    };
    struct am_cost_in in = kind->cost;
    size_t typical = row->bytes_max == SIZE_MAX
                             ? (from < 1024 * 1024 ? 1024 * 1024 : from)
                             : from + (row->bytes_max - from) / 2;

    in.contiguous = contiguous;
    am_text_add(out, "  ");
    am_text_size(out, from);
    am_text_add(out, " to ");
    am_text_size(out, row->bytes_max);
    am_text_add(out, ": %s, %s", am_protos[row->proto]->name, why[row->why]);
    if (row->why == AM_WHY_COST) {
        am_text_add(out, "; ");
        out_costs(out, &in, typical);
    }
    am_text_add(out, "\n");
}

/* Where the costs come from: of the way that is noticed. */
static void out_meter(struct am_text *out, const struct am_meter *meter)
{
    static const char *const names[AM_COPY_COUNT] = {"copy in", "copy out",
                                                     "single copy"};

    am_text_add(out,
                "  costs at distance %s, %s: short packets %" PRIu64 " ns (%s)",
                am_distance_name(meter->distance),
                meter->perf.both_ways ? "both ways" : "one way",
                am_cost_short_ps(&meter->perf) / 1000,
                am_from_text(meter->short_from));
    for (int i = 0; i < AM_COPY_COUNT; i++) {
        const struct am_rate *rate = am_meter_used(meter, (am_copy_t)i);

        am_text_add(out, ", %s %" PRIu64 " ps/B (%s)", names[i],
                    rate->used_fs / 1000, am_from_text(rate->from));
    }
    am_text_add(out, "; changed %u times\n", meter->changes);
}

/* The same of a device that has no meter. */
static void out_perf(struct am_text *out, const struct am_dev *dev,
                     const char *from)
{
    const struct am_dev_perf *perf = &dev->attr.perf;

    am_text_add(out,
                "  costs: short packets %" PRIu64 " ns, copy in %" PRIu64
                " ps/B, copy out %" PRIu64 " ps/B (%s%s)\n",
                am_cost_short_ps(perf) / 1000,
                perf->send_overhead.per_byte_fs / 1000,
                perf->recv_overhead.per_byte_fs / 1000, from,
                dev->ops == dev->bottom ? "" : ", of device and channel");
}

/* What the profile says of them. */
static void out_faster(struct am_text *out, const struct am_faster *faster)
{
    for (int flow = 0; faster != NULL && flow < AM_FLOW_COUNT; flow++) {
        am_text_add(out, "    %s, by the profile at first: ",
                    am_flow_text((am_flow_t)flow));
        am_faster_text(out, faster, (am_flow_t)flow);
        am_text_add(out, "\n");
    }
}

static void out_kind(struct am_text *out, const struct am_proto_kind *kind,
                     const char *origin)
{
    for (int contiguous = 1; contiguous >= 0; contiguous--) {
        const struct am_proto_row *rows = am_proto_rows(kind, contiguous == 1);
        size_t from = 0;

        am_text_add(out, "device %s, %s data\n", kind->dev->bottom->name,
                    contiguous ? "contiguous" : "other");
        for (uint32_t i = 0; i < kind->row_count[contiguous]; i++) {
            out_row(out, kind, &rows[i], from, contiguous == 1);
            from = rows[i].bytes_max + 1;
        }
    }
    am_text_add(out, "  one packet carries ");
    am_text_size(out, kind->packet_max);
    am_text_add(out, "; without credit or region space: %s\n",
                am_protos[kind->rndv]->name);
    if (kind->series_max > am_proto_rows(kind, true)[0].bytes_max) {
        am_text_add(out, "  behind %d others in a row: eager to ",
                    AM_PROTO_SERIES);
        am_text_size(out, kind->series_max);
        am_text_add(out, ", as both ends copy at the same time\n");
    }
    if (kind->tries) {
        am_text_add(out, "  from ");
        am_text_size(out, AM_FASTER_BYTES);
        am_text_add(out, " on a stream and a single copy are both tried, and "
                         "the faster is used (AM_LEARN)\n");
        out_faster(out, kind->meter->faster);
    }
    if (kind->pages != NULL) {
        am_text_add(out, "  more than ");
        am_text_size(out, kind->pages->ready_bytes);
        am_text_add(out,
                    " to a peer at first: get by a single copy, until that has "
                    "cost as much more as new pages of its ring do (%s%" PRIu64
                    " ps/B)\n",
                    kind->pages->byte_fs == 0 ? "not measured: " : "",
                    kind->pages->byte_fs / 1000);
    }
    if (kind->meter != NULL) {
        out_meter(out, kind->meter);
    } else {
        out_perf(out, kind->dev, origin);
    }
}

static bool is_met(const struct am_msg *msg, const struct am_dev *dev)
{
    const struct am_proto_kind *kind = msg->kinds;

    while (kind != NULL && kind->dev != dev) {
        kind = kind->next;
    }
    return kind != NULL;
}

/* A device that no peer was met by yet, as one would be. */
static void out_unmet(struct am_text *out, struct am_msg *msg,
                      const struct am_dev *dev, const char *origin)
{
    struct am_proto_kind *kind = calloc(1, sizeof(*kind));

    if (kind == NULL) {
        return;
    }
    kind->dev = dev;
    kind->perf = &dev->attr.perf;
    kind->packet_max = am_dev_payload_max(dev, AM_PROTO_KIND_WORDS);
    am_proto_kind_fill(kind, msg);
    out_kind(out, kind, origin);
    free(kind);
}

size_t am_proto_describe(struct am_msg *msg, bool unmet, char *text,
                         size_t bytes)
{
    const char *origin = msg->env->simulated ? "machine file" : "built in";
    struct am_text out = {.text = text, .bytes = bytes};
    const struct am_dev *dev;

    for (const struct am_proto_kind *kind = msg->kinds; kind != NULL;
         kind = kind->next) {
        out_kind(&out, kind, origin);
    }
    for (uint32_t i = 0; unmet && (dev = am_ctx_device(msg->ctx, i)) != NULL;
         i++) {
        if (!is_met(msg, dev)) {
            out_unmet(&out, msg, dev, origin);
        }
    }
    return out.length;
}
