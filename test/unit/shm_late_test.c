/*
 * Late connections over shared memory when the other side is slow: its hello
 * comes long after its connection, both connect at once, others say nothing.
 * And packets of other sizes on each side, in a job and late.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"

#include <am.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    H_COUNT = AM_HANDLER_USER,
    POLLS = 40000 /* some of them look at the sockets */
};

/* Polled by `connect` once the connection is there, as if the caller had lost
 * its core before it could say anything. */
static struct world *meanwhile;

/* In place of the C library's. */
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    int result = (int)syscall(SYS_connect, fd, address, length);

    for (int i = 0; i < POLLS && meanwhile != NULL; i++) {
        (void)world_poll(meanwhile);
    }
    return result;
}

static void on_count(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    ++*(int *)am_token_arg(token);
}

/* Two jobs of one rank each, which count what arrives. */
struct pair {
    struct world world[2];
    int arrived[2];
};

static void pair_open(struct pair *pair)
{
    meanwhile = NULL;
    memset(pair, 0, sizeof(*pair));
    for (int i = 0; i < 2; i++) {
        world_open(&pair->world[i], 1, NULL);
        am_handler_register(pair->world[i].ctx[0], H_COUNT, on_count,
                            &pair->arrived[i], "count");
    }
}

static void pair_close(struct pair *pair)
{
    world_close(&pair->world[0]);
    world_close(&pair->world[1]);
}

static uint32_t pair_connect(struct pair *pair, int from)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    uint32_t peer = 0;

    assert_int_equal(am_address(pair->world[1 - from].ctx[0], blob), AM_OK);
    assert_int_equal(am_connect(pair->world[from].ctx[0], blob, &peer), AM_OK);
    return peer;
}

static void pair_send(struct pair *pair, int from, uint32_t peer)
{
    int before = pair->arrived[1 - from];

    assert_int_equal(am_ctx_request(pair->world[from].ctx[0], peer, H_COUNT,
                                    NULL, 0, NULL, 0),
                     AM_OK);
    for (int i = 0; i < POLLS && pair->arrived[1 - from] == before; i++) {
        world_poll(&pair->world[0]);
        world_poll(&pair->world[1]);
    }
    assert_int_equal(pair->arrived[1 - from], before + 1);
}

static void test_slow_hello(void **state)
{
    struct pair pair;
    uint32_t peer;

    pair_open(&pair);
    meanwhile = &pair.world[1];
    peer = pair_connect(&pair, 0);
    meanwhile = NULL;
    pair_send(&pair, 0, peer);
    pair_send(&pair, 1, pair_connect(&pair, 1));
    pair_close(&pair);
}

static void test_both_connect(void **state)
{
    struct pair pair;
    uint32_t there, back;

    pair_open(&pair);
    there = pair_connect(&pair, 0);
    back = pair_connect(&pair, 1);
    pair_send(&pair, 0, there);
    pair_send(&pair, 1, back);
    assert_int_equal(pair_connect(&pair, 0), there);
    assert_int_equal(pair_connect(&pair, 1), back);
    pair_close(&pair);
}

/* More connections than a context keeps, none of which says anything. */
static void test_silent_visitors(void **state)
{
    enum {
        VISITORS = 100
    };

    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int socket_of[VISITORS];
    struct pair pair;

    pair_open(&pair);
    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "libam-%016llx",
             (unsigned long long)pair.world[1].ctx[0]->nonce);
    for (int i = 0; i < VISITORS; i++) {
        socket_of[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_true(socket_of[i] >= 0);
        assert_int_equal(
                connect(socket_of[i], (struct sockaddr *)&name,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                                    strlen(name.sun_path + 1))),
                0);
    }
    pair_send(&pair, 0, pair_connect(&pair, 0));
    for (int i = 0; i < VISITORS; i++) {
        close(socket_of[i]);
    }
    pair_send(&pair, 1, pair_connect(&pair, 1));
    pair_close(&pair);
}

