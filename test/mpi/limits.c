/*
 * For test/mpi/programs: more requests than MPICH has (262,144 for each of its
 * interfaces), and more bytes than an int counts, 2 ranks.
 *
 *   receives N   N receives are posted: those beyond the limit return an error
 *   sends N      the same for sends that nobody receives yet
 *   rput N       the same for MPI_Rput
 *   target N     the target of strided puts has posted N receives: a flush at
 *                the origin ends, with an error
 *   fetch N      the same of get-accumulates
 *   second N     the origin has posted them, when the target asks for the data
 *   memory N     the target has no memory for N MiB that are added to its own
 *   truncate N   N MiB come for a receive of little room: the text of the error
 *                names no negative number
 *
 * What was started before the limit still ends well.
 */
#include "memory_limit.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUTS  400
#define WORDS 64
#define SPARE 4
#define PARTS 8 /* of a type that does not fit in a header */

static int failures, rank;
static MPI_Request *requests;

static void check(int good, const char *what, int number)
{
    if (!good && failures++ < 20) {
        printf("failed: rank %d: %s, %d\n", rank, what, number);
    }
}

/* An error that says what has run out. */
static void check_error(int error, const char *what, int number)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (error != MPI_SUCCESS) {
        MPI_Error_string(error, text, &length);
    }
    check(strstr(text, "request") != NULL || strstr(text, "memory") != NULL,
          what, number);
    if (number == 0) {
        printf("%s: %s\n", what, text);
    }
}

/* How many of `count` were started before the first error. */
static int start(int count, int (*one)(MPI_Request *), const char *what)
{
    int started = 0, error = MPI_SUCCESS;

    while (started < count && error == MPI_SUCCESS) {
        error = one(&requests[started]);
        started += error == MPI_SUCCESS;
    }
    if (started < count) {
        check_error(error, what, 0);
        check(one(&requests[started]) != MPI_SUCCESS, "again", started);
    }
    return started;
}

/* ------------------------------------------------------ point to point */

static int words[WORDS];

static int one_receive(MPI_Request *request)
{
    return MPI_Irecv(words, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, request);
}

static int one_send(MPI_Request *request)
{
    return MPI_Issend(words, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, request);
}

static MPI_Request spare[SPARE];

/* Receives that are given back at the limit, for what comes after it. */
static void spare_keep(void)
{
    for (int i = 0; i < SPARE; i++) {
        MPI_Irecv(words, 1, MPI_INT, 1 - rank, 6, MPI_COMM_WORLD, &spare[i]);
    }
}

