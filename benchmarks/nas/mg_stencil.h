/*
 * mg_stencil.h: the four operators of MG on one rank's box.  No MPI: halos
 * are the caller's business.
 */
#ifndef AM_BENCHMARKS_MG_STENCIL_H
#define AM_BENCHMARKS_MG_STENCIL_H

#include "mg_grid.h"

/* r = v - A u inside the box; r may be v. */
void mg_stencil_residual(const struct mg_box *box, const double *u,
                         const double *v, double *r);

/* u += S r inside the box; c has the weights of centre, faces and edges. */
void mg_stencil_smooth(const struct mg_box *box, const double *r, double *u,
                       const double c[3]);

/* coarse = fine averaged, inside coarse; fine's halo must be filled. */
void mg_stencil_restrict(const struct mg_box *fine_box, const double *fine,
                         const struct mg_box *coarse_box, double *coarse);

/* fine += coarse interpolated, halo of fine included. */
void mg_stencil_prolong(const struct mg_box *coarse_box, const double *coarse,
                        const struct mg_box *fine_box, double *fine);

#endif
