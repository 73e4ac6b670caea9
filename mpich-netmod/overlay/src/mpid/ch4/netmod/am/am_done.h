/*
 * Between am_done.c, which completes receives, and am_dtype.c.
 */
#ifndef AM_DONE_H_INCLUDED
#define AM_DONE_H_INCLUDED

#include <mpidimpl.h>

/* A receive was over before ch4 had its request, which is complete.  With MPICH's own shared
 * memory the caller of a receive from any source has another request, the partner.  Since 4.3
 * that is ours to complete, and `rreq` is freed; before, ch4 looks whether `rreq` is complete. */
void MPIDI_AM_recv_over(MPIR_Request * rreq);

#endif /* AM_DONE_H_INCLUDED */
