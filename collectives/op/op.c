/*
 * The library's operators, by the widest instructions that this processor has.
 */
#include "config.h"

#define OP_ROWS am_op_rows
#include "collectives/op/loops.inc"

static const struct am_op_row *rows(void)
{
#ifdef AM_OP_WIDE
    if (__builtin_cpu_supports("avx2")) {
        return am_op_wide_rows;
    }
#endif
    return am_op_rows;
}

am_status_t am_coll_operator_get(am_coll_op_t op, am_coll_type_t type,
                                 struct am_coll_operator *operator_p)
{
    if ((unsigned)op >= AM_OP_COUNT || (unsigned)type >= AM_OP_TYPES ||
        am_op_rows[type].ops[op] == NULL) {
        return AM_ERR_INVALID;
    }
    *operator_p = (struct am_coll_operator){
            .reduce = rows()[type].ops[op],
            .element_bytes = am_op_rows[type].bytes,
            .is_commutative = true,
    };
    return AM_OK;
}
