/*
 * AM_DEVICES=auto: devices from host to host open when the exchange of addresses
 * shows a rank on another host, and not before.
 */
#include "support/cm.h"
#include "support/pipe_dev.h"

#include "am/ctx.h"
#include "dev/self/self.h"
#include "dev/shm/shm.h"

#include <stdio.h>
#include <string.h>

static struct pipe_net net;
static struct am_dev_ops near_ops, far_ops;
static uint64_t host;          /* added to this machine's */
static am_status_t far_status; /* how the far device opens; AM_OK: it does */

const struct am_dev_ops *const am_dev_table[] = {&am_dev_self_ops, &near_ops,
                                                 &far_ops, NULL};

static am_status_t near_open(const struct am_dev_params *params,
                             struct am_dev **dev_p)
{
    am_status_t status = am_shm_ops.open(params, dev_p);

    if (status == AM_OK) {
        shm_dev_of(*dev_p)->host += host;
    }
    return status;
}

static am_status_t far_open(const struct am_dev_params *params,
                            struct am_dev **dev_p)
{
    if (far_status != AM_OK) {
        snprintf(params->error, params->error_bytes, "no network");
        return far_status;
    }
    return pipe_dev_ops.open(params, dev_p);
}

/* The exchange of a job of two, of which rank 1 is played. */
struct job {
    struct am_ctx *other;
    uint32_t other_flags;
    int calls;
    struct am_blob told[2]; /* by rank 0, in each call */
};

static int job_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    struct job *job = arg;
    struct am_blob *blobs = all;

    assert_int_equal(bytes, sizeof(*blobs));
    assert_in_range(job->calls, 0, 1);
    memcpy(&job->told[job->calls++], mine, bytes);
    memcpy(&blobs[0], mine, bytes);
    assert_int_equal(am_address(job->other, &blobs[1]), AM_OK);
    blobs[1].flags = job->other_flags;
    return 0;
}

/* Open rank 0 with these devices; rank 1 has all, on the same host or not. */
static am_status_t job_open(struct job *job, const char *devices, bool is_far,
                            struct am_ctx **ctx_p, char *error)
{
    struct am_option options[] = {{"AM_DEVICES", "shm,pipe"},
                                  {"AM_LOG", "none"},
                                  {"AM_CONNECT_TIMEOUT", "1"}};
    struct am_params params = {.rank = 1,
                               .size = 2,
                               .options = options,
                               .option_count = 3,
                               .env = &net.env,
                               .error = error,
                               .error_bytes = 512};
    am_status_t status = far_status;

    far_status = AM_OK;
    host = is_far ? 1 : 0;
    assert_int_equal(am_open(&params, &job->other), AM_OK);
    far_status = status;
    host = 0;
    options[0].value = devices;
    params.rank = 0;
    params.allgather = job_allgather;
    params.allgather_arg = job;
    return am_open(&params, ctx_p);
}

static bool tells(const struct am_blob *blob, const struct am_dev_ops *ops)
{
    const struct am_dev dev = {.bottom = ops};
    struct am_blob_part part;

    return blob->bytes != 0 && am_blob_part(blob, &dev, &part) != NULL;
}

static void init(void)
{
    pipe_net_init(&net, AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED);
    net.perf.wire.fixed_ps = 20 * UINT64_C(1000000);
    near_ops = am_shm_ops;
    near_ops.open = near_open;
    far_ops = pipe_dev_ops;
    far_ops.open = far_open;
    far_ops.far = true;
    far_status = AM_OK;
}

/* The second exchange tells of the far device, and the rank is reached by it. */
static void test_another_host(void **state)
{
    struct job job = {.other_flags = AM_BLOB_MORE};
    struct am_ctx *ctx;
    am_status_t status;
    char error[512];

    init();
    assert_int_equal(job_open(&job, "auto", true, &ctx, error), AM_OK);
    assert_string_equal(error, "");
    assert_int_equal(job.calls, 2);
    assert_int_equal(job.told[0].flags, AM_BLOB_MORE);
    assert_false(tells(&job.told[0], &far_ops));
    assert_true(tells(&job.told[1], &near_ops));
    assert_true(tells(&job.told[1], &far_ops));
    assert_int_equal(am_peer_get(ctx, 1, &status)->dev->bottom->number,
                     AM_DEV_NUMBER_TEST);
    am_close(ctx);
    am_close(job.other);
}

/* All on one host: nothing more opens.  (Rank 1 does not come for the segment,
 * so the open fails in the end.) */
static void test_one_host(void **state)
{
    struct job job = {.other_flags = AM_BLOB_MORE};
    struct am_ctx *ctx;
    char error[512];

    init();
    far_status = AM_ERR_CONFIG; /* an error for whoever tries */
    assert_int_equal(job_open(&job, "auto", false, &ctx, error), AM_ERR_PEER);
    assert_non_null(strstr(error, "not all ranks of this node connected"));
    assert_int_equal(job.calls, 1);
    am_close(job.other);
}

/* A rank whose devices were named opens no more, so nobody waits for it. */
static void test_named(void **state)
{
    struct job job = {.other_flags = 0};
    struct am_ctx *ctx;
    char error[512];

    init();
    assert_int_equal(job_open(&job, "auto", true, &ctx, error), AM_OK);
    assert_int_equal(job.calls, 1);
    assert_int_equal(ctx->dev_count, 1);
    am_close(ctx);
    am_close(job.other);
    job = (struct job){.other_flags = AM_BLOB_MORE};
    assert_int_equal(job_open(&job, "shm,pipe", true, &ctx, error), AM_OK);
    assert_int_equal(job.calls, 1);
    assert_int_equal(job.told[0].flags, 0);
    assert_true(tells(&job.told[0], &far_ops));
    am_close(ctx);
    am_close(job.other);
}

/* A far device that does not open: the others are told so in the exchange that
 * they are in, and the caller gets the sentence. */
static void test_does_not_open(void **state)
{
    static const am_status_t how[] = {AM_ERR_SYSTEM, AM_ERR_UNSUPPORTED,
                                      AM_ERR_CONFIG};

    for (uint32_t i = 0; i < 3; i++) {
        struct job job = {.other_flags = AM_BLOB_MORE};
        struct am_ctx *ctx;
        char error[512];

        init();
        far_status = how[i];
        assert_int_equal(job_open(&job, "auto", true, &ctx, error), how[i]);
        assert_string_equal(error, "no network");
        assert_int_equal(job.calls, 2);
        assert_int_equal(job.told[1].magic, 0);
        am_close(job.other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_another_host),
            cmocka_unit_test(test_one_host),
            cmocka_unit_test(test_named),
            cmocka_unit_test(test_does_not_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
