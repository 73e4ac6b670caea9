/*
 * For test/mpi/programs: libam's variables as MPI_T control variables, 2 ranks.
 * AM_EAGER_MAX is set through MPI_T before MPI_Init, although the environment
 * says 4k; AM_BUFFER_BYTES=32k comes from the environment by its
 * own name and AM_PREFIX_BYTES=2k by MPICH's.  MPI_T must tell the values that
 * are in force, and messages must go as they say (the first ones to a peer may
 * be eager all the same, as long as the buffers for others are not there).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"

#define TEXT_MAX 1024
#define MESSAGES 50

static int failures;

static void check(int good, const char *what, const char *detail)
{
    if (!good) {
        printf("failed: %s: %s\n", what, detail);
        failures++;
    }
}

static MPI_T_cvar_handle handle_of(const char *name)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int index, count = 0;
    int found = MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
                MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) ==
                        MPI_SUCCESS;

    check(found && count > 1 && count <= TEXT_MAX, "a control variable", name);
    return handle;
}

static void set(const char *name, const char *value)
{
    MPI_T_cvar_handle handle = handle_of(name);
    char text[TEXT_MAX] = "";

    snprintf(text, sizeof(text), "%s", value);
    check(MPI_T_cvar_write(handle, text) == MPI_SUCCESS, "it can be set", name);
    MPI_T_cvar_handle_free(&handle);
}

static void expect(const char *name, const char *value)
{
    MPI_T_cvar_handle handle = handle_of(name);
    char text[TEXT_MAX] = "";

    check(MPI_T_cvar_read(handle, text) == MPI_SUCCESS, "it can be read", name);
    check(strcmp(text, value) == 0, name, text);
    MPI_T_cvar_handle_free(&handle);
}

static unsigned long long counter(const char *name)
{
    int index;

    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) !=
        MPI_SUCCESS) {
        check(0, "a performance variable", name);
        return 0;
    }
    return counter_at(index);
}

int main(int argc, char **argv)
{
    unsigned long long before;
    char text[TEXT_MAX];
    int rank, provided, word = 0;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    set("MPIR_CVAR_CH4_AM_EAGER_MAX", "0");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect("MPIR_CVAR_CH4_AM_EAGER_MAX", "0");
    expect("MPIR_CVAR_CH4_AM_BUFFER_BYTES", "32k");
    expect("MPIR_CVAR_CH4_AM_PREFIX_BYTES", "2k");
    expect("MPIR_CVAR_CH4_AM_PROTO", "auto");
    before = counter("msg_tx_eager");
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0) {
            MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        }
        MPI_Recv(&word, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (rank == 1) {
            MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
    snprintf(text, sizeof(text), "%llu of %d messages are eager",
             counter("msg_tx_eager") - before, MESSAGES);
    check(counter("msg_tx_eager") - before < MESSAGES / 2, "AM_EAGER_MAX 0",
          text);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Finalize();
    MPI_T_finalize();
    return failures > 0;
}
