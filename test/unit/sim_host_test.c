/*
 * nic-sim's hosts: memory without coherence, the bus, exact synchronisation,
 * and the idle jump that must land where spinning would.
 */
#include "support/cm.h"

#include "host/copy.h"
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
    assert_int_equal(ns_memory_init(&memory, 4096, 64, false, NULL), 0);
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

/* A transfer has the bus, the next one asks for it later, and the host makes
 * accesses: each is over when it was foretold, if it was. */
struct foretold {
    struct ns_bus bus;
    struct ns_event next, access;
    struct bus_user dma[2], pio;
    uint64_t next_bytes, done_ps; /* foretold for the access; 0: it was not */
};

static void foretold_next(struct ns_event *event)
{
    struct foretold *foretold = am_container(event, struct foretold, next);

    ns_bus_dma(&foretold->bus, &foretold->dma[1].request, foretold->next_bytes,
               user_done);
}

static void foretold_access(struct ns_event *event)
{
    struct foretold *foretold = am_container(event, struct foretold, access);

    ns_bus_pio(&foretold->bus, &foretold->pio.request, 1000000, user_done);
}

/* How many of `accesses` were foretold, `gap_ps` from one to the next. */
static uint32_t foretold_run(uint64_t first_bytes, uint64_t next_bytes,
                             uint64_t next_ps, uint64_t gap_ps,
                             uint32_t accesses)
{
    const struct ns_bus_settings settings = {80000000, 300000, 256};
    const struct ns_engine_params params = {0};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct foretold f = {.next_bytes = next_bytes};
    struct ns_ahead ahead = {.bus_ps = NS_NEVER,
                             .next_ps = NS_NEVER,
                             .store_touch_ps = NS_NEVER,
                             .store_bus_ps = NS_NEVER};
    uint64_t now_ps = gap_ps;
    uint32_t count = 0;

    f.dma[0].engine = f.dma[1].engine = f.pio.engine = engine;
    ns_bus_init(&f.bus, engine, 0, &settings);
    ns_event_init(&f.next, foretold_next);
    ns_event_init(&f.access, foretold_access);
    ns_bus_dma(&f.bus, &f.dma[0].request, first_bytes, user_done);
    ns_event_schedule(&f.bus.component, &f.next, NS_PHASE_NIC, next_ps);
    ns_bus_ahead_dma(&f.bus, next_ps, next_bytes, &ahead);
    ns_bus_ahead(&f.bus, &ahead);
    for (uint32_t i = 0; i < accesses; i++) {
        uint64_t done_ps = ns_ahead_stores(&ahead, now_ps, 0, 0, 1000000);

        if (done_ps == 0) {
            break;
        }
        count++;
        ns_event_schedule(&f.bus.component, &f.access, NS_PHASE_HOST, now_ps);
        f.pio.done_ps = 0;
        while (f.pio.done_ps == 0) {
            assert_int_equal(ns_engine_step(engine), NS_RUN_STOPPED);
        }
        assert_int_equal(f.pio.done_ps, done_ps);
        now_ps = done_ps + gap_ps;
    }
    ns_engine_close(engine);
    return count;
}

static void test_foretold(void **state)
{
    (void)state;
    for (uint64_t gap_ps = 0; gap_ps <= 3500000; gap_ps += 250000) {
        for (uint64_t next_ps = 3500000; next_ps < 9000000; next_ps += 250000) {
            /* one burst each: all of them */
            assert_int_equal(foretold_run(256, 256, next_ps, gap_ps, 8), 8);
            /* the second has two bursts: until it asks for the bus */
            (void)foretold_run(256, 512, next_ps, gap_ps, 8);
            /* the first has: only what comes before its next burst */
            assert_int_equal(foretold_run(512, 256, next_ps + 4000000, gap_ps,
                                          8),
                             gap_ps < 3500000);
        }
    }
}

/* -------------------------------------------------------------------- copy */

