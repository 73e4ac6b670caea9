/*
 * Values of variables as text: parsing, printing, and what is accepted.  Pure.
 */
#include "base/config_value.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---------------------------------------------------------------- parsing */

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

am_status_t am_config_parse_thousandths(const char *text, uint64_t max,
                                        uint64_t *value_p)
{
    uint64_t value = 0;
    uint32_t digits = 0, places = 0;
    bool point = false;

    for (; *text != '\0'; text++) {
        if (*text == '.' && !point) {
            point = true;
        } else if (*text >= '0' && *text <= '9' && digits < 12 && places < 3) {
            value = 10 * value + (uint64_t)(*text - '0');
            digits++;
            places += point;
        } else {
            return AM_ERR_CONFIG;
        }
    }
    for (; places < 3; places++) {
        value *= 10;
    }
    if (value == 0 || value > max) {
        return AM_ERR_CONFIG;
    }
    *value_p = value;
    return AM_OK;
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

am_status_t am_config_parse_row(const struct am_config_row *row,
                                const char *text, void *field)
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
    case AM_CONFIG_SECRET:
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

void am_config_describe_accepted(const struct am_config_row *row, char *to,
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
    case AM_CONFIG_SECRET:
        snprintf(to, bytes, "text of at most %d bytes",
                 AM_CONFIG_TEXT_BYTES - 1);
        break;
    }
}

/* --------------------------------------------------------------- printing */

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
    case AM_CONFIG_SECRET:
        snprintf(text, text_bytes, "%s",
                 *(const char *)field == '\0' ? "" : "(set)");
        break;
    }
}
