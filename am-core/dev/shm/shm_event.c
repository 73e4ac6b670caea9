/*
 * Sleeping on a descriptor, for am_ctx_fd: a datagram socket that has, like the
 * listener, a name of the abstract kind.  The sleeper says in its rank's `sleeping`
 * that it is to be woken by this; who would ring the futex sends a byte.  The
 * argument why no wake-up is lost is that of shm_wait.c.
 */
#include "config.h"

#include "dev/shm/shm.h"
#include "dev/shm/shm_message.h"
#include "dev/shm/shm_wait.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BELL "libam-bell" /* and the nonce: the name of a socket */
#define RINGS_MAX 64
/* Somebody may not ring: no membarrier, or the job's memory is awaited. */
#define BLIND_NS (UINT64_C(1000) * 1000)

static am_status_t bell_open(struct shm_dev *dev)
{
    struct sockaddr_un name;
    socklen_t length = shm_socket_name(&name, BELL, dev->nonce);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&name, length) != 0) {
        close(fd);
        fd = -1;
    }
    dev->bell = fd;
    return fd >= 0 ? AM_OK : AM_ERR_SYSTEM;
}

am_status_t shm_watch(struct am_dev *adev, int epoll)
{
    struct shm_dev *dev = shm_dev_of(adev);
    am_status_t status = dev->bell < 0 ? bell_open(dev) : AM_OK;

    if (status == AM_OK) {
        status = am_dev_watch_fd(epoll, dev->bell);
    }
    if (status == AM_OK && dev->listener >= 0) {
        status = am_dev_watch_fd(epoll, dev->listener);
    }
    return status;
}

/* A bell that was rung needs no more: what it told of is looked for next.  Whoever
 * rings without end is left for the next look. */
static void bell_drain(struct shm_dev *dev)
{
    char byte;
    int left = RINGS_MAX;

    while (left > 0 && recv(dev->bell, &byte, sizeof(byte), 0) >= 0) {
        left--;
    }
}

am_status_t shm_arm(struct am_dev *adev, uint64_t *most_ns)
{
    struct shm_dev *dev = shm_dev_of(adev);

    bell_drain(dev);
    shm_sockets_serve(dev);
    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        atomic_store(&seg->me->bell_nonce, dev->nonce);
    }
    if (!shm_announce_sleep(dev, SHM_SLEEP_DATAGRAM) ||
        (dev->local_count > 1 && !shm_is_met(dev)) || dev->visitor_count > 0) {
        am_dev_sleep_less(most_ns, BLIND_NS);
    }
    return shm_has_packet(dev) || shm_has_lane(dev) ? AM_ERR_AGAIN : AM_OK;
}

/* A socket that is full has been rung often enough. */
void shm_bell_ring(struct shm_dev *dev, uint64_t nonce)
{
    struct sockaddr_un name;
    socklen_t length = shm_socket_name(&name, BELL, nonce);

    if (dev->ringer < 0) {
        dev->ringer = socket(AF_UNIX,
                             SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    (void)sendto(dev->ringer, "", 1, MSG_NOSIGNAL, (struct sockaddr *)&name,
                 length);
}

void shm_bell_close(struct shm_dev *dev)
{
    if (dev->bell >= 0) {
        close(dev->bell);
    }
    if (dev->ringer >= 0) {
        close(dev->ringer);
    }
}
