/*
 * One MPI measurement a run, as one JSON object a line on rank 0.  Plain MPI,
 * so that the same program measures every MPI.
 *
 *   mpi_bench TEST BYTES...
 *
 * lat        ranks 0 and 1 send to and fro: half a round trip, ns
 * bw         rank 0 sends windows to 1: B/s        bibw  both do
 * rate       the same with windows of small messages: msg/s
 * copy       no messages: rank 1 copies each message of a window out of memory
 *            that rank 0 shares, by memcpy; B/s.  bicopy: both do
 * stream     the same with stores past the caches    bistream  both do
 * allreduce, alltoall, neighbour, barrier: all ranks, ns for one
 * bystander  lat, while the other ranks wait in a receive
 * flood      all send 1 MiB in messages of BYTES to rank 0, which receives
 *            only when they have sent: rank 0's memory in bytes
 *
 * On 2 ranks each line also has flag_ns, how long a flag in shared memory takes
 * from one to the other (the longer of before and after the measurement): a
 * virtual machine may move its cores nearer to each other or farther away.
 */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define WINDOW     64
#define TARGET_S   0.05 /* one timed run lasts about this long */
#define ROUNDS     5    /* of which the median counts */
#define FLAG_TURNS 20000
#define FLOOD_BYTES (1 << 20)

struct bench {
    int rank, size, bytes;
    char *out, *in;
    char *theirs; /* memory that the other rank shares */
    double flag_ns;
};

typedef void (*body_fn)(struct bench *b, int iterations);

