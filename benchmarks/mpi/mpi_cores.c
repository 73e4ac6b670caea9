/*
 * How long messages and collectives of two ranks take while their cores are near to each
 * other, while they are far, or between the two, and while they are two threads of one core
 * (twin): some hosts of virtual machines change that about once a second.  The two look how
 * long a flag takes from one to the other, make ten calls with a barrier before each, and
 * look again; what they find belongs to a state only if both looks agree.  A line for each
 * call, length and state: how many tens there were, and the median over them of what a call
 * took, the mean of both ranks.  Plain MPI, so that the same program measures every MPI; the
 * flag lies in a file in /dev/shm.
 *
 *   mpicc -O2 -o mpi_cores mpi_cores.c
 *   mpiexec -bind-to core -n 2 ./mpi_cores [CALLS [FROM [TO [MS [ASIDE]]]]]
 *
 * CALLS is some of p (there and back), x (both at once), b, r, a, g, s, t (broadcast, reduce,
 * allreduce, all-gather, reduce-scatter, all-to-all); FROM and TO are bytes, MS the
 * milliseconds for each call and length.  What is received begins ASIDE bytes after the
 * begin of a page; 0 if it is not given, and 16 in memory that malloc takes for much.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CALLS_AT_ONCE = 10,
    FLAGS = 20, /* there and back in a look */
    SKIPPED = 5,
    TENS_MOST = 100000,
    FLAG_AT = 16, /* words: each flag has a line of its own */
    FLAG_BYTES = 4096
};

typedef enum {
    STATE_TWIN,
    STATE_NEAR,
    STATE_BETWEEN,
    STATE_FAR,
    STATE_COUNT,
    STATE_NONE = STATE_COUNT
} core_state_t;

static const double twin_ns = 42, near_ns = 130, far_ns = 200;

static struct {
    _Atomic int *flags;
    int value, rank;
    char *from, *to, *page;
} at;

static double took_us[STATE_COUNT][TENS_MOST];

static void die(const char *why)
{
    fprintf(stderr, "mpi_cores: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void flags_open(void)
{
    char name[64];
    int id = (int)getpid(), fd;

    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "/dev/shm/mpi_cores.%d", id);
    fd = open(name, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, FLAG_BYTES) != 0) {
        die("there is no room for a file in /dev/shm");
    }
    at.flags =
            mmap(NULL, FLAG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at.flags == MAP_FAILED) {
        die("the file in /dev/shm cannot be mapped");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (at.rank == 0) {
        unlink(name);
    }
    close(fd);
}

/* As OSU's benchmarks have them: pages of their own, written. */
static char *buffer(size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, 4096, bytes) != 0) {
        die("there is not enough memory");
    }
    return memset(memory, 0, bytes);
}

/* Nanoseconds that a flag takes from one to the other. */
static double look(void)
{
    double begin = MPI_Wtime();

    for (int i = 0; i < FLAGS; i++) {
        at.value++;
        if (at.rank == 0) {
            at.flags[0] = at.value;
        }
        while (at.flags[at.rank == 0 ? FLAG_AT : 0] != at.value) {
        }
        if (at.rank == 1) {
            at.flags[FLAG_AT] = at.value;
        }
    }
    return (MPI_Wtime() - begin) / (2 * FLAGS) * 1e9;
}

static core_state_t state_of(double before_ns, double after_ns)
{
    double least = before_ns < after_ns ? before_ns : after_ns;
    double most = before_ns > after_ns ? before_ns : after_ns;

    if (most < twin_ns) {
        return STATE_TWIN;
    }
    if (least > twin_ns && most < near_ns) {
        return STATE_NEAR;
    }
    if (least >= near_ns && most <= far_ns) {
        return STATE_BETWEEN;
    }
    return least > far_ns ? STATE_FAR : STATE_NONE;
}

