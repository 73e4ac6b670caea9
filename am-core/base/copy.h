/*
 * Copies of a payload that another core has just written.
 */
#ifndef AM_BASE_COPY_H
#define AM_BASE_COPY_H

#include <stddef.h>
#include <string.h>

/* From the size at which memcpy gives way to the processor's string copy, to
 * that at which the string copy has made up for its slow start. */
#define AM_COPY_FAR_MORE_THAN ((size_t)2048)
#define AM_COPY_FAR_MOST      ((size_t)4096)

/* For these sizes; the memories do not overlap. */
void am_copy_lines(void *to, const void *from, size_t bytes);

/* memcpy from memory that most likely is in another core's cache. */
static inline void am_copy_far(void *to, const void *from, size_t bytes)
{
    if (bytes > AM_COPY_FAR_MORE_THAN && bytes <= AM_COPY_FAR_MOST) {
        am_copy_lines(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

#endif
