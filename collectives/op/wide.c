/*
 * The loops of the operators for processors that add 32 bytes at a time.
 */
#include "config.h"

#include "collectives/op/rows.h"

#ifdef AM_OP_WIDE
#pragma GCC target("avx2")

#define OP_ROWS am_op_wide_rows
#include "collectives/op/loops.inc"
#endif
