/*
 * Echo of 8 bytes over loopback by blocking UDP and TCP sockets.
 */
#define _GNU_SOURCE
#include "tools/perf_probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ECHO_BYTES = 8,
    ECHO_ITERATIONS = 20000
};

/* A socket bound to a free port of 127.0.0.1; its address in *address. */
static int bound_socket(int type, struct sockaddr_in *address)
{
    socklen_t length = sizeof(*address);
    int fd = socket(AF_INET, type, 0);

    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 &&
        (bind(fd, (struct sockaddr *)address, length) != 0 ||
         getsockname(fd, (struct sockaddr *)address, &length) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int connected_udp(int sockets[2])
{
    struct sockaddr_in address[2];

    sockets[0] = bound_socket(SOCK_DGRAM, &address[0]);
    sockets[1] = bound_socket(SOCK_DGRAM, &address[1]);
    if (sockets[0] < 0 || sockets[1] < 0 ||
        connect(sockets[0], (struct sockaddr *)&address[1],
                sizeof(address[1])) != 0 ||
        connect(sockets[1], (struct sockaddr *)&address[0],
                sizeof(address[0])) != 0) {
        return -1;
    }
    return 0;
}

static int connected_tcp(int sockets[2])
{
    struct sockaddr_in address, own;
    int on = 1;
    int listener = bound_socket(SOCK_STREAM, &address);

    sockets[0] = bound_socket(SOCK_STREAM, &own);
    sockets[1] = -1;
    if (listener >= 0 && sockets[0] >= 0 && listen(listener, 1) == 0 &&
        connect(sockets[0], (struct sockaddr *)&address, sizeof(address)) ==
                0) {
        sockets[1] = accept(listener, NULL, NULL);
    }
    close(listener);
    if (sockets[1] < 0) {
        return -1;
    }
    setsockopt(sockets[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(sockets[1], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return 0;
}

/* All ECHO_BYTES of a message, which a stream may cut; false at its end. */
static bool receive(int fd, char *data)
{
    ssize_t got = 0;

    while (got < ECHO_BYTES) {
        ssize_t n = recv(fd, data + got, (size_t)(ECHO_BYTES - got), 0);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        got += n;
    }
    return true;
}

/* Echo until a message that begins with a zero byte. */
static void child_echo(struct probe *probe)
{
    char data[ECHO_BYTES];

    while (receive(probe->sockets[1], data) && data[0] != 0 &&
           send(probe->sockets[1], data, ECHO_BYTES, 0) == ECHO_BYTES) {
    }
}

static int step_echo(void *state)
{
    struct probe *probe = state;
    char data[ECHO_BYTES] = {1};

    if (send(probe->sockets[0], data, ECHO_BYTES, 0) != ECHO_BYTES ||
        !receive(probe->sockets[0], data)) {
        return perf_fail(probe->perf, "loopback echo: %s", strerror(errno));
    }
    return 0;
}

static int run_echo(struct probe *probe, const char *metric)
{
    struct perf *perf = probe->perf;
    struct perf_figure figure;
    char end[ECHO_BYTES] = {0};
    int result;

    if (probe_start(probe, 1, child_echo) != 0) {
        return -1;
    }
    result = perf_time(perf, step_echo, probe,
                       perf_iterations(perf, 0, ECHO_ITERATIONS, 0), &figure);
    if (send(probe->sockets[0], end, ECHO_BYTES, 0) != ECHO_BYTES) {
        result = perf_fail(perf, "loopback echo: %s", strerror(errno));
    }
    if (probe_end(probe) != 0 || result != 0) {
        return -1;
    }
    perf_scale(&figure, 0.5);
    probe_row(probe, metric, &figure);
    return 0;
}

static int run_sockets(struct probe *probe, const char *metric,
                       int (*connected)(int sockets[2]))
{
    int result;

    if (connected(probe->sockets) != 0) {
        return perf_fail(probe->perf, "loopback sockets: %s", strerror(errno));
    }
    result = run_echo(probe, metric);
    close(probe->sockets[0]);
    close(probe->sockets[1]);
    return result;
}

int probe_udp(struct probe *probe)
{
    return run_sockets(probe, "udp_echo", connected_udp);
}

int probe_tcp(struct probe *probe)
{
    return run_sockets(probe, "tcp_echo", connected_tcp);
}
