/*
 * The am netmod's part of MPICH's objects.  Every file of MPICH includes this
 * one, so libam's headers stay out: its handles are pointers to structs that
 * are not defined here.
 */
#ifndef AM_PRE_H_INCLUDED
#define AM_PRE_H_INCLUDED

struct am_msg_req;
struct am_region;
struct MPIDI_AM_layout;
struct MPIDI_AM_win_part;

typedef struct {
    int dummy;
} MPIDI_AM_Global_t;

/* A native send or receive.  Both are NULL or valid while it is pending. */
typedef struct {
    struct am_msg_req *msg;     /* libam's request, or the claimed message */
    struct MPIDI_AM_layout *layout;     /* of data that is not contiguous */
} MPIDI_AM_request_t;

/* A send of ch4's active messages. */
typedef struct {
    struct MPIDI_AM_layout *layout;
    int handler_id;
} MPIDI_AM_am_request_t;

/* Index of a peer in the context of each of my interfaces (vcis), for each of
 * the peer's interfaces. */
typedef struct {
    uint32_t peer[MPIDI_CH4_MAX_VCIS][MPIDI_CH4_MAX_VCIS];
} MPIDI_AM_addr_t;

typedef struct {
    int flat;                   /* small collectives go by am_coll.c */
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

typedef struct {
    int dummy;
} MPIDI_AM_part_t;

#endif /* AM_PRE_H_INCLUDED */
