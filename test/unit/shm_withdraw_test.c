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

/* Member 1 owns memory that member 0 copies, which takes 1 for another process. */
struct pair {
    struct world world;
    struct am_dev *owner;
    struct shm_ep *ep;       /* of member 0, to member 1 */
    struct shm_rank *copier; /* member 0, as all see it */
};

static void open_pair(struct pair *pair, bool is_alone)
{
    const struct am_option *lists[] = {options, options};

    world_open(&pair->world, 2, lists);
    world_settle(&pair->world);
    pair->owner = pair->world.ctx[1]->devs[0];
    pair->ep = shm_ep_of_local(shm_dev_of(pair->world.ctx[0]->devs[0]), 1);
    pair->copier = pair->ep->seg->me;
    shm_dev_of(pair->ep->ep.dev)->pid = is_alone ? 0 : pair->ep->pid;
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

/* `is_alone`: by the system call, else as within a process. */
static void taken_back(bool is_alone)
{
    struct am_dev_key key, again, other;
    struct pair pair;

    open_pair(&pair, is_alone);
    key_of(&pair, theirs[0], &key);
    key_of(&pair, theirs[1], &other);
    memset(mine, 'm', BYTES);
    assert_int_equal(copy(&pair, true, &key), AM_DONE);
    assert_int_equal(theirs[0][BYTES - 1], 'm');
    shm_mem_withdraw(pair.owner, &key, AM_ERR_PEER);
    memset(theirs[0], 't', BYTES);
    /* more than are kept: then nobody knows of those before, taken back or not */
    for (int i = 0; i < 2 * SHM_WITHDRAWN_KEYS; i++) {
        bool is_kept = i < SHM_WITHDRAWN_KEYS;
        struct am_dev_key more;

        assert_int_equal(copy(&pair, true, &key),
                         is_kept ? AM_ERR_PEER : AM_ERR_UNSUPPORTED);
        assert_int_equal(copy(&pair, false, &key),
                         is_kept ? AM_ERR_PEER : AM_ERR_UNSUPPORTED);
        key_of(&pair, theirs[1], &more);
        assert_int_equal(copy(&pair, true, &more), AM_DONE);
        shm_mem_withdraw(pair.owner, &more, AM_ERR_INVALID);
        assert_int_equal(copy(&pair, true, &more), AM_ERR_INVALID);
        if (i == 0) { /* it is older than one that is taken back */
            assert_int_equal(copy(&pair, true, &other), AM_DONE);
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

static void test_taken_back(void **state)
{
    (void)state;
    taken_back(false);
}

static void test_of_others(void **state)
{
    struct pair pair;
    bool may;

    (void)state;
    open_pair(&pair, false);
    may = shm_dev_of(pair.ep->ep.dev)->cma;
    world_close(&pair.world);
    if (!may) {
        skip();
    }
    taken_back(true);
}

/* Serials go round: what was taken back long ago is forgotten before it looks new. */
static void test_round(void **state)
{
    struct am_dev_key key, later;
    struct shm_dev *owner;
    struct pair pair;

    (void)state;
    open_pair(&pair, false);
    owner = shm_dev_of(pair.owner);
    owner->registered = UINT32_MAX - 1;
    key_of(&pair, theirs[0], &key); /* the last of a round */
    shm_mem_withdraw(pair.owner, &key, AM_ERR_PEER);
    key_of(&pair, theirs[1], &later);
    assert_int_equal(shm_key_serial(&key), UINT32_MAX);
    assert_int_equal(copy(&pair, true, &later), AM_DONE);
    assert_int_equal(copy(&pair, true, &key), AM_ERR_PEER);
    for (uint32_t step = 1; step < 32; step++) {
        owner->registered = (step << 27) - 1;
        key_of(&pair, theirs[1], &later);
        assert_int_equal(copy(&pair, true, &later), AM_DONE);
        assert_int_equal(copy(&pair, true, &key),
                         step < 8 ? AM_ERR_PEER : AM_DONE);
    }
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

/* A long copy: it has begun when the key is taken back.  `copies` also orders the two threads
 * for ThreadSanitizer, which does not see that both map one segment. */
static void *copy_slowly(void *arg)
{
    struct copier *copier = arg;

    assert_int_equal(shm_copy_begin(copier->pair->ep, &copier->key), AM_OK);
    atomic_store(&copier->began, true);
    usleep(20000);
    memset(theirs[0], 'c', BYTES);
    atomic_store(&copier->copies, 1);
    shm_copy_end(copier->pair->ep);
    return NULL;
}

static void test_waits(void **state)
{
    struct pair pair;
    struct copier copier = {.pair = &pair};

    open_pair(&pair, false);
    key_of(&pair, theirs[0], &copier.key);
    memset(theirs[0], 't', BYTES);
    assert_int_equal(pthread_create(&copier.thread, NULL, copy_slowly, &copier),
                     0);
    while (!atomic_load(&copier.began)) {
    }
    shm_mem_withdraw(pair.owner, &copier.key, AM_ERR_PEER);
    assert_int_equal(atomic_load(&copier.copies), 1); /* it has ended */
    assert_int_equal(theirs[0][BYTES - 1], 'c');
    pthread_join(copier.thread, NULL);
    assert_int_equal(copy(&pair, true, &copier.key), AM_ERR_PEER);
    world_close(&pair.world);
}

static void *copy_on(void *arg)
{
    struct copier *copier = arg;

    while (!atomic_load(&copier->stop)) {
        if (shm_copy_begin(copier->pair->ep, &copier->key) == AM_OK) {
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

    open_pair(&pair, false);
    for (int round = 0; round < ROUNDS; round++) {
        struct copier copier = {.pair = &pair};

        key_of(&pair, theirs[0], &copier.key);
        assert_int_equal(pthread_create(&copier.thread, NULL, copy_on, &copier),
                         0);
        while (atomic_load(&copier.copies) == 0) {
        }
        shm_mem_withdraw(pair.owner, &copier.key, AM_ERR_PEER);
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

    open_pair(&pair, false);
    key_of(&pair, theirs[0], &key);
    child = fork();
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    pid = atomic_load(&pair.copier->pid);
    atomic_store(&pair.copier->pid, (uint32_t)child);
    atomic_store(&pair.copier->copying, pair.ep->index + 1);
    shm_mem_withdraw(pair.owner, &key, AM_ERR_PEER);
    assert_int_equal(atomic_load(&pair.copier->copying), 0);
    atomic_store(&pair.copier->pid, pid);
    world_close(&pair.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_taken_back),
            cmocka_unit_test(test_of_others),
            cmocka_unit_test(test_round),
            cmocka_unit_test(test_waits),
            cmocka_unit_test(test_any_time),
            cmocka_unit_test(test_dead_copier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
