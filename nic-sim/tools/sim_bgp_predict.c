/*
 * What Blue Gene/P predicts: MPI messages by rendezvous, and exchanges of every
 * node with 1 to 6 of its neighbours on a 3x3x3 torus, eager and rendezvous.
 */
#include "tools/sim.h"
#include "tools/sim_run.h"

#include <stdlib.h>

enum {
    SIDE = 3,
    NODES = SIDE * SIDE * SIDE,
    NEIGHBOURS = 6,
    EXCHANGES = 8,
    ROUNDS = 10,
    BYTES_MIN = 1 << 10,
    SIZES = 6, /* of ping-pongs, from BYTES_MIN on, each 4 times the last */
};

/* One simulation. */
struct predict {
    const char *protocol;
    uint32_t neighbours; /* 0: a ping-pong of two nodes */
    size_t bytes;
    uint64_t value; /* ps one way, or B/s that a node receives */
    int failed;
    char *error;
    size_t error_bytes;
};

static uint32_t neighbour(uint32_t node, uint32_t way)
{
    uint32_t step = way / 2 == 0 ? 1 : way / 2 == 1 ? SIDE : SIDE * SIDE;
    uint32_t at = node / step % SIDE;
    uint32_t to = way % 2 == 0 ? (at + 1) % SIDE : (at + SIDE - 1) % SIDE;

    return node - at * step + to * step;
}

/* Send to the first ways' neighbours and receive from all of them, again and
 * again; the time of node 0, by which all bytes that it received go. */
static void exchange(struct run *run, struct predict *predict, uint8_t *to,
                     const uint8_t *from)
{
    uint64_t sent = 0, received = 0, from_ps = 0;
    uint32_t count = predict->neighbours;

    for (uint32_t i = 0; i <= EXCHANGES; i++) { /* the first one connects */
        if (i == 1) {
            from_ps = run_now(run);
        }
        for (uint32_t way = 0; way < count; way++) {
            mpi_receive_start(run, neighbour(run->node->rank, way),
                              to + way * predict->bytes, predict->bytes,
                              &received);
        }
        for (uint32_t way = 0; way < count; way++) {
            /* whom I am the neighbour of in this way: the opposite one's */
            mpi_send_start(run, neighbour(run->node->rank, way ^ 1), from,
                           predict->bytes, &sent);
        }
        mpi_wait(run, &received, (uint64_t)(i + 1) * count);
        run_wait(run, &sent, (uint64_t)(i + 1) * count);
    }
    if (run->node->rank == 0) {
        uint64_t ns = (run_now(run) - from_ps) / 1000;

        predict->value = (uint64_t)EXCHANGES * count * predict->bytes *
                         UINT64_C(1000000000) / ns;
    }
    run_meet(run);
}

static void predict_body(void *arg, struct ns_sim_node *node)
{
    struct predict *predict = arg;
    const struct am_option options[] = {{"AM_PROTO", predict->protocol}};
    size_t bytes = predict->bytes * NEIGHBOURS;
    uint8_t *to = malloc(bytes), *from = calloc(1, predict->bytes);
    struct run run;
    char error[256] = "out of memory";
    uint64_t half_ps;

    if (to == NULL || from == NULL ||
        run_open_with(&run, node, options, 1, error, sizeof(error)) != 0) {
        predict->failed = 1;
        snprintf(predict->error, predict->error_bytes, "%s", error);
        ns_sim_abort(node);
    } else {
        if (predict->neighbours > 0) {
            exchange(&run, predict, to, from);
        } else {
            half_ps = mpi_pingpong(&run, to, from, predict->bytes, ROUNDS);
            predict->value = node->rank == 0 ? half_ps : predict->value;
        }
        run_close(&run);
    }
    free(to);
    free(from);
}

static int predict_run(const struct sim_options *options,
                       const struct ns_machine *machine,
                       struct predict *predict, const char *metric,
                       const char *unit)
{
    struct ns_sim_params params = options->params;
    struct ns_sim_result result;
    struct sim_row row = {.metric = metric,
                          .unit = unit,
                          .bytes = predict->bytes,
                          .result = &result};
    char error[512] = "";
    struct ns_sim *sim;
    int status = -1;

    if (!sim_wanted(options, metric)) {
        return EXIT_SUCCESS;
    }
    params.nodes = predict->neighbours > 0 ? NODES : 2;
    predict->error = error;
    predict->error_bytes = sizeof(error);
    sim = ns_sim_open(machine, &params, error, sizeof(error));
    if (sim != NULL) {
        status = ns_sim_run(sim, predict_body, predict, &result, error,
                            sizeof(error));
        ns_sim_close(sim);
    }
    if (status != 0 || predict->failed) {
        return sim_fail(error);
    }
    row.value = predict->value;
    sim_row_print(options, machine, &row);
    return EXIT_SUCCESS;
}

int sim_predict_pingpong(const struct sim_options *options,
                         const struct ns_machine *machine, const char *protocol,
                         size_t bytes)
{
    struct predict predict = {.protocol = protocol != NULL ? protocol : "auto",
                              .bytes = bytes};

    return predict_run(options, machine, &predict, "mpi_one_way", "ps");
}

int sim_predict_bgp(const struct sim_options *options,
                    const struct ns_machine *machine)
{
    static const struct {
        const char *protocol, *name;
        size_t bytes;
    } kinds[] = {{"eager", "eager", 512},
                 {"eager", "eager", 65536},
                 {"get", "rendezvous", 512},
                 {"get", "rendezvous", 65536}};

    char metric[64];
    const uint32_t runs = SIZES + sizeof(kinds) / sizeof(kinds[0]) * NEIGHBOURS;
    uint32_t done = 0;
    int status = EXIT_SUCCESS;

    for (size_t i = 0, bytes = BYTES_MIN; i < SIZES; i++, bytes *= 4) {
        struct predict predict = {.protocol = "get", .bytes = bytes};

        sim_bar_part(done++, runs);
        status |= predict_run(options, machine, &predict,
                              "mpi_rendezvous_one_way", "ps");
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (uint32_t n = 1; n <= NEIGHBOURS; n++) {
            struct predict predict = {.protocol = kinds[i].protocol,
                                      .bytes = kinds[i].bytes,
                                      .neighbours = n};

            sim_bar_part(done++, runs);
            snprintf(metric, sizeof(metric), "exchange_%s_%u", kinds[i].name,
                     n);
            status |= predict_run(options, machine, &predict, metric, "B/s");
        }
    }
    return status;
}
