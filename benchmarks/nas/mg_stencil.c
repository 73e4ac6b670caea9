/*
 * mg_stencil.c: the four operators of MG; see mg_stencil.h.  All are sums over
 * 27 points with one weight each for centre, faces, edges and corners.  The
 * sums over the plane across a line of x are shared by three points of it:
 *
 *     cross[x]  the four neighbours of the line in y and z
 *     corner[x] the four diagonal ones
 *
 * so that a point costs a dozen additions instead of 26.
 */
#include "mg_stencil.h"

/* The loop that follows may run in any order although r may be v. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* The sums across the line of x at y, z, for all of its points. */
static inline void plane_sums(const struct mg_box *box, const double *field,
                              int y, int z, double *restrict cross,
                              double *restrict corner)
{
    const double *restrict down = field + mg_box_line(box, y - 1, z);
    const double *restrict up = field + mg_box_line(box, y + 1, z);
    const double *restrict back = field + mg_box_line(box, y, z - 1);
    const double *restrict front = field + mg_box_line(box, y, z + 1);
    const double *restrict down_back = field + mg_box_line(box, y - 1, z - 1);
    const double *restrict up_back = field + mg_box_line(box, y + 1, z - 1);
    const double *restrict down_front = field + mg_box_line(box, y - 1, z + 1);
    const double *restrict up_front = field + mg_box_line(box, y + 1, z + 1);

    for (int x = 0; x < box->m[0]; x++) {
        cross[x] = down[x] + up[x] + back[x] + front[x];
        corner[x] = down_back[x] + up_back[x] + down_front[x] + up_front[x];
    }
}

void mg_stencil_residual(const struct mg_box *box, const double *u,
                         const double *v, double *r)
{
    const double a_centre = -8.0 / 3.0;
    const double a_edge = 1.0 / 6.0;
    const double a_corner = 1.0 / 12.0;
    double cross[MG_LINE_MAX];
    double corner[MG_LINE_MAX];

    for (int z = 1; z < box->m[2] - 1; z++) {
        for (int y = 1; y < box->m[1] - 1; y++) {
            size_t line = mg_box_line(box, y, z);
            const double *u_line = u + line;
            const double *v_line = v + line;
            double *r_line = r + line;

            plane_sums(box, u, y, z, cross, corner);
            INDEPENDENT
            for (int x = 1; x < box->m[0] - 1; x++) {
                r_line[x] = v_line[x] - a_centre * u_line[x] -
                            a_edge * (corner[x] + cross[x - 1] + cross[x + 1]) -
                            a_corner * (corner[x - 1] + corner[x + 1]);
            }
        }
    }
}

void mg_stencil_smooth(const struct mg_box *box, const double *r, double *u,
                       const double c[3])
{
    const double c_centre = c[0];
    const double c_face = c[1];
    const double c_edge = c[2];
    double cross[MG_LINE_MAX];
    double corner[MG_LINE_MAX];

    for (int z = 1; z < box->m[2] - 1; z++) {
        for (int y = 1; y < box->m[1] - 1; y++) {
            size_t line = mg_box_line(box, y, z);
            const double *restrict r_line = r + line;
            double *restrict u_line = u + line;

            plane_sums(box, r, y, z, cross, corner);
            for (int x = 1; x < box->m[0] - 1; x++) {
                u_line[x] +=
                        c_centre * r_line[x] +
                        c_face * (r_line[x - 1] + r_line[x + 1] + cross[x]) +
                        c_edge * (corner[x] + cross[x - 1] + cross[x + 1]);
            }
        }
    }
}

void mg_stencil_restrict(const struct mg_box *fine_box, const double *fine,
                         const struct mg_box *coarse_box, double *coarse)
{
    double cross[MG_LINE_MAX];
    double corner[MG_LINE_MAX];

    for (int z = 1; z < coarse_box->m[2] - 1; z++) {
        for (int y = 1; y < coarse_box->m[1] - 1; y++) {
            const double *restrict f =
                    fine + mg_box_line(fine_box, 2 * y, 2 * z);
            double *restrict out = coarse + mg_box_line(coarse_box, y, z);

            plane_sums(fine_box, fine, 2 * y, 2 * z, cross, corner);
            for (int x = 1; x < coarse_box->m[0] - 1; x++) {
                int i = 2 * x;

                out[x] = 0.5 * f[i] + 0.25 * (f[i - 1] + f[i + 1] + cross[i]) +
                         0.125 * (cross[i - 1] + cross[i + 1] + corner[i]) +
                         0.0625 * (corner[i - 1] + corner[i + 1]);
            }
        }
    }
}

/* Adds weight times the points of a line, and their means between them. */
static inline void add_line(int count, double weight,
                            const double *restrict line, double *restrict out)
{
    for (int x = 0; x < count; x++) {
        out[2 * x] += weight * line[x];
        out[2 * x + 1] += 0.5 * weight * (line[x] + line[x + 1]);
    }
}

void mg_stencil_prolong(const struct mg_box *coarse_box, const double *coarse,
                        const struct mg_box *fine_box, double *fine)
{
    const int count = coarse_box->m[0] - 1;
    double z_pair[MG_LINE_MAX];
    double y_pair[MG_LINE_MAX];
    double four[MG_LINE_MAX];

    for (int z = 0; z < coarse_box->m[2] - 1; z++) {
        for (int y = 0; y < coarse_box->m[1] - 1; y++) {
            const double *a = coarse + mg_box_line(coarse_box, y, z);
            const double *b = coarse + mg_box_line(coarse_box, y + 1, z);
            const double *c = coarse + mg_box_line(coarse_box, y, z + 1);
            const double *d = coarse + mg_box_line(coarse_box, y + 1, z + 1);

            for (int x = 0; x <= count; x++) {
                y_pair[x] = a[x] + b[x];
                z_pair[x] = a[x] + c[x];
                four[x] = y_pair[x] + (c[x] + d[x]);
            }
            add_line(count, 1.0, a, fine + mg_box_line(fine_box, 2 * y, 2 * z));
            add_line(count, 0.5, y_pair,
                     fine + mg_box_line(fine_box, 2 * y + 1, 2 * z));
            add_line(count, 0.5, z_pair,
                     fine + mg_box_line(fine_box, 2 * y, 2 * z + 1));
            add_line(count, 0.25, four,
                     fine + mg_box_line(fine_box, 2 * y + 1, 2 * z + 1));
        }
    }
}
