/*
 * The simulated NICs with their drivers, below channels: closed forms, loss by
 * overflow, conservation, and the same trace however it is run.
 */
#include "support/cm.h"
#include "support/sim_dev.h"

#include "dev/snic/snic.h"
#include "host/bus.h"
#include "host/copy.h"
#include "net/myrinet.h"
#include "nicsim_bgp.h"
#include "nicsim_lanai.h"
#include "nicsim_sim.h"
#include "nicsim_tb2.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX 16

/* What one run does, and what it found. */
struct scene {
    struct ns_machine *machine;
    struct ns_sim_params params;
    uint32_t pings;       /* round trips between nodes 0 and 1 */
    uint32_t flood;       /* packets from each other node to node 0 */
    uint32_t flood_bytes; /* data of each */
    bool slow;            /* node 0 does not poll while they come */
    bool not_ready;       /* node 0 refuses requests for a while */
    const char *set;      /* key=value, or NULL */
    /* results */
    uint64_t half_round_trip_ps;
    uint64_t flood_received;
    struct ns_marks marks;
    struct ns_sim_result result;
};

enum {
    PING = 1,
    PONG,
    FLOOD
};

struct node;

struct peer {
    struct node *node;
    struct am_dev_ep *ep;
    uint64_t flood_next; /* its packets come in order */
};

struct node {
    struct scene *scene;
    struct ns_sim_node *view;
    struct am_dev *dev;
    struct peer peers[NODES_MAX];
    uint64_t stats[AM_DEV_STAT_COUNT];
    char error[128];
    uint32_t pongs, floods;
    bool ready;
};

static void send_word(struct peer *peer, uint32_t class, uint64_t kind,
                      uint64_t value, uint32_t data_bytes)
{
    const uint64_t hdr = kind << 48 | value;
    static const uint8_t data[4096];
    struct am_dev *dev = peer->node->dev;

    while (dev->ops->send(peer->ep, class, &hdr, sizeof(hdr), data,
                          data_bytes) == AM_ERR_AGAIN) {
    }
}

static void packet(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct peer *peer = user;
    uint64_t word;

    (void)data;
    (void)data_bytes;
    assert_int_equal(hdr_bytes, sizeof(word));
    memcpy(&word, hdr, sizeof(word));
    switch (word >> 48) {
    case PING:
        assert_int_equal(class, AM_DEV_REQUEST);
        send_word(peer, AM_DEV_REPLY, PONG, 0, 0);
        peer->node->pongs++;
        break;
    case PONG:
        assert_int_equal(class, AM_DEV_REPLY);
        peer->node->pongs++;
        break;
    default:
        assert_int_equal(word >> 48, FLOOD);
        assert_true(peer->node->ready);
        assert_true((word & 0xffffffff) >= peer->flood_next);
        peer->flood_next = (word & 0xffffffff) + 1;
        peer->node->floods++;
        break;
    }
}

static bool ready(void *user)
{
    return ((struct peer *)user)->node->ready;
}

static void *accept_peer(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    struct node *node = arg;

    assert_true(rank < NODES_MAX);
    node->peers[rank].ep = ep;
    return &node->peers[rank];
}

static void node_open(struct node *node, struct scene *scene,
                      struct ns_sim_node *view)
{
    const struct am_dev_params params = {
            .up = {node, packet, ready, accept_peer, NULL},
            .stats = node->stats,
            .error = node->error,
            .error_bytes = sizeof(node->error),
    };
    struct am_dev_ep *eps[NODES_MAX] = {NULL};
    void *users[NODES_MAX];

    *node = (struct node){.scene = scene, .view = view, .ready = true};
    for (uint32_t i = 0; i < view->size; i++) {
        node->peers[i].node = node;
        users[i] = &node->peers[i];
    }
    node->dev = sim_dev_open(view, params, users, eps);
    for (uint32_t i = 0; i < view->size; i++) {
        node->peers[i].ep = eps[i];
    }
    ns_sim_barrier(view);
}

