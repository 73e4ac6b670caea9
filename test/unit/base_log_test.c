/*
 * The log: levels, the file with the rank in its name, whole lines from many
 * writers, long lines, and the sentences for bad values.
 */
#include "base/log.h"

#include "support/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char error[1024];

static int setup(void **state)
{
    strcpy(folder, "base_log_test.XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

/* Read a file of the folder and remove it; static storage. */
static const char *read_file(const char *name)
{
    static char text[65536];
    char path[128];
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "r");
    if (file == NULL) {
        return NULL;
    }
    length = fread(text, 1, sizeof(text) - 1, file);
    text[length] = '\0';
    fclose(file);
    unlink(path);
    return text;
}

static int teardown(void **state)
{
    return rmdir(folder);
}

static int open_log(struct am_log *log, const char *level, const char *name,
                    uint32_t rank)
{
    char spec[256];

    snprintf(spec, sizeof(spec), "%s:%s/%s", level, folder, name);
    error[0] = '\0';
    return am_log_open(log, spec, rank, error, sizeof(error));
}

static void test_default(void **state)
{
    static const char *const specs[] = {NULL, "", "warn", "WARN"};
    struct am_log log;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(am_log_open(&log, specs[i], 2, error, sizeof(error)),
                         0);
        assert_int_equal(log.level, AM_LOG_WARN);
        assert_ptr_equal(log.file, stderr);
        am_log_close(&log);
        assert_int_not_equal(fcntl(STDERR_FILENO, F_GETFD), -1);
        am_log(&log, AM_LOG_ERROR, "after close: %d", 1); /* goes nowhere */
    }
}

static void test_levels(void **state)
{
    static const char *const names[] = {"none",  "error", "warn", "info",
                                        "debug", "trace", "data"};

    for (int level = AM_LOG_NONE; level <= AM_LOG_DATA; level++) {
        struct am_log log;
        uint32_t lines = 0;

        assert_int_equal(open_log(&log, names[level], "levels", 0), 0);
        for (int at = AM_LOG_ERROR; at <= AM_LOG_DATA; at++) {
            am_log(&log, (am_log_level_t)at, "event %d", at);
        }
        am_log_close(&log);
        for (const char *c = read_file("levels"); *c != '\0'; c++) {
            lines += *c == '\n';
        }
        assert_int_equal(lines, level);
    }
}

static void test_rank_in_name(void **state)
{
    struct am_log log;

    for (uint32_t rank = 0; rank < 12; rank += 11) {
        assert_int_equal(open_log(&log, "debug", "a%r.%r%x%%", rank), 0);
        am_log(&log, AM_LOG_DEBUG, "peer %d seq %d", 4, 5);
        am_log_close(&log);
    }
    assert_string_equal(read_file("a0.0%x%%"), "am 0 debug: peer 4 seq 5\n");
    assert_string_equal(read_file("a11.11%x%%"), "am 11 debug: peer 4 seq 5\n");
    assert_int_equal(open_log(&log, "info", "r%r", UINT32_MAX), 0);
    am_log_close(&log);
    assert_string_equal(read_file("r4294967295"), "");
}

