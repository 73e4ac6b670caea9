/*
 * What a machine's predictions stand on: each assumed setting is moved by 20%,
 * down and up, one at a time, and all predictions are made again.  A prediction's
 * interval is the root of the sum of the squares of what the settings move it
 * by, on each side, as if they were independent.
 */
#include "tools/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOVES_MAX = NS_SETTINGS_MAX,
    NAMED = 3 /* settings that a line of the table names */
};

/* An assumed setting and what all predictions are with it moved. */
struct move {
    const char *key;
    struct sim_rows rows[2]; /* down, up */
};

struct moves {
    struct move move[MOVES_MAX];
    uint32_t count;
};

/* ------------------------------------------------------------ what is moved */

/* `value` with 20% less or more; a number of things, cycles or bytes is whole.
 * False when it is no number, or stays the same. */
static bool value_moved(const char *value, bool up, char *text, size_t bytes)
{
    char *unit;
    double old = strtod(value, &unit);
    double new = old *(up ? 1.2 : 0.8);
    bool whole = strpbrk(unit, "/") == NULL && strstr(unit, "Hz") == NULL &&
                 !(strlen(unit) == 3 && unit[2] == 's');

    if (unit == value || *unit != ' ') {
        return false;
    }
    new = whole ? round(new) : new;
    snprintf(text, bytes, "%.6g%s", new, unit);
    return new != old &&new > 0;
}

/* All predictions of the machine with one --set more; false: it cannot be. */
static bool rows_with(const struct sim_options *options, const char *set,
                      struct sim_rows *rows)
{
    struct sim_options with = *options;
    struct ns_machine *machine;
    char error[512];
    int status;

    with.sets[with.set_count++] = set;
    with.into = rows;
    with.progress = false;
    machine = ns_machine_load(with.machine, with.sets, with.set_count, error,
                              sizeof(error));
    if (machine == NULL) {
        return false;
    }
    status = sim_predict(&with, machine);
    free(machine);
    return status == EXIT_SUCCESS;
}

/* Both moves of a setting; false when one of them cannot be. */
static bool move_make(const struct sim_options *options,
                      const struct ns_setting *setting, struct move *move)
{
    char text[NS_MACHINE_TEXT], set[2 * NS_MACHINE_TEXT];
    bool made = true;

    *move = (struct move){.key = setting->key};
    for (int i = 0; i < 2 && made; i++) {
        made = value_moved(setting->value, i == 1, text, sizeof(text));
        if (made) {
            snprintf(set, sizeof(set), "%s=%s", setting->key, text);
            made = rows_with(options, set, &move->rows[i]);
        }
    }
    return made;
}

/* -------------------------------------------------------------- the intervals */

/* The prediction `index` moves to this in percent; the runs have the same. */
static double moved_percent(const struct sim_rows *base, uint32_t index,
                            const struct sim_rows *rows)
{
    double from = (double)base->row[index].value;

    return index >= rows->count || from == 0
                   ? 0
                   : ((double)rows->row[index].value - from) * 100 / from;
}

/* How far it goes below and above by one setting, in percent. */
static void move_spread(const struct sim_rows *base, uint32_t index,
                        const struct move *move, double *below, double *above)
{
    *below = *above = 0;
    for (int i = 0; i < 2; i++) {
        double percent = moved_percent(base, index, &move->rows[i]);

        *below = percent < *below ? percent : *below;
        *above = percent > *above ? percent : *above;
    }
}

static double move_width(const struct sim_rows *base, uint32_t index,
                         const struct move *move)
{
    double below, above;

    move_spread(base, index, move, &below, &above);
    return above - below;
}

static void interval(const struct sim_rows *base, uint32_t index,
                     const struct moves *moves, double *low, double *high)
{
    double value = (double)base->row[index].value;
    double down = 0, up = 0;

    for (uint32_t i = 0; i < moves->count; i++) {
        double below, above;

        move_spread(base, index, &moves->move[i], &below, &above);
        down += below * below;
        up += above * above;
    }
    *low = value * (1 - sqrt(down) / 100);
    *high = value * (1 + sqrt(up) / 100);
}

/* -------------------------------------------------------------------- output */

static void row_json(const struct sim_options *options,
                     const struct ns_machine *machine,
                     const struct sim_rows *base, uint32_t index,
                     const struct moves *moves)
{
    const struct sim_kept *kept = &base->row[index];
    bool time = strcmp(kept->unit, "ps") == 0;
    double scale = time ? 1e-3 : 1, low, high;
    json_t *list = json_array();

    interval(base, index, moves, &low, &high);
    for (uint32_t i = 0; i < moves->count; i++) {
        const struct move *move = &moves->move[i];

        if (move_width(base, index, move) != 0) {
            json_array_append_new(
                    list,
                    json_pack("{s:s, s:f, s:f}", "setting", move->key,
                              "less_percent",
                              moved_percent(base, index, &move->rows[0]),
                              "more_percent",
                              moved_percent(base, index, &move->rows[1])));
        }
    }
    sim_json_print(options, machine, NULL,
                   json_pack("{s:s, s:s, s:I, s:f, s:f, s:f, s:s, s:o}", "test",
                             "sim_sensitivity", "metric", kept->metric, "bytes",
                             (json_int_t)kept->bytes, "value",
                             (double)kept->value * scale, "low", low * scale,
                             "high", high * scale, "unit",
                             time ? "ns" : kept->unit, "moves", list));
}

