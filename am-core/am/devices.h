/*
 * Which devices a context has open, and which of them a peer is reached by.
 * Internal to am.
 */
#ifndef AM_AM_DEVICES_H
#define AM_AM_DEVICES_H

#include "dev/dev.h"

struct am_ctx;
struct am_blob;
struct am_dev_slot;

/* Open what AM_DEVICES names; with "auto" a device that this machine lacks is
 * left out, and the log says so.  The errors of am_open. */
am_status_t am_devices_open(struct am_ctx *ctx, char *error,
                            size_t error_bytes);
/* With "auto" devices from host to host open when some rank needs one: does this
 * context have any of that kind? */
bool am_devices_wait(const struct am_ctx *ctx);
/* Open those.  The errors of am_open: where none opens, of the last one. */
am_status_t am_devices_open_far(struct am_ctx *ctx, char *error,
                                size_t error_bytes);
const struct am_dev_slot *am_device_slot(const struct am_ctx *ctx,
                                         const struct am_dev *dev);
/* From now on each poll of the context polls this device. */
void am_device_use(struct am_ctx *ctx, struct am_dev *dev);
/* The addresses of all ranks are known: use those devices that reach one for the
 * least, and only those; without any, as at first, the first device. */
void am_devices_use(struct am_ctx *ctx);
/* The device that reaches an address for the least, by what a short message
 * costs the end to which it costs more: both ends so choose the same.  Its part
 * is *address_p, *bytes_p long.  NULL: none reaches it. */
struct am_dev *am_device_for(const struct am_ctx *ctx,
                             const struct am_blob *blob, const void **address_p,
                             size_t *bytes_p);

/* address.c: does the owner of a blob that was read make packets of this device
 * reliable as this context does?  Else they would wait for each other for ever:
 * AM_ERR_CONFIG with a sentence as the context's error.  `rank` UINT32_MAX: it is
 * outside the job. */
am_status_t am_blob_agrees(struct am_ctx *ctx, const struct am_blob *blob,
                           const struct am_dev *dev, uint32_t rank);

#endif
