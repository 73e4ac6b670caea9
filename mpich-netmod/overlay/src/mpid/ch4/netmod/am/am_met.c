/*
 * Since MPICH 5.0: the processes of other worlds that this one has met, their addresses, and
 * when libam may let go of them.
 *
 * A process may be through with its intercommunicator, and end, before all of the other
 * side have connected to it: the exchange waits for the leaders only.  So whoever meets a
 * process of another world greets it, as it does us, and stays until it has had as many
 * greetings as it has met processes.
 *
 * MPICH never forgets a world, nor tells that one cannot be reached any more.  So for each
 * process the communicators that it is in are counted, and libam lets go of those that
 * are in none once all greetings are here.  Who is met again is connected to again, as
 * MPICH gives the addresses with each new intercommunicator.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_noinline.h"
#include <sched.h>

#if MPIDI_AM_SINCE(5, 0, 0)

/* A context that no communicator can have. */
#define GREETING_CONTEXT (UINT32_MAX - 2)

#define MET_ENTER() MPID_THREAD_CS_ENTER(VCI, MPIDIU_THREAD_DYNPROC_MUTEX)
#define MET_EXIT()  MPID_THREAD_CS_EXIT(VCI, MPIDIU_THREAD_DYNPROC_MUTEX)

struct met {
    uint32_t peer;
    int meetings;               /* so many greetings it owes us, or has sent */
    int comms;
    bool is_fresh;              /* its communicator is being made */
    unsigned left_turn;         /* when the last one was freed */
};

/* Threads make and free communicators; vci 0's lock, where it is taken too, comes first. */
static struct {
    struct met *rows;
    int count, room;
    int owed;                   /* greetings that have not come; libam's number of whoever sent
                                 * one is not that of our own connection to it */
    unsigned turn;              /* communicators with other worlds that were made */
} met;

static struct met *met_find(uint32_t peer)
{
    for (int i = 0; i < met.count; i++) {
        if (met.rows[i].peer == peer) {
            return &met.rows[i];
        }
    }
    return NULL;
}

static void met_add(uint32_t peer)
{
    struct met *row = met_find(peer);

    if (row == NULL) {
        if (met.count == met.room) {
            met.room = MPL_MAX(16, met.room * 2);
            met.rows = MPL_realloc(met.rows, (size_t) met.room * sizeof(*met.rows),
                                   MPL_MEM_ADDRESS);
            MPIR_Assertp(met.rows != NULL);
        }
        row = &met.rows[met.count++];
        memset(row, 0, sizeof(*row));
        row->peer = peer;
    }
    row->meetings++;
    row->is_fresh = true;
    met.owed++;
}

static void greeting_sent(void *arg, const struct am_msg_status *status)
{
}

static void greeting_came(void *arg, const struct am_msg_status *status)
{
    if (status->status == AM_OK) {
        MET_ENTER();
        met.owed--;
        MET_EXIT();
    }
}

/* Greet it, and await a greeting of whom it may be. */
static void greet(uint32_t peer)
{
    struct am_msg_envelope envelope = {.context = GREETING_CONTEXT };
    struct am_msg_mask mask = {.context = UINT32_MAX,.source = 0,.tag = UINT32_MAX };
    struct am_data none = am_data_contig(NULL, 0);
    struct am_msg_req *msg;
    struct am_msg_status result;

    MET_ENTER();
    met_add(peer);
    MET_EXIT();
    (void) am_msg_isend(MPIDI_AM_global.ctx[0], peer, &envelope, &none, 0, greeting_sent, NULL,
                        &msg);
    if (am_msg_irecv(MPIDI_AM_global.ctx[0], &envelope, &mask, &none, greeting_came, NULL,
                     &result, &msg) == AM_DONE) {
        greeting_came(NULL, &result);
    }
}

static bool is_dead(const struct met *row)
{
    return am_peer_is_dead(MPIDI_AM_global.ctx[0], row->peer);
}

/* Those that have died need not greet. */
static bool all_greeted(void)
{
    int owed = met.owed;

    for (int i = 0; owed > 0 && i < met.count; i++) {
        owed -= is_dead(&met.rows[i]) ? met.rows[i].meetings : 0;
    }
    return owed <= 0;
}

