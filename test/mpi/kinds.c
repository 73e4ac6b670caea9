/*
 * For test/mpi/moments: one kind of MPI calls after another, each checked, in
 * a job of which a rank is killed or stopped at any moment.
 *
 * usage: kinds KIND ROUNDS
 *
 * With KINDS_LATE=SECONDS a spawned process comes to MPI_Init that late.
 *
 * Each process writes a file of its own in the folder $KINDS_DIR, a line for
 * each step of its life: the time (CLOCK_MONOTONIC, seconds), what, and text.
 *
 *   start RANK       before MPI_Init; RANK is PMI_RANK
 *   init, run, fini  MPI_Init, the rounds, MPI_Finalize begin
 *   done             MPI_Finalize has returned
 *   error CALL TEXT  a call returned an error: the process ends with status 3
 *   wrong TEXT       a call returned a wrong result: status 4
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX 40000
#define THREADS   2

#define TRY(_call) try_call(_call, #_call)

static int rank, size, rounds, journal = -1;
static char *self;

/* ------------------------------------------------------------------ journal */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    struct timespec now;
    char line[4096];
    int length, rest;
    va_list args;

    clock_gettime(CLOCK_MONOTONIC, &now);
    length = snprintf(line, sizeof(line), "%lld.%09ld ", (long long)now.tv_sec,
                      now.tv_nsec);
    va_start(args, format);
    rest = vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format,
                     args);
    va_end(args);
    length += rest;
    if (length > (int)sizeof(line) - 2) {
        length = (int)sizeof(line) - 2;
    }
    for (int i = 0; i < length; i++) {
        line[i] = line[i] == '\n' ? ' ' : line[i];
    }
    line[length] = '\n';
    if (write(journal, line, (size_t)length + 1) < 0) {
        _exit(5);
    }
}

static void journal_open(void)
{
    const char *folder = getenv("KINDS_DIR"), *number = getenv("PMI_RANK");
    char name[4096];

    if (folder == NULL) {
        fprintf(stderr, "KINDS_DIR is not set\n");
        exit(2);
    }
    snprintf(name, sizeof(name), "%s/%d", folder, (int)getpid());
    journal = open(name, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (journal < 0) {
        perror(name);
        exit(2);
    }
    note("start %s", number == NULL ? "0" : number);
}

static void try_call(int error, const char *call)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (error == MPI_SUCCESS) {
        return;
    }
    MPI_Error_string(error, text, &length);
    note("error %.*s %s", (int)strcspn(call, "("), call, text);
    _exit(3);
}

static void want(int good, const char *what)
{
    if (!good) {
        note("wrong %s", what);
        _exit(4);
    }
}

/* --------------------------------------------------------------- the kinds */

static int next_rank(void)
{
    return (rank + 1) % size;
}

static int last_rank(void)
{
    return (rank + size - 1) % size;
}

static void fill(int *words, int count, int seed)
{
    for (int i = 0; i < count; i++) {
        words[i] = seed * 31 + i;
    }
}

static int is_filled(const int *words, int count, int seed)
{
    for (int i = 0; i < count; i++) {
        if (words[i] != seed * 31 + i) {
            return 0;
        }
    }
    return 1;
}

static int count_of(int round)
{
    static const int counts[] = {1, 30, 2000, 1, 200, WORDS_MAX};

    return counts[round % 6];
}

static void p2p_on(MPI_Comm comm, int *out, int *in, int round)
{
    int count = count_of(round);
    MPI_Request requests[2];
    MPI_Status status;

    fill(out, count, rank + round);
    memset(in, 0, sizeof(int) * (size_t)count);
    switch (round % 3) {
    case 0:
        TRY(MPI_Sendrecv(out, count, MPI_INT, next_rank(), 1, in, count,
                         MPI_INT, last_rank(), 1, comm, &status));
        break;
    case 1:
        TRY(MPI_Irecv(in, count, MPI_INT, MPI_ANY_SOURCE, 2, comm, requests));
        TRY(MPI_Issend(out, count, MPI_INT, next_rank(), 2, comm,
                       requests + 1));
        TRY(MPI_Wait(requests + 1, MPI_STATUS_IGNORE));
        TRY(MPI_Wait(requests, &status));
        break;
    default:
        TRY(MPI_Isend(out, count, MPI_INT, next_rank(), 3, comm, requests));
        TRY(MPI_Recv(in, count, MPI_INT, last_rank(), 3, comm, &status));
        TRY(MPI_Wait(requests, MPI_STATUS_IGNORE));
        break;
    }
    want(status.MPI_SOURCE == last_rank(), "source");
    want(is_filled(in, count, last_rank() + round), "message");
}

static void kind_p2p(void)
{
    static int out[WORDS_MAX], in[WORDS_MAX];

    for (int i = 0; i < rounds; i++) {
        p2p_on(MPI_COMM_WORLD, out, in, i);
    }
}

