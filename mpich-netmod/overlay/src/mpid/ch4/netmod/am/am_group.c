/*
 * The group of libam (am_coll.h) that belongs to a communicator.  A communicator gets
 * it when it has been used a few times, as most communicators never are.  Those that
 * span nodes get one only where a variable gives libam all collectives of a kind.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

#define USES           8        /* the collective that makes the group */
#define NODE_RANKS_MAX 64       /* that can share memory for collectives */

/* What is known of a communicator that has been used. */
struct record {
    struct am_coll_group *group;        /* NULL: not yet, or not any more */
    int uses;                   /* until there is a group */
    bool is_asked;              /* what the members have in common */
    bool is_left;               /* the communicator is freed, the group is to be closed */
    bool is_taken;
    size_t shared_bytes;        /* of a piece that goes through that memory; 0: there is none */
};

static struct record *records;  /* the first is nobody's */
static unsigned record_count;

/* Does libam do anything between nodes: what variables say, or what the network itself does? */
static bool spans_nodes(const MPIR_Comm * comm)
{
    struct am_ctx *ctx = MPIDI_AM_global.ctx[0];

    return MPIDI_AM_global.named != 0 ||
        (MPIDI_AM_global.n_ctx > 0 && (uint32_t) comm->local_size == am_size(ctx) &&
         am_coll_has_network(ctx));
}

/* Where threads are in MPICH at the same time, the records would need a lock. */
void MPIDI_AM_comm_node_set(MPIR_Comm * comm)
{
    const int *nodes = MPIR_Process.node_map;
    bool is_group = MPIDI_AM_global.serial && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM &&
        comm->local_size > 1;
    /* each rank on a simulated machine has a node of its own */
    bool is_node = is_group && comm->local_size <= NODE_RANKS_MAX && !am_time_is_virtual();
    bool spans = is_group && spans_nodes(comm);

    is_group = is_group && (is_node || spans);
    for (int i = 0; is_group && i < comm->local_size; i++) {
        int world_rank = MPIDI_AM_world_rank(comm, i);

        is_node = is_node && world_rank >= 0 && nodes[world_rank] == nodes[MPIR_Process.rank];
        is_group = world_rank >= 0 && (is_node || spans);
    }
    MPIDI_AM_COMM(comm).bits |= is_group ? MPIDI_AM_COMM_GROUP : 0;
    MPIDI_AM_COMM(comm).bits |= is_group && is_node ? MPIDI_AM_COMM_NODE : 0;
    MPIDI_AM_COMM(comm).place = 0;
}

static struct record *record_of(MPIR_Comm * comm)
{
    return &records[MPIDI_AM_COMM(comm).place];
}

static void records_grow(void)
{
    unsigned more = record_count == 0 ? 16 : 2 * record_count;

    records = MPL_realloc(records, more * sizeof(*records), MPL_MEM_COMM);
    MPIR_Assertp(records != NULL);
    memset(records + record_count, 0, (more - record_count) * sizeof(*records));
    record_count = more;
}

static void record_take(MPIR_Comm * comm)
{
    unsigned place = 1;

    while (place < record_count && records[place].is_taken) {
        place++;
    }
    if (place >= record_count) {
        records_grow();
    }
    memset(&records[place], 0, sizeof(records[place]));
    records[place].is_taken = true;
    MPIDI_AM_COMM(comm).place = place;
}

/* The communicator is gone.  False: its group cannot be closed yet. */
static bool record_free(struct record *record)
{
    record->is_left = true;
    if (record->group != NULL && am_coll_group_close(record->group) == AM_ERR_AGAIN) {
        return false;
    }
    record->group = NULL;
    record->is_taken = false;
    return true;
}

/* Try again to close what was left; false: some is left still. */
static bool left_close(void)
{
    bool all = true;

    for (unsigned i = 1; i < record_count; i++) {
        if (records[i].is_taken && records[i].is_left) {
            all = record_free(&records[i]) && all;
        }
    }
    return all;
}

void MPIDI_AM_comm_node_free(MPIR_Comm * comm)
{
    if (MPIDI_AM_global.n_ctx == 0) {   /* the groups went with their context */
        MPL_free(records);
        records = NULL;
        record_count = 0;
    } else if (MPIDI_AM_COMM(comm).place != 0) {
        (void) record_free(record_of(comm));
    }
}

void MPIDI_AM_group_revoke(MPIR_Comm * comm)
{
    if (MPIDI_AM_COMM(comm).place != 0 && record_of(comm)->group != NULL) {
        am_coll_group_abandon(record_of(comm)->group);
    }
}

/* The context id names the group: MPICH gives it again only when all members have
 * freed the communicator, and with it closed the group. */
static am_status_t group_open(MPIR_Comm * comm)
{
    uint32_t *ranks = MPL_malloc((size_t) comm->local_size * sizeof(*ranks), MPL_MEM_COMM);
    struct am_ctx *ctx = MPIDI_AM_global.ctx[0];
    am_status_t status;

    MPIR_Assertp(ranks != NULL);
    for (int i = 0; i < comm->local_size; i++) {
        MPIDI_av_entry_t *av = MPIDI_AM_world_av(MPIDI_AM_world_rank(comm, i));

        ranks[i] = i == comm->rank ? am_rank(ctx) : MPIDI_AM_peer(av, 0, 0);
    }
    while (!left_close() && am_ctx_poll(ctx) >= 0) {
    }
    status = am_coll_group_open(ctx, (uint32_t) comm->context_id, ranks,
                                (uint32_t) comm->local_size, &record_of(comm)->group);
    MPL_free(ranks);
    return status;
}

struct am_coll_group *MPIDI_AM_group_of(MPIR_Comm * comm)
{
    if (unlikely(MPIDI_AM_COMM(comm).place == 0)) {
        record_take(comm);
    }
    if (likely(record_of(comm)->group != NULL)) {
        return record_of(comm)->group;
    }
    if (++record_of(comm)->uses < USES) {
        return NULL;
    }
    if (group_open(comm) != AM_OK) {
        MPIDI_AM_COMM(comm).bits &= ~MPIDI_AM_COMM_GROUP;
    }
    return record_of(comm)->group;
}

void MPIDI_AM_group_ask(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    struct am_coll_call barrier = {.kind = AM_COLL_BARRIER };

    if (unlikely(!record_of(comm)->is_asked)) {
        record_of(comm)->is_asked = true;
        if (MPIDI_AM_group_run(comm, record_of(comm)->group, &barrier, errflag) == AM_OK) {
            record_of(comm)->shared_bytes = am_coll_group_shared_bytes(record_of(comm)->group);
        }
    }
}

bool MPIDI_AM_group_is_asked(MPIR_Comm * comm)
{
    return record_of(comm)->is_asked;
}

size_t MPIDI_AM_group_shared_bytes(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    MPIDI_AM_group_ask(comm, errflag);
    return record_of(comm)->shared_bytes;
}
