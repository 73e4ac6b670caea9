/*
 * The inside of collectives: what a context, a peer, a group and a collective
 * under way own.  For the files of collectives/; may call am, dev and base.
 *
 *   am_ctx --slot--> am_coll --by id--> am_coll_group --active--> am_coll_req
 *   am_peer --slot--> am_coll_peer                                 |-- am_sched
 *
 * A message belongs to a step: it names its group (by its id, and a hash of who its members
 * are), the number of the collective in the group, the sender among the members, and a tag.  It comes in one packet
 * (DATA), or the receiver says where it goes (READY) and the sender puts it there.
 * What comes before its step is begun, or before the group is opened here, is
 * held: with the request, the group, or the context.
 *
 *   small:  DATA ------------------------------------------> copied, or held
 *   large:  <-- READY with a key (receive is begun, its memory known)
 *           put of am/bulk.c, then FIN --------------------> in place
 *   small, without credit:
 *           RTS -------------------------------------------> then as a large one
 *   small, to spare pages (am/spare.h):
 *           RTS with a key --------------------------------> get of it, then FIN <--
 *
 * A member whose collective fails tells the others (FAILED), unless somebody has died: that
 * all find out.
 */
#ifndef AM_COLLECTIVES_COLL_H
#define AM_COLLECTIVES_COLL_H

#include "am/core.h"
#include "base/pool.h"
#include "collectives/choice.h"
#include "collectives/net/net.h"
#include "collectives/sched/sched.h"
#include "collectives/select/select.h"
#include "collectives/shared/shared.h"

#include <am_coll.h>

enum {
    AM_COLL_SLOT = 1, /* in am_modules */
    AM_COLL_GROUP_BUCKETS = 64,
    AM_COLL_STEP_BUCKETS = 8,
    AM_COLL_HELD_BUCKETS = 32,
    AM_COLL_DATA_WORDS = 2,    /* of a DATA, before its payload */
    AM_COLL_KEY_WORDS = 7,     /* of a READY, and an RTS that has a key */
    AM_COLL_NOTES_MAX =
            65536, /* RTS and READY to one peer that wait for an answer */
    AM_COLL_MEMBERS_MAX = 1 << 20, /* of a group */
    AM_COLL_SMALL_BYTES = 128  /* payload of a small held message */
};

enum {
    AM_COLL_H_DATA = AM_HANDLER_COLL,
    AM_COLL_H_RTS,
    AM_COLL_H_READY,
    AM_COLL_H_FIN,
    AM_COLL_H_CREDIT,
    AM_COLL_H_NUDGE,
    AM_COLL_H_FAILED
};

enum {
    AM_COLL_STAT_STARTED,
    AM_COLL_STAT_SHARED,
    AM_COLL_STAT_ONCE,
    AM_COLL_STAT_READS,
    AM_COLL_STAT_NETWORK,
    AM_COLL_STAT_DATA,
    AM_COLL_STAT_CAST,
    AM_COLL_STAT_PUT,
    AM_COLL_STAT_GET,
    AM_COLL_STAT_NO_CREDIT,
    AM_COLL_STAT_HELD,
    AM_COLL_STAT_HELD_NOW,
    AM_COLL_STAT_HELD_PEAK,
    AM_COLL_STAT_CREDITS,
    AM_COLL_STAT_NUDGES,
    AM_COLL_STAT_COPY_BYTES,
    AM_COLL_STAT_RX_BAD,
    AM_COLL_STAT_RX_BAD_CREDIT,
    AM_COLL_STAT_COUNT
};

