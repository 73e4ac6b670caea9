/*
 * Operations of devices that lack them.
 */
#ifndef AM_DEV_DEFAULTS_H
#define AM_DEV_DEFAULTS_H

#include "dev/dev.h"

/* AM_ERR_UNSUPPORTED and the like, or what is said. */
am_status_t am_dev_send_words(struct am_dev_ep *ep, uint32_t class,
                              uint64_t first, const uint64_t *words,
                              const void *data,
                              size_t data_bytes); /* by `send` */
am_status_t am_dev_no_connect_all(struct am_dev *dev, const void *const *parts,
                                  const size_t *part_bytes, uint32_t count);
am_status_t am_dev_no_mem_register(struct am_dev *dev, void *base, size_t bytes,
                                   uint32_t rights, struct am_dev_key *key);
void am_dev_no_mem_deregister(struct am_dev *dev, const struct am_dev_key *key);
void *am_dev_no_alloc(struct am_dev *dev, size_t bytes, struct am_dev_key *key);
void am_dev_no_release(struct am_dev *dev, void *base, size_t bytes);
am_status_t am_dev_no_xfer(struct am_dev_ep *ep, const struct iovec *local,
                           uint32_t count, const struct am_dev_key *key,
                           size_t offset, am_dev_done_fn done, void *arg);
am_status_t am_dev_no_fetch_add(struct am_dev_ep *ep,
                                const struct am_dev_key *key, size_t offset,
                                uint64_t value, uint64_t *old_p,
                                am_dev_done_fn done, void *arg);
void *am_dev_no_map(struct am_dev_ep *ep, const struct am_dev_key *key,
                    size_t offset, size_t bytes);
bool am_dev_no_connected(struct am_dev *dev); /* true */
bool am_dev_no_drained(struct am_dev *dev);   /* true */
am_dev_presence_t am_dev_no_presence(struct am_dev_ep *ep); /* HERE */
bool am_dev_no_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest);
void am_dev_no_check(struct am_dev *dev);
size_t am_dev_no_describe(struct am_dev *dev, char *text, size_t bytes);

#endif
