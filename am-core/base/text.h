/*
 * Text that is written piece by piece into a caller's room.  What does not fit is
 * left out and counted, so that the caller learns how much there was.
 */
#ifndef AM_BASE_TEXT_H
#define AM_BASE_TEXT_H

#include <stddef.h>

struct am_text {
    char *text; /* the caller's; NULL with no bytes: only count */
    size_t bytes;
    size_t length; /* of all so far; may exceed `bytes` */
};

__attribute__((format(printf, 2, 3))) void am_text_add(struct am_text *out,
                                                       const char *format, ...);

/* A number of bytes: "512", "8k", "2m"; SIZE_MAX is "any". */
void am_text_size(struct am_text *out, size_t bytes);

#endif
