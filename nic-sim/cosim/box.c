/*
 * The turn between the engine and a rank: a futex in shared memory.  Who waits
 * sleeps, and looks now and then whether the other side is still there.
 */
#include "config.h"

#include "cosim/box.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { /* at the other side */
    LOOK_NS = 100 * 1000 * 1000,
    LOOKS_PER_SECOND = 10
};

static size_t head_bytes(void)
{
    return (sizeof(struct ns_box) + NS_PIN_BYTES - 1) / NS_PIN_BYTES *
           NS_PIN_BYTES;
}

size_t ns_box_bytes(uint32_t memory_bytes, uint32_t line_bytes, bool coherent)
{
    return head_bytes() + ns_memory_room(memory_bytes, line_bytes, coherent);
}

uint8_t *ns_box_room(struct ns_box *box)
{
    return (uint8_t *)box + head_bytes();
}

void ns_box_give(struct ns_box *box, ns_turn_t to)
{
    atomic_store_explicit(&box->turn, to, memory_order_release);
    (void)syscall(SYS_futex, &box->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool has_ended(int process)
{
    struct pollfd poll_fd = {.fd = process, .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 1;
}

ns_box_t ns_box_wait(struct ns_box *box, ns_turn_t turn, int other,
                     uint64_t seconds)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    uint64_t looks = 0;
    uint32_t now;

    while ((now = atomic_load_explicit(&box->turn, memory_order_acquire)) !=
           turn) {
        if (syscall(SYS_futex, &box->turn, FUTEX_WAIT, now, &look, NULL, 0) ==
                    0 ||
            errno != ETIMEDOUT) {
            continue;
        }
        if (has_ended(other)) { /* its last act may have been to give it */
            return atomic_load_explicit(&box->turn, memory_order_acquire) ==
                                   turn
                           ? NS_BOX_TURN
                           : NS_BOX_GONE;
        }
        if (seconds != 0 && ++looks >= seconds * LOOKS_PER_SECOND) {
            return NS_BOX_LATE;
        }
    }
    return NS_BOX_TURN;
}