static void poll_until(struct node *node, const uint32_t *count,
                       uint32_t wanted)
{
    while (*count < wanted) {
        if (node->dev->ops->poll(node->dev, 64) == 0) {
            node->dev->ops->wait(node->dev, 1, true);
        }
    }
}

static void ping_pong(struct node *node)
{
    struct scene *scene = node->scene;
    struct ns_engine *engine = ns_sim_engine(node->view->sim);
    uint64_t from_ps = am_env_now(node->view->env);

    for (uint32_t i = 0; i < scene->pings; i++) {
        if (node->view->rank == 0) {
            if (i + 1 == scene->pings) { /* after a quiet time */
                ns_sim_work(node->view, 400 * UINT64_C(1000000));
                node->dev->ops->poll(node->dev, 1); /* virtual time follows */
                ns_marks_arm(engine);
                ns_mark(engine, NS_STAGE_CALL, am_env_now(node->view->env));
            }
            send_word(&node->peers[1], AM_DEV_REQUEST, PING, i, 0);
        }
        poll_until(node, &node->pongs, i + 1);
    }
    if (node->view->rank == 0 && scene->pings > 0) {
        scene->half_round_trip_ps =
                (am_env_now(node->view->env) - from_ps) / (2 * scene->pings);
    }
}

/* Polls a number of times; with a pause that lets everything arrive first. */
static void flood_receive(struct node *node)
{
    struct scene *scene = node->scene;
    uint32_t all = scene->flood * (node->view->size - 1);

    if (scene->slow) {
        ns_sim_work(node->view, 8000 * UINT64_C(1000000));
        for (int i = 0; i < 2000; i++) {
            node->dev->ops->poll(node->dev, 64);
        }
    } else if (scene->not_ready) {
        node->ready = false;
        for (int i = 0; i < 100; i++) {
            node->dev->ops->poll(node->dev, 64);
        }
        node->ready = true;
        poll_until(node, &node->floods, all);
    } else {
        poll_until(node, &node->floods, all);
    }
    scene->flood_received = node->floods;
}

static void body(void *arg, struct ns_sim_node *view)
{
    struct scene *scene = arg;
    struct node node;

    node_open(&node, scene, view);
    if (view->rank < 2) {
        ping_pong(&node);
    }
    if (scene->flood > 0 && view->rank == 0) {
        flood_receive(&node);
    }
    for (uint32_t i = 0; i < scene->flood && view->rank > 0; i++) {
        send_word(&node.peers[0], AM_DEV_REQUEST, FLOOD, i, scene->flood_bytes);
    }
    if (view->rank > 0) {
        node.dev->ops->poll(node.dev, 1);
    }
    ns_sim_barrier(view);
    node.dev->ops->close(node.dev);
}

static uint64_t run(struct scene *scene, const char *machine)
{
    char error[256] = "";
    struct ns_sim *sim;

    scene->machine = ns_machine_load(machine, &scene->set, scene->set != NULL,
                                     error, sizeof(error));
    assert_non_null(scene->machine);
    scene->params.limit_ps = 10 * NS_PS_PER_SECOND;
    sim = ns_sim_open(scene->machine, &scene->params, error, sizeof(error));
    assert_non_null(sim);
    if (ns_sim_run(sim, body, scene, &scene->result, error, sizeof(error)) !=
        0) {
        fail_msg("%s", error);
    }
    scene->marks = *ns_marks_get(ns_sim_engine(sim));
    ns_sim_close(sim);
    return scene->result.hash;
}

static void scene_close(struct scene *scene)
{
    free(scene->machine);
}

/* --------------------------------------------------------------- closed form */

static uint64_t stage_ps(const struct scene *scene, ns_stage_t stage)
{
    assert_true(scene->marks.seen[stage] && scene->marks.seen[stage - 1]);
    return scene->marks.time_ps[stage] - scene->marks.time_ps[stage - 1];
}