static void tell(int *started)
{
    if (rank == 0) {
        for (int i = 0; i < SPARE; i++) {
            MPI_Cancel(&spare[i]);
            MPI_Wait(&spare[i], MPI_STATUS_IGNORE);
        }
        MPI_Send(started, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    } else {
        MPI_Recv(started, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Rank 1 does its side of each that rank 0 could start. */
static void ask(int count, int (*one)(MPI_Request *), const char *what,
                void (*other)(void))
{
    int started = 0;

    if (rank == 0) {
        spare_keep();
        started = start(count, one, what);
        check(started < count, "the limit was reached", started);
    }
    tell(&started);
    for (int i = 0; rank == 1 && i < started; i++) {
        other();
    }
    if (rank == 0) {
        check(MPI_Waitall(started, requests, MPI_STATUSES_IGNORE) ==
                      MPI_SUCCESS,
              "all that were started", started);
    }
}

static void send_one(void)
{
    MPI_Send(words, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
}

static void receive_one(void)
{
    MPI_Recv(words, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void part_receives(int count)
{
    ask(count, one_receive, "receives beyond the limit", send_one);
}

static void part_sends(int count)
{
    ask(count, one_send, "sends beyond the limit", receive_one);
}

static void part_truncate(int count)
{
    size_t bytes = (size_t)count << 20;
    char *data = untouched(bytes);
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Datatype mebibyte;
    int error, length;

    MPI_Type_contiguous(1 << 20, MPI_CHAR, &mebibyte);
    MPI_Type_commit(&mebibyte);
    if (rank == 1) {
        MPI_Send(data, count, mebibyte, 0, 4, MPI_COMM_WORLD);
    } else {
        error = MPI_Recv(words, WORDS, MPI_INT, 1, 4, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        check(error != MPI_SUCCESS, "a truncated message", count);
        MPI_Error_string(error, text, &length);
        check(strstr(text, "2147483647 bytes received") != NULL, text, count);
    }
    MPI_Type_free(&mebibyte);
    munmap(data, bytes);
}

/* ------------------------------------------------------ RMA */

static MPI_Win win;
static int memory[WORDS], fetched[WORDS];

static int one_rput(MPI_Request *request)
{
    return MPI_Rput(words, 1, MPI_INT, 1, 0, 1, MPI_INT, win, request);
}

static void window_over(void *base, size_t bytes)
{
    MPI_Win_create(base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
}

static void window(int begins)
{
    if (begins) {
        window_over(memory, sizeof(memory));
    } else {
        MPI_Win_unlock_all(win);
        MPI_Win_free(&win);
    }
}

static void part_rput(int count)
{
    window(1);
    if (rank == 0) {
        int started = start(count, one_rput, "rputs beyond the limit");

        check(started < count, "the limit was reached", started);
        check(MPI_Waitall(started, requests, MPI_STATUSES_IGNORE) ==
                      MPI_SUCCESS,
              "all that were put", started);
    }
    window(0);
}

/* Progress, until the origin says that it is through: it meets the error that
 * the target is told of. */
static void target(int count)
{
    MPI_Request through = requests[0];
    int flag = 0, started = 1 + start(count, one_receive, "receives");

    MPI_Send(words, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    while (!flag) {
        (void)MPI_Test(&through, &flag, MPI_STATUS_IGNORE);
    }
    while (MPI_Iprobe(0, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) !=
           MPI_SUCCESS) {
    }
    for (int i = 1; i < started; i++) {
        MPI_Cancel(&requests[i - 1]);
        MPI_Wait(&requests[i - 1], MPI_STATUS_IGNORE);
    }
}

static void origin(int fetches)
{
    int error;
    MPI_Datatype strided;

    MPI_Recv(words, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_vector(2, 1, 4, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    error = MPI_SUCCESS;
    for (int i = 0; i < PUTS; i++) {
        if (fetches && i % 2 == 0) {
            (void)MPI_Get_accumulate(words, 2, MPI_INT, fetched, 2, MPI_INT, 1,
                                     0, 2, MPI_INT, MPI_SUM, win);
        } else if (fetches) {
            (void)MPI_Get_accumulate(words, 2, MPI_INT, fetched, 2, MPI_INT, 1,
                                     0, 1, strided, MPI_SUM, win);
        } else {
            (void)MPI_Put(words, 2, MPI_INT, 1, 0, 1, strided, win);
        }
    }
    error = MPI_Win_flush(1, win);
    check_error(error, "a flush of what the target has no requests for", 0);
    check(MPI_Win_flush(1, win) == MPI_SUCCESS, "it is told once", 0);
    MPI_Send(words, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    MPI_Type_free(&strided);
}

static void of_target(int count, int fetches)
{
    window(1);
    if (rank == 1) {
        MPI_Irecv(words, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[0]);
        target(count);
    } else {
        origin(fetches);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window(0);
}

static void part_target(int count)
{
    of_target(count, 0);
}

static void part_fetch(int count)
{
    of_target(count, 1);
}

static void part_second(int count)
{
    int lengths[PARTS], places[PARTS], started, error;
    MPI_Datatype parts;

    for (int i = 0; i < PARTS; i++) {
        lengths[i] = 1;
        places[i] = i * i;
    }
    MPI_Type_indexed(PARTS, lengths, places, MPI_INT, &parts);
    MPI_Type_commit(&parts);
    window(1);
    if (rank == 0) {
        for (int i = 0; i < PUTS; i++) {
            MPI_Accumulate(words, PARTS, MPI_INT, 1, 0, 1, parts, MPI_SUM, win);
        }
        started = start(count, one_receive, "receives");
        error = MPI_Win_flush(1, win);
        check_error(error, "a flush of what this rank has no requests for", 0);
        check(MPI_Win_flush(1, win) == MPI_SUCCESS, "it is told once", 0);
        for (int i = 0; i < started; i++) {
            MPI_Cancel(&requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
        MPI_Get_accumulate(words, PARTS, MPI_INT, fetched, PARTS, MPI_INT, 1, 0,
                           1, parts, MPI_SUM, win);
        check(MPI_Win_flush(1, win) == MPI_SUCCESS, "others go on", 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window(0);
    MPI_Type_free(&parts);
}

static void part_memory(int count)
{
    size_t bytes = (size_t)count << 20;
    void *data = untouched(bytes);
    MPI_Request request;
    int flag = 0, error;

    window_over(data, bytes);
    if (rank == 1) { /* before the other sends, which a barrier may find */
        MPI_Irecv(words, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
        check(memory_limit(bytes / 2) == 0, "its limit", 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        while (!flag) { /* it is told of each */
            (void)MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Accumulate(data, count << 18, MPI_INT, 1, 0, count << 18, MPI_INT,
                       MPI_SUM, win);
        error = MPI_Win_flush(1, win);
        check_error(error, "a flush of what the target has no memory for", 0);
        check(MPI_Win_flush(1, win) == MPI_SUCCESS, "it is told once", 0);
        error = MPI_Raccumulate(data, count << 18, MPI_INT, 1, 0, count << 18,
                                MPI_INT, MPI_SUM, win, &request);
        error = error != MPI_SUCCESS ? error
                                     : MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_error(error, "its request", 0);
        (void)MPI_Win_flush(1, win);
        MPI_Send(words, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    }
    while (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) {
    }
    window(0);
    munmap(data, bytes);
}

static const struct part {
    const char *name;
    void (*run)(int count);
} parts[] = {{"receives", part_receives},
             {"sends", part_sends},
             {"rput", part_rput},
             {"target", part_target},
             {"fetch", part_fetch},
             {"second", part_second},
             {"memory", part_memory},
             {"truncate", part_truncate}};

int main(int argc, char **argv)
{
    int ran = 0, count = argc == 3 ? atoi(argv[2]) : 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    requests = malloc(((size_t)count + 1) * sizeof(*requests));
    for (int i = 0; i < (int)(sizeof(parts) / sizeof(parts[0])); i++) {
        if (argc == 3 && strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run(count);
            ran++;
        }
    }
    check(ran == 1, "a part of this name", ran);
    free(requests);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}
