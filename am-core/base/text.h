/*
 * Text that is written piece by piece into a caller's room.  What does not fit is
 * left out and counted, so that the caller learns how much there was.  And text that
 * others give, made fit to be shown.
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

/* Copy `text`, somebody else's, as it may stand in a sentence: in one line, with a
 * question mark for each character that a terminal might obey, and cut to `bytes`
 * (4 at least) with its NUL. */
void am_text_show(const char *text, char *to, size_t bytes);

/* A number of bytes: "512", "8k", "2m"; SIZE_MAX is "any". */
void am_text_size(struct am_text *out, size_t bytes);

#endif
