/*
 * A peer process is killed: what was under way to and from it ends with
 * AM_ERR_PEER, each exactly once; messages that are here can be received; new
 * sends are refused.  So does what waits for one that nothing ever came from.
 */
#include "config.h"

#include "support/cm.h"
#include "support/msg_world.h"

#include "msg/msg_core.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WARNING_BYTES = 1000,
    LARGE = 3 << 20,
    POLLS_MAX = 200000000
};

#define MIXED "eager:1k,get:1m,put"

static void exchange(int fd, struct am_ctx *ctx, uint32_t rank)
{
    char blobs[2][AM_ADDRESS_BYTES];

    assert_int_equal(am_address(ctx, blobs[rank]), AM_OK);
    assert_int_equal(write(fd, blobs[rank], AM_ADDRESS_BYTES),
                     AM_ADDRESS_BYTES);
    assert_int_equal(recv(fd, blobs[1 - rank], AM_ADDRESS_BYTES, MSG_WAITALL),
                     AM_ADDRESS_BYTES);
    assert_int_equal(am_connect_all(ctx, blobs), AM_OK);
}

/* NULL: on the devices that the environment names. */
static struct am_ctx *ctx_open_on(const char *devices, uint32_t rank,
                                  const char *proto)
{
    const struct am_option options[] = {{"AM_PROTO", proto},
                                        {"AM_BUFFER_BYTES", "1m"},
                                        {"AM_LOG", "none"},
                                        {"AM_DEVICES", devices}};
    struct am_params params = {.rank = rank,
                               .size = 2,
                               .options = options,
                               .option_count = devices == NULL ? 3 : 4};
    struct am_ctx *ctx;

    assert_int_equal(am_open(&params, &ctx), AM_OK);
    return ctx;
}

static struct am_ctx *ctx_open(uint32_t rank, const char *proto)
{
    return ctx_open_on(NULL, rank, proto);
}

/* The child: sends a small message and a large one, which nobody receives
 * before it is dead, and polls until it is killed. */
static void child_run(int fd)
{
    static char large[LARGE];
    struct am_ctx *ctx = ctx_open(1, MIXED);
    struct am_data small_data = am_data_contig("here", 4);
    struct am_data large_data = am_data_contig(large, LARGE);
    const struct am_msg_envelope small = {1, 1, 1}, big = {1, 1, 2};
    struct am_msg_req *req;

    exchange(fd, ctx, 1);
    (void)am_msg_isend(ctx, 0, &small, &small_data, 0, NULL, NULL, &req);
    (void)am_msg_isend(ctx, 0, &big, &large_data, 0, NULL, NULL, &req);
    while (true) {
        (void)am_ctx_poll_wait(ctx);
    }
}

static void wait_dead(struct am_ctx *ctx, struct ended *ended)
{
    for (int i = 0; ended->count == 0; i++) {
        assert_true(i < POLLS_MAX);
        (void)am_ctx_poll_wait(ctx);
    }
    assert_int_equal(ended->count, 1);
    assert_int_equal(ended->status.status, AM_ERR_PEER);
    assert_int_equal(ended->status.peer, 1);
}

static void start(struct am_ctx *ctx, uint32_t tag, const struct am_data *data,
                  unsigned flags, struct ended *ended)
{
    const struct am_msg_envelope envelope = {1, 0, tag};

    *ended = (struct ended){0};
    assert_int_equal(am_msg_isend(ctx, 1, &envelope, data, flags, ended_done,
                                  ended, &ended->req),
                     AM_OK);
}

static void test_killed(void **state)
{
    static char large[LARGE], into[LARGE];
    struct am_data data = am_data_contig(large, LARGE);
    struct am_data target = am_data_contig(into, LARGE);
    struct am_data small_data = am_data_contig(large, 8);
    const struct am_msg_envelope small = {1, 1, 1}, big = {1, 1, 2};
    const struct am_msg_mask mask = MASK_EXACT;
    struct ended put, get, sync, recv_big, recv_small;
    struct am_msg_req *req;
    struct am_ctx *ctx;
    int fds[2];
    struct am_msg_status status;
    pid_t child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        child_run(fds[1]);
    }
    ctx = ctx_open(0, MIXED);
    exchange(fds[0], ctx, 0);
    while (am_msg_iprobe(ctx, &big, &mask, &status) != AM_DONE) {
        assert_true(am_ctx_poll_wait(ctx) >= 0);
    }
    start(ctx, 7, &data, 0, &put);
    data.bytes = 100000;
    start(ctx, 8, &data, 0, &get);
    start(ctx, 9, &small_data, AM_MSG_SYNC, &sync);
    recv_big = (struct ended){0};
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    wait_dead(ctx, &put);
    wait_dead(ctx, &get);
    wait_dead(ctx, &sync);
    /* the large one was only announced, the small one is here */
    recv_big.count +=
            am_msg_irecv(ctx, &big, &mask, &target, ended_done, &recv_big,
                         &recv_big.status, &req) == AM_DONE;
    wait_dead(ctx, &recv_big);
    recv_small = (struct ended){0};
    assert_int_equal(am_msg_irecv(ctx, &small, &mask, &target, ended_done,
                                  &recv_small, &recv_small.status, &req),
                     AM_DONE);
    assert_int_equal(recv_small.status.status, AM_OK);
    assert_memory_equal(into, "here", 4);
    assert_int_equal(
            am_msg_isend(ctx, 1, &small, &small_data, 0, NULL, NULL, &req),
            AM_ERR_PEER);
    am_close(ctx);
    close(fds[0]);
    close(fds[1]);
}

