/*
 * is.c: IS, integer sort.  Each iteration ranks the keys: count per bucket,
 * all-reduce of the counts, buckets given to ranks in order, all-to-all of the
 * keys, then a histogram of the keys that arrived.
 */
#include "nas_common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS 10
#define PROBES     5

struct is_class {
    char klass;
    int keys_log2;
    int range_log2; /* keys are 0 .. 2^range_log2 - 1 */
    int buckets_log2;
    int ranks_max;
    int64_t probe_index[PROBES]; /* keys whose rank is known */
    int64_t probe_rank[PROBES];
    int probe_sign[PROBES]; /* the rank moves so with the iteration */
    int probe_lag[PROBES];  /* iteration that counts as zero */
};

static const struct is_class classes[] = {
        {'S',
         16,
         11,
         9,
         128,
         {48427, 17148, 23627, 62548, 4431},
         {0, 18, 346, 64917, 65463},
         {1, 1, 1, -1, -1},
         {0, 0, 0, 0, 0}},
        {'W',
         20,
         16,
         10,
         512,
         {357773, 934767, 875723, 898999, 404505},
         {1249, 11698, 1039987, 1043896, 1048018},
         {1, 1, -1, -1, -1},
         {2, 2, 0, 0, 0}},
        {'A',
         23,
         19,
         10,
         1024,
         {2112377, 662041, 5336171, 3642833, 4250760},
         {104, 17523, 123928, 8288932, 8388264},
         {1, 1, 1, -1, -1},
         {1, 1, 1, 1, 1}},
        {'B',
         25,
         21,
         10,
         1024,
         {41869, 812306, 5102857, 18232239, 26860214},
         {33422937, 10244, 59149, 33135281, 99},
         {-1, 1, 1, -1, 1},
         {0, 0, 0, 0, 0}},
};

struct is_sort {
    const struct nas_job *job;
    const struct is_class *k;
    int key_count;    /* of this rank before the exchange */
    int bucket_count; /* PROBES more entries carry the probed keys */
    int *keys;        /* the sequence as generated */
    int *sorted;      /* the same, by bucket */
    int *bucket_mine; /* keys of this rank in each bucket */
    int *bucket_all;  /* keys of all ranks in each bucket */
    int *bucket_next; /* where the next key of a bucket goes */
    int *owner_first; /* first bucket of each rank; ranks + 1 entries */
    int *send_count;
    int *send_start;
    int *receive_count;
    int *receive_start;
    int *received; /* keys that fell to this rank */
    int received_room;
    int *rank_of; /* keys of this rank up to and with each value */
    int rank_of_room;
    int received_count;
    int key_min; /* values that this rank owns: key_min to key_end-1 */
    int key_end;
    int64_t key_before; /* keys on lower ranks */
    int64_t passed;     /* probes that had the official rank */
};

static const struct is_class *find_class(char klass)
{
    const struct is_class *found = classes;

    while (found->klass != klass) {
        found++;
    }
    return found;
}

static void make_keys(struct is_sort *s)
{
    uint64_t x = nas_random_skip(NAS_SEED, NAS_MULTIPLIER,
                                 (uint64_t)4 * (uint64_t)s->key_count *
                                         (uint64_t)s->job->rank);
    double quarter = (double)(1 << s->k->range_log2) / 4;

    for (int i = 0; i < s->key_count; i++) {
        double sum = nas_random(&x, NAS_MULTIPLIER);

        sum += nas_random(&x, NAS_MULTIPLIER);
        sum += nas_random(&x, NAS_MULTIPLIER);
        sum += nas_random(&x, NAS_MULTIPLIER);
        s->keys[i] = (int)(quarter * sum);
    }
}

static void open_sort(struct is_sort *s)
{
    size_t ranks = (size_t)s->job->ranks;
    size_t buckets;

    s->key_count = (1 << s->k->keys_log2) / s->job->ranks;
    s->bucket_count = 1 << s->k->buckets_log2;
    buckets = (size_t)s->bucket_count + PROBES;
    s->received_room = s->key_count / 2 * 3;
    s->rank_of_room = s->received_room;
    s->keys = nas_alloc((size_t)s->key_count, sizeof(int));
    s->sorted = nas_alloc((size_t)s->key_count, sizeof(int));
    s->received = nas_alloc((size_t)s->received_room, sizeof(int));
    s->rank_of = nas_alloc((size_t)s->rank_of_room, sizeof(int));
    s->bucket_mine = nas_alloc(buckets, sizeof(int));
    s->bucket_all = nas_alloc(buckets, sizeof(int));
    s->bucket_next = nas_alloc(buckets, sizeof(int));
    s->owner_first = nas_alloc(ranks + 1, sizeof(int));
    s->send_count = nas_alloc(ranks, sizeof(int));
    s->send_start = nas_alloc(ranks, sizeof(int));
    s->receive_count = nas_alloc(ranks, sizeof(int));
    s->receive_start = nas_alloc(ranks, sizeof(int));
    make_keys(s);
}

