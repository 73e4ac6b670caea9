/*
 * Fibers: a piece of C code that runs until it yields, on a stack of its own.
 * Two back ends behind the same functions: a switch of stacks with guard pages,
 * known to AddressSanitizer, ThreadSanitizer and valgrind; and a thread that runs
 * only while it is resumed, for debuggers.  libc and pthread only.
 */
#include "config.h"

#include "kernel/switch.h"
#include "nicsim.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(_feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif
#ifdef HAVE_VALGRIND_VALGRIND_H
#include <valgrind/valgrind.h>
#endif

/* A large array may be used from its far end first. */
#define GUARD_BYTES (16 * 1024 * 1024)

/* Where a stack switch leaves from: what the sanitizers want to know. */
struct fiber_side {
    struct ns_switch at;
    void *asan_fake_stack;
    const void *stack_bottom;
    size_t stack_bytes;
    void *tsan_fiber;
};

struct ns_fiber {
    ns_fiber_kind_t kind;
    void (*fn)(void *arg);
    void *arg;
    bool started, ended, cancelled;
    /* NS_FIBER_CONTEXT */
    struct fiber_side inside, outside;
    void *map;
    size_t map_bytes, guard_bytes;
    unsigned valgrind_id;
    /* NS_FIBER_THREAD */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t turn_changed;
    bool inside_turn;
    size_t thread_stack_bytes;
};

/* ---------------------------------------------------------------- ucontext */

static void side_arrived(struct fiber_side *to, struct fiber_side *from)
{
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(to->asan_fake_stack, &from->stack_bottom,
                                    &from->stack_bytes);
#else
    (void)to;
    (void)from;
#endif
}

static void side_switch(struct fiber_side *from, struct fiber_side *to,
                        bool last)
{
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &from->asan_fake_stack,
                                   to->stack_bottom, to->stack_bytes);
#else
    (void)last;
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(to->tsan_fiber, 0);
#endif
    ns_switch(&from->at, &to->at);
    /* Back again: `to` is whom we left for, and who came back to us. */
    side_arrived(from, to);
}

static void context_main(void *arg)
{
    struct ns_fiber *fiber = arg;

    side_arrived(&fiber->inside, &fiber->outside);
    fiber->fn(fiber->arg);
    fiber->ended = true;
    side_switch(&fiber->inside, &fiber->outside, true);
}

static int context_open(struct ns_fiber *fiber, size_t stack_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (stack_bytes + page - 1) / page * page;
    char *stack;

    fiber->guard_bytes = (GUARD_BYTES + page - 1) / page * page;
    fiber->map_bytes = bytes + fiber->guard_bytes;
    fiber->map = mmap(NULL, fiber->map_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->map == MAP_FAILED) {
        fiber->map = NULL;
        return -1;
    }
#ifdef MADV_NOHUGEPAGE
    /* A large page for the few KiB that most stacks use would be too much. */
    (void)madvise(fiber->map, fiber->map_bytes, MADV_NOHUGEPAGE);
#endif
    /* Stacks grow down: the guard pages are the lowest. */
    if (mprotect(fiber->map, fiber->guard_bytes, PROT_NONE) != 0) {
        return -1;
    }
    stack = (char *)fiber->map + fiber->guard_bytes;
#ifdef FIBER_ASAN
    /* An earlier stack that lay here may have been left in the middle. */
    ASAN_UNPOISON_MEMORY_REGION(stack, bytes);
#endif
    fiber->inside.stack_bottom = stack;
    fiber->inside.stack_bytes = bytes;
    ns_switch_prepare(&fiber->inside.at, stack, bytes, context_main, fiber);
#ifdef HAVE_VALGRIND_VALGRIND_H
    fiber->valgrind_id = VALGRIND_STACK_REGISTER(stack, stack + bytes);
#endif
#ifdef FIBER_TSAN
    fiber->inside.tsan_fiber = __tsan_create_fiber(0);
#endif
    return 0;
}

static void context_close(struct ns_fiber *fiber)
{
#ifdef FIBER_TSAN
    if (fiber->inside.tsan_fiber != NULL) {
        __tsan_destroy_fiber(fiber->inside.tsan_fiber);
    }
#endif
    if (fiber->map != NULL) {
#ifdef HAVE_VALGRIND_VALGRIND_H
        VALGRIND_STACK_DEREGISTER(fiber->valgrind_id);
#endif
        munmap(fiber->map, fiber->map_bytes);
    }
}

static void context_resume(struct ns_fiber *fiber)
{
#ifdef FIBER_TSAN
    fiber->outside.tsan_fiber = __tsan_get_current_fiber();
#endif
    side_switch(&fiber->outside, &fiber->inside, false);
}

/* ----------------------------------------------------------------- threads */

/* Give the turn to the other side and wait until it comes back. */
static void turn_pass(struct ns_fiber *fiber, bool inside)
{
    fiber->inside_turn = inside;
    pthread_cond_broadcast(&fiber->turn_changed);
}

