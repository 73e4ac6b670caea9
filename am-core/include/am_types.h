/*
 * Types that every public header of libam shares: status codes, the data
 * descriptor, and compile-time limits.  Includes libc only.
 */
#ifndef AM_TYPES_H
#define AM_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AM_VERSION_MAJOR  0
#define AM_VERSION_MINOR  2
#define AM_VERSION_PATCH  0
#define AM_VERSION_STRING "0.2.0"

#define AM_API __attribute__((visibility("default")))

/* AM_VERSION_STRING of the libam that is running, which need not be the one
 * whose headers were compiled.  A constant; may be called at any time. */
AM_API const char *am_version(void);

/* Limits.  Fixed at compile time; the wire formats depend on them. */
#define AM_WORDS_MAX     16  /* 64-bit argument words of one request */
#define AM_ADDRESS_BYTES 256 /* room for every address blob */
#define AM_HANDLERS_MAX  256 /* handler indices, of which ... */
#define AM_HANDLER_USER  64  /* ... the first that a user may register */
#define AM_PEER_ANY      UINT32_MAX

/*
 * Result of a call.  Negative values are errors, AM_OK is 0.  AM_DONE says
 * that an operation which might have been left pending is complete already,
 * so no completion function will be called for it.
 */
typedef enum {
    AM_DONE = 1,
    AM_OK = 0,
    AM_ERR_AGAIN = -1,       /* no space now; nothing happened; poll, retry */
    AM_ERR_INVALID = -2,     /* an argument is out of its range */
    AM_ERR_MEMORY = -3,      /* out of memory, or a bound was reached */
    AM_ERR_UNSUPPORTED = -4, /* the device or this build lacks it */
    AM_ERR_PEER = -5,        /* the peer is dead or cannot be reached */
    AM_ERR_TRUNCATE = -6,    /* message longer than the receive buffer */
    AM_ERR_CONFIG = -7,      /* a variable has a bad value */
    AM_ERR_HANDLER = -8,     /* not allowed inside a handler */
    AM_ERR_SYSTEM = -9,      /* a system call failed; see the log */
    AM_ERR_CANCELLED = -10,  /* cancelled before it matched */
    AM_ERR_FORKED = -11,     /* the context belongs to this process's parent */
} am_status_t;

/* Text of a status, static storage, never NULL.  Legal in a handler. */
AM_API const char *am_status_text(am_status_t status);

/* A variable set by the program; it wins over the environment. */
struct am_option {
    const char *name;  /* for example "AM_EAGER_MAX" */
    const char *value; /* text, as in the environment */
};

/*
 * A piece of user data: contiguous, a list of iovecs, or a pair of functions
 * that pack and unpack any byte range of it.  All lengths are 64-bit.  The
 * descriptor is copied by every call that takes it; what it points to (the
 * buffer, the iov array, `arg`) must live until the operation completes.
 */
typedef enum {
    AM_DATA_CONTIG = 0,
    AM_DATA_IOV,
    AM_DATA_PACK
} am_data_kind_t;

/* Copy bytes [offset, offset + bytes) of the packed form to `to`. */
typedef void (*am_pack_fn)(void *arg, size_t offset, void *to, size_t bytes);
/* Copy `bytes` from `from` into [offset, offset + bytes) of the data. */
typedef void (*am_unpack_fn)(void *arg, size_t offset, const void *from,
                             size_t bytes);

struct am_data {
    am_data_kind_t kind;
    uint32_t iov_count; /* AM_DATA_IOV */
    size_t bytes;       /* packed length of the whole */

    union {
        void *base; /* AM_DATA_CONTIG */
        const struct iovec *iov;
        void *arg; /* AM_DATA_PACK */
    } u;

    am_pack_fn pack;     /* AM_DATA_PACK; NULL if only received into */
    am_unpack_fn unpack; /* AM_DATA_PACK; NULL if only sent from */
};

/* The descriptor of `bytes` bytes at `base`. */
static inline struct am_data am_data_contig(const void *base, size_t bytes)
{
    struct am_data data = {AM_DATA_CONTIG, 0, bytes, {NULL}, NULL, NULL};

    data.u.base = (void *)(uintptr_t)base;
    return data;
}

#ifdef __cplusplus
}
#endif
#endif
