/*
 * For test/mpi/faults: rank 1 dies between the messages of one-sided operations.
 *
 * usage: halfway types      its target's datatype went first, and is answered no
 *                           more: types are given back
 *        halfway requests   nor does an operation that fails at once keep its
 *                           request
 *        halfway late       its answer waits behind a long message of its own
 *        halfway second     it has sent the type of an operation, not the data:
 *                           those of others go on
 *
 * Each rank that lives prints "RANK well", or what was wrong.
 */
#include "well.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEAD   1
#define BLOCKS 64         /* of a type that does not fit in a header */
#define LONG   (1 << 19)  /* ints: no message brings them at once */
#define MANY   300000     /* MPICH has fewer requests */

static int rank, size, gone;
static int words[BLOCKS], result[BLOCKS];
static int *memory, *large;
static MPI_Comm world;
static MPI_Win win;

static int class_of(int rc)
{
    int class;

    MPI_Error_class(rc, &class);
    return class;
}

static MPI_Datatype blocks_new(void)
{
    int lengths[BLOCKS], places[BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1;
        places[i] = i * i;
    }
    MPI_Type_indexed(BLOCKS, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* The dead rank is known to be so when this returns. */
static void learn(void)
{
    int word;

    CHECK(class_of(MPI_Recv(&word, 1, MPI_INT, DEAD, 4, world,
                            MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
}

/* ------------------------------------------------------------- types */

static int type_is_gone(MPI_Datatype type, int key, void *value, void *extra)
{
    gone++;
    return MPI_SUCCESS;
}

static int operate(int kind, MPI_Datatype origin, MPI_Datatype target)
{
    switch (kind) {
    case 0:
        return MPI_Put(words, 1, origin, DEAD, 0, 1, target, win);
    case 1:
        return MPI_Accumulate(words, 1, origin, DEAD, 0, 1, target, MPI_SUM,
                              win);
    case 2:
        return MPI_Get_accumulate(words, 1, origin, result, BLOCKS, MPI_INT,
                                  DEAD, 0, 1, target, MPI_SUM, win);
    default:
        return MPI_Get(words, 1, origin, DEAD, 0, 1, target, win);
    }
}

/* All of it is over with the flush: nothing has the types any more.  It is done well
 * where rank 1 was still in its last barrier. */
static void types_of(int kind, int key, int is_known)
{
    MPI_Datatype origin, target = blocks_new();
    int before = gone, rc;

    MPI_Type_contiguous(BLOCKS, MPI_INT, &origin);
    MPI_Type_commit(&origin);
    MPI_Type_set_attr(origin, key, NULL);
    MPI_Type_set_attr(target, key, NULL);
    (void)operate(kind, origin, target);
    MPI_Type_free(&origin);
    MPI_Type_free(&target);
    rc = class_of(MPI_Win_flush(DEAD, win));
    CHECK(rc == MPIX_ERR_PROC_FAILED || (!is_known && rc == MPI_SUCCESS));
    CHECK(gone == before + 2);
}

static void types(void)
{
    int key;

    if (rank == DEAD) {
        raise(SIGKILL);
    }
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, type_is_gone, &key, NULL);
    for (int i = 0; i < 8; i++) {
        if (i == 4) {
            learn();
        }
        types_of((rank + i) % 4, key, i >= 4);
    }
    MPI_Type_free_keyval(&key);
}

/* ------------------------------------------------------------- requests */

static int request_of(int kind, MPI_Datatype target, MPI_Request *request)
{
    switch (kind) {
    case 0:
        return MPI_Rput(words, BLOCKS, MPI_INT, DEAD, 0, 1, target, win,
                        request);
    case 1:
        return MPI_Rget(result, BLOCKS, MPI_INT, DEAD, 0, 1, target, win,
                        request);
    case 2:
        return MPI_Raccumulate(words, BLOCKS, MPI_INT, DEAD, 0, 1, target,
                               MPI_SUM, win, request);
    default:
        return MPI_Rget_accumulate(words, BLOCKS, MPI_INT, result, BLOCKS,
                                   MPI_INT, DEAD, 0, 1, target, MPI_SUM, win,
                                   request);
    }
}

static void requests(void)
{
    MPI_Datatype target = blocks_new();

    if (rank == DEAD) {
        raise(SIGKILL);
    }
    learn();
    for (int i = 0; rank == 0 && i < MANY; i++) {
        MPI_Request request = MPI_REQUEST_NULL;

        CHECK(class_of(request_of(i % 4, target, &request)) ==
              MPIX_ERR_PROC_FAILED);
    }
    MPI_Type_free(&target);
}

/* ------------------------------------------------------------- late */

static int is_running(int pid)
{
    char path[64], state = 'Z';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
        state = 'Z';
    }
    fclose(file);
    return state != 'Z' && state != 'X';
}

/* Rank 0 does not poll from its operation on until rank 1, which has answered that
 * behind a long message, is dead.  It may have taken that message before, while it
 * was in the broadcast: then all is well. */
static void late(void)
{
    int pid = getpid(), flag, rc;
    static const int one = 1;

    MPI_Bcast(&pid, 1, MPI_INT, DEAD, world);
    if (rank == DEAD) {
        CHECK(MPI_Accumulate(large, LONG, MPI_INT, 0, 0, LONG, MPI_INT, MPI_SUM,
                             win) == MPI_SUCCESS);
        while (*(volatile int *)memory == 0) {
            MPI_Iprobe(0, 9, world, &flag, MPI_STATUS_IGNORE);
        }
        raise(SIGKILL);
    }
    if (rank == 0) {
        CHECK(MPI_Accumulate(&one, 1, MPI_INT, DEAD, 0, 1, MPI_INT, MPI_SUM,
                             win) == MPI_SUCCESS);
        while (is_running(pid)) {
            usleep(1000);
        }
        rc = class_of(MPI_Win_flush(DEAD, win));
        CHECK(rc == MPIX_ERR_PROC_FAILED || rc == MPI_SUCCESS);
    }
    learn();
}

/* ------------------------------------------------------------- second */

static void second(void)
{
    MPI_Datatype target = blocks_new();

    if (rank == DEAD) {
        (void)MPI_Put(words, BLOCKS, MPI_INT, 0, 0, 1, target, win);
        (void)MPI_Accumulate(words, BLOCKS, MPI_INT, 0, 0, 1, target, MPI_SUM,
                             win);
        (void)MPI_Get_accumulate(words, BLOCKS, MPI_INT, result, BLOCKS,
                                 MPI_INT, 0, 0, 1, target, MPI_SUM, win);
        raise(SIGKILL);
    }
    learn();
    if (rank != 0) {
        CHECK(MPI_Accumulate(words, BLOCKS, MPI_INT, 0, 0, 1, target, MPI_SUM,
                             win) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS);
        CHECK(MPI_Send(words, 1, MPI_INT, 0, 5, world) == MPI_SUCCESS);
    }
    for (int i = 2; rank == 0 && i < size; i++) {
        CHECK(MPI_Recv(result, 1, MPI_INT, i, 5, world, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
    }
    CHECK(rank != 0 || (memory[0] == size - 2 && memory[1] == size - 2));
    MPI_Type_free(&target);
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {{"types", types},
             {"requests", requests},
             {"late", late},
             {"second", second}};

int main(int argc, char **argv)
{
    int flag = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    large = calloc(LONG, sizeof(*large));
    memory = calloc(LONG, sizeof(*memory));
    for (int i = 0; i < BLOCKS; i++) {
        words[i] = 1;
    }
    MPI_Win_create(memory, LONG * sizeof(*memory), sizeof(*memory),
                   MPI_INFO_NULL, world, &win);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(world);
    for (size_t i = 0; argc == 2 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
        }
    }
    (void)MPIX_Comm_agree(world, &flag); /* nobody leaves before */
    printf("%d well\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
