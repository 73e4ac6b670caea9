/*
 * Time: steps between two readings of the environment's clock, percentiles,
 * and how many iterations to run.
 */
#include "tools/perf.h"

#include <stdlib.h>
#include <string.h>

#define PS_PER_NS 1000.0

double perf_now_ns(struct perf *perf)
{
    return (double)am_env_now(perf->env) / PS_PER_NS;
}

static int run_steps(perf_step_fn step, void *state, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (step(state) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Steps with a reading of the clock after each, for the distribution: of the
 * times, or of the rates of `per_step` things a step if that is not 0. */
static int run_samples(struct perf *perf, perf_step_fn step, void *state,
                       uint64_t count, double per_step,
                       struct perf_figure *figure)
{
    double *samples = calloc(count, sizeof(*samples));
    double before, after;
    int result = 0;

    if (samples == NULL) {
        return perf_fail(perf, "out of memory for %lu samples",
                         (unsigned long)count);
    }
    before = perf_now_ns(perf);
    for (uint64_t i = 0; i < count && result == 0; i++) {
        result = step(state);
        after = perf_now_ns(perf);
        samples[i] = after - before;
        before = after;
        if (per_step != 0) {
            samples[i] = per_step * 1e9 / samples[i];
        }
    }
    perf_percentiles(samples, count, figure);
    free(samples);
    return result;
}

int perf_time(struct perf *perf, perf_step_fn step, void *state,
              uint64_t iterations, struct perf_figure *figure)
{
    return perf_time_rate(perf, step, state, iterations, 0, figure);
}

int perf_time_rate(struct perf *perf, perf_step_fn step, void *state,
                   uint64_t iterations, double per_step,
                   struct perf_figure *figure)
{
    uint64_t samples =
            iterations < PERF_SAMPLES_MAX ? iterations : PERF_SAMPLES_MAX;
    double start;

    *figure = (struct perf_figure){.iterations = iterations};
    if (perf_barrier(perf) != 0 ||
        run_steps(step, state, perf_warmup(perf, iterations)) != 0) {
        return -1;
    }
    start = perf_now_ns(perf);
    if (run_steps(step, state, iterations) != 0) {
        return -1;
    }
    figure->value = (perf_now_ns(perf) - start) / (double)iterations;
    if (per_step != 0) {
        figure->value = per_step * 1e9 / figure->value;
    }
    return run_samples(perf, step, state, samples, per_step, figure);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The smallest sample that at least `percent` % of them do not exceed. */
static double percentile(const double *sorted, uint64_t count, uint64_t percent)
{
    uint64_t rank = (count * percent + 99) / 100;

    return sorted[rank == 0 ? 0 : rank - 1];
}

void perf_percentiles(double *samples, uint64_t count,
                      struct perf_figure *figure)
{
    figure->samples = count;
    if (count == 0) {
        return;
    }
    qsort(samples, count, sizeof(*samples), compare);
    figure->p50 = percentile(samples, count, 50);
    figure->p90 = percentile(samples, count, 90);
    figure->p99 = percentile(samples, count, 99);
    figure->max = samples[count - 1];
}

void perf_scale(struct perf_figure *figure, double factor)
{
    figure->value *= factor;
    figure->p50 *= factor;
    figure->p90 *= factor;
    figure->p99 *= factor;
    figure->max *= factor;
}

uint64_t perf_iterations(const struct perf *perf, size_t bytes,
                         uint64_t count_max, uint64_t total_bytes)
{
    uint64_t count;

    if (perf->options->iterations != 0) {
        return perf->options->iterations;
    }
    count = bytes == 0 ? count_max : total_bytes / bytes;
    if (count < PERF_BATCHES) {
        count = PERF_BATCHES;
    }
    return count < count_max ? count : count_max;
}

uint64_t perf_warmup(const struct perf *perf, uint64_t iterations)
{
    if (perf->options->warmup != UINT64_MAX) {
        return perf->options->warmup;
    }
    return iterations / 10 + 1;
}

void perf_compute(struct perf *perf, uint64_t ps)
{
    uint64_t end = am_env_now(perf->env) + ps;

    while (am_env_now(perf->env) < end) {
        if (perf->env->simulated) {
            am_env_relax(perf->env, end);
        }
    }
}
