/*
 * For test/mpi/programs: many collectives under way at once, of all kinds that move blocks, by all
 * roots, with lengths on both sides of what goes another way; each rank has datatypes of its own,
 * which it frees at once, as the communicator.  Blocking ones and messages of the program's come
 * between, and all are completed in each way that MPI has.
 *
 * usage: started THREADS ROUNDS
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 8
#define OPS         16
#define REQUESTS    (OPS + 2) /* and a message each way */
#define GAP         5         /* bytes that a block leaves out in its middle */
#define UNUSED      0x5a

enum {
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    KINDS
};

/* Blocks of one length, as a rank has them. */
struct memory {
    char *base;
    int blocks, bytes, gap, count;
    MPI_Datatype type;
};

struct op {
    int kind, root, bytes, seed, in_place, blocking;
    struct memory send, recv;
};

struct worker {
    MPI_Comm comm;
    unsigned draws, own_draws; /* the same on all ranks; this rank's */
    int number, rounds, failures;
};

static int rank, size;

/* ------------------------------------------------------------------ helpers */

static unsigned draw_of(unsigned *draws, unsigned below)
{
    *draws = *draws * 1103515245u + 12345u;
    return (*draws >> 8) % below;
}

static void check(struct worker *w, int good, const char *what, int at)
{
    if (!good && w->failures++ < 5) {
        printf("failed: %s (rank %d of %d, thread %d, %d)\n", what, rank, size,
               w->number, at);
    }
}

static char value(const struct op *op, int from, int to, int at)
{
    return (char)(op->seed * 37 + from * 11 + to * 5 + at * 3 + at / 251);
}

/* ------------------------------------------------------------------ memory */

/* As bytes, as one element, or as one element with a gap. */
static void memory_make(struct worker *w, struct memory *m, int blocks,
                        int bytes)
{
    int lengths[2] = {bytes / 2, bytes - bytes / 2};
    MPI_Aint places[2] = {0, bytes / 2 + GAP};
    MPI_Datatype apart;
    unsigned form = draw_of(&w->own_draws, bytes > 0 ? 3 : 1);

    *m = (struct memory){NULL, blocks, bytes, form == 2 ? GAP : 0, 1, MPI_BYTE};
    m->base = malloc((size_t)blocks * (size_t)(bytes + GAP) + 1);
    memset(m->base, UNUSED, (size_t)blocks * (size_t)(bytes + GAP) + 1);
    if (form == 0) {
        m->count = bytes;
    } else if (form == 1) {
        MPI_Type_contiguous(bytes, MPI_BYTE, &m->type);
        MPI_Type_commit(&m->type);
    } else {
        MPI_Type_create_hindexed(2, lengths, places, MPI_BYTE, &apart);
        MPI_Type_create_resized(apart, 0, bytes + GAP, &m->type);
        MPI_Type_commit(&m->type);
        MPI_Type_free(&apart);
    }
}

static void type_free(struct memory *m)
{
    if (m->base != NULL && m->type != MPI_BYTE) {
        MPI_Type_free(&m->type);
    }
}

static char *byte_of(const struct memory *m, int block, int at)
{
    return m->base + block * (m->bytes + m->gap) + at +
           (at < m->bytes / 2 ? 0 : m->gap);
}

static void block_fill(const struct memory *m, int block, const struct op *op,
                       int from, int to)
{
    for (int i = 0; i < m->bytes; i++) {
        *byte_of(m, block, i) = value(op, from, to, i);
    }
}

static void block_check(struct worker *w, const struct memory *m, int block,
                        const struct op *op, int from, int to)
{
    int wrong = 0;

    for (int i = 0; i < m->bytes; i++) {
        wrong += *byte_of(m, block, i) != value(op, from, to, i);
    }
    for (int i = 0; i < m->gap; i++) {
        wrong += m->base[block * (m->bytes + m->gap) + m->bytes / 2 + i] !=
                 UNUSED;
    }
    check(w, wrong == 0, "a block's bytes", op->kind * 1000000 + op->bytes);
}

/* --------------------------------------------------------------- collectives */

static int gives_all(const struct op *op)
{
    return op->kind == ALLTOALL || op->kind == SCATTER;
}

