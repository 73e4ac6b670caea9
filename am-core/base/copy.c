/*
 * Copies between the caches of two cores.
 *
 * On processors with registers as wide as a cache line, of 2 to 8 KiB:
 *
 * To lines that another core has, by the string copy, which writes whole lines without
 * reading them: of 2 KiB, 29 GB/s in place of 23 between cores that are near each other,
 * 5.2 in place of 2.9 between far ones, and latency 5% less.  From 1 KiB to there its
 * slow start costs 10 to 30 ns.  memcpy has it from 2,113 bytes on.
 *
 * What one string copy of more than 2,112 bytes writes is seen late between near cores:
 * 4 KiB take 40 to 60 ns less in two, and 8 KiB that two ranks exchange 200 ns less in
 * four, at the same bandwidth.  Between far cores one has up to twice the bandwidth
 * (4 KiB: 14 and 8 GB/s) and less latency (780 and 860 ns).
 *
 * From lines that another core has, by those registers, as the string copy, which
 * memcpy uses there, starts slowly: at 4 KiB 15% more bandwidth and 12% less latency
 * between cores that are near, 10% and 4% between far ones, at 8 KiB 18% and 9%, and
 * 10% and 4%.  Registers of 32 bytes win the bandwidth only, and lose latency.  From
 * 12 KiB on the string copy has less latency between far cores.
 *
 * All measured on Zen 5.
 *
 * On others, of what memcpy makes a string copy of: from lines that a near core has, by
 * registers of 32 bytes.  At its best the string copy is as quick, but a stream that keeps
 * so close to its sender that the lines are still in the sender's own cache has 10 to
 * 13 GB/s by it, and 22 to 33 by registers; latency is the same or up to 5% less.
 * Measured on Zen 3, 4 to 64 KiB.
 */
#include "config.h"

#include "base/copy.h"

#include "base/barrier.h"

/* A string copy of no more is seen at once. */
#define STRING_SHORT ((size_t)2048)
/* memcpy of more is one. */
#define STRING_FROM ((size_t)2112)

/* memcpy, called: of a length whose bound it knows gcc makes a string copy instead. */
static inline void copy_called(char *to, const char *from, size_t bytes)
{
    __asm__("" : "+r"(bytes));
    memcpy(to, from, bytes);
}

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
        copy_called(to, from, bytes);
    }
}

static __attribute__((target("avx2"))) void
copy_half_lines(char *to, const char *from, size_t bytes)
{
    while (bytes >= 4 * sizeof(__m256i)) {
        __m256i a = _mm256_loadu_si256((const __m256i *)from);
        __m256i b = _mm256_loadu_si256((const __m256i *)(from + 32));
        __m256i c = _mm256_loadu_si256((const __m256i *)(from + 64));
        __m256i d = _mm256_loadu_si256((const __m256i *)(from + 96));

        _mm256_storeu_si256((__m256i *)to, a);
        _mm256_storeu_si256((__m256i *)(to + 32), b);
        _mm256_storeu_si256((__m256i *)(to + 64), c);
        _mm256_storeu_si256((__m256i *)(to + 96), d);
        to += 4 * sizeof(__m256i);
        from += 4 * sizeof(__m256i);
        bytes -= 4 * sizeof(__m256i);
    }
    if (bytes > 0) {
        copy_called(to, from, bytes);
    }
}
#endif

void am_copy_pieces(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;

    /* puts within a process may be of this kind */
    if (am_copy_overlaps(to, from, bytes)) {
        memmove(to, from, bytes);
        return;
    }
    while (bytes > 0) {
        size_t piece = bytes < AM_COPY_PIECE ? bytes : AM_COPY_PIECE;

        copy_called(t, f, piece);
        t += piece;
        f += piece;
        bytes -= piece;
    }
}

void am_copy_string(void *to, const void *from, size_t bytes, bool near)
{
#ifdef HAVE_LINES
    if (__builtin_cpu_supports("avx512f") && /* all of these have a good one */
        !am_copy_is_unlucky(to, from)) {
        while (bytes > 0) {
            size_t piece = near && bytes > STRING_SHORT ? STRING_SHORT : bytes;

            bytes -= piece;
            __asm__ volatile("rep movsb" /* moves both on */
                             : "+D"(to), "+S"(from), "+c"(piece)
                             :
                             : "memory");
        }
        return;
    }
#endif
    am_copy(to, from, bytes);
}

void am_copy_lines(void *to, const void *from, size_t bytes, bool near)
{
#ifdef HAVE_LINES
    if (__builtin_cpu_supports("avx512f")) {
        if (bytes <= AM_COPY_FAR_MOST) {
            copy_lines(to, from, bytes);
            return;
        }
    } else if (near && bytes > STRING_FROM && __builtin_cpu_supports("avx2")) {
        copy_half_lines(to, from, bytes);
        return;
    }
#endif
    am_copy(to, from, bytes);
}

/* The clock is read neither before the loads that come before nor before this one has
 * been answered. */
bool am_copy_is_near(struct am_env *env, const _Atomic uint64_t *word,
                     uint64_t near_ps)
{
    uint64_t start;

    am_barrier_look();
    start = am_env_now(env);
    (void)atomic_load_explicit(word, memory_order_relaxed);
    am_barrier_look();
    return am_env_now(env) - start <= near_ps;
}
