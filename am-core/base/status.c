/*
 * Status codes as text.  Calls nothing.
 */
#include <am_types.h>

const char *am_status_text(am_status_t status)
{
    switch (status) {
    case AM_DONE:
        return "complete";
    case AM_OK:
        return "ok";
    case AM_ERR_AGAIN:
        return "no space now, try again";
    case AM_ERR_INVALID:
        return "invalid argument";
    case AM_ERR_MEMORY:
        return "out of memory";
    case AM_ERR_UNSUPPORTED:
        return "not supported";
    case AM_ERR_PEER:
        return "peer is dead or cannot be reached";
    case AM_ERR_TRUNCATE:
        return "message is longer than the receive buffer";
    case AM_ERR_CONFIG:
        return "a variable has a bad value";
    case AM_ERR_HANDLER:
        return "not allowed inside a handler";
    case AM_ERR_SYSTEM:
        return "a system call failed";
    case AM_ERR_CANCELLED:
        return "cancelled";
    case AM_ERR_FORKED:
        return "the context belongs to the process that this one was forked "
               "from";
    }
    return "unknown status";
}
