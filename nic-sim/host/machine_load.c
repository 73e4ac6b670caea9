/*
 * One setting of a machine file or of the command line: its row, its value
 * checked, the sentence when it is wrong.
 */
#include "host/machine_load.h"

#include <stdarg.h>
#include <string.h>

int ns_load_fail(struct loader *loader, int line, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (line > 0) {
        snprintf(loader->error, loader->error_bytes, "%s:%d: %s", loader->file,
                 line, text);
    } else {
        snprintf(loader->error, loader->error_bytes, "%s: %s", loader->file,
                 text);
    }
    return -1;
}

/* Edit distance of short names, for "did you mean". */
static uint32_t distance(const char *a, const char *b)
{
    uint32_t row[64];
    uint32_t n = (uint32_t)strlen(b);

    if (n >= 64) {
        return UINT32_MAX;
    }
    for (uint32_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (uint32_t i = 1; a[i - 1] != '\0'; i++) {
        uint32_t diagonal = row[0];

        row[0] = i;
        for (uint32_t j = 1; j <= n; j++) {
            uint32_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[n];
}

/* Row `index` of those that the machine has: common ones, then its adapter's. */
static const struct ns_machine_row *row_at(const struct loader *loader,
                                           uint32_t index)
{
    if (index < ns_machine_row_count) {
        return &ns_machine_rows[index];
    }
    index -= ns_machine_row_count;
    return index < *loader->kind->row_count ? &loader->kind->rows[index] : NULL;
}

/* The row and its index, or NULL and the nearest key. */
static const struct ns_machine_row *row_find(const struct loader *loader,
                                             const char *key, uint32_t *index_p,
                                             const char **near_p)
{
    const struct ns_machine_row *row;
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; (row = row_at(loader, i)) != NULL; i++) {
        uint32_t far;

        NS_CHECK(i < NS_SETTINGS_MAX);
        if (strcmp(row->key, key) == 0) {
            *index_p = i;
            return row;
        }
        far = distance(key, row->key);
        if (far < best) {
            best = far;
            *near_p = row->key;
        }
    }
    return NULL;
}

int ns_load_line(const struct loader *loader, const char *sentence)
{
    const struct ns_machine_row *row;

    for (uint32_t i = 0; (row = row_at(loader, i)) != NULL; i++) {
        size_t length = strlen(row->key);

        if (strncmp(sentence, row->key, length) == 0 &&
            (sentence[length] == ' ' || sentence[length] == '=')) {
            return loader->line[i];
        }
    }
    return 0;
}

static struct ns_setting *setting_slot(struct ns_machine *machine,
                                       const char *key)
{
    for (uint32_t i = 0; i < machine->setting_count; i++) {
        if (strcmp(machine->settings[i].key, key) == 0) {
            return &machine->settings[i];
        }
    }
    machine->settings[machine->setting_count].key = key;
    return &machine->settings[machine->setting_count++];
}

/* The index of a word, or a sentence with those that there are. */
static int word_parse(struct loader *loader, int line,
                      const struct ns_machine_row *row, const char *value,
                      uint64_t *number_p)
{
    char all[160] = "";

    for (uint32_t i = 0; row->words[i] != NULL; i++) {
        if (strcmp(row->words[i], value) == 0) {
            *number_p = i;
            return 0;
        }
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
                 i == 0 ? "" : (row->words[i + 1] == NULL ? " or " : ", "),
                 row->words[i]);
    }
    return ns_load_fail(loader, line, "%s is \"%s\", and must be %s", row->key,
                        value, all);
}

static int number_parse(struct loader *loader, int line,
                        const struct ns_machine_row *row, const char *value,
                        uint64_t *number_p)
{
    const char *wrong = ns_unit_parse(value, row->type, number_p);
    char low[48], high[48];

    if (wrong != NULL) {
        return ns_load_fail(loader, line, "%s is \"%s\": %s", row->key, value,
                            wrong);
    }
    if (*number_p < row->min || *number_p > row->max) {
        ns_unit_text(row->min, row->type, low, sizeof(low));
        ns_unit_text(row->max, row->type, high, sizeof(high));
        return ns_load_fail(loader, line,
                            "%s is \"%s\": that is not possible here; it can "
                            "be %s to %s",
                            row->key, value,
                            row->type == NS_UNIT_FREQUENCY ? high : low,
                            row->type == NS_UNIT_FREQUENCY ? low : high);
    }
    return 0;
}

/* Check the value and put it into the machine. */
static int value_take(struct loader *loader, int line,
                      const struct ns_machine_row *row, const char *value)
{
    char *to = (char *)loader->machine + row->offset;
    uint64_t number = 0;
    int status;

    if (row->type == NS_UNIT_NAME) {
        if (strlen(value) >= 32) {
            return ns_load_fail(loader, line, "%s is longer than 31 characters",
                                row->key);
        }
        snprintf(to, 32, "%s", value);
        return 0;
    }
    status = row->type == NS_UNIT_WORD
                     ? word_parse(loader, line, row, value, &number)
                     : number_parse(loader, line, row, value, &number);
    if (status == 0) {
        memcpy(to, &number, sizeof(number));
    }
    return status;
}

int ns_load_setting(struct loader *loader, int line, const char *key,
                    const char *value, const char *kind, const char *source)
{
    const char *near = "";
    uint32_t index = 0;
    const struct ns_machine_row *row = row_find(loader, key, &index, &near);
    struct ns_setting *setting;

    if (row == NULL) {
        return ns_load_fail(loader, line,
                            "unknown key %s; the nearest that this machine "
                            "knows is %s",
                            key, near);
    }
    if (value_take(loader, line, row, value) != 0) {
        return -1;
    }
    setting = setting_slot(loader->machine, row->key);
    snprintf(setting->value, sizeof(setting->value), "%s", value);
    snprintf(setting->kind, sizeof(setting->kind), "%s", kind);
    snprintf(setting->source, sizeof(setting->source), "%s", source);
    loader->seen[index] = true;
    loader->line[index] = line;
    return 0;
}

int ns_load_defaults(struct loader *loader)
{
    const struct ns_machine_row *row;

    for (uint32_t i = 0; (row = row_at(loader, i)) != NULL; i++) {
        if (loader->seen[i]) {
            continue;
        }
        if (row->fallback == NULL) {
            return ns_load_fail(loader, 0, "%s is missing", row->key);
        }
        if (ns_load_setting(loader, 0, row->key, row->fallback, "default",
                            "not in the file") != 0) {
            return -1;
        }
    }
    return 0;
}

int ns_load_sets(struct loader *loader, const char *const *sets,
                 uint32_t set_count)
{
    loader->file = "--set";
    for (uint32_t i = 0; i < set_count; i++) {
        const char *equals = strchr(sets[i], '=');
        char key[96];

        if (equals == NULL || (size_t)(equals - sets[i]) >= sizeof(key)) {
            return ns_load_fail(loader, 0, "%s is not key=value", sets[i]);
        }
        snprintf(key, sizeof(key), "%.*s", (int)(equals - sets[i]), sets[i]);
        if (ns_load_setting(loader, 0, key, equals + 1, "set",
                            "command line") != 0) {
            return -1;
        }
    }
    return 0;
}