/* Counts this rank's keys per bucket, probes included, and sorts by bucket. */
static void sort_by_bucket(struct is_sort *s)
{
    const int shift = s->k->range_log2 - s->k->buckets_log2;
    const int *restrict keys = s->keys;
    int *restrict sorted = s->sorted;
    int *restrict mine = s->bucket_mine;
    int *restrict next = s->bucket_next;

    memset(mine, 0, sizeof(int) * (size_t)(s->bucket_count + PROBES));
    for (int p = 0; p < PROBES; p++) {
        int64_t index = s->k->probe_index[p];

        if (index / s->key_count == s->job->rank) {
            mine[s->bucket_count + p] = keys[index % s->key_count];
        }
    }
    for (int i = 0; i < s->key_count; i++) {
        mine[keys[i] >> shift]++;
    }
    next[0] = 0;
    for (int b = 1; b < s->bucket_count; b++) {
        next[b] = next[b - 1] + mine[b - 1];
    }
    for (int i = 0; i < s->key_count; i++) {
        int key = keys[i];

        sorted[next[key >> shift]++] = key;
    }
    nas_compute(4.0 * s->key_count + s->bucket_count);
}

/*
 * Gives whole buckets to ranks in order, each rank taking buckets until the
 * running total reaches its even share; fills the send counts.
 */
static void share_buckets(struct is_sort *s)
{
    int64_t total = 0;
    int bucket = 0;

    for (int r = 0; r < s->job->ranks; r++) {
        int64_t share = (int64_t)s->key_count * (r + 1);
        int count = 0;

        s->owner_first[r] = bucket;
        while (bucket < s->bucket_count &&
               (total < share || r == s->job->ranks - 1)) {
            total += s->bucket_all[bucket];
            count += s->bucket_mine[bucket];
            bucket++;
        }
        s->send_count[r] = count;
        s->send_start[r] =
                r == 0 ? 0 : s->send_start[r - 1] + s->send_count[r - 1];
    }
    s->owner_first[s->job->ranks] = s->bucket_count;
}

static void grow(int **array_p, int *room_p, int need)
{
    if (need > *room_p) {
        free(*array_p);
        *array_p = nas_alloc((size_t)need, sizeof(int));
        *room_p = need;
    }
}

static void exchange_keys(struct is_sort *s)
{
    int total = 0;

    MPI_Alltoall(s->send_count, 1, MPI_INT, s->receive_count, 1, MPI_INT,
                 MPI_COMM_WORLD);
    for (int r = 0; r < s->job->ranks; r++) {
        s->receive_start[r] = total;
        total += s->receive_count[r];
    }
    s->received_count = total;
    grow(&s->received, &s->received_room, total);
    MPI_Alltoallv(s->sorted, s->send_count, s->send_start, MPI_INT, s->received,
                  s->receive_count, s->receive_start, MPI_INT, MPI_COMM_WORLD);
}

/* rank_of[v - key_min] becomes the number of own keys with value <= v. */
static void count_received(struct is_sort *s)
{
    const int shift = s->k->range_log2 - s->k->buckets_log2;
    int first = s->owner_first[s->job->rank];
    int values;

    s->key_min = first << shift;
    s->key_end = s->owner_first[s->job->rank + 1] << shift;
    values = s->key_end - s->key_min;
    s->key_before = 0;
    for (int b = 0; b < first; b++) {
        s->key_before += s->bucket_all[b];
    }
    grow(&s->rank_of, &s->rank_of_room, values);
    if (values == 0) {
        return;
    }

    int *restrict rank_of = s->rank_of;
    const int *restrict received = s->received;
    const int key_min = s->key_min;

    memset(rank_of, 0, sizeof(int) * (size_t)values);
    for (int i = 0; i < s->received_count; i++) {
        rank_of[received[i] - key_min]++;
    }
    for (int i = 1; i < values; i++) {
        rank_of[i] += rank_of[i - 1];
    }
    nas_compute(2.0 * s->received_count + values);
}

