/*
 * Threads make and free communicators at the same time, each from one of its
 * own.  What the module keeps of all communicators must stand it.
 *
 *     mpiexec -n 1 ./dups 20000       so many by each thread
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

static int count;

static void *make_and_free(void *parent)
{
    MPI_Comm keep[3], more;

    /* some stay, so that those that go are in the midst of them */
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(*(MPI_Comm *)parent, &keep[i]);
    }
    for (int i = 0; i < count; i++) {
        MPI_Comm_dup(*(MPI_Comm *)parent, &more);
        MPI_Comm_free(&keep[i % 3]);
        keep[i % 3] = more;
    }
    for (int i = 0; i < 3; i++) {
        MPI_Comm_free(&keep[i]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    MPI_Comm parents[THREADS];
    int provided;

    count = argc > 1 ? atoi(argv[1]) : 20000;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        printf("failed: no threads\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &parents[i]);
        pthread_create(&threads[i], NULL, make_and_free, &parents[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&parents[i]);
    }
    MPI_Finalize();
    return 0;
}
