/*
 * Configuration: finds the text of each row (options, environment, default),
 * parses it, and names what is wrong.  The only getenv of the library.
 * Calls libc only.
 */
#include "base/config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ACCEPTED_BYTES 256
#define SHOWN_BYTES    65
#define NAME_LENGTH    64 /* longer names are compared by their beginning */

extern char **environ;

const char *am_config_getenv(const char *name)
{
    return getenv(name);
}

/* ------------------------------------------------------------ one value */

/* How far the suffix shifts: 0, 10, 20, 30; -1 if it is none of ours. */
static int suffix_shift(const char *text)
{
    static const char suffixes[] = "kmg";
    const char *found;

    if (*text == '\0') {
        return 0;
    }
    found = strchr(suffixes, *text | 0x20);
    if (found == NULL || *found == '\0' || text[1] != '\0') {
        return -1;
    }
    return 10 * (int)(found - suffixes + 1);
}

/* A number up to `max`, with k, m or g, or "max". */
static am_status_t parse_number(const char *text, uint64_t max,
                                uint64_t *value_p)
{
    uint64_t value = 0;
    const char *at = text;
    int shift;

    if (strcasecmp(text, "max") == 0) {
        *value_p = max;
        return AM_OK;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (value > (max - digit) / 10) {
            return AM_ERR_CONFIG;
        }
        value = value * 10 + digit;
    }
    shift = suffix_shift(at);
    if (at == text || shift < 0 || value > max >> shift) {
        return AM_ERR_CONFIG;
    }
    *value_p = value << shift;
    return AM_OK;
}

am_status_t am_config_parse_bytes(const char *text, size_t *bytes_p)
{
    uint64_t value;
    am_status_t status = parse_number(text, SIZE_MAX, &value);

    if (status == AM_OK) {
        *bytes_p = (size_t)value;
    }
    return status;
}

/* Length of the choice that begins here. */
static size_t choice_length(const char *choices)
{
    return strcspn(choices, "|");
}

/* The choice after this one, NULL after the last. */
static const char *choice_next(const char *choices)
{
    const char *end = choices + choice_length(choices);

    return *end == '|' ? end + 1 : NULL;
}

static am_status_t parse_choice(const char *choices, const char *text, int *p)
{
    int index = 0;

    for (; choices != NULL; choices = choice_next(choices), index++) {
        if (strlen(text) == choice_length(choices) &&
            strncasecmp(text, choices, strlen(text)) == 0) {
            *p = index;
            return AM_OK;
        }
    }
    return AM_ERR_CONFIG;
}

static am_status_t parse_bool(const char *text, int *p)
{
    int index;
    am_status_t status =
            parse_choice("0|1|n|y|no|yes|off|on|false|true", text, &index);

    if (status == AM_OK) {
        *p = index & 1;
    }
    return status;
}

static am_status_t parse_text(const char *text, char *to)
{
    size_t bytes = strlen(text) + 1;

    if (bytes > AM_CONFIG_TEXT_BYTES) {
        return AM_ERR_CONFIG;
    }
    memcpy(to, text, bytes);
    return AM_OK;
}

/* Parse `text` into the row's field at `field`. */
static am_status_t parse_row(const struct am_config_row *row, const char *text,
                             void *field)
{
    switch (row->type) {
    case AM_CONFIG_BYTES:
        return am_config_parse_bytes(text, field);
    case AM_CONFIG_COUNT:
        return parse_number(text, UINT64_MAX, field);
    case AM_CONFIG_CHOICE:
        return parse_choice(row->choices, text, field);
    case AM_CONFIG_BOOL:
        return parse_bool(text, field);
    case AM_CONFIG_TEXT:
        return parse_text(text, field);
    }
    return AM_ERR_CONFIG;
}

/* "a|b|c" as "a, b or c". */
static void describe_choices(const char *choices, char *to, size_t bytes)
{
    size_t used = 0;
    const char *comma = "";

    *to = '\0';
    while (choices != NULL && used < bytes) {
        const char *next = choice_next(choices);
        int length = snprintf(to + used, bytes - used, "%s%.*s", comma,
                              (int)choice_length(choices), choices);

        used += length > 0 ? (size_t)length : 0;
        comma = next != NULL && choice_next(next) == NULL ? " or " : ", ";
        choices = next;
    }
}

