/*
 * Profiles: what is written is read again; every mistake in one is told in a
 * sentence; one of another machine is left, as where ranks share cores, and the
 * costs are then those of no profile at all.
 */
#include "config.h"

#include "support/cm.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/am_profile_XXXXXX";
static char path[64];

static int setup(void **state)
{
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/profile", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)unlink(path);
    return rmdir(folder);
}

/* Of this machine, with numbers that nothing else has. */
static void profile_make(struct am_profile *profile)
{
    memset(profile, 0, sizeof(*profile));
    strcpy(profile->measured, "2026-11-22 16:00:00 UTC");
    strcpy(profile->host, "here");
    am_profile_machine(profile->processor, sizeof(profile->processor),
                       &profile->cpus);
    for (int d = 0; d < AM_DISTANCE_COUNT; d++) {
        struct am_profile_row *row = &profile->shm[d];

        row->given = d != AM_DISTANCE_FAR;
        if (!row->given) {
            continue;
        }
        strcpy(row->cores, "0,1");
        row->send_ps = 11000 + (uint64_t)d;
        row->recv_ps = 12000;
        row->wire_ps = 130000;
        row->gap_ps = 14000;
        row->single_ps = d == AM_DISTANCE_CORE ? 0 : 1500000;
        row->compared = row->single_ps != 0;
        for (int i = 0; row->compared && i < AM_FASTER_SIZES; i++) {
            row->faster.by[AM_FLOW_ALONE][i] = (uint8_t)(i % AM_BY_COUNT);
            row->faster.by[AM_FLOW_SERIES][i] = AM_BY_STREAM;
            row->faster.by[AM_FLOW_BOTH][i] =
                    i < d ? AM_BY_STREAM : AM_BY_SINGLE;
        }
        for (int ways = 0; ways < AM_WAYS_COUNT; ways++) {
            for (int i = 0; i < AM_COPY_COUNT; i++) {
                row->byte_fs[ways][i] =
                        i == AM_COPY_SINGLE && row->single_ps == 0
                                ? 0
                                : UINT64_C(20000) + (uint64_t)(100 * ways + i);
            }
        }
    }
}

static void test_round_trip(void **state)
{
    struct am_profile written, read;
    char error[512];

    profile_make(&written);
    assert_true(am_profile_write(path, &written));
    assert_int_equal(am_profile_read(path, &read, error, sizeof(error)), AM_OK);
    assert_memory_equal(&written, &read, sizeof(read));
    assert_true(am_profile_fits(&read));
    read.cpus++;
    assert_false(am_profile_fits(&read));
    assert_false(am_profile_write("/nowhere/profile", &written));
    assert_int_equal(
            am_profile_read("/nowhere/profile", &read, error, sizeof(error)),
            AM_ERR_SYSTEM);
}