static void op_draw(struct worker *w, struct op *op, int seed)
{
    static const int lengths[] = {0,    1,     8,     100,   4096,  4097,
                                  8193, 16384, 16385, 32768, 32769, 70001};

    memset(op, 0, sizeof(*op));
    op->seed = seed;
    op->kind = (int)draw_of(&w->draws, KINDS);
    op->root = (int)draw_of(&w->draws, (unsigned)size);
    op->bytes = lengths[draw_of(&w->draws, sizeof(lengths) / sizeof(int))];
    op->in_place = op->kind != ALLTOALL && op->kind != BCAST &&
                   draw_of(&w->draws, 3) == 0;
    op->blocking = draw_of(&w->draws, 4) == 0;
}

/* The memory that this rank gives and gets, and what it gives. */
static void op_open(struct worker *w, struct op *op)
{
    int is_root = rank == op->root, mine = op->kind == SCATTER ? is_root : 1;

    if (op->kind == BCAST) {
        memory_make(w, &op->recv, 1, op->bytes);
        if (is_root) {
            block_fill(&op->recv, 0, op, op->root, 0);
        }
        return;
    }
    op->in_place = op->in_place && (op->kind == ALLGATHER || is_root);
    if (op->kind != GATHER || is_root) {
        memory_make(w, &op->recv, op->kind == SCATTER ? 1 : size, op->bytes);
    }
    if (mine && (!op->in_place || op->kind == SCATTER)) {
        memory_make(w, &op->send, gives_all(op) ? size : 1, op->bytes);
        for (int b = 0; b < op->send.blocks; b++) {
            block_fill(&op->send, b, op, rank, gives_all(op) ? b : 0);
        }
    } else if (mine) {
        block_fill(&op->recv, rank, op, rank, 0);
    }
}

static const void *op_from(const struct op *op)
{
    return op->in_place && op->kind != SCATTER ? MPI_IN_PLACE
                                               : (void *)op->send.base;
}

static void *op_to(const struct op *op)
{
    return op->in_place && op->kind == SCATTER ? MPI_IN_PLACE
                                               : (void *)op->recv.base;
}

static void op_start(const struct op *op, MPI_Comm comm, MPI_Request *request)
{
    const struct memory *s = &op->send, *r = &op->recv;
    const void *from = op_from(op);
    void *to = op_to(op);

    switch (op->kind) {
    case BCAST:
        MPI_Ibcast(to, r->count, r->type, op->root, comm, request);
        break;
    case GATHER:
        MPI_Igather(from, s->count, s->type, to, r->count, r->type, op->root,
                    comm, request);
        break;
    case SCATTER:
        MPI_Iscatter(from, s->count, s->type, to, r->count, r->type, op->root,
                     comm, request);
        break;
    case ALLGATHER:
        MPI_Iallgather(from, s->count, s->type, to, r->count, r->type, comm,
                       request);
        break;
    default:
        MPI_Ialltoall(from, s->count, s->type, to, r->count, r->type, comm,
                      request);
    }
}

static void op_run(const struct op *op, MPI_Comm comm)
{
    const struct memory *s = &op->send, *r = &op->recv;
    const void *from = op_from(op);
    void *to = op_to(op);

    switch (op->kind) {
    case BCAST:
        MPI_Bcast(to, r->count, r->type, op->root, comm);
        break;
    case GATHER:
        MPI_Gather(from, s->count, s->type, to, r->count, r->type, op->root,
                   comm);
        break;
    case SCATTER:
        MPI_Scatter(from, s->count, s->type, to, r->count, r->type, op->root,
                    comm);
        break;
    case ALLGATHER:
        MPI_Allgather(from, s->count, s->type, to, r->count, r->type, comm);
        break;
    default:
        MPI_Alltoall(from, s->count, s->type, to, r->count, r->type, comm);
    }
}

static void op_check(struct worker *w, struct op *op)
{
    switch (op->kind) {
    case BCAST:
        block_check(w, &op->recv, 0, op, op->root, 0);
        break;
    case SCATTER:
        if (!op->in_place) {
            block_check(w, &op->recv, 0, op, op->root, rank);
        }
        break;
    default:
        for (int b = 0; b < op->recv.blocks; b++) {
            block_check(w, &op->recv, b, op, b,
                        op->kind == ALLTOALL ? rank : 0);
        }
    }
    free(op->send.base);
    free(op->recv.base);
}

/* --------------------------------------------------------------- completion */

static void complete_some(MPI_Request *requests, int any)
{
    int count = 0, places[REQUESTS];

    while (count != MPI_UNDEFINED) {
        if (any) {
            MPI_Waitany(REQUESTS, requests, &count, MPI_STATUS_IGNORE);
        } else {
            MPI_Waitsome(REQUESTS, requests, &count, places,
                         MPI_STATUSES_IGNORE);
        }
    }
}

