/*
 * For test/mpi/programs: every predefined operation on every type that it is
 * defined for, by MPI_Reduce_local, MPI_Allreduce and MPI_Accumulate, against
 * the same in plain C.  Values are drawn from the whole range of a type, with
 * its ends more often than chance has them; AM_TEST_SEED repeats a run.
 */
#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_MAX 1000

static const int counts[] = {1, 7, COUNT_MAX};

static int failures, rank, size;
static uint64_t state;

static uint64_t draw(void)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ------------------------------------------------------ a type in plain C */

struct type {
    MPI_Datatype handle;
    size_t bytes;
    const MPI_Op *ops;
    void (*fill)(void *to, int count, MPI_Op op);
    void (*apply)(const void *in, void *inout, int count, MPI_Op op);
    bool (*equal)(const void *a, const void *b, int count);
};

/* A number of the whole range or of its ends; for a sum or product of signed
 * ones small enough that nothing overflows. */
static uint64_t draw_bits(bool is_signed, MPI_Op op, int bits)
{
    uint64_t top = UINT64_C(1) << (bits - 1);
    uint64_t ends[] = {0, 1, top - 1, top, top + 1, top | (top - 1)};

    if (is_signed && (op == MPI_SUM || op == MPI_PROD)) {
        return (draw() % 5) - 2;
    }
    return draw() % 3 == 0 ? ends[draw() % 6] : draw();
}

#define EQUAL(_name, _type)                                            \
    static bool _name##_equal(const void *a, const void *b, int count) \
    {                                                                  \
        const _type *x = a, *y = b;                                    \
        for (int i = 0; i < count; i++) {                              \
            if (x[i] != y[i]) {                                        \
                return false;                                          \
            }                                                          \
        }                                                              \
        return true;                                                   \
    }

#define APPLY(_op, _expression)           \
    if (op == _op) {                      \
        for (int i = 0; i < count; i++) { \
            y[i] = _expression;           \
        }                                 \
    }

#define INTEGER(_name, _type)                                         \
    static void _name##_fill(void *to, int count, MPI_Op op)          \
    {                                                                 \
        _type *x = to;                                                \
        for (int i = 0; i < count; i++) {                             \
            x[i] = (_type)draw_bits((_type)-1 < 1, op,                \
                                    8 * (int)sizeof(_type));          \
        }                                                             \
    }                                                                 \
    static void _name##_apply(const void *in, void *inout, int count, \
                              MPI_Op op)                              \
    {                                                                 \
        const _type *x = in;                                          \
        _type *y = inout;                                             \
        APPLY(MPI_MAX, x[i] > y[i] ? x[i] : y[i])                     \
        APPLY(MPI_MIN, x[i] < y[i] ? x[i] : y[i])                     \
        APPLY(MPI_SUM, (_type)(x[i] + y[i]))                          \
        APPLY(MPI_PROD, (_type)(x[i] * 1u * y[i]))                    \
        APPLY(MPI_LAND, x[i] && y[i])                                 \
        APPLY(MPI_LOR, x[i] || y[i])                                  \
        APPLY(MPI_LXOR, !x[i] != !y[i])                               \
        APPLY(MPI_BAND, (_type)(x[i] & y[i]))                         \
        APPLY(MPI_BOR, (_type)(x[i] | y[i]))                          \
        APPLY(MPI_BXOR, (_type)(x[i] ^ y[i]))                         \
        APPLY(MPI_REPLACE, x[i])                                      \
    }                                                                 \
    EQUAL(_name, _type)

/* Small whole numbers: every order of adding them gives the same. */
#define NUMBER(_name, _type)                                 \
    static void _name##_fill(void *to, int count, MPI_Op op) \
    {                                                        \
        _type *x = to;                                       \
        (void)op;                                            \
        for (int i = 0; i < count; i++) {                    \
            x[i] = (_type)(int)(draw() % 7) - 3;             \
        }                                                    \
    }                                                        \
    EQUAL(_name, _type)