/* Where there is no room for another the old one stays. */
static void test_no_room(void **state)
{
    struct rlimit few = {100, 100}, limit;
    struct am_profile old, other, read;
    char error[512], rest[PATH_MAX];
    glob_t found = {0};

    profile_make(&old);
    other = old;
    other.cpus++;
    assert_true(am_profile_write(path, &old));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    few.rlim_max = limit.rlim_max;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    errno = 0;
    assert_false(am_profile_write(path, &other));
    assert_int_equal(errno, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(am_profile_read(path, &read, error, sizeof(error)), AM_OK);
    assert_memory_equal(&old, &read, sizeof(read));
    snprintf(rest, sizeof(rest), "%s.*", path);
    assert_int_equal(glob(rest, 0, NULL, &found), GLOB_NOMATCH);
}

/* A link stays one, and its file is written. */
static void test_link(void **state)
{
    struct am_profile written, read;
    char error[512], link[PATH_MAX], at[PATH_MAX];

    profile_make(&written);
    assert_true(am_profile_write(path, &written));
    snprintf(link, sizeof(link), "%s/link", folder);
    assert_int_equal(symlink(path, link), 0);
    written.cpus++;
    assert_true(am_profile_write(link, &written));
    assert_true(readlink(link, at, sizeof(at)) > 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(am_profile_read(path, &read, error, sizeof(error)), AM_OK);
    assert_memory_equal(&written, &read, sizeof(read));
}

static void text_write(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#define HEAD                                                           \
    "version = 1; measured = \"m\"; host = \"h\"; processor = \"p\"; " \
    "cpus = 2;\n"
#define WAYS "one_way = { copy_in_fs = 1; copy_out_fs = 2; };"
#define ROW(_more)                                                         \
    "{ distance = \"cache\"; cores = \"0,1\"; send_ps = 1; recv_ps = 1;\n" \
    "wire_ps = 1; gap_ps = 1; " _more " }"
#define BOTH "both_ways = { copy_in_fs = 1; copy_out_fs = 2; };"

#define FASTER(_list, _more) "faster = { answered = [" _list "];\n" _more " };"
#define THREE                "\"stream\", \"single\", \"unknown\""
#define NINE                 THREE ", " THREE ", " THREE
#define TEN                  NINE ", \"single\""

static void test_mistakes(void **state)
{
    static const char *const bad[][2] = {
            {"version = 1", "line"},
            {"\n\n}", "line 3"},
            {"version = 2;", "version"},
            {"version = \"1\";", "version"},
            {HEAD, "shm"},
            {HEAD "shm = 1;", "shm"},
            {HEAD "shm = (1);", "shm"},
            {HEAD "shm = (" ROW(WAYS) ");", "both_ways"},
            {HEAD "shm = (" ROW(WAYS "both_ways = 3;") ");", "both_ways"},
            {HEAD "shm = (" ROW(WAYS BOTH) "," ROW(WAYS BOTH) ");", "once"},
            {HEAD "shm = ({ distance = \"moon\"; });", "distance"},
            {HEAD "shm = ({ distance = \"far\"; });", "cores"},
            {HEAD "shm = ({ distance = \"far\"; cores = \"0\"; });", "send_ps"},
            {HEAD "shm = (" ROW(BOTH "one_way = { copy_in_fs = 0; };") ");",
             "copy_in_fs"},
            {HEAD "shm = (" ROW(BOTH "one_way = { copy_in_fs = -5; };") ");",
             "copy_in_fs"},
            {HEAD "shm = (" ROW(
                     BOTH "one_way = { copy_in_fs = 99999999999L; };") ");",
             "copy_in_fs"},
            {HEAD "shm = (" ROW(WAYS BOTH "single_ps = 1.5;") ");",
             "single_ps"},
            {HEAD "shm = (" ROW(WAYS BOTH "faster = 1;") ");", "answered"},
            {HEAD "shm = (" ROW(WAYS BOTH FASTER(TEN, "")) ");", "in_a_row"},
            {HEAD "shm = (" ROW(
                     WAYS BOTH FASTER(TEN, "in_a_row = \"stream\";")) ");",
             "in_a_row"},
            {HEAD "shm = (" ROW(WAYS BOTH FASTER(NINE, "")) ");", "answered"},
            {HEAD "shm = (" ROW(WAYS BOTH FASTER(NINE "," NINE, "")) ");",
             "answered"},
            {HEAD "shm = (" ROW(WAYS BOTH FASTER(NINE ", \"get\"", "")) ");",
             "answered"},
            {HEAD "shm = (" ROW(WAYS BOTH FASTER("1, 2", "")) ");", "answered"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct am_profile profile;
        char error[512] = "";

        text_write(bad[i][0]);
        assert_int_equal(am_profile_read(path, &profile, error, sizeof(error)),
                         AM_ERR_CONFIG);
        if (strstr(error, path) == NULL || strstr(error, bad[i][1]) == NULL) {
            fail_msg("mistake %zu is told as: %s", i, error);
        }
    }
    text_write(HEAD "shm = (" ROW(WAYS BOTH) ");");
    {
        struct am_profile profile;
        char error[512];

        assert_int_equal(am_profile_read(path, &profile, error, sizeof(error)),
                         AM_OK);
        assert_true(profile.shm[AM_DISTANCE_CACHE].given);
    }
}

/* A context alone, with this variable. */
static am_status_t ctx_open(const char *value, char error[512],
                            struct am_ctx **ctx_p)
{
    const struct am_option options[] = {{"AM_PROFILE", value},
                                        {"AM_DEVICES", "shm"},
                                        {"AM_SHM_CMA", "off"},
                                        {"AM_LOG", "none"}};
    struct am_params params = {.size = 1,
                               .options = options,
                               .option_count = 4,
                               .error = error,
                               .error_bytes = 512};

    return am_open(&params, ctx_p);
}

/* And its device's costs. */
static am_status_t open_with(const char *value, char error[512],
                             struct am_dev_perf *perf)
{
    struct am_ctx *ctx;
    am_status_t status = ctx_open(value, error, &ctx);

    if (status == AM_OK) {
        *perf = ctx->devs[0]->attr.perf;
        am_close(ctx);
    }
    return status;
}

static void test_context(void **state)
{
    struct am_dev_perf none, with;
    struct am_profile profile;
    char error[512] = "";

    assert_int_equal(open_with("none", error, &none), AM_OK);
    profile_make(&profile);
    assert_true(am_profile_write(path, &profile));
    assert_int_equal(open_with(path, error, &with), AM_OK);
    assert_int_equal(with.send_overhead.fixed_ps, 11000 + AM_DISTANCE_CACHE);
    assert_int_equal(with.send_overhead.per_byte_fs, 20000);
    assert_int_equal(with.recv_overhead.per_byte_fs, 20001);
    assert_int_equal(with.get.per_byte_fs, 20002);

    strcpy(profile.processor, "another one");
    assert_true(am_profile_write(path, &profile));
    assert_int_equal(open_with(path, error, &with), AM_OK);
    assert_memory_equal(&with, &none, sizeof(none));

    text_write("version = 1");
    assert_int_equal(open_with(path, error, &with), AM_ERR_CONFIG);
    assert_non_null(strstr(error, "AM_PROFILE"));
    assert_int_equal(open_with("/nowhere/profile", error, &with),
                     AM_ERR_CONFIG);
    assert_non_null(strstr(error, "/nowhere/profile"));
    assert_int_equal(open_with("/nowhere\n", error, &with), AM_ERR_CONFIG);
    assert_non_null(strstr(error, "AM_PROFILE names /nowhere?, which"));
}

/* It is of cores that have a rank each, and left where ranks share them. */
static void test_crowd(void **state)
{
    struct am_profile profile;
    struct am_dev_perf none;
    char error[512] = "";
    struct am_ctx *ctx;
    struct shm_dev *dev;

    assert_int_equal(open_with("none", error, &none), AM_OK);
    profile_make(&profile);
    assert_true(am_profile_write(path, &profile));
    assert_int_equal(ctx_open(path, error, &ctx), AM_OK);
    dev = shm_dev_of(ctx->devs[0]);
    shm_costs_round(dev, 5000);
    /* not all others have said where they run */
    shm_costs_crowd(dev, true, 1000);
    assert_int_equal(dev->base.attr.perf.send_overhead.per_byte_fs, 20000);
    dev->crowd_known = true;
    shm_costs_crowd(dev, false, 0);
    assert_int_equal(dev->base.attr.perf.send_overhead.per_byte_fs, 20000);
    shm_costs_crowd(dev, true, 1000);
    for (int d = 0; d < AM_DISTANCE_COUNT; d++) {
        assert_int_equal(dev->meters[d].short_from, AM_FROM_DEFAULT);
        assert_null(dev->meters[d].faster);
        assert_int_equal(dev->meters[d].perf.round_ps, 5000);
    }
    assert_memory_equal(&dev->base.attr.perf.send_overhead, &none.send_overhead,
                        sizeof(none.send_overhead));
    assert_true(dev->base.attr.perf.shared_core);
    am_close(ctx);
}

/* What can be opened and not read, has no end, or waits for somebody who writes
 * into it, neither ends the process nor keeps it. */
static void test_no_file(void **state)
{
    char fifo[PATH_MAX];
    const char *const names[][2] = {{folder, strerror(EISDIR)},
                                    {"/dev/zero", "no regular file"},
                                    {fifo, "no regular file"}};
    struct am_dev_perf perf;

    snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    for (int i = 0; i < 3; i++) {
        char error[512] = "";

        assert_int_equal(open_with(names[i][0], error, &perf), AM_ERR_CONFIG);
        assert_non_null(strstr(error, "AM_PROFILE names"));
        assert_non_null(strstr(error, names[i][0]));
        assert_non_null(strstr(error, names[i][1]));
    }
    assert_int_equal(unlink(fifo), 0);
}

/* A file that is longer than a profile can be is none. */
static void test_long_file(void **state)
{
    struct am_dev_perf perf;
    char error[512] = "";

    text_write("version = 1");
    assert_int_equal(truncate(path, 1 << 20), 0);
    assert_int_equal(open_with(path, error, &perf), AM_ERR_CONFIG);
    assert_non_null(strstr(error, strerror(EFBIG)));
}

/* One that the user did not name is found; what is wrong with it does no harm. */
static void test_automatic(void **state)
{
    struct am_dev_perf none, with;
    struct am_profile profile;
    char error[512] = "", own[512], sub[512];

    assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
    assert_true(am_profile_path(own, sizeof(own)));
    snprintf(sub, sizeof(sub), "mkdir -p %s/libam", folder);
    assert_int_equal(system(sub), 0);
    assert_int_equal(open_with("none", error, &none), AM_OK);
    profile_make(&profile);
    assert_true(am_profile_write(own, &profile));
    assert_int_equal(open_with("auto", error, &with), AM_OK);
    assert_int_equal(with.gap_ps, 14000);
    profile.cpus++;
    assert_true(am_profile_write(own, &profile));
    assert_int_equal(open_with("auto", error, &with), AM_OK);
    assert_memory_equal(&with, &none, sizeof(none));
    assert_int_equal(truncate(own, 20), 0);
    assert_int_equal(open_with("auto", error, &with), AM_OK);
    assert_memory_equal(&with, &none, sizeof(none));
    assert_int_equal(unlink(own), 0);
    assert_int_equal(mkdir(own, 0700), 0); /* a folder of that name */
    assert_int_equal(open_with("auto", error, &with), AM_OK);
    assert_memory_equal(&with, &none, sizeof(none));
    assert_int_equal(rmdir(own), 0);
    snprintf(sub, sizeof(sub), "%s/libam", folder);
    assert_int_equal(rmdir(sub), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_no_room),    cmocka_unit_test(test_link),
            cmocka_unit_test(test_round_trip), cmocka_unit_test(test_mistakes),
            cmocka_unit_test(test_context),    cmocka_unit_test(test_automatic),
            cmocka_unit_test(test_no_file),    cmocka_unit_test(test_long_file),
            cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