/* Requests with the largest payload that each may send, both ways. */
static void send_largest(struct am_ctx *ctx[2], const uint32_t peer[2],
                         const int arrived[2])
{
    static const char data[1 << 20];

    for (int from = 0; from < 2; from++) {
        size_t bytes = am_payload_max(ctx[from], peer[from]);

        assert_in_range(bytes, 800, sizeof(data));
        for (int i = 0; i < 20; i++) {
            int before = arrived[1 - from];

            assert_int_equal(am_ctx_try_request(ctx[from], peer[from], H_COUNT,
                                                NULL, 0, data, bytes),
                             AM_OK);
            for (int n = 0; n < POLLS && arrived[1 - from] == before; n++) {
                (void)am_ctx_poll(ctx[0]);
                (void)am_ctx_poll(ctx[1]);
            }
            assert_int_equal(arrived[1 - from], before + 1);
        }
    }
}

/* Whoever makes the segment, its rings hold the other's packets. */
static void test_unequal_packets(void **state)
{
    static const struct am_option small[] = {
            {"AM_SHM_RING", "8k"}, {"AM_SHM_PACKET", "1k"}, {NULL, NULL}};
    static const struct am_option large[] = {
            {"AM_SHM_RING", "4m"}, {"AM_SHM_PACKET", "1m"}, {NULL, NULL}};

    for (int first = 0; first < 2; first++) {
        const struct am_option *options[] = {first == 0 ? small : large,
                                             first == 0 ? large : small};
        const uint32_t ranks[] = {1, 0};
        struct world job, late[2];
        int arrived[2] = {0, 0};
        unsigned char blob[AM_ADDRESS_BYTES];
        uint32_t peer[2] = {1, 1};
        struct am_ctx *ctx[2];

        meanwhile = NULL;
        world_open(&job, 2, options);
        world_settle(&job);
        for (int i = 0; i < 2; i++) {
            am_handler_register(job.ctx[i], H_COUNT, on_count, &arrived[i],
                                "count");
        }
        send_largest(job.ctx, ranks, arrived);
        world_close(&job);

        for (int i = 0; i < 2; i++) {
            world_open(&late[i], 1, &options[i]);
            ctx[i] = late[i].ctx[0];
            am_handler_register(ctx[i], H_COUNT, on_count, &arrived[i],
                                "count");
        }
        assert_int_equal(am_address(ctx[1], blob), AM_OK);
        assert_int_equal(am_connect(ctx[0], blob, &peer[0]), AM_OK);
        for (int n = 0; n < POLLS && !am_is_flushed(ctx[0]); n++) {
            (void)am_ctx_poll(ctx[0]);
            (void)am_ctx_poll(ctx[1]);
        }
        send_largest(ctx, peer, arrived);
        world_close(&late[0]);
        world_close(&late[1]);
    }
}

static long descriptors(void)
{
    long count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) != -1;
    }
    return count;
}

/* One round: one connects, the other does so at the same time or finds it, and
 * they talk and let go; in half of the rounds one of them does so only after the
 * next round's connections. */
static void round_trip(struct pair *pair, uint32_t *old, int round)
{
    struct am_ctx *ctx[] = {pair->world[0].ctx[0], pair->world[1].ctx[0]};
    int first = round / 2 % 2;
    uint32_t peer[2];

    peer[first] = pair_connect(pair, first);
    if (round % 3 != 0) {
        pair_send(pair, first, peer[first]);
    }
    peer[1 - first] = pair_connect(pair, 1 - first);
    /* its own connection of the last round may still do: then it is that */
    if (*old != UINT32_MAX && *old != peer[1]) {
        assert_int_equal(am_disconnect(ctx[1], *old), AM_OK);
    }
    *old = UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        pair_send(pair, i % 2, peer[i % 2]);
    }
    assert_int_equal(am_disconnect(ctx[0], peer[0]), AM_OK);
    assert_int_equal(am_disconnect(ctx[0], peer[0]), AM_ERR_INVALID);
    if (round % 2 == 0) {
        assert_int_equal(am_disconnect(ctx[1], peer[1]), AM_OK);
    } else {
        *old = peer[1];
    }
}

static void test_disconnect(void **state)
{
    enum {
        ROUNDS = 300,
        PEERS_MAX = 12
    };

    uint32_t old = UINT32_MAX;
    long before = 0;
    struct pair pair;

    pair_open(&pair);
    assert_int_equal(am_disconnect(pair.world[0].ctx[0], 0), AM_ERR_INVALID);
    assert_int_equal(am_disconnect(pair.world[0].ctx[0], 7), AM_ERR_INVALID);
    for (int i = 0; i < ROUNDS; i++) {
        round_trip(&pair, &old, i);
        if (i == ROUNDS / 2) {
            before = descriptors();
        }
    }
    assert_true(descriptors() <= before + 2);
    for (int i = 0; i < 2; i++) {
        assert_true(pair.world[i].ctx[0]->peer_count <= PEERS_MAX);
    }
    pair_close(&pair);
}