#define REAL(_name, _type)                                            \
    NUMBER(_name, _type)                                              \
    static void _name##_apply(const void *in, void *inout, int count, \
                              MPI_Op op)                              \
    {                                                                 \
        const _type *x = in;                                          \
        _type *y = inout;                                             \
        APPLY(MPI_MAX, x[i] > y[i] ? x[i] : y[i])                     \
        APPLY(MPI_MIN, x[i] < y[i] ? x[i] : y[i])                     \
        APPLY(MPI_SUM, x[i] + y[i])                                   \
        APPLY(MPI_PROD, x[i] * y[i])                                  \
        APPLY(MPI_REPLACE, x[i])                                      \
    }

#define COMPLEX(_name, _type)                                         \
    NUMBER(_name, _type)                                              \
    static void _name##_apply(const void *in, void *inout, int count, \
                              MPI_Op op)                              \
    {                                                                 \
        const _type *x = in;                                          \
        _type *y = inout;                                             \
        APPLY(MPI_SUM, x[i] + y[i])                                   \
        APPLY(MPI_PROD, x[i] * y[i])                                  \
        APPLY(MPI_REPLACE, x[i])                                      \
    }

/* Few values, so that they tie and the smaller index must win. */
#define PAIR(_name, _type)                                              \
    struct _name {                                                      \
        _type value;                                                    \
        int index;                                                      \
    };                                                                  \
    static void _name##_fill(void *to, int count, MPI_Op op)            \
    {                                                                   \
        struct _name *x = to;                                           \
        (void)op;                                                       \
        for (int i = 0; i < count; i++) {                               \
            x[i].value = (_type)((int)(draw() % 5) - 2);                \
            x[i].index = (int)(draw() % 9);                             \
        }                                                               \
    }                                                                   \
    static void _name##_apply(const void *in, void *inout, int count,   \
                              MPI_Op op)                                \
    {                                                                   \
        const struct _name *x = in;                                     \
        struct _name *y = inout;                                        \
        for (int i = 0; i < count; i++) {                               \
            bool tie = x[i].value == y[i].value;                        \
            bool more = op == MPI_MAXLOC ? x[i].value > y[i].value      \
                                         : x[i].value < y[i].value;     \
            if (more || (tie && x[i].index < y[i].index) ||             \
                op == MPI_REPLACE) {                                    \
                y[i] = x[i];                                            \
            }                                                           \
        }                                                               \
    }                                                                   \
    static bool _name##_equal(const void *a, const void *b, int count)  \
    {                                                                   \
        const struct _name *x = a, *y = b;                              \
        for (int i = 0; i < count; i++) {                               \
            if (x[i].value != y[i].value || x[i].index != y[i].index) { \
                return false;                                           \
            }                                                           \
        }                                                               \
        return true;                                                    \
    }

INTEGER(schar, signed char)
INTEGER(uchar, unsigned char)
INTEGER(sshort, short)
INTEGER(ushort, unsigned short)
INTEGER(sint, int)
INTEGER(uint, unsigned)
INTEGER(slong, long)
INTEGER(ulong, unsigned long)
INTEGER(slonglong, long long)
INTEGER(ulonglong, unsigned long long)
INTEGER(int8, int8_t)
INTEGER(uint8, uint8_t)
INTEGER(int16, int16_t)
INTEGER(uint16, uint16_t)
INTEGER(int32, int32_t)
INTEGER(uint32, uint32_t)
INTEGER(int64, int64_t)
INTEGER(uint64, uint64_t)
INTEGER(aint, MPI_Aint)
INTEGER(offset, MPI_Offset)
INTEGER(mcount, MPI_Count)
REAL(sfloat, float)
REAL(sdouble, double)
REAL(ldouble, long double)
COMPLEX(cfloat, float complex)
COMPLEX(cdouble, double complex)
COMPLEX(cldouble, long double complex)
PAIR(float_int, float)
PAIR(double_int, double)
PAIR(long_int, long)
PAIR(two_int, int)
PAIR(short_int, short)
PAIR(ldouble_int, long double)

static void bool_fill(void *to, int count, MPI_Op op)
{
    bool *x = to;

    (void)op;
    for (int i = 0; i < count; i++) {
        x[i] = draw() % 2 == 0;
    }
}

