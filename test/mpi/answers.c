/*
 * For test/mpi/programs: answers that were once wrong, 2 ranks, each a part by
 * name.  Run with each protocol forced and each way to wait.
 *
 *   bsend      a buffer of sizes and overheads holds all its messages
 *   truncate   the text of a truncated receive names its sizes in order
 *   tags       every bit of a tag up to MPI_TAG_UB counts
 *   wildcards  deep queues of receives, and of messages, with any source
 *   cancel     a cancelled send that nobody receives completes
 *
 * AM_TEST_SEED repeats a run.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES_MAX 1000000

static int failures, rank;
static char *data, *other;
static uint64_t state;

static void check(int good, const char *what, int number)
{
    if (!good && failures++ < 20) {
        printf("failed: rank %d: %s, %d\n", rank, what, number);
    }
}

/* The same number on both ranks. */
static int draw(int below)
{
    state = state * UINT64_C(6364136223846793005) +
            UINT64_C(1442695040888963407);
    return (int)((state >> 33) % (uint64_t)below);
}

/* ------------------------------------------------------------------- bsend */

#define MESSAGES 6

static int draw_bytes(void)
{
    static const int limits[] = {2, 40, 40, 1000, 20000, 200000};

    return draw(limits[draw(6)]);
}

static void bsend_receive(const int *bytes, int count, int sent)
{
    for (int i = 0; i < sent; i++) {
        MPI_Status status;
        int got;

        MPI_Recv(data, BYTES_MAX, MPI_CHAR, 0, i, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &got);
        check(got == bytes[i], "bytes of a buffered message", got);
        check(got == 0 || (data[0] == i && data[got - 1] == i),
              "content of a buffered message", got);
    }
    check(sent == count, "a buffer holds its messages", count);
}

