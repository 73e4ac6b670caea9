/*
 * The eager paths, and collectives that find the other member there, one call at a
 * time, between two contexts of one process, for counting instructions:
 * benchmarks/instructions runs this under callgrind, which collects inside the
 * functions count_<path> only.  No path here waits, so each run executes the same
 * instructions.
 *
 *   path_count PATH ITERATIONS
 */
#include <am.h>
#include <am_coll.h>
#include <am_msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HANDLER = AM_HANDLER_USER,
    WARMUP = 100,
    CONNECT_POLLS = 1000000
};

struct world {
    struct am_ctx *from, *to; /* ranks 0 and 1 */
    uint64_t handled;         /* requests at `to` */
    uint64_t received;        /* messages at `to` */
    uint64_t sent;            /* sends at `from` that completed later */
    unsigned char payload[8192], landing[8192];
    size_t bytes;
    am_status_t
            leaves; /* what isend returns: AM_DONE, eager; AM_OK, to be fetched */
    struct am_msg_envelope envelope;
    struct am_coll_group *group[2]; /* at `from`, at `to` */
    struct am_coll_call call;
    int under_way; /* of `call` */
};

static const struct am_msg_mask exact = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

static void die(const char *what, am_status_t status)
{
    fprintf(stderr, "path_count: %s: %s\n", what, am_status_text(status));
    exit(EXIT_FAILURE);
}

static void on_request(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct world *world = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    world->handled++;
}

static void on_received(void *arg, const struct am_msg_status *status)
{
    struct world *world = arg;

    world->received += status->bytes == world->bytes;
}

static void on_sent(void *arg, const struct am_msg_status *status)
{
    struct world *world = arg;

    (void)status;
    world->sent++;
}

static void on_ended(void *arg, am_status_t status)
{
    struct world *world = arg;

    if (status != AM_OK) {
        die("collective", status);
    }
    world->under_way--;
}

/* ------------------------------------------------------- what is counted */

/* Not static, so that their names stay what callgrind is told. */
void count_request(struct world *world);
void count_poll(struct world *world);
void count_isend(struct world *world);
void count_end(struct world *world);
void count_irecv(struct world *world);
am_status_t count_collective(struct world *world);

__attribute__((noinline)) void count_request(struct world *world)
{
    uint64_t word = 1;
    am_status_t status =
            am_ctx_try_request(world->from, 1, HANDLER, &word, 1, NULL, 0);

    if (status != AM_OK) {
        die("request", status);
    }
}

__attribute__((noinline)) void count_poll(struct world *world)
{
    am_ctx_poll(world->to);
}

__attribute__((noinline)) void count_isend(struct world *world)
{
    struct am_data data = am_data_contig(world->payload, world->bytes);
    struct am_msg_req *req;
    am_status_t status = am_msg_isend(world->from, 1, &world->envelope, &data,
                                      0, on_sent, world, &req);

    if (status != world->leaves) {
        die("isend takes another path", status);
    }
}

__attribute__((noinline)) void count_end(struct world *world)
{
    am_ctx_poll(world->from);
}

__attribute__((noinline)) void count_irecv(struct world *world)
{
    struct am_data data = am_data_contig(world->landing, world->bytes);
    struct am_msg_status status;
    struct am_msg_req *req;
    am_status_t result = am_msg_irecv(world->to, &world->envelope, &exact,
                                      &data, on_received, world, &status, &req);

    if (result < 0) {
        die("irecv", result);
    }
    if (result == AM_DONE) {
        on_received(world, &status);
    }
}

/* At the member that starts it last. */
__attribute__((noinline)) am_status_t count_collective(struct world *world)
{
    return am_coll_start(world->group[1], &world->call, on_ended, world);
}

/* --------------------------------------------------------------- the paths */

static void step_request(struct world *world)
{
    uint64_t handled = world->handled;

    count_request(world);
    count_poll(world);
    if (world->handled != handled + 1) {
        die("one poll did not handle the request", AM_ERR_AGAIN);
    }
    am_ctx_poll(world->from); /* takes back what space came free */
}

/* A posted receive is hit. */
static void step_hit(struct world *world)
{
    uint64_t received = world->received;

    count_irecv(world);
    count_isend(world);
    count_poll(world);
    if (world->received != received + 1) {
        die("one poll did not deliver the message", AM_ERR_AGAIN);
    }
    am_ctx_poll(world->from);
}

/* The same where the receiver fetches the data, and says so. */
static void step_get(struct world *world)
{
    uint64_t received = world->received, sent = world->sent;

    count_irecv(world);
    count_isend(world);
    count_poll(world);
    count_end(world);
    while (world->received == received || world->sent == sent) {
        am_ctx_poll(world->from);
        am_ctx_poll(world->to);
    }
}

