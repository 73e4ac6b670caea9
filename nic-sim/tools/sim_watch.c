/*
 * A process beside the engine that tells when the engine is killed.  Nobody else can:
 * the launcher ends with the engine, and with it the way of what ranks print.
 */
#include "config.h"

#include "tools/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Until the engine ends: by then it has written a byte, unless it was killed. */
static void watch_main(const struct sim_watch *watch, pid_t engine)
{
    char byte;
    ssize_t got;

    close(watch->engine_fd);
    do {
        got = read(watch->watch_fd, &byte, sizeof(byte));
    } while (got < 0 && errno == EINTR);
    if (got == 0) {
        fprintf(stderr,
                "am_sim: the simulator (process %d) was killed, which ends its "
                "job\n",
                (int)engine);
    }
    _exit(EXIT_SUCCESS);
}

int sim_watch_begin(struct sim_watch *watch)
{
    pid_t engine = getpid();
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        return -1;
    }
    watch->watch_fd = fds[0];
    watch->engine_fd = fds[1];
    fflush(NULL); /* or the child would write it again */
    pid = fork();
    if (pid == 0) {
        watch_main(watch, engine);
    }
    close(watch->watch_fd);
    if (pid < 0) {
        close(watch->engine_fd);
        return -1;
    }
    return 0;
}

void sim_watch_end(struct sim_watch *watch)
{
    /* it has ended already where the job's end ended all children */
    (void)send(watch->engine_fd, "", 1, MSG_NOSIGNAL);
    close(watch->engine_fd);
}
