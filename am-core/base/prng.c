/*
 * Integer ratios as text.  Calls libc only.
 */
#include "base/prng.h"

#include <stdio.h>

/* Digits up to UINT32_MAX; advances *at_p past them.  False if there is no
 * digit or the number is too large. */
static bool parse_digits(const char **at_p, uint32_t *value_p)
{
    const char *at = *at_p;
    uint64_t value = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > UINT32_MAX) {
            return false;
        }
    }
    if (at == *at_p) {
        return false;
    }
    *at_p = at;
    *value_p = (uint32_t)value;
    return true;
}

am_status_t am_ratio_parse(const char *text, struct am_ratio *ratio_p)
{
    struct am_ratio ratio = {.denominator = 1};

    if (!parse_digits(&text, &ratio.numerator)) {
        return AM_ERR_CONFIG;
    }
    if (*text == '/') {
        text++;
        if (!parse_digits(&text, &ratio.denominator)) {
            return AM_ERR_CONFIG;
        }
    }
    if (*text != '\0' || ratio.denominator == 0 ||
        ratio.numerator > ratio.denominator) {
        return AM_ERR_CONFIG;
    }
    *ratio_p = ratio;
    return AM_OK;
}

am_status_t am_ratio_check(const char *text, char *accepted, size_t bytes)
{
    struct am_ratio ratio;
    am_status_t status = am_ratio_parse(text, &ratio);

    if (status != AM_OK) {
        snprintf(accepted, bytes, "a ratio from 0 to 1, such as 0, 1/100 or 1");
    }
    return status;
}
