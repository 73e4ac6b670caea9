/*
 * Switching stacks, by hand or by ucontext.
 */
#include "kernel/switch.h"

#include "nicsim.h"

#ifdef NS_SWITCH_DIRECT

/*
 * What the ABI says a function keeps, from low to high addresses:
 *
 *   [mxcsr, x87 control word] r15 r14 r13 r12 rbx rbp [return address]
 *
 * A new stack returns into the trampoline, which calls r13 with r12.  Control
 * words are loaded only if they differ, which they hardly ever do: loading them
 * waits for all that is under way.
 */
enum {
    KEPT_CONTROL,
    KEPT_R15,
    KEPT_R14,
    KEPT_R13,
    KEPT_R12,
    KEPT_RBX,
    KEPT_RBP,
    KEPT_RETURN,
    KEPT_WORDS
};

void ns_switch_swap(void **from, void *to);
void ns_switch_trampoline(void);

__asm__(".text\n"
        ".hidden ns_switch_swap\n"
        ".globl ns_switch_swap\n"
        ".type ns_switch_swap, @function\n"
        "ns_switch_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movl (%rsp), %eax\n"
        "    movzwl 4(%rsp), %edx\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    cmpl (%rsp), %eax\n"
        "    jne 1f\n"
        "    cmpw 4(%rsp), %dx\n"
        "    je 2f\n"
        "1:  ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "2:  addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size ns_switch_swap, .-ns_switch_swap\n"
        ".hidden ns_switch_trampoline\n"
        ".globl ns_switch_trampoline\n"
        ".type ns_switch_trampoline, @function\n"
        "ns_switch_trampoline:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n" /* the end of every backtrace */
        "    movq %r12, %rdi\n"
        "    call *%r13\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size ns_switch_trampoline, .-ns_switch_trampoline\n");

void ns_switch_prepare(struct ns_switch *to, void *stack, size_t bytes,
                       void (*fn)(void *arg), void *arg)
{
    uintptr_t top = ((uintptr_t)stack + bytes) & ~(uintptr_t)15;
    uint64_t *kept = (uint64_t *)top - KEPT_WORDS - 2;
    uint32_t mxcsr;
    uint16_t x87;

    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    kept[KEPT_CONTROL] = mxcsr | (uint64_t)x87 << 32;
    kept[KEPT_R15] = kept[KEPT_R14] = kept[KEPT_RBX] = kept[KEPT_RBP] = 0;
    kept[KEPT_R13] = (uintptr_t)fn;
    kept[KEPT_R12] = (uintptr_t)arg;
    kept[KEPT_RETURN] = (uintptr_t)ns_switch_trampoline;
    to->stack_pointer = kept;
}

void ns_switch(struct ns_switch *from, struct ns_switch *to)
{
    ns_switch_swap(&from->stack_pointer, to->stack_pointer);
}

#else

static void entry(unsigned fn_low, unsigned fn_high, unsigned low,
                  unsigned high)
{
    void (*fn)(void *arg) =
            (void (*)(void *))((uintptr_t)fn_low | (uintptr_t)fn_high << 32);

    fn((void *)((uintptr_t)low | (uintptr_t)high << 32));
}

void ns_switch_prepare(struct ns_switch *to, void *stack, size_t bytes,
                       void (*fn)(void *arg), void *arg)
{
    uintptr_t f = (uintptr_t)fn, a = (uintptr_t)arg;

    NS_CHECK(getcontext(&to->context) == 0);
    to->context.uc_stack.ss_sp = stack;
    to->context.uc_stack.ss_size = bytes;
    to->context.uc_link = NULL;
    makecontext(&to->context, (void (*)(void))entry, 4,
                (unsigned)(f & 0xffffffffu), (unsigned)((uint64_t)f >> 32),
                (unsigned)(a & 0xffffffffu), (unsigned)((uint64_t)a >> 32));
}

void ns_switch(struct ns_switch *from, struct ns_switch *to)
{
    NS_CHECK(swapcontext(&from->context, &to->context) == 0);
}

#endif
