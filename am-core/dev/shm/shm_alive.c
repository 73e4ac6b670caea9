/*
 * Is the process of a peer alive?  Asked now and then by the layer above, and
 * never on the way of a message.
 *
 * A pidfd tells the end of the process that had the number when it was opened.
 * The number may have gone to another process before that, so each peer tells
 * when its process began, too, and who began at another time is not the peer.
 * Where no pidfd can be had, /proc tells, and where that is hidden, kill.
 */
#include "config.h"

#include "dev/shm/shm.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAT_STATE 3 /* fields, counted from 1, of proc(5)'s pid/stat */
#define STAT_START 22

/* The text of a process's pid/stat from its second field on: that is the
 * program's name, which may hold anything.  False with errno when there is
 * none. */
static bool stat_read(uint32_t pid, char *text, size_t bytes)
{
    char path[40];
    size_t length;
    FILE *file;
    char *at;

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    errno = ESRCH; /* it ended after the file was opened */
    length = fread(text, 1, bytes - 1, file);
    fclose(file);
    text[length] = '\0';
    at = strrchr(text, ')');
    if (at == NULL) {
        return false;
    }
    memmove(text, at, strlen(at) + 1);
    return true;
}

/* Field `number` of what stat_read gave; NULL: it has fewer. */
static const char *stat_field(const char *text, int number)
{
    for (int field = 2; text != NULL && field < number; field++) {
        text = strchr(text, ' ');
        text = text == NULL ? NULL : text + 1;
    }
    return text;
}

uint64_t shm_process_start(uint32_t pid)
{
    char text[1024];
    const char *start;

    if (!stat_read(pid, text, sizeof(text))) {
        return 0;
    }
    start = stat_field(text, STAT_START);
    return start == NULL ? 0 : strtoull(start, NULL, 10);
}

/* The same without a pidfd, which filters of system calls may forbid.  Who has
 * ended and is not reaped yet has a state of its own there.  Without /proc only
 * the number is left; then an end shows when the process has been reaped. */
static bool has_ended_by_number(uint32_t pid, uint64_t start)
{
    char text[1024];

    if (stat_read(pid, text, sizeof(text))) {
        const char *state = stat_field(text, STAT_STATE);
        const char *began = stat_field(text, STAT_START);

        return state != NULL && began != NULL &&
               (*state == 'Z' || *state == 'X' ||
                (start != 0 && strtoull(began, NULL, 10) != start));
    }
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
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
            return errno == ESRCH || has_ended_by_number(pid, start);
        }
        now = shm_process_start(pid); /* 0 without /proc, or just gone */
        if (start != 0 && now != 0 && now != start) {
            return true;
        }
    }
    poll_fd.fd = *pidfd_p;
    return poll(&poll_fd, 1, 0) == 1;
}

bool shm_process_has_ended(uint32_t pid)
{
    int pidfd = -1;
    bool ended = has_ended(pid, 0, &pidfd);

    if (pidfd >= 0) {
        close(pidfd);
    }
    return ended;
}

static bool has_closed(struct shm_seg *seg, uint32_t index)
{
    return atomic_load(&shm_seg_rank(seg, index)->state) == SHM_RANK_CLOSED;
}

/* It lives, perhaps, but it is not of the job. */
static bool has_failed(struct shm_seg *seg, uint32_t index)
{
    return atomic_load(&shm_seg_rank(seg, index)->state) == SHM_RANK_FAILED;
}

/* The dead wait on no CPU: nobody need yield to them. */
static void leave_core(struct shm_seg *seg, uint32_t index)
{
    atomic_store_explicit(&shm_seg_rank(seg, index)->core, 0,
                          memory_order_relaxed);
}

/* Late peers come and go: no descriptor is kept for them.  One that has not
 * mapped the pair's segment yet does so when it closes, to say it there. */
static void check_late(struct shm_dev *dev)
{
    for (struct shm_ep *ep = dev->eps; ep != NULL; ep = ep->next) {
        int pidfd = -1;
        char why[80];

        if (ep->rank != UINT32_MAX || ep->dead || ep->pid == dev->pid) {
            continue;
        }
        if (has_closed(ep->seg, ep->index)) {
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

/* The layer above is told of the end of a rank by its endpoint.  Without memory for
 * that it is told by the next look. */
static struct shm_ep *ep_to_tell(struct shm_dev *dev, uint32_t index)
{
    struct shm_ep *ep = shm_ep_of_local(dev, index);

    dev->locals[index].dead = ep != NULL;
    return ep;
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
        bool failed = dev->job != NULL && has_failed(dev->job, i);
        struct shm_ep *ep;
        char why[80];

        if (local->cut != NULL && !local->dead &&
            !has_ended(local->pid, local->start, &local->pidfd)) {
            ep = ep_to_tell(dev, i);
            if (ep != NULL) {
                shm_ep_cut(dev, ep, local->cut);
            }
        }
        if (local->pid == dev->pid || local->dead ||
            (dev->job != NULL && has_closed(dev->job, i)) ||
            (!failed &&
             !has_ended(local->pid, local->start, &local->pidfd))) {
            continue;
        }
        if (dev->job != NULL && has_closed(dev->job, i)) {
            continue; /* it closed and ended between the two looks */
        }
        if (dev->job != NULL) {
            leave_core(dev->job, i);
        }
        snprintf(why, sizeof(why), "process %u %s", local->pid,
                 failed ? "could not open the job" : "has died");
        ep = ep_to_tell(dev, i);
        if (ep != NULL) {
            shm_ep_die(dev, ep, why);
        }
    }
    check_late(dev);
    shm_look(dev);
}
