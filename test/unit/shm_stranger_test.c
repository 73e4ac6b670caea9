/*
 * Who knocks at a context's socket: another user, who is refused whatever he
 * says; one who brings more descriptors than he should; one who asks twice.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"

#include <am.h>
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    POLLS = 40000, /* some of them look at the sockets */
    NOBODY = 65534
};

/* As in dev/shm/shm_sock.c. */
struct hello {
    uint32_t magic, kind, index, pid;
    uint64_t nonce, to, start;
};

#define HELLO_MAGIC 0x616d6869u
#define HELLO_FETCH 1u
#define HELLO_OFFER 2u

static void poll_often(struct am_ctx *ctx)
{
    for (int i = 0; i < POLLS; i++) {
        (void)am_ctx_poll(ctx);
    }
}

static int knock(const struct am_ctx *ctx)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "libam-%016llx",
             (unsigned long long)ctx->nonce);
    assert_int_equal(
            connect(fd, (struct sockaddr *)&name,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                                strlen(name.sun_path + 1))),
            0);
    return fd;
}

/* ------------------------------------------------------------ another user */

/* The other process: it claims to be of the same host and user, and connects.
 * Its exit code says how that went. */
static void visit(const unsigned char *blob, uid_t user)
{
    struct am_option quiet = {"AM_LOG", "none"};
    struct am_params params = {
            .rank = 0, .size = 1, .options = &quiet, .option_count = 1};
    struct am_blob theirs, mine;
    struct am_ctx *ctx;
    uint32_t peer;
    am_status_t status;

    if ((user != geteuid() && setuid(user) != 0) ||
        am_open(&params, &ctx) != AM_OK) {
        _exit(100);
    }
    memcpy(&theirs, blob, sizeof(theirs));
    (void)am_address(ctx, &mine);
    memcpy(theirs.parts, mine.parts,
           sizeof(struct am_blob_part) + offsetof(struct shm_address, nonce));
    status = am_connect(ctx, &theirs, &peer);
    _exit(-(int)status);
}

/* How a process of this user fares; the context counts whom it turns away. */
static am_status_t visit_as(struct world *world, uid_t user)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    pid_t child;
    int code;

    assert_int_equal(am_address(world->ctx[0], blob), AM_OK);
    child = fork();
    if (child == 0) {
        visit(blob, user);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    poll_often(world->ctx[0]);
    return (am_status_t)-WEXITSTATUS(code);
}

static void test_another_user(void **state)
{
    struct world world;

    if (geteuid() != 0) {
        skip(); /* may not become another */
    }
    world_open(&world, 1, NULL);
    assert_int_equal(visit_as(&world, geteuid()), AM_OK);
    assert_int_equal(world_counter(&world, 0, "rx_bad"), 0);
    assert_non_null(shm_dev_of(world.ctx[0]->devs[0])->segs);
    world_close(&world);

    world_open(&world, 1, NULL);
    assert_int_equal(visit_as(&world, NOBODY), AM_ERR_PEER);
    assert_int_equal(world_counter(&world, 0, "rx_bad"), 1);
    assert_null(shm_dev_of(world.ctx[0]->devs[0])->segs);
    world_close(&world);
}

/* --------------------------------------------------- too many descriptors */

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static void send_two(int socket, const struct hello *hello)
{
    int fds[2] = {socket, socket};
    struct iovec iov = {(void *)(uintptr_t)hello, sizeof(*hello)};

    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(fds))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(header), fds, sizeof(fds));
    assert_int_equal(sendmsg(socket, &message, 0), sizeof(*hello));
}

/* None of them stays open. */
static void test_two_descriptors(void **state)
{
    struct world world;
    int before;

    world_open(&world, 1, NULL);
    before = open_descriptors();
    for (int i = 0; i < 3; i++) {
        struct hello hello = {.magic = HELLO_MAGIC,
                              .kind = HELLO_OFFER,
                              .nonce = 1,
                              .to = world.ctx[0]->nonce};
        int fd = knock(world.ctx[0]);

        send_two(fd, &hello);
        poll_often(world.ctx[0]);
        close(fd);
    }
    assert_int_equal(open_descriptors(), before);
    world_close(&world);
}

/* ------------------------------------------------------------ asking twice */

/* A rank that asks for the segment again (its first try failed) is not taken
 * for another: all get it. */
static void test_asked_twice(void **state)
{
    enum {
        RANKS = 3
    };

    struct am_ctx *ctx[RANKS];
    struct am_blob blobs[RANKS];
    int knocked[2], turns = 0;

    for (uint32_t r = 0; r < RANKS; r++) {
        struct am_params params = {.rank = r, .size = RANKS};

        assert_int_equal(am_open(&params, &ctx[r]), AM_OK);
        assert_int_equal(am_address(ctx[r], &blobs[r]), AM_OK);
    }
    assert_int_equal(am_connect_all(ctx[0], blobs), AM_OK);
    for (int i = 0; i < 2; i++) {
        struct hello hello = {.magic = HELLO_MAGIC,
                              .kind = HELLO_FETCH,
                              .index = 1,
                              .nonce = blobs[1].nonce,
                              .to = blobs[0].nonce};

        knocked[i] = knock(ctx[0]);
        assert_int_equal(send(knocked[i], &hello, sizeof(hello), 0),
                         sizeof(hello));
    }
    poll_often(ctx[0]);
    for (uint32_t r = 1; r < RANKS; r++) {
        assert_int_equal(am_connect_all(ctx[r], blobs), AM_OK);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        while (!am_connected(ctx[r])) {
            assert_true(turns++ < POLLS);
            for (uint32_t i = 0; i < RANKS; i++) {
                (void)am_ctx_poll(ctx[i]);
            }
        }
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        am_close(ctx[r]);
    }
    close(knocked[0]);
    close(knocked[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_another_user),
            cmocka_unit_test(test_two_descriptors),
            cmocka_unit_test(test_asked_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
