/*
 * The group of libam (am_coll.h) that belongs to a communicator.  A communicator gets
 * it when it has been used a few times, as most communicators never are.  Those that
 * span nodes get one only where a variable gives libam all collectives of a kind.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

#include <stdatomic.h>

#define USES           8        /* the collective that makes the group */
#define STARTS_ID      0x20000000       /* of groups that go by starts; context ids are below */

/* What is known of a communicator that has been used.  Who has vci 0's lock may walk along them,
 * take one in or out, and open and close groups; the rest of a record belongs to the thread
 * whose turn it is with the communicator. */
struct MPIDI_AM_comm_record {
    struct MPIDI_AM_comm_record *next;
    struct am_coll_group *group;        /* NULL: not yet, or not any more */
    int uses;                   /* until there is a group */
    bool is_refused;            /* there will be none */
    bool is_asked;              /* what the members have in common */
    bool is_left;               /* the communicator is freed, the group is to be closed */
    int kept_id;                /* of its context, to be given back then; -1: it is not kept */
    atomic_bool is_broken;      /* the group is to be abandoned */
    size_t shared_bytes;        /* of a piece that goes through that memory; 0: there is none */
};

static struct MPIDI_AM_comm_record *records;
static atomic_bool some_broken; /* records */

/* Does libam do anything between nodes: what variables say, or what the network itself does? */
static bool spans_nodes(const MPIR_Comm * comm)
{
    struct am_ctx *ctx = MPIDI_AM_global.ctx[0];

    return MPIDI_AM_global.named != 0 ||
        (MPIDI_AM_global.n_ctx > 0 && (uint32_t) comm->local_size == am_size(ctx) &&
         am_coll_has_network(ctx));
}

void MPIDI_AM_comm_node_set(MPIR_Comm * comm)
{
    const int *nodes = MPIR_Process.node_map;
    bool is_group = comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && comm->local_size > 1;
    bool is_node = is_group && !am_time_is_virtual();   /* simulated ranks have a node each */
    bool spans = is_group && spans_nodes(comm);

    is_group = is_group && (is_node || spans);
    for (int i = 0; is_group && i < comm->local_size; i++) {
        int world_rank = MPIDI_AM_world_rank(comm, i);

        is_node = is_node && world_rank >= 0 && nodes[world_rank] == nodes[MPIR_Process.rank];
        is_group = world_rank >= 0 && (is_node || spans);
    }
    MPIDI_AM_COMM(comm).bits = is_group ? MPIDI_AM_COMM_GROUP : 0;
    MPIDI_AM_COMM(comm).bits |= is_group && is_node ? MPIDI_AM_COMM_NODE : 0;
    for (int order = 0; order < MPIDI_AM_ORDERS; order++) {
        MPIDI_AM_COMM(comm).records[order] = NULL;
    }
}

static struct MPIDI_AM_comm_record *record_new(MPIR_Comm * comm, MPIDI_AM_order_t order)
{
    struct MPIDI_AM_comm_record *record = MPL_calloc(1, sizeof(*record), MPL_MEM_COMM);

    MPIR_Assertp(record != NULL);
    record->kept_id = -1;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    record->next = records;
    records = record;
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    MPIDI_AM_COMM(comm).records[order] = record;
    return record;
}

/* Does another record keep this context? */
static bool is_kept(int context_id)
{
    const struct MPIDI_AM_comm_record *record = records;

    while (record != NULL && record->kept_id != context_id) {
        record = record->next;
    }
    return record != NULL;
}

/* Close the groups of communicators that are gone, and forget them; with `all` the groups have
 * gone before.  False: one cannot be closed yet. */
static bool left_close(bool all)
{
    struct MPIDI_AM_comm_record **at = &records, *record;
    bool is_done = true;

    while ((record = *at) != NULL) {
        if (!all && !record->is_left) {
            at = &record->next;
        } else if (!all && record->group != NULL &&
                   am_coll_group_close(record->group) == AM_ERR_AGAIN) {
            is_done = false;
            at = &record->next;
        } else {
            *at = record->next;
            if (record->kept_id >= 0 && !is_kept(record->kept_id)) {
                MPIR_Free_contextid(record->kept_id);
            }
            MPL_free(record);
        }
    }
    return is_done;
}