static void check_sum(const struct scene *scene)
{
    uint64_t sum_ps = 0;

    uint64_t before_ps = scene->marks.time_ps[NS_STAGE_CALL];

    for (int stage = 1; stage <= NS_STAGE_COPIED; stage++) {
        if (scene->marks.seen[stage]) {
            assert_true(scene->marks.time_ps[stage] >= before_ps);
            sum_ps += scene->marks.time_ps[stage] - before_ps;
            before_ps = scene->marks.time_ps[stage];
        }
    }
    assert_int_equal(sum_ps, scene->marks.time_ps[NS_STAGE_COPIED] -
                                     scene->marks.time_ps[NS_STAGE_CALL]);
}

/* An uncontended packet costs exactly the sum of its parts. */
static void closed_form(const char *machine)
{
    struct scene scene = {.params = {.nodes = 2}, .pings = 40};
    uint64_t bytes = NS_TB2_HEADER_BYTES + 8; /* one word, no data */
    const struct ns_host_settings *host;
    const struct ns_tb2_settings *tb2;
    uint64_t lines, line_ps, copy_ps;

    run(&scene, machine);
    host = &scene.machine->host;
    tb2 = &scene.machine->tb2;
    lines = (bytes + host->line_bytes - 1) / host->line_bytes;
    line_ps = ns_bytes_ps(lines * host->line_bytes,
                          host->memory_bytes_per_second);
    copy_ps = ns_copy_ps(host, NS_MEMORY_SHARED, bytes);
    /* the line is fetched, as 16 bytes do not cover it, and written back */
    assert_int_equal(stage_ps(&scene, NS_STAGE_BUILD),
                     host->send_ps + 2 * line_ps + copy_ps +
                             lines * host->clock_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_BELL), host->pio_ps);
    /* seen at the next edge of the i860's clock */
    assert_true(stage_ps(&scene, NS_STAGE_SEEN) <= tb2->clock_ps);
    assert_int_equal(scene.marks.time_ps[NS_STAGE_SEEN] % tb2->clock_ps, 0);
    assert_int_equal(stage_ps(&scene, NS_STAGE_FW_OUT),
                     tb2->packet_cycles * tb2->clock_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_DMA_OUT),
                     tb2->dma_start_ps +
                             ns_bus_dma_ps(&scene.machine->bus, bytes));
    assert_int_equal(stage_ps(&scene, NS_STAGE_INJECT), 0);
    assert_int_equal(stage_ps(&scene, NS_STAGE_HEAD),
                     4 * scene.machine->sp.hop_ps);
    assert_int_equal(
            stage_ps(&scene, NS_STAGE_TAIL),
            ns_bytes_ps(bytes, scene.machine->sp.link_bytes_per_second));
    assert_true(stage_ps(&scene, NS_STAGE_FW_WAIT) <= tb2->clock_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_FW_IN),
                     tb2->packet_cycles * tb2->clock_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_DMA_IN),
                     tb2->dma_start_ps +
                             ns_bus_dma_ps(&scene.machine->bus, bytes));
    check_sum(&scene);
    scene_close(&scene);
}

/* Cycles of flow control for each packet on either side. */
static uint64_t flow_cycles(const struct ns_lanai_settings *lanai)
{
    return lanai->reliability == NS_LANAI_NONE ? lanai->window_cycles
           : lanai->reliability == NS_LANAI_NI ? lanai->retransmit_cycles
                                               : 0;
}

/* The host's part of sending `bytes`, by DMA or PIO. */
static uint64_t lanai_build_ps(const struct ns_machine *machine, uint64_t bytes)
{
    const struct ns_host_settings *host = &machine->host;
    uint64_t own_ps = host->send_ps;
    uint64_t left = bytes;

    if (machine->lanai.reliability == NS_LANAI_HOST) {
        own_ps += host->reliable_send_ps;
    }
    if (machine->lanai.transfer != NS_LANAI_PIO) {
        /* the line is fetched, as the DMA has taken it out of the cache */
        return own_ps + host->memory_latency_ps +
               ns_bytes_ps(host->line_bytes, host->memory_bytes_per_second) +
               ns_copy_ps(host, NS_MEMORY_SHARED, bytes);
    }
    while (left > 0) {
        uint64_t line = left < host->line_bytes ? left : host->line_bytes;

        own_ps += ns_bytes_ps(line, host->pio_stream_bytes_per_second);
        left -= line;
    }
    return own_ps;
}

