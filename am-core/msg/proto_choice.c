/*
 * Builds the tables of proto_choice.h: the user's variables first, the cost
 * model for what they leave open.
 */
#include "msg/proto_choice.h"

#include "msg/msg_region.h"
#include "msg/proto.h"

#include <stdlib.h>
#include <string.h>

/* Sizes up to here are compared by cost; larger ones go as this one does. */
#define CHOICE_BYTES_MAX ((size_t)1 << 36)
/* Up to here the copy of the bytes is the least of the costs. */
#define CHOICE_BYTES_SHORT ((size_t)1 << 10)

enum {
    LIST_MAX = 8
};

/* The variables, parsed. */
struct wish {
    bool limit_set[3]; /* AM_EAGER_MAX, _BUFFERED_MAX, _PREFIX_MAX */
    size_t limit[3];
    uint32_t list_count; /* AM_PROTO, unless auto */
    am_proto_t list[LIST_MAX];
    size_t list_max[LIST_MAX];
    bool rndv_set; /* AM_RNDV */
    am_proto_t rndv;
    int buffering;
};

const struct am_proto *const am_protos[AM_PROTO_COUNT] = {
        [AM_PROTO_EAGER] = &am_proto_eager,
        [AM_PROTO_BUFFERED] = &am_proto_buffered,
        [AM_PROTO_PREFIX] = &am_proto_prefix,
        [AM_PROTO_GET] = &am_proto_get,
        [AM_PROTO_PUT] = &am_proto_put,
};

/* ------------------------------------------------------------ the variables */

static bool proto_named(const char *name, size_t length, am_proto_t *proto_p)
{
    for (int i = 0; i < AM_PROTO_COUNT; i++) {
        if (strlen(am_protos[i]->name) == length &&
            strncmp(am_protos[i]->name, name, length) == 0) {
            *proto_p = (am_proto_t)i;
            return true;
        }
    }
    return false;
}

/* One entry of a list, "name" or "name:bytes". */
static bool entry_parse(const char *text, size_t length, struct wish *wish)
{
    const char *colon = memchr(text, ':', length);
    size_t name_length = colon == NULL ? length : (size_t)(colon - text);
    uint32_t at = wish->list_count;
    char number[32];

    if (at == LIST_MAX || !proto_named(text, name_length, &wish->list[at])) {
        return false;
    }
    wish->list_max[at] = SIZE_MAX;
    if (colon != NULL) {
        size_t digits = length - name_length - 1;

        if (digits >= sizeof(number)) {
            return false;
        }
        memcpy(number, colon + 1, digits);
        number[digits] = '\0';
        if (am_config_parse_bytes(number, &wish->list_max[at]) != AM_OK) {
            return false;
        }
    }
    /* a row below the one before would never be used */
    wish->list_count++;
    return at == 0 || wish->list_max[at] >= wish->list_max[at - 1];
}

