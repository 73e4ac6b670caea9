/*
 * Switching stacks.  On x86-64 a few instructions; elsewhere, and where the
 * processor keeps a shadow stack, ucontext, which asks the kernel for the
 * signal mask each time.
 */
#ifndef NS_KERNEL_SWITCH_H
#define NS_KERNEL_SWITCH_H

#include <stddef.h>

#if defined(__x86_64__) && !(defined(__CET__) && (__CET__ & 2) != 0)
#define NS_SWITCH_DIRECT 1
#else
#include <ucontext.h>
#endif

/* A place to go on from. */
struct ns_switch {
#ifdef NS_SWITCH_DIRECT
    void *stack_pointer;
#else
    ucontext_t context;
#endif
};

/* Going to `to` will call fn(arg), which never returns, on this stack. */
void ns_switch_prepare(struct ns_switch *to, void *stack, size_t bytes,
                       void (*fn)(void *arg), void *arg);
/* Leave `from` here; returns when somebody goes to it. */
void ns_switch(struct ns_switch *from, struct ns_switch *to);

#endif