/* The same on Myrinet, between neighbours, under settings of lanai. */
static void closed_form_lanai(const char *machine, const char *set)
{
    struct scene scene = {.params = {.nodes = 2}, .pings = 40, .set = set};
    uint64_t bytes = NS_LANAI_HEADER_BYTES + 8;
    const struct ns_machine *all;
    const struct ns_lanai_settings *lanai;
    const struct ns_myrinet_settings *net;
    bool pio;

    run(&scene, machine);
    all = scene.machine;
    lanai = &all->lanai;
    net = &all->myrinet;
    pio = lanai->transfer == NS_LANAI_PIO;
    assert_int_equal(stage_ps(&scene, NS_STAGE_BUILD),
                     lanai_build_ps(all, bytes));
    assert_int_equal(stage_ps(&scene, NS_STAGE_BELL),
                     (pio ? 1 : 2) * all->host.pio_ps);
    assert_true(stage_ps(&scene, NS_STAGE_SEEN) <= lanai->clock_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_FW_OUT),
                     (lanai->send_cycles + flow_cycles(lanai) +
                      (pio ? 0 : lanai->host_dma_cycles)) *
                             lanai->clock_ps);
    if (!pio) {
        assert_int_equal(stage_ps(&scene, NS_STAGE_DMA_OUT),
                         ns_bus_dma_ps(&all->bus, bytes));
        assert_int_equal(stage_ps(&scene, NS_STAGE_INJECT), 0);
    }
    assert_int_equal(stage_ps(&scene, NS_STAGE_HEAD),
                     ns_myrinet_switches(net, 0, 1) * net->switch_ps +
                             2 * net->fibre_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_TAIL),
                     ns_bytes_ps(bytes + 16, net->link_bytes_per_second));
    assert_true(stage_ps(&scene, NS_STAGE_FW_WAIT) <= lanai->clock_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_FW_IN),
                     (lanai->receive_cycles + flow_cycles(lanai) +
                      lanai->host_dma_cycles) *
                             lanai->clock_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_DMA_IN),
                     ns_bus_dma_ps(&all->bus, bytes));
    check_sum(&scene);
    scene_close(&scene);
}

/* A load or store of `bytes`, `lines` of whose lines are fetched. */
static uint64_t touch_ps(const struct ns_host_settings *host, uint64_t bytes,
                         uint64_t lines)
{
    return lines * host->memory_latency_ps +
           ns_bytes_ps(lines * host->line_bytes,
                       host->memory_bytes_per_second) +
           ns_copy_ps(host, NS_MEMORY_SHARED, bytes);
}

