/*
 * The am netmod's part of MPICH's objects.  Every file of MPICH includes this
 * one, so libam's headers stay out: its handles are pointers to structs that
 * are not defined here.
 */
#ifndef AM_PRE_H_INCLUDED
#define AM_PRE_H_INCLUDED

/* Since 5.0: communicators of sessions are made from the world, whose ranks are all
 * that we have addresses of. */
#define MPID_SESSION_USE_WORLD

struct am_msg_req;
struct am_region;
struct MPIDI_AM_layout;
struct MPIDI_AM_comm_record;
struct MPIDI_AM_win_part;

typedef struct {
    int dummy;
} MPIDI_AM_Global_t;

/* A native send or receive.  Both are NULL or valid while it is pending. */
typedef struct {
    struct am_msg_req *msg;     /* libam's request, or the claimed message */
    struct MPIDI_AM_layout *layout;     /* of data that is not contiguous */
} MPIDI_AM_request_t;

/* A send of ch4's active messages.  Requests of RMA that await a message are in a
 * table (am_rma.c). */
typedef struct {
    struct MPIDI_AM_layout *layout;
    uint32_t handler_id:8, has_type:1, place:23;        /* has_type: am_rma.c */
    uint32_t peer;
    size_t bytes;               /* that am_flow.c counts; 0: it does not count this */
} MPIDI_AM_am_request_t;

/* Index of a peer in the context of my first interface (vci), for the peer's first.  Those
 * of all pairs of interfaces, where a process has several: `all[mine * interfaces + its]`. */
typedef struct {
    uint32_t peer;
    const uint32_t *all;        /* in MPIDI_AM_global.peers */
} MPIDI_AM_addr_t;

/* Bits of a communicator. */
#define MPIDI_AM_COMM_BROKEN  1 /* no collectives: a member has died, or it is revoked */
#define MPIDI_AM_COMM_UNACKED 2 /* a death is not acknowledged: receives from any source wait */
#define MPIDI_AM_COMM_GROUP   4 /* libam's collectives may be used (am_group.c) */
#define MPIDI_AM_COMM_NODE    8 /* and all members are on this node */

/* All ranks of a communicator call its collectives in one order.  A hint may say that they start
 * the persistent ones in one order, too (am_group_persist.c); nothing is said of the two together,
 * so each order has a group of libam and tags of its own. */
typedef enum {
    MPIDI_AM_BY_CALLS,
    MPIDI_AM_BY_STARTS,
    MPIDI_AM_ORDERS
} MPIDI_AM_order_t;

typedef struct {
    unsigned bits;
    struct MPIDI_AM_comm_record *records[MPIDI_AM_ORDERS];      /* am_group.c; NULL: none yet */
} MPIDI_AM_comm_t;

typedef struct {
    int dummy;
} MPIDI_AM_dt_t;

typedef struct {
    int dummy;
} MPIDI_AM_op_t;

/* A window whose memory libam knows; both NULL when it does not. */
typedef struct {
    struct am_region *region;   /* mine */
    struct MPIDI_AM_win_part *parts;    /* of each rank */
} MPIDI_AM_win_t;

/* A partitioned request: its place in am_part.c's table. */
typedef struct {
    uint32_t place;
} MPIDI_AM_part_t;

/* What patched files of MPICH call when this netmod is in use.  Errors that a dead or
 * revoked member caused get a text that names it; `comm` may be NULL. */
struct MPIR_Comm;
struct MPIR_Group;
struct MPIR_Request;
int MPIDI_AM_has_dead(void);
int MPIDI_AM_error_name(struct MPIR_Comm *comm, int mpi_errno);
int MPIDI_AM_is_any_source(struct MPIR_Request *req);
int MPIDI_AM_any_source_enabled(struct MPIR_Comm *comm);
int MPIDI_AM_failure_ack(struct MPIR_Comm *comm);
int MPIDI_AM_failure_get_acked(struct MPIR_Comm *comm, struct MPIR_Group **group);
int MPIDI_AM_revoke(struct MPIR_Comm *comm);
int MPIDI_AM_agree(struct MPIR_Comm *comm, int *flag);
int MPIDI_AM_shrink(struct MPIR_Comm *comm, struct MPIR_Comm **shrunk);

#endif /* AM_PRE_H_INCLUDED */
