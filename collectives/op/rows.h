/*
 * Inside the operators: a row for each type, of the loops of one set of instructions.
 */
#ifndef AM_COLLECTIVES_OP_ROWS_H
#define AM_COLLECTIVES_OP_ROWS_H

#include <am_coll.h>
#include <stdbool.h>

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__
#define AM_OP_WIDE 1
#endif

enum {
    AM_OP_COUNT = AM_COLL_BXOR + 1,
    AM_OP_TYPES = AM_COLL_DOUBLE + 1
};

struct am_op_row {
    size_t bytes;
    am_coll_reduce_fn ops[AM_OP_COUNT]; /* NULL: there is none of that type */
};

extern const struct am_op_row am_op_rows[AM_OP_TYPES];
#ifdef AM_OP_WIDE
extern const struct am_op_row
        am_op_wide_rows[AM_OP_TYPES]; /* 32 bytes at a time */
#endif

#endif
