/*
 * Connect and accept between two worlds, again and again; spawn again and again;
 * connect with nobody at the other end in time; and both ways at the same time.
 *
 * usage: ports loop TURNS | ports spawn TURNS | ports late | ports cross
 *
 * loop, spawn: memory that is mapped and open files do not grow with the turns.
 * late: a connect that gave up leaves nothing behind that the port's owner could
 *       take, when it accepts the next.
 * cross: a process accepts in one thread and connects in another.
 */
#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLACK 8 /* maps or files, of some thousands in a loop that leaks */

static int rank, failures;

static void check(int good, const char *what)
{
    if (!good) {
        printf("failed: rank %d: %s\n", rank, what);
        failures++;
    }
}

static int mapped(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[4096];
    int count = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, "memfd:") != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static int opened(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

static void meet(const char *port, int accepts, int turn)
{
    int size, other, word = -1, mine = rank + turn;
    MPI_Comm comm;

    if (accepts) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm);
    } else {
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm);
    }
    MPI_Comm_remote_size(comm, &size);
    for (int i = 0; i < size; i++) {
        /* each meets each, in the same order on both sides */
        other = (size + i - rank) % size;
        MPI_Sendrecv(&mine, 1, MPI_INT, other, 0, &word, 1, MPI_INT, other, 0,
                     comm, MPI_STATUS_IGNORE);
        check(word == other + turn, "word of the other side");
    }
    MPI_Comm_disconnect(&comm);
}

static void loop(const char *self, int turns)
{
    char port[MPI_MAX_PORT_NAME] = "", count[16];
    char *argv[] = {"loop", count, NULL};
    int maps = 0, files = 0, size, accepts;
    MPI_Comm parents, other;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parents);
    accepts = parents == MPI_COMM_NULL;
    snprintf(count, sizeof(count), "%d", turns);
    if (accepts) {
        MPI_Comm_spawn(self, argv, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                       &other, MPI_ERRCODES_IGNORE);
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
        }
        MPI_Bcast(port, sizeof(port), MPI_CHAR,
                  rank == 0 ? MPI_ROOT : MPI_PROC_NULL, other);
    } else {
        other = parents;
        MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, other);
    }
    MPI_Comm_disconnect(&other);
    for (int i = 0; i < turns; i++) {
        meet(port, accepts, i);
        if (i == turns / 10) {
            maps = mapped();
            files = opened();
        }
    }
    printf("rank %d: %d maps, then %d; %d files, then %d\n", rank, maps,
           mapped(), files, opened());
    check(mapped() <= maps + SLACK, "maps grow");
    check(opened() <= files + SLACK, "open files grow");
    if (accepts && rank == 0) {
        MPI_Close_port(port);
    }
}

/* A world of children each time, which ends before the next. */
static void spawn(const char *self, int turns)
{
    char *argv[] = {"spawn", "1", NULL};
    int maps = 0, files = 0, word = rank;
    MPI_Comm parents, other;

    MPI_Comm_get_parent(&parents);
    for (int i = 0; i < turns; i++) {
        if (parents == MPI_COMM_NULL) {
            MPI_Comm_spawn(self, argv, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                           &other, MPI_ERRCODES_IGNORE);
        } else {
            other = parents;
        }
        MPI_Sendrecv_replace(&word, 1, MPI_INT, rank, 0, rank, 0, other,
                             MPI_STATUS_IGNORE);
        check(word == rank, "word of the other side");
        MPI_Comm_disconnect(&other);
        if (i == turns / 10) {
            maps = mapped();
            files = opened();
        }
    }
    if (parents == MPI_COMM_NULL) {
        printf("rank %d: %d maps, then %d; %d files, then %d\n", rank, maps,
               mapped(), files, opened());
        check(mapped() <= maps + SLACK, "maps grow");
        check(opened() <= files + SLACK, "open files grow");
    }
}

/* Overwrite what the frames of the calls before have held. */
static void scribble(void)
{
    volatile char bytes[16384];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)0xa5;
    }
}

static void late(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info;
    int error;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "1");
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        error = MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &comm);
        check(error != MPI_SUCCESS, "an accept that nobody connects to");
        scribble();
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        error = MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &comm);
        check(error != MPI_SUCCESS, "a connect that nobody accepts");
        scribble();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Info_set(info, "timeout", "20");
    if (rank == 0) { /* not the one that has given up */
        error = MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &comm);
        check(error == MPI_SUCCESS, "an accept after one that has gone");
        MPI_Close_port(port);
    } else if (rank == 1) {
        error = MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &comm);
        check(error == MPI_SUCCESS, "a connect after one that gave up");
    }
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Info_free(&info);
}

/* ------------------------------------------------------------- two threads */

static char own_port[MPI_MAX_PORT_NAME];

static void *acceptor(void *arg)
{
    MPI_Comm comm, self = *(MPI_Comm *)arg;
    int word = -1, error;

    error = MPI_Comm_accept(own_port, MPI_INFO_NULL, 0, self, &comm);
    check(error == MPI_SUCCESS, "an accept beside a connect");
    MPI_Recv(&word, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    check(word == 1 - rank, "word of who connected");
    MPI_Comm_disconnect(&comm);
    return NULL;
}

/* Both ranks accept in one thread and connect to the other's port in another. */
static void cross(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm comm, self;
    pthread_t thread;

    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Open_port(MPI_INFO_NULL, own_port);
    MPI_Sendrecv(own_port, sizeof(own_port), MPI_CHAR, 1 - rank, 0, port,
                 sizeof(port), MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check(pthread_create(&thread, NULL, acceptor, &self) == 0, "a thread");
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    MPI_Send(&rank, 1, MPI_INT, 0, 0, comm);
    MPI_Comm_disconnect(&comm);
    pthread_join(thread, NULL);
    MPI_Close_port(own_port);
    MPI_Comm_free(&self);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv,
                    argc == 2 && strcmp(argv[1], "cross") == 0
                            ? MPI_THREAD_MULTIPLE
                            : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 3 && strcmp(argv[1], "loop") == 0) {
        loop(argv[0], atoi(argv[2]));
    } else if (argc == 3 && strcmp(argv[1], "spawn") == 0) {
        spawn(argv[0], atoi(argv[2]));
    } else if (argc == 2 && strcmp(argv[1], "late") == 0) {
        late();
    } else if (argc == 2 && strcmp(argv[1], "cross") == 0) {
        cross();
    } else {
        failures++;
    }
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
