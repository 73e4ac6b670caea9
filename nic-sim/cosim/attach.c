/*
 * A process of a parallel program becomes a rank on a simulated machine.
 */
#include "config.h"

#include "cosim/hello.h"
#include "cosim/rank.h"
#include "nicsim_cosim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The process's one host: the simulator knows it as long as it lives. */
static struct {
    struct ns_rank rank;
    bool taken;
    uint32_t probe;
} process;

static struct ns_rank *rank_of(struct am_env *env)
{
    return am_container(am_container(env, struct ns_cpu, env), struct ns_rank,
                        cpu);
}

/* As the cpu's own; a program that times its own computation sees it. */
static uint64_t env_now(struct am_env *env)
{
    ns_rank_measure(rank_of(env));
    return rank_of(env)->env_ops.now(env);
}

static void env_outside(struct am_env *env)
{
    ns_rank_outside(rank_of(env));
}

static void env_meet(struct am_env *env, void (*poll)(void *arg), void *arg)
{
    ns_rank_meet(rank_of(env), poll, arg);
}

/* By NS_ASK_COMPUTE, so that interrupts come. */
static void env_compute(struct am_env *env, uint64_t operations)
{
    struct ns_rank *rank = rank_of(env);
    uint64_t ps = rank->box->operation_ps * operations;

    if (ps > 0) {
        ns_rank_compute(rank, ps);
    }
}

static void env_slice(struct am_env *env, const char *name, bool begins)
{
    ns_rank_slice(rank_of(env), name, begins);
}

static void env_explain(struct am_env *env,
                        size_t (*waits)(void *arg, char *text, size_t bytes),
                        void *arg)
{
    struct ns_rank *rank = rank_of(env);

    rank->waits = waits;
    rank->waits_arg = arg;
}

static void env_end(struct am_env *env)
{
    ns_rank_end(rank_of(env));
}

/* A connection to the engine, or -1 with errno. */
static int engine_connect(const char *name)
{
    struct sockaddr_un address;
    socklen_t bytes = ns_hello_address(&address, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, bytes) != 0) {
        int wrong = errno;

        close(fd);
        errno = wrong;
        return -1;
    }
    return fd;
}

/* The engine's answer, and the descriptor that comes with it. */
static int welcome_take(int fd, struct ns_welcome *welcome)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {welcome, sizeof(*welcome)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    const struct cmsghdr *head;
    ssize_t got;
    int box = -1;

    do {
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_level == SOL_SOCKET &&
        head->cmsg_type == SCM_RIGHTS) {
        memcpy(&box, CMSG_DATA(head), sizeof(box));
    }
    if (got != (ssize_t)sizeof(*welcome) || welcome->magic != NS_BOX_MAGIC) {
        welcome->refused = 1;
        snprintf(welcome->why, sizeof(welcome->why), "%s",
                 got == 0  ? "it has ended"
                 : got < 0 ? strerror(errno)
                           : "it is of another version");
    }
    return box;
}

/* Exchange greetings; the box, or NULL with a sentence. */
static struct ns_box *engine_greet(int fd, uint32_t rank, uint32_t size,
                                   char *error, size_t error_bytes)
{
    const struct ns_hello hello = {.magic = NS_BOX_MAGIC,
                                   .rank = rank,
                                   .size = size,
                                   .probe = process.probe = NS_BOX_MAGIC ^ rank,
                                   .probe_at =
                                           (uint64_t)(uintptr_t)&process.probe};
    struct ns_welcome welcome = {0};
    void *map = MAP_FAILED;
    int box;

    if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) !=
        (ssize_t)sizeof(hello)) {
        snprintf(error, error_bytes, "greeting the simulator: %s",
                 strerror(errno));
        return NULL;
    }
    box = welcome_take(fd, &welcome);
    if (!welcome.refused) {
        map = mmap(NULL, welcome.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, box,
                   0);
    }
    if (map == MAP_FAILED) {
        snprintf(error, error_bytes,
                 "the simulator does not take this rank: %s",
                 welcome.refused ? welcome.why : strerror(errno));
    }
    if (box >= 0) {
        close(box);
    }
    return map == MAP_FAILED ? NULL : map;
}

struct am_env *ns_attach(const char *engine, uint32_t rank, uint32_t size,
                         char *error, size_t error_bytes)
{
    static struct am_env_ops ops;
    struct ns_box *box;
    int fd;

    if (process.taken) {
        snprintf(error, error_bytes,
                 "a process has one context on a simulated machine, and this "
                 "would be its second");
        return NULL;
    }
    fd = engine_connect(engine);
    if (fd < 0) {
        snprintf(error, error_bytes,
                 "AM_SIM_ENGINE names the simulator %s, which is not there: %s",
                 engine, strerror(errno));
        return NULL;
    }
    /* Where only ancestors may look into a process, the engine is one. */
    box = engine_greet(fd, rank, size, error, error_bytes);
    close(fd);
    if (box == NULL) {
        return NULL;
    }
    if (box->magic != NS_BOX_MAGIC || ns_rank_open(&process.rank, box) != 0) {
        snprintf(error, error_bytes, "meeting the simulator: %s",
                 strerror(errno));
        return NULL;
    }
    process.taken = true;
    ops = *process.rank.cpu.env.ops;
    ops.now = env_now;
    ops.outside = env_outside;
    ops.meet = env_meet;
    ops.compute = env_compute;
    ops.slice = env_slice;
    ops.explain = env_explain;
    ops.end = env_end;
    process.rank.cpu.env.ops = &ops;
    return &process.rank.cpu.env;
}

struct am_env *ns_attached(void)
{
    return process.taken ? &process.rank.cpu.env : NULL;
}
