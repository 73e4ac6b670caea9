/*
 * The verdict of am_tune --check, a pure function: two ways that were measured
 * in the same rounds, compared round by round.
 *
 * What disturbs a machine for longer than a round disturbs both of its ways, and
 * what disturbs one of them only is one ratio of many.  The least of the ratios
 * but TUNE_ODD of them is at most the true one, unless more rounds than those
 * were disturbed in the same sense: of 15 rounds that are as likely below the
 * true ratio as above it, two or fewer are below once in 270 comparisons.
 */
#include "tools/tune.h"

#include <stdlib.h>

enum {
    TUNE_ODD = 2 /* rounds on each side that may be wrong */
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

struct tune_ratio tune_ratio_of(const uint64_t *choice, const uint64_t *other,
                                int rounds)
{
    uint64_t sorted[TUNE_ROUNDS_MOST];
    int odd = rounds > 2 * TUNE_ODD ? TUNE_ODD : 0;

    for (int i = 0; i < rounds; i++) {
        sorted[i] = choice[i] * 1000 / (other[i] == 0 ? 1 : other[i]);
    }
    qsort(sorted, (size_t)rounds, sizeof(sorted[0]), by_value);
    return (struct tune_ratio){.low = sorted[odd],
                               .middle = sorted[rounds / 2],
                               .high = sorted[rounds - 1 - odd]};
}

uint64_t tune_median(const uint64_t *values, int count)
{
    uint64_t sorted[TUNE_ROUNDS_MOST];

    for (int i = 0; i < count; i++) {
        sorted[i] = values[i];
    }
    qsort(sorted, (size_t)count, sizeof(sorted[0]), by_value);
    return sorted[count / 2];
}

bool tune_ratio_loses(const struct tune_ratio *ratio)
{
    return ratio->low > 1000 + 10 * TUNE_LOSS_PERCENT;
}
