/*
 * The settings of the LANai: what does not fit is refused; go-back-N between
 * NIs delivers everything once and in order when packets are spoilt or find no
 * room; multicasts reach all nodes along both trees; hosts that compute are
 * interrupted; the same trace however it is run.
 */
#include "support/cm.h"
#include "support/sim_scene.h"

#include "dev/snic/snic.h"

#include <stdlib.h>
#include <string.h>

#define PACKETS 60

/* --------------------------------------------------------------- all to all */

static void send_number(struct node *node, uint32_t to, uint64_t number,
                        size_t bytes)
{
    uint8_t data[2000];

    for (size_t i = 0; i < bytes; i++) {
        data[i] = data_byte(node->view->rank, number, i);
    }
    while (node->dev->ops->send(node->peers[to].ep, AM_DEV_REPLY, &number,
                                sizeof(number), data, bytes) == AM_ERR_AGAIN) {
        sim_dev_poll(node->dev);
    }
}

static void all_to_all(struct scene *scene, struct node *node)
{
    struct ns_sim_node *view = node->view;

    for (uint64_t number = 0; number < PACKETS; number++) {
        for (uint32_t i = 1; i < view->size; i++) {
            send_number(node, (view->rank + i) % view->size, number,
                        number * 37 % 900);
        }
        (void)node->dev->ops->poll(node->dev, 4);
    }
    while (node->got < PACKETS * (view->size - 1)) {
        sim_dev_poll(node->dev);
    }
    node_close(node);
    scene->answer++;
}

static void body_all(struct scene *scene, struct ns_sim_node *view)
{
    all_to_all(scene, node_open(view));
}

static void test_spoilt_packets(void **state)
{
    struct scene scene = {
            .sets = {"lanai.reliability=ni", "net.fault.corrupt=1/50"},
            .set_count = 2,
            .params = {.nodes = 8},
            .body = body_all};

    (void)state;
    scene_good(&scene, "myrinet-ppro");
    assert_int_equal(scene.answer, 8);
    assert_true(scene.result.dropped > 50);
    scene.sets[2] = "lanai.transfer=pio";
    scene.sets[3] = "lanai.mtu=1k";
    scene.sets[4] = "net.topology=clos";
    scene.set_count = 5;
    scene_good(&scene, "myrinet-ppro");
    assert_int_equal(scene.answer, 16);
}

/* Each fault of a link happens, and no other; all is delivered, once and in
 * order.  Rare stalls lose nothing, and change the times. */
static void test_faults(void **state)
{
    static const char *const sets[] = {
            "net.fault.drop=1/50", "net.fault.overflow=1/500",
            "net.fault.corrupt=1/50", "net.fault.stall=1/20"};
    struct scene scene = {.sets = {"lanai.reliability=ni"},
                          .set_count = 1,
                          .params = {.nodes = 6},
                          .body = body_all};
    uint64_t end_ps;

    (void)state;
    scene_good(&scene, "myrinet-ppro");
    assert_int_equal(scene.result.dropped, 0);
    end_ps = scene.result.end_ps;
    scene.set_count = 2;
    for (int i = 0; i < 4; i++) {
        const struct ns_fault_counts *faults = &scene.result.faults;

        scene.answer = 0;
        scene.sets[1] = sets[i];
        scene_good(&scene, "myrinet-ppro");
        assert_int_equal(scene.answer, 6);
        assert_int_equal(faults->dropped > 0, i == 0);
        assert_int_equal(faults->overflowed > 0, i == 1);
        assert_int_equal(faults->corrupted > 0, i == 2);
        assert_int_equal(faults->stalled > 0, i == 3);
        assert_int_equal(scene.result.dropped > 0, i < 3);
        assert_int_not_equal(scene.result.end_ps, end_ps);
    }
}

/* The pool of receive buffers is far too small for all senders. */
static void test_no_room(void **state)
{
    struct scene scene = {.sets = {"lanai.reliability=ni",
                                   "nic.receive_memory=8 KiB",
                                   "nic.host_buffers=4 buffers"},
                          .set_count = 3,
                          .params = {.nodes = 6},
                          .body = body_all};

    (void)state;
    scene_good(&scene, "myrinet-ppro");
    assert_int_equal(scene.answer, 6);
    assert_true(scene.result.dropped > 0);
}

/* A run that fails ends with its nodes open; here the leak checker
 * sees who has them. */
static struct node *left_open[NODES_MAX];

static void body_left_open(struct scene *scene, struct ns_sim_node *view)
{
    left_open[view->rank] = node_open(view);
    all_to_all(scene, left_open[view->rank]);
}

static void test_trusting(void **state)
{
    struct scene scene = {.sets = {"net.fault.corrupt=1/50"},
                          .set_count = 1,
                          .params = {.nodes = 4},
                          .body = body_left_open};

    (void)state;
    assert_int_equal(scene_run(&scene, "myrinet-ppro"), -1);
    assert_non_null(strstr(scene.error, "wrong CRC"));
}

