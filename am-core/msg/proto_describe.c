/*
 * The protocol tables as text, with the numbers that led to them: what
 * `am_info -p` and AM_EXPLAIN show.
 */
#include "msg/proto.h"
#include "msg/proto_choice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct out {
    char *text;
    size_t bytes, length; /* length may exceed bytes: what is needed */
};

static __attribute__((format(printf, 2, 3))) void
out_add(struct out *out, const char *format, ...)
{
    size_t left = out->length < out->bytes ? out->bytes - out->length : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(left > 0 ? out->text + out->length : NULL, left, format,
                  args);
    va_end(args);
    out->length += n > 0 ? (size_t)n : 0;
}

static void out_size(struct out *out, size_t bytes)
{
    if (bytes == SIZE_MAX) {
        out_add(out, "any");
    } else if (bytes >= 1024 && bytes % (1024 * 1024) == 0) {
        out_add(out, "%zum", bytes >> 20);
    } else if (bytes >= 1024 && bytes % 1024 == 0) {
        out_add(out, "%zuk", bytes >> 10);
    } else {
        out_add(out, "%zu", bytes);
    }
}

static void out_costs(struct out *out, const struct am_cost_in *in,
                      size_t bytes)
{
    out_add(out, "ns at ");
    out_size(out, bytes);
    out_add(out, ":");
    for (int i = 0; i < AM_PROTO_COUNT; i++) {
        uint64_t ps = am_proto_cost_ps(in, (am_proto_t)i, bytes);

        if (ps == AM_COST_NEVER) {
            out_add(out, " %s no", am_protos[i]->name);
        } else {
            out_add(out, " %s %" PRIu64, am_protos[i]->name, ps / 1000);
        }
    }
}

static void out_row(struct out *out, const struct am_proto_kind *kind,
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
    out_add(out, "  ");
    out_size(out, from);
    out_add(out, " to ");
    out_size(out, row->bytes_max);
    out_add(out, ": %s, %s", am_protos[row->proto]->name, why[row->why]);
    if (row->why == AM_WHY_COST) {
        out_add(out, "; ");
        out_costs(out, &in, typical);
    }
    out_add(out, "\n");
}

static void out_kind(struct out *out, const struct am_proto_kind *kind)
{
    for (int contiguous = 1; contiguous >= 0; contiguous--) {
        size_t from = 0;

        out_add(out, "device %s, %s data\n", kind->dev->ops->name,
                contiguous ? "contiguous" : "other");
        for (uint32_t i = 0; i < kind->row_count[contiguous]; i++) {
            const struct am_proto_row *row = &kind->rows[contiguous][i];

            out_row(out, kind, row, from, contiguous == 1);
            from = row->bytes_max + 1;
        }
    }
    out_add(out, "  one packet carries ");
    out_size(out, kind->packet_max);
    out_add(out, "; without credit or region space: %s\n",
            am_protos[kind->rndv]->name);
}

size_t am_proto_describe(struct am_msg *msg, char *text, size_t bytes)
{
    struct out out = {.text = text, .bytes = bytes};

    for (const struct am_proto_kind *kind = msg->kinds; kind != NULL;
         kind = kind->next) {
        out_kind(&out, kind);
    }
    return out.length;
}
