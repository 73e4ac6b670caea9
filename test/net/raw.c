/*
 * What sockets alone reach between two processes, to which the network devices
 * are compared: an echo by UDP or TCP that polls without ever sleeping, and a
 * stream by TCP.  A launcher starts two of it (PMI_RANK is 0 or 1), in two
 * network namespaces or on the loopback interface; each takes the core of its
 * number, as am_perf does.
 *
 *   raw udp|tcp ADDRESS [BYTES [COUNT]]     half round trip, ns
 *   raw stream ADDRESS [BYTES [COUNT]]      bandwidth, MB/s, BYTES in one write
 *
 * ADDRESS is rank 0's, and RAW_PORT its port (40077).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    BLOCK = 100, /* round trips between two readings of the clock */
    BLOCKS_MAX = 10000,
    BYTES_MAX = 4 << 20,
    TRIES = 5000 /* to connect, a millisecond apart */
};

static int fd;
static bool first; /* rank 0 */
static size_t length;
static char *data;

static void fail(const char *what)
{
    fprintf(stderr, "raw: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void take_core(int index)
{
    cpu_set_t allowed, own;

    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && index-- == 0) {
            CPU_SET(cpu, &own);
            (void)sched_setaffinity(0, sizeof(own), &own);
        }
    }
}

/* ------------------------------------------------------------- connections */

static void connect_to(const struct sockaddr_in *to)
{
    const struct timespec rest = {0, 1000000};

    for (int i = 0; connect(fd, (const void *)to, sizeof(*to)) != 0; i++) {
        if (i == TRIES) {
            fail("connect");
        }
        nanosleep(&rest, NULL);
    }
}

static void open_tcp(const struct sockaddr_in *at)
{
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);

    if (!first) {
        fd = listener;
        connect_to(at);
    } else if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on,
                          sizeof(on)) != 0 ||
               bind(listener, (const void *)at, sizeof(*at)) != 0 ||
               listen(listener, 1) != 0 ||
               (fd = accept(listener, NULL, NULL)) < 0) {
        fail("listen");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* The first datagram says where rank 1 is; it may come before rank 0 is bound. */
static void open_udp(const struct sockaddr_in *at)
{
    const struct timespec rest = {0, 1000000};
    struct sockaddr_in peer;
    socklen_t bytes = sizeof(peer);
    char word = 0;

    fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (first) {
        if (bind(fd, (const void *)at, sizeof(*at)) != 0 ||
            recvfrom(fd, &word, 1, 0, (void *)&peer, &bytes) < 0) {
            fail("bind");
        }
        connect_to(&peer);
        if (send(fd, &word, 1, 0) != 1) {
            fail("send");
        }
        return;
    }
    connect_to(at);
    for (int i = 0; i < TRIES; i++) {
        (void)send(fd, &word, 1, 0);
        if (recv(fd, &word, 1, MSG_DONTWAIT) == 1) {
            return;
        }
        nanosleep(&rest, NULL);
    }
    fail("nobody answers");
}

/* ---------------------------------------------------------- moving, polling */

static void take(void)
{
    for (size_t got = 0; got < length;) {
        ssize_t n = recv(fd, data + got, length - got, MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            fail("recv");
        }
        got += n > 0 ? (size_t)n : 0;
    }
}

static void give(void)
{
    for (size_t sent = 0; sent < length;) {
        ssize_t n = send(fd, data + sent, length - sent, MSG_DONTWAIT);

        if (n < 0 && errno != EAGAIN) {
            fail("send");
        }
        sent += n > 0 ? (size_t)n : 0;
    }
}

static int by_time(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

/* The median of blocks, and their best. */
static void echo(const char *how, uint64_t count)
{
    static double blocks[BLOCKS_MAX];
    uint64_t block_count = count / BLOCK;

    for (uint64_t i = 0; i < block_count; i++) {
        uint64_t start = now_ns();

        for (int k = 0; k < BLOCK; k++) {
            if (first) {
                give();
                take();
            } else {
                take();
                give();
            }
        }
        blocks[i] = (double)(now_ns() - start) / (2 * BLOCK);
    }
    qsort(blocks, block_count, sizeof(*blocks), by_time);
    if (first) {
        printf("raw %s echo, %zu bytes: half round trip %.0f ns median, %.0f "
               "ns least\n",
               how, length, blocks[block_count / 2], blocks[0]);
    }
}

static void stream(uint64_t count)
{
    uint64_t start = now_ns(), ns;

    for (uint64_t i = 0; i < count; i++) {
        if (first) {
            give();
        } else {
            take();
        }
    }
    if (first) { /* until all has come */
        (void)shutdown(fd, SHUT_WR);
        (void)recv(fd, data, 1, 0);
        ns = now_ns() - start;
        printf("raw TCP stream, %zu bytes: %.1f MB/s\n", length,
               (double)(count * length) * 1e3 / (double)ns);
    }
}

int main(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK"), *port = getenv("RAW_PORT");
    struct sockaddr_in at = {.sin_family = AF_INET};
    bool streams = argc > 2 && strcmp(argv[1], "stream") == 0;
    bool udp = argc > 2 && strcmp(argv[1], "udp") == 0;
    uint64_t count = streams ? 1000 : 200000;

    length = argc > 3 ? strtoul(argv[3], NULL, 0) : streams ? 1 << 20 : 8;
    count = argc > 4 ? strtoull(argv[4], NULL, 0) : count;
    if (rank == NULL || argc < 3 || inet_aton(argv[2], &at.sin_addr) == 0 ||
        length < 1 || length > BYTES_MAX || count < BLOCK ||
        count > BLOCK * BLOCKS_MAX) {
        fputs("usage: mpiexec -n 2 raw udp|tcp|stream ADDRESS [BYTES [COUNT]]\n",
              stderr);
        return EXIT_FAILURE;
    }
    first = rank[0] == '0';
    at.sin_port = htons((uint16_t)(port == NULL ? 40077 : atoi(port)));
    data = calloc(length, 1);
    take_core(first ? 0 : 1);
    if (udp) {
        open_udp(&at);
    } else {
        open_tcp(&at);
    }
    if (streams) {
        stream(count);
    } else {
        echo(udp ? "UDP" : "TCP", count);
    }
    close(fd);
    free(data);
    return EXIT_SUCCESS;
}
