/*
 * PMI-1: fields, hex, and the conversation with a scripted launcher behind a
 * socket pair, which answers well, badly, in pieces, or not at all.
 */
#include "am/pmi.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

/* The launcher's lines are all written before the client starts to ask: the
 * socket holds them, so no thread is needed. */
static am_status_t attach(struct am_pmi *pmi, int *server_p, const char *lines,
                          uint32_t rank, uint32_t size)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(write(pair[1], lines, strlen(lines)), strlen(lines));
    *server_p = pair[1];
    return am_pmi_attach(pmi, pair[0], rank, size, 0);
}

static void detach(struct am_pmi *pmi, int server)
{
    close(server);
    pmi->broken = true; /* nobody answers a finalize */
    am_pmi_finalize(pmi);
    assert_int_equal(pmi->fd, -1);
}

#define HELLO                                                    \
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n" \
    "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"  \
    "cmd=my_kvsname kvsname=kvs_7_0\n"

static void test_field(void **state)
{
    char value[8];

    assert_true(am_pmi_field("cmd=get rc=0 value=ab\n", "rc", value, 8));
    assert_string_equal(value, "0");
    assert_true(am_pmi_field("cmd=get rc=0 value=ab\n", "value", value, 8));
    assert_string_equal(value, "ab");
    assert_true(am_pmi_field("  a=  b=x", "a", value, 8));
    assert_string_equal(value, "");
    assert_true(am_pmi_field("k=v=w", "k", value, 8));
    assert_string_equal(value, "v=w");
    assert_false(am_pmi_field("xrc=0", "rc", value, 8));
    assert_false(am_pmi_field("rcx=0", "rc", value, 8));
    assert_false(am_pmi_field("rc", "rc", value, 8));
    assert_false(am_pmi_field("", "rc", value, 8));
    assert_false(am_pmi_field("\n", "rc", value, 8));
    assert_false(am_pmi_field("rc=12345678", "rc", value, 8));
    assert_true(am_pmi_field("rc=1234567", "rc", value, 8));
    assert_true(am_pmi_answer_ok("cmd=barrier_out", "barrier_out"));
    assert_true(am_pmi_answer_ok("cmd=put_result rc=0", "put_result"));
    assert_false(am_pmi_answer_ok("cmd=put_result rc=-1", "put_result"));
    assert_false(am_pmi_answer_ok("cmd=get_result rc=0", "put_result"));
    assert_false(am_pmi_answer_ok("rc=0", "put_result"));
}

static void test_hex(void **state)
{
    unsigned char from[96], to[96];
    char text[193];

    for (size_t i = 0; i < sizeof(from); i++) {
        from[i] = (unsigned char)(i * 37 + 11);
    }
    am_pmi_hex_write(from, sizeof(from), text);
    assert_int_equal(strlen(text), 192);
    assert_true(am_pmi_hex_read(text, to, sizeof(to)));
    assert_memory_equal(from, to, sizeof(to));
    assert_true(am_pmi_hex_read("aF09", to, 2));
    assert_int_equal(to[0], 0xaf);
    assert_false(am_pmi_hex_read("aF0", to, 2));
    assert_false(am_pmi_hex_read("aF09a", to, 2));
    assert_false(am_pmi_hex_read("aG09", to, 2));
    assert_false(am_pmi_hex_read("", to, 1));
    assert_true(am_pmi_hex_read("", to, 0));
}

static void test_exchange(void **state)
{
    struct am_pmi *pmi = malloc(sizeof(*pmi));
    char sent[4096] = "", mine[2] = {1, 2}, all[6];
    const char expected[] = {16, 17, 1, 2, (char)254, (char)255};
    int server;

    assert_int_equal(attach(pmi, &server,
                            HELLO "cmd=put_result rc=0 msg=success\n"
                                  "cmd=barrier_out\n"
                                  "cmd=get_result rc=0 value=1011\n"
                                  "cmd=get_result rc=0 value=feff\n"
                                  "cmd=finalize_ack\n",
                            1, 3),
                     AM_OK);
    assert_string_equal(pmi->kvsname, "kvs_7_0");
    assert_int_equal(am_pmi_allgather(pmi, mine, all, 2), 0);
    assert_memory_equal(all, expected, 6);
    am_pmi_finalize(pmi);
    assert_int_equal(pmi->fd, -1);
    assert_true(read(server, sent, sizeof(sent) - 1) > 0);
    assert_string_equal(sent, "cmd=init pmi_version=1 pmi_subversion=1\n"
                              "cmd=get_maxes\n"
                              "cmd=get_my_kvsname\n"
                              "cmd=put kvsname=kvs_7_0 key=am-0-1 value=0102\n"
                              "cmd=barrier_in\n"
                              "cmd=get kvsname=kvs_7_0 key=am-0-0\n"
                              "cmd=get kvsname=kvs_7_0 key=am-0-2\n"
                              "cmd=finalize\n");
    close(server);
    free(pmi);
}

