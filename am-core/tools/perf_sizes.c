/*
 * The --sizes option: a list of items "4k" and "first:last[:step]", where the
 * step is a factor "x1.4" (default x2) or a number of bytes "+64".
 */
#include "tools/perf.h"

#include "base/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct step {
    double factor; /* 0: add `bytes` */
    size_t bytes;
};

static int parse_step(const char *text, struct step *step)
{
    char *end;

    if (text[0] == 'x') {
        step->factor = strtod(text + 1, &end);
        return end == text + 1 || *end != '\0' || !(step->factor > 1.0) ||
                               step->factor > 1e6
                       ? -1
                       : 0;
    }
    step->factor = 0;
    if (text[0] != '+' ||
        am_config_parse_bytes(text + 1, &step->bytes) != AM_OK) {
        return -1;
    }
    return step->bytes == 0 ? -1 : 0;
}

/* The next size after `at`, always larger; SIZE_MAX past the end. */
static size_t next_size(size_t at, const struct step *step)
{
    double next;

    if (step->factor == 0) {
        return at > SIZE_MAX - step->bytes ? SIZE_MAX : at + step->bytes;
    }
    next = (double)at * step->factor + 0.5;
    if (next >= (double)(SIZE_MAX / 2)) {
        return SIZE_MAX;
    }
    return (size_t)next > at ? (size_t)next : at + 1;
}

/* One item of the list; it is cut up in place.  The last of a range is one of
 * the sizes even where the steps would miss it. */
static int parse_item(char *item, size_t *sizes, uint32_t *count_p)
{
    struct step step = {.factor = 2};
    char *last_text = strchr(item, ':'), *step_text = NULL;
    size_t size, last;

    if (last_text != NULL) {
        *last_text++ = '\0';
        step_text = strchr(last_text, ':');
    }
    if (step_text != NULL) {
        *step_text++ = '\0';
    }
    if (am_config_parse_bytes(item, &size) != AM_OK) {
        return -1;
    }
    last = size;
    if (last_text != NULL &&
        (am_config_parse_bytes(last_text, &last) != AM_OK || last < size)) {
        return -1;
    }
    if (step_text != NULL && parse_step(step_text, &step) != 0) {
        return -1;
    }
    for (; size < last; size = next_size(size, &step)) {
        if (*count_p == PERF_SIZES_MAX) {
            return -1;
        }
        sizes[(*count_p)++] = size;
    }
    if (*count_p == PERF_SIZES_MAX) {
        return -1;
    }
    sizes[(*count_p)++] = last;
    return 0;
}

int perf_sizes_parse(const char *text, size_t *sizes, uint32_t *count_p,
                     char *error, size_t error_bytes)
{
    char *copy = strdup(text), *rest = NULL, *item;
    int result = copy == NULL ? -1 : 0;

    *count_p = 0;
    if (copy != NULL && (copy[0] == '\0' || copy[0] == ',')) {
        result = -1;
    }
    for (item = result == 0 ? strtok_r(copy, ",", &rest) : NULL;
         item != NULL && result == 0; item = strtok_r(NULL, ",", &rest)) {
        result = parse_item(item, sizes, count_p);
    }
    free(copy);
    if (result != 0 || *count_p == 0) {
        snprintf(error, error_bytes,
                 "--sizes \"%.80s\" is not a list of up to %d sizes such as "
                 "0,8,4k or 1:4m:x1.4 or 64:1k:+64",
                 text, PERF_SIZES_MAX);
        return -1;
    }
    return 0;
}