/* Nothing is received before all is sent; the buffer begins anywhere. */
static void bsend_one(void)
{
    int count = 1 + draw(MESSAGES), shift = draw(16), sent = 0, room = 0;
    int bytes[MESSAGES];
    char *buffer;

    for (int i = 0; i < count; i++) {
        bytes[i] = draw_bytes();
        room += bytes[i] + MPI_BSEND_OVERHEAD;
    }
    if (rank == 1) {
        MPI_Bcast(&sent, 1, MPI_INT, 0, MPI_COMM_WORLD);
        bsend_receive(bytes, count, sent);
        return;
    }
    buffer = malloc((size_t)(room + shift));
    MPI_Buffer_attach(buffer + shift, room);
    while (sent < count) {
        memset(data, sent, (size_t)bytes[sent]);
        if (MPI_Bsend(data, bytes[sent], MPI_CHAR, 1, sent, MPI_COMM_WORLD) !=
            MPI_SUCCESS) {
            break;
        }
        sent++;
    }
    memset(data, -1, BYTES_MAX / 4);
    MPI_Bcast(&sent, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Buffer_detach(&other, &room);
    free(buffer);
}

static void part_bsend(void)
{
    char *kept = other;

    for (int i = 0; i < 300; i++) {
        bsend_one();
    }
    other = kept;
}

/* ---------------------------------------------------------------- truncate */

static void truncate_text(int error, int sent, int room, const char *what)
{
    char wanted[100], text[MPI_MAX_ERROR_STRING];
    int class = MPI_SUCCESS, length;

    MPI_Error_class(error, &class);
    check(class == MPI_ERR_TRUNCATE, what, sent);
    MPI_Error_string(error, text, &length);
    snprintf(wanted, sizeof(wanted), "%d bytes received but buffer size is %d",
             sent, room);
    if (strstr(text, wanted) == NULL) {
        check(0, what, sent);
        printf("failed: no '%s' in: %s\n", wanted, text);
    }
}

/* Receive `bytes` of rank 0 into too little room, in one of five ways. */
static void truncate_receive(int bytes, int way)
{
    static const char *const names[] = {
            "truncated, posted late", "truncated, posted early",
            "truncated, claimed first", "truncated, into a vector",
            "truncated, into large pieces"};
    int room = way == 3 ? bytes / 3 : bytes / 6 * 4 / 1000 * 1000;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_CHAR;
    MPI_Message message;
    MPI_Status status;
    int count = room, error;

    if (way >= 3) {
        int block = way == 3 ? 1 : 1000;

        MPI_Type_vector(room / block, block, 2 * block, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        room = room / block * block;
        count = 1;
    }
    if (way == 1) {
        MPI_Irecv(other, count, type, 0, 3, MPI_COMM_WORLD, &request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (way == 1) {
        error = MPI_Wait(&request, &status);
    } else if (way == 2) {
        MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, &status);
        error = MPI_Mrecv(other, count, type, &message, &status);
    } else {
        error = MPI_Recv(other, count, type, 0, 3, MPI_COMM_WORLD, &status);
    }
    truncate_text(error, bytes, room, names[way]);
    if (way >= 3) {
        MPI_Type_free(&type);
    }
}

static void truncate_self(int bytes)
{
    MPI_Request request;
    int error;

    MPI_Isend(data, bytes, MPI_CHAR, 0, 3, MPI_COMM_SELF, &request);
    error = MPI_Recv(other, bytes / 2, MPI_CHAR, 0, 3, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    truncate_text(error, bytes, bytes / 2, "truncated, from itself");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void part_truncate(void)
{
    static const int sizes[] = {6001, 20000, 100000, BYTES_MAX};

    for (int i = 0; i < 4; i++) {
        for (int way = 0; way < 5; way++) {
            if (rank == 1) {
                truncate_receive(sizes[i], way);
            } else {
                MPI_Barrier(MPI_COMM_WORLD);
                MPI_Send(data, sizes[i], MPI_CHAR, 1, 3, MPI_COMM_WORLD);
            }
        }
        truncate_self(sizes[i]);
    }
}

/* -------------------------------------------------------------------- tags */

/* All tags that differ from the largest in one bit, received from the last. */
static void part_tags(void)
{
    MPI_Request requests[32];
    int *largest, found, bits = 0, tags[32];

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &found);
    check(found, "MPI_TAG_UB", 0);
    tags[0] = *largest;
    while (bits < 31 && (*largest >> bits) > 0) {
        tags[bits + 1] = *largest ^ (1 << bits);
        bits++;
    }
    if (rank == 0) {
        for (int i = 0; i <= bits; i++) {
            MPI_Isend(&tags[i], 1, MPI_INT, 1, tags[i], MPI_COMM_WORLD,
                      &requests[i]);
        }
        MPI_Waitall(bits + 1, requests, MPI_STATUSES_IGNORE);
        return;
    }
    for (int i = bits; i >= 0; i--) {
        int tag = -1;

        MPI_Recv(&tag, 1, MPI_INT, 0, tags[i], MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        check(tag == tags[i], "the tag that was asked for", tags[i]);
    }
}

/* --------------------------------------------------------------- wildcards */

#define DEEP       100000
#define DEEP_LATER 20000

/* Messages that wait, received with any source into memory with gaps. */
static void gaps(void)
{
    MPI_Datatype type;
    int got[4], sent[2];

    if (rank == 0) {
        for (int i = 0; i < 100; i++) {
            sent[0] = i;
            sent[1] = -i;
            MPI_Send(sent, 2, MPI_INT, 1, i, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Type_vector(2, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 99; i >= 0; i--) {
            got[1] = 7;
            MPI_Recv(got, 1, type, MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            check(got[0] == i && got[1] == 7 && got[2] == -i,
                  "a waiting message with gaps", i);
        }
        MPI_Type_free(&type);
    }
}

/* Receives with any source, matched from the last; then messages with nobody
 * to receive them, taken from the last. */
static void part_wildcards(void)
{
    MPI_Request *requests = malloc(DEEP * sizeof(*requests));
    int *numbers = calloc(DEEP, sizeof(*numbers));

    if (rank == 1) {
        for (int i = 0; i < DEEP; i++) {
            MPI_Irecv(&numbers[i], 1, MPI_INT, MPI_ANY_SOURCE, i,
                      MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Waitall(DEEP, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < DEEP; i++) {
            check(numbers[i] == i, "number of a deep receive", numbers[i]);
        }
        for (int i = DEEP_LATER - 1; i >= 0; i--) {
            MPI_Recv(numbers, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            check(numbers[0] == i, "number of a deep message", numbers[0]);
        }
    } else {
        for (int i = DEEP - 1; i >= 0; i--) {
            MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        }
        for (int i = 0; i < DEEP_LATER; i++) {
            numbers[i] = i;
            MPI_Isend(&numbers[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD,
                      &requests[i]);
        }
        MPI_Waitall(DEEP_LATER, requests, MPI_STATUSES_IGNORE);
    }
    free(numbers);
    free(requests);
    gaps();
}

/* ------------------------------------------------------------------ cancel */

/* A send that was cancelled was received, or never was: not both. */
static void cancel_one(int bytes, int is_sync, int matched)
{
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0, found = 0, last = 0;

    if (rank == 0) {
        memset(data, 1, (size_t)bytes);
        (is_sync ? MPI_Issend : MPI_Isend)(data, bytes, MPI_CHAR, 1, 4,
                                           MPI_COMM_WORLD, &request);
        if (matched) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        check(!matched || !cancelled, "a received message is not cancelled",
              bytes);
        check(matched || cancelled || !is_sync,
              "an unmatched synchronous send is cancelled", bytes);
        memset(data, 2, (size_t)bytes);
        MPI_Send(&cancelled, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Send(data, bytes, MPI_CHAR, 1, 4, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    if (matched) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &status);
        check(bytes == 0 || data[bytes - 1] == 1, "its content", bytes);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Recv(&cancelled, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &status);
    if (!matched && !cancelled) {
        MPI_Recv(data, bytes, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &status);
        check(bytes == 0 || data[bytes - 1] == 1, "its content", bytes);
    }
    MPI_Recv(data, bytes, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &status);
    last = bytes == 0 ? 2 : data[bytes - 1];
    check(last == 2, "the message after a cancelled one", bytes);
    MPI_Iprobe(0, 4, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    check(!found, "a message that was cancelled", bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void part_cancel(void)
{
    static const int sizes[] = {0, 8, 1000, 20000, 100000, BYTES_MAX};

    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < 6; i++) {
            cancel_one(sizes[i], 1, 0);
            cancel_one(sizes[i], 0, 0);
            cancel_one(sizes[i], 1, 1);
            cancel_one(sizes[i], 0, 1);
        }
    }
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {{"bsend", part_bsend},
             {"truncate", part_truncate},
             {"tags", part_tags},
             {"wildcards", part_wildcards},
             {"cancel", part_cancel}};

int main(int argc, char **argv)
{
    const char *seed = getenv("AM_TEST_SEED");
    int ran = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    data = calloc(1, BYTES_MAX);
    other = calloc(2, BYTES_MAX);
    state = seed != NULL ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    MPI_Bcast(&state, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("AM_TEST_SEED=%llu\n", (unsigned long long)state);
    }
    for (int i = 0; i < (int)(sizeof(parts) / sizeof(parts[0])); i++) {
        for (int j = 1; j < argc; j++) {
            if (strcmp(argv[j], parts[i].name) == 0) {
                parts[i].run();
                ran++;
            }
        }
    }
    check(ran == argc - 1 && ran > 0, "a part of this name", ran);
    free(data);
    free(other);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}