/* ---------------------------------------------------------------- multicast */

static void body_mcast(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);
    uint8_t data[2000];
    uint64_t roots = 3, all;

    for (uint64_t number = 0; number < PACKETS && view->rank < roots;
         number++) {
        for (size_t i = 0; i < number * 31; i++) {
            data[i] = data_byte(view->rank, number, i);
        }
        while (snic_network_ops.multicast(node->dev, &number, sizeof(number), data,
                              number * 31) == AM_ERR_AGAIN) {
            sim_dev_poll(node->dev);
        }
    }
    all = PACKETS * (view->rank < roots ? roots - 1 : roots);
    while (node->got < all) {
        sim_dev_poll(node->dev);
    }
    node_close(node);
    scene->answer++;
}

static void test_multicast(void **state)
{
    static const char *const flows[][2] = {
            {"lanai.reliability=none", "net.fault.corrupt=0"},
            {"lanai.reliability=ni", "net.fault.corrupt=1/100"}};
    static const char *const ways[] = {"lanai.multicast=ni",
                                       "lanai.multicast=host"};
    static const char *const trees[] = {"lanai.tree=binary",
                                        "lanai.tree=binomial"};

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct scene scene = {.sets = {flows[i & 1][0], flows[i & 1][1],
                                       ways[i >> 1 & 1], trees[i >> 2]},
                              .set_count = 4,
                              .params = {.nodes = 13},
                              .body = body_mcast};

        scene_good(&scene, i % 2 == 0 ? "myrinet-ppro" : "myrinet-p3");
        assert_int_equal(scene.answer, 13);
    }
}

/* --------------------------------------------------------------- interrupts */

static void interrupted(void *arg)
{
    struct node *node = arg;

    node->done++;
    (void)node->dev->ops->poll(node->dev, 64);
}

#define COMPUTE_PS (1000 * UINT64_C(1000000))

/* Node 1 computes while a packet comes; scene->answer is when it got it. */
static void body_interrupt(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);

    if (view->rank == 0) {
        send_number(node, 1, 0, 8);
    } else {
        uint64_t from_ps = am_env_now(view->env);

        ns_sim_interrupts(view, interrupted, node);
        ns_sim_compute(view, COMPUTE_PS);
        assert_int_equal(node->got, 1);
        assert_int_equal(node->done, 1);
        /* the computation is as long as it was, with the interrupt on top */
        scene->answer = am_env_now(view->env) - from_ps - COMPUTE_PS;
        ns_sim_interrupts(view, NULL, NULL);
    }
    sim_dev_meet(view, node->dev);
    if (view->rank == 0) { /* a host that polls is left alone */
        send_number(node, 1, 1, 8);
    }
    while (view->rank == 1 && node->got < 2) {
        sim_dev_poll(node->dev);
    }
    assert_true(node->done <= 1);
    node_close(node);
}

static void test_interrupt(void **state)
{
    struct scene scene = {.params = {.nodes = 2}, .body = body_interrupt};
    const uint64_t us = 1000000;

    (void)state;
    scene_good(&scene, "myrinet-ppro");
    assert_true(scene.answer > 20 * us && scene.answer < 30 * us);
}

/* ------------------------------------------------------------ what is refused */

static void refused(const char *set, uint32_t nodes, const char *why)
{
    struct scene scene = {.sets = {set},
                          .set_count = 1,
                          .params = {.nodes = nodes},
                          .body = body_all};

    if (strcmp(set, "both") == 0) {
        scene.sets[0] = "lanai.reliability=host";
        scene.sets[1] = "lanai.transfer=rcpy";
        scene.set_count = 2;
    }
    assert_int_equal(scene_run(&scene, "myrinet-ppro"), -1);
    if (strstr(scene.error, why) == NULL) {
        fail_msg("%s: %s", set, scene.error);
    }
    assert_null(strchr(scene.error, '\n'));
}

static void test_refused(void **state)
{
    (void)state;
    refused("nic.receive_memory=768 KiB", 64, "SRAM");
    refused("nic.receive_memory=100 KiB", 64, "buffer of 2048 B for each");
    refused("nic.send_memory=16 KiB", 2, "must hold");
    refused("nic.host_buffers=4000 buffers", 2, "host.shared_memory");
    refused("lanai.mtu=8k", 2, "1k, 2k");
    refused("both", 2, "does not go with");
    refused("net.fault.drop=1/9", 2, "sends them again");
    refused("net.fault.overflow=1/9", 2, "sends them again");
    refused("lanai.mtu=4k", 65, "64 nodes");
}

