/*
 * Configuration: finds the text of each row (options, environment, default),
 * has it parsed, and names what is wrong: bad values and misspelt names.  The
 * only getenv of the library.  Calls base/text and libc only.
 */
#include "base/config.h"

#include "base/config_value.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCEPTED_BYTES 256
#define SHOWN_BYTES    65
#define NAME_LENGTH    64 /* longer names are compared by their beginning */

extern char **environ;

const char *am_config_getenv(const char *name)
{
    return getenv(name);
}

void am_config_setenv(const char *name, const char *value)
{
    (void)setenv(name, value, 0);
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

    if (am_config_parse_row(row, text, (char *)values + row->offset) != AM_OK) {
        am_config_describe_accepted(row, accepted, sizeof(accepted));
    } else if (row->check == NULL ||
               row->check(text, accepted, sizeof(accepted)) == AM_OK) {
        return AM_OK;
    }
    /* a key with one digit too many is nearly the key */
    am_text_show(row->type == AM_CONFIG_SECRET ? "(hidden)" : text, shown,
                 sizeof(shown));
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
