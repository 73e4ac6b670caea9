/*
 * The slot rings: full and empty, many turns, real producers in threads and
 * in processes, commits out of order, and rubbish in the memory.
 */
#include "base/ring.h"

#include "support/cm.h"
#include "support/seed.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAYLOAD 48

struct item {
    uint32_t producer;
    uint32_t index;
    uint64_t check[4];
};

static uint64_t check_of(uint32_t producer, uint32_t index, uint32_t i)
{
    return ((uint64_t)producer << 40 | index) * (i + 3);
}

static void fill(struct item *item, uint32_t producer, uint32_t index)
{
    item->producer = producer;
    item->index = index;
    for (uint32_t i = 0; i < 4; i++) {
        item->check[i] = check_of(producer, index, i);
    }
}

static void verify(const struct item *item)
{
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(item->check[i] == check_of(item->producer, item->index, i));
    }
}

/* Memory that a forked child shares. */
static void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static void test_geometry(void **state)
{
    assert_int_equal(am_ring_bytes(0, 8), 0);
    assert_int_equal(am_ring_bytes(1, 8), 0);
    assert_int_equal(am_ring_bytes(3, 8), 0);
    assert_int_equal(am_ring_bytes(2, 8), 64 + 2 * 64);
    assert_int_equal(am_ring_bytes(4, UINT32_MAX), 0);
    assert_int_equal(am_ring_bytes(4, 56), 64 + 4 * 64);
    assert_int_equal(am_ring_bytes(4, 57), 64 + 4 * 128);
}

static void test_full_and_empty(void **state)
{
    size_t bytes = am_ring_bytes(4, PAYLOAD);
    void *memory = aligned_alloc(64, bytes);
    struct am_ring producer, consumer;

    memset(memory, 0xff, bytes);
    am_ring_attach(&consumer, memory, 4, PAYLOAD, true);
    am_ring_attach(&producer, memory, 4, PAYLOAD, false);
    for (uint32_t turn = 0; turn < 1000; turn++) {
        uint32_t count = 1 + turn % 4;

        assert_null(am_ring_take(&consumer));
        for (uint32_t i = 0; i < count; i++) {
            struct item *item = am_ring_claim_single(&producer);

            assert_non_null(item);
            fill(item, 1, i);
            if (i == 0) {
                assert_null(am_ring_take(&consumer)); /* not committed */
            }
            am_ring_commit(&producer, item);
        }
        assert_true(am_ring_is_valid(&consumer));
        assert_int_equal(am_ring_has_space(&producer), count < 4);
        if (count == 4) {
            assert_null(am_ring_claim_single(&producer));
        }
        for (uint32_t i = 0; i < count; i++) {
            struct item *item = am_ring_take(&consumer);

            assert_non_null(item);
            assert_int_equal(item->index, i);
            verify(item);
            am_ring_release(&consumer);
        }
        assert_true(am_ring_is_valid(&consumer));
    }
    free(memory);
}

/* Many producers, each its own view; order is kept for each of them. */
#define PRODUCERS 3
#define ITEMS     20000

struct worker {
    void *memory;
    uint32_t number;
    bool single;
};

static void produce(const struct worker *worker)
{
    struct am_ring ring;

    am_ring_attach(&ring, worker->memory, 8, PAYLOAD, false);
    for (uint32_t i = 0; i < ITEMS; i++) {
        struct item *item;

        while ((item = worker->single ? am_ring_claim_single(&ring)
                                      : am_ring_claim(&ring)) == NULL) {
            sched_yield();
        }
        fill(item, worker->number, i);
        am_ring_commit(&ring, item);
    }
}

static void *produce_thread(void *arg)
{
    produce(arg);
    return NULL;
}

static void consume(void *memory, uint32_t producers)
{
    struct am_ring ring;
    uint32_t next[PRODUCERS] = {0};

    am_ring_attach(&ring, memory, 8, PAYLOAD, false);
    for (uint32_t left = producers * ITEMS; left > 0; left--) {
        struct item *item;

        while ((item = am_ring_take(&ring)) == NULL) {
            sched_yield();
        }
        verify(item);
        assert_in_range(item->producer, 0, producers - 1);
        assert_int_equal(item->index, next[item->producer]);
        next[item->producer]++;
        am_ring_release(&ring);
    }
    assert_null(am_ring_take(&ring));
    assert_true(am_ring_is_valid(&ring));
}

static void run_threads(uint32_t producers, bool single)
{
    void *memory = shared_memory(am_ring_bytes(8, PAYLOAD));
    pthread_t threads[PRODUCERS];
    struct worker workers[PRODUCERS];

    for (uint32_t i = 0; i < producers; i++) {
        workers[i] = (struct worker){memory, i, single};
        assert_int_equal(
                pthread_create(&threads[i], NULL, produce_thread, &workers[i]),
                0);
    }
    consume(memory, producers);
    for (uint32_t i = 0; i < producers; i++) {
        pthread_join(threads[i], NULL);
    }
    munmap(memory, am_ring_bytes(8, PAYLOAD));
}

