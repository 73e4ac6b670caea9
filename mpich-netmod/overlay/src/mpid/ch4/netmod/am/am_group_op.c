/*
 * MPI's own operators on its own types as libam has them: loops that the compiler vectorises,
 * which MPICH's, built with -O2, are not.  What libam has not is MPICH's to reduce.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

static bool op_of(MPI_Op op, am_coll_op_t * to)
{
    static const struct {
        MPI_Op op;
        am_coll_op_t to;
    } ops[] = {
        {MPI_SUM, AM_COLL_SUM}, {MPI_PROD, AM_COLL_PROD}, {MPI_MIN, AM_COLL_MIN},
        {MPI_MAX, AM_COLL_MAX}, {MPI_LAND, AM_COLL_LAND}, {MPI_LOR, AM_COLL_LOR},
        {MPI_LXOR, AM_COLL_LXOR}, {MPI_BAND, AM_COLL_BAND}, {MPI_BOR, AM_COLL_BOR},
        {MPI_BXOR, AM_COLL_BXOR}
    };

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (ops[i].op == op) {
            *to = ops[i].to;
            return true;
        }
    }
    return false;
}

/* An integer of so many bytes. */
static bool integer_of(MPI_Aint bytes, bool is_signed, am_coll_type_t * to)
{
    switch (bytes) {
        case 1:
            *to = is_signed ? AM_COLL_INT8 : AM_COLL_UINT8;
            return true;
        case 2:
            *to = is_signed ? AM_COLL_INT16 : AM_COLL_UINT16;
            return true;
        case 4:
            *to = is_signed ? AM_COLL_INT32 : AM_COLL_UINT32;
            return true;
        case 8:
            *to = is_signed ? AM_COLL_INT64 : AM_COLL_UINT64;
            return true;
        default:
            return false;
    }
}

static bool type_of(MPI_Datatype datatype, MPI_Aint bytes, am_coll_type_t * to)
{
    bool is_integer, is_signed, is_real;

    MPIDI_AM_type_kind(datatype, &is_integer, &is_signed, &is_real);
    if (is_real && (bytes == sizeof(float) || bytes == sizeof(double))) {
        *to = bytes == sizeof(float) ? AM_COLL_FLOAT : AM_COLL_DOUBLE;
        return true;
    }
    return is_integer && integer_of(bytes, is_signed, to);
}

bool MPIDI_AM_group_operator(MPI_Op op, MPI_Datatype datatype, MPI_Aint bytes,
                             struct am_coll_operator *operator)
{
    am_coll_op_t to;
    am_coll_type_t type;

    return op_of(op, &to) && type_of(datatype, bytes, &type) &&
        am_coll_operator_get(to, type, operator) == AM_OK;
}
