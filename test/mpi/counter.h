/*
 * For the programs of test/mpi: libam's counters, by MPI_T.
 */
#ifndef AM_TEST_MPI_COUNTER_H
#define AM_TEST_MPI_COUNTER_H

#include <mpi.h>
#include <string.h>

/* The variable whose name has this part and does not count bytes; -1: none. */
static inline int counter_named(const char *part)
{
    int count = 0;

    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[128];
        int length = sizeof(name), verbosity, class, bind, read_only,
            continuous, atomic;
        MPI_Datatype type;

        if (MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type,
                                NULL, NULL, NULL, &bind, &read_only,
                                &continuous, &atomic) == MPI_SUCCESS &&
            strstr(name, part) != NULL && strstr(name, "bytes") == NULL) {
            return i;
        }
    }
    return -1;
}

/* What the variable of an index has counted here; MPI_T is initialized. */
static inline unsigned long long counter_at(int index)
{
    unsigned long long number = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int values;

    if (index < 0) {
        return 0;
    }
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &values);
    MPI_T_pvar_read(session, handle, &number);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    return number;
}

static inline unsigned long long counter_read(const char *part)
{
    return counter_at(counter_named(part));
}

#endif
