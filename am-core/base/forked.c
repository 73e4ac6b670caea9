/*
 * The watches of the process, and the C library's upcalls at a fork.
 */
#include <config.h>

#include "base/forked.h"

#include <pthread.h>

static struct am_list watches = {&watches, &watches};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The list is whole in the child as well. */
static void fork_begins(void)
{
    pthread_mutex_lock(&lock);
}

static void fork_is_over(void)
{
    pthread_mutex_unlock(&lock);
}

static void child_begins(void)
{
    for (struct am_list *at = watches.next; at != &watches; at = at->next) {
        struct am_fork_watch *watch =
                am_container(at, struct am_fork_watch, link);

        watch->in_child(watch->arg);
    }
    pthread_mutex_unlock(&lock);
}

static void setup(void)
{
    pthread_atfork(fork_begins, fork_is_over, child_begins);
}

void am_fork_watch_start(struct am_fork_watch *watch,
                         void (*in_child)(void *arg), void *arg)
{
    pthread_once(&once, setup);
    watch->in_child = in_child;
    watch->arg = arg;
    pthread_mutex_lock(&lock);
    am_list_push(&watches, &watch->link);
    pthread_mutex_unlock(&lock);
}

void am_fork_watch_stop(struct am_fork_watch *watch)
{
    if (watch->in_child != NULL) {
        pthread_mutex_lock(&lock);
        am_list_remove(&watch->link);
        pthread_mutex_unlock(&lock);
        watch->in_child = NULL;
    }
}