/* Start it at both members, and let it end.  AM_DONE: it has for the second when that
 * starts it. */
static am_status_t both_start(struct world *world)
{
    am_status_t status =
            am_coll_start(world->group[0], &world->call, on_ended, world);

    if (status < 0) {
        die("collective", status);
    }
    world->under_way = status == AM_OK;
    status = count_collective(world);
    world->under_way += status == AM_OK;
    while (world->under_way > 0) {
        am_ctx_poll(world->from);
        am_ctx_poll(world->to);
    }
    return status;
}

static void step_collective(struct world *world)
{
    am_status_t status = both_start(world);

    if (status != AM_DONE) {
        die("collective is not done at once", status);
    }
}

static void open_groups(struct world *world, am_coll_kind_t kind, size_t bytes)
{
    am_status_t status =
            am_coll_group_open(world->from, 1, NULL, 0, &world->group[0]);

    if (status == AM_OK) {
        status = am_coll_group_open(world->to, 1, NULL, 0, &world->group[1]);
    }
    if (status != AM_OK) {
        die("group", status);
    }
    world->call = (struct am_coll_call){.kind = kind,
                                        .send = world->payload,
                                        .recv = world->landing,
                                        .count = bytes};
    for (int i = 0; i < WARMUP; i++) {
        (void)both_start(world);
    }
}

struct path {
    const char *name;
    void (*step)(struct world *world);
    size_t bytes;
    am_coll_kind_t kind; /* of step_collective */
};

static const struct path paths[] = {
        {"request", step_request, 0, 0},
        {"hit8", step_hit, 8, 0},
        {"hit64", step_hit, 64, 0},
        {"hit1024", step_hit, 1024, 0},
        {"get8192", step_get, 8192, 0},
        {"barrier", step_collective, 0, AM_COLL_BARRIER},
        {"allgather8", step_collective, 8, AM_COLL_ALLGATHER},
};

static struct am_ctx *open_rank(uint32_t rank)
{
    char error[256] = "";
    struct am_params params = {.rank = rank,
                               .size = 2,
                               .error = error,
                               .error_bytes = sizeof(error)};
    struct am_ctx *ctx;

    if (am_open(&params, &ctx) != AM_OK) {
        fprintf(stderr, "path_count: %s\n", error);
        exit(EXIT_FAILURE);
    }
    return ctx;
}

static void open_world(struct world *world)
{
    char blobs[2 * AM_ADDRESS_BYTES];
    uint64_t word = 0;

    world->from = open_rank(0);
    world->to = open_rank(1);
    am_address(world->from, blobs);
    am_address(world->to, blobs + AM_ADDRESS_BYTES);
    am_connect_all(world->from, blobs);
    am_connect_all(world->to, blobs);
    am_handler_register(world->to, HANDLER, on_request, world, "request");
    world->envelope = (struct am_msg_envelope){.context = 1, .tag = 2};
    /* The first request may have to wait for the connection. */
    for (int i = 0; world->handled == 0 && i < CONNECT_POLLS; i++) {
        if (i == 0 || am_ctx_try_request(world->from, 1, HANDLER, &word, 1,
                                         NULL, 0) == AM_OK) {
            am_ctx_poll(world->to);
        }
        am_ctx_poll(world->from);
        am_ctx_poll(world->to);
    }
    if (world->handled == 0) {
        die("connecting", AM_ERR_PEER);
    }
    for (int i = 0; i < WARMUP; i++) {
        am_ctx_poll(world->from);
        am_ctx_poll(world->to);
    }
}

int main(int argc, char **argv)
{
    struct world *world = calloc(1, sizeof(*world));
    long count = argc == 3 ? atol(argv[2]) : 0;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (world != NULL && count > 0 && strcmp(paths[i].name, argv[1]) == 0) {
            world->bytes = paths[i].bytes;
            world->leaves = paths[i].step == step_get ? AM_OK : AM_DONE;
            if (paths[i].step == step_get) { /* by a single copy */
                (void)setenv("AM_PROTO", "get", 1);
                (void)setenv("AM_SHM_CMA", "on", 1);
            }
            open_world(world);
            if (paths[i].step == step_collective) {
                open_groups(world, paths[i].kind, paths[i].bytes);
            }
            for (long j = 0; j < count; j++) {
                paths[i].step(world);
            }
            am_close(world->from);
            am_close(world->to);
            free(world);
            return EXIT_SUCCESS;
        }
    }
    fprintf(stderr, "usage: path_count "
                    "request|hit8|hit64|hit1024|get8192|barrier|allgather8 "
                    "ITERATIONS\n");
    return 2;
}
