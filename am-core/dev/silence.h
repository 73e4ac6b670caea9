/*
 * How long a peer may say nothing: the variable of each device that hears of
 * peers by their packets only (udp, ofi), and its limit; and what does not count as
 * a peer's silence, to these and to the channel.
 */
#ifndef AM_DEV_SILENCE_H
#define AM_DEV_SILENCE_H

#include "base/config.h"

#include <stddef.h>
#include <stdint.h>

#define AM_DEV_SILENCE_MAX_S (UINT64_C(30) * 24 * 3600)

/* The row `_name` of a table that fills `silence_s` of a struct. */
#define AM_DEV_SILENCE_ROW(_name, _struct)                                   \
    {                                                                        \
        _name, "7200", AM_CONFIG_COUNT, "s",                                 \
                "how long a peer may say nothing before it counts as dead; " \
                "one that computes without a call says nothing, and what "   \
                "this process computes does not count; 0: for ever",         \
                offsetof(_struct, silence_s), NULL, NULL                     \
    }

/* What the variable gave, in seconds; 0: for ever. */
static inline uint64_t am_dev_silence_s(uint64_t given_s)
{
    return given_s < AM_DEV_SILENCE_MAX_S ? given_s : AM_DEV_SILENCE_MAX_S;
}

/* Of `gap_ps` since the last look more than `most_ps` says nothing about the peers: this
 * process was away, and heard nobody. */
static inline uint64_t am_dev_away_ps(uint64_t gap_ps, uint64_t most_ps)
{
    return gap_ps > most_ps ? gap_ps - most_ps : 0;
}

#endif