static void complete_testing(MPI_Request *requests, int any)
{
    int done = 0, place = 0;

    while (!done || (any && place != MPI_UNDEFINED)) {
        if (any) {
            MPI_Testany(REQUESTS, requests, &place, &done, MPI_STATUS_IGNORE);
        } else {
            MPI_Testall(REQUESTS, requests, &done, MPI_STATUSES_IGNORE);
        }
    }
}

/* From the last to the first. */
static void complete_back(struct worker *w, MPI_Request *requests)
{
    for (int i = REQUESTS - 1; i >= 0; i--) {
        int done = 0, cancelled = 1;
        MPI_Status status;

        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        if (i % 3 == 0) {
            while (!done) {
                MPI_Request_get_status(requests[i], &done, &status);
            }
        }
        MPI_Wait(&requests[i], &status);
        MPI_Test_cancelled(&status, &cancelled);
        check(w, !cancelled, "nothing is cancelled", i);
    }
}

static void complete(struct worker *w, MPI_Request *requests, unsigned way)
{
    MPI_Status statuses[REQUESTS];

    switch (way) {
    case 0:
        check(w, MPI_Waitall(REQUESTS, requests, statuses) == MPI_SUCCESS,
              "all end well", 0);
        break;
    case 1:
    case 2:
        complete_some(requests, way == 1);
        break;
    case 3:
    case 4:
        complete_testing(requests, way == 3);
        break;
    default:
        complete_back(w, requests);
    }
    for (int i = 0; i < REQUESTS; i++) {
        check(w, requests[i] == MPI_REQUEST_NULL, "a request is gone", i);
    }
}

/* --------------------------------------------------------------- the tests */

/* A message each way, with a tag that a collective has inside. */
static void messages_start(MPI_Comm comm, int tag, int *out, int *in,
                           MPI_Request *requests)
{
    *out = rank * 100 + tag;
    MPI_Irecv(in, 1, MPI_INT, (rank + size - 1) % size, tag, comm, requests);
    MPI_Isend(out, 1, MPI_INT, (rank + 1) % size, tag, comm, requests + 1);
}

/* OPS of them at once, the communicator freed meanwhile. */
static void many(struct worker *w, MPI_Comm comm, int round)
{
    struct op ops[OPS];
    MPI_Request requests[REQUESTS];
    int out, in = -1, tag = (int)draw_of(&w->draws, 8);
    unsigned way = draw_of(&w->draws, 6);
    int frees = draw_of(&w->draws, 2) == 0;
    MPI_Comm on = comm;

    if (frees) {
        MPI_Comm_dup(comm, &on);
    }
    messages_start(on, tag, &out, &in, requests + OPS);
    for (int i = 0; i < OPS; i++) {
        op_draw(w, &ops[i], round * OPS + i);
        op_open(w, &ops[i]);
        requests[i] = MPI_REQUEST_NULL;
        if (ops[i].blocking) {
            op_run(&ops[i], on);
        } else {
            op_start(&ops[i], on, &requests[i]);
        }
        type_free(&ops[i].send);
        type_free(&ops[i].recv);
    }
    if (frees) {
        MPI_Comm_free(&on);
    }
    complete(w, requests, way);
    check(w, in == (rank + size - 1) % size * 100 + tag, "a message", in);
    for (int i = 0; i < OPS; i++) {
        op_check(w, &ops[i]);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;

    for (int round = 0; round < w->rounds; round++) {
        many(w, w->comm, round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    int provided, failures = 0, count = argc > 2 ? atoi(argv[1]) : 1;
    const char *text = getenv("AM_TEST_SEED");
    unsigned seed = text == NULL ? 1 : (unsigned)atoi(text);

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count > THREADS_MAX || (count > 1 && provided != MPI_THREAD_MULTIPLE)) {
        printf("skipped: there are no such threads\n");
        MPI_Finalize();
        return 0;
    }
    if (rank == 0) {
        printf("seed %u\n", seed);
    }
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){.draws = seed * 1000 + (unsigned)i,
                                     .own_draws = seed * 77 + (unsigned)rank,
                                     .number = i,
                                     .rounds = argc > 2 ? atoi(argv[2]) : 10};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 1; i < count; i++) {
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    work(&workers[0]);
    for (int i = 1; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < count; i++) {
        MPI_Comm_free(&workers[i].comm);
        failures += workers[i].failures;
    }
    MPI_Finalize();
    return failures > 0;
}
