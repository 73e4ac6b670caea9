/*
 * For test/mpi/faults: calls that need a rank that is dead, or dies meanwhile.
 *
 * usage: dead told|during CALL...    (dead list: the names)
 *
 * Rank 1 kills itself.  With `told` the others have been told of it before they
 * make the calls, twice each; with `during` they are in the first call when it
 * happens.  Each call is one line: "RANK CALL HOW TEXT", where HOW is "ended"
 * when the call returned an error of which the text names rank 1, "success"
 * when it said that all is well, "unnamed" for another error.
 */
#include "dead.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rank, size, words[WORDS], result[WORDS * RANKS_MAX];
int counts[RANKS_MAX], offsets[RANKS_MAX];
MPI_Datatype types[RANKS_MAX], strided;
char large[LONG], back[LONG];
MPI_Comm world, pair;
MPI_Win passive, active;
int failed_status;
MPI_Request made_before;

static atomic_int *silent; /* rank 1's: from now on it answers nobody */

#define LISTS 4

static const struct dead_call *const lists[LISTS] = {dead_p2p, dead_rma,
                                                     dead_coll, dead_last};

int wait_for(int rc, MPI_Request *request)
{
    return rc != MPI_SUCCESS ? rc : MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void judge(const char *name, int rc, int may)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, named;

    MPI_Error_string(rc, text, &length);
    named = strstr(text, "rank 1 ") != NULL;
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\n' ? ' ' : *at;
    }
    printf("%d %s %s %s\n", rank, name,
           rc == MPI_SUCCESS ? (may ? "may" : "success")
                             : (named ? "ended" : "unnamed"),
           text);
    fflush(stdout);
}

/* Rank 1 may be in a barrier that the others have left, and so answer their first
 * call: it tells through memory when it has left MPI. */
static void silent_make(void)
{
    MPI_Win told;
    MPI_Aint bytes;
    int unit;

    MPI_Win_allocate_shared(rank == DEAD ? sizeof(*silent) : 0, 1,
                            MPI_INFO_NULL, world, &silent, &told);
    MPI_Win_shared_query(told, DEAD, &bytes, &unit, &silent);
    if (rank == DEAD) {
        atomic_store(silent, 0);
    }
}

static void set_up(void)
{
    MPI_Comm half;

    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        offsets[i] = i;
        types[i] = MPI_INT;
    }
    MPI_Comm_split(world, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, world, 1 - rank % 2, 3, &pair);
    MPI_Type_vector(8, 1, 4, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Win_create(large, LONG, 1, MPI_INFO_NULL, world, &passive);
    MPI_Win_create(back, LONG, 1, MPI_INFO_NULL, world, &active);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(passive, MPI_ERRORS_RETURN);
    MPI_Win_set_errhandler(active, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, passive);
    silent_make();
    if (rank != DEAD) {
        MPI_Psend_init(words, 1, 1, MPI_INT, DEAD, 9, world, MPI_INFO_NULL,
                       &made_before);
    }
    MPI_Barrier(world);
}

static const struct dead_call *call_find(const char *name)
{
    for (int i = 0; i < LISTS; i++) {
        for (const struct dead_call *at = lists[i]; at->name != NULL; at++) {
            if (strcmp(at->name, name) == 0) {
                return at;
            }
        }
    }
    return NULL;
}

static void make(const char *name, int during)
{
    const struct dead_call *call = call_find(name);

    if (call == NULL) {
        printf("%d %s unknown\n", rank, name);
        return;
    }
    judge(name, call->call(), during && call->may);
    /* by now it is known that the rank is dead */
    (void)call_find("recv")->call();
    if (strcmp(name, "win_free") != 0 && strcmp(name, "unlock_all") != 0) {
        judge(name, call->call(), 0);
    }
}

int main(int argc, char **argv)
{
    int during;

    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (int i = 0; i < LISTS; i++) {
            for (const struct dead_call *at = lists[i]; at->name != NULL;
                 at++) {
                puts(at->name);
            }
        }
        return 0;
    }
    MPI_Init(&argc, &argv);
    during = strcmp(argv[1], "during") == 0;
    set_up();
    if (rank == DEAD) {
        atomic_store(silent, 1);
        if (during) {
            usleep(300000);
        }
        raise(SIGKILL);
    }
    while (during && atomic_load(silent) == 0) {
        usleep(1000);
    }
    if (!during) {
        int word;

        MPI_Recv(&word, 1, MPI_INT, DEAD, 4, world, MPI_STATUS_IGNORE);
    }
    for (int i = 2; i < argc; i++) {
        make(argv[i], during && i == 2);
    }
    {
        int flag = 1; /* nobody leaves while another needs an answer */

        (void)MPIX_Comm_agree(world, &flag);
    }
    MPI_Finalize();
    printf("%d done\n", rank);
    return 0;
}
