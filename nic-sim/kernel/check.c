/*
 * How a process of the simulator ends that does not return: an own invariant
 * does not hold, or it is one node of many and its run is over.
 */
#include "nicsim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void ns_check_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "nic-sim: %s:%d: this must hold: %s\n", file, line, what);
    abort();
}

void ns_end(int code, const char *format, ...)
{
    va_list args;

    if (format != NULL) {
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
    }
    _exit(code);
}
