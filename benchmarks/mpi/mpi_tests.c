/*
 * mpi_tests.c: the measurements of mpi_perf.  A test may use MPI as it likes;
 * choosing iterations, checking payloads and printing are mpi_perf.c's.
 */
#include "mpi_perf.h"

#include <stdint.h>

#define TAG 7

enum exchange {
    SENDS_FIRST,
    RECEIVES_FIRST,
    OUT_OF_STEP
};

enum side {
    SENDER,
    RECEIVER
};

static char *slot(const struct perf *perf, char *buffer, int i)
{
    return buffer + (size_t)i * (size_t)perf->bytes;
}

static void receive(struct perf *perf, int from)
{
    MPI_Recv(perf->in, perf->bytes, MPI_CHAR, from, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void send(struct perf *perf, int to)
{
    MPI_Send(perf->out, perf->bytes, MPI_CHAR, to, TAG, MPI_COMM_WORLD);
}

static double begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* ------------------------------------------------------------------- ring */

/* A token goes round; each rank posts its receive before it sends. */
static double run_ring(struct perf *perf, int mode, int iterations)
{
    int next = (perf->rank + 1) % perf->ranks;
    int before = (perf->rank + perf->ranks - 1) % perf->ranks;
    double start = begin();

    (void)mode;
    for (int i = 0; i < iterations; i++) {
        MPI_Request request;

        MPI_Irecv(perf->in, perf->bytes, MPI_CHAR, before, TAG, MPI_COMM_WORLD,
                  &request);
        if (perf->rank == 0) {
            send(perf, next);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            send(perf, next);
        }
    }
    return MPI_Wtime() - start;
}

static double value_ring(const struct perf *perf, int mode, double seconds)
{
    (void)mode;
    return seconds / perf->ranks * 1e9;
}

static int sources_ring(const struct perf *perf, int mode,
                        int source[PERF_WINDOW])
{
    (void)mode;
    source[0] = (perf->rank + perf->ranks - 1) % perf->ranks;
    return 1;
}

/* ---------------------------------------------------------------- latency */

static double run_latency(struct perf *perf, int mode, int iterations)
{
    double start = begin();

    (void)mode;
    for (int i = 0; i < iterations && perf->rank < 2; i++) {
        if (perf->rank == 0) {
            send(perf, 1);
            receive(perf, 1);
        } else {
            receive(perf, 0);
            send(perf, 0);
        }
    }
    return perf->rank < 2 ? MPI_Wtime() - start : 0;
}

static double value_latency(const struct perf *perf, int mode, double seconds)
{
    (void)perf;
    (void)mode;
    return seconds / 2 * 1e9;
}

/* Ranks 0 and 1 hear from each other. */
static int sources_pair(const struct perf *perf, int mode,
                        int source[PERF_WINDOW])
{
    (void)mode;
    source[0] = 1 - perf->rank;
    return perf->rank < 2 ? 1 : 0;
}

/* ------------------------------------------- bandwidth and message rate */

/* A window from a rank to its peer, and an empty message back. */
static void send_window(struct perf *perf, int peer)
{
    MPI_Request request[PERF_WINDOW];
    MPI_Status status[PERF_WINDOW];

    for (int i = 0; i < PERF_WINDOW; i++) {
        MPI_Isend(slot(perf, perf->out, i), perf->bytes, MPI_CHAR, peer, TAG,
                  MPI_COMM_WORLD, &request[i]);
    }
    MPI_Waitall(PERF_WINDOW, request, status);
    MPI_Recv(NULL, 0, MPI_CHAR, peer, TAG + 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void receive_window(struct perf *perf, int peer)
{
    MPI_Request request[PERF_WINDOW];
    MPI_Status status[PERF_WINDOW];

    for (int i = 0; i < PERF_WINDOW; i++) {
        MPI_Irecv(slot(perf, perf->in, i), perf->bytes, MPI_CHAR, peer, TAG,
                  MPI_COMM_WORLD, &request[i]);
    }
    MPI_Waitall(PERF_WINDOW, request, status);
    MPI_Send(NULL, 0, MPI_CHAR, peer, TAG + 1, MPI_COMM_WORLD);
}

static void both_windows(struct perf *perf, int peer)
{
    MPI_Request request[2 * PERF_WINDOW];
    MPI_Status status[2 * PERF_WINDOW];

    for (int i = 0; i < PERF_WINDOW; i++) {
        MPI_Irecv(slot(perf, perf->in, i), perf->bytes, MPI_CHAR, peer, TAG,
                  MPI_COMM_WORLD, &request[i]);
    }
    for (int i = 0; i < PERF_WINDOW; i++) {
        MPI_Isend(slot(perf, perf->out, i), perf->bytes, MPI_CHAR, peer, TAG,
                  MPI_COMM_WORLD, &request[PERF_WINDOW + i]);
    }
    MPI_Waitall(2 * PERF_WINDOW, request, status);
}

static double run_bandwidth(struct perf *perf, int mode, int iterations)
{
    double start = begin();

    (void)mode;
    for (int i = 0; i < iterations && perf->rank < 2; i++) {
        if (perf->rank == 0) {
            send_window(perf, 1);
        } else {
            receive_window(perf, 0);
        }
    }
    return perf->rank < 2 ? MPI_Wtime() - start : 0;
}

static double value_bandwidth(const struct perf *perf, int mode, double seconds)
{
    (void)mode;
    return (double)PERF_WINDOW * perf->bytes / seconds;
}

static int sources_window(const struct perf *perf, int mode,
                          int source[PERF_WINDOW])
{
    (void)mode;
    for (int i = 0; i < PERF_WINDOW; i++) {
        source[i] = 0;
    }
    return perf->rank == 1 ? PERF_WINDOW : 0;
}

static double run_bibandwidth(struct perf *perf, int mode, int iterations)
{
    double start = begin();

    (void)mode;
    for (int i = 0; i < iterations && perf->rank < 2; i++) {
        both_windows(perf, 1 - perf->rank);
    }
    return perf->rank < 2 ? MPI_Wtime() - start : 0;
}

static double value_bibandwidth(const struct perf *perf, int mode,
                                double seconds)
{
    (void)mode;
    return 2.0 * PERF_WINDOW * perf->bytes / seconds;
}

static int sources_both(const struct perf *perf, int mode,
                        int source[PERF_WINDOW])
{
    (void)mode;
    for (int i = 0; i < PERF_WINDOW; i++) {
        source[i] = 1 - perf->rank;
    }
    return perf->rank < 2 ? PERF_WINDOW : 0;
}

/* The lower half of the ranks sends to the upper half. */
static double run_rate(struct perf *perf, int mode, int iterations)
{
    int pairs = perf->ranks / 2;
    double start = begin();

    (void)mode;
    for (int i = 0; i < iterations && perf->rank < 2 * pairs; i++) {
        if (perf->rank < pairs) {
            send_window(perf, perf->rank + pairs);
        } else {
            receive_window(perf, perf->rank - pairs);
        }
    }
    return perf->rank < 2 * pairs ? MPI_Wtime() - start : 0;
}

static double value_rate(const struct perf *perf, int mode, double seconds)
{
    (void)mode;
    return (double)PERF_WINDOW * (perf->ranks / 2) / seconds;
}

static int sources_rate(const struct perf *perf, int mode,
                        int source[PERF_WINDOW])
{
    int pairs = perf->ranks / 2;

    (void)mode;
    for (int i = 0; i < PERF_WINDOW; i++) {
        source[i] = perf->rank - pairs;
    }
    return perf->rank >= pairs && perf->rank < 2 * pairs ? PERF_WINDOW : 0;
}

/* --------------------------------------------------------------- exchange */

/* Both send, then receive: with long messages only if sends are begun. */
static void exchange_sends_first(struct perf *perf, int peer)
{
    MPI_Request request;

    MPI_Isend(perf->out, perf->bytes, MPI_CHAR, peer, TAG, MPI_COMM_WORLD,
              &request);
    receive(perf, peer);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchange_receives_first(struct perf *perf, int peer)
{
    MPI_Request request;

    MPI_Irecv(perf->in, perf->bytes, MPI_CHAR, peer, TAG, MPI_COMM_WORLD,
              &request);
    send(perf, peer);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/*
 * Two ranks send to each other.  In step and with receives posted first no
 * message need be buffered; with sends first all are; and when one rank is
 * late by a little computing, some.
 */
static double run_exchange(struct perf *perf, int mode, int iterations)
{
    int peer = 1 - perf->rank;
    double start = begin();

    for (int i = 0; i < iterations && perf->rank < 2; i++) {
        if (mode == SENDS_FIRST) {
            exchange_sends_first(perf, peer);
        } else {
            if (mode == OUT_OF_STEP && (i + perf->rank) % 2 == 0) {
                perf_compute(perf, 1e-6);
            }
            exchange_receives_first(perf, peer);
        }
    }
    return perf->rank < 2 ? MPI_Wtime() - start : 0;
}

static double value_time(const struct perf *perf, int mode, double seconds)
{
    (void)perf;
    (void)mode;
    return seconds * 1e9;
}

/* ---------------------------------------------------------------- overlap */

static double timed_side(struct perf *perf, int mode, double compute_s)
{
    MPI_Request request;
    double start;

    if (perf->rank == mode) {
        MPI_Recv(NULL, 0, MPI_CHAR, 1 - perf->rank, TAG + 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE); /* the other is ready */
        start = MPI_Wtime();
        if (mode == SENDER) {
            MPI_Isend(perf->out, perf->bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD,
                      &request);
        } else {
            MPI_Irecv(perf->in, perf->bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD,
                      &request);
        }
        perf_compute(perf, compute_s);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return MPI_Wtime() - start;
    }
    MPI_Send(NULL, 0, MPI_CHAR, 1 - perf->rank, TAG + 1, MPI_COMM_WORLD);
    if (mode == SENDER) {
        receive(perf, 0);
    } else {
        send(perf, 1);
    }
    return 0;
}

/*
 * One side posts a message, computes, and waits for it.  The seconds are
 * returned in units of the computing alone: 1 means that communication was
 * hidden wholly, 2 that it took as long again.
 */
static double run_overlap(struct perf *perf, int mode, int iterations)
{
    double alone = 0;
    double together = 0;
    double compute_s = perf->compute_s;

    begin();
    for (int i = 0; i < iterations && perf->rank < 2; i++) {
        alone += timed_side(perf, mode, 0);
    }
    if (compute_s <= 0) {
        compute_s = alone / iterations;
    }
    for (int i = 0; i < iterations && perf->rank < 2; i++) {
        together += timed_side(perf, mode, compute_s);
    }
    if (perf->rank != mode) {
        return 0;
    }

    double start = MPI_Wtime();

    for (int i = 0; i < iterations; i++) {
        perf_compute(perf, compute_s);
    }
    return together / (MPI_Wtime() - start) * iterations;
}

static double value_overlap(const struct perf *perf, int mode, double seconds)
{
    (void)perf;
    (void)mode;
    return seconds;
}

static int sources_overlap(const struct perf *perf, int mode,
                           int source[PERF_WINDOW])
{
    (void)mode;
    source[0] = 0;
    return perf->rank == 1 ? 1 : 0;
}

/* ------------------------------------------------------------- neighbours */

/* The i-th neighbour on the ring of ranks: +1, -1, +2, -2, +3, -3. */
static int neighbour(const struct perf *perf, int i)
{
    int distance = (i / 2 + 1) % perf->ranks;
    int step = i % 2 == 0 ? distance : perf->ranks - distance;

    return (perf->rank + step) % perf->ranks;
}

/* Every rank exchanges a message with each of mode neighbours at once. */
static double run_neighbours(struct perf *perf, int mode, int iterations)
{
    double start = begin();

    for (int i = 0; i < iterations; i++) {
        MPI_Request request[2 * PERF_NEIGHBOURS];
        MPI_Status status[2 * PERF_NEIGHBOURS];

        for (int n = 0; n < mode; n++) {
            /* what I send as the n-th, that neighbour gets from the other
             * side: +1 arrives from -1 */
            MPI_Irecv(slot(perf, perf->in, n), perf->bytes, MPI_CHAR,
                      neighbour(perf, n ^ 1), TAG + n, MPI_COMM_WORLD,
                      &request[n]);
        }
        for (int n = 0; n < mode; n++) {
            MPI_Isend(slot(perf, perf->out, n), perf->bytes, MPI_CHAR,
                      neighbour(perf, n), TAG + n, MPI_COMM_WORLD,
                      &request[mode + n]);
        }
        MPI_Waitall(2 * mode, request, status);
    }
    return MPI_Wtime() - start;
}

/* What one rank sends and receives in a second. */
static double value_neighbours(const struct perf *perf, int mode,
                               double seconds)
{
    return 2.0 * mode * perf->bytes / seconds;
}

static int sources_neighbours(const struct perf *perf, int mode,
                              int source[PERF_WINDOW])
{
    for (int n = 0; n < mode; n++) {
        source[n] = neighbour(perf, n ^ 1);
    }
    return mode;
}

/* ------------------------------------------------------------------ table */

const struct perf_test perf_tests[] = {
        {.name = "ring",
         .what = "a token round all ranks: latency of a hop",
         .ranks_min = 2,
         .bytes_max = 1 << 20,
         .variant = {{"hop", "ns", 0}},
         .run = run_ring,
         .value = value_ring,
         .sources = sources_ring},
        {.name = "latency",
         .what = "half a round trip of ranks 0 and 1",
         .ranks_min = 2,
         .bytes_max = 1 << 20,
         .variant = {{"half_round_trip", "ns", 0}},
         .run = run_latency,
         .value = value_latency,
         .sources = sources_pair},
        {.name = "bandwidth",
         .what = "windows of 64 messages from rank 0 to rank 1",
         .ranks_min = 2,
         .bytes_max = 1 << 20,
         .variant = {{"one_way", "B/s", 0}},
         .run = run_bandwidth,
         .value = value_bandwidth,
         .sources = sources_window},
        {.name = "bibandwidth",
         .what = "windows of 64 messages both ways at once",
         .ranks_min = 2,
         .bytes_max = 1 << 20,
         .variant = {{"both_ways", "B/s", 0}},
         .run = run_bibandwidth,
         .value = value_bibandwidth,
         .sources = sources_both},
        {.name = "rate",
         .what = "messages a second, half of the ranks to the other half",
         .ranks_min = 2,
         .bytes_max = 1 << 10,
         .variant = {{"all_pairs", "msg/s", 0}},
         .run = run_rate,
         .value = value_rate,
         .sources = sources_rate},
        {.name = "exchange",
         .what = "ranks 0 and 1 send to each other",
         .ranks_min = 2,
         .bytes_max = 1 << 20,
         .variant = {{"sends_first", "ns", SENDS_FIRST},
                     {"receives_first", "ns", RECEIVES_FIRST},
                     {"out_of_step", "ns", OUT_OF_STEP}},
         .run = run_exchange,
         .value = value_time,
         .sources = sources_pair},
        {.name = "overlap",
         .what = "(computing + message) / computing: 1 if it is hidden",
         .ranks_min = 2,
         .bytes_max = 1 << 20,
         .variant = {{"sender", "ratio", SENDER},
                     {"receiver", "ratio", RECEIVER}},
         .run = run_overlap,
         .value = value_overlap,
         .sources = sources_overlap},
        {.name = "neighbours",
         .what = "every rank with 1 to 6 neighbours, both ways at once",
         .ranks_min = 4,
         .bytes_max = 1 << 20,
         .variant = {{"neighbours_1", "B/s", 1},
                     {"neighbours_2", "B/s", 2},
                     {"neighbours_3", "B/s", 3},
                     {"neighbours_4", "B/s", 4},
                     {"neighbours_5", "B/s", 5},
                     {"neighbours_6", "B/s", 6}},
         .run = run_neighbours,
         .value = value_neighbours,
         .sources = sources_neighbours},
        {.name = NULL},
};
