/*
 * For test/mpi/programs: libam's counters as MPI_T performance variables.
 * Rank 0 finds those of category CH4_AM, reads each through a session and a
 * handle, and checks that the ones of messages count what it sends.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 100
#define BYTES    8
#define NAME_MAX_BYTES 128

static int failures;

static void check(int good, const char *what)
{
    if (!good) {
        printf("failed: %s\n", what);
        failures++;
    }
}

struct counter {
    char name[NAME_MAX_BYTES];
    int index;
    MPI_T_pvar_handle handle;
    unsigned long long before, after;
};

/* The performance variables of the category, as counters without a handle. */
static struct counter *find(const char *category, int *count_p)
{
    struct counter *counters;
    int index = -1, count = 0, *list;

    if (MPI_T_category_get_index(category, &index) != MPI_SUCCESS) {
        *count_p = 0;
        return NULL;
    }
    MPI_T_category_get_info(index, NULL, NULL, NULL, NULL, NULL, &count, NULL);
    list = malloc(sizeof(*list) * (size_t)(count + 1));
    counters = calloc((size_t)count + 1, sizeof(*counters));
    MPI_T_category_get_pvars(index, count, list);
    for (int i = 0; i < count; i++) {
        struct counter *counter = &counters[i];
        int length = NAME_MAX_BYTES, class, bind, read_only, continuous, atomic;
        int verbosity;
        MPI_Datatype type;

        counter->index = list[i];
        check(MPI_T_pvar_get_info(list[i], counter->name, &length, &verbosity,
                                  &class, &type, NULL, NULL, NULL, &bind,
                                  &read_only, &continuous,
                                  &atomic) == MPI_SUCCESS,
              "information on every variable");
        check(class == MPI_T_PVAR_CLASS_COUNTER, "its class is counter");
        check(type == MPI_UNSIGNED_LONG_LONG, "its type has 64 bits");
        check(read_only && continuous, "it is read-only and always counts");
    }
    free(list);
    *count_p = count;
    return counters;
}

static unsigned long long value(MPI_T_pvar_session session,
                                struct counter *counter)
{
    unsigned long long number = 0;

    check(MPI_T_pvar_read(session, counter->handle, &number) == MPI_SUCCESS,
          "every counter can be read");
    return number;
}

static void traffic(int rank)
{
    char bytes[BYTES] = {0};

    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0) {
            MPI_Send(bytes, BYTES, MPI_CHAR, 1, i, MPI_COMM_WORLD);
        } else {
            MPI_Recv(bytes, BYTES, MPI_CHAR, 0, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* By how much all counters whose name has this form have grown. */
static unsigned long long growth(const struct counter *counters, int count,
                                 const char *prefix, int bytes)
{
    unsigned long long sum = 0;

    for (int i = 0; i < count; i++) {
        const char *name = counters[i].name;
        size_t length = strlen(name);
        int is_bytes = length > 6 && strcmp(name + length - 6, "_bytes") == 0;

        if (strncmp(name, prefix, strlen(prefix)) == 0 && is_bytes == bytes) {
            sum += counters[i].after - counters[i].before;
        }
    }
    return sum;
}

static void read_all(int rank, int count, struct counter *counters,
                     MPI_T_pvar_session session)
{
    for (int i = 0; i < count; i++) {
        int values = 0;

        check(MPI_T_pvar_handle_alloc(session, counters[i].index, NULL,
                                      &counters[i].handle,
                                      &values) == MPI_SUCCESS &&
                      values == 1,
              "a handle for every counter");
        counters[i].before = value(session, &counters[i]);
    }
    traffic(rank);
    for (int i = 0; i < count; i++) {
        counters[i].after = value(session, &counters[i]);
        MPI_T_pvar_handle_free(session, &counters[i].handle);
    }
}

int main(int argc, char **argv)
{
    MPI_T_pvar_session session;
    struct counter *counters;
    int rank, count, provided;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    counters = find("CH4_AM", &count);
    check(count >= 40, "there are at least 40 counters");
    check(MPI_T_pvar_session_create(&session) == MPI_SUCCESS, "a session");
    read_all(rank, count, counters, session);
    MPI_T_pvar_session_free(&session);
    if (rank == 0) {
        check(growth(counters, count, "msg_tx_", 0) >= MESSAGES,
              "messages sent are counted");
        check(growth(counters, count, "msg_tx_", 1) >= MESSAGES * BYTES,
              "and their bytes");
    } else {
        check(growth(counters, count, "msg_rx_", 0) >= MESSAGES,
              "messages received are counted");
    }
    free(counters);
    MPI_T_finalize();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Finalize();
    return failures > 0;
}