/* Compares the ranks of the five probed keys with the official ones. */
static void check_probes(struct is_sort *s, int iteration)
{
    for (int p = 0; p < PROBES; p++) {
        int key = s->bucket_all[s->bucket_count + p];

        if (key < s->key_min || key >= s->key_end) {
            continue;
        }
        int64_t rank = s->key_before;
        int64_t official =
                s->k->probe_rank[p] +
                s->k->probe_sign[p] * (iteration - s->k->probe_lag[p]);

        if (key > s->key_min) {
            rank += s->rank_of[key - 1 - s->key_min];
        }
        if (rank == official) {
            s->passed++;
        } else {
            printf(" iteration %d: key %d has rank %lld, official %lld\n",
                   iteration, key, (long long)rank, (long long)official);
        }
    }
}

static void rank_keys(struct is_sort *s, int iteration)
{
    if (s->job->rank == 0) {
        s->keys[iteration] = iteration;
        s->keys[iteration + ITERATIONS] = (1 << s->k->range_log2) - iteration;
    }
    sort_by_bucket(s);
    MPI_Allreduce(s->bucket_mine, s->bucket_all, s->bucket_count + PROBES,
                  MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    share_buckets(s);
    exchange_keys(s);
    count_received(s);
    check_probes(s, iteration);
}

/*
 * Puts the received keys in place by their ranks and returns the number of
 * neighbours out of order, those on the next rank that has keys included.
 */
static int64_t count_misplaced(struct is_sort *s)
{
    int *sequence = nas_alloc((size_t)s->received_count, sizeof(int));
    int ends[2] = {-1, -1}; /* smallest and largest key, -1 for none */
    int *all_ends = nas_alloc((size_t)s->job->ranks, sizeof(ends));
    int64_t bad = 0;
    int last = -1;

    for (int i = 0; i < s->received_count; i++) {
        sequence[--s->rank_of[s->received[i] - s->key_min]] = s->received[i];
    }
    for (int i = 1; i < s->received_count; i++) {
        bad += sequence[i - 1] > sequence[i];
    }
    if (s->received_count > 0) {
        ends[0] = sequence[0];
        ends[1] = sequence[s->received_count - 1];
    }
    MPI_Gather(ends, 2, MPI_INT, all_ends, 2, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; s->job->rank == 0 && r < s->job->ranks; r++) {
        if (all_ends[2 * r] >= 0) {
            bad += last > all_ends[2 * r];
            last = all_ends[2 * r + 1];
        }
    }
    free(sequence);
    free(all_ends);
    return bad;
}

static bool verify(struct is_sort *s)
{
    int64_t local[2] = {s->passed, count_misplaced(s)};
    int64_t sum[2] = {0, 0};

    MPI_Reduce(local, sum, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (s->job->spoil) {
        sum[0]--;
    }
    if (s->job->rank == 0) {
        printf(" ranks as published: %lld of %d, keys out of order: %lld\n",
               (long long)sum[0], PROBES * ITERATIONS, (long long)sum[1]);
    }
    return sum[0] == PROBES * ITERATIONS && sum[1] == 0;
}

int main(int argc, char **argv)
{
    struct nas_job job;
    struct is_sort sort = {.job = &job};

    nas_start(&argc, &argv, "IS", &job);
    sort.k = find_class(job.klass);
    nas_need_power_of_two(&job, sort.k->ranks_max);

    struct nas_result result = {
            .extent = {INT64_C(1) << sort.k->keys_log2, 0, 0},
            .iterations = ITERATIONS,
            .operation = "keys ranked",
    };

    nas_heading(&job, result.extent, ITERATIONS);
    open_sort(&sort);
    rank_keys(&sort, 1); /* untimed: touches all memory */
    sort.passed = 0;

    double start = nas_timer_start();

    for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
        rank_keys(&sort, iteration);
    }
    result.seconds = nas_timer_stop(start);
    result.mops = (double)result.extent[0] * ITERATIONS / result.seconds * 1e-6;
    result.verified = verify(&sort);
    return nas_finish(&job, &result);
}