static bool list_parse(const char *text, struct wish *wish)
{
    wish->list_count = 0;
    if (strcmp(text, "auto") == 0) {
        return true;
    }
    while (true) {
        size_t length = strcspn(text, ",");

        if (!entry_parse(text, length, wish)) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

static void accept_text(char *accepted, size_t bytes, const char *text)
{
    if (bytes > 0) {
        strncpy(accepted, text, bytes - 1);
        accepted[bytes - 1] = '\0';
    }
}

am_status_t am_proto_check_list(const char *text, char *accepted, size_t bytes)
{
    struct wish wish;

    if (list_parse(text, &wish)) {
        return AM_OK;
    }
    accept_text(accepted, bytes,
                "auto, one of eager buffered prefix get put, or a list of "
                "rising sizes such as eager:1k,buffered:8k,prefix:256k,get");
    return AM_ERR_CONFIG;
}

am_status_t am_proto_check_limit(const char *text, char *accepted, size_t bytes)
{
    size_t limit;

    if (strcmp(text, "auto") == 0 ||
        am_config_parse_bytes(text, &limit) == AM_OK) {
        return AM_OK;
    }
    accept_text(accepted, bytes,
                "auto, max, or a number of bytes such as 0, 1024, 8k, 1m");
    return AM_ERR_CONFIG;
}

am_status_t am_proto_check_bins(const char *text, char *accepted, size_t bytes)
{
    uint64_t count;
    size_t bin_bytes;

    if (am_msg_bins_parse(text, &count, &bin_bytes) == AM_OK) {
        return AM_OK;
    }
    accept_text(accepted, bytes, "a count and a size such as 8x1k, or 0x0");
    return AM_ERR_CONFIG;
}

static void wish_load(const struct am_msg_config *config, struct wish *wish)
{
    const char *limits[3] = {config->eager_max, config->buffered_max,
                             config->prefix_max};
    static const am_proto_t rndvs[] = {AM_PROTO_COUNT, AM_PROTO_PREFIX,
                                       AM_PROTO_GET, AM_PROTO_PUT};

    *wish = (struct wish){.buffering = config->buffering};
    list_parse(config->proto, wish);
    for (int i = 0; i < 3; i++) {
        wish->limit_set[i] = strcmp(limits[i], "auto") != 0;
        if (wish->limit_set[i]) {
            am_config_parse_bytes(limits[i], &wish->limit[i]);
        }
    }
    wish->rndv = rndvs[config->rndv];
    wish->rndv_set = wish->rndv != AM_PROTO_COUNT;
}

/* --------------------------------------------------------------- the choice */

/* May the model choose this protocol for this size? */
static bool allowed(const struct wish *wish, am_proto_t proto, size_t bytes)
{
    if (proto <= AM_PROTO_PREFIX && wish->limit_set[proto]) {
        return bytes <= wish->limit[proto] ||
               (wish->rndv_set && wish->rndv == proto);
    }
    if (proto >= AM_PROTO_PREFIX && wish->rndv_set) {
        return proto == wish->rndv;
    }
    return true;
}

/* Does the choice for the next smaller size stay, so that near ties make no rows?
 * One that costs at most a fiftieth more does; but over a network not eager where
 * a rendezvous is cheaper, as what comes too early for its receive there holds up
 * what is behind it. */
static bool stays(const struct am_cost_in *in, am_proto_t before,
                  uint64_t before_ps, am_proto_t best, uint64_t best_ps)
{
    bool at_once = (in->caps & AM_DEV_CAP_MAPPED) == 0 &&
                   before == AM_PROTO_EAGER && best >= AM_PROTO_PREFIX;

    return before_ps <= best_ps + (at_once ? 0 : best_ps / 50);
}

/* The lowest cost, or nearly that. */
static am_proto_t by_cost(const struct wish *wish, const struct am_cost_in *in,
                          size_t bytes, am_proto_t before)
{
    size_t at = bytes < CHOICE_BYTES_MAX ? bytes : CHOICE_BYTES_MAX;
    am_proto_t last = wish->rndv_set ? wish->rndv : AM_PROTO_PUT, best = last;
    uint64_t best_ps = AM_COST_NEVER, before_ps = AM_COST_NEVER;
    uint64_t costs_ps[AM_PROTO_COUNT];

    am_proto_costs_ps(in, at, costs_ps);
    for (int i = 0; i < AM_PROTO_COUNT; i++) {
        bool may = allowed(wish, (am_proto_t)i, bytes);
        uint64_t ps = may || i == (int)last ? costs_ps[i] : AM_COST_NEVER;

        if (ps < best_ps) {
            best = (am_proto_t)i;
            best_ps = ps;
        }
        before_ps = may && i == (int)before ? ps : before_ps;
    }
    return before_ps != AM_COST_NEVER &&
                           stays(in, before, before_ps, best, best_ps)
                   ? before
                   : best;
}

static struct am_proto_row choose(const struct wish *wish,
                                  const struct am_cost_in *in, size_t bytes,
                                  am_proto_t before)
{
    struct am_proto_row row = {.bytes_max = bytes, .why = AM_WHY_SET};

    if (wish->buffering != AM_BUFFERING_MPI) {
        row.proto = wish->buffering == AM_BUFFERING_CMMD ? AM_PROTO_PUT
                                                         : AM_PROTO_EAGER;
        row.why = AM_WHY_POLICY;
        return row;
    }
    for (uint32_t i = 0; i < wish->list_count; i++) {
        if (bytes <= wish->list_max[i]) {
            row.proto = wish->list[i];
            return row;
        }
    }
    for (int i = 0; wish->list_count == 0 && i < 3; i++) {
        if (wish->limit_set[i] && bytes <= wish->limit[i]) {
            row.proto = (am_proto_t)i;
            return row;
        }
    }
    row.proto = by_cost(wish, in, bytes, before);
    row.why = wish->rndv_set && row.proto == wish->rndv ? AM_WHY_SET
                                                        : AM_WHY_COST;
    return row;
}

static bool same(const struct am_proto_row *a, const struct am_proto_row *b)
{
    return a->proto == b->proto && a->why == b->why;
}

/* The last size of [low, high) that is chosen like `low`. */
static size_t last_like(const struct wish *wish, const struct am_cost_in *in,
                        size_t low, size_t high,
                        const struct am_proto_row *row_p)
{
    struct am_proto_row first = *row_p;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        struct am_proto_row row = choose(wish, in, middle, first.proto);

        if (same(&row, &first)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The next size to look at: steps of a quarter where protocols differ, of the whole
 * where short messages cost nearly the same and where all costs are lines; and the
 * user's limits. */
static size_t next_size(const struct wish *wish, size_t bytes)
{
    size_t next = bytes >= CHOICE_BYTES_MAX ? SIZE_MAX
                  : bytes < CHOICE_BYTES_SHORT || bytes >= AM_MSG_REGION_MAX
                          ? 2 * bytes + 1
                          : bytes + bytes / 4;

    for (int i = 0; i < 3; i++) {
        if (wish->limit_set[i] && wish->limit[i] > bytes &&
            wish->limit[i] < next) {
            next = wish->limit[i];
        }
    }
    for (uint32_t i = 0; i < wish->list_count; i++) {
        if (wish->list_max[i] > bytes && wish->list_max[i] < next) {
            next = wish->list_max[i];
        }
    }
    return next;
}

static uint32_t table_fill(const struct wish *wish, const struct am_cost_in *in,
                           struct am_proto_row *rows)
{
    uint32_t count = 0;
    size_t bytes = 0;

    rows[0] = choose(wish, in, 0, AM_PROTO_COUNT);
    while (bytes < SIZE_MAX && count < AM_PROTO_ROWS_MAX - 1) {
        size_t next = next_size(wish, bytes);
        struct am_proto_row row = choose(wish, in, next, rows[count].proto);

        if (!same(&row, &rows[count])) {
            size_t last = last_like(wish, in, bytes, next, &rows[count]);

            rows[count].bytes_max = last;
            rows[count + 1] = choose(wish, in, last + 1, rows[count].proto);
            count++;
            next = last + 1;
        }
        bytes = next;
    }
    rows[count].bytes_max = SIZE_MAX;
    return count + 1;
}

/* Is nothing but the model asked? */
static bool is_free(const struct wish *wish)
{
    return wish->list_count == 0 && !wish->rndv_set &&
           wish->buffering == AM_BUFFERING_MPI && !wish->limit_set[0] &&
           !wish->limit_set[1] && !wish->limit_set[2];
}

/* The rendezvous of messages for which there is no credit or no region: only
 * put and get need nothing but an envelope. */
static am_proto_t plain_rndv(const struct wish *wish,
                             const struct am_cost_in *in)
{
    const size_t typical = (size_t)64 * 1024;

    if (wish->buffering == AM_BUFFERING_CMMD) {
        return AM_PROTO_PUT;
    }
    for (uint32_t i = 0; i < wish->list_count; i++) {
        if (wish->list[i] >= AM_PROTO_GET) {
            return wish->list[i];
        }
    }
    if (wish->rndv_set) {
        return wish->rndv == AM_PROTO_GET ? AM_PROTO_GET : AM_PROTO_PUT;
    }
    return am_proto_cost_ps(in, AM_PROTO_GET, typical) <
                           am_proto_cost_ps(in, AM_PROTO_PUT, typical)
                   ? AM_PROTO_GET
                   : AM_PROTO_PUT;
}

void am_proto_kind_fill(struct am_proto_kind *kind, struct am_msg *msg)
{
    const struct am_proto_row *first = &kind->rows[1][0];
    struct wish wish;

    wish_load(msg->config, &wish);
    kind->cost = (struct am_cost_in){
            .perf = *kind->perf,
            .caps = kind->dev->attr.caps,
            .packet_max = kind->packet_max,
            .region_bytes = msg->config->buffer_bytes < AM_MSG_REGION_MAX
                                    ? msg->config->buffer_bytes
                                    : AM_MSG_REGION_MAX,
            .prefix_bytes = msg->config->prefix_bytes,
    };
    kind->msg = msg;
    kind->rndv = plain_rndv(&wish, &kind->cost);
    kind->cost.contiguous = true;
    kind->is_free = is_free(&wish);
    kind->series_max = kind->is_free ? am_proto_series_max(&kind->cost) : 0;
    kind->row_count[0] = 0;
    kind->row_count[1] = table_fill(&wish, &kind->cost, kind->rows[1]);
    if (first->proto == AM_PROTO_EAGER && wish.buffering != AM_BUFFERING_PVM) {
        kind->eager_limit =
                1 + (first->bytes_max < kind->packet_max ? first->bytes_max
                                                         : kind->packet_max);
    } else {
        kind->eager_limit = 0;
    }
}

void am_proto_kind_fill_other(struct am_proto_kind *kind)
{
    struct am_cost_in in = kind->cost;
    struct wish wish;

    wish_load(kind->msg->config, &wish);
    in.contiguous = false;
    kind->row_count[0] = table_fill(&wish, &in, kind->rows[0]);
}