/* The child of the next test: many messages into its region here. */
static void buffered_child_run(int fd, uint32_t count)
{
    struct am_ctx *ctx = ctx_open(1, "buffered");
    struct am_data data = am_data_contig("buffered", 8);
    struct am_msg_req *req;

    exchange(fd, ctx, 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct am_msg_envelope envelope = {1, 1, i};

        (void)am_msg_isend(ctx, 0, &envelope, &data, 0, NULL, NULL, &req);
        while (am_msg_peer_at(am_msg_of(ctx), 0)->tx_state != AM_REGION_READY) {
            (void)am_ctx_poll_wait(ctx); /* the first has asked for it */
        }
    }
    while (true) {
        (void)am_ctx_poll_wait(ctx);
    }
}

/* More messages than one packet gives back the space of, received after their
 * sender's death: nobody wants the space. */
static void test_buffered_of_the_dead(void **state)
{
    enum {
        COUNT = 60
    };

    const struct am_msg_envelope last = {1, 1, COUNT - 1};
    const struct am_msg_mask mask = MASK_EXACT;
    struct am_msg_status status;
    struct am_msg_req *req;
    struct am_ctx *ctx;
    int fds[2], result = 0;
    pid_t child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        buffered_child_run(fds[1], COUNT);
    }
    ctx = ctx_open(0, "buffered");
    exchange(fds[0], ctx, 0);
    while (am_msg_iprobe(ctx, &last, &mask, &status) != AM_DONE) {
        assert_true(am_ctx_poll_wait(ctx) >= 0);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (result != AM_ERR_PEER) {
        result = am_ctx_poll_wait(ctx);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct am_msg_envelope envelope = {1, 1, i};
        char text[8] = "";
        struct am_data into = am_data_contig(text, sizeof(text));

        assert_int_equal(am_msg_irecv(ctx, &envelope, &mask, &into, NULL, NULL,
                                      &status, &req),
                         AM_DONE);
        assert_int_equal(status.status, AM_OK);
        assert_memory_equal(text, "buffered", 8);
    }
    am_close(ctx);
    close(fds[0]);
    close(fds[1]);
}

/* A receive, from that rank or from any, or a probe for it. */
typedef enum {
    WAIT_RECV,
    WAIT_RECV_ANY,
    WAIT_PROBE,
    WAIT_PROBE_ANY,
    WAIT_COUNT
} wait_t;

static void wait_so(struct am_ctx *ctx, wait_t how)
{
    bool any = how == WAIT_RECV_ANY || how == WAIT_PROBE_ANY;
    const struct am_msg_envelope envelope = {1, any ? 0 : 1, 1};
    const struct am_msg_mask mask = {UINT32_MAX, any ? 0 : UINT32_MAX,
                                     UINT32_MAX};
    struct ended ended = {0};
    struct am_msg_status status;
    am_status_t result = AM_ERR_AGAIN;
    char text[8];
    struct am_data into = am_data_contig(text, sizeof(text));

    if (how == WAIT_RECV || how == WAIT_RECV_ANY) {
        assert_int_equal(am_msg_irecv(ctx, &envelope, &mask, &into, ended_done,
                                      &ended, &ended.status, &ended.req),
                         AM_OK);
        wait_dead(ctx, &ended);
        return;
    }
    for (int i = 0; result == AM_ERR_AGAIN; i++) {
        assert_true(i < POLLS_MAX);
        (void)am_ctx_poll_wait(ctx);
        result = am_msg_iprobe(ctx, &envelope, &mask, &status);
    }
    assert_int_equal(result, AM_ERR_PEER);
}

/* One waits for a rank that died before anything went between the two. */
static void never_met_so(const char *devices, wait_t how)
{
    struct am_ctx *ctx;
    int fds[2];
    pid_t child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        exchange(fds[1], ctx_open_on(devices, 1, MIXED), 1);
        raise(SIGKILL);
    }
    ctx = ctx_open_on(devices, 0, MIXED);
    exchange(fds[0], ctx, 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    wait_so(ctx, how);
    am_close(ctx);
    close(fds[0]);
    close(fds[1]);
}

