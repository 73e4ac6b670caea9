/*
 * Closed forms: on the simulated NICs an uncontended packet costs exactly the
 * sum of its parts, stage by stage, in picoseconds.
 */
#include "support/cm.h"
#include "support/sim_ping.h"

#include "dev/snic/snic.h"
#include "host/bus.h"
#include "host/copy.h"
#include "net/myrinet.h"
#include "net/sp.h"
#include "nicsim_bgp.h"
#include "nicsim_lanai.h"
#include "nicsim_tb2.h"

#include <stdlib.h>
#include <string.h>

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

    ping_run(&scene, machine);
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
    ping_close(&scene);
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
        return own_ps + host->fetch_ps + host->memory_latency_ps +
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

    ping_run(&scene, machine);
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
                         lanai->dma_start_ps + ns_bus_dma_ps(&all->bus, bytes));
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
                     lanai->dma_start_ps + ns_bus_dma_ps(&all->bus, bytes));
    check_sum(&scene);
    ping_close(&scene);
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

    ping_run(&scene, "bgp");
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
    ping_close(&scene);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_closed_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