static void there_and_back(int bytes)
{
    for (int i = 0; i < 2; i++) {
        if (at.rank == i) {
            MPI_Send(at.from, bytes, MPI_CHAR, 1 - i, 1, MPI_COMM_WORLD);
        } else {
            MPI_Recv(at.to, bytes, MPI_CHAR, i, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
    }
}

static void call(char kind, int bytes)
{
    int floats = bytes / (int)sizeof(float),
        half = floats / 2 > 0 ? floats / 2 : 1;
    int other = 1 - at.rank;

    switch (kind) {
    case 'p':
        there_and_back(bytes);
        break;
    case 'x':
        MPI_Sendrecv(at.from, bytes, MPI_CHAR, other, 1, at.to, bytes, MPI_CHAR,
                     other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 'b':
        MPI_Bcast(at.from, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        break;
    case 'r':
        MPI_Reduce(at.from, at.to, floats, MPI_FLOAT, MPI_SUM, 0,
                   MPI_COMM_WORLD);
        break;
    case 'a':
        MPI_Allreduce(at.from, at.to, floats, MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
        break;
    case 'g':
        MPI_Allgather(at.from, bytes, MPI_CHAR, at.to, bytes, MPI_CHAR,
                      MPI_COMM_WORLD);
        break;
    case 's':
        MPI_Reduce_scatter_block(at.from, at.to, half, MPI_FLOAT, MPI_SUM,
                                 MPI_COMM_WORLD);
        break;
    default:
        MPI_Alltoall(at.from, bytes, MPI_CHAR, at.to, bytes, MPI_CHAR,
                     MPI_COMM_WORLD);
        break;
    }
}

/* Ten calls; microseconds of one, the mean of both ranks, at rank 0. */
static double ten_us(char kind, int bytes)
{
    double mine = 0, both = 0;

    for (int i = 0; i < CALLS_AT_ONCE; i++) {
        double begin;

        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        call(kind, bytes);
        mine += MPI_Wtime() - begin;
    }
    MPI_Reduce(&mine, &both, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return both / 2 / CALLS_AT_ONCE * 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(char kind, int bytes, double ms)
{
    static const char *const names[STATE_COUNT] = {"twin", "near", "between",
                                                   "far"};
    int counts[STATE_COUNT] = {0}, goes_on = 1;
    double end = MPI_Wtime() + ms / 1e3;

    for (int i = 0; goes_on; i++) {
        double before_ns = look(), us = ten_us(kind, bytes);
        core_state_t state = state_of(before_ns, look());

        if (i >= SKIPPED && state != STATE_NONE && counts[state] < TENS_MOST) {
            took_us[state][counts[state]++] = us;
        }
        goes_on = MPI_Wtime() < end;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < STATE_COUNT && at.rank == 0; i++) {
        if (counts[i] > 0) {
            qsort(took_us[i], (size_t)counts[i], sizeof(double), compare);
            printf("%c %d bytes, %s: %.3f us, %d times ten calls\n", kind,
                   bytes, names[i], took_us[i][counts[i] / 2], counts[i]);
            fflush(stdout);
        }
    }
}

int main(int argc, char **argv)
{
    const char *kinds = argc > 1 ? argv[1] : "pxbragst";
    int from = argc > 2 ? atoi(argv[2]) : 8,
        to = argc > 3 ? atoi(argv[3]) : 1 << 20;
    double ms = argc > 4 ? atof(argv[4]) : 300;
    int aside = argc > 5 ? atoi(argv[5]) : 0;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        die("it needs 2 ranks");
    }
    if (strspn(kinds, "pxbragst") != strlen(kinds) || from < 8 || to < from ||
        to > 1 << 28 || ms <= 0 || aside < 0 || aside > 4095) {
        if (at.rank == 0) {
            die("CALLS are of pxbragst, FROM and TO bytes from 8 to 268435456, "
                "MS more than 0, and ASIDE 0 to 4095");
        }
        MPI_Barrier(MPI_COMM_WORLD); /* until rank 0 has ended the job */
    }
    at.from = buffer(2 * (size_t)to);
    at.page = buffer(2 * (size_t)to + 4096);
    at.to = at.page + aside;
    flags_open();
    for (const char *kind = kinds; *kind != '\0'; kind++) {
        for (int bytes = from; bytes <= to; bytes *= 2) {
            measure(*kind, bytes, ms);
        }
    }
    free(at.from);
    free(at.page);
    MPI_Finalize();
    return 0;
}
