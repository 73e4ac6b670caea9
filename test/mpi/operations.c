/*
 * For test/mpi/programs: many one-sided operations before one flush.  Every rank
 * issues them to the next one; then all must be done, each once, and neither
 * origin nor target may have grown by more than a bound.
 * Usage: operations KIND COUNT GROWTH_MB
 */
#include "peak.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_WORDS (1 << 17) /* 1 MiB, in the kinds with long operations */
#define WORDS      (2 * LONG_WORDS)

static int rank, next, wrong;
static MPI_Win window;
static MPI_Datatype pair, wide; /* every second word: two, and LONG_WORDS / 2 */
static long *memory, *local;

static void accumulate_pairs(void)
{
    static const long one[2] = {1, 1};

    MPI_Accumulate(one, 2, MPI_LONG, next, 0, 1, pair, MPI_SUM, window);
}

static void accumulate(void)
{
    static const long one[2] = {1, 1};

    MPI_Accumulate(one, 2, MPI_LONG, next, 0, 2, MPI_LONG, MPI_SUM, window);
}

static void put_pairs(void)
{
    static const long value[2] = {7, 7};

    MPI_Put(value, 2, MPI_LONG, next, 0, 1, pair, window);
}

static void put(void)
{
    static const long value[2] = {7, 7};

    MPI_Put(value, 2, MPI_LONG, next, 0, 2, MPI_LONG, window);
}

static void get_pairs(void)
{
    MPI_Get(local, 2, MPI_LONG, next, 0, 1, pair, window);
}

static void fetch(void)
{
    static const long one = 1;

    MPI_Fetch_and_op(&one, local, MPI_LONG, next, 0, MPI_SUM, window);
}

static void swap(void)
{
    static const long value = 7, other = -1;

    MPI_Compare_and_swap(&value, &other, local, MPI_LONG, next, 0, window);
}

static void accumulate_wide(void)
{
    MPI_Accumulate(local, LONG_WORDS / 2, MPI_LONG, next, 0, 1, wide, MPI_SUM,
                   window);
}

static void get_wide(void)
{
    MPI_Get(local, LONG_WORDS / 2, MPI_LONG, next, 0, 1, wide, window);
}

static const struct kind {
    const char *name;
    void (*issue)(void);
    int sums;       /* the first word counts the operations, or is `last` */
    int last, gets; /* local[0] is read from it */
} kinds[] = {
        {"accumulate-pairs", accumulate_pairs, 1, 0, 0},
        {"accumulate", accumulate, 1, 0, 0},
        {"put-pairs", put_pairs, 0, 7, 0},
        {"put", put, 0, 7, 0},
        {"get-pairs", get_pairs, 0, 0, 1},
        {"fetch", fetch, 1, 0, 0},
        {"swap", swap, 0, 0, 0},
        {"accumulate-wide", accumulate_wide, 1, 0, 0},
        {"get-wide", get_wide, 0, 0, 1},
};

static const struct kind *kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void check(const char *what, long got, long want)
{
    if (got != want) {
        printf("failed: rank %d, %s: %ld, want %ld\n", rank, what, got, want);
        wrong = 1;
    }
}

static void run(const struct kind *kind, long count, long growth_kb)
{
    long before, grown;

    for (long i = 0; i < LONG_WORDS; i++) {
        local[i] = 1;
    }
    memset(memory, 0, WORDS * sizeof(*memory));
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    before = peak_kb();
    for (long i = 0; i < count; i++) {
        kind->issue();
    }
    MPI_Win_flush(next, window);
    MPI_Barrier(MPI_COMM_WORLD);
    grown = peak_kb() - before;
    MPI_Win_unlock_all(window);
    check("the first word", memory[0], kind->sums ? count : kind->last);
    if (kind->gets) {
        check("the word that was read", local[0], 0);
    }
    if (grown > growth_kb) {
        check("memory in kB more than before", grown, growth_kb);
    }
}

int main(int argc, char **argv)
{
    const struct kind *kind = argc == 4 ? kind_find(argv[1]) : NULL;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    MPI_Type_vector(2, 1, 2, MPI_LONG, &pair);
    MPI_Type_vector(LONG_WORDS / 2, 1, 2, MPI_LONG, &wide);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&wide);
    local = malloc(LONG_WORDS * sizeof(*local));
    MPI_Win_allocate(WORDS * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &window);
    if (kind == NULL) {
        printf("failed: usage: operations KIND COUNT GROWTH_MB\n");
        wrong = 1;
    } else {
        run(kind, atol(argv[2]), atol(argv[3]) * 1024);
    }
    MPI_Win_free(&window);
    MPI_Type_free(&pair);
    MPI_Type_free(&wide);
    free(local);
    MPI_Finalize();
    return wrong;
}
