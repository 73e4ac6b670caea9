/*
 * The engine's socket: greets processes, gives each its box.
 */
#include "config.h"

#include "nicsim_door.h"

#include "cosim/hello.h"
#include "sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int ns_door_open(struct ns_door *door)
{
    struct sockaddr_un address;
    socklen_t bytes;

    snprintf(door->name, sizeof(door->name), "libam-sim-%016" PRIx64,
             am_env_random(am_env_real()));
    bytes = ns_hello_address(&address, door->name);
    door->fd =
            socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->fd >= 0 &&
        (bind(door->fd, (struct sockaddr *)&address, bytes) != 0 ||
         listen(door->fd, SOMAXCONN) != 0)) {
        ns_door_close(door);
        return -1;
    }
    return door->fd < 0 ? -1 : 0;
}

void ns_door_close(struct ns_door *door)
{
    if (door->fd >= 0) {
        close(door->fd);
    }
    door->fd = -1;
}

/* The answer, with a descriptor unless it is -1. */
static int answer(int to, const struct ns_welcome *welcome, int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {(void *)(uintptr_t)welcome, sizeof(*welcome)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct cmsghdr *head;

    if (fd >= 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    }
    return sendmsg(to, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*welcome)
                   ? 0
                   : -1;
}

void ns_door_refuse(struct ns_guest *guest, const char *why)
{
    struct ns_welcome welcome = {.magic = NS_BOX_MAGIC, .refused = 1};

    snprintf(welcome.why, sizeof(welcome.why), "%s", why);
    (void)answer(guest->fd, &welcome, -1);
    close(guest->fd);
    guest->fd = -1;
}

/* Can the simulator look into the guest's memory?  It must, as NICs do. */
static bool probe(int pid, const struct ns_hello *hello)
{
    const struct ns_memory memory = {.process = pid};
    uint32_t word = 0;

    return ns_memory_own_read(&memory, hello->probe_at, &word, sizeof(word)) &&
           word == hello->probe;
}

static const char *hello_take(struct ns_guest *guest)
{
    struct ns_hello hello;
    struct ucred who;
    socklen_t bytes = sizeof(who);

    if (getsockopt(guest->fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0 ||
        who.uid != geteuid()) {
        return "it is another user's";
    }
    if (recv(guest->fd, &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello) ||
        hello.magic != NS_BOX_MAGIC || hello.rank >= hello.size) {
        return "it is of another version of libam";
    }
    if (!probe(who.pid, &hello)) {
        return "this system does not let one process read another's memory "
               "(process_vm_readv), as a NIC must";
    }
    guest->pid = who.pid;
    guest->rank = hello.rank;
    guest->size = hello.size;
    return NULL;
}

bool ns_door_meet(struct ns_door *door, struct ns_guest *guest)
{
    const char *wrong;

    *guest = (struct ns_guest){
            .fd = accept4(door->fd, NULL, NULL, SOCK_CLOEXEC)};
    if (guest->fd < 0) {
        return false;
    }
    wrong = hello_take(guest);
    if (wrong != NULL) {
        ns_door_refuse(guest, wrong);
    }
    return wrong == NULL;
}

int ns_door_admit(struct ns_sim *sim, struct ns_guest *guest, char *error,
                  size_t error_bytes)
{
    struct ns_welcome welcome = {.magic = NS_BOX_MAGIC};
    struct ns_node *node;

    if (guest->size != sim->params.nodes) {
        snprintf(error, error_bytes,
                 "a rank is of a job of %" PRIu32 ", and not of %" PRIu32,
                 guest->size, sim->params.nodes);
        ns_door_refuse(guest, error);
        return -1;
    }
    node = &sim->nodes[guest->rank];
    if (node->seat.pid >= 0) {
        snprintf(error, error_bytes, "rank %" PRIu32 " is there already",
                 guest->rank);
        ns_door_refuse(guest, error);
        return -1;
    }
    welcome.bytes = node->seat.bytes;
    if (ns_seat_take(node, guest->pid) != 0 ||
        answer(guest->fd, &welcome, node->seat.fd) != 0) {
        snprintf(error, error_bytes, "rank %" PRIu32 ": %s", guest->rank,
                 strerror(errno));
        ns_door_refuse(guest, error);
        return -1;
    }
    close(guest->fd);
    guest->fd = -1;
    return 0;
}
