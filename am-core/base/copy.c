/*
 * Whole cache lines by vector registers, where the processor has such wide
 * ones.  Measured on Zen 5 at 4 KiB: 15% more bandwidth and 12% less latency
 * than by the string copy between cores that are near, 10% more and 4% more
 * between cores that are far from each other.  Registers of 32 bytes win the
 * bandwidth only, and lose latency.  From 8 KiB on the string copy, which has
 * more lines on their way at a time, is as good or better; and so it is for who
 * writes to lines that another core has.
 */
#include "config.h"

#include "base/copy.h"

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>

#define HAVE_LINES 1

static __attribute__((target("avx512f"))) void
copy_lines(char *to, const char *from, size_t bytes)
{
    while (bytes >= 4 * sizeof(__m512i)) {
        __m512i a = _mm512_loadu_si512(from);
        __m512i b = _mm512_loadu_si512(from + 64);
        __m512i c = _mm512_loadu_si512(from + 128);
        __m512i d = _mm512_loadu_si512(from + 192);

        _mm512_storeu_si512(to, a);
        _mm512_storeu_si512(to + 64, b);
        _mm512_storeu_si512(to + 128, c);
        _mm512_storeu_si512(to + 192, d);
        to += 4 * sizeof(__m512i);
        from += 4 * sizeof(__m512i);
        bytes -= 4 * sizeof(__m512i);
    }
    if (bytes > 0) {
        memcpy(to, from, bytes);
    }
}
#endif

void am_copy_lines(void *to, const void *from, size_t bytes)
{
#ifdef HAVE_LINES
    if (__builtin_cpu_supports("avx512f")) {
        copy_lines(to, from, bytes);
        return;
    }
#endif
    memcpy(to, from, bytes);
}