static void bool_apply(const void *in, void *inout, int count, MPI_Op op)
{
    const bool *x = in;
    bool *y = inout;

    APPLY(MPI_LAND, x[i] && y[i])
    APPLY(MPI_LOR, x[i] || y[i])
    APPLY(MPI_LXOR, x[i] != y[i])
    APPLY(MPI_REPLACE, x[i])
}

EQUAL(bool, bool)

/* The last one is for MPI_Accumulate only. */
static const MPI_Op on_integers[] = {
        MPI_MAX,  MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,    MPI_LOR,
        MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_REPLACE, MPI_OP_NULL};
static const MPI_Op on_reals[] = {MPI_MAX,  MPI_MIN,     MPI_SUM,
                                  MPI_PROD, MPI_REPLACE, MPI_OP_NULL};
static const MPI_Op on_complex[] = {MPI_SUM, MPI_PROD, MPI_REPLACE,
                                    MPI_OP_NULL};
static const MPI_Op on_logical[] = {MPI_LAND, MPI_LOR, MPI_LXOR, MPI_REPLACE,
                                    MPI_OP_NULL};
static const MPI_Op on_bytes[] = {MPI_BAND, MPI_BOR, MPI_BXOR, MPI_REPLACE,
                                  MPI_OP_NULL};
static const MPI_Op on_pairs[] = {MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE,
                                  MPI_OP_NULL};

#define TYPE(_handle, _c, _name, _ops)                                        \
    {                                                                         \
        _handle, sizeof(_c), _ops, _name##_fill, _name##_apply, _name##_equal \
    }
#define INT_TYPE(_handle, _c, _name) TYPE(_handle, _c, _name, on_integers)
#define PAIR_TYPE(_handle, _name)    TYPE(_handle, struct _name, _name, on_pairs)

static const struct type types[] = {
        INT_TYPE(MPI_SIGNED_CHAR, signed char, schar),
        INT_TYPE(MPI_UNSIGNED_CHAR, unsigned char, uchar),
        INT_TYPE(MPI_SHORT, short, sshort),
        INT_TYPE(MPI_UNSIGNED_SHORT, unsigned short, ushort),
        INT_TYPE(MPI_INT, int, sint),
        INT_TYPE(MPI_UNSIGNED, unsigned, uint),
        INT_TYPE(MPI_LONG, long, slong),
        INT_TYPE(MPI_UNSIGNED_LONG, unsigned long, ulong),
        INT_TYPE(MPI_LONG_LONG, long long, slonglong),
        INT_TYPE(MPI_UNSIGNED_LONG_LONG, unsigned long long, ulonglong),
        INT_TYPE(MPI_INT8_T, int8_t, int8),
        INT_TYPE(MPI_UINT8_T, uint8_t, uint8),
        INT_TYPE(MPI_INT16_T, int16_t, int16),
        INT_TYPE(MPI_UINT16_T, uint16_t, uint16),
        INT_TYPE(MPI_INT32_T, int32_t, int32),
        INT_TYPE(MPI_UINT32_T, uint32_t, uint32),
        INT_TYPE(MPI_INT64_T, int64_t, int64),
        INT_TYPE(MPI_UINT64_T, uint64_t, uint64),
        INT_TYPE(MPI_AINT, MPI_Aint, aint),
        INT_TYPE(MPI_OFFSET, MPI_Offset, offset),
        INT_TYPE(MPI_COUNT, MPI_Count, mcount),
        TYPE(MPI_BYTE, unsigned char, uchar, on_bytes),
        TYPE(MPI_C_BOOL, bool, bool, on_logical),
        TYPE(MPI_FLOAT, float, sfloat, on_reals),
        TYPE(MPI_DOUBLE, double, sdouble, on_reals),
        TYPE(MPI_LONG_DOUBLE, long double, ldouble, on_reals),
        TYPE(MPI_C_FLOAT_COMPLEX, float complex, cfloat, on_complex),
        TYPE(MPI_C_DOUBLE_COMPLEX, double complex, cdouble, on_complex),
        TYPE(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, cldouble,
             on_complex),
        PAIR_TYPE(MPI_FLOAT_INT, float_int),
        PAIR_TYPE(MPI_DOUBLE_INT, double_int),
        PAIR_TYPE(MPI_LONG_INT, long_int),
        PAIR_TYPE(MPI_2INT, two_int),
        PAIR_TYPE(MPI_SHORT_INT, short_int),
        PAIR_TYPE(MPI_LONG_DOUBLE_INT, ldouble_int),
};