static void pair_poll(struct pair *pair)
{
    (void)world_poll(&pair->world[0]);
    (void)world_poll(&pair->world[1]);
}

/* What is under way keeps a peer. */
static void test_disconnect_busy(void **state)
{
    const struct am_msg_envelope envelope = {1, 0, 1};
    const struct am_msg_mask mask = {UINT32_MAX, 0, UINT32_MAX};
    static char out[300000], in[sizeof(out)];
    struct am_data data = am_data_contig(out, sizeof(out));
    struct am_data landing = am_data_contig(in, sizeof(in));
    struct ended sent = {0}, received = {0};
    struct am_ctx *ctx[2];
    const uint32_t back = 1; /* the other end of the connection */
    struct pair pair;
    uint32_t peer;

    pair_open(&pair);
    ctx[0] = pair.world[0].ctx[0];
    ctx[1] = pair.world[1].ctx[0];
    peer = pair_connect(&pair, 0);
    pair_send(&pair, 0, peer);
    assert_int_equal(am_msg_isend(ctx[0], peer, &envelope, &data, AM_MSG_SYNC,
                                  ended_done, &sent, &sent.req),
                     AM_OK);
    assert_int_equal(am_disconnect(ctx[0], peer), AM_ERR_AGAIN);
    for (int i = 0; i < 100; i++) {
        pair_poll(&pair);
    }
    assert_int_equal(am_disconnect(ctx[0], peer), AM_ERR_AGAIN);
    assert_int_equal(am_disconnect(ctx[1], back), AM_ERR_AGAIN);
    (void)am_msg_irecv(ctx[1], &envelope, &mask, &landing, ended_done,
                       &received, &received.status, &received.req);
    for (int i = 0; i < POLLS && (sent.count == 0 || received.count == 0);
         i++) {
        pair_poll(&pair);
    }
    assert_int_equal(sent.count + received.count, 2);
    assert_int_equal(am_disconnect(ctx[0], peer), AM_OK);
    assert_int_equal(am_disconnect(ctx[1], back), AM_OK);
    assert_int_equal(am_ctx_request(ctx[0], peer, H_COUNT, NULL, 0, NULL, 0),
                     AM_ERR_INVALID);
    pair_close(&pair);
}

/* What is sent once more to one that has let go meanwhile is not lost. */
static void test_reconnect(void **state)
{
    struct pair pair;
    uint32_t peer[2];

    pair_open(&pair);
    for (int i = 0; i < 2; i++) {
        peer[i] = pair_connect(&pair, i);
        pair_send(&pair, i, peer[i]);
    }
    /* 0 is a turn ahead: it connects again while 1 has its old connection yet */
    assert_int_equal(am_disconnect(pair.world[0].ctx[0], peer[0]), AM_OK);
    peer[0] = pair_connect(&pair, 0);
    assert_int_equal(am_disconnect(pair.world[1].ctx[0], peer[1]), AM_OK);
    pair_send(&pair, 0, peer[0]);
    pair_send(&pair, 1, pair_connect(&pair, 1));
    pair_close(&pair);
}

/* Who has died can be let go of, also when there were messages, and receives go on. */
static void test_disconnect_dead(void **state)
{
    const struct am_msg_envelope envelope = {1, 0, 1};
    const struct am_msg_mask mask = {UINT32_MAX, 0, UINT32_MAX};
    static char in[64];
    struct am_data landing = am_data_contig(in, sizeof(in));
    struct ended received = {0};
    struct pair pair;
    struct am_ctx *ctx;
    am_status_t status;
    uint32_t peer;

    pair_open(&pair);
    ctx = pair.world[0].ctx[0];
    peer = pair_connect(&pair, 0);
    pair_send(&pair, 0, peer);
    (void)am_msg_irecv(ctx, &envelope, &mask, &landing, ended_done, &received,
                       &received.status, &received.req);
    am_peer_dead(am_peer_get(ctx, peer, &status), "the test says so");
    for (int i = 0; i < 10; i++) {
        pair_poll(&pair);
    }
    assert_int_equal(am_disconnect(ctx, peer), AM_OK);
    assert_int_equal(am_msg_cancel(received.req), AM_DONE);
    pair_close(&pair);
}

