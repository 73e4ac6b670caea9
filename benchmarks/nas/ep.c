/*
 * ep.c: EP, embarrassingly parallel.  Pairs of uniform numbers become Gaussian
 * deviates by the polar method; their sums and their counts in square annuli
 * are the result.  Ranks share the batches; three all-reduces end the run.
 */
#include "nas_common.h"

#include <math.h>
#include <string.h>

#define BATCH_LOG2  16
#define BATCH_PAIRS (1 << BATCH_LOG2)
#define ANNULI      10
#define SEED        UINT64_C(271828183)

struct ep_class {
    char klass;
    int pairs_log2;
    double sum_x;
    double sum_y;
};

static const struct ep_class classes[] = {
        {'S', 24, -3.247834652034740e+3, -6.958407078382297e+3},
        {'W', 25, -2.863319731645753e+3, -6.320053679109499e+3},
        {'A', 28, -4.295875165629892e+3, -1.580732573678431e+4},
        {'B', 30, 4.033815542441498e+4, -2.660669192809235e+4},
};

struct ep_tally {
    double sum_x;
    double sum_y;
    double count[ANNULI];
};

static const struct ep_class *find_class(char klass)
{
    const struct ep_class *found = classes;

    while (found->klass != klass) {
        found++;
    }
    return found;
}

/* Adds one batch of pairs; numbers is scratch for 2 * BATCH_PAIRS. */
static void add_batch(int64_t batch, double *restrict numbers,
                      struct ep_tally *tally)
{
    uint64_t x = nas_random_skip(SEED, NAS_MULTIPLIER,
                                 (uint64_t)batch * 2 * BATCH_PAIRS);
    double sum_x = tally->sum_x;
    double sum_y = tally->sum_y;
    int accepted = 0;

    nas_random_fill(&x, NAS_MULTIPLIER, 2 * BATCH_PAIRS, numbers);
    for (int i = 0; i < BATCH_PAIRS; i++) {
        double u = 2.0 * numbers[2 * i] - 1.0;
        double v = 2.0 * numbers[2 * i + 1] - 1.0;
        double t = u * u + v * v;

        if (t <= 1.0) {
            double scale = sqrt(-2.0 * log(t) / t);
            double gx = u * scale;
            double gy = v * scale;
            double ax = fabs(gx);
            double ay = fabs(gy);

            tally->count[(int)(ax > ay ? ax : ay)] += 1.0;
            sum_x += gx;
            sum_y += gy;
            accepted++;
        }
    }
    tally->sum_x = sum_x;
    tally->sum_y = sum_y;
    nas_compute(11.0 * BATCH_PAIRS + 9.0 * accepted);
}

static void add_my_batches(const struct nas_job *job, int64_t batches,
                           double *numbers, struct ep_tally *tally)
{
    int64_t first = batches * job->rank / job->ranks;
    int64_t end = batches * (job->rank + 1) / job->ranks;

    for (int64_t batch = first; batch < end; batch++) {
        add_batch(batch, numbers, tally);
    }
}

static void reduce(struct ep_tally *tally)
{
    struct ep_tally local = *tally;

    MPI_Allreduce(&local.sum_x, &tally->sum_x, 1, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Allreduce(&local.sum_y, &tally->sum_y, 1, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Allreduce(local.count, tally->count, ANNULI, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct nas_job job;
    struct ep_tally tally = {0};
    const double epsilon = 1e-8;

    nas_start(&argc, &argv, "EP", &job);

    const struct ep_class *k = find_class(job.klass);
    int64_t batches = INT64_C(1) << (k->pairs_log2 - BATCH_LOG2);
    struct nas_result result = {
            .extent = {INT64_C(1) << (k->pairs_log2 + 1), 0, 0},
            .operation = "Random numbers generated",
    };

    if (job.ranks > batches) {
        nas_refuse(&job, "EP class %c runs on 1 to %lld ranks, not on %d.",
                   job.klass, (long long)batches, job.ranks);
    }
    nas_heading(&job, result.extent, 0);

    double *numbers = nas_alloc(2 * BATCH_PAIRS, sizeof(double));
    double start = nas_timer_start();

    add_my_batches(&job, batches, numbers, &tally);
    reduce(&tally);
    result.seconds = nas_timer_stop(start);
    result.mops = (double)result.extent[0] / result.seconds * 1e-6;
    result.verified =
            nas_check(&job, "sum x", tally.sum_x, k->sum_x, epsilon) &&
            nas_check(&job, "sum y", tally.sum_y, k->sum_y, epsilon);
    return nas_finish(&job, &result);
}