#define TYPES ((int)(sizeof(types) / sizeof(types[0])))

/* --------------------------------------------------------------- the calls */

static const char *op_name(MPI_Op op)
{
    static const MPI_Op ops[] = {MPI_MAX,    MPI_MIN,  MPI_SUM,    MPI_PROD,
                                 MPI_LAND,   MPI_LOR,  MPI_LXOR,   MPI_BAND,
                                 MPI_BOR,    MPI_BXOR, MPI_MAXLOC, MPI_MINLOC,
                                 MPI_REPLACE};
    static const char *const names[] = {
            "MAX",  "MIN", "SUM",  "PROD",   "LAND",   "LOR",    "LXOR",
            "BAND", "BOR", "BXOR", "MAXLOC", "MINLOC", "REPLACE"};
    int i = 0;

    while (ops[i] != op) {
        i++;
    }
    return names[i];
}

static void check(bool good, const char *call, const struct type *type,
                  MPI_Op op, int count)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;

    if (!good && failures++ < 20) {
        MPI_Type_get_name(type->handle, name, &length);
        printf("failed: rank %d: %s of %d %s with MPI_%s\n", rank, call, count,
               name, op_name(op));
    }
}

static void one(const struct type *type, MPI_Op op, int count, void **data,
                MPI_Win win, void *memory)
{
    size_t bytes = type->bytes * (size_t)count;
    void *wanted = data[size], *got = data[size + 1];
    int before = (rank + size - 1) % size;

    for (int i = 0; i < size; i++) {
        type->fill(data[i], count, op);
    }
    memcpy(wanted, data[rank], bytes);
    type->apply(data[before], wanted, count, op);
    memcpy(memory, data[rank], bytes);
    MPI_Win_fence(0, win);
    MPI_Accumulate(data[rank], count, type->handle, (rank + 1) % size, 0, count,
                   type->handle, op, win);
    MPI_Win_fence(0, win);
    check(type->equal(memory, wanted, count), "MPI_Accumulate", type, op,
          count);
    if (op == MPI_REPLACE) {
        return;
    }
    memcpy(got, data[rank], bytes);
    MPI_Reduce_local(data[before], got, count, type->handle, op);
    check(type->equal(got, wanted, count), "MPI_Reduce_local", type, op, count);
    memcpy(wanted, data[0], bytes);
    for (int i = 1; i < size; i++) {
        type->apply(data[i], wanted, count, op);
    }
    MPI_Allreduce(data[rank], got, count, type->handle, op, MPI_COMM_WORLD);
    check(type->equal(got, wanted, count), "MPI_Allreduce", type, op, count);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("AM_TEST_SEED");
    size_t bytes = COUNT_MAX * sizeof(long double complex);
    void **data, *memory;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = seed != NULL ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    MPI_Bcast(&state, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("AM_TEST_SEED=%llu\n", (unsigned long long)state);
    }
    data = malloc((size_t)(size + 2) * sizeof(*data));
    for (int i = 0; i < size + 2; i++) {
        data[i] = calloc(1, bytes);
    }
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    for (int i = 0; i < TYPES; i++) {
        for (int j = 0; types[i].ops[j] != MPI_OP_NULL; j++) {
            for (int k = 0; k < (int)(sizeof(counts) / sizeof(int)); k++) {
                one(&types[i], types[i].ops[j], counts[k], data, win, memory);
            }
        }
    }
    MPI_Win_free(&win);
    for (int i = 0; i < size + 2; i++) {
        free(data[i]);
    }
    free(data);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}
