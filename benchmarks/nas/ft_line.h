/*
 * ft_line.h: Fourier transforms along lines of a power of two of complex
 * points, FT_LINE_BLOCK lines at a time.  Calls the C library only.
 */
#ifndef AM_BENCHMARKS_FT_LINE_H
#define AM_BENCHMARKS_FT_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* Lines that are transformed together; the inner loops run over them. */
#define FT_LINE_BLOCK 8

struct ft_line;

/* A transform of n points, n a power of two of at least 4; never fails. */
struct ft_line *ft_line_open(int n);

/* Computes the roots of unity; needed once before the first run. */
void ft_line_fill(struct ft_line *line);

/*
 * Transforms count lines, at most FT_LINE_BLOCK.  Point i of line b is the complex number at
 * from + 2 * (from_along[i] + b * from_across), in points; the same for to,
 * which may be the same lines.  Forward is exp(-2 pi i jk / n); back is its
 * conjugate; neither divides by n.
 */
void ft_line_run(struct ft_line *line, bool forward, size_t count,
                 const double *from, const size_t *from_along,
                 size_t from_across, double *to, const size_t *to_along,
                 size_t to_across);

#endif
