/*
 * What this build of libam consists of: the modules above am.  The only file
 * that may name a layer from below it.
 */
#include "am/core.h"
#include "msg/msg.h"

const char *am_version(void)
{
    return AM_VERSION_STRING;
}

const struct am_module *const am_modules[] = {&am_msg_module, NULL};