static void test_spsc_threads(void **state)
{
    run_threads(1, true);
}

static void test_mpsc_threads(void **state)
{
    run_threads(PRODUCERS, false);
}

static void test_mpsc_processes(void **state)
{
    void *memory = shared_memory(am_ring_bytes(8, PAYLOAD));
    pid_t children[PRODUCERS];

    for (uint32_t i = 0; i < PRODUCERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct worker worker = {memory, i, false};

            produce(&worker);
            _exit(0);
        }
    }
    consume(memory, PRODUCERS);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        int status = 1;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    munmap(memory, am_ring_bytes(8, PAYLOAD));
}

/* A claim without a commit holds up what others committed behind it; then
 * both come, in the order of the claims. */
static void check_held_up(bool single)
{
    void *memory = shared_memory(am_ring_bytes(4, PAYLOAD));
    struct am_ring producer, consumer;

    am_ring_attach(&producer, memory, 4, PAYLOAD, false);
    am_ring_attach(&consumer, memory, 4, PAYLOAD, false);
    for (uint32_t turn = 0; turn < 20; turn++) {
        struct item *slow = single ? am_ring_claim_single(&producer)
                                   : am_ring_claim(&producer);
        struct item *quick = single ? am_ring_claim_single(&producer)
                                    : am_ring_claim(&producer);

        fill(slow, 0, turn);
        fill(quick, 1, turn);
        am_ring_commit(&producer, quick);
        assert_null(am_ring_take(&consumer));
        assert_true(am_ring_is_valid(&consumer));
        am_ring_commit(&producer, slow);
        assert_ptr_equal(am_ring_take(&consumer), slow);
        am_ring_release(&consumer);
        assert_ptr_equal(am_ring_take(&consumer), quick);
        am_ring_release(&consumer);
        assert_true(am_ring_is_valid(&consumer));
    }
    munmap(memory, am_ring_bytes(4, PAYLOAD));
}

static void test_held_up(void **state)
{
    check_held_up(true);
    check_held_up(false);
}

/* The validator finds states that no use leads to (all but the first). */
static void test_validator(void **state)
{
    static const struct {
        int slot; /* -1: the tail */
        uint64_t word;
    } damage[] = {
            {0, 0},                 /* claimed: not committed yet, legal */
            {3, 1},                 /* ready beyond the tail */
            {1, UINT64_C(1) << 32}, /* of the next turn */
            {2, 2},                 /* no such phase */
            {-1, 5},                /* tail beyond the slots */
            {-1, UINT64_MAX},
    };

    size_t bytes = am_ring_bytes(4, PAYLOAD);
    uint64_t *memory = aligned_alloc(64, bytes);
    struct am_ring ring;

    am_ring_attach(&ring, memory, 4, PAYLOAD, true);
    am_ring_commit(&ring, am_ring_claim(&ring));
    assert_true(am_ring_is_valid(&ring));
    for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
        uint64_t *word = &memory[(damage[i].slot + 1) * 8];
        uint64_t before = *word;

        *word = damage[i].word;
        assert_int_equal(am_ring_is_valid(&ring), damage[i].slot == 0);
        *word = before;
    }
    assert_true(am_ring_is_valid(&ring));
    free(memory);
}

/* Whatever is in the memory, every call returns and stays inside. */
static void test_rubbish(void **state)
{
    struct am_prng prng = test_prng("base_ring_test");
    size_t bytes = am_ring_bytes(4, PAYLOAD);
    uint64_t *memory = aligned_alloc(64, bytes);
    struct am_ring ring;

    am_ring_attach(&ring, memory, 4, PAYLOAD, true);
    for (int i = 0; i < 20000; i++) {
        uint64_t *word = &memory[am_prng_below(&prng, bytes / 8)];
        char *payload;

        *word = am_prng_next(&prng) >> am_prng_below(&prng, 64);
        if (am_prng_below(&prng, 2) == 0) {
            *word = (uint64_t)(ring.next >> 2) << 32 | (*word & 1);
        }
        payload = am_ring_claim(&ring);
        if (payload == NULL) {
            payload = am_ring_take(&ring);
            if (payload != NULL) {
                am_ring_release(&ring);
            }
        }
        if (payload != NULL) {
            assert_true(payload >= (char *)memory + 64);
            assert_true(payload + PAYLOAD <= (char *)memory + bytes);
        }
        am_ring_is_valid(&ring);
    }
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_geometry),
            cmocka_unit_test(test_full_and_empty),
            cmocka_unit_test(test_spsc_threads),
            cmocka_unit_test(test_mpsc_threads),
            cmocka_unit_test(test_mpsc_processes),
            cmocka_unit_test(test_held_up),
            cmocka_unit_test(test_validator),
            cmocka_unit_test(test_rubbish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
