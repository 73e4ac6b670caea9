/*
 * The msg module: what am-core/lib.c plugs into a context.
 */
#ifndef AM_MSG_MSG_H
#define AM_MSG_MSG_H

#include "am/core.h"

extern const struct am_module am_msg_module;

#endif
