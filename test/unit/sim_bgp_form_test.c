/*
 * Blue Gene/P: a message of several packets, alone, costs exactly the sum of
 * its parts, in picoseconds: the sender's driver, the DMA, which works while
 * the link sends, the torus, the other DMA, and the receiver's driver, which
 * here looks when all is in.  With one corrupted packet: a resend more.
 */
#include "support/cm.h"
#include "support/sim_dev.h"

#include "host/bus.h"
#include "host/copy.h"
#include "net/torus.h"
#include "nicsim_bgp.h"
#include "nicsim_port.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HDR_BYTES = 8,
    PACKETS_MAX = 16,
    IDLE_PS = 100000000 /* longer than any message here */
};

struct scene {
    const struct ns_machine *machine;
    uint32_t data_bytes;
    uint64_t seed;
    /* results */
    uint64_t looked_ps; /* the receiver looks */
    uint64_t landed_ps; /* the last packet was in memory */
    uint64_t hit;       /* packets that were corrupted until then */
    struct ns_marks marks;
    struct ns_sim_result result;
};

struct node {
    struct am_dev *dev;
    struct am_dev_ep *eps[2];
    uint64_t stats[AM_DEV_STAT_COUNT];
    char error[128];
    uint32_t got;
};

static void packet(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct node *node = user;

    node->got++;
}

/* The time of the last record "dma in" of node 1, of the whole timeline. */
static uint64_t landed_ps(const struct ns_engine *engine)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    uint64_t last_ps = 0;

    assert_non_null(file);
    assert_int_equal(ns_engine_trace_write(engine, file), 0);
    assert_int_equal(fclose(file), 0);
    for (const char *at = text, *end; (end = strchr(at, '\n')) != NULL;
         at = end + 1) {
        uint64_t us, ps;
        uint32_t node;

        if (sscanf(at,
                   "{\"name\":\"dma "
                   "in\",\"ph\":\"i\",\"s\":\"t\",\"ts\":%" SCNu64 ".%6" SCNu64
                   ",\"pid\":%" SCNu32,
                   &us, &ps, &node) == 3 &&
            node == 1 && us * 1000000 + ps > last_ps) {
            last_ps = us * 1000000 + ps;
        }
    }
    free(text);
    return last_ps;
}

static void send_one(struct scene *scene, struct ns_sim_node *view,
                     struct node *node)
{
    static const uint8_t data[2048];
    const uint64_t hdr = 1;

    ns_marks_arm(ns_sim_engine(view->sim));
    ns_mark(ns_sim_engine(view->sim), NS_STAGE_CALL, am_env_now(view->env));
    assert_int_equal(node->dev->ops->send(node->eps[1], AM_DEV_REQUEST, &hdr,
                                          sizeof(hdr), data, scene->data_bytes),
                     AM_OK);
}

static void body(void *arg, struct ns_sim_node *view)
{
    struct scene *scene = arg;
    struct node node = {0};
    void *users[2] = {&node, &node};
    const struct am_dev_params params = {
            .up = {.arg = &node, .packet = packet},
            .stats = node.stats,
            .error = node.error,
            .error_bytes = sizeof(node.error),
    };

    node.dev = sim_dev_open(view, params, users, node.eps);
    ns_sim_barrier(view);
    if (view->rank == 0) {
        send_one(scene, view, &node);
    }
    ns_sim_compute(view, IDLE_PS);
    if (view->rank == 1) {
        scene->landed_ps = landed_ps(ns_sim_engine(view->sim));
        scene->hit = ns_engine_faults(ns_sim_engine(view->sim))->corrupted;
        scene->looked_ps = am_env_now(view->env);
        assert_int_equal(node.dev->ops->poll(node.dev, 1), 1);
        assert_int_equal(node.got, 1);
        scene->marks = *ns_marks_get(ns_sim_engine(view->sim));
    }
    sim_dev_close(view, node.dev);
}

static void run(struct scene *scene)
{
    const struct ns_sim_params params = {
            .nodes = 2, .seed = scene->seed, .trace_records = 256};
    char error[256] = "";
    struct ns_sim *sim =
            ns_sim_open(scene->machine, &params, error, sizeof(error));

    if (sim == NULL || ns_sim_run(sim, body, scene, &scene->result, error,
                                  sizeof(error)) != 0) {
        fail_msg("%s", error);
    }
    ns_sim_close(sim);
}

/* ------------------------------------------------------------ the sum of it */

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A load or store of `bytes`, `lines` of whose lines are fetched. */
static uint64_t touch_ps(const struct ns_host_settings *host, uint64_t bytes,
                         uint64_t lines)
{
    return ns_bytes_ps(lines * host->line_bytes,
                       host->memory_bytes_per_second) +
           ns_copy_ps(host, NS_MEMORY_SHARED, bytes);
}

static uint32_t packet_bytes(uint32_t all, uint32_t index)
{
    uint32_t left = all - index * NS_BGP_PAYLOAD_BYTES;

    return NS_BGP_HEADER_BYTES +
           (left < NS_BGP_PAYLOAD_BYTES ? left : NS_BGP_PAYLOAD_BYTES);
}

static uint32_t packet_count(uint32_t all)
{
    return (all + NS_BGP_PAYLOAD_BYTES - 1) / NS_BGP_PAYLOAD_BYTES;
}

/* From the call to the doorbell's end. */
static uint64_t driver_out_ps(const struct ns_machine *machine, uint32_t all)
{
    const struct ns_host_settings *host = &machine->host;

    /* the last line is fetched if the message does not cover it */
    return host->send_ps + touch_ps(host, all, all % host->line_bytes != 0) +
           touch_ps(host, NS_BGP_DESCRIPTOR_BYTES, 0) + host->pio_ps;
}

