/*
 * What goes faster, in words.
 */
#include "config.h"

#include "dev/faster.h"

#include "base/text.h"

const char *am_flow_text(am_flow_t flow)
{
    static const char *const texts[AM_FLOW_COUNT] = {"answered one by one",
                                                     "in a row", "both ways"};

    return texts[flow];
}

const char *am_by_text(am_by_t by)
{
    static const char *const texts[AM_BY_COUNT] = {"not known", "a stream",
                                                   "a single copy"};

    return texts[by];
}

void am_faster_text(struct am_text *out, const struct am_faster *faster,
                    am_flow_t flow)
{
    const uint8_t *by = faster->by[flow];

    for (uint32_t i = 0; i < AM_FASTER_SIZES; i++) {
        if (i > 0 && by[i] == by[i - 1]) {
            continue;
        }
        am_text_add(out, "%s%s from ", i == 0 ? "" : ", ",
                    am_by_text((am_by_t)by[i]));
        am_text_size(out, AM_FASTER_BYTES << i);
    }
}