/* What the row's type accepts, as words. */
static void describe_accepted(const struct am_config_row *row, char *to,
                              size_t bytes)
{
    switch (row->type) {
    case AM_CONFIG_BYTES:
        snprintf(to, bytes, "0 to %zu bytes, with k, m or g, or max",
                 (size_t)SIZE_MAX);
        break;
    case AM_CONFIG_COUNT:
        snprintf(to, bytes, "0 to %" PRIu64 ", with k, m or g, or max",
                 UINT64_MAX);
        break;
    case AM_CONFIG_CHOICE:
        describe_choices(row->choices, to, bytes);
        break;
    case AM_CONFIG_BOOL:
        snprintf(to, bytes, "1, y, yes, on, true, 0, n, no, off or false");
        break;
    case AM_CONFIG_TEXT:
        snprintf(to, bytes, "text of at most %d bytes",
                 AM_CONFIG_TEXT_BYTES - 1);
        break;
    }
}

/* The value as it is shown in an error: short, printable, one line. */
static void show_value(const char *text, char *to, size_t bytes)
{
    size_t i = 0;

    for (; text[i] != '\0' && i + 1 < bytes; i++) {
        to[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    }
    to[i] = '\0';
    if (text[i] != '\0') {
        memcpy(to + i - 3, "...", 3);
    }
}

/* ------------------------------------------------------------- one table */

/* The text of a row: the last option of that name, environment, default. */
static const char *find_text(const struct am_config_row *row,
                             const struct am_option *options,
                             uint32_t option_count)
{
    const char *text = NULL;

    for (uint32_t i = 0; i < option_count; i++) {
        if (strcmp(options[i].name, row->name) == 0) {
            text = options[i].value;
        }
    }
    if (text == NULL) {
        text = getenv(row->name);
    }
    return text != NULL ? text : row->def;
}

static am_status_t load_row(const struct am_config_row *row, const char *text,
                            void *values, char *error, size_t error_bytes)
{
    char accepted[ACCEPTED_BYTES] = "";
    char shown[SHOWN_BYTES];

    if (parse_row(row, text, (char *)values + row->offset) != AM_OK) {
        describe_accepted(row, accepted, sizeof(accepted));
    } else if (row->check == NULL ||
               row->check(text, accepted, sizeof(accepted)) == AM_OK) {
        return AM_OK;
    }
    show_value(text, shown, sizeof(shown));
    snprintf(error, error_bytes, "%s is \"%s\"; accepted: %s", row->name, shown,
             accepted);
    return AM_ERR_CONFIG;
}

am_status_t am_config_load(const struct am_config_table *table, void *values,
                           const struct am_option *options,
                           uint32_t option_count, char *error,
                           size_t error_bytes)
{
    for (uint32_t i = 0; i < table->row_count; i++) {
        const struct am_config_row *row = &table->rows[i];
        am_status_t status =
                load_row(row, find_text(row, options, option_count), values,
                         error, error_bytes);

        if (status != AM_OK) {
            return status;
        }
    }
    return AM_OK;
}

/* The largest suffix that loses nothing, for people. */
static void print_number(uint64_t value, uint64_t max, char *text,
                         size_t text_bytes)
{
    static const char suffixes[] = "kmg";
    int index = -1;

    if (value == max) {
        snprintf(text, text_bytes, "max");
        return;
    }
    while (index < 2 && value != 0 && value % 1024 == 0) {
        value /= 1024;
        index++;
    }
    if (index < 0) {
        snprintf(text, text_bytes, "%" PRIu64, value);
    } else {
        snprintf(text, text_bytes, "%" PRIu64 "%c", value, suffixes[index]);
    }
}

static void print_choice(const char *choices, int index, char *text,
                         size_t text_bytes)
{
    for (; index > 0 && choices != NULL; index--) {
        choices = choice_next(choices);
    }
    snprintf(text, text_bytes, "%.*s",
             choices != NULL ? (int)choice_length(choices) : 0,
             choices != NULL ? choices : "");
}

void am_config_print(const struct am_config_row *row, const void *values,
                     char *text, size_t text_bytes)
{
    const void *field = (const char *)values + row->offset;

    switch (row->type) {
    case AM_CONFIG_BYTES:
        print_number(*(const size_t *)field, SIZE_MAX, text, text_bytes);
        break;
    case AM_CONFIG_COUNT:
        print_number(*(const uint64_t *)field, UINT64_MAX, text, text_bytes);
        break;
    case AM_CONFIG_CHOICE:
        print_choice(row->choices, *(const int *)field, text, text_bytes);
        break;
    case AM_CONFIG_BOOL:
        snprintf(text, text_bytes, "%s", *(const int *)field ? "yes" : "no");
        break;
    case AM_CONFIG_TEXT:
        snprintf(text, text_bytes, "%s", (const char *)field);
        break;
    }
}

/* ----------------------------------------------------------- names, typos */

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein distance of the first NAME_LENGTH characters of two names. */
static size_t edit_distance(const char *a, size_t a_length, const char *b)
{
    size_t b_length = strnlen(b, NAME_LENGTH);
    size_t row[NAME_LENGTH + 1];

    a_length = min_of(a_length, NAME_LENGTH);
    for (size_t j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = min_of(min_of(row[j], row[j - 1]) + 1, change);
        }
    }
    return row[b_length];
}