/* The doorbell rings at `bell_ps`: when the last packet is in memory.  Each
 * packet waits for the one before it at each place, the DMA for room in the
 * injection queue, and the link for that of two packets in the next router (the
 * bubble rule). */
static uint64_t wire_ps(const struct ns_machine *machine, uint32_t all,
                        uint64_t bell_ps)
{
    const struct ns_torus_settings *torus = &machine->torus;
    const struct ns_bgp_settings *bgp = &machine->bgp;
    uint64_t out_ps = bell_ps + bgp->descriptor_cycles * bgp->clock_ps;
    uint64_t link[PACKETS_MAX], tail[PACKETS_MAX], free_ps = 0, in_ps = 0;
    uint32_t room = (uint32_t)torus->buffer_bytes / NS_TORUS_BYTES_MAX;
    uint64_t cycle_ps = torus->clock_ps;

    for (uint32_t i = 0; i < packet_count(all); i++) {
        uint32_t bytes = packet_bytes(all, i);
        uint64_t engine_ps = bgp->packet_cycles * bgp->clock_ps +
                             ns_bus_dma_ps(&machine->bus, bytes);

        out_ps = max(out_ps, i < room ? 0 : link[i - room]) + engine_ps;
        free_ps = max(free_ps, i + 1 < room ? 0 : tail[i + 1 - room]);
        /* an edge of the torus's clock */
        link[i] = max(free_ps, (out_ps + cycle_ps - 1) / cycle_ps * cycle_ps);
        free_ps = link[i] + (bytes + torus->overhead_bytes) * cycle_ps;
        tail[i] = free_ps + torus->hop_cycles * cycle_ps;
        in_ps = max(in_ps, tail[i]) + engine_ps;
    }
    return in_ps;
}

/* The receiver looks once and takes all packets. */
static uint64_t driver_in_ps(const struct ns_machine *machine, uint32_t all)
{
    const struct ns_host_settings *host = &machine->host;
    uint64_t sum_ps = host->receive_ps;

    for (uint32_t i = 0; i < packet_count(all); i++) {
        uint32_t bytes = packet_bytes(all, i);
        uint64_t lines = (bytes + host->line_bytes - 1) / host->line_bytes;

        /* a look each; the header's line, then the others */
        sum_ps += host->poll_ps + touch_ps(host, NS_BGP_HEADER_BYTES, 1) +
                  touch_ps(host, bytes - NS_BGP_HEADER_BYTES, lines - 1);
    }
    return sum_ps + touch_ps(host, NS_BGP_STATUS_SHORT, 1);
}

static void check(const char *set, uint32_t data_bytes)
{
    char error[200] = "";
    struct ns_machine *machine =
            ns_machine_load("bgp", &set, set != NULL, error, sizeof(error));
    struct scene scene = {.machine = machine, .data_bytes = data_bytes};
    const uint64_t *time_ps = scene.marks.time_ps;
    uint32_t all = HDR_BYTES + data_bytes;
    uint64_t bell_ps;

    assert_non_null(machine);
    run(&scene);
    bell_ps = time_ps[NS_STAGE_CALL] + driver_out_ps(machine, all);
    assert_int_equal(time_ps[NS_STAGE_BELL], bell_ps);
    assert_int_equal(scene.landed_ps, wire_ps(machine, all, bell_ps));
    assert_int_equal(time_ps[NS_STAGE_COPIED],
                     scene.looked_ps + driver_in_ps(machine, all));
    free(machine);
}

static void test_form(void **state)
{
    static const char *const sets[] = {
            NULL,
            "nic.descriptor=100 cycles",
            "nic.packet=31 cycles",
            "nic.packet=400 cycles", /* the DMA is slower than the link */
            "bus.rate=300 MB/s",     /* so is the bus */
            "net.buffer=512 B",      /* the bubble rule: one packet at a time */
            "net.clock=300 MHz",
            "net.hop=77 cycles",
            "net.overhead=0 B",
            "host.driver_receive=50 ns",
    };
    static const uint32_t sizes[] = {0, 100, 232, 233, 500, 1000, 1500, 2040};

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            check(sets[i], sizes[k]);
        }
    }
}

/* A link that corrupts one packet in ten: where it has hit one of the message's
 * only, that costs its time once more, there and back, and the nack. */
static void test_resend(void **state)
{
    const char *const sets[] = {"net.fault.corrupt=1/10",
                                "net.fault.port=x+.0"};
    char error[200] = "";
    struct ns_machine *machine =
            ns_machine_load("bgp", sets, 2, error, sizeof(error));
    const struct ns_torus_settings *torus;
    uint32_t all = 5 * NS_BGP_PAYLOAD_BYTES, ones = 0; /* full packets */

    assert_non_null(machine);
    torus = &machine->torus;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct scene scene = {.machine = machine,
                              .data_bytes = all - HDR_BYTES,
                              .seed = seed};
        uint64_t try_ps = (NS_TORUS_BYTES_MAX + torus->overhead_bytes +
                           2 * torus->hop_cycles + torus->nack_bytes) *
                          torus->clock_ps;

        run(&scene);
        assert_int_equal(
                scene.landed_ps,
                wire_ps(machine, all, scene.marks.time_ps[NS_STAGE_BELL]) +
                        scene.hit * try_ps);
        ones += scene.hit == 1;
    }
    assert_true(ones > 0);
    free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_form),
            cmocka_unit_test(test_resend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