/* The same on Blue Gene/P, one hop: descriptor, DMA, torus, DMA. */
static void closed_form_bgp(const char *set)
{
    struct scene scene = {.params = {.nodes = 2}, .pings = 40, .set = set};
    const uint64_t *time_ps = scene.marks.time_ps;
    const struct ns_torus_settings *torus;
    const struct ns_host_settings *host;
    const struct ns_bgp_settings *bgp;
    uint64_t bytes = NS_BGP_HEADER_BYTES + 8; /* one word, no data */
    uint64_t engine_ps, out_ps, status_ps, polled_ps;

    run(&scene, "bgp");
    torus = &scene.machine->torus;
    host = &scene.machine->host;
    bgp = &scene.machine->bgp;
    engine_ps = bgp->packet_cycles * bgp->clock_ps +
                ns_bus_dma_ps(&scene.machine->bus, bytes);
    /* the word's line is fetched; the descriptor may cover its own */
    assert_int_equal(
            stage_ps(&scene, NS_STAGE_BUILD),
            host->send_ps + touch_ps(host, 8, 1) +
                    touch_ps(host, NS_BGP_DESCRIPTOR_BYTES,
                             host->line_bytes > NS_BGP_DESCRIPTOR_BYTES));
    assert_int_equal(stage_ps(&scene, NS_STAGE_BELL), host->pio_ps);
    /* from the doorbell to memory: the whole is the sum, to the picosecond */
    out_ps = time_ps[NS_STAGE_BELL] + bgp->descriptor_cycles * bgp->clock_ps +
             engine_ps;
    assert_int_equal(time_ps[NS_STAGE_DMA_OUT], out_ps);
    /* at the next edge of the torus's clock */
    out_ps = (out_ps + torus->clock_ps - 1) / torus->clock_ps * torus->clock_ps;
    assert_int_equal(time_ps[NS_STAGE_INJECT], out_ps);
    assert_int_equal(
            time_ps[NS_STAGE_DMA_IN],
            out_ps +
                    (torus->hop_cycles + torus->overhead_bytes + bytes) *
                            torus->clock_ps +
                    engine_ps);
    assert_int_equal(stage_ps(&scene, NS_STAGE_HEAD),
                     torus->hop_cycles * torus->clock_ps);
    /* the status block and the header, after at most one look in vain */
    status_ps = touch_ps(host, NS_BGP_STATUS_SHORT, 1) +
                touch_ps(host, NS_BGP_HEADER_BYTES, 1);
    polled_ps = time_ps[NS_STAGE_POLLED] - time_ps[NS_STAGE_DMA_IN];
    assert_in_range(polled_ps, status_ps,
                    status_ps + host->poll_ps +
                            touch_ps(host, NS_BGP_STATUS_SHORT, 0));
    assert_int_equal(stage_ps(&scene, NS_STAGE_COPIED),
                     touch_ps(host, 8, 0) + host->receive_ps);
    check_sum(&scene);
    scene_close(&scene);
}

static void test_closed_form(void **state)
{
    (void)state;
    closed_form_lanai("myrinet-ppro", NULL);
    closed_form_lanai("myrinet-ppro", "lanai.transfer=pio");
    closed_form_lanai("myrinet-ppro", "lanai.reliability=ni");
    closed_form_lanai("myrinet-ppro", "lanai.reliability=host");
    closed_form_lanai("myrinet-ppro", "lanai.transfer=rcpy");
    closed_form_lanai("myrinet-ppro", "net.topology=clos");
    closed_form_lanai("myrinet-p3", NULL);
    closed_form("sp-thin");
    closed_form("sp-wide");
    closed_form_bgp(NULL);
    closed_form_bgp("nic.descriptor=100 cycles");
    closed_form_bgp("nic.packet=31 cycles");
    closed_form_bgp("net.clock=300 MHz");
    closed_form_bgp("net.hop=77 cycles");
    closed_form_bgp("net.overhead=0 B");
    closed_form_bgp("bus.rate=1 GB/s");
    closed_form_bgp("host.cache_line=64 B");
}

/* ------------------------------------------------------------ loss and floods */

static void test_flood(void **state)
{
    struct scene scene = {
            .params = {.nodes = 8}, .flood = 100, .flood_bytes = 216};

    (void)state;
    run(&scene, "sp-thin");
    assert_int_equal(scene.flood_received, 700);
    assert_int_equal(scene.result.dropped, 0);
    assert_int_equal(scene.result.packets, 700);
    scene_close(&scene);
}

/* Myrinet: back-pressure and credits, no loss, however slow the host is. */
static void test_no_loss(void **state)
{
    struct scene scene = {.params = {.nodes = 16},
                          .flood = 60,
                          .flood_bytes = 2000,
                          .slow = true};

    (void)state;
    run(&scene, "myrinet-ppro");
    assert_int_equal(scene.flood_received, 900);
    assert_int_equal(scene.result.dropped, 0);
    scene_close(&scene);
}