static bool is_fitted(const char *key)
{
    static const char *const fitted[] = {"host.driver_send",
                                         "host.driver_receive", "nic.dma_start",
                                         "net.fibre"};

    for (size_t i = 0; i < sizeof(fitted) / sizeof(fitted[0]); i++) {
        if (strcmp(key, fitted[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The second machine has its four targets and a setting for each.  As for the
 * rest, cycles are the same, times of host instructions follow from the clocks,
 * and what is PCI's does not change. */
static void test_p3_is_derived(void **state)
{
    char error[256];
    struct ns_machine *ppro =
            ns_machine_load("myrinet-ppro", NULL, 0, error, sizeof(error));
    struct ns_machine *p3 =
            ns_machine_load("myrinet-p3", NULL, 0, error, sizeof(error));

    (void)state;
    assert_non_null(ppro);
    assert_non_null(p3);
    assert_int_equal(ppro->lanai.send_cycles, p3->lanai.send_cycles);
    assert_int_equal(ppro->lanai.receive_cycles, p3->lanai.receive_cycles);
    assert_int_equal(ppro->lanai.host_dma_cycles, p3->lanai.host_dma_cycles);
    assert_int_equal(ppro->lanai.window_cycles, p3->lanai.window_cycles);
    assert_int_equal(ppro->lanai.retransmit_cycles,
                     p3->lanai.retransmit_cycles);
    assert_int_equal(ppro->lanai.remote_cycles, p3->lanai.remote_cycles);
    assert_int_equal(ppro->lanai.done_cycles, p3->lanai.done_cycles);
    assert_int_equal(ppro->lanai.fetched_cycles, p3->lanai.fetched_cycles);
    assert_int_equal(ppro->lanai.fetch_add_cycles, p3->lanai.fetch_add_cycles);
    assert_int_equal(ppro->lanai.dma_start_ps, p3->lanai.dma_start_ps);
    assert_int_equal(ppro->host.pio_ps, p3->host.pio_ps);
    assert_int_equal(ppro->host.fetch_ps, 5 * p3->host.fetch_ps);
    assert_int_equal(ppro->host.poll_ps, 5 * p3->host.poll_ps);
    assert_int_equal(ppro->host.reliable_send_ps,
                     5 * p3->host.reliable_send_ps);
    assert_int_equal(ppro->host.reliable_receive_ps,
                     5 * p3->host.reliable_receive_ps);
    assert_int_equal(ppro->host.tlb_ps, 5 * p3->host.tlb_ps);
    assert_int_equal(ppro->host.notice_ps, 5 * p3->host.notice_ps);
    assert_int_equal(5 * ppro->host.copy.cached_bytes_per_second[0],
                     p3->host.copy.cached_bytes_per_second[0]);
    for (uint32_t i = 0; i < p3->setting_count; i++) {
        assert_int_equal(strcmp(p3->settings[i].kind, "calibrated") == 0,
                         is_fitted(p3->settings[i].key));
    }
    free(ppro);
    free(p3);
}

/* -------------------------------------------------------------- determinism */

static uint64_t hash_of(const char *const *sets, uint32_t count,
                        void (*body)(struct scene *, struct ns_sim_node *),
                        bool no_sleep, bool no_jump, bool threads)
{
    struct scene scene = {.set_count = count,
                          .params = {.nodes = 4,
                                     .no_sleep = no_sleep,
                                     .no_jump = no_jump,
                                     .threads = threads},
                          .body = body};

    memcpy(scene.sets, sets, count * sizeof(*sets));
    scene_good(&scene, "myrinet-p3");
    return scene.result.hash;
}

static void same_trace(const char *const *sets, uint32_t count,
                       void (*body)(struct scene *, struct ns_sim_node *))
{
    uint64_t hash = hash_of(sets, count, body, false, false, false);

    assert_int_equal(hash_of(sets, count, body, false, false, false), hash);
    assert_int_equal(hash_of(sets, count, body, true, false, false), hash);
    assert_int_equal(hash_of(sets, count, body, false, true, false), hash);
    assert_int_equal(hash_of(sets, count, body, false, false, true), hash);
}

static void test_determinism(void **state)
{
    static const char *const ni[] = {"lanai.reliability=ni",
                                     "net.fault.corrupt=1/50"};
    static const char *const pio[] = {"lanai.transfer=pio",
                                      "lanai.multicast=host"};
    static const char *const rcpy[] = {"lanai.transfer=rcpy"};

    (void)state;
    same_trace(ni, 2, body_all);
    same_trace(ni, 2, body_mcast);
    same_trace(pio, 2, body_all);
    same_trace(pio, 2, body_mcast);
    same_trace(rcpy, 1, body_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_spoilt_packets),
            cmocka_unit_test(test_faults),
            cmocka_unit_test(test_no_room),
            cmocka_unit_test(test_trusting),
            cmocka_unit_test(test_multicast),
            cmocka_unit_test(test_interrupt),
            cmocka_unit_test(test_refused),
            cmocka_unit_test(test_p3_is_derived),
            cmocka_unit_test(test_determinism),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
