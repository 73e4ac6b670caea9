#include "config.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void am_text_add(struct am_text *out, const char *format, ...)
{
    size_t left = out->length < out->bytes ? out->bytes - out->length : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(left > 0 ? out->text + out->length : NULL, left, format,
                  args);
    va_end(args);
    out->length += n > 0 ? (size_t)n : 0;
}

void am_text_show(const char *text, char *to, size_t bytes)
{
    size_t i = 0;

    for (; text[i] != '\0' && i + 1 < bytes; i++) {
        to[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    }
    to[i] = '\0';
    if (text[i] != '\0') {
        memcpy(to + i - 3, "...", 3);
    }
}

void am_text_size(struct am_text *out, size_t bytes)
{
    if (bytes == SIZE_MAX) {
        am_text_add(out, "any");
    } else if (bytes >= 1024 && bytes % (1024 * 1024) == 0) {
        am_text_add(out, "%zum", bytes >> 20);
    } else if (bytes >= 1024 && bytes % 1024 == 0) {
        am_text_add(out, "%zuk", bytes >> 10);
    } else {
        am_text_add(out, "%zu", bytes);
    }
}