static void kind_probe(void)
{
    static int out[WORDS_MAX], in[WORDS_MAX];

    for (int i = 0; i < rounds; i++) {
        int count = count_of(i), found = 0, got;
        MPI_Request request;
        MPI_Message message;
        MPI_Status status;

        fill(out, count, rank + i);
        TRY(MPI_Isend(out, count, MPI_INT, next_rank(), i, MPI_COMM_WORLD,
                      &request));
        if (i % 3 == 0) {
            TRY(MPI_Probe(last_rank(), i, MPI_COMM_WORLD, &status));
        } else if (i % 3 == 1) {
            while (!found) {
                TRY(MPI_Iprobe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &found,
                               &status));
            }
        } else {
            TRY(MPI_Mprobe(last_rank(), i, MPI_COMM_WORLD, &message, &status));
        }
        TRY(MPI_Get_count(&status, MPI_INT, &got));
        want(got == count && status.MPI_SOURCE == last_rank(), "probe");
        if (i % 3 == 2) {
            TRY(MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE));
        } else {
            TRY(MPI_Recv(in, count, MPI_INT, last_rank(), i, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
        }
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
        want(is_filled(in, count, last_rank() + i), "probed message");
    }
}

/* A window of WORDS_MAX words on each rank, and no group but all. */
static MPI_Win window_open(int **words_p)
{
    MPI_Win win;

    TRY(MPI_Win_allocate(WORDS_MAX * (MPI_Aint)sizeof(int), sizeof(int),
                         MPI_INFO_NULL, MPI_COMM_WORLD, words_p, &win));
    TRY(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    return win;
}

static void window_close(MPI_Win *win)
{
    TRY(MPI_Win_free(win));
}

static void active_post(MPI_Win win, const int *out, int count)
{
    MPI_Group all, from, to;
    int before = last_rank(), after = next_rank();

    TRY(MPI_Comm_group(MPI_COMM_WORLD, &all));
    TRY(MPI_Group_incl(all, 1, &before, &from));
    TRY(MPI_Group_incl(all, 1, &after, &to));
    TRY(MPI_Win_post(from, 0, win));
    TRY(MPI_Win_start(to, 0, win));
    TRY(MPI_Put(out, count, MPI_INT, after, 0, count, MPI_INT, win));
    TRY(MPI_Win_complete(win));
    TRY(MPI_Win_wait(win));
    TRY(MPI_Group_free(&from));
    TRY(MPI_Group_free(&to));
    TRY(MPI_Group_free(&all));
}

static void kind_active(void)
{
    static int out[WORDS_MAX];
    int *words;
    MPI_Win win = window_open(&words);

    for (int i = 0; i < rounds; i++) {
        int count = count_of(i);

        fill(out, count, rank + i);
        if (i % 2 == 0) {
            TRY(MPI_Win_fence(0, win));
            TRY(MPI_Put(out, count, MPI_INT, next_rank(), 0, count, MPI_INT,
                        win));
            TRY(MPI_Win_fence(0, win));
        } else {
            active_post(win, out, count);
        }
        want(is_filled(words, count, last_rank() + i), "put");
        TRY(MPI_Barrier(MPI_COMM_WORLD));
    }
    window_close(&win);
}

static void kind_passive(void)
{
    static int out[WORDS_MAX], in[WORDS_MAX];
    int *words;
    MPI_Win win = window_open(&words);

    memset(words, 0, WORDS_MAX * sizeof(int));
    TRY(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < rounds; i++) {
        int count = count_of(i) / 2 + 1, one = 1, old = -1;
        MPI_Datatype pairs;

        fill(out, count, rank + i);
        TRY(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, win));
        TRY(MPI_Put(out, count, MPI_INT, next_rank(), 1, count, MPI_INT, win));
        TRY(MPI_Win_flush(next_rank(), win));
        TRY(MPI_Get(in, count, MPI_INT, next_rank(), 1, count, MPI_INT, win));
        TRY(MPI_Fetch_and_op(&one, &old, MPI_INT, next_rank(), 0, MPI_SUM,
                             win));
        TRY(MPI_Win_unlock(next_rank(), win));
        want(is_filled(in, count, rank + i), "get after put");
        want(old == 2 * i, "fetch and op");
        TRY(MPI_Type_vector(8, 1, 2, MPI_INT, &pairs));
        TRY(MPI_Type_commit(&pairs));
        TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, win));
        TRY(MPI_Put(out, 8, MPI_INT, next_rank(), 1, 1, pairs, win));
        TRY(MPI_Accumulate(&one, 1, MPI_INT, next_rank(), 0, 1, MPI_INT,
                           MPI_SUM, win));
        TRY(MPI_Win_unlock(next_rank(), win));
        TRY(MPI_Type_free(&pairs));
    }
    TRY(MPI_Barrier(MPI_COMM_WORLD));
    window_close(&win);
}