/* Ranks that share a file append whole lines. */
static void test_shared_file(void **state)
{
    enum {
        CHILDREN = 3,
        LINES = 200
    };

    const char *text;
    uint32_t next[CHILDREN] = {0};
    uint32_t lines = 0;

    for (uint32_t rank = 0; rank < CHILDREN; rank++) {
        if (fork() == 0) {
            struct am_log log;

            if (open_log(&log, "info", "shared", rank) != 0) {
                _exit(1);
            }
            for (int i = 0; i < LINES; i++) {
                am_log(&log, AM_LOG_INFO, "line %d", i);
            }
            am_log_close(&log);
            _exit(0);
        }
    }
    for (uint32_t rank = 0; rank < CHILDREN; rank++) {
        int status = 1;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    text = read_file("shared");
    while (*text != '\0') {
        uint32_t rank, line;
        int used = 0;

        assert_int_equal(
                sscanf(text, "am %u info: line %u%n", &rank, &line, &used), 2);
        assert_in_range(rank, 0, CHILDREN - 1);
        assert_int_equal(line, next[rank]++);
        assert_int_equal(text[used], '\n');
        text += used + 1;
        lines++;
    }
    assert_int_equal(lines, CHILDREN * LINES);
}

static void test_long_line(void **state)
{
    struct am_log log;
    char line[5000];
    const char *text;

    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    for (size_t length = 990; length < 1030; length++) {
        line[length] = '\0';
        assert_int_equal(open_log(&log, "info", "long", 0), 0);
        am_log(&log, AM_LOG_INFO, "%s", line);
        am_log_close(&log);
        text = read_file("long");
        assert_true(strlen(text) <= 1024);
        assert_true(strlen(text) == length + strlen("am 0 info: \n") ||
                    strlen(text) >= 1023);
        assert_int_equal(text[strlen(text) - 1], '\n');
        line[length] = 'x';
    }
}

static void assert_refused(const char *spec, const char *sentence)
{
    struct am_log log;

    error[0] = '\0';
    assert_int_equal(am_log_open(&log, spec, 0, error, sizeof(error)), -1);
    assert_non_null(strstr(error, sentence));
    am_log_close(&log);
}

static void test_bad_values(void **state)
{
    char path[5000] = "info:";

    assert_refused("debg", "AM_LOG is \"debg\"; accepted: none, error, warn, "
                           "info, debug, trace or data");
    assert_refused("debug2:x", "AM_LOG is \"debug2:x\"");
    assert_refused(":file", "AM_LOG is \":file\"");
    /* a terminal would do what the value says */
    assert_refused("\033[2Jdebg\n", "AM_LOG is \"?[2Jdebg?\"; accepted");
    assert_refused("debug:no\nwhere/x", "AM_LOG names the file no?where/x: ");
    assert_refused("debug:", "file name that is empty");
    assert_refused("debug:base_log_test.nowhere/x",
                   "AM_LOG names the file base_log_test.nowhere/x: No such "
                   "file or directory");
    memset(path + 5, 'p', sizeof(path) - 6);
    assert_refused(path, "longer than 4095 bytes");
}

/* What `body` writes to stderr; static storage. */
static const char *stderr_of(void (*body)(void))
{
    char path[128];
    int saved = dup(STDERR_FILENO);
    int fd;

    snprintf(path, sizeof(path), "%s/stderr", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(saved >= 0 && fd >= 0);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    body();
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    close(fd);
    close(saved);
    return read_file("stderr");
}

static void log_to_full(void)
{
    struct am_log log;

    assert_int_equal(
            am_log_open(&log, "debug:/dev/full", 3, error, sizeof(error)), 0);
    am_log(&log, AM_LOG_DEBUG, "lost");
    am_log(&log, AM_LOG_DEBUG, "lost");
    am_log(&log, AM_LOG_WARN, "shown");
    am_log_close(&log);
    assert_int_equal(
            am_log_open(&log, "debug:/dev/full", 4, error, sizeof(error)), 0);
    am_log(&log, AM_LOG_ERROR, "this as well");
    am_log_close(&log);
}

/* A file that cannot be written is told of once; what matters is not lost. */
static void test_full_log(void **state)
{
    static const char follow[] = "error: the file of AM_LOG cannot be written: "
                                 "No space left on device; errors and warnings "
                                 "follow here\n";
    char expected[512];

    snprintf(expected, sizeof(expected),
             "am 3 %sam 3 warn: shown\nam 4 %sam 4 error: this as well\n",
             follow, follow);
    assert_string_equal(stderr_of(log_to_full), expected);
}

/* Whoever writes a file learns whether all of it got there. */
static void test_full_output(void **state)
{
    char path[128];
    FILE *file;

    for (size_t bytes = 1; bytes < 100000; bytes *= 10) {
        file = am_log_output_open("/dev/full", 0, true);
        assert_non_null(file);
        for (size_t i = 0; i < bytes; i++) {
            fputc('x', file);
        }
        errno = 0;
        assert_int_equal(am_log_output_close(file), -1);
        assert_int_equal(errno, ENOSPC);
    }
    snprintf(path, sizeof(path), "%s/out", folder);
    file = am_log_output_open(path, 0, false);
    assert_non_null(file);
    fputs("all", file);
    assert_int_equal(am_log_output_close(file), 0);
    assert_string_equal(read_file("out"), "all");
    assert_int_equal(am_log_output_close(stderr), 0);
}

static void write_out(const char *path, const char *text, bool together)
{
    FILE *file = am_log_output_open(path, 0, together);

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(am_log_output_close(file), 0);
}

/* A file is written anew, or for the first time by this process; what is written
 * together after that comes behind it, whatever the file is called. */
static void test_together(void **state)
{
    char path[128], other[128];
    FILE *old;

    snprintf(path, sizeof(path), "%s/out", folder);
    snprintf(other, sizeof(other), "%s/./out", folder);
    old = fopen(path, "w");
    assert_non_null(old);
    fputs("of an earlier run, and long\n", old);
    fclose(old);
    write_out(path, "1 ", true);
    write_out(other, "2 ", true);
    write_out(path, "3", true);
    assert_string_equal(read_file("out"), "1 2 3");
    write_out(path, "one", false);
    write_out(path, "two", false);
    assert_string_equal(read_file("out"), "two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_default),
            cmocka_unit_test(test_levels),
            cmocka_unit_test(test_rank_in_name),
            cmocka_unit_test(test_shared_file),
            cmocka_unit_test(test_long_line),
            cmocka_unit_test(test_bad_values),
            cmocka_unit_test(test_full_log),
            cmocka_unit_test(test_full_output),
            cmocka_unit_test(test_together),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