void MPIDI_AM_greetings_wait(void)
{
    while (!all_greeted() && am_ctx_poll(MPIDI_AM_global.ctx[0]) >= 0) {
        sched_yield();
    }
}

void MPIDI_AM_late_free(void)
{
    MPL_free(met.rows);
    memset(&met, 0, sizeof(met));
}

/* Is it one that a connect or an accept is talking with? */
static bool is_talked_with(uint32_t peer)
{
    const MPIDI_dyn_av_table_t *table = &MPIDI_global.avt_mgr.dynamic_av_table;

    for (int i = 0; i < table->size; i++) {
        if (table->upids[i] != NULL && MPIDI_AM_peer(&table->table[i], 0, 0) == peer) {
            return true;
        }
    }
    return false;
}

/*
 * Let go of those that no communicator reaches any more.  One that was reached until now
 * is kept for one more: two worlds that meet again and again stay connected.  What is
 * still under way with a process keeps it until the next time.
 */
static void met_sweep(void)
{
    int kept = 0;
    bool may_go;

    MET_ENTER();
    may_go = all_greeted();
    for (int i = 0; i < met.count; i++) {
        struct met *row = &met.rows[i];
        bool was_dead = is_dead(row);

        if (!may_go || row->comms > 0 || row->is_fresh || row->left_turn == met.turn ||
            is_talked_with(row->peer) ||
            am_disconnect(MPIDI_AM_global.ctx[0], row->peer) == AM_ERR_AGAIN) {
            met.rows[kept++] = *row;
        } else if (was_dead) {
            met.owed -= MPL_MIN(met.owed, row->meetings);
        }
    }
    met.count = kept;
    MET_EXIT();
}

/* Count `by` for each process of another world in a group; is there any? */
static bool group_count(MPIR_Group * group, int by)
{
    bool any = false;

    for (int i = 0; group != NULL && i < group->size; i++) {
        MPIR_Lpid lpid = MPIR_Group_rank_to_lpid(group, i);
        struct met *row;

        if ((lpid & MPIR_LPID_DYNAMIC_MASK) || MPIR_LPID_WORLD_INDEX(lpid) == 0) {
            continue;
        }
        row = met_find(MPIDI_AM_peer(MPIDIU_lpid_to_av(lpid), 0, 0));
        if (row != NULL) {
            any = true;
            row->comms += by;
            row->is_fresh = false;
            row->left_turn = met.turn;
        }
    }
    return any;
}

void MPIDI_AM_comm_met_enter(MPIR_Comm * comm)
{
    bool any;

    if (met.count == 0) {
        return;
    }
    MET_ENTER();
    any = group_count(comm->local_group, 1);
    if (comm->comm_kind == MPIR_COMM_KIND__INTERCOMM) {
        any = group_count(comm->remote_group, 1) || any;
    }
    met.turn += any;
    MET_EXIT();
}

void MPIDI_AM_comm_met_leave(MPIR_Comm * comm)
{
    if (met.count == 0) {
        return;
    }
    MET_ENTER();
    (void) group_count(comm->local_group, -1);
    if (comm->comm_kind == MPIR_COMM_KIND__INTERCOMM) {
        (void) group_count(comm->remote_group, -1);
    }
    MET_EXIT();
}

/* ------------------------------------------------------------ addresses */

/* libam knows an address that it has met and answers with the same peer. */
int MPIDI_AM_insert_upid(MPIR_Lpid lpid, const char *upid, int upid_len)
{
    bool is_of_world = !(lpid & MPIR_LPID_DYNAMIC_MASK);
    uint32_t peer;
    am_status_t status;

    if (is_of_world) {
        met_sweep();
    }
    status = MPIDI_AM_connect_upid(upid, upid_len, &peer);
    if (status != AM_OK) {
        return MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
    }
    MPIDI_AM_AV(MPIDIU_lpid_to_av_slow(lpid)) = (MPIDI_AM_addr_t) {.peer = peer };
    if (is_of_world && MPIR_LPID_WORLD_INDEX(lpid) != 0) {
        greet(peer);
    }
    return MPI_SUCCESS;
}

#endif