/* A body that copies: own memory in either cache and beyond, shared memory. */
static void copier(void *arg, struct ns_host *host)
{
    static const uint64_t sizes[] = {0, 1, 8192, 8193, 65536, 65537, 1 << 20};
    /* start, and 1, 2 or 4 ns a byte */
    static const uint64_t ps[] = {0,         51000,     8242000,   16436000,
                                  131122000, 262198000, 4194354000};
    struct ns_port *port = &host->cpu.port;
    uint64_t line_ps = 64 * UINT64_C(1000); /* fetched at 1 GB/s */
    uint32_t address = port->ops->alloc(port, 4096, 64);
    uint8_t bytes[4096] = {0};
    uint64_t from_ps;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        from_ps = host->cpu.now_ps;
        am_env_charge(&host->cpu.env, AM_COST_COPY, sizes[i]);
        assert_int_equal(host->cpu.now_ps - from_ps, ps[i]);
    }
    from_ps = host->cpu.now_ps; /* whole lines: none is fetched */
    port->ops->store(port, address, bytes, 4096);
    assert_int_equal(host->cpu.now_ps - from_ps,
                     30000 + 64 * 1000 + (4096 - 64) * 8000);
    port->ops->flush(port, address, 4096);
    from_ps = host->cpu.now_ps;
    port->ops->load(port, address, bytes, 100);
    assert_int_equal(host->cpu.now_ps - from_ps,
                     2 * line_ps + 30000 + 64 * 1000 + 36 * 8000);
    from_ps = host->cpu.now_ps;
    port->ops->load(port, address, bytes, 100);
    assert_int_equal(host->cpu.now_ps - from_ps, 30000 + 64 * 1000 + 36 * 8000);
    from_ps = host->cpu.now_ps; /* a flag: as if it were in the cache */
    port->ops->load(port, address, bytes, 4);
    assert_int_equal(host->cpu.now_ps - from_ps, 30000 + 4 * 1000);
    *(bool *)arg = true;
}

static void copier_ended(void *arg, struct ns_host *host)
{
    (void)arg;
    ns_engine_stop(host->component.engine);
}

/* What a copy costs, by its size and memory, to the picosecond. */
static void test_copy(void **state)
{
    const struct ns_engine_params params = {0};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct ns_machine *machine = calloc(1, sizeof(*machine));
    struct ns_host host;
    bool ended = false;

    (void)state;
    machine->bus = (struct ns_bus_settings){80000000, 300000, 256};
    machine->host = (struct ns_host_settings){
            .clock_ps = 1000,
            .line_bytes = 64,
            .memory_bytes_per_second = 1000000000,
            .shared_bytes = 65536,
            .pio_stream_bytes_per_second = 100000000,
            .copy = {.bytes_per_second = 250000000,
                     .start_ps = 50000,
                     .cache_bytes = {16384, 131072},
                     .cached_bytes_per_second = {1000000000, 500000000},
                     .shared_bytes_per_second = 125000000,
                     .shared_start_ps = 30000},
    };
    assert_null(ns_copy_check(&machine->host));
    assert_int_equal(ns_copy_ps(&machine->host, NS_MEMORY_ADAPTER, 64), 640000);
    assert_int_equal(ns_copy_byte_fs(&machine->host, NS_MEMORY_OWN, 9000),
                     2000000);
    assert_int_equal(ns_host_init(&host, engine, 0, 1, machine, false, NULL),
                     0);
    assert_int_equal(ns_host_start(&host, NS_FIBER_CONTEXT, copier, &ended,
                                   copier_ended, NULL),
                     0);
    assert_int_equal(ns_engine_run(engine), NS_RUN_STOPPED);
    assert_true(ended);
    ns_host_fini(&host);
    ns_engine_close(engine);
    free(machine);
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
    ns_memory_dma_write(&device->host->cpu.memory, device->address,
                        &device->written, 4);
    ns_host_notify(device->host);
    ns_event_schedule(&device->component, &device->event, NS_PHASE_NIC,
                      ns_engine_now(device->component.engine) + 1 + gap_ps);
}

