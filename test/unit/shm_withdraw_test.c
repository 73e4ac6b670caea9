/*
 * Keys that their owner takes back: nobody reads or writes the memory by them afterwards,
 * not even who was about to; other keys stay good.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BYTES = 20000,
    ROUNDS = 200
};

static const struct am_option options[] = {{"AM_DEVICES", "shm"}, {NULL, NULL}};
static char theirs[2][BYTES], mine[BYTES];

/* Member 1 owns memory that member 0 copies. */
struct pair {
    struct world world;
    struct am_dev *owner;
    struct shm_ep *ep;       /* of member 0, to member 1 */
    struct shm_rank *copier; /* member 0, as all see it */
};

static void open_pair(struct pair *pair)
{
    const struct am_option *lists[] = {options, options};

    world_open(&pair->world, 2, lists);
    world_settle(&pair->world);
    pair->owner = pair->world.ctx[1]->devs[0];
    pair->ep = shm_ep_of_local(shm_dev_of(pair->world.ctx[0]->devs[0]), 1);
    pair->copier = pair->ep->seg->me;
}

static void key_of(struct pair *pair, void *base, struct am_dev_key *key)
{
    assert_int_equal(shm_mem_register(pair->owner, base, BYTES,
                                      AM_DEV_CAP_PUT | AM_DEV_CAP_GET, key),
                     AM_OK);
}

static am_status_t copy(struct pair *pair, bool put,
                        const struct am_dev_key *key)
{
    struct iovec local = {mine, BYTES};

    return (put ? shm_put : shm_get)(&pair->ep->ep, &local, 1, key, 0, NULL,
                                     NULL);
}

static void test_taken_back(void **state)
{
    struct am_dev_key key, again, other;
    struct pair pair;

    open_pair(&pair);
    key_of(&pair, theirs[0], &key);
    key_of(&pair, theirs[1], &other);
    memset(mine, 'm', BYTES);
    assert_int_equal(copy(&pair, true, &key), AM_DONE);
    assert_int_equal(theirs[0][BYTES - 1], 'm');
    shm_mem_withdraw(pair.owner, &key);
    memset(theirs[0], 't', BYTES);
    for (int i = 0; i < SHM_WITHDRAWN_KEYS; i++) {
        struct am_dev_key more;

        assert_int_equal(copy(&pair, true, &key), AM_ERR_PEER);
        assert_int_equal(copy(&pair, false, &key), AM_ERR_PEER);
        assert_int_equal(copy(&pair, true, &other), AM_DONE);
        if (i < SHM_WITHDRAWN_KEYS - 1) {
            key_of(&pair, theirs[1], &more);
            shm_mem_withdraw(pair.owner, &more);
        }
    }
    assert_int_equal(theirs[0][0], 't');
    assert_int_equal(mine[0], 'm');
    key_of(&pair, theirs[0], &again);
    assert_int_equal(copy(&pair, true, &again), AM_DONE);
    assert_int_equal(theirs[0][0], 'm');
    assert_int_equal(atomic_load(&pair.copier->copying), 0);
    world_close(&pair.world);
}

/* ---------------------------------------------------------- one who copies */

struct copier {
    struct pair *pair;
    struct am_dev_key key;
    pthread_t thread;
    atomic_bool began, stop;
    atomic_int copies;
};

/* A long copy: it has begun when the key is taken back. */
static void *copy_slowly(void *arg)
{
    struct copier *copier = arg;

    assert_true(shm_copy_begin(copier->pair->ep, &copier->key));
    atomic_store(&copier->began, true);
    usleep(20000);
    memset(theirs[0], 'c', BYTES);
    shm_copy_end(copier->pair->ep);
    return NULL;
}

static void test_waits(void **state)
{
    struct pair pair;
    struct copier copier = {.pair = &pair};

    open_pair(&pair);
    key_of(&pair, theirs[0], &copier.key);
    memset(theirs[0], 't', BYTES);
    assert_int_equal(pthread_create(&copier.thread, NULL, copy_slowly, &copier),
                     0);
    while (!atomic_load(&copier.began)) {
    }
    shm_mem_withdraw(pair.owner, &copier.key);
    assert_int_equal(theirs[0][BYTES - 1], 'c'); /* it has ended */
    pthread_join(copier.thread, NULL);
    assert_int_equal(copy(&pair, true, &copier.key), AM_ERR_PEER);
    world_close(&pair.world);
}

static void *copy_on(void *arg)
{
    struct copier *copier = arg;

    while (!atomic_load(&copier->stop)) {
        if (shm_copy_begin(copier->pair->ep, &copier->key)) {
            memset(theirs[0], 'c', BYTES);
            atomic_fetch_add(&copier->copies, 1);
        }
        shm_copy_end(copier->pair->ep);
    }
    return NULL;
}

/* Whenever it is taken back, the memory is the owner's alone afterwards. */
static void test_any_time(void **state)
{
    struct pair pair;
    int copies = 0;

    open_pair(&pair);
    for (int round = 0; round < ROUNDS; round++) {
        struct copier copier = {.pair = &pair};

        key_of(&pair, theirs[0], &copier.key);
        assert_int_equal(pthread_create(&copier.thread, NULL, copy_on, &copier),
                         0);
        while (atomic_load(&copier.copies) == 0) {
        }
        shm_mem_withdraw(pair.owner, &copier.key);
        copies = atomic_load(&copier.copies);
        memset(theirs[0], 't', BYTES);
        usleep(200);
        for (int i = 0; i < BYTES; i++) {
            assert_int_equal(theirs[0][i], 't');
        }
        assert_int_equal(atomic_load(&copier.copies), copies);
        atomic_store(&copier.stop, true);
        pthread_join(copier.thread, NULL);
    }
    world_close(&pair.world);
}

/* Who died while it copied is not waited for. */
static void test_dead_copier(void **state)
{
    struct am_dev_key key;
    struct pair pair;
    uint32_t pid;
    pid_t child;

    open_pair(&pair);
    key_of(&pair, theirs[0], &key);
    child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    pid = atomic_load(&pair.copier->pid);
    atomic_store(&pair.copier->pid, (uint32_t)child);
    atomic_store(&pair.copier->copying, pair.ep->index + 1);
    shm_mem_withdraw(pair.owner, &key);
    assert_int_equal(atomic_load(&pair.copier->copying), 0);
    atomic_store(&pair.copier->pid, pid);
    world_close(&pair.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_taken_back),
            cmocka_unit_test(test_waits),
            cmocka_unit_test(test_any_time),
            cmocka_unit_test(test_dead_copier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