/* The settings that move it most, by at least 0.1%. */
static void row_named(const struct sim_rows *base, uint32_t index,
                      const struct moves *moves)
{
    double last = INFINITY;
    uint32_t last_at = 0;

    for (int n = 0; n < NAMED; n++) {
        const struct move *most = NULL;
        double most_width = 0.1;
        uint32_t at = 0;

        for (uint32_t i = 0; i < moves->count; i++) {
            double width = move_width(base, index, &moves->move[i]);

            if (width >= most_width + (most != NULL ? 1e-9 : 0) &&
                (width < last || (width == last && i > last_at))) {
                most = &moves->move[i];
                most_width = width;
                at = i;
            }
        }
        if (most == NULL) {
            break;
        }
        last = most_width;
        last_at = at;
        printf("%s %s %+.1f%% %+.1f%%", n == 0 ? " " : ",", most->key,
               moved_percent(base, index, &most->rows[0]),
               moved_percent(base, index, &most->rows[1]));
    }
}

static void row_text(const struct sim_rows *base, uint32_t index,
                     const struct moves *moves)
{
    const struct sim_kept *kept = &base->row[index];
    bool bytes = strcmp(kept->unit, "bytes") == 0;
    double scale = bytes ? 1 : 1e-6, low, high;
    int digits = bytes ? 0 : 3;

    interval(base, index, moves, &low, &high);
    printf("%-22s", kept->metric);
    if (kept->bytes != 0) {
        printf(" %8llu B", (unsigned long long)kept->bytes);
    }
    printf(" %10.*f %-5s %10.*f to %10.*f", digits, (double)kept->value * scale,
           bytes                           ? "bytes"
           : strcmp(kept->unit, "ps") == 0 ? "us"
                                           : "MB/s",
           digits, low * scale, digits, high * scale);
    row_named(base, index, moves);
    putchar('\n');
}

/* --------------------------------------------------------------------- the run */

static uint32_t assumed_count(const struct ns_machine *machine)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < machine->setting_count; i++) {
        count += strcmp(machine->settings[i].kind, "assumed") == 0;
    }
    return count;
}

/* Move all that is assumed; say on a line what cannot be. */
static void moves_make(const struct sim_options *options,
                       const struct ns_machine *machine, struct moves *moves)
{
    uint32_t done = 0, total = assumed_count(machine), kept = 0;

    for (uint32_t i = 0; i < machine->setting_count; i++) {
        const struct ns_setting *setting = &machine->settings[i];

        if (strcmp(setting->kind, "assumed") != 0) {
            continue;
        }
        sim_progress(options, done++, total + 1, 0);
        if (move_make(options, setting, &moves->move[moves->count])) {
            moves->count++;
        } else {
            sim_rows_free(&moves->move[moves->count].rows[0]);
            sim_rows_free(&moves->move[moves->count].rows[1]);
            sim_bar_clear();
            if (!options->json) {
                printf("%s%s (%s)", kept++ == 0 ? "# not moved: " : ", ",
                       setting->key, setting->value);
            }
        }
    }
    if (kept > 0) {
        putchar('\n');
    }
    sim_progress(options, 1, 1, 0);
}

int sim_sensitivity(const struct sim_options *options,
                    const struct ns_machine *machine)
{
    struct moves *moves = calloc(1, sizeof(*moves));
    struct sim_options with = *options;
    struct sim_rows base = {0};
    int status;

    if (moves == NULL || options->set_count == SIM_SETS_MAX) {
        free(moves);
        return sim_fail("too many --set, or out of memory");
    }
    with.into = &base;
    with.progress = false;
    status = sim_predict(&with, machine);
    if (status == EXIT_SUCCESS && base.count == 0 && !options->all) {
        status = sim_fail("no prediction has a name that begins so");
    }
    if (status == EXIT_SUCCESS && base.count > 0) {
        moves_make(options, machine, moves);
        for (uint32_t i = 0; i < base.count; i++) {
            if (options->json) {
                row_json(options, machine, &base, i, moves);
            } else {
                row_text(&base, i, moves);
            }
        }
    }
    for (uint32_t i = 0; i < moves->count; i++) {
        sim_rows_free(&moves->move[i].rows[0]);
        sim_rows_free(&moves->move[i].rows[1]);
    }
    sim_rows_free(&base);
    free(moves);
    return status;
}