static void poller(void *arg, struct ns_host *host)
{
    struct scene *scene = arg;
    struct ns_port *port = &host->cpu.port;
    uint32_t address = scene->device.address;
    uint32_t seen = 0;

    while (seen < scene->changes) {
        uint64_t step_ps = scene->deadline_step_ps;
        uint64_t deadline_ps =
                step_ps == 0 ? NS_NEVER
                             : (host->cpu.now_ps / step_ps + 1) * step_ps;
        uint32_t value;

        am_env_charge(&host->cpu.env, AM_COST_POLL, 1);
        port->ops->flush(port, address, 4);
        port->ops->load(port, address, &value, 4);
        port->ops->charge(port, NS_WORK_POLL, 1);
        if (value != seen) {
            seen = value;
            ns_trace_at(&host->component, host->cpu.now_ps, NS_TRACE_USER, seen,
                        host->cpu.now_ps);
            am_env_charge(&host->cpu.env, AM_COST_COPY, 100 + seen % 7);
            continue;
        }
        am_env_relax(&host->cpu.env, deadline_ps);
        if (host->cpu.now_ps >=
            deadline_ps) { /* a timer of the program's own */
            ns_trace_at(&host->component, host->cpu.now_ps, NS_TRACE_USER,
                        deadline_ps, host->cpu.now_ps);
            scene->late +=
                    host->cpu.now_ps - deadline_ps > host->cpu.idle.period_ps;
        }
    }
}

static void poller_ended(void *arg, struct ns_host *host)
{
    (void)host;
    ns_engine_stop(((struct scene *)arg)->engine);
}

static uint64_t scene_run(bool no_jump, ns_fiber_kind_t kind, uint64_t seed,
                          uint64_t deadline_step_ps, uint64_t *jumps,
                          uint64_t *looks)
{
    const struct ns_engine_params params = {.seed = seed};
    struct scene *scene = calloc(1, sizeof(*scene));
    struct device *device = &scene->device;
    uint64_t hash;

    scene->machine.host = (struct ns_host_settings){
            .clock_ps = 15152,
            .line_bytes = 64,
            .memory_bytes_per_second = 528000000,
            .copy.bytes_per_second = 264000000,
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
                                  &scene->machine, no_jump, NULL),
                     0);
    ns_component_init(&device->component, scene->engine, "device", 0);
    ns_event_init(&device->event, device_run);
    device->host = &scene->host;
    device->x = seed;
    device->address = ns_memory_alloc(&scene->host.cpu.memory, 64, 64);
    ns_event_schedule(&device->component, &device->event, NS_PHASE_NIC, 12345);
    assert_int_equal(ns_host_start(&scene->host, kind, poller, scene,
                                   poller_ended, scene),
                     0);
    assert_int_equal(ns_engine_run(scene->engine), NS_RUN_STOPPED);
    assert_int_equal(scene->late, 0);
    *jumps = scene->host.jumps;
    *looks = scene->host.syncs;
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
            uint64_t jumps, none, looks, all;
            uint64_t hash = scene_run(false, NS_FIBER_CONTEXT, seed,
                                      deadline * 17000000, &jumps, &looks);

            assert_int_equal(scene_run(true, NS_FIBER_CONTEXT, seed,
                                       deadline * 17000000, &none, &all),
                             hash);
            assert_true(jumps > 50);
            assert_int_equal(none, 0);
            /* one that finds a change, two that find nothing (the first goes
             * with it) before the host waits, few to learn what a round is */
            assert_true(looks <= 200 + 2 * jumps + 10);
            assert_true(all > looks);
            assert_int_equal(scene_run(false, NS_FIBER_THREAD, seed,
                                       deadline * 17000000, &jumps, &looks),
                             hash);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_memory),
            cmocka_unit_test(test_bus),
            cmocka_unit_test(test_foretold),
            cmocka_unit_test(test_copy),
            cmocka_unit_test(test_jump),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