/* Each exchange has keys of its own, so a context may be opened again. */
static void test_second_exchange(void **state)
{
    struct am_pmi *pmi = malloc(sizeof(*pmi));
    char sent[4096] = "", mine = 3, all[2];
    int server;

    assert_int_equal(attach(pmi, &server,
                            HELLO "cmd=put_result rc=0\ncmd=barrier_out\n"
                                  "cmd=get_result rc=0 value=05\n"
                                  "cmd=put_result rc=0\ncmd=barrier_out\n"
                                  "cmd=get_result rc=0 value=06\n",
                            0, 2),
                     AM_OK);
    assert_int_equal(am_pmi_allgather(pmi, &mine, all, 1), 0);
    assert_int_equal(all[1], 5);
    assert_int_equal(am_pmi_allgather(pmi, &mine, all, 1), 0);
    assert_int_equal(all[1], 6);
    assert_true(read(server, sent, sizeof(sent) - 1) > 0);
    assert_non_null(strstr(sent, "key=am-0-0 value=03"));
    assert_non_null(strstr(sent, "key=am-1-0 value=03"));
    detach(pmi, server);
    free(pmi);
}

static void test_bad_hello(void **state)
{
    static const char *const hellos[] = {
            "cmd=response_to_init rc=-1 pmi_version=2\n",
            "\n",
            "garbage with no equals sign\n",
            "cmd=\033[2Jresponse_to_init rc=0\n",
            "cmd=response_to_init rc=0\ncmd=maxes kvsname_max=1\n",
            "cmd=response_to_init rc=0\ncmd=maxes vallen_max=\n",
            "cmd=response_to_init rc=0\ncmd=maxes vallen_max=12x\n",
            "cmd=response_to_init rc=0\ncmd=maxes vallen_max=0\n",
            "cmd=response_to_init rc=0\ncmd=maxes "
            "vallen_max=64\ncmd=my_kvsname\n",
    };
    struct am_pmi *pmi = malloc(sizeof(*pmi));
    int server;

    for (size_t i = 0; i < sizeof(hellos) / sizeof(hellos[0]); i++) {
        assert_int_equal(attach(pmi, &server, hellos[i], 0, 2), AM_ERR_SYSTEM);
        assert_non_null(strstr(pmi->error, "the launcher answered"));
        assert_null(strchr(pmi->error, '\033'));
        /* Later calls fail at once and keep the first reason. */
        assert_int_equal(am_pmi_barrier_enter(pmi), AM_ERR_SYSTEM);
        assert_int_equal(am_pmi_barrier_test(pmi, -1), AM_ERR_SYSTEM);
        assert_non_null(strstr(pmi->error, "the launcher answered"));
        detach(pmi, server);
    }
    free(pmi);
}

static void test_long_line(void **state)
{
    struct am_pmi *pmi = malloc(sizeof(*pmi));
    char *line = malloc(2 * AM_PMI_LINE_BYTES);
    int server;

    memset(line, 'x', 2 * AM_PMI_LINE_BYTES - 1);
    line[2 * AM_PMI_LINE_BYTES - 1] = '\0';
    assert_int_equal(attach(pmi, &server, line, 0, 2), AM_ERR_SYSTEM);
    assert_non_null(strstr(pmi->error, "a line of over"));
    detach(pmi, server);
    free(line);
    free(pmi);
}

static void test_bad_blobs(void **state)
{
    static const char *const answers[] = {
            "cmd=get_result rc=-1 msg=key_am-0-1_not_found value=unknown\n",
            "cmd=get_result rc=0 value=0\n",
            "cmd=get_result rc=0 value=010203\n",
            "cmd=get_result rc=0 value=zz00\n",
            "cmd=get_result rc=0\n",
            "cmd=put_result rc=0 value=0102\n",
    };
    struct am_pmi *pmi = malloc(sizeof(*pmi));
    char lines[1024], mine[2] = {0}, all[4];
    int server;

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        snprintf(lines, sizeof(lines),
                 HELLO "cmd=put_result rc=0\ncmd=barrier_out\n%s", answers[i]);
        assert_int_equal(attach(pmi, &server, lines, 0, 2), AM_OK);
        assert_int_equal(am_pmi_allgather(pmi, mine, all, 2), -1);
        assert_non_null(strstr(pmi->error, "the launcher answered get"));
        detach(pmi, server);
    }
    free(pmi);
}

static void test_value_too_long(void **state)
{
    struct am_pmi *pmi = malloc(sizeof(*pmi));
    char *blob = calloc(2, 600), *all = calloc(2, 600);
    int server;

    assert_int_equal(attach(pmi, &server, HELLO, 0, 2), AM_OK);
    assert_int_equal(am_pmi_allgather(pmi, blob, all, 600), -1);
    assert_non_null(strstr(pmi->error, "up to 1024 bytes; 1201 are needed"));
    detach(pmi, server);
    free(blob);
    free(all);
    free(pmi);
}

