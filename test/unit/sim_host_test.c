/*
 * nic-sim's hosts: memory without coherence, the bus, exact synchronisation,
 * and the idle jump that must land where spinning would.
 */
#include "support/cm.h"

#include "host/host.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ memory */

static void test_memory(void **state)
{
    struct ns_memory memory;
    uint8_t byte;
    uint32_t a;

    (void)state;
    assert_int_equal(ns_memory_init(&memory, 4096, 64, false), 0);
    a = ns_memory_alloc(&memory, 256, 256);
    assert_int_equal(a % 256, 0);
    byte = 7;
    ns_memory_store(&memory, a, &byte, 1);
    ns_memory_dma_read(&memory, a, &byte, 1);
    assert_int_equal(byte, 0); /* not written back yet */
    assert_int_equal(ns_memory_dirty(&memory, a, 256), 1);
    ns_memory_flush(&memory, a, 1);
    ns_memory_dma_read(&memory, a, &byte, 1);
    assert_int_equal(byte, 7);

    ns_memory_load(&memory, a, &byte, 1);
    byte = 9;
    ns_memory_dma_write(&memory, a, &byte, 1);
    ns_memory_load(&memory, a, &byte, 1);
    assert_int_equal(byte, 7); /* the cache is stale */
    ns_memory_flush(&memory, a, 1);
    assert_int_equal(ns_memory_misses(&memory, a, 65), 2);
    ns_memory_load(&memory, a, &byte, 1);
    assert_int_equal(byte, 9);

    assert_int_equal(ns_memory_store_misses(&memory, a + 64, 64), 0);
    assert_int_equal(ns_memory_store_misses(&memory, a + 65, 64), 2);
    assert_int_equal(ns_memory_alloc(&memory, 4096, 1), NS_ADDRESS_NONE);
    ns_memory_fini(&memory);
}

/* --------------------------------------------------------------------- bus */

struct bus_user {
    struct ns_bus_request request;
    struct ns_engine *engine;
    uint64_t done_ps;
};

static void user_done(struct ns_bus_request *request)
{
    struct bus_user *user = am_container(request, struct bus_user, request);

    user->done_ps = ns_engine_now(user->engine);
}

static void test_bus(void **state)
{
    const struct ns_bus_settings settings = {80000000, 300000, 256};
    const struct ns_engine_params params = {0};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct bus_user dma = {.engine = engine}, pio = {.engine = engine};
    struct ns_bus bus;
    uint64_t burst_ps = 300000 + 256 * 12500;

    (void)state;
    assert_int_equal(ns_bus_dma_ps(&settings, 512), 2 * burst_ps);
    ns_bus_init(&bus, engine, 0, &settings);
    ns_bus_dma(&bus, &dma.request, 512, user_done);
    ns_bus_pio(&bus, &pio.request, 1000000, user_done);
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    /* The host gets in between the two bursts. */
    assert_int_equal(pio.done_ps, burst_ps + 1000000);
    assert_int_equal(dma.done_ps, 2 * burst_ps + 1000000);
    assert_int_equal(bus.busy_ps, dma.done_ps);
    ns_engine_close(engine);
}

/* -------------------------------------------------------------------- jump */

/*
 * A host polls a flag in shared memory, charging odd costs, and works off
 * what it finds; a device writes the flag at odd times.  The times at which
 * the host sees each change are the trace.
 */
struct device {
    struct ns_component component;
    struct ns_event event;
    struct ns_host *host;
    uint32_t address, written;
    uint64_t x;
};

struct scene {
    struct ns_machine machine;
    struct ns_engine *engine;
    struct ns_host host;
    struct device device;
    uint32_t changes;
    uint64_t deadline_step_ps;
    uint32_t late; /* returns of relax past its deadline */
};

static uint64_t draw(struct device *device, uint64_t below)
{
    device->x = device->x * 6364136223846793005u + 1442695040888963407u;
    return (device->x >> 33) % below;
}

static void device_run(struct ns_event *event)
{
    struct device *device = am_container(event, struct device, event);
    uint64_t gap_ps = draw(device, 4) == 0 ? 1000 + draw(device, 3000)
                                           : draw(device, 90000000);

    device->written++;
    ns_memory_dma_write(&device->host->memory, device->address,
                        &device->written, 4);
    ns_host_notify(device->host);
    ns_event_schedule(&device->component, &device->event, NS_PHASE_NIC,
                      ns_engine_now(device->component.engine) + 1 + gap_ps);
}

