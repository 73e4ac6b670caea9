/*
 * The collectives module: what am-core/lib.c plugs into a context.
 */
#ifndef AM_COLLECTIVES_MODULE_H
#define AM_COLLECTIVES_MODULE_H

#include "am/core.h"

extern const struct am_module am_coll_module;

#endif
