/*
 * For test/mpi/faults: programs that go on without their dead ranks, by MPI's
 * fault tolerance (ULFM).
 *
 * usage: heal acks|revoke
 *        heal early               a rank revokes what the others are still making
 *        heal left                a rank revokes what the others have freed, and
 *                                 made another of with the same number
 *        heal together            all but two ranks kill themselves, in turn: each
 *                                 dies while it asks who is dead
 *        heal storm SEED KILLS    KILLS ranks kill themselves at any moment
 *        heal meanwhile           one thread makes, revokes and frees communicators
 *                                 while another's messages go on
 *
 * Each rank that lives prints "RANK well", or what was wrong.
 */
#include "well.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size;

static int class_of(int rc)
{
    int class;

    MPI_Error_class(rc, &class);
    return class;
}

static MPI_Comm world_copy(void)
{
    MPI_Comm comm;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
    return comm;
}

/* Everything works on a communicator of survivors. */
static void works(MPI_Comm comm, int expected)
{
    int me, count, sum, one = 1, from = -1;
    MPI_Comm copy;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &count);
    CHECK(expected < 0 || count == expected);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == count);
    CHECK(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % count, 1, &from, 1, MPI_INT,
                       (me + count - 1) % count, 1, copy,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(from == (me + count - 1) % count);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
}

/* Rank 1 dies: pending, acknowledged, agreed upon, left out. */
static void acks(void)
{
    MPI_Comm comm = world_copy(), shrunk;
    int word = 0, flag = rank == 0 ? 6 : 3, count, who = 0, one = 1;
    MPI_Group group, all;
    MPI_Request request;

    if (rank == 1) {
        raise(SIGKILL);
    }
    CHECK(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, &request) ==
          MPI_SUCCESS);
    CHECK(class_of(MPI_Recv(&word, 1, MPI_INT, 1, 8, comm,
                            MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) ==
          MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(request != MPI_REQUEST_NULL);
    CHECK(class_of(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm,
                            MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Recv_c(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm,
                              MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(MPIX_Comm_failure_get_acked(comm, &group) == MPI_SUCCESS);
    MPI_Group_size(group, &count);
    CHECK(count == 0);
    CHECK(class_of(MPIX_Comm_agree(comm, &flag)) == MPIX_ERR_PROC_FAILED);
    CHECK(flag == 2);
    CHECK(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    CHECK(MPIX_Comm_failure_get_acked(comm, &group) == MPI_SUCCESS);
    MPI_Group_size(group, &count);
    CHECK(count == 1);
    MPI_Comm_group(comm, &all);
    MPI_Group_translate_ranks(group, 1, &who, all, &word);
    CHECK(word == 1);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    /* the receive from any source goes on */
    flag = 1 << rank | 1 << 20;
    CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 << 20);
    CHECK(MPI_Send(&one, 1, MPI_INT, rank == 0 ? size - 1 : 0, 9, comm) ==
                  MPI_SUCCESS ||
          rank == 0);
    if (rank == 0 || rank == size - 1) {
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int i = 0; rank == 0 && i < size - 3; i++) {
            CHECK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    } else {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    CHECK(class_of(MPI_Barrier(comm)) == MPIX_ERR_PROC_FAILED);
    CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
    works(shrunk, size - 1);
    MPI_Comm_free(&shrunk);
    MPI_Comm_free(&comm);
}

/* The last rank revokes: everybody's calls end, whoever they wait for. */
static void revoked(void)
{
    static char large[1 << 22];
    MPI_Comm comm = world_copy(), shrunk;
    MPI_Request request;
    int word = 0, flag = 1, rc = MPI_SUCCESS;

    CHECK(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, &request) ==
          MPI_SUCCESS);
    MPI_Barrier(comm); /* all have begun that before it is revoked */
    if (rank == size - 1) {
        usleep(200000);
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    } else if (rank == 0) {
        rc = MPI_Recv(&word, 1, MPI_INT, size - 1, 5, comm, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        rc = MPI_Ssend(large, sizeof(large), MPI_CHAR, 0, 6, comm);
    } else {
        rc = MPI_Barrier(comm);
    }
    CHECK(rank == size - 1 || class_of(rc) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Send(&word, 1, MPI_INT, 0, 7, comm)) ==
          MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Probe(0, 7, comm, MPI_STATUS_IGNORE)) ==
          MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Bcast(&word, 1, MPI_INT, 0, comm)) == MPIX_ERR_REVOKED);
    CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 1);
    CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
    works(shrunk, size);
    MPI_Comm_free(&shrunk);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    works(MPI_COMM_WORLD, size);
}

/* Rank 0 revokes a communicator as soon as it has it: the others get theirs, and
 * the word. */
static void early(void)
{
    for (int i = 0; i < 20; i++) {
        int word = 0, rc = MPI_SUCCESS;
        MPI_Request request;
        MPI_Comm comm;

        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        if (rank == 0) {
            CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
        } else {
            rc = MPI_Irecv(&word, 1, MPI_INT, 0, 5, comm, &request);
            if (rc == MPI_SUCCESS) {
                rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            CHECK(class_of(rc) == MPIX_ERR_REVOKED);
        }
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    works(MPI_COMM_WORLD, size);
}

/* All but rank 0 free a communicator, and then it revokes it. */
static void left(void)
{
    MPI_Comm comm, others, copy, more;

    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &others);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &more) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    if (rank > 0) {
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
        CHECK(MPIX_Comm_revoke(more) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0) {
        CHECK(MPI_Comm_dup(others, &copy) == MPI_SUCCESS);
        works(copy, size - 1);
    }
    works(MPI_COMM_WORLD, size);
}

static unsigned wait_us;

static void *killer(void *arg)
{
    (void)arg;
    usleep(wait_us);
    raise(SIGKILL);
    return NULL;
}

/* Steps that all take, or nobody: who is left does them again without the dead. */
static void storm(unsigned seed, int kills)
{
    MPI_Comm comm = world_copy();
    pthread_t thread;

    srand(seed);
    for (int i = 0, victim; i < kills; i++) {
        victim = rand() % size;
        wait_us = (unsigned)rand() % 400000;
        if (victim == rank) {
            pthread_create(&thread, NULL, killer, NULL);
            break;
        }
    }
    for (int step = 0; step < 600;) {
        int one = 1, sum = 0, count, ok, least = step;
        MPI_Comm shrunk;

        MPI_Comm_size(comm, &count);
        ok = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) ==
             MPI_SUCCESS;
        CHECK(!ok || sum == count);
        if (ok) {
            step++;
            usleep(500);
            if (step % 50 != 0) {
                continue;
            }
            /* and do all agree that it was */
            (void)MPIX_Comm_agree(comm, &ok);
        }
        if (!ok) {
            CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
            CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
            CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
            comm = shrunk;
            /* the least step counts; a failure here shows in the next one */
            (void)MPI_Allreduce(&step, &least, 1, MPI_INT, MPI_MIN, comm);
            step = least < step && least >= 0 ? least : step;
        }
    }
    MPI_Comm_free(&comm);
}

/* Ranks 2 and up die one shortly after the other. */
static void together(void)
{
    MPI_Comm comm = world_copy();
    pthread_t thread;

    if (rank >= 2) {
        wait_us = 1000 + 400 * (unsigned)rank;
        pthread_create(&thread, NULL, killer, NULL);
    }
    for (;;) {
        MPI_Comm shrunk;
        int count;

        while (MPI_Barrier(comm) == MPI_SUCCESS) {
        }
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
        CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
        comm = shrunk;
        MPI_Comm_size(comm, &count);
        if (count == 2) {
            break;
        }
    }
    works(comm, 2);
    MPI_Comm_free(&comm);
}

/* ------------------------------------------------------------- two threads */

#define MEANWHILE 100

static volatile int meanwhile_over;

/* Messages of the survivors in a ring, until all of them are told to end. */
static void *messages(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    int me, count, over = 0, sent, got;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &count);
    for (int i = 0; !over; i++) {
        int all[2], mine[2] = {!meanwhile_over, i};

        sent = me + i;
        CHECK(MPI_Sendrecv(&sent, 1, MPI_INT, (me + 1) % count, 1, &got, 1,
                           MPI_INT, (me + count - 1) % count, 1, comm,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == (me + count - 1) % count + i);
        CHECK(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, comm) ==
              MPI_SUCCESS);
        CHECK(all[1] == i);
        over = !all[0];
    }
    return NULL;
}

