/*
 * Copies of small payloads, of those that another core has just written, and of those
 * that processors copy slowly for where they lie.
 */
#ifndef AM_BASE_COPY_H
#define AM_BASE_COPY_H

#include "base/env.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AM_COPY_SMALL ((size_t)64)

/* Two overlapping halves of the largest power of two that fits: no loop and
 * no call; up to AM_COPY_SMALL bytes. */
static inline void am_copy_small(void *to, const void *from, size_t bytes)
{
    char *t = to;
    const char *f = from;

    if (__builtin_expect(bytes == 8, 1)) {
        memcpy(t, f, 8);
    } else if (bytes >= 32) {
        memcpy(t, f, 32);
        memcpy(t + bytes - 32, f + bytes - 32, 32);
    } else if (bytes >= 16) {
        memcpy(t, f, 16);
        memcpy(t + bytes - 16, f + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(t, f, 8);
        memcpy(t + bytes - 8, f + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(t, f, 4);
        memcpy(t + bytes - 4, f + bytes - 4, 4);
    } else if (bytes > 0) {
        t[0] = f[0];
        t[bytes / 2] = f[bytes / 2];
        t[bytes - 1] = f[bytes - 1];
    }
}

/* Does the target lie 1 to 63 bytes behind the source, each taken within its page?  Then
 * the string copy (rep movsb), which memcpy is for more than 2,112 bytes, takes 10 to 25
 * times as long on AMD's Zen 3, and the kernel's single copy 5 times; measured for 1 to 31
 * bytes, and reported for up to 63 of later ones (glibc's bug 30994). */
static inline bool am_copy_is_unlucky(const void *to, const void *from)
{
    return ((uintptr_t)to - (uintptr_t)from - 1) % 4096 < 63;
}

/* memcpy of no more is no string copy; of such pieces: */
#define AM_COPY_PIECE ((size_t)2048)
void am_copy_pieces(void *to, const void *from, size_t bytes);

static inline bool am_copy_overlaps(const void *to, const void *from,
                                    size_t bytes)
{
    return (uintptr_t)to - (uintptr_t)from < bytes ||
           (uintptr_t)from - (uintptr_t)to < bytes;
}

/* memcpy of a payload that may be long. */
static inline void am_copy(void *to, const void *from, size_t bytes)
{
    if (__builtin_expect(am_copy_is_unlucky(to, from), 0)) {
        am_copy_pieces(to, from, bytes);
    } else {
        memcpy(to, from, bytes);
    }
}

/* The same where the two may overlap. */
static inline void am_move(void *to, const void *from, size_t bytes)
{
    if (am_copy_overlaps(to, from, bytes)) {
        memmove(to, from, bytes);
    } else {
        am_copy(to, from, bytes);
    }
}

/* Lengths of which copies between the caches of two cores go their own ways (copy.c); what
 * is read, from NEAR_FROM on and of any length if the cache is near. */
#define AM_COPY_NEAR_FROM ((size_t)513)
#define AM_COPY_FAR_FROM  ((size_t)2048)
#define AM_COPY_FAR_MOST  ((size_t)8192)

static inline bool am_copy_is_far(size_t bytes)
{
    return bytes >= AM_COPY_FAR_FROM && bytes <= AM_COPY_FAR_MOST;
}

/* Of what is read: is it long enough for that?  `near`: who wrote it shares a cache with
 * this core. */
static inline bool am_copy_may_be_far(size_t bytes, bool near)
{
    return bytes >= (near ? AM_COPY_NEAR_FROM : AM_COPY_FAR_FROM);
}

/* Of lengths for which am_copy_is_far, and am_copy_may_be_far, are true; the memories do not
 * overlap. */
void am_copy_string(void *to, const void *from, size_t bytes, bool near);
void am_copy_lines(void *to, const void *from, size_t bytes, bool near);

/* memcpy to memory that most likely is in another core's cache; `near`: that core
 * shares a cache with this one. */
static inline void am_copy_to_far(void *to, const void *from, size_t bytes,
                                  bool near)
{
    if (am_copy_is_far(bytes)) {
        am_copy_string(to, from, bytes, near);
    } else {
        am_copy(to, from, bytes);
    }
}

/* memcpy from memory that most likely is in another core's cache. */
static inline void am_copy_far(void *to, const void *from, size_t bytes,
                               bool near)
{
    if (am_copy_may_be_far(bytes, near)) {
        am_copy_lines(to, from, bytes, near);
    } else {
        am_copy(to, from, bytes);
    }
}

/* A line that another core has just written takes so long to load at most if the two
 * share a cache: 20 to 50 ns where a flag takes 60, 70 to 130 between two cores of one
 * chip that is a mesh, where a flag takes 150, and 100 to 150 where it takes 260. */
#define AM_COPY_NEAR_PS UINT64_C(70000)

/* Load such a line, of which `word` is one: did it take no longer than near_ps? */
bool am_copy_is_near(struct am_env *env, const _Atomic uint64_t *word,
                     uint64_t near_ps);

#endif