static void poller(void *arg, struct ns_host *host)
{
    struct scene *scene = arg;
    struct ns_port *port = &host->port;
    uint32_t address = scene->device.address;
    uint32_t seen = 0;

    while (seen < scene->changes) {
        uint64_t step_ps = scene->deadline_step_ps;
        uint64_t deadline_ps = step_ps == 0
                                       ? NS_NEVER
                                       : (host->now_ps / step_ps + 1) * step_ps;
        uint32_t value;

        am_env_charge(&host->env, AM_COST_POLL, 1);
        port->ops->flush(port, address, 4);
        port->ops->load(port, address, &value, 4);
        port->ops->charge(port, NS_WORK_POLL, 1);
        if (value != seen) {
            seen = value;
            ns_trace_at(&host->component, host->now_ps, NS_TRACE_USER, seen,
                        host->now_ps);
            am_env_charge(&host->env, AM_COST_COPY, 100 + seen % 7);
            continue;
        }
        am_env_relax(&host->env, deadline_ps);
        if (host->now_ps >= deadline_ps) { /* a timer of the program's own */
            ns_trace_at(&host->component, host->now_ps, NS_TRACE_USER,
                        deadline_ps, host->now_ps);
            scene->late += host->now_ps - deadline_ps > host->idle.period_ps;
        }
    }
}

static void poller_ended(void *arg, struct ns_host *host)
{
    (void)host;
    ns_engine_stop(((struct scene *)arg)->engine);
}

static uint64_t scene_run(bool no_jump, ns_fiber_kind_t kind, uint64_t seed,
                          uint64_t deadline_step_ps, uint64_t *jumps)
{
    const struct ns_engine_params params = {.seed = seed};
    struct scene *scene = calloc(1, sizeof(*scene));
    struct device *device = &scene->device;
    uint64_t hash;

    scene->machine.host = (struct ns_host_settings){
            .clock_ps = 15152,
            .line_bytes = 64,
            .memory_bytes_per_second = 528000000,
            .copy_bytes_per_second = 264000000,
            .pio_ps = 1000000,
            .poll_ps = 700001 + seed,
            .am_poll_ps = 33333,
            .shared_bytes = 65536,
    };
    scene->machine.bus = (struct ns_bus_settings){80000000, 300000, 256};
    scene->changes = 200;
    scene->deadline_step_ps = deadline_step_ps;
    scene->engine = ns_engine_open(&params, 1);
    assert_int_equal(ns_host_init(&scene->host, scene->engine, 0, 1,
                                  &scene->machine, no_jump),
                     0);
    ns_component_init(&device->component, scene->engine, "device", 0);
    ns_event_init(&device->event, device_run);
    device->host = &scene->host;
    device->x = seed;
    device->address = ns_memory_alloc(&scene->host.memory, 64, 64);
    ns_event_schedule(&device->component, &device->event, NS_PHASE_NIC, 12345);
    assert_int_equal(ns_host_start(&scene->host, kind, poller, scene,
                                   poller_ended, scene),
                     0);
    assert_int_equal(ns_engine_run(scene->engine), NS_RUN_STOPPED);
    assert_int_equal(scene->late, 0);
    *jumps = scene->host.jumps;
    hash = ns_engine_hash(scene->engine);
    ns_host_fini(&scene->host);
    ns_engine_close(scene->engine);
    free(scene);
    return hash;
}

static void test_jump(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (uint64_t deadline = 0; deadline <= 1; deadline++) {
            uint64_t jumps, none;
            uint64_t hash = scene_run(false, NS_FIBER_CONTEXT, seed,
                                      deadline * 17000000, &jumps);

            assert_int_equal(scene_run(true, NS_FIBER_CONTEXT, seed,
                                       deadline * 17000000, &none),
                             hash);
            assert_true(jumps > 50);
            assert_int_equal(none, 0);
            assert_int_equal(scene_run(false, NS_FIBER_THREAD, seed,
                                       deadline * 17000000, &jumps),
                             hash);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_memory),
            cmocka_unit_test(test_bus),
            cmocka_unit_test(test_jump),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
