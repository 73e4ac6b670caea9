/*
 * Is the process of a peer alive?  Asked now and then by the layer above, and
 * never on the way of a message.
 *
 * A pidfd tells the end of the process that had the number when it was opened.
 * The number may have gone to another process before that, so each peer tells
 * when its process began, too, and who began at another time is not the peer.
 */
#include "config.h"

#include "dev/shm/shm.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAT_START 22 /* the field, counted from 1, of proc(5)'s pid/stat */

uint64_t shm_process_start(uint32_t pid)
{
    char path[40], text[1024];
    const char *at;
    size_t length;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    length = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[length] = '\0';
    /* the second field is the program's name, which may hold anything */
    at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < STAT_START; field++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

/* A pidfd is readable when its process has ended, reaped or not.  *pidfd_p is
 * -1 at first, and the caller's to close. */
static bool has_ended(uint32_t pid, uint64_t start, int *pidfd_p)
{
    struct pollfd poll_fd = {.events = POLLIN};

    if (*pidfd_p < 0) {
        uint64_t now;

        *pidfd_p = (int)syscall(SYS_pidfd_open, pid, 0);
        if (*pidfd_p < 0) {
            return errno == ESRCH;
        }
        now = shm_process_start(pid); /* 0 without /proc, or just gone */
        if (start != 0 && now != 0 && now != start) {
            return true;
        }
    }
    poll_fd.fd = *pidfd_p;
    return poll(&poll_fd, 1, 0) == 1;
}

static bool has_closed(struct shm_seg *seg, uint32_t index)
{
    return atomic_load(&shm_seg_rank(seg, index)->state) == SHM_RANK_CLOSED;
}

/* The dead wait on no CPU: nobody need yield to them. */
static void leave_core(struct shm_seg *seg, uint32_t index)
{
    atomic_store_explicit(&shm_seg_rank(seg, index)->core, 0,
                          memory_order_relaxed);
}

/* Late peers come and go: no descriptor is kept for them.  One that closes
 * before it has mapped the pair's segment cannot say so there, so its end is
 * not taken for a death. */
static void check_late(struct shm_dev *dev)
{
    for (struct shm_ep *ep = dev->eps; ep != NULL; ep = ep->next) {
        int pidfd = -1;
        char why[80];

        if (ep->rank != UINT32_MAX || ep->dead || ep->pid == dev->pid ||
            atomic_load(&ep->peer->pid) == 0 ||
            has_closed(ep->seg, ep->index)) {
            continue;
        }
        if (has_ended(ep->pid, ep->start, &pidfd) &&
            !has_closed(ep->seg, ep->index)) {
            snprintf(why, sizeof(why), "process %u has died", ep->pid);
            leave_core(ep->seg, ep->index);
            shm_ep_die(dev, ep, why);
        }
        if (pidfd >= 0) {
            close(pidfd);
        }
    }
}

/* Before the segment is mapped only its leader's end is news: others may have
 * closed and gone already. */
void shm_check(struct am_dev *adev)
{
    struct shm_dev *dev = shm_dev_of(adev);
    uint32_t count = dev->job != NULL       ? dev->local_count
                     : dev->local_count > 1 ? 1
                                            : 0;

    for (uint32_t i = 0; i < count; i++) {
        struct shm_local *local = &dev->locals[i];
        char why[80];

        if (local->pid == dev->pid || local->dead ||
            (dev->job != NULL && has_closed(dev->job, i)) ||
            !has_ended(local->pid, local->start, &local->pidfd)) {
            continue;
        }
        if (dev->job != NULL && has_closed(dev->job, i)) {
            continue; /* it closed and ended between the two looks */
        }
        local->dead = true;
        if (dev->job != NULL) {
            leave_core(dev->job, i);
        }
        snprintf(why, sizeof(why), "process %u has died", local->pid);
        shm_ep_die(dev, shm_ep_of_local(dev, i), why);
    }
    check_late(dev);
}
