/*
 * The text of AM_FAULT.  Pure.
 */
#include "dev/fault/fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULT_POLLS_DEFAULT 8
#define FAULT_POLLS_MAX     1000000

/* A decimal number up to `max` that ends at one of `ends` or the end. */
static bool parse_number(const char **at_p, const char *ends, uint64_t max,
                         uint64_t *number_p)
{
    char *end;
    unsigned long long number;

    if (**at_p < '0' || **at_p > '9') {
        return false; /* no sign, no space */
    }
    errno = 0;
    number = strtoull(*at_p, &end, 10);
    if (errno != 0 || number > max ||
        (*end != '\0' && strchr(ends, *end) == NULL)) {
        return false;
    }
    *at_p = end;
    *number_p = number;
    return true;
}

/* "1/100" or, with `polls_p`, "1/100:16". */
static bool parse_ratio(const char **at_p, struct am_ratio *ratio_p,
                        uint32_t *polls_p)
{
    uint64_t count, of, polls;

    if (!parse_number(at_p, "/", UINT32_MAX, &count) || **at_p != '/') {
        return false;
    }
    (*at_p)++;
    if (!parse_number(at_p, polls_p != NULL ? ":," : ",", UINT32_MAX, &of) ||
        of == 0 || count > of) {
        return false;
    }
    if (**at_p == ':') {
        (*at_p)++;
        if (!parse_number(at_p, ",", FAULT_POLLS_MAX, &polls) || polls == 0) {
            return false;
        }
        *polls_p = (uint32_t)polls;
    }
    *ratio_p = (struct am_ratio){(uint32_t)count, (uint32_t)of};
    return true;
}

/* One "name=value" of the list. */
static bool parse_part(const char **at_p, struct am_fault_spec *spec)
{
    const struct {
        const char *name;
        struct am_ratio *ratio;
        uint32_t *polls;
    } rows[] = {
            {"drop=", &spec->drop, NULL},
            {"dup=", &spec->duplicate, NULL},
            {"reorder=", &spec->reorder, NULL},
            {"corrupt=", &spec->corrupt, NULL},
            {"delay=", &spec->delay, &spec->delay_polls},
            {"stall=", &spec->stall, &spec->stall_polls},
    };

    if (strncmp(*at_p, "seed=", 5) == 0) {
        *at_p += 5;
        return parse_number(at_p, ",", UINT64_MAX, &spec->seed);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].name);

        if (strncmp(*at_p, rows[i].name, length) == 0) {
            *at_p += length;
            return parse_ratio(at_p, rows[i].ratio, rows[i].polls);
        }
    }
    return false;
}

am_status_t am_fault_parse(const char *text, struct am_fault_spec *spec_p)
{
    struct am_fault_spec spec = {.delay_polls = FAULT_POLLS_DEFAULT,
                                 .stall_polls = FAULT_POLLS_DEFAULT,
                                 .seed = 1};
    const char *at = text;

    while (*at != '\0') {
        if (!parse_part(&at, &spec)) {
            return AM_ERR_CONFIG;
        }
        if (*at == ',' && at[1] != '\0') {
            at++;
        } else if (*at != '\0') {
            return AM_ERR_CONFIG;
        }
    }
    spec.any = (spec.drop.numerator | spec.duplicate.numerator |
                spec.reorder.numerator | spec.corrupt.numerator |
                spec.delay.numerator | spec.stall.numerator) != 0;
    *spec_p = spec;
    return AM_OK;
}

am_status_t am_fault_check(const char *text, char *accepted, size_t bytes)
{
    struct am_fault_spec spec;
    am_status_t status = am_fault_parse(text, &spec);

    if (status != AM_OK) {
        snprintf(accepted, bytes,
                 "a list of drop=N/M, dup=N/M, reorder=N/M, corrupt=N/M, "
                 "delay=N/M:POLLS, stall=N/M:POLLS with N <= M, and seed=S, "
                 "separated by commas");
    }
    return status;
}
