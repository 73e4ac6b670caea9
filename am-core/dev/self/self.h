/*
 * The self device: a context's way to itself.  Packets wait in bounded memory
 * of the endpoint, one ring (base/ring.h) for each class, until poll delivers
 * them; put, get and fetch_add are memory copies into registered regions.
 * It reaches only the context that opened it.
 */
#ifndef AM_DEV_SELF_SELF_H
#define AM_DEV_SELF_SELF_H

#include "dev/dev.h"

extern const struct am_dev_ops am_dev_self_ops;

#endif