static void kind_coll(void)
{
    static int out[WORDS_MAX], in[WORDS_MAX];

    for (int i = 0; i < rounds; i++) {
        int count = count_of(i), root = i % size, sum = -1, each[64];
        MPI_Request request;

        fill(out, count, root + i);
        memcpy(in, out, sizeof(int) * (size_t)count);
        if (rank != root) {
            memset(in, 0, sizeof(int) * (size_t)count);
        }
        TRY(MPI_Bcast(in, count, MPI_INT, root, MPI_COMM_WORLD));
        want(is_filled(in, count, root + i), "broadcast");
        TRY(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        want(sum == size * (size - 1) / 2, "sum");
        TRY(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
                           &request));
        TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
        want(sum == size - 1, "largest");
        TRY(MPI_Alltoall(out, 1, MPI_INT, each, 1, MPI_INT, MPI_COMM_WORLD));
        want(each[0] == (root + i) * 31 + rank || size > count, "all to all");
        TRY(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* Parents start as many children, exchange a message, and part. */
static void kind_spawn(void)
{
    char *argv[] = {"child", "1", NULL};
    int turns = (rounds + 99) / 100;

    for (int i = 0; i < turns; i++) {
        MPI_Comm children;
        int word = -1;

        TRY(MPI_Comm_spawn(self, argv, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                           &children, MPI_ERRCODES_IGNORE));
        TRY(MPI_Comm_set_errhandler(children, MPI_ERRORS_RETURN));
        TRY(MPI_Sendrecv(&i, 1, MPI_INT, rank, 1, &word, 1, MPI_INT, rank, 2,
                         children, MPI_STATUS_IGNORE));
        want(word == i + 1000, "answer of a child");
        TRY(MPI_Comm_disconnect(&children));
    }
}

static void kind_child(void)
{
    MPI_Comm parents;
    int word = -1;

    TRY(MPI_Comm_get_parent(&parents));
    want(parents != MPI_COMM_NULL, "parent");
    TRY(MPI_Comm_set_errhandler(parents, MPI_ERRORS_RETURN));
    TRY(MPI_Recv(&word, 1, MPI_INT, rank, 1, parents, MPI_STATUS_IGNORE));
    word += 1000;
    TRY(MPI_Send(&word, 1, MPI_INT, rank, 2, parents));
    TRY(MPI_Comm_disconnect(&parents));
}

struct thread {
    pthread_t id;
    MPI_Comm comm;
    int *out, *in;
};

static void *thread_run(void *arg)
{
    struct thread *thread = arg;

    for (int i = 0; i < rounds; i++) {
        p2p_on(thread->comm, thread->out, thread->in, i);
    }
    return NULL;
}

static void kind_threads(void)
{
    struct thread threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        struct thread *thread = &threads[i];

        TRY(MPI_Comm_dup(MPI_COMM_WORLD, &thread->comm));
        thread->out = malloc(sizeof(int) * WORDS_MAX);
        thread->in = malloc(sizeof(int) * WORDS_MAX);
        want(thread->out != NULL && thread->in != NULL, "memory");
    }
    for (int i = 0; i < THREADS; i++) {
        want(pthread_create(&threads[i].id, NULL, thread_run, &threads[i]) == 0,
             "thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        TRY(MPI_Comm_free(&threads[i].comm));
        free(threads[i].out);
        free(threads[i].in);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
        {"p2p", kind_p2p},         {"probe", kind_probe},
        {"active", kind_active},   {"passive", kind_passive},
        {"coll", kind_coll},       {"spawn", kind_spawn},
        {"threads", kind_threads}, {"child", kind_child},
};

int main(int argc, char **argv)
{
    size_t kind = 0, count = sizeof(kinds) / sizeof(kinds[0]);
    int provided;

    while (argc == 3 && kind < count &&
           strcmp(argv[1], kinds[kind].name) != 0) {
        kind++;
    }
    if (argc != 3 || kind == count) {
        fprintf(stderr, "usage: kinds KIND ROUNDS\n");
        return 2;
    }
    self = argv[0];
    rounds = atoi(argv[2]);
    journal_open();
    if (kinds[kind].run == kind_child && getenv("KINDS_LATE") != NULL) {
        sleep((unsigned)atoi(getenv("KINDS_LATE")));
    }
    note("init");
    TRY(MPI_Init_thread(&argc, &argv,
                        kinds[kind].run == kind_threads ? MPI_THREAD_MULTIPLE
                                                        : MPI_THREAD_SINGLE,
                        &provided));
    TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    TRY(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    TRY(MPI_Comm_size(MPI_COMM_WORLD, &size));
    note("run");
    kinds[kind].run();
    note("fini");
    TRY(MPI_Finalize());
    note("done");
    return 0;
}
