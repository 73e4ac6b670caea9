/*
 * What am_sim --mpi --trace puts in front of MPI, by LD_PRELOAD: each of MPI's
 * functions, which tells libam when it begins and ends, and calls the next one of
 * its name: MPI's, or that of a tool.  It knows no prototypes, so it fits every MPI
 * whose arguments are integers and pointers: a function gets as many words as the
 * longest one has arguments, each in the place where it was.  So it is for systems
 * that pass any such argument as a word.
 */
#include "tools/mpi_calls.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* MPI_Rget_accumulate_c has 13. */
#define WORDS_TAKE                                                          \
    long a, long b, long c, long d, long e, long f, long g, long h, long i, \
            long j, long k, long l, long m
#define WORDS a, b, c, d, e, f, g, h, i, j, k, l, m

enum {
    THREAD_MULTIPLE = 3
}; /* MPICH's */

typedef long (*call_fn)(WORDS_TAKE);
typedef void (*tell_fn)(const char *name);

static tell_fn begin, end;

static void find(void *function, void *handle, const char *name)
{
    void *at = dlsym(handle, name);

    memcpy(function, &at, sizeof(at));
}

/* A program that links MPI or libam statically has nothing to be told. */
static void __attribute__((constructor)) calls_open(void)
{
    find(&begin, RTLD_DEFAULT, "am_time_begin");
    find(&end, RTLD_DEFAULT, "am_time_end");
}

/* Threads that call at any time would tell at any time, too, and MPI's lock,
 * which keeps them apart in libam, is not held here. */
static void threads_look(void)
{
    int (*query)(int *provided);
    int provided = 0;

    find(&query, RTLD_NEXT, "MPI_Query_thread");
    if (query == NULL || query(&provided) != 0 || provided >= THREAD_MULTIPLE) {
        begin = end = NULL;
    }
}

static long call(call_fn *real, const char *name, WORDS_TAKE)
{
    long code;

    if (*real == NULL) {
        find(real, RTLD_NEXT, name);
    }
    if (begin == NULL || end == NULL) {
        return (*real)(WORDS);
    }
    begin(name);
    code = (*real)(WORDS);
    end(name);
    return code;
}

#define CALL(_name)                                \
    long MPI_##_name(WORDS_TAKE);                  \
    long MPI_##_name(WORDS_TAKE)                   \
    {                                              \
        static call_fn real;                       \
                                                   \
        return call(&real, "MPI_" #_name, WORDS); \
    }

MPI_CALLS(CALL)

/* The two that begin: how threads will call is known after them. */
#define CALL_FIRST(_name)                               \
    long MPI_##_name(WORDS_TAKE);                       \
    long MPI_##_name(WORDS_TAKE)                        \
    {                                                   \
        static call_fn real;                            \
        long code = call(&real, "MPI_" #_name, WORDS); \
                                                        \
        threads_look();                                 \
        return code;                                    \
    }

CALL_FIRST(Init)
CALL_FIRST(Init_thread)
