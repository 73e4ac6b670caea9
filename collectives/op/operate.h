/*
 * Applying an operator, the library's or a user's.
 */
#ifndef AM_COLLECTIVES_OP_OPERATE_H
#define AM_COLLECTIVES_OP_OPERATE_H

#include "collectives/coll.h"

/* The operator runs in a call or in a poll, while a collective is half way: another one
 * that it starts is refused. */
static inline void am_coll_operate(struct am_coll *coll,
                                   const struct am_coll_operator *op,
                                   const void *left, void *inout, size_t count)
{
    coll->refuses = AM_ERR_HANDLER;
    op->reduce(op->arg, left, inout, count);
    coll->refuses = coll->forked ? AM_ERR_FORKED : AM_OK; /* by the operator */
}

#endif