/* A process of its own that has a context: it gives its address, and closes when it is
 * told to; it never polls, or it reads what comes first, and closes a while after. */
struct guest {
    pid_t pid;
    int words[2], orders[2];
    bool reads;
};

static void guest_run(struct guest *guest)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    struct world world;
    int count = 0;
    char order;

    world_open(&world, 1, NULL);
    if (am_address(world.ctx[0], blob) != AM_OK ||
        write(guest->words[1], blob, sizeof(blob)) != sizeof(blob) ||
        (!guest->reads && read(guest->orders[0], &order, 1) != 1)) {
        _exit(1);
    }
    am_handler_register(world.ctx[0], H_COUNT, on_count, &count, "count");
    while (guest->reads && count == 0) {
        (void)world_poll(&world);
    }
    if (guest->reads) {
        usleep(100000);
    }
    world_close(&world);
    _exit(0);
}

static void guest_start(struct guest *guest, void *blob)
{
    assert_int_equal(pipe(guest->words), 0);
    assert_int_equal(pipe(guest->orders), 0);
    guest->pid = fork();
    assert_true(guest->pid >= 0);
    if (guest->pid == 0) {
        guest_run(guest);
    }
    assert_int_equal(read(guest->words[0], blob, AM_ADDRESS_BYTES),
                     AM_ADDRESS_BYTES);
}

/* It is killed, or closes first. */
static void guest_end(struct guest *guest, bool is_killed)
{
    int status;

    if (is_killed) {
        assert_int_equal(kill(guest->pid, SIGKILL), 0);
    } else {
        assert_int_equal(write(guest->orders[1], "", 1), 1);
    }
    assert_int_equal(waitpid(guest->pid, &status, 0), guest->pid);
    assert_true(is_killed ? WIFSIGNALED(status)
                          : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < 2; i++) {
        close(guest->words[i]);
        close(guest->orders[i]);
    }
}

/* A request that waits for space to one that closes meanwhile ends, and what is queued. */
static void test_leaves_meanwhile(void **state)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    struct guest guest = {.reads = true};
    am_status_t status = AM_OK;
    struct world world;
    uint32_t peer;

    meanwhile = NULL;
    guest_start(&guest, blob);
    world_open(&world, 1, NULL);
    assert_int_equal(am_connect(world.ctx[0], blob, &peer), AM_OK);
    while (status == AM_OK) { /* those before it is connected are queued */
        status = am_ctx_request(world.ctx[0], peer, H_COUNT, NULL, 0, NULL, 0);
    }
    assert_int_equal(status, AM_ERR_PEER);
    (void)write(guest.orders[1], "", 1); /* nobody reads it */
    assert_int_equal(waitpid(guest.pid, NULL, 0), guest.pid);
    (void)am_flush(world.ctx[0]); /* it ends */
    world_close(&world);
}

/* The end of a process that has not answered a connection is its death, and not
 * when it has closed. */
static void test_unanswered(void **state)
{
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        unsigned char blob[AM_ADDRESS_BYTES];
        struct guest guest = {.reads = false};
        struct world world;
        uint32_t peer;

        meanwhile = NULL;
        guest_start(&guest, blob);
        world_open(&world, 1, NULL);
        assert_int_equal(am_connect(world.ctx[0], blob, &peer), AM_OK);
        assert_int_equal(
                am_ctx_request(world.ctx[0], peer, H_COUNT, NULL, 0, NULL, 0),
                AM_OK);
        guest_end(&guest, is_killed == 1);
        for (int i = 0; i < 10; i++) {
            am_check_now(world.ctx[0]);
            (void)world_poll(&world);
        }
        assert_int_equal(am_peer_is_dead(world.ctx[0], peer), is_killed);
        assert_int_equal(am_connect(world.ctx[0], blob, &peer), AM_ERR_PEER);
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_slow_hello),
            cmocka_unit_test(test_both_connect),
            cmocka_unit_test(test_disconnect),
            cmocka_unit_test(test_disconnect_busy),
            cmocka_unit_test(test_disconnect_dead),
            cmocka_unit_test(test_leaves_meanwhile),
            cmocka_unit_test(test_silent_visitors),
            cmocka_unit_test(test_unequal_packets),
            cmocka_unit_test(test_reconnect),
            cmocka_unit_test(test_unanswered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
