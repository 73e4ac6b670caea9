/*
 * ft_line.c: Stockham transforms, radix 4 with one pass of radix 2 where the
 * power is odd.  Stockham needs no bit reversal: each pass reads one array and
 * writes another, and its inner loop is long and of unit stride because the
 * FT_LINE_BLOCK lines lie side by side:
 *
 *     point 0 of lines 0..7, point 1 of lines 0..7, ...
 *
 * Real and imaginary parts are in separate arrays.  Swapping the two on the
 * way in and out turns the forward transform into the one back.
 */
#include "ft_line.h"

#include "nas_common.h"

#include <math.h>
#include <stdlib.h>

#define B FT_LINE_BLOCK

struct ft_line {
    int n;
    double *root_re; /* exp(-2 pi i k / n) */
    double *root_im;
    double *re[2]; /* where passes read and write, by turns */
    double *im[2];
};

struct ft_line *ft_line_open(int n)
{
    struct ft_line *line = nas_alloc(1, sizeof(*line));
    size_t count = (size_t)n;

    line->n = n;
    line->root_re = nas_alloc(count, sizeof(double));
    line->root_im = nas_alloc(count, sizeof(double));
    for (int i = 0; i < 2; i++) {
        line->re[i] = nas_alloc(count * B, sizeof(double));
        line->im[i] = nas_alloc(count * B, sizeof(double));
    }
    return line;
}

void ft_line_fill(struct ft_line *line)
{
    const double pi = acos(-1.0);

    for (int k = 0; k < line->n; k++) {
        line->root_re[k] = cos(2.0 * pi * k / line->n);
        line->root_im[k] = -sin(2.0 * pi * k / line->n);
    }
}

/* The part of a radix-4 pass with one set of roots: width numbers each. */
static inline void butterfly4(size_t width, size_t far, const double *root,
                              const double *restrict xr,
                              const double *restrict xi, double *restrict yr,
                              double *restrict yi)
{
    const double w1r = root[0], w1i = root[1];
    const double w2r = root[2], w2i = root[3];
    const double w3r = root[4], w3i = root[5];

    for (size_t q = 0; q < width; q++) {
        double sum_r = xr[q] + xr[q + 2 * far];
        double sum_i = xi[q] + xi[q + 2 * far];
        double dif_r = xr[q] - xr[q + 2 * far];
        double dif_i = xi[q] - xi[q + 2 * far];
        double odd_sum_r = xr[q + far] + xr[q + 3 * far];
        double odd_sum_i = xi[q + far] + xi[q + 3 * far];
        double odd_dif_r = xr[q + far] - xr[q + 3 * far];
        double odd_dif_i = xi[q + far] - xi[q + 3 * far];
        double t1r = dif_r + odd_dif_i;
        double t1i = dif_i - odd_dif_r;
        double t2r = sum_r - odd_sum_r;
        double t2i = sum_i - odd_sum_i;
        double t3r = dif_r - odd_dif_i;
        double t3i = dif_i + odd_dif_r;

        yr[q] = sum_r + odd_sum_r;
        yi[q] = sum_i + odd_sum_i;
        yr[q + width] = t1r * w1r - t1i * w1i;
        yi[q + width] = t1r * w1i + t1i * w1r;
        yr[q + 2 * width] = t2r * w2r - t2i * w2i;
        yi[q + 2 * width] = t2r * w2i + t2i * w2r;
        yr[q + 3 * width] = t3r * w3r - t3i * w3i;
        yi[q + 3 * width] = t3r * w3i + t3i * w3r;
    }
}

/* n points are left to combine, and runs of stride results lie together. */
static void pass4(const struct ft_line *line, int n, int stride, int from)
{
    size_t width = (size_t)stride * B;
    size_t far = width * (size_t)(n / 4);

    for (int p = 0; p < n / 4; p++) {
        int k = p * stride; /* stride is line->n / n */
        const double root[6] = {
                line->root_re[k],     line->root_im[k],
                line->root_re[2 * k], line->root_im[2 * k],
                line->root_re[3 * k], line->root_im[3 * k],
        };
        size_t in = width * (size_t)p;
        size_t out = width * (size_t)(4 * p);

        butterfly4(width, far, root, line->re[from] + in, line->im[from] + in,
                   line->re[!from] + out, line->im[!from] + out);
    }
}

/* The last pass when the power is odd: two points left, all roots one. */
static void pass2(const struct ft_line *line, int from)
{
    size_t width = (size_t)(line->n / 2) * B;
    const double *restrict xr = line->re[from];
    const double *restrict xi = line->im[from];
    double *restrict yr = line->re[!from];
    double *restrict yi = line->im[!from];

    for (size_t q = 0; q < width; q++) {
        yr[q] = xr[q] + xr[q + width];
        yi[q] = xi[q] + xi[q + width];
        yr[q + width] = xr[q] - xr[q + width];
        yi[q + width] = xi[q] - xi[q + width];
    }
}

/* Lines beyond count are made of zeros and go nowhere. */
static inline void load(int n, size_t count, const double *restrict from,
                        const size_t *along, size_t across, double *restrict re,
                        double *restrict im)
{
    for (int i = 0; i < n; i++) {
        const double *at = from + 2 * along[i];

        for (size_t b = 0; b < B; b++) {
            re[(size_t)i * B + b] = b < count ? at[2 * b * across] : 0.0;
            im[(size_t)i * B + b] = b < count ? at[2 * b * across + 1] : 0.0;
        }
    }
}

static inline void store(int n, size_t count, double *restrict to,
                         const size_t *along, size_t across,
                         const double *restrict re, const double *restrict im)
{
    for (int i = 0; i < n; i++) {
        double *at = to + 2 * along[i];

        for (size_t b = 0; b < count; b++) {
            at[2 * b * across] = re[(size_t)i * B + b];
            at[2 * b * across + 1] = im[(size_t)i * B + b];
        }
    }
}

void ft_line_run(struct ft_line *line, bool forward, size_t count,
                 const double *from, const size_t *from_along,
                 size_t from_across, double *to, const size_t *to_along,
                 size_t to_across)
{
    int turn = 0;
    int left = line->n;
    int stride = 1;
    double **in_re = forward ? line->re : line->im;
    double **in_im = forward ? line->im : line->re;

    /* with constants the compiler makes vector code of the usual cases */
    if (count < B) {
        load(line->n, count, from, from_along, from_across, in_re[0], in_im[0]);
    } else if (from_across == 1) {
        load(line->n, B, from, from_along, 1, in_re[0], in_im[0]);
    } else {
        load(line->n, B, from, from_along, from_across, in_re[0], in_im[0]);
    }
    for (; left >= 4; left /= 4, stride *= 4, turn = !turn) {
        pass4(line, left, stride, turn);
    }
    if (left == 2) {
        pass2(line, turn);
        turn = !turn;
    }
    if (count < B) {
        store(line->n, count, to, to_along, to_across, in_re[turn],
              in_im[turn]);
    } else if (to_across == 1) {
        store(line->n, B, to, to_along, 1, in_re[turn], in_im[turn]);
    } else {
        store(line->n, B, to, to_along, to_across, in_re[turn], in_im[turn]);
    }
}