struct am_coll {
    struct am_ctx *ctx;
    struct am_env *env;
    uint64_t *stats;
    const struct am_coll_config *config;
    struct am_list due;       /* requests with steps that may begin */
    struct am_list idle;      /* requests to be used again */
    struct am_list strangers; /* held, of groups that are not open here */
    struct am_list peers;     /* am_coll_peer */
    struct am_list looking;   /* groups that look into their memory */
    struct am_list combining; /* am_coll_req in the network, in order */
    struct am_list casting;   /* am_step that wait to be cast */
    struct am_coll_group
            *network_group; /* of those whose member 0 I am, which has
                                            the network that combines; NULL */
    bool is_network_broken; /* nobody knows what is in it */
    struct am_list left;    /* am_shared of mine that others may still use */
    size_t shared_bytes;    /* of mine in use */
    struct am_list groups[AM_COLL_GROUP_BUCKETS]; /* by id */
    struct am_pool small, large;                  /* am_coll_held */
    struct am_pool xfers;
    uint32_t window; /* messages a peer may send that were not consumed */
    uint32_t notes_max; /* AM_COLL_NOTES_MAX; fewer in tests */
    bool can_fence;  /* am_barrier_seldom works here */
    am_status_t refuses; /* why none may be started now, or AM_OK */
    bool forked;
    bool is_closing; /* nothing is sent any more */
};

/* What this context and a peer owe each other. */
struct am_coll_peer {
    struct am_list link; /* in coll->peers */
    struct am_peer *peer;
    struct am_coll *coll;
    struct am_op op;        /* queued while `waiting` finds no space */
    struct am_list waiting; /* am_step: to send DATA, RTS or READY, in order */
    struct am_list
            noting; /* am_step: to send more than so many RTS and READY */
    size_t eager_max;       /* bytes of the largest DATA */
    uint32_t credit;        /* DATA that may be sent to it */
    uint32_t unreturned;    /* DATA of it whose credit it has not back */
    uint32_t consumed;      /* of these, used up */
    uint32_t note_count;    /* RTS and READY of it that are held */
    uint32_t notes;         /* to it that it has not answered */
    bool is_closing;        /* nothing is sent to it any more */
};

/* Numbers of member 0 that change while a group is open. */
struct am_coll_told {
    struct am_dev_perf perf, near;
    bool follow, near_follows; /* and they may change again */
};

struct am_coll_group {
    struct am_coll *coll;
    struct am_list link; /* in coll->groups */
    uint32_t id, rank, size;
    uint32_t salt;         /* tells it from groups that had its id before */
    uint32_t next;         /* number of the next collective */
    uint32_t *ranks;       /* members' peer indices; NULL: member i is rank i */
    struct am_list active; /* am_coll_req, in the order of their numbers */
    struct am_list
            held[AM_COLL_HELD_BUCKETS]; /* for later collectives, by number */
    bool has_held;                      /* perhaps */
    am_status_t status;    /* AM_OK, or why no more can be started */
    struct am_coll_numbers numbers; /* that algorithms are chosen by: those of
                                       member 0, so that all choose alike */
    bool asks_numbers;              /* they have been asked for */
    bool has_numbers;
    struct am_coll_req
            *telling; /* them again; what is called later waits for it */
    struct am_coll_told told; /* then */
    uint32_t until;           /* so much more is called before the next */
    uint32_t weight_least;    /* of a call in that: at first all count alike */
    struct am_coll_exchange *exchange; /* while it asks for them */
    struct am_coll_nodes
            *nodes; /* where the members are; NULL: all on one, or each
                                    on its own, or not known */
    struct am_coll_group
            *parent;           /* whose members of a node, or first members, it
                                     has; NULL */
    struct am_list levels;     /* am_coll_req that use the groups of `nodes` */
    struct am_shared *shared;  /* memory that all members see, or NULL */
    struct am_list turns;      /* am_coll_req that go through it, in order */
    bool has_met;              /* the last built or done at once is a barrier */
    uint32_t leader;           /* who gave all that followed the barrier before;
                                  `size`: it was something else */
    struct am_list looks_link; /* in coll->looking */

    struct am_coll_choice chosen[AM_COLL_KINDS]; /* the last for each kind */
};

/* A message that came early. */
struct am_coll_held {
    struct am_list link;
    struct am_coll_peer *from;
    uint32_t handler; /* AM_COLL_H_DATA, RTS, READY, FAILED */
    uint32_t group, number, member, salt, tag, print;
    size_t bytes;  /* DATA: of `data`; else of the message */
    bool is_large; /* from the pool for these */
    bool has_key;  /* READY, and an RTS may */

    union {
        struct am_key key; /* has_key */
        char data[AM_COLL_SMALL_BYTES];
    };
};

