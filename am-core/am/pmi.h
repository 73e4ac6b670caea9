/*
 * A client of the first process management interface (PMI-1), as spoken by
 * Hydra's mpiexec over an inherited socket: lines of "key=value" words.  It
 * knows the job's ranks and exchanges small blobs; it knows no contexts.
 *
 *   client                                    launcher
 *   cmd=init pmi_version=1 pmi_subversion=1   cmd=response_to_init rc=0 ...
 *   cmd=get_maxes                             cmd=maxes vallen_max=1024 ...
 *   cmd=get_my_kvsname                        cmd=my_kvsname kvsname=...
 *   cmd=put kvsname= key= value=              cmd=put_result rc=0
 *   cmd=barrier_in                            cmd=barrier_out
 *   cmd=get kvsname= key=                     cmd=get_result rc=0 value=...
 *   cmd=finalize                              cmd=finalize_ack
 *
 * A connection is opened once in the life of a process and kept: PMI-1 has no
 * second init after finalize, while a context may be closed and opened again.
 * So every exchange has a sequence number in its keys, and finalize is sent
 * when the process ends.  A process that ends without it is taken for failed
 * by the launcher, which then ends the job: that is wanted when a program
 * dies with a context open.
 */
#ifndef AM_AM_PMI_H
#define AM_AM_PMI_H

#include <am_types.h>
#include <stdbool.h>

#define AM_PMI_LINE_BYTES 4096 /* longest line taken from a launcher */
#define AM_PMI_NAME_BYTES 256  /* longest name of a key-value space */

struct am_pmi {
    int fd; /* -1: not started by a launcher, or finalised */
    uint32_t rank, size;
    uint32_t sequence;  /* exchanges so far; the same on every rank */
    uint64_t timeout_ms; /* of a wait for the launcher or, in an exchange, for
                          * the other ranks; 0: none */
    size_t value_bytes;  /* longest value the launcher stores, with its NUL */
    bool in_barrier;    /* barrier_in is sent, barrier_out has not come */
    bool broken;        /* an answer was wrong: the connection is of no use */
    char kvsname[AM_PMI_NAME_BYTES];
    char line[AM_PMI_LINE_BYTES]; /* received bytes, `filled` of them */
    size_t filled;
    char error[256]; /* one sentence on the last failure */
};

/*
 * Join the job named by PMI_FD, PMI_RANK and PMI_SIZE.  Without any of them
 * the job is this process alone (rank 0 of 1, fd -1).  AM_ERR_SYSTEM, with
 * the reason in pmi->error, when they are incomplete, PMI_FD is neither a socket
 * nor a pipe, or the launcher does not answer as it should, or not within
 * timeout_ms (0: it may take for ever), which counts for all that follows as
 * well.  Blocks for the launcher.  Not in a handler.
 */
am_status_t am_pmi_open(struct am_pmi *pmi, uint64_t timeout_ms);

/* The same over the connected socket `fd`, which the client then owns. */
am_status_t am_pmi_attach(struct am_pmi *pmi, int fd, uint32_t rank,
                          uint32_t size, uint64_t timeout_ms);

/*
 * An am_allgather_fn; `arg` is the struct am_pmi.  All ranks put their blob,
 * pass one barrier and get the others'.  0, or -1 with pmi->error: when a rank
 * does not come within timeout_ms, too.
 */
int am_pmi_allgather(void *arg, const void *mine, void *all, size_t bytes);

/*
 * A barrier in two steps, so that the caller can poll its context meanwhile:
 * `enter` sends, `test` waits up to `timeout_ms` milliseconds and returns
 * AM_OK when all ranks are there, AM_ERR_AGAIN when not, or AM_ERR_SYSTEM.
 */
am_status_t am_pmi_barrier_enter(struct am_pmi *pmi);
am_status_t am_pmi_barrier_test(struct am_pmi *pmi, int timeout_ms);

/* Tell the launcher that this process ends well, and close the connection. */
void am_pmi_finalize(struct am_pmi *pmi);

/* Of the client itself: the sentence on a failure, after which the connection is
 * of no use.  AM_ERR_SYSTEM. */
am_status_t am_pmi_fail(struct am_pmi *pmi, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------ pure text functions */

/*
 * Copy the value of the word "key=value" of `line` to `value`.  False when
 * the key is absent or its value does not fit in `value_bytes` with a NUL.
 */
bool am_pmi_field(const char *line, const char *key, char *value,
                  size_t value_bytes);

/* Is `line` the answer `cmd`, with rc=0 if it has an rc at all? */
bool am_pmi_answer_ok(const char *line, const char *cmd);

/* `bytes` bytes as lower-case hex and a NUL: 2 * bytes + 1 characters. */
void am_pmi_hex_write(const void *data, size_t bytes, char *text);
/* The reverse; false if `text` is not exactly 2 * bytes hex digits. */
bool am_pmi_hex_read(const char *text, void *data, size_t bytes);

#endif
