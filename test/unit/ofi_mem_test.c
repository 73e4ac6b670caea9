/*
 * Puts and gets by a provider: by a key for what it allows; with memory here that
 * has to be registered; and with registrations that are kept, or are not.
 */
#include "config.h"

#include "dev/ofi/ofi.h"
#include "support/cm.h"
#include "support/dev_pair.h"

#include <string.h>

enum {
    BYTES = 100000
};

static struct dev_node nodes[2];
static struct ofi_cache *near_cache, *far_cache;
static uint8_t here[2 * BYTES], there[2 * BYTES];

static void job_open(const char *provider, const char *cache)
{
    const struct am_option options[] = {
            {"AM_OFI_PROVIDER", provider},
            {"AM_OFI_DOMAIN", strcmp(provider, "shm") == 0 ? "" : "lo"},
            {"AM_OFI_READS", "on"},
            {"AM_OFI_WRITES", "on"},
            {"AM_OFI_CACHE", cache}};

    dev_pair_open(nodes, &am_ofi_ops, am_env_real(), options, 5);
    near_cache = &ofi_dev_of(nodes[0].dev)->cache;
    far_cache = &ofi_dev_of(nodes[1].dev)->cache;
}

static void job_close(void)
{
    assert_int_equal(nodes[0].dead + nodes[1].dead, 0);
    dev_pair_close(nodes);
}

/* As if the provider wanted what it begins and ends in registered. */
static void local_want(void)
{
    ofi_dev_of(nodes[0].dev)->info->domain_attr->mr_mode |= FI_MR_LOCAL;
}

static struct am_dev_key registered(uint32_t node, void *memory, size_t bytes,
                                    uint32_t rights)
{
    struct am_dev *dev = nodes[node].dev;
    struct am_dev_key key;

    assert_int_equal(dev->ops->mem_register(dev, memory, bytes, rights, &key),
                     AM_OK);
    return key;
}

static void deregister(uint32_t node, const struct am_dev_key *key)
{
    nodes[node].dev->ops->mem_deregister(nodes[node].dev, key);
}

struct end {
    uint32_t calls;
    am_status_t status;
};

static void on_done(void *arg, am_status_t status)
{
    struct end *end = arg;

    end->calls++;
    end->status = status;
}

/* Between here + at and there + at, in two pieces. */
static am_status_t transfer(bool put, const struct am_dev_key *key, size_t at,
                            size_t bytes)
{
    const struct am_dev_ops *ops = nodes[0].dev->ops;
    struct iovec pieces[2] = {{here + at, bytes / 3},
                              {here + at + bytes / 3, bytes - bytes / 3}};
    struct end end = {0, AM_OK};
    am_status_t status = (put ? ops->put : ops->get)(nodes[0].ep, pieces, 2,
                                                     key, at, on_done, &end);

    for (int i = 0; status == AM_OK && end.calls == 0; i++) {
        assert_true(i < DEV_PAIR_POLLS_MAX);
        dev_pair_poll(nodes);
    }
    return status == AM_OK ? end.status : status;
}

static void fill(uint8_t *memory, uint8_t by)
{
    for (size_t i = 0; i < BYTES; i++) {
        memory[i] = (uint8_t)(i * by);
    }
}

/* When a put has ended, its bytes are there: the peer need not poll again. */
static void both_ways(const char *provider)
{
    struct am_dev_key key;

    job_open(provider, "0");
    key = registered(1, there, BYTES, AM_DEV_RIGHTS_ALL);
    for (uint8_t by = 1; by < 20; by++) {
        fill(here, by);
        assert_int_equal(transfer(true, &key, 0, BYTES), AM_OK);
        assert_memory_equal(here, there, BYTES);
        fill(there, (uint8_t)(by + 100));
        assert_int_equal(transfer(false, &key, 500, BYTES - 500), AM_OK);
        assert_memory_equal(here + 500, there + 500, BYTES - 500);
    }
    assert_int_equal(nodes[0].stats[AM_DEV_STAT_PUT], 19);
    assert_int_equal(nodes[0].stats[AM_DEV_STAT_GET], 19);
    deregister(1, &key);
    job_close();
}

static void test_tcp(void **state)
{
    both_ways("tcp;ofi_rxm");
}

static void test_shm(void **state)
{
    both_ways("shm");
}

/* What a key does not allow goes another way, and no connection ends by it. */
static void test_rights(void **state)
{
    struct am_dev_key get, put;

    job_open("tcp;ofi_rxm", "0");
    get = registered(1, there, BYTES, AM_DEV_CAP_GET);
    put = registered(1, there, BYTES, AM_DEV_CAP_PUT);
    assert_int_equal(transfer(true, &get, 0, 1000), AM_ERR_UNSUPPORTED);
    assert_int_equal(transfer(false, &put, 0, 1000), AM_ERR_UNSUPPORTED);
    assert_int_equal(transfer(true, &put, 0, 1000), AM_OK);
    assert_int_equal(transfer(false, &get, 0, 1000), AM_OK);
    deregister(1, &get);
    deregister(1, &put);
    job_close();
}

static void test_local(void **state)
{
    struct am_dev_key key, mine;

    job_open("tcp;ofi_rxm", "0");
    local_want();
    key = registered(1, there, BYTES, AM_DEV_RIGHTS_ALL);
    fill(there, 7);
    assert_int_equal(transfer(false, &key, 0, BYTES), AM_OK);
    assert_memory_equal(here, there, BYTES);
    assert_int_equal(near_cache->opened, 2); /* pieces */
    assert_int_equal(near_cache->count, 0);  /* not kept */
    assert_int_equal(transfer(true, &key, 0, 1000), AM_OK);
    assert_int_equal(near_cache->opened, 4);
    /* in a region of the program's all is registered */
    mine = registered(0, here, BYTES, AM_DEV_RIGHTS_ALL);
    assert_int_equal(near_cache->opened, 5);
    assert_int_equal(transfer(false, &key, 0, BYTES), AM_OK);
    assert_int_equal(transfer(true, &key, 0, BYTES), AM_OK);
    assert_int_equal(near_cache->opened, 5);
    assert_int_equal(near_cache->found, 4);
    deregister(0, &mine);
    assert_int_equal(near_cache->count, 0);
    deregister(1, &key);
    job_close();
}

/* Kept, until the program lets go of memory that overlaps. */
static void test_kept(void **state)
{
    struct am_dev_key key, again, mine;

    job_open("tcp;ofi_rxm", "4");
    local_want();
    key = registered(1, there, BYTES, AM_DEV_CAP_GET);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(transfer(false, &key, 0, BYTES), AM_OK);
    }
    assert_int_equal(near_cache->opened, 2);
    mine = registered(0, here + BYTES - 1, 100, AM_DEV_RIGHTS_ALL);
    deregister(0, &mine);
    assert_int_equal(near_cache->count, 1);
    assert_int_equal(transfer(false, &key, 0, BYTES), AM_OK);
    assert_int_equal(near_cache->opened, 4);
    /* and so is what peers read: the same key */
    deregister(1, &key);
    again = registered(1, there, BYTES, AM_DEV_CAP_GET);
    assert_memory_equal(&again, &key, sizeof(key));
    assert_int_equal(far_cache->opened, 1);
    deregister(1, &again);
    mine = registered(1, there, BYTES, AM_DEV_CAP_PUT);
    assert_true(mine.w[1] != key.w[1]);
    deregister(1, &mine);
    job_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_tcp),       cmocka_unit_test(test_shm),
            cmocka_unit_test(test_rights),
            cmocka_unit_test(test_local),     cmocka_unit_test(test_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