static void test_launcher_gone(void **state)
{
    struct am_pmi *pmi = malloc(sizeof(*pmi));
    char mine = 0, all[2];
    int server;

    assert_int_equal(attach(pmi, &server, HELLO "cmd=put_result rc=0\n", 0, 2),
                     AM_OK);
    assert_int_equal(shutdown(server, SHUT_WR), 0);
    assert_int_equal(am_pmi_allgather(pmi, &mine, all, 1), -1);
    assert_non_null(strstr(pmi->error, "closed its connection"));
    detach(pmi, server);
    free(pmi);
}

/* The other rank never comes to the exchange, or the launcher says nothing. */
static void test_timeout(void **state)
{
    static const char *const answers[] = {HELLO "cmd=put_result rc=0\n", HELLO};
    static const char *const said[] = {"not all ranks came within 20 ms",
                                       "did not answer put within 20 ms"};

    for (int i = 0; i < 2; i++) {
        char mine[8] = "mine", all[16];
        struct am_pmi pmi;
        int server;

        assert_int_equal(attach(&pmi, &server, answers[i], 0, 2), AM_OK);
        pmi.timeout_ms = 20;
        assert_int_equal(am_pmi_allgather(&pmi, mine, all, sizeof(mine)), -1);
        assert_non_null(strstr(pmi.error, said[i]));
        detach(&pmi, server);
    }
}

/* Nor does it say a word at the beginning, or it stops within a line. */
static void test_timeout_at_start(void **state)
{
    static const char *const answers[] = {
            "", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncm"};
    static const char *const said[] = {"did not answer init within 20 ms",
                                       "did not answer get_maxes within 20 ms"};

    for (int i = 0; i < 2; i++) {
        struct am_pmi pmi;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(write(pair[1], answers[i], strlen(answers[i])),
                         strlen(answers[i]));
        assert_int_equal(am_pmi_attach(&pmi, pair[0], 0, 2, 20), AM_ERR_SYSTEM);
        assert_non_null(strstr(pmi.error, said[i]));
        detach(&pmi, pair[1]);
    }
}

static int late_server, alarms;

static void on_alarm(int signal)
{
    if (++alarms == 2000) { /* then nobody looks at the time */
        (void)shutdown(late_server, SHUT_WR);
    }
}

/* Nor does a program's own timer keep it waiting, which interrupts each wait. */
static void test_timeout_with_alarms(void **state)
{
    const struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0}, {0}};
    const struct sigaction action = {.sa_handler = on_alarm};
    char mine[8] = "mine", all[16];
    struct sigaction before;
    struct am_pmi pmi;

    assert_int_equal(
            attach(&pmi, &late_server, HELLO "cmd=put_result rc=0\n", 0, 2),
            AM_OK);
    pmi.timeout_ms = 20;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_int_equal(am_pmi_allgather(&pmi, mine, all, sizeof(mine)), -1);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_non_null(strstr(pmi.error, "not all ranks came within 20 ms"));
    detach(&pmi, late_server);
}

/* A barrier can be tested without blocking, and answers come in pieces. */
static void test_barrier_in_pieces(void **state)
{
    struct am_pmi *pmi = malloc(sizeof(*pmi));
    int server;

    assert_int_equal(attach(pmi, &server, HELLO, 0, 2), AM_OK);
    assert_int_equal(am_pmi_barrier_test(pmi, 0), AM_OK); /* none entered */
    assert_int_equal(am_pmi_barrier_enter(pmi), AM_OK);
    assert_int_equal(am_pmi_barrier_enter(pmi), AM_ERR_SYSTEM);
    assert_int_equal(am_pmi_barrier_test(pmi, 0), AM_ERR_AGAIN);
    assert_int_equal(write(server, "cmd=barr", 8), 8);
    assert_int_equal(am_pmi_barrier_test(pmi, 0), AM_ERR_AGAIN);
    assert_int_equal(write(server, "ier_out\n", 8), 8);
    assert_int_equal(am_pmi_barrier_test(pmi, 0), AM_OK);
    assert_false(pmi->in_barrier);
    detach(pmi, server);
    free(pmi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_field),
            cmocka_unit_test(test_hex),
            cmocka_unit_test(test_exchange),
            cmocka_unit_test(test_second_exchange),
            cmocka_unit_test(test_bad_hello),
            cmocka_unit_test(test_long_line),
            cmocka_unit_test(test_bad_blobs),
            cmocka_unit_test(test_value_too_long),
            cmocka_unit_test(test_launcher_gone),
            cmocka_unit_test(test_timeout),
            cmocka_unit_test(test_timeout_at_start),
            cmocka_unit_test(test_timeout_with_alarms),
            cmocka_unit_test(test_barrier_in_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
