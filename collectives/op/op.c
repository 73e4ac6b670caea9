/*
 * The library's operators: plain loops over restrict pointers, which the
 * compiler vectorises at -O3, whatever level the rest is built with.
 */
#include "config.h"

#include <am_coll.h>
#include <stdbool.h>

#ifdef __GNUC__
#ifndef __clang__
#pragma GCC optimize("O3")
#endif
#endif

/* One loop for each operator and type; `a` is the left operand, `b` the right.
 * Memory of the user need not be aligned to the type. */
#define LOOP(_op, _name, _type, _result)                                \
    static void _op##_##_name(void *arg, const void *left, void *inout, \
                              size_t count)                             \
    {                                                                   \
        typedef _type element_t __attribute__((aligned(1), may_alias)); \
        const element_t *restrict x = left;                             \
        element_t *restrict y = inout;                                  \
                                                                        \
        (void)arg;                                                      \
        for (size_t i = 0; i < count; i++) {                            \
            _type a = x[i], b = y[i];                                   \
                                                                        \
            y[i] = (_type)(_result);                                    \
        }                                                               \
    }

/* A sum or product wraps around, in signed types too. */
#define INTEGER(_name, _type, _unsigned)                       \
    LOOP(sum, _name, _type, (_unsigned)a + (_unsigned)b)       \
    LOOP(prod, _name, _type, 1u * (_unsigned)a * (_unsigned)b) \
    LOOP(band, _name, _type, a &b)                             \
    LOOP(bor, _name, _type, a | b)                             \
    LOOP(bxor, _name, _type, a ^ b)                            \
    ORDERED(_name, _type)

#define REAL(_name, _type)         \
    LOOP(sum, _name, _type, a + b) \
    LOOP(prod, _name, _type, a *b) \
    ORDERED(_name, _type)

#define ORDERED(_name, _type)                  \
    LOOP(min, _name, _type, a < b ? a : b)     \
    LOOP(max, _name, _type, a > b ? a : b)     \
    LOOP(land, _name, _type, a != 0 && b != 0) \
    LOOP(lor, _name, _type, a != 0 || b != 0)  \
    LOOP(lxor, _name, _type, (a != 0) != (b != 0))

INTEGER(int8, int8_t, uint8_t)
INTEGER(int16, int16_t, uint16_t)
INTEGER(int32, int32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint8, uint8_t, uint8_t)
INTEGER(uint16, uint16_t, uint16_t)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(uint64, uint64_t, uint64_t)
REAL(float, float)
REAL(double, double)

enum {
    OPS = AM_COLL_BXOR + 1,
    TYPES = AM_COLL_DOUBLE + 1
};

#define COMMON(_name)                                           \
    [AM_COLL_SUM] = sum_##_name, [AM_COLL_PROD] = prod_##_name, \
    [AM_COLL_MIN] = min_##_name, [AM_COLL_MAX] = max_##_name,   \
    [AM_COLL_LAND] = land_##_name, [AM_COLL_LOR] = lor_##_name, \
    [AM_COLL_LXOR] = lxor_##_name
#define BITS(_name)                                             \
    [AM_COLL_BAND] = band_##_name, [AM_COLL_BOR] = bor_##_name, \
    [AM_COLL_BXOR] = bxor_##_name

static const struct {
    size_t bytes;
    am_coll_reduce_fn ops[OPS];
} types[TYPES] = {
        [AM_COLL_INT8] = {1, {COMMON(int8), BITS(int8)}},
        [AM_COLL_INT16] = {2, {COMMON(int16), BITS(int16)}},
        [AM_COLL_INT32] = {4, {COMMON(int32), BITS(int32)}},
        [AM_COLL_INT64] = {8, {COMMON(int64), BITS(int64)}},
        [AM_COLL_UINT8] = {1, {COMMON(uint8), BITS(uint8)}},
        [AM_COLL_UINT16] = {2, {COMMON(uint16), BITS(uint16)}},
        [AM_COLL_UINT32] = {4, {COMMON(uint32), BITS(uint32)}},
        [AM_COLL_UINT64] = {8, {COMMON(uint64), BITS(uint64)}},
        [AM_COLL_FLOAT] = {sizeof(float), {COMMON(float)}},
        [AM_COLL_DOUBLE] = {sizeof(double), {COMMON(double)}},
};

am_status_t am_coll_operator_get(am_coll_op_t op, am_coll_type_t type,
                                 struct am_coll_operator *operator_p)
{
    if ((unsigned)op >= OPS || (unsigned)type >= TYPES ||
        types[type].ops[op] == NULL) {
        return AM_ERR_INVALID;
    }
    *operator_p = (struct am_coll_operator){
            .reduce = types[type].ops[op],
            .element_bytes = types[type].bytes,
            .is_commutative = true,
    };
    return AM_OK;
}
