/*
 * Waiting: asleep on the descriptor of the completion queue (FI_WAIT_FD), where
 * the provider has one and AM_WAIT=sleep asks for it: over TCP each completion
 * then costs a system call to make it readable and one to make it unreadable.
 * Before each sleep the provider is asked whether it may begin (fi_trywait), which
 * it does not allow while something is there.  Else waiting is polling: with a nap
 * between, or without.
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#include <poll.h>

#define WAIT_SPIN     256               /* empty polls: look on */
#define WAIT_YIELD    4096              /* then yield, then sleep */
#define WAIT_SLEEP_MS 20                /* dead peers are looked for */
#define NAP_NS        UINT64_C(1000000) /* while only polls get on */

int ofi_cq_open(struct ofi_dev *dev)
{
    struct fi_cq_attr attr = {.size = 2 * OFI_TX_COUNT + OFI_RX_SINGLE,
                              .format = FI_CQ_FORMAT_DATA,
                              .wait_obj = FI_WAIT_FD};

    if (dev->sleeps &&
        fi_cq_open(dev->domain, &attr, &dev->cq, NULL) == 0) {
        if (fi_control(&dev->cq->fid, FI_GETWAIT, &dev->wait_fd) == 0) {
            return 0;
        }
        (void)fi_close(&dev->cq->fid);
        dev->cq = NULL;
    }
    dev->wait_fd = -1;
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(dev->domain, &attr, &dev->cq, NULL);
}

/* True: something is there, or may come without a sign. */
static bool is_busy(struct ofi_dev *dev)
{
    struct fid *cq = &dev->cq->fid;

    return fi_trywait(dev->fabric, &cq, 1) != 0;
}

/* Does anything wait here that no descriptor tells of: for space, for a
 * connection, for the layer above? */
static bool has_work(struct ofi_dev *dev)
{
    return !ofi_drained(&dev->base) || !am_list_is_empty(&dev->stuck) ||
           !am_list_is_empty(&dev->held) || !am_list_is_empty(&dev->owing) ||
           !am_list_is_empty(&dev->doomed) || dev->unposted != NULL;
}

am_status_t ofi_watch(struct am_dev *base, int epoll)
{
    struct ofi_dev *dev = ofi_dev_of(base);

    return dev->wait_fd < 0 || dev->forked
                   ? AM_OK
                   : am_dev_watch_fd(epoll, dev->wait_fd);
}

am_status_t ofi_arm(struct am_dev *base, uint64_t *most_ns)
{
    struct ofi_dev *dev = ofi_dev_of(base);

    if (dev->forked) {
        return AM_OK;
    }
    if (dev->wait_fd < 0 || has_work(dev)) {
        am_dev_sleep_less(most_ns, NAP_NS);
    }
    return dev->wait_fd >= 0 && is_busy(dev) ? AM_ERR_AGAIN : AM_OK;
}

bool ofi_wait(struct am_dev *base, uint64_t idle, am_dev_rest_t rest)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    struct pollfd look = {.fd = dev->wait_fd, .events = POLLIN};

    if (idle < WAIT_SPIN) {
        return false;
    }
    if (idle < WAIT_YIELD || rest == AM_DEV_REST_BRIEF || dev->forked ||
        dev->wait_fd < 0 || has_work(dev) || is_busy(dev)) {
        am_env_relax(dev->env, 0);
        return false;
    }
    if (rest == AM_DEV_REST_ASK) {
        return true;
    }
    dev->stats[AM_DEV_STAT_SLEEP]++;
    (void)poll(&look, 1, WAIT_SLEEP_MS);
    return false;
}