/* The known name nearest to name[0..length); *distance_p 0 if it is one. */
static const char *find_nearest(const struct am_config_table *const *tables,
                                uint32_t table_count, const char *name,
                                size_t length, size_t *distance_p)
{
    const char *nearest = NULL;

    *distance_p = SIZE_MAX;
    for (uint32_t t = 0; t < table_count; t++) {
        for (uint32_t i = 0; i < tables[t]->row_count; i++) {
            const char *known = tables[t]->rows[i].name;
            size_t distance = edit_distance(name, length, known);

            if (distance == 0 && strlen(known) != length) {
                distance = 1; /* equal only in what was compared */
            }
            if (distance < *distance_p) {
                *distance_p = distance;
                nearest = known;
            }
        }
    }
    return nearest;
}

/* Names that the test driver owns, not the library. */
static bool is_test_name(const char *name, size_t length)
{
    static const char *const ours[] = {"AM_SRCDIR", "AM_BUILDDIR"};

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        if (strlen(ours[i]) == length && strncmp(name, ours[i], length) == 0) {
            return true;
        }
    }
    return strncmp(name, "AM_TEST_", 8) == 0;
}

static void check_name(const struct am_config_table *const *tables,
                       uint32_t table_count, const char *name, size_t length,
                       void (*warn)(void *arg, const char *text), void *arg)
{
    char shown[SHOWN_BYTES];
    char text[ACCEPTED_BYTES];
    size_t distance;
    const char *nearest =
            find_nearest(tables, table_count, name, length, &distance);

    if (distance == 0) {
        return;
    }
    snprintf(shown, min_of(sizeof(shown), length + 1), "%s", name);
    if (nearest == NULL) {
        snprintf(text, sizeof(text), "%s is not a variable of libam", shown);
    } else {
        snprintf(text, sizeof(text),
                 "%s is not a variable of libam; the nearest is %s", shown,
                 nearest);
    }
    warn(arg, text);
}

void am_config_check_names(const struct am_config_table *const *tables,
                           uint32_t table_count,
                           const struct am_option *options,
                           uint32_t option_count,
                           void (*warn)(void *arg, const char *text), void *arg)
{
    for (uint32_t i = 0; i < option_count; i++) {
        check_name(tables, table_count, options[i].name,
                   strlen(options[i].name), warn, arg);
    }
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        size_t length = strcspn(*entry, "=");

        if (strncmp(*entry, "AM_", 3) == 0 && !is_test_name(*entry, length)) {
            check_name(tables, table_count, *entry, length, warn, arg);
        }
    }
}
