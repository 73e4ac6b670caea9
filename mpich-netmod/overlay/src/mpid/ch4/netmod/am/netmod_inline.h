/*
 * What ch4 inlines of the am netmod: glue only, the work is in libam.
 */
#ifndef NETMOD_INLINE_H_INCLUDED
#define NETMOD_INLINE_H_INCLUDED

#include "am_impl.h"
#include "am_pt2pt.h"
#include "am_glue.h"
#include "am_glue_rma.h"
#include "am_glue_coll.h"
#include "am_glue_persist.h"

/* Not-inlined functions */
#include "am_noinline.h"

#endif /* NETMOD_INLINE_H_INCLUDED */