/* Where a group stays open for now, other members may have closed theirs: a later communicator must
 * not get this context, as its group would have the same name.  -1: MPICH does not give it back. */
static int context_keep(MPIR_Comm * comm)
{
    int context_id = comm->recvcontext_id;

    if ((context_id & (MPIR_CONTEXT_SUBCOMM_MASK | MPIR_CONTEXT_IS_LOCALCOMM_MASK |
                       MPIR_CONTEXT_DYNAMIC_PROC_MASK)) != 0) {
        return -1;
    }
    /* MPICH gives back no context of a dynamic process */
    comm->recvcontext_id |= MPIR_CONTEXT_DYNAMIC_PROC_MASK;
    return context_id;
}

/* The parts that MPICH has made of a communicator, for its collectives. */
#define MAX_PARTS 3

static int parts_of(const MPIR_Comm * comm, MPIR_Comm * parts[MAX_PARTS])
{
    MPIR_Comm *const made[MAX_PARTS] = {
        comm->node_comm, comm->node_roots_comm,
        /* What stands here in another kind is an earlier communicator's: MPICH does not clear it. */
        comm->comm_kind == MPIR_COMM_KIND__INTERCOMM ? comm->local_comm : NULL
    };
    int n_parts = 0;

    for (int i = 0; i < MAX_PARTS; i++) {
        if (made[i] != NULL) {
            parts[n_parts++] = made[i];
        }
    }
    return n_parts;
}

/* Is there a record of it, or of a part? */
static bool has_records(const MPIR_Comm * comm)
{
    MPIR_Comm *parts[MAX_PARTS];
    int n_parts = parts_of(comm, parts);
    bool has = MPIDI_AM_COMM(comm).records[MPIDI_AM_BY_CALLS] != NULL ||
        MPIDI_AM_COMM(comm).records[MPIDI_AM_BY_STARTS] != NULL;

    for (int i = 0; i < n_parts && !has; i++) {
        has = has_records(parts[i]);
    }
    return has;
}

/* Has a group of it, or of a part, failed other than by a death?  What its members have sent about
 * that may still come, and a later communicator of theirs must not take it for its own. */
static bool has_failed(const MPIR_Comm * comm)
{
    MPIR_Comm *parts[MAX_PARTS];
    int n_parts = parts_of(comm, parts);
    bool has = false;

    for (int order = 0; order < MPIDI_AM_ORDERS && !has; order++) {
        const struct MPIDI_AM_comm_record *record = MPIDI_AM_COMM(comm).records[order];
        am_status_t status = record == NULL ||
            record->group == NULL ? AM_OK : am_coll_group_status(record->group);

        has = status != AM_OK && status != AM_ERR_PEER;
    }
    for (int i = 0; i < n_parts && !has; i++) {
        has = has_failed(parts[i]);
    }
    return has;
}

/* The communicator `whole` is gone, of which this is all or a part; with the lock of vci 0.  MPICH
 * frees the parts next, and then the context that all of them have. */
static void records_leave(MPIR_Comm * comm, MPIR_Comm * whole, int *kept_id)
{
    MPIR_Comm *parts[MAX_PARTS];
    int n_parts = parts_of(comm, parts);

    for (int order = 0; order < MPIDI_AM_ORDERS; order++) {
        struct MPIDI_AM_comm_record *record = MPIDI_AM_COMM(comm).records[order];

        MPIDI_AM_COMM(comm).records[order] = NULL;
        if (record != NULL) {
            record->is_left = true;
            if (record->group != NULL && am_coll_group_close(record->group) == AM_ERR_AGAIN) {
                *kept_id = *kept_id >= 0 ? *kept_id : context_keep(whole);
                record->kept_id = *kept_id;
            } else {
                record->group = NULL;
            }
        }
    }
    for (int i = 0; i < n_parts; i++) {
        records_leave(parts[i], whole, kept_id);
    }
}

/* A communicator may be freed in a poll, by the end of a request. */
void MPIDI_AM_comm_node_free(MPIR_Comm * comm)
{
    int kept_id = -1;
    bool is_mine;

    if (MPIDI_AM_global.n_ctx > 0 && has_records(comm)) {
        is_mine = MPIDI_AM_VCI0_IS_MINE();
        if (!is_mine) {
            MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
        }
        if (has_failed(comm)) {
            (void) context_keep(comm);  /* for good */
        }
        records_leave(comm, comm, &kept_id);
        (void) left_close(false);
        if (!is_mine) {
            MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
        }
    }
}

