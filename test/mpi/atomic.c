/*
 * For test/mpi/programs: fetch-and-ops on windows made in every way.  All
 * ranks add to one word of each rank, by fetch-and-op (which may be native)
 * mixed with accumulates (which are not): each value is fetched once, and a
 * rank's own operations on a word take place in the order it started them.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 300
#define LONG  200000 /* words of an accumulate that lands late */

static int failures, rank, size;

static void check(int good, const char *kind, const char *what)
{
    if (!good && failures++ < 10) {
        printf("failed: rank %d: %s: %s\n", rank, kind, what);
    }
}

static void clear(MPI_Win win, int64_t *words)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(words, 0, LONG * sizeof(*words));
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Every rank draws tickets from word 0 of rank 0: no ticket twice. */
static void tickets(MPI_Win win, const char *kind)
{
    int64_t one = 1, drawn[TURNS], all = (int64_t)TURNS * size;
    char *seen = calloc((size_t)all, 1);
    int64_t *others = malloc((size_t)all * sizeof(*others));

    MPI_Win_lock_all(0, win);
    for (int i = 0; i < TURNS; i++) {
        MPI_Fetch_and_op(&one, &drawn[i], MPI_INT64_T, 0, 0, MPI_SUM, win);
        if (i % 7 == 0) {
            MPI_Win_flush(0, win);
            check(i == 0 || drawn[i] > drawn[i - 1], kind, "tickets grow");
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Allgather(drawn, TURNS, MPI_INT64_T, others, TURNS, MPI_INT64_T,
                  MPI_COMM_WORLD);
    for (int64_t i = 0; i < all; i++) {
        check(others[i] >= 0 && others[i] < all && !seen[others[i] % all],
              kind, "each ticket is drawn once");
        seen[others[i] % all] = 1;
    }
    free(others);
    free(seen);
}

/* Fetch-and-ops and accumulates of several kinds on the same words. */
static void mixed(MPI_Win win, int64_t *words, const char *kind)
{
    int64_t one = 1, *old = malloc(TURNS * (size_t)size * sizeof(*old)), sum = 0;

    MPI_Win_fence(0, win);
    for (int i = 0; i < TURNS; i++) {
        for (int to = 0; to < size; to++) {
            if ((i + to) % 3 == 0) {
                MPI_Accumulate(&one, 1, MPI_INT64_T, to, 1, 1, MPI_INT64_T,
                               MPI_SUM, win);
            } else if ((i + to) % 3 == 1) {
                MPI_Get_accumulate(&one, 1, MPI_INT64_T, &old[i * size + to], 1,
                                   MPI_INT64_T, to, 1, 1, MPI_INT64_T, MPI_SUM,
                                   win);
            } else {
                MPI_Fetch_and_op(&one, &old[i * size + to], MPI_INT64_T, to, 1,
                                 MPI_SUM, win);
            }
        }
    }
    MPI_Win_fence(0, win);
    sum = words[1];
    check(sum == (int64_t)TURNS * size, kind, "nothing that was added is lost");
    MPI_Win_fence(0, win);
    free(old);
}

/* The last word of a long accumulate, then a fetch of it: in that order. */
static void ordered(MPI_Win win, const char *kind)
{
    int64_t *many = malloc(LONG * sizeof(*many)), none = 0, old = -1, last = -1;
    int to = (rank + 1) % size;

    for (int i = 0; i < LONG; i++) {
        many[i] = 5;
    }
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
    MPI_Accumulate(many, LONG, MPI_INT64_T, to, 0, LONG, MPI_INT64_T, MPI_SUM,
                   win);
    MPI_Fetch_and_op(&many[0], &old, MPI_INT64_T, to, LONG - 1, MPI_SUM, win);
    MPI_Accumulate(many, LONG, MPI_INT64_T, to, 0, LONG, MPI_INT64_T, MPI_SUM,
                   win);
    MPI_Win_flush(to, win);
    MPI_Fetch_and_op(&none, &last, MPI_INT64_T, to, LONG - 1, MPI_NO_OP, win);
    MPI_Win_unlock(to, win);
    check(old == 5, kind, "a fetch sees the accumulate before it");
    check(last == 15, kind, "and all that was completed");
    free(many);
}

/* Words that are not aligned, or not words, are summed as well. */
static void odd(MPI_Win bytes, const char *kind)
{
    int64_t one = 1, old = -1;
    int32_t half = 1, half_old = -1;
    double real = 0.5, real_old = -1;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, bytes);
    MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 12, MPI_SUM, bytes);
    MPI_Fetch_and_op(&half, &half_old, MPI_INT32_T, 0, 24, MPI_SUM, bytes);
    MPI_Fetch_and_op(&real, &real_old, MPI_DOUBLE, 0, 32, MPI_SUM, bytes);
    MPI_Win_unlock(0, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, bytes);
    MPI_Fetch_and_op(NULL, &old, MPI_INT64_T, 0, 12, MPI_NO_OP, bytes);
    MPI_Fetch_and_op(NULL, &half_old, MPI_INT32_T, 0, 24, MPI_NO_OP, bytes);
    MPI_Fetch_and_op(NULL, &real_old, MPI_DOUBLE, 0, 32, MPI_NO_OP, bytes);
    MPI_Win_unlock(0, bytes);
    check(old == size && half_old == size && real_old == 0.5 * size, kind,
          "any alignment, any type");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void window(MPI_Win win, int64_t *words, const char *kind)
{
    clear(win, words);
    tickets(win, kind);
    mixed(win, words, kind);
    clear(win, words);
    ordered(win, kind);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Fetch-and-adds that libam has made for peers, of all ranks. */
static unsigned long long native(void)
{
    unsigned long long count = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int index, values, provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_get_index("fetch_adds", MPI_T_PVAR_CLASS_COUNTER, &index) ==
        MPI_SUCCESS) {
        MPI_T_pvar_session_create(&session);
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &values);
        MPI_T_pvar_read(session, handle, &count);
        MPI_T_pvar_handle_free(session, &handle);
        MPI_T_pvar_session_free(&session);
    }
    MPI_T_finalize();
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM,
                  MPI_COMM_WORLD);
    return count;
}

int main(int argc, char **argv)
{
    MPI_Aint bytes = LONG * sizeof(int64_t);
    int64_t *words, *attached = malloc((size_t)bytes);
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Win_create(attached, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    window(win, attached, "create");
    MPI_Win_free(&win);
    MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &words, &win);
    window(win, words, "allocate");
    MPI_Win_free(&win);
    MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &words,
                            &win);
    window(win, words, "allocate_shared");
    MPI_Win_free(&win);
    memset(attached, 0, (size_t)bytes);
    MPI_Win_create(attached, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    odd(win, "bytes");
    MPI_Win_free(&win);
    free(attached);
    if (argc > 1 && strcmp(argv[1], "native") == 0) {
        check(native() >= (unsigned long long)TURNS, "create",
              "some fetch-and-ops are native");
    }
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Finalize();
    return failures > 0;
}
