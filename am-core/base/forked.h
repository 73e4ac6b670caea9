/*
 * Who wants to know that a process is the child of a fork.  Asking for the
 * process number costs a system call; here a watch is called in the child, before
 * fork returns there.  A child by vfork, posix_spawn or system is not told: it
 * runs another program at once.
 */
#ifndef AM_BASE_FORKED_H
#define AM_BASE_FORKED_H

#include "base/list.h"

struct am_fork_watch {
    struct am_list link;
    void (*in_child)(void *arg);
    void *arg;
};

/* From now on `in_child(arg)` is called in each child, where other threads are
 * gone and may have left what they held as it was: it sets fields, and allocates
 * and locks nothing.  Watches are called in the order of their start. */
void am_fork_watch_start(struct am_fork_watch *watch,
                         void (*in_child)(void *arg), void *arg);
/* No more; also one that was never started, whose memory is 0. */
void am_fork_watch_stop(struct am_fork_watch *watch);

#endif