/* A host that does not poll loses what its FIFO cannot hold, and only that. */
static void test_overflow(void **state)
{
    struct scene scene = {.params = {.nodes = 3},
                          .flood = 300,
                          .flood_bytes = 100,
                          .slow = true};
    uint64_t fifo;

    (void)state;
    run(&scene, "sp-thin");
    fifo = scene.machine->tb2.receive_entries * 2; /* of two senders */
    assert_true(scene.result.dropped > 0);
    assert_true(scene.flood_received >= fifo);
    assert_int_equal(scene.flood_received + scene.result.dropped, 600);
    scene_close(&scene);
}

/* Requests wait while the layer above is not ready; none is lost below the
 * bound, and none overtakes. */
static void test_not_ready(void **state)
{
    struct scene scene = {
            .params = {.nodes = 2}, .flood = SNIC_HELD_MAX, .not_ready = true};

    (void)state;
    run(&scene, "sp-thin");
    assert_int_equal(scene.flood_received, SNIC_HELD_MAX);
    scene_close(&scene);
}

/* -------------------------------------------------------------- determinism */

static uint64_t variant(const char *machine, const char *set, bool no_sleep,
                        bool no_jump, bool threads, uint64_t *events)
{
    struct scene scene = {.params = {.nodes = 4,
                                     .no_sleep = no_sleep,
                                     .no_jump = no_jump,
                                     .threads = threads},
                          .pings = 20,
                          .flood = 30,
                          .flood_bytes = 77,
                          .set = set};
    uint64_t hash = run(&scene, machine);

    assert_int_equal(scene.flood_received, 90);
    *events = scene.result.events;
    scene_close(&scene);
    return hash;
}

static void determinism(const char *machine, const char *set)
{
    uint64_t events, other;
    uint64_t hash = variant(machine, set, false, false, false, &events);

    for (int i = 0; i < 100; i++) {
        assert_int_equal(variant(machine, set, false, false, false, &other),
                         hash);
        assert_int_equal(other, events);
    }
    assert_int_equal(variant(machine, set, true, false, false, &other), hash);
    assert_true(other > 10 * events); /* clocks did run all the time */
    assert_int_equal(variant(machine, set, false, true, false, &other), hash);
    assert_int_equal(variant(machine, set, false, false, true, &other), hash);
    assert_int_equal(other, events);
    assert_int_equal(variant(machine, set, true, true, true, &other), hash);
}

static void test_determinism(void **state)
{
    (void)state;
    determinism("sp-thin", NULL);
    determinism("sp-wide", NULL);
    determinism("myrinet-ppro", NULL);
    determinism("myrinet-ppro", "lanai.reliability=ni");
    determinism("myrinet-ppro", "lanai.reliability=host");
    determinism("myrinet-ppro", "lanai.transfer=pio");
    determinism("myrinet-ppro", "lanai.transfer=rcpy");
    determinism("myrinet-ppro", "lanai.mtu=4k");
    determinism("myrinet-p3", NULL);
    determinism("bgp", NULL);
    determinism("bgp", "nic.processes=4 processes");
    determinism("bgp", "net.fault.corrupt=1/5");
}

/* The sum is a different one when a number of the machine is. */
static void test_hash_differs(void **state)
{
    struct scene thin = {.params = {.nodes = 2}, .pings = 3};
    struct scene wide = {.params = {.nodes = 2}, .pings = 3};

    (void)state;
    assert_int_not_equal(run(&thin, "sp-thin"), run(&wide, "sp-wide"));
    scene_close(&thin);
    scene_close(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_closed_form),
            cmocka_unit_test(test_flood),
            cmocka_unit_test(test_no_loss),
            cmocka_unit_test(test_overflow),
            cmocka_unit_test(test_not_ready),
            cmocka_unit_test(test_determinism),
            cmocka_unit_test(test_hash_differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