static void body_lat(struct bench *b, int iterations)
{
    int peer = 1 - b->rank;

    for (int i = 0; i < iterations && b->rank < 2; i++) {
        if (b->rank == 0) {
            MPI_Send(b->out, b->bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(b->in, b->bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(b->in, b->bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            MPI_Send(b->out, b->bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
        }
    }
}

static void windows(struct bench *b, int iterations, int both)
{
    MPI_Request requests[2 * WINDOW];
    int peer = 1 - b->rank;

    for (int i = 0; i < iterations && b->rank < 2; i++) {
        int n = 0;

        for (int w = 0; w < WINDOW && (both || b->rank == 1); w++) {
            MPI_Irecv(b->in + (size_t) w * b->bytes, b->bytes, MPI_CHAR, peer,
                      1, MPI_COMM_WORLD, &requests[n++]);
        }
        for (int w = 0; w < WINDOW && (both || b->rank == 0); w++) {
            MPI_Isend(b->out, b->bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD,
                      &requests[n++]);
        }
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        if (b->rank == 1) {
            MPI_Send(b->out, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
        } else {
            MPI_Recv(b->in, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
    }
}

static void body_bw(struct bench *b, int iterations)
{
    windows(b, iterations, 0);
}

static void body_bibw(struct bench *b, int iterations)
{
    windows(b, iterations, 1);
}

typedef void (*copy_fn)(char *to, const char *from, size_t bytes);

static void copy_plain(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static void copy_past(char *to, const char *from, size_t bytes)
{
#ifdef __SSE2__
    for (; bytes >= 64 && (size_t) to % 16 == 0; bytes -= 64) {
        for (int i = 0; i < 64; i += 16) {
            _mm_stream_si128((__m128i *) (to + i),
                             _mm_loadu_si128((const __m128i *) (from + i)));
        }
        to += 64;
        from += 64;
    }
    _mm_sfence();
#endif
    memcpy(to, from, bytes);
}

/* What memory allows, whoever carries the messages. */
static void copies(struct bench *b, int iterations, int both, copy_fn copy)
{
    char byte;

    for (int i = 0; i < iterations && b->rank < 2; i++) {
        for (int w = 0; w < WINDOW && (both || b->rank == 1); w++) {
            copy(b->in + (size_t) w * b->bytes, b->theirs, b->bytes);
        }
        if (b->rank == 1) {
            MPI_Send(&byte, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&byte, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
    }
}

static void body_copy(struct bench *b, int iterations)
{
    copies(b, iterations, 0, copy_plain);
}

static void body_bicopy(struct bench *b, int iterations)
{
    copies(b, iterations, 1, copy_plain);
}

static void body_stream(struct bench *b, int iterations)
{
    copies(b, iterations, 0, copy_past);
}

static void body_bistream(struct bench *b, int iterations)
{
    copies(b, iterations, 1, copy_past);
}

static void body_bystander(struct bench *b, int iterations)
{
    char token = 0;

    if (b->rank >= 2) {
        MPI_Recv(&token, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    body_lat(b, iterations);
    for (int i = 2; i < b->size && b->rank == 0; i++) {
        MPI_Send(&token, 1, MPI_CHAR, i, 3, MPI_COMM_WORLD);
    }
}

static void body_allreduce(struct bench *b, int iterations)
{
    for (int i = 0; i < iterations; i++) {
        MPI_Allreduce(b->out, b->in, b->bytes / 8, MPI_LONG, MPI_SUM,
                      MPI_COMM_WORLD);
    }
}

static void body_alltoall(struct bench *b, int iterations)
{
    for (int i = 0; i < iterations; i++) {
        MPI_Alltoall(b->out, b->bytes, MPI_CHAR, b->in, b->bytes, MPI_CHAR,
                     MPI_COMM_WORLD);
    }
}

static void body_neighbour(struct bench *b, int iterations)
{
    int right = (b->rank + 1) % b->size;
    int left = (b->rank + b->size - 1) % b->size;

    for (int i = 0; i < iterations; i++) {
        MPI_Sendrecv(b->out, b->bytes, MPI_CHAR, right, 1, b->in, b->bytes,
                     MPI_CHAR, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void body_barrier(struct bench *b, int iterations)
{
    (void) b;
    for (int i = 0; i < iterations; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static const struct test {
    const char *name;
    body_fn body;
    double scale; /* value = scale / seconds, or seconds * -scale */
    int per_byte;
    const char *metric, *unit;
    int shares; /* wants b->theirs */
} tests[] = {
    {"lat", body_lat, -0.5e9, 0, "half_round_trip", "ns", 0},
    {"bystander", body_bystander, -0.5e9, 0, "half_round_trip", "ns", 0},
    {"bw", body_bw, WINDOW, 1, "bandwidth", "B/s", 0},
    {"bibw", body_bibw, 2.0 * WINDOW, 1, "bandwidth", "B/s", 0},
    {"copy", body_copy, WINDOW, 1, "bandwidth", "B/s", 1},
    {"bicopy", body_bicopy, 2.0 * WINDOW, 1, "bandwidth", "B/s", 1},
    {"stream", body_stream, WINDOW, 1, "bandwidth", "B/s", 1},
    {"bistream", body_bistream, 2.0 * WINDOW, 1, "bandwidth", "B/s", 1},
    {"rate", body_bw, WINDOW, 0, "rate", "msg/s", 0},
    {"allreduce", body_allreduce, -1e9, 0, "time", "ns", 0},
    {"alltoall", body_alltoall, -1e9, 0, "time", "ns", 0},
    {"neighbour", body_neighbour, -1e9, 0, "time", "ns", 0},
    {"barrier", body_barrier, -1e9, 0, "time", "ns", 0},
};

static double timed(struct bench *b, body_fn body, int iterations)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    body(b, iterations);
    return MPI_Wtime() - begin;
}

/* So many iterations that a run takes TARGET_S; rank 0 decides for all. */
static int calibrate(struct bench *b, body_fn body)
{
    int iterations = 1;

    for (;;) {
        double seconds = timed(b, body, iterations);
        int next = seconds < TARGET_S / 2 ? iterations * 2 : iterations;

        MPI_Bcast(&next, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (next == iterations || next > 1 << 24) {
            return iterations;
        }
        iterations = next;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static void report(const struct bench *b, const char *test,
                   const char *metric, double value, const char *unit)
{
    if (b->rank == 0) {
        printf("{\"test\": \"%s\", \"metric\": \"%s\", \"ranks\": %d, "
               "\"bytes\": %d, \"value\": %.1f, \"unit\": \"%s\", "
               "\"flag_ns\": %.1f}\n",
               test, metric, b->size, b->bytes, value, unit, b->flag_ns);
        fflush(stdout);
    }
}

/* Memory of each rank, for the other. */
static void share(struct bench *b, MPI_Win *window)
{
    MPI_Aint bytes;
    int unit;

    MPI_Win_allocate_shared(b->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &b->theirs, window);
    memset(b->theirs, 1, b->bytes);
    MPI_Win_shared_query(*window, b->rank == 0 ? 1 : 0, &bytes, &unit,
                         &b->theirs);
}

/* Half a round trip of a flag between two ranks, each on its own line. */
static void flag_pass(struct bench *b)
{
    _Atomic int *flags, *mine, *theirs;
    MPI_Aint bytes;
    MPI_Win window;
    double begin, ns;
    int unit;

    MPI_Win_allocate_shared(b->rank == 0 ? 512 : 0, 1, MPI_INFO_NULL,
                            MPI_COMM_WORLD, &flags, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &flags);
    mine = flags + (b->rank == 0 ? 0 : 64);
    theirs = flags + (b->rank == 0 ? 64 : 0);
    atomic_store(mine, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (int i = 1; i <= FLAG_TURNS; i++) {
        if (b->rank == 0) {
            atomic_store_explicit(mine, i, memory_order_release);
        }
        while (atomic_load_explicit(theirs, memory_order_acquire) < i) {
        }
        if (b->rank == 1) {
            atomic_store_explicit(mine, i, memory_order_release);
        }
    }
    ns = (MPI_Wtime() - begin) * 0.5e9 / FLAG_TURNS;
    b->flag_ns = ns > b->flag_ns ? ns : b->flag_ns;
    MPI_Win_free(&window);
}

static void measure(struct bench *b, const struct test *test)
{
    double seconds[ROUNDS], value;
    MPI_Win window;
    int iterations;

    if (test->shares) {
        share(b, &window);
    }
    iterations = calibrate(b, test->body);
    b->flag_ns = 0;
    if (b->size == 2) {
        flag_pass(b);
    }
    for (int i = 0; i < ROUNDS; i++) {
        seconds[i] = timed(b, test->body, iterations) / iterations;
    }
    if (b->size == 2) {
        flag_pass(b);
    }
    qsort(seconds, ROUNDS, sizeof(seconds[0]), by_value);
    value = seconds[ROUNDS / 2];
    value = test->scale < 0 ? -test->scale * value : test->scale / value;
    report(b, test->name, test->metric, test->per_byte ? value * b->bytes
                                                       : value, test->unit);
    if (test->shares) {
        MPI_Win_free(&window);
    }
}

/* Peak memory of this process, bytes (0: not known here). */
static double peak_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    double kilobytes = 0;
    char line[256];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kilobytes = atof(line + 6);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kilobytes * 1024;
}

static void flood(struct bench *b)
{
    int count = FLOOD_BYTES / b->bytes;
    double before = peak_bytes();

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count && b->rank > 0; i++) {
        MPI_Send(b->out, b->bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    for (int i = 0; i < (b->size - 1) * count && b->rank == 0; i++) {
        if (i == 0) {
            double until = MPI_Wtime() + 0.5;
            int flag;

            while (MPI_Wtime() < until) { /* let all of it arrive */
                MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag,
                           MPI_STATUS_IGNORE);
            }
        }
        MPI_Recv(b->in, b->bytes, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    report(b, "flood", "memory", peak_bytes() - before, "B");
}

static void run(struct bench *b, const char *name)
{
    size_t most = (size_t) b->bytes * WINDOW;

    if (most < (size_t) b->bytes * (size_t) b->size + 64) {
        most = (size_t) b->bytes * (size_t) b->size + 64;
    }
    b->out = calloc(1, most);
    b->in = calloc(1, most);
    if (b->out == NULL || b->in == NULL) {
        fprintf(stderr, "mpi_bench: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (strcmp(name, "flood") == 0) {
        flood(b);
    }
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (strcmp(name, tests[i].name) == 0) {
            measure(b, &tests[i]);
        }
    }
    free(b->out);
    free(b->in);
}

int main(int argc, char **argv)
{
    struct bench b;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.size);
    if (argc < 3 || b.size < 2) {
        fprintf(stderr, "usage: mpiexec -n N mpi_bench TEST BYTES...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 2; i < argc; i++) {
        b.bytes = atoi(argv[i]);
        run(&b, argv[1]);
    }
    MPI_Finalize();
    return 0;
}