static void never_met(const char *devices)
{
    for (wait_t how = 0; how < WAIT_COUNT; how++) {
        never_met_so(devices, how);
    }
}

static void test_never_met_shm(void **state)
{
    never_met("shm");
}

static void test_never_met_udp(void **state)
{
#ifdef AM_UDP
    setenv("AM_UDP_IF", "lo", 0);
    never_met("udp");
#else
    skip();
#endif
}

static void test_never_met_ofi(void **state)
{
#ifdef AM_OFI
    setenv("AM_OFI_DOMAIN", "lo", 0);
    never_met("ofi");
#else
    skip();
#endif
}

/* ------------------------------------------------- a process outside the job */

/* It sends a few bytes to who reads its address, and polls until it is killed. */
static void outsider_run(int fd, unsigned flags)
{
    struct am_params params = {.size = 1};
    struct am_data data = am_data_contig("here", 4);
    const struct am_msg_envelope envelope = {1, 1, 1};
    char blob[AM_ADDRESS_BYTES];
    struct am_msg_req *req;
    struct am_ctx *ctx;
    uint32_t peer;

    if (recv(fd, blob, sizeof(blob), MSG_WAITALL) != sizeof(blob) ||
        am_open(&params, &ctx) != AM_OK ||
        am_connect(ctx, blob, &peer) != AM_OK) {
        _exit(1);
    }
    (void)am_msg_isend(ctx, peer, &envelope, &data, flags, NULL, NULL, &req);
    while (true) {
        (void)am_ctx_poll_wait(ctx);
    }
}

/* An outsider's message is here when it dies; what was logged of that. */
static void outsider_dies(unsigned flags, bool sends, char *warning)
{
    char log[] = "warn:msg_dead_XXXXXX", *name = strchr(log, ':') + 1, into[4];
    int fds[2], file = mkstemp(name);
    const struct am_option options[] = {{"AM_LOG", log}};
    struct am_params params = {
            .size = 1, .options = options, .option_count = 1};
    struct am_data data = am_data_contig(into, sizeof(into));
    const struct am_msg_envelope envelope = {1, 1, 1};
    const struct am_msg_mask mask = MASK_EXACT;
    struct ended ended = {0};
    struct am_msg_status status;
    struct am_msg_req *req;
    char blob[AM_ADDRESS_BYTES];
    struct am_ctx *ctx;
    ssize_t bytes;
    pid_t child;

    assert_true(file >= 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        outsider_run(fds[1], flags);
    }
    assert_int_equal(am_open(&params, &ctx), AM_OK);
    assert_int_equal(am_address(ctx, blob), AM_OK);
    assert_int_equal(write(fds[0], blob, sizeof(blob)), sizeof(blob));
    while (am_msg_iprobe(ctx, &envelope, &mask, &status) != AM_DONE) {
        assert_true(am_ctx_poll_wait(ctx) >= 0);
    }
    if (sends) {
        assert_int_equal(am_msg_isend(ctx, status.peer, &envelope, &data,
                                      AM_MSG_SYNC, ended_done, &ended, &req),
                         AM_OK);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (int i = 0; !am_peer_is_dead(ctx, status.peer); i++) {
        assert_true(i < POLLS_MAX);
        assert_true(am_ctx_poll_wait(ctx) >= 0);
    }
    assert_int_equal(ended.count, sends);
    assert_int_equal(am_msg_irecv(ctx, &envelope, &mask, &data, ended_done,
                                  &ended, &ended.status, &req),
                     AM_DONE);
    assert_int_equal(ended.status.status, AM_OK);
    assert_memory_equal(into, "here", 4);
    am_close(ctx);
    bytes = pread(file, warning, WARNING_BYTES - 1, 0);
    assert_true(bytes >= 0);
    warning[bytes] = '\0';
    close(file);
    unlink(name);
    close(fds[0]);
    close(fds[1]);
}

/* It may have ended in order, when nothing that is under way needs it; to send to
 * it, and an answer that it waits for, do. */
static void test_outsider(void **state)
{
    char warning[WARNING_BYTES];

    outsider_dies(0, false, warning);
    assert_string_equal(warning, "");
    outsider_dies(0, true, warning);
    assert_non_null(strstr(warning, "outside the job is gone"));
    outsider_dies(AM_MSG_SYNC, false, warning);
    assert_non_null(strstr(warning, "outside the job is gone"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_killed),
            cmocka_unit_test(test_buffered_of_the_dead),
            cmocka_unit_test(test_never_met_shm),
            cmocka_unit_test(test_never_met_udp),
            cmocka_unit_test(test_never_met_ofi),
            cmocka_unit_test(test_outsider),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
