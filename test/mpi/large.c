/*
 * For test/mpi/programs: messages of more than 2 GiB between 2 ranks, with
 * either side contiguous or in pieces (large ones go as iovecs, small ones are
 * packed), from a standard and a synchronous send, into a receive and a
 * claimed message.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (((size_t)1 << 31) + ((size_t)17 << 20))
#define WORDS (BYTES / 8)

static int failures;

/* Pieces of `piece` words, each followed by a word that is not sent; 0: no
 * pieces. */
struct layout {
    size_t piece;
    MPI_Datatype type;
    int count;
};

static void check(int good, const char *what)
{
    if (!good) {
        printf("failed: %s\n", what);
        failures++;
    }
}

static size_t place(const struct layout *layout, size_t word)
{
    return layout->piece == 0 ? word : word + word / layout->piece;
}

static uint64_t content(size_t word, uint64_t seed)
{
    return seed + word * 0x9e3779b97f4a7c15u;
}

static void fill(uint64_t *buffer, const struct layout *layout, uint64_t seed)
{
    for (size_t i = 0; i < WORDS; i++) {
        buffer[place(layout, i)] = content(i, seed);
    }
}

static int holds(const uint64_t *buffer, const struct layout *layout,
                 uint64_t seed)
{
    size_t wrong = 0;

    for (size_t i = 0; i < WORDS; i++) {
        wrong += buffer[place(layout, i)] != content(i, seed);
    }
    return wrong == 0;
}

static struct layout contiguous(void)
{
    struct layout layout = {0, MPI_DATATYPE_NULL, (int)(BYTES >> 20)};

    MPI_Type_contiguous(1 << 20, MPI_BYTE, &layout.type);
    MPI_Type_commit(&layout.type);
    return layout;
}

static struct layout pieces(size_t words)
{
    struct layout layout = {words, MPI_DATATYPE_NULL, 1};

    MPI_Type_vector((int)(WORDS / words), (int)words, (int)words + 1,
                    MPI_UINT64_T, &layout.type);
    MPI_Type_commit(&layout.type);
    return layout;
}

static void check_length(MPI_Status *status)
{
    MPI_Count count = 0;

    MPI_Get_elements_x(status, MPI_BYTE, &count);
    check((size_t)count == BYTES, "the status has the length");
}

static void receive(uint64_t *buffer, const struct layout *layout, int tag,
                    int claim)
{
    MPI_Message message;
    MPI_Status status;

    memset(buffer, 0, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (claim) {
        MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, &status);
        check_length(&status);
        MPI_Mrecv(buffer, layout->count, layout->type, &message, &status);
    } else {
        MPI_Recv(buffer, layout->count, layout->type, 0, tag, MPI_COMM_WORLD,
                 &status);
    }
    check_length(&status);
    check(holds(buffer, layout, (uint64_t)tag), "every byte arrives");
}

static void send(uint64_t *buffer, const struct layout *layout, int tag,
                 int synchronous)
{
    fill(buffer, layout, (uint64_t)tag);
    MPI_Barrier(MPI_COMM_WORLD);
    if (synchronous) {
        MPI_Ssend(buffer, layout->count, layout->type, 1, tag, MPI_COMM_WORLD);
    } else {
        MPI_Send(buffer, layout->count, layout->type, 1, tag, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    struct layout layouts[3];
    uint64_t *buffer;
    int rank, tag = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    layouts[0] = contiguous();
    layouts[1] = pieces(65536); /* 512 KiB: an iovec each */
    layouts[2] = pieces(8);     /* 64 bytes: packed */
    buffer = malloc(BYTES + BYTES / 8 + 8);
    if (buffer == NULL) {
        printf("failed: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < 3; i++, tag++) {
        if (rank == 0) {
            send(buffer, &layouts[i], tag, i % 2);
        } else if (rank == 1) {
            receive(buffer, &layouts[(i + 1) % 3], tag, i % 2);
        }
        printf("rank %d: message %d done\n", rank, tag);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Type_free(&layouts[i].type);
    }
    free(buffer);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Finalize();
    return failures > 0;
}
