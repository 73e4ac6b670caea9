/*
 * The trace: which records stay, its hash, and that its JSON is accepted by
 * an independent parser (python3 -m json.tool).
 */
#include "base/trace.h"

#include "support/clock.h"
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Virtual time: one tick more at each reading. */
static struct clock new_clock(uint64_t start_ps)
{
    return (struct clock){.env = {.ops = &clock_ops, .simulated = true},
                          .now_ps = start_ps,
                          .look_ps = 1234567};
}

/* Write the trace to a file of its own and return the text; to be freed. */
static char *write_text(const struct am_trace *trace)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    assert_non_null(file);
    assert_int_equal(am_trace_write(trace, file), 0);
    fclose(file);
    return text;
}

/* Is the text JSON?  Asks python, whose parser is not ours. */
static void assert_json(const char *text)
{
    int pipe_fd[2];
    int status = -1;
    pid_t child;
    FILE *to;

    assert_int_equal(pipe(pipe_fd), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipe_fd[0], STDIN_FILENO);
        close(pipe_fd[0]);
        close(pipe_fd[1]);
        execlp("python3", "python3", "-m", "json.tool", "-", "/dev/null",
               (char *)NULL);
        _exit(127);
    }
    close(pipe_fd[0]);
    to = fdopen(pipe_fd[1], "w");
    fputs(text, to);
    fclose(to);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static uint32_t count_of(const char *text, const char *piece)
{
    uint32_t count = 0;

    while ((text = strstr(text, piece)) != NULL) {
        count++;
        text += strlen(piece);
    }
    return count;
}

static void test_empty(void **state)
{
    struct clock clock = new_clock(0);
    struct am_trace *trace = am_trace_open(&clock.env, 0, 0);
    char *text = write_text(trace);

    assert_string_equal(text, "[\n]\n");
    assert_json(text);
    free(text);
    am_trace_close(trace);
    am_trace_close(NULL);
    am_trace_event(NULL, 1, 2, 3); /* off: nothing happens */
}

static void test_names_and_phases(void **state)
{
    struct clock clock = new_clock(5000000000);
    struct am_trace *trace = am_trace_open(&clock.env, 7, 64);
    char *text;

    am_trace_name(trace, 0, "send");
    am_trace_name(trace, 1023, "quote \" back \\ tab \t high \xc3\xa9 end");
    am_trace_name(trace, 1024, "out of range: ignored");
    am_trace_add(trace, 0, 'B', 1, UINT64_MAX);
    am_trace_add(trace, 0, 'E', 0, 0);
    am_trace_event(trace, 1023, 3, 4);
    am_trace_event(trace, 1024, 5, 6);
    am_trace_add(trace, 5, '"', 7, 8); /* no such phase: an instant */
    text = write_text(trace);
    assert_json(text);
    assert_int_equal(count_of(text, "\"name\""), 5);
    assert_non_null(strstr(text,
                           "{\"name\":\"send\",\"ph\":\"B\",\"ts\":5001.234567,"
                           "\"pid\":7,\"tid\":0,\"args\":{\"a\":1,\"b\":"
                           "18446744073709551615}}"));
    assert_non_null(strstr(text, "\"ph\":\"E\""));
    assert_non_null(strstr(text, "quote \\\" back \\\\ tab \\u0009 high"));
    assert_non_null(strstr(text, "\"name\":\"kind 1024\""));
    assert_non_null(
            strstr(text, "\"name\":\"kind 5\",\"ph\":\"i\",\"s\":\"t\""));
    free(text);
    am_trace_close(trace);
}

/* The oldest are overwritten; the size is rounded up to a power of two. */
static void test_wrap(void **state)
{
    struct clock clock = new_clock(0);
    struct am_trace *trace = am_trace_open(&clock.env, 0, 5);
    char *text;

    for (uint64_t i = 0; i < 100; i++) {
        am_trace_event(trace, 1, i, 0);
    }
    text = write_text(trace);
    assert_json(text);
    assert_int_equal(count_of(text, "\"name\""), 8);
    assert_null(strstr(text, "\"a\":91,"));
    assert_non_null(strstr(text, "\"a\":92,"));
    assert_non_null(strstr(text, "\"a\":99,"));
    free(text);
    am_trace_close(trace);
}

/* More records than 32 bits count are not few.  Untouched memory costs nothing;
 * a machine may still refuse so much of it. */
static void test_many(void **state)
{
    struct clock clock = new_clock(0);
    struct am_trace *trace =
            am_trace_open(&clock.env, 0, (UINT64_C(1) << 32) + 1);
    char *text;

    if (trace == NULL) {
        skip();
    }
    am_trace_event(trace, 1, 1, 0);
    am_trace_event(trace, 1, 2, 0);
    text = write_text(trace);
    assert_int_equal(count_of(text, "\"name\""), 2);
    free(text);
    am_trace_close(trace);
}

/* Equal runs have equal hashes, whatever the size of the ring; any change of
 * time, kind, order or number shows. */
static uint64_t run_hash(uint32_t records, uint64_t start_ps, uint64_t twist)
{
    struct clock clock = new_clock(start_ps);
    struct am_trace *trace = am_trace_open(&clock.env, 1, records);
    uint64_t hash;

    for (uint64_t i = 0; i < 50; i++) {
        am_trace_add(trace, (uint16_t)(i == 20 && twist == 1 ? 9 : i % 4),
                     i == 21 && twist == 2 ? 'B' : 'i',
                     i == 22 && twist == 3 ? 1 : 0,
                     i == 49 && twist == 4 ? 1 : 0);
    }
    hash = am_trace_hash(trace);
    am_trace_close(trace);
    return hash;
}

static void test_hash(void **state)
{
    uint64_t hash = run_hash(64, 0, 0);

    assert_true(run_hash(4, 0, 0) == hash);
    assert_true(run_hash(64, 1, 0) != hash);
    for (uint64_t twist = 1; twist <= 4; twist++) {
        assert_true(run_hash(64, 0, twist) != hash);
    }
}

static void test_write_error(void **state)
{
    struct clock clock = new_clock(0);
    struct am_trace *trace = am_trace_open(&clock.env, 1, 16);
    FILE *full = fopen("/dev/full", "w");

    assert_non_null(full);
    am_trace_event(trace, 1, 2, 3);
    assert_int_equal(am_trace_write(trace, full), -1);
    fclose(full);
    am_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_empty),
            cmocka_unit_test(test_names_and_phases),
            cmocka_unit_test(test_wrap),
            cmocka_unit_test(test_many),
            cmocka_unit_test(test_hash),
            cmocka_unit_test(test_write_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