/* A put or get on its way, or memory open to one. */
struct am_coll_xfer {
    union {
        struct am_bulk bulk;
        struct am_region region; /* is_open */
    };

    struct am_step *step;
    bool is_open, is_fetched; /* the second: a get that has ended */
};

/* A collective under way. */
struct am_coll_req {
    struct am_list link;     /* in group->active, or coll->idle */
    struct am_list due_link; /* in coll->due, or by itself */
    struct am_coll *coll;
    struct am_coll_group *group;
    uint32_t number;
    uint32_t print;       /* what all members must agree on, as a hash */
    uint32_t first, last; /* the queue of steps that may begin */
    uint32_t left;        /* steps that have not ended */
    uint32_t flying;      /* puts that have not ended */
    am_status_t status;
    bool is_stopped;  /* after an error: only waits for its puts */
    bool is_built;    /* else it waits for the group's numbers */
    bool is_telling;  /* member 0 tells them again */
    bool is_shared;   /* on group->turns, no schedule */
    bool is_combined; /* on coll->combining, no schedule */
    bool has_levels;  /* on group->levels */
    struct am_list levels_link;
    struct am_coll_call call; /* until it is built; of a shared one, always */
    struct am_coll_operator op;
    struct am_shared_op shared;
    struct am_net_op net;
    am_done_fn done;
    void *arg;
    struct am_list held; /* am_coll_held of steps that are not begun */
    struct am_list steps[AM_COLL_STEP_BUCKETS]; /* that wait for a message */
    struct am_sched sched;
};

extern const struct am_stat_row am_coll_stat_rows[AM_COLL_STAT_COUNT];

static inline struct am_coll *am_coll_of(const struct am_ctx *ctx)
{
    return am_module_data(ctx, AM_COLL_SLOT);
}

/* The numbers of the device that reaches a peer; false: there is none. */
bool am_coll_numbers_of(struct am_ctx *ctx, uint32_t peer_index,
                        const struct am_coll_config *config,
                        struct am_coll_numbers *numbers);

/* ------------------------------------------------------- group.c, coll_peer.c */

/* The group, or NULL. */
struct am_coll_group *am_coll_group_find(struct am_coll *coll, uint32_t id);

/* The peer index of a member. */
static inline uint32_t am_coll_member(const struct am_coll_group *group,
                                      uint32_t member)
{
    return group->ranks == NULL ? member : group->ranks[member];
}

/* A group that no caller has opened; as am_coll_group_open, without the limit of
 * ids.  `ranks` are peer indices; `parent`: the group of which it is a part, or NULL. */
am_status_t am_coll_group_new(struct am_coll *coll, uint32_t id,
                              const uint32_t *ranks, uint32_t count,
                              struct am_coll_group *parent,
                              struct am_coll_group **group_p);

/* Give up all groups, without a word: the context closes. */
void am_coll_groups_free(struct am_coll *coll);
/* Is the peer a member of an open group? */
bool am_coll_groups_have(struct am_coll *coll, uint32_t peer_index);
/* End what waits for a peer that has died. */
void am_coll_groups_dead(struct am_coll *coll, uint32_t peer_index);

/* What this context has of a peer, made when it is first asked for; NULL: no
 * memory. */
struct am_coll_peer *am_coll_peer_of(struct am_coll *coll,
                                     struct am_peer *peer);
/* The same of a member; NULL, too: it cannot be reached. */
struct am_coll_peer *am_coll_member_peer(const struct am_coll_group *group,
                                         uint32_t member);
/* Is so short a message to be fetched, instead of sent in a packet that uses pages first
 * (am/spare.h)?  It then does. */
bool am_coll_peer_spares(struct am_coll_peer *cp, size_t bytes);
void am_coll_peer_free(struct am_peer *peer);
void am_coll_peers_free(struct am_coll *coll);
/* A DATA of it was used up: give credit back now and then. */
void am_coll_peer_consumed(struct am_coll_peer *cp);
/* Send what waits, when there is space again. */
void am_coll_peer_queue(struct am_coll_peer *cp);

/* --------------------------------------------------------------- call.c */

/* The next collective of the group, not built yet; NULL: no memory. */
struct am_coll_req *am_coll_req_open(struct am_coll_group *group,
                                     am_done_fn done, void *arg);