/* Rank 1 dies; what is revoked and freed leaves the other thread's messages
 * alone, and contexts that come back. */
static void meanwhile(void)
{
    MPI_Comm comm = world_copy(), shrunk, ring, more;
    pthread_t thread;

    if (rank == 1) {
        raise(SIGKILL);
    }
    CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(shrunk, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_dup(shrunk, &ring) == MPI_SUCCESS);
    CHECK(pthread_create(&thread, NULL, messages, &ring) == 0);
    for (int i = 0; i < MEANWHILE; i++) {
        CHECK(MPI_Comm_dup(shrunk, &more) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(more, MPI_ERRORS_RETURN);
        if (i % 2 == 0) {
            CHECK(MPIX_Comm_revoke(more) == MPI_SUCCESS);
        } else {
            works(more, size - 1);
        }
        CHECK(MPI_Comm_free(&more) == MPI_SUCCESS);
        if (i % 20 == 0) {
            CHECK(MPIX_Comm_shrink(comm, &more) == MPI_SUCCESS);
            works(more, size - 1);
            CHECK(MPI_Comm_free(&more) == MPI_SUCCESS);
        }
    }
    MPI_Barrier(shrunk);
    meanwhile_over = 1;
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int is_threaded = argc == 2 && argv[1][0] == 'm', provided;

    MPI_Init_thread(&argc, &argv,
                    is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 2 && argv[1][0] == 'a') {
        acks();
    } else if (argc == 2 && argv[1][0] == 't') {
        together();
    } else if (argc == 2 && argv[1][0] == 'e') {
        early();
    } else if (argc == 2 && argv[1][0] == 'l') {
        left();
    } else if (is_threaded) {
        meanwhile();
    } else if (argc == 2) {
        revoked();
    } else {
        storm((unsigned)atoi(argv[2]), atoi(argv[3]));
    }
    printf("%d well\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
