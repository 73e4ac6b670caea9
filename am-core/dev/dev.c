/*
 * The answers of ops that a device lacks.
 */
#include "config.h"

#include "dev/defaults.h"

#include <errno.h>
#include <sys/epoll.h>

#define BLIND_NS (UINT64_C(1000) * 1000) /* between polls of what wakes nobody */

am_status_t am_dev_send_words(struct am_dev_ep *ep, uint32_t class,
                              uint64_t first, const uint64_t *words,
                              const void *data, size_t data_bytes)
{
    uint64_t hdr[1 + UINT8_MAX];
    uint32_t count = am_dev_word_count(first);

    hdr[0] = first;
    for (uint32_t i = 0; i < count; i++) {
        hdr[1 + i] = words[i];
    }
    return ep->dev->ops->send(ep, class, hdr, (1 + count) * sizeof(hdr[0]),
                              data, data_bytes);
}

am_status_t am_dev_watch_fd(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    /* EEXIST: an earlier call added it, and what came after that failed. */
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST
                   ? AM_OK
                   : AM_ERR_SYSTEM;
}

am_status_t am_dev_arm(struct am_dev *dev, uint64_t *most_ns)
{
    if (dev->ops->arm != NULL) {
        return dev->ops->arm(dev, most_ns);
    }
    am_dev_sleep_less(most_ns, BLIND_NS);
    return AM_OK;
}

am_status_t am_dev_no_connect_all(struct am_dev *dev, const void *const *parts,
                                  const size_t *part_bytes, uint32_t count)
{
    return AM_OK;
}

bool am_dev_no_connected(struct am_dev *dev)
{
    return true;
}

am_dev_presence_t am_dev_no_presence(struct am_dev_ep *ep)
{
    return AM_DEV_HERE;
}

bool am_dev_no_drained(struct am_dev *dev)
{
    return true;
}

am_status_t am_dev_no_mem_register(struct am_dev *dev, void *base, size_t bytes,
                                   uint32_t rights, struct am_dev_key *key)
{
    return AM_ERR_UNSUPPORTED;
}

void am_dev_no_mem_deregister(struct am_dev *dev, const struct am_dev_key *key)
{
}

void *am_dev_no_alloc(struct am_dev *dev, size_t bytes, struct am_dev_key *key)
{
    return NULL;
}

void am_dev_no_release(struct am_dev *dev, void *base, size_t bytes)
{
}

am_status_t am_dev_no_xfer(struct am_dev_ep *ep, const struct iovec *local,
                           uint32_t count, const struct am_dev_key *key,
                           size_t offset, am_dev_done_fn done, void *arg)
{
    return AM_ERR_UNSUPPORTED;
}

am_status_t am_dev_no_fetch_add(struct am_dev_ep *ep,
                                const struct am_dev_key *key, size_t offset,
                                uint64_t value, uint64_t *old_p,
                                am_dev_done_fn done, void *arg)
{
    return AM_ERR_UNSUPPORTED;
}

void *am_dev_no_map(struct am_dev_ep *ep, const struct am_dev_key *key,
                    size_t offset, size_t bytes)
{
    return NULL;
}

bool am_dev_no_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest)
{
    return false; /* nothing to sleep on: the caller goes on polling */
}

void am_dev_no_check(struct am_dev *dev)
{
}

size_t am_dev_no_describe(struct am_dev *dev, char *text, size_t bytes)
{
    if (bytes > 0) {
        text[0] = '\0';
    }
    return 0;
}