/* Choose and build, into an empty request.  AM_ERR_MEMORY. */
am_status_t am_coll_req_build(struct am_coll_req *req,
                              const struct am_coll_call *call);
/* Note a call that is built or done at once, in order: where one member gives all of
 * what follows a barrier, it leads the next barrier (shared/barrier.c). */
void am_coll_leader_note(struct am_coll_group *group,
                         const struct am_coll_call *call);
/* Take the messages for this collective that came before it was built. */
void am_coll_req_held(struct am_coll_req *req);
/* ------------------------------------------------------------- nodes.c */

/* The first member of my node: the lowest of those whose memory this one reaches. */
uint32_t am_coll_nodes_first(const struct am_coll_group *group);
/* Is it on my node? */
bool am_coll_nodes_have(const struct am_coll_group *group, uint32_t member);
/* What member 0 knows of its node's device, or of what there is. */
struct am_coll_near am_coll_nodes_near(const struct am_coll_group *group);
/* All know `first[i]`, the first member of member i's node: take it into group->nodes
 * and group->numbers.  AM_ERR_MEMORY. */
am_status_t am_coll_nodes_set(struct am_coll_group *group,
                              const uint32_t *first);
/* Open the groups of group->nodes.  AM_ERR_MEMORY. */
am_status_t am_coll_nodes_open(struct am_coll_group *group);
/* Close them, and free what is known.  AM_ERR_AGAIN as am_coll_group_close. */
am_status_t am_coll_nodes_close(struct am_coll_group *group);
/* One of these groups is freed, by its parent or as the context closes. */
void am_coll_nodes_forget(const struct am_coll_group *level);
/* A request that uses them has failed: end what is under way in them. */
void am_coll_nodes_fail(struct am_coll_req *req);

/* ------------------------------------------------------------- held.c */

/* Keep a message: on `list`.  false: no memory, or more than is allowed. */
bool am_coll_held_keep(struct am_coll *coll, struct am_list *list,
                       const struct am_coll_held *what, const void *data);
/* Free one, on no list; what it took of the peer's credit is given back. */
void am_coll_held_free(struct am_coll *coll, struct am_coll_held *held);
/* Free those of a list, which came for nothing; `from` NULL: of all peers. */
void am_coll_held_drop(struct am_coll *coll, struct am_list *list,
                       const struct am_coll_peer *from);

/* -------------------------------------------------------------- sched/run.c */

/* A request with an empty schedule; NULL: no memory. */
struct am_coll_req *am_coll_req_new(struct am_coll_group *group);
/* Begin the steps that wait for nothing.  AM_OK: it goes on; AM_DONE, or an
 * error: it has ended, and the request is gone. */
am_status_t am_coll_req_start(struct am_coll_req *req);
/* The same in the poll, which ends it when it does. */
void am_coll_req_start_later(struct am_coll_req *req);
/* All that there was to do is done; `later`: a poll ends it. */
void am_coll_req_complete(struct am_coll_req *req, bool later);
/* Has it ended?  As am_coll_req_start. */
am_status_t am_coll_req_try(struct am_coll_req *req);
/* From a message: the step has ended; what follows it begins in the poll. */
void am_coll_step_end(struct am_step *step);
/* The collective cannot be completed; it ends in a poll. */
void am_coll_req_fail(struct am_coll_req *req, am_status_t status);
/* Do the members agree?  If not it fails. */
bool am_coll_req_agrees(struct am_coll_req *req, uint32_t print,
                        uint32_t member);
/* The context closes. */
void am_coll_req_drop(struct am_coll_req *req);
/* Run what is due; the number of requests. */
int am_coll_run_due(struct am_coll *coll);

static inline struct am_list *am_coll_held_of(struct am_coll_group *group,
                                              uint32_t number)
{
    return &group->held[number % AM_COLL_HELD_BUCKETS];
}

static inline struct am_list *am_coll_bucket(struct am_coll_req *req,
                                             uint32_t member, uint32_t tag)
{
    return &req->steps[(member * 5 + tag) % AM_COLL_STEP_BUCKETS];
}

#endif