void MPIDI_AM_groups_forget(void)
{
    (void) left_close(true);
}

/* Whoever finds it broken may have another vci's lock, so a poll of vci 0 does it. */
void MPIDI_AM_group_revoke(MPIR_Comm * comm)
{
    for (int order = 0; order < MPIDI_AM_ORDERS; order++) {
        if (MPIDI_AM_COMM(comm).records[order] != NULL) {
            atomic_store(&MPIDI_AM_COMM(comm).records[order]->is_broken, true);
            atomic_store(&some_broken, true);
        }
    }
}

void MPIDI_AM_groups_abandon(void)
{
    if (likely(!atomic_load(&some_broken))) {
        return;
    }
    atomic_store(&some_broken, false);
    for (struct MPIDI_AM_comm_record * record = records; record != NULL; record = record->next) {
        if (atomic_exchange(&record->is_broken, false) && record->group != NULL) {
            am_coll_group_abandon(record->group);
        }
    }
}

/* The context id names the group: MPICH gives it again when all members have freed the
 * communicator, and with it closed the group or kept the id (context_keep). */
static am_status_t group_open(MPIR_Comm * comm, MPIDI_AM_order_t order,
                              struct am_coll_group **group)
{
    uint32_t id = (uint32_t) comm->context_id | (order == MPIDI_AM_BY_STARTS ? STARTS_ID : 0);
    uint32_t *ranks = MPL_malloc((size_t) comm->local_size * sizeof(*ranks), MPL_MEM_COMM);
    struct am_ctx *ctx = MPIDI_AM_global.ctx[0];
    am_status_t status;

    MPIR_Assertp(ranks != NULL);
    for (int i = 0; i < comm->local_size; i++) {
        MPIDI_av_entry_t *av = MPIDI_AM_world_av(MPIDI_AM_world_rank(comm, i));

        ranks[i] = i == comm->rank ? am_rank(ctx) : MPIDI_AM_peer(av, 0, 0);
    }
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    while (!left_close(false) && am_ctx_poll(ctx) >= 0) {
    }
    status = am_coll_group_open(ctx, id, ranks, (uint32_t) comm->local_size, group);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    MPL_free(ranks);
    return status;
}

struct am_coll_group *MPIDI_AM_group_shared(MPIR_Comm * comm, MPIDI_AM_order_t order)
{
    const struct MPIDI_AM_comm_record *record = MPIDI_AM_COMM(comm).records[order];

    return likely(record != NULL && (MPIDI_AM_COMM(comm).bits & MPIDI_AM_COMM_NODE) != 0 &&
                  record->shared_bytes != 0) ? record->group : NULL;
}

struct am_coll_group *MPIDI_AM_group_of(MPIR_Comm * comm, MPIDI_AM_order_t order)
{
    struct MPIDI_AM_comm_record *record = MPIDI_AM_COMM(comm).records[order];

    if (unlikely(record == NULL)) {
        record = record_new(comm, order);
    }
    if (likely(record->group != NULL)) {
        return record->group;
    }
    if (!record->is_refused && ++record->uses >= USES) {
        record->is_refused = group_open(comm, order, &record->group) != AM_OK;
    }
    return record->group;
}

void MPIDI_AM_group_ask(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    struct MPIDI_AM_comm_record *record = MPIDI_AM_COMM(comm).records[MPIDI_AM_BY_CALLS];
    struct am_coll_call barrier = {.kind = AM_COLL_BARRIER };

    if (unlikely(!record->is_asked)) {
        record->is_asked = true;
        if (MPIDI_AM_group_run(comm, record->group, &barrier, errflag) == AM_OK) {
            record->shared_bytes = am_coll_group_shared_bytes(record->group);
        }
    }
}

bool MPIDI_AM_group_is_asked(MPIR_Comm * comm, MPIDI_AM_order_t order)
{
    return MPIDI_AM_COMM(comm).records[order]->is_asked;
}

size_t MPIDI_AM_group_shared_bytes(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    MPIDI_AM_group_ask(comm, errflag);
    return MPIDI_AM_COMM(comm).records[MPIDI_AM_BY_CALLS]->shared_bytes;
}
