/*
 * For test/mpi/programs: post, start, complete and wait between random groups.
 * All ranks draw the same rounds from the seed: who is a target, and of whom; and
 * go through them without a barrier, so that posts and completes of later rounds
 * come early.  Each round has every target checked for what its origins wrote, and
 * each origin for what it read.  Two windows take turns, one of them on a
 * communicator with the ranks in reverse.
 * With `barrier`, on one node, a target that comes from a barrier finds by MPI_Win_test
 * what its origin completed before it.
 * Usage: pscw SEED ROUNDS [barrier]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 16
#define WINDOWS   2
#define BLOCK     5 /* words that an origin writes to a target; every second */

enum {
    OWN,   /* the target's word of this round, to be read */
    SUM,   /* what its origins add up */
    SLOTS, /* then BLOCK words for each origin */
    WORDS = SLOTS + RANKS_MAX * BLOCK
};

struct round {
    int nocheck, by_test, late;
    int writes[RANKS_MAX][RANKS_MAX]; /* [origin][target] */
};

static int rank, size, wrong;
static MPI_Group group;
static MPI_Comm comms[WINDOWS];
static MPI_Win windows[WINDOWS];
static long memory[WINDOWS][WORDS];
static MPI_Datatype every_second;
static unsigned long state;

static int draw(int below)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % (unsigned long)below);
}

static struct round round_draw(void)
{
    struct round round = {draw(8) == 0, draw(2), draw(2), {{0}}};
    int percent = 10 + draw(90);

    for (int origin = 0; origin < size; origin++) {
        for (int target = 0; target < size; target++) {
            round.writes[origin][target] = draw(100) < percent;
        }
    }
    return round;
}

/* The ranks that have to do with me, in an order of their own; how many. */
static int mates(const struct round *round, int as_origin, int *ranks)
{
    int count = 0;

    for (int i = 0; i < size; i++) {
        int other = (i * 7 + rank) % size;

        if (size % 7 == 0) {
            other = i;
        }
        if (as_origin ? round->writes[rank][other]
                      : round->writes[other][rank]) {
            ranks[count++] = other;
        }
    }
    return count;
}

static void expect(long got, long want, int number, const char *what, int other)
{
    if (got != want && wrong++ < 5) {
        printf("failed: round %d, rank %d, %s %d: %ld, want %ld\n", number,
               rank, what, other, got, want);
    }
}

static long word_of(int number, int of, int i)
{
    return 1000000l * of + 10l * number + i;
}

static int post(const struct round *round, int number)
{
    long *words = memory[number % WINDOWS];
    int ranks[RANKS_MAX], count = mates(round, 0, ranks);
    MPI_Group origins;

    if (count == 0) {
        return 0;
    }
    memset(words, 0, sizeof(memory[0]));
    words[OWN] = word_of(number, rank, 0);
    MPI_Group_incl(group, count, ranks, &origins);
    MPI_Win_post(origins, round->nocheck ? MPI_MODE_NOCHECK : 0,
                 windows[number % WINDOWS]);
    MPI_Group_free(&origins);
    return 1;
}

static int in_window(int number, int world_rank)
{
    return number % WINDOWS == 0 ? world_rank : size - 1 - world_rank;
}

static void access_all(const struct round *round, int number)
{
    MPI_Win window = windows[number % WINDOWS];
    int ranks[RANKS_MAX], count = mates(round, 1, ranks);
    long written[BLOCK], added = rank + 1, read[RANKS_MAX];
    MPI_Group targets;

    if (count == 0) {
        return;
    }
    for (int i = 0; i < BLOCK; i++) {
        written[i] = word_of(number, rank, i);
    }
    MPI_Group_incl(group, count, ranks, &targets);
    MPI_Win_start(targets, round->nocheck ? MPI_MODE_NOCHECK : 0, window);
    MPI_Group_free(&targets);
    for (int i = 0; i < count; i++) {
        int target = in_window(number, ranks[i]);
        MPI_Aint slot = SLOTS + (MPI_Aint)rank * BLOCK;

        MPI_Get(&read[i], 1, MPI_LONG, target, OWN, 1, MPI_LONG, window);
        if (number % 3 == 0) {
            MPI_Put(written, BLOCK, MPI_LONG, target, slot, BLOCK, MPI_LONG,
                    window);
        } else {
            MPI_Put(written, 1, every_second, target, slot, 1, every_second,
                    window);
        }
        MPI_Accumulate(&added, 1, MPI_LONG, target, SUM, 1, MPI_LONG, MPI_SUM,
                       window);
    }
    MPI_Win_complete(window);
    for (int i = 0; i < count; i++) {
        expect(read[i], word_of(number, ranks[i], 0), number, "read from",
               ranks[i]);
    }
}

static void finish(const struct round *round, int number)
{
    MPI_Win window = windows[number % WINDOWS];
    const long *words = memory[number % WINDOWS];
    int ranks[RANKS_MAX], count = mates(round, 0, ranks), done = 0;
    int step = number % 3 == 0 ? 1 : 2;
    long sum = 0;

    if (round->by_test) {
        while (!done) {
            MPI_Win_test(window, &done);
        }
    } else {
        MPI_Win_wait(window);
    }
    for (int i = 0; i < count; i++) {
        sum += ranks[i] + 1;
        for (int k = 0; k < BLOCK; k += step) {
            expect(words[SLOTS + ranks[i] * BLOCK + k],
                   word_of(number, ranks[i], k), number, "written by",
                   ranks[i]);
        }
    }
    expect(words[SUM], sum, number, "sum of", count);
}

/* A round's exposure may stay open over the next round, which has the other
 * window. */
static void play(int rounds)
{
    struct round before = {0};
    int open = 0; /* the exposure of `before` */

    for (int number = 0; number < rounds; number++) {
        struct round round = round_draw();
        int posted = post(&round, number);

        if (round.nocheck) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        access_all(&round, number);
        if (open) {
            finish(&before, number - 1);
        }
        open = posted && round.late;
        if (posted && !open) {
            finish(&round, number);
        }
        before = round;
    }
    if (open) {
        finish(&before, rounds - 1);
    }
}

/* Rank 0 is the origin, rank 1 the target; libam's barriers may end without a poll. */
static void behind_barriers(int rounds)
{
    MPI_Group other;
    int peer = 1 - rank, done = 0;

    MPI_Group_incl(group, 1, &peer, &other);
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            MPI_Win_start(other, 0, windows[0]);
        } else {
            MPI_Win_post(other, 0, windows[0]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Win_complete(windows[0]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Win_test(windows[0], &done);
            if (!done) {
                printf("failed: round %d is not complete behind a barrier\n", i);
                wrong++;
                MPI_Win_wait(windows[0]);
            }
        }
    }
    MPI_Group_free(&other);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 100;

    state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Type_vector((BLOCK + 1) / 2, 1, 2, MPI_LONG, &every_second);
    MPI_Type_commit(&every_second);
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, i == 0 ? rank : -rank, &comms[i]);
        MPI_Win_create(memory[i], sizeof(memory[i]), sizeof(long),
                       MPI_INFO_NULL, comms[i], &windows[i]);
    }
    if (argc > 3 && size == 2) {
        behind_barriers(rounds);
    } else {
        play(rounds);
    }
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win_free(&windows[i]);
        MPI_Comm_free(&comms[i]);
    }
    MPI_Type_free(&every_second);
    MPI_Group_free(&group);
    MPI_Finalize();
    return wrong != 0;
}
