/*
 * Numbers with units: "1.5 us" to picoseconds and so on, in integers.
 */
#include "host/machine_rows.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

struct unit {
    ns_unit_t type;
    const char *name;
    uint64_t factor;  /* base units in one */
    uint64_t divisor; /* ... divided by this */
};

static const struct unit units[] = {
        {NS_UNIT_TIME, "ps", 1, 1},
        {NS_UNIT_TIME, "ns", 1000, 1},
        {NS_UNIT_TIME, "us", 1000000, 1},
        {NS_UNIT_TIME, "ms", 1000000000, 1},
        {NS_UNIT_BYTES, "B", 1, 1},
        {NS_UNIT_BYTES, "KiB", 1024, 1},
        {NS_UNIT_BYTES, "MiB", 1024 * 1024, 1},
        {NS_UNIT_RATE, "MB/s", 1000000, 1},
        {NS_UNIT_RATE, "GB/s", 1000000000, 1},
        {NS_UNIT_RATE, "Mb/s", 1000000, 8},
        {NS_UNIT_RATE, "Gb/s", 1000000000, 8},
        {NS_UNIT_FREQUENCY, "MHz", 1000000, 1},
        {NS_UNIT_FREQUENCY, "GHz", 1000000000, 1},
        {NS_UNIT_CYCLES, "cycles", 1, 1},
        {NS_UNIT_COUNT, "entries", 1, 1},
        {NS_UNIT_COUNT, "packets", 1, 1},
        {NS_UNIT_COUNT, "routes", 1, 1},
        {NS_UNIT_COUNT, "ports", 1, 1},
        {NS_UNIT_COUNT, "nodes", 1, 1},
        {NS_UNIT_COUNT, "lengths", 1, 1},
        {NS_UNIT_COUNT, "hops", 1, 1},
        {NS_UNIT_COUNT, "buffers", 1, 1},
        {NS_UNIT_COUNT, "processes", 1, 1},
        {NS_UNIT_COUNT, "children", 1, 1},
};

#define DIGITS_MAX 15

static bool too_long(const char *text)
{
    return strspn(text, "0123456789.") > DIGITS_MAX;
}

/* "12.25" to 1225 and 100.  NULL if it is no number, or too long a one. */
static const char *parse_decimal(const char *text, uint64_t *digits_p,
                                 uint64_t *scale_p)
{
    uint64_t digits = 0;
    uint64_t scale = 1;
    uint32_t count = 0;
    bool fraction = false;

    for (; isdigit((unsigned char)*text) || (*text == '.' && !fraction);
         text++) {
        if (*text == '.') {
            fraction = true;
            continue;
        }
        if (++count > DIGITS_MAX) {
            return NULL;
        }
        digits = digits * 10 + (uint64_t)(*text - '0');
        scale *= fraction ? 10 : 1;
    }
    *digits_p = digits;
    *scale_p = scale;
    return count == 0 ? NULL : text;
}

static const struct unit *unit_find(ns_unit_t type, const char *name)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].type == type && strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* "1/100" to 1 << 32 | 100; "0" to 1 (nothing of one). */
static const char *parse_ratio(const char *text, uint64_t *value_p)
{
    uint64_t part[2] = {0, 1};
    uint64_t scale;
    const char *rest = parse_decimal(text, &part[0], &scale);

    if (rest != NULL && *rest == '/' && scale == 1) {
        rest = parse_decimal(rest + 1, &part[1], &scale);
    } else if (rest != NULL && part[0] > 1) {
        rest = NULL;
    }
    if (rest == NULL || *rest != '\0' || scale != 1 || part[1] == 0 ||
        part[0] > part[1] || part[1] > UINT32_MAX) {
        return "it must be a ratio such as 1/100, from 0 to 1";
    }
    *value_p = part[0] << 32 | part[1];
    return NULL;
}

const char *ns_unit_parse(const char *text, ns_unit_t type, uint64_t *value_p)
{
    static const char *const wanted[] = {
            [NS_UNIT_TIME] = "it needs a unit: ps, ns, us or ms",
            [NS_UNIT_BYTES] = "it needs a unit: B, KiB or MiB",
            [NS_UNIT_RATE] = "it needs a unit: MB/s, GB/s, Mb/s or Gb/s",
            [NS_UNIT_COUNT] = "it needs a unit, such as entries or packets",
            [NS_UNIT_CYCLES] = "it needs the unit cycles",
            [NS_UNIT_FREQUENCY] = "it needs a unit: MHz or GHz",
    };
    uint64_t digits = 0;
    uint64_t scale = 1;
    const char *rest;
    const struct unit *unit;
    unsigned __int128 value;

    if (type == NS_UNIT_RATIO) {
        return parse_ratio(text, value_p);
    }
    rest = parse_decimal(text, &digits, &scale);
    if (rest == NULL) {
        return too_long(text) ? "its number has more than 15 digits"
                              : "it does not begin with a number";
    }
    while (*rest == ' ') {
        rest++;
    }
    unit = unit_find(type, rest);
    if (unit == NULL) {
        return wanted[type];
    }
    value = (unsigned __int128)digits * unit->factor;
    scale *= unit->divisor;
    if (type != NS_UNIT_FREQUENCY && value % scale != 0) {
        return "it is finer than the simulator's unit";
    }
    if (type == NS_UNIT_FREQUENCY) { /* the period, to the nearest ps */
        if (value == 0) {
            return "a frequency may not be zero";
        }
        value = ((unsigned __int128)NS_PS_PER_SECOND * scale + value / 2) /
                value;
        scale = 1;
    }
    if (value / scale > INT64_MAX) {
        return "it is too large";
    }
    *value_p = (uint64_t)(value / scale);
    return NULL;
}

void ns_unit_text(uint64_t value, ns_unit_t type, char *text, size_t bytes)
{
    const struct unit *best = NULL;

    if (type == NS_UNIT_FREQUENCY) { /* a period */
        snprintf(text, bytes, "%" PRIu64 " MHz", UINT64_C(1000000) / value);
        return;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].type == type && units[i].divisor == 1 &&
            value % units[i].factor == 0 &&
            (best == NULL || (value > 0 && units[i].factor > best->factor))) {
            best = &units[i];
        }
    }
    if (best == NULL || type == NS_UNIT_COUNT) {
        snprintf(text, bytes, "%" PRIu64, value);
    } else {
        snprintf(text, bytes, "%" PRIu64 " %s", value / best->factor,
                 best->name);
    }
}