static void turn_wait(struct ns_fiber *fiber, bool inside)
{
    while (fiber->inside_turn != inside) {
        pthread_cond_wait(&fiber->turn_changed, &fiber->mutex);
    }
}

static void *thread_main(void *arg)
{
    struct ns_fiber *fiber = arg;

    pthread_mutex_lock(&fiber->mutex);
    turn_wait(fiber, true);
    pthread_mutex_unlock(&fiber->mutex);
    if (!fiber->cancelled) {
        fiber->fn(fiber->arg);
    }
    pthread_mutex_lock(&fiber->mutex);
    fiber->ended = true;
    turn_pass(fiber, false);
    pthread_mutex_unlock(&fiber->mutex);
    return NULL;
}

static int thread_start(struct ns_fiber *fiber)
{
    pthread_attr_t attr;
    int status;

    if (pthread_attr_init(&attr) != 0) {
        return -1;
    }
    pthread_attr_setstacksize(&attr, fiber->thread_stack_bytes);
    status = pthread_create(&fiber->thread, &attr, thread_main, fiber);
    pthread_attr_destroy(&attr);
    return status == 0 ? 0 : -1;
}

static int thread_open(struct ns_fiber *fiber, size_t stack_bytes)
{
    fiber->thread_stack_bytes = stack_bytes;
    pthread_mutex_init(&fiber->mutex, NULL);
    pthread_cond_init(&fiber->turn_changed, NULL);
    if (thread_start(fiber) != 0) {
        pthread_mutex_destroy(&fiber->mutex);
        pthread_cond_destroy(&fiber->turn_changed);
        return -1;
    }
    fiber->started = true;
    return 0;
}

static void thread_resume(struct ns_fiber *fiber)
{
    pthread_mutex_lock(&fiber->mutex);
    turn_pass(fiber, true);
    turn_wait(fiber, false);
    pthread_mutex_unlock(&fiber->mutex);
}

/* The end of a thread that was left in the middle. */
static void thread_abandon(struct ns_fiber *fiber)
{
    fiber->ended = true;
    turn_pass(fiber, false);
    pthread_mutex_unlock(&fiber->mutex);
    pthread_exit(NULL);
}

static void thread_yield(struct ns_fiber *fiber)
{
    pthread_mutex_lock(&fiber->mutex);
    turn_pass(fiber, false);
    turn_wait(fiber, true);
    if (fiber->cancelled) {
        thread_abandon(fiber);
    }
    pthread_mutex_unlock(&fiber->mutex);
}

static void thread_close(struct ns_fiber *fiber)
{
    if (!fiber->started) {
        return;
    }
    if (!fiber->ended) {
        fiber->cancelled = true;
        thread_resume(fiber);
    }
    pthread_join(fiber->thread, NULL);
    pthread_mutex_destroy(&fiber->mutex);
    pthread_cond_destroy(&fiber->turn_changed);
}

/* -------------------------------------------------------------------- both */

struct ns_fiber *ns_fiber_open(ns_fiber_kind_t kind, void (*fn)(void *arg),
                               void *arg, size_t stack_bytes)
{
    struct ns_fiber *fiber = calloc(1, sizeof(*fiber));
    int status;

    if (fiber == NULL) {
        return NULL;
    }
    fiber->kind = kind;
    fiber->fn = fn;
    fiber->arg = arg;
    status = kind == NS_FIBER_THREAD ? thread_open(fiber, stack_bytes)
                                     : context_open(fiber, stack_bytes);
    if (status != 0) {
        ns_fiber_close(fiber);
        return NULL;
    }
    return fiber;
}

void ns_fiber_resume(struct ns_fiber *fiber)
{
    NS_CHECK(!fiber->ended);
    if (fiber->kind == NS_FIBER_THREAD) {
        thread_resume(fiber);
    } else {
        context_resume(fiber);
    }
}

void ns_fiber_yield(struct ns_fiber *fiber)
{
    if (fiber->kind == NS_FIBER_THREAD) {
        thread_yield(fiber);
    } else {
#ifdef FIBER_TSAN
        fiber->inside.tsan_fiber = __tsan_get_current_fiber();
#endif
        side_switch(&fiber->inside, &fiber->outside, false);
    }
}

bool ns_fiber_guards(const struct ns_fiber *fiber, const void *address)
{
    const char *guard = fiber->map;

    return guard != NULL && (const char *)address >= guard &&
           (const char *)address < guard + fiber->guard_bytes;
}

bool ns_fiber_ended(const struct ns_fiber *fiber)
{
    return fiber->ended;
}

void ns_fiber_close(struct ns_fiber *fiber)
{
    if (fiber == NULL) {
        return;
    }
    if (fiber->kind == NS_FIBER_THREAD) {
        thread_close(fiber);
    } else {
        context_close(fiber);
    }
    free(fiber);
}
