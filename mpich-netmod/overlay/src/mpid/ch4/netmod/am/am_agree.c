/*
 * Agreement among the members of a communicator that live, whatever dies
 * meanwhile; MPIX_Comm_agree.
 *
 * The lowest member that lives coordinates.  libam takes none for dead that
 * lives, and all learn of a death sooner or later.
 *
 *   member                       coordinator
 *   GIVE(value) ------------->   all that live have given: joins the values
 *               <-------------   OFFER(joined)
 *   TAKEN       ------------->   all that live have taken it: decided
 *               <-------------   DONE(joined)
 *
 * Who knows that its coordinator is dead gives to the next one: its own value,
 * or the last that it has taken, with the number of who offered it.  A new
 * coordinator that gets a taken value offers that of the highest number.
 * Nobody is through before all that live have taken a value, so a later
 * coordinator finds no other.  It also asks (ASK) who is through already; those
 * answer DONE from the results that are kept, one for each context.
 *
 * A value is some words, joined by AND, and a byte for each rank: has it died
 * (joined by OR), is its death acknowledged (by AND).
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if MPIDI_AM_FT

enum { GIVE, OFFER, TAKEN, DONE, ASK, REVOKE };

enum { RANK_FAILED = 1, RANK_ACKED = 2 };

#define STASH_MAX  4096         /* messages for agreements that have not begun here */

struct wire {
    int32_t type, context_id, rank, offered_by;
    uint32_t number;
    uint32_t count, size;       /* of the value: words, ranks */
};

struct value {
    uint32_t count, size;
    uint32_t words[];           /* and then a byte for each rank */
};

struct agreement {
    struct agreement *next;
    MPIR_Comm *comm;
    uint32_t number;
    int coordinator;            /* to whom the value was given; -1: nobody yet */
    struct value *mine;         /* as coordinator: joined with those of others */
    struct value *taken;        /* NULL: none */
    int offered_by;             /* of `taken` */
    bool offering, done;
    uint8_t *given, *agreed, *asked;    /* of each rank */
};

/* A message that is kept: it came too early, or is arriving. */
struct letter {
    struct letter *next;
    uint32_t source;
    struct wire wire;
    struct value value;
};

struct result {
    struct result *next;
    int context_id;
    uint32_t number;
    struct value *value;
};

static struct {
    struct am_client *client;
    struct agreement *active;
    struct letter *stash;
    int stash_count;
    struct result *results;
} global;

/* ------------------------------------------------------------- values */

static uint8_t *ranks_of(const struct value *value)
{
    return (uint8_t *) (uintptr_t) (value->words + value->count);
}

static size_t body_bytes(const struct value *value)
{
    return value->count * sizeof(value->words[0]) + value->size;
}

static struct value *value_new(uint32_t count, uint32_t size)
{
    struct value *value = MPL_calloc(1, sizeof(*value) + count * sizeof(value->words[0]) + size,
                                     MPL_MEM_OTHER);

    MPIR_Assertp(value != NULL);
    value->count = count;
    value->size = size;
    return value;
}

static struct value *value_copy(const struct value *from)
{
    struct value *value = value_new(from->count, from->size);

    memcpy(value->words, from->words, body_bytes(from));
    return value;
}

static void join(struct value *into, const struct value *from)
{
    uint8_t *to = ranks_of(into);
    const uint8_t *ranks = ranks_of(from);

    for (uint32_t i = 0; i < into->count; i++) {
        into->words[i] &= from->words[i];
    }
    for (uint32_t i = 0; i < into->size; i++) {
        to[i] = (uint8_t) (((to[i] | ranks[i]) & RANK_FAILED) | (to[i] & ranks[i] & RANK_ACKED));
    }
}

/* ------------------------------------------------------------- messages */

static void sent(void *arg, am_status_t status)
{
    MPL_free(arg);
}

/* To a peer of libam; the dead are sent to in vain. */
static void post(uint32_t peer, const struct wire *wire, const struct value *value)
{
    struct wire out = *wire;
    struct value *copy = NULL;
    struct am_data data = am_data_contig(NULL, 0);

    if (value != NULL) {
        copy = value_copy(value);
        out.count = copy->count;
        out.size = copy->size;
        data = am_data_contig(copy->words, body_bytes(copy));
    }
    if (am_send(global.client, peer, &out, sizeof(out), &data, sent, copy) != AM_OK) {
        MPL_free(copy);
    }
}

static void say(struct agreement *agreement, int rank, int type, const struct value *value,
                int offered_by)
{
    struct wire wire = {
        .type = type,
        .context_id = agreement->comm->recvcontext_id,
        .rank = agreement->comm->rank,
        .offered_by = offered_by,
        .number = agreement->number,
    };

    post(MPIDI_AM_member_peer(agreement->comm, rank, 0), &wire, value);
}

static void say_all(struct agreement *agreement, int type, const struct value *value)
{
    for (int i = 0; i < agreement->comm->local_size; i++) {
        if (i != agreement->comm->rank && !MPIDI_AM_member_is_dead(agreement->comm, i)) {
            say(agreement, i, type, value, agreement->comm->rank);
        }
    }
}

void MPIDI_AM_revoke_send(MPIR_Comm * comm, int member, int context_id, int me)
{
    struct wire wire = {.type = REVOKE,.context_id = context_id,.rank = me };

    post(MPIDI_AM_member_peer(comm, member, 0), &wire, NULL);
}

/* ------------------------------------------------------------- results */

static struct result *result_find(int context_id)
{
    struct result *result = global.results;

    while (result != NULL && result->context_id != context_id) {
        result = result->next;
    }
    return result;
}

void MPIDI_AM_agree_forget(int context_id)
{
    for (struct result ** at = &global.results; *at != NULL; at = &(*at)->next) {
        struct result *result = *at;

        if (result->context_id == context_id) {
            *at = result->next;
            MPL_free(result->value);
            MPL_free(result);
            return;
        }
    }
}

static void result_keep(struct agreement *agreement)
{
    struct result *result = MPL_malloc(sizeof(*result), MPL_MEM_OTHER);

    MPIR_Assertp(result != NULL);
    MPIDI_AM_agree_forget(agreement->comm->recvcontext_id);
    result->context_id = agreement->comm->recvcontext_id;
    result->number = agreement->number;
    result->value = value_copy(agreement->taken);
    result->next = global.results;
    global.results = result;
}

/* ------------------------------------------------------------- the protocol */

static void take(struct agreement *agreement, const struct value *value, int offered_by)
{
    struct value *copy = value_copy(value);

    MPL_free(agreement->taken);
    agreement->taken = copy;
    agreement->offered_by = offered_by;
}

static void finish(struct agreement *agreement, const struct value *value)
{
    take(agreement, value, agreement->offered_by);
    agreement->done = true;
    result_keep(agreement);
    if (agreement->coordinator == agreement->comm->rank) {
        say_all(agreement, DONE, agreement->taken);
        return;
    }
    for (int i = 0; i < agreement->comm->local_size; i++) {
        if (agreement->asked[i]) {
            say(agreement, i, DONE, agreement->taken, 0);
        }
    }
}

/* Of each rank that lives? */
static bool of_all(struct agreement *agreement, const uint8_t * flags)
{
    for (int i = 0; i < agreement->comm->local_size; i++) {
        if (!flags[i] && !MPIDI_AM_member_is_dead(agreement->comm, i)) {
            return false;
        }
    }
    return true;
}

static void coordinate(struct agreement *agreement)
{
    int me = agreement->comm->rank;

    agreement->given[me] = 1;
    if (!agreement->offering) {
        if (!of_all(agreement, agreement->given)) {
            return;
        }
        for (int i = 0; i < agreement->comm->local_size; i++) {
            if (MPIDI_AM_member_is_dead(agreement->comm, i)) {
                ranks_of(agreement->mine)[i] |= RANK_FAILED;
            }
        }
        take(agreement, agreement->taken != NULL ? agreement->taken : agreement->mine, me);
        agreement->offering = true;
        agreement->agreed[me] = 1;
        say_all(agreement, OFFER, agreement->taken);
    }
    if (of_all(agreement, agreement->agreed)) {
        finish(agreement, agreement->taken);
    }
}

static void step(struct agreement *agreement)
{
    int me = agreement->comm->rank, lowest = 0;

    if (agreement->done) {
        return;
    }
    while (lowest < me && MPIDI_AM_member_is_dead(agreement->comm, lowest)) {
        lowest++;
    }
    if (lowest != agreement->coordinator) {
        agreement->coordinator = lowest;
        if (lowest != me) {
            say(agreement, lowest, GIVE,
                agreement->taken != NULL ? agreement->taken : agreement->mine,
                agreement->taken != NULL ? agreement->offered_by : -1);
        } else if (me > 0) {
            say_all(agreement, ASK, NULL);
        }
    }
    if (lowest == me) {
        coordinate(agreement);
    }
}

static void given(struct agreement *agreement, const struct wire *wire, const struct value *value)
{
    agreement->given[wire->rank] = 1;
    if (wire->offered_by < 0) {
        join(agreement->mine, value);
    } else if (agreement->taken == NULL || wire->offered_by > agreement->offered_by) {
        take(agreement, value, wire->offered_by);
    }
    step(agreement);
}

static void handle(struct agreement *agreement, const struct wire *wire, const struct value *value)
{
    bool has_value = value->count == agreement->mine->count &&
        value->size == agreement->mine->size;

    if (agreement->done || wire->rank < 0 || wire->rank >= agreement->comm->local_size ||
        (!has_value && (wire->type == GIVE || wire->type == OFFER || wire->type == DONE))) {
        return;
    }
    if (wire->type == DONE) {
        finish(agreement, value);
        return;
    }
    if (MPIDI_AM_member_is_dead(agreement->comm, wire->rank)) {
        return;                 /* the next one coordinates */
    }
    switch (wire->type) {
        case GIVE:
            given(agreement, wire, value);
            break;
        case OFFER:
            take(agreement, value, wire->rank);
            say(agreement, wire->rank, TAKEN, NULL, 0);
            break;
        case TAKEN:
            agreement->agreed[wire->rank] = 1;
            step(agreement);
            break;
        case ASK:
            agreement->asked[wire->rank] = 1;
            break;
        default:
            break;
    }
}

void MPIDI_AM_agree_dead(void)
{
    for (struct agreement * at = global.active; at != NULL; at = at->next) {
        step(at);
    }
}

/* ------------------------------------------------------------- what arrives */

/* True: the letter is kept.  The caller has the lock. */
static bool deliver(struct letter *letter)
{
    const struct wire *wire = &letter->wire;
    struct agreement *agreement = global.active;
    struct result *result;

    if (wire->type == REVOKE) {
        MPIDI_AM_revoke_message(wire->context_id, wire->rank);
        return false;
    }
    while (agreement != NULL && (agreement->comm->recvcontext_id != wire->context_id ||
                                 agreement->number != wire->number)) {
        agreement = agreement->next;
    }
    if (agreement != NULL) {
        handle(agreement, wire, &letter->value);
        return false;
    }
    result = result_find(wire->context_id);
    if (result != NULL && result->number >= wire->number) {
        if (result->number == wire->number && (wire->type == GIVE || wire->type == ASK)) {
            struct wire answer = *wire;

            answer.type = DONE;
            answer.rank = 0;
            post(letter->source, &answer, result->value);
        }
        return false;
    }
    if (global.stash_count == STASH_MAX) {
        return false;
    }
    letter->next = global.stash;
    global.stash = letter;
    global.stash_count++;
    return true;
}

static void landed(void *arg, am_status_t status)
{
    struct letter *letter = arg;

    MPIDI_AM_ft_lock();
    if (status != AM_OK || !deliver(letter)) {
        MPL_free(letter);
    }
    MPIDI_AM_ft_unlock();
}

static am_status_t receive(void *arg, struct am_recv *recv, uint32_t source, const void *info,
                           size_t info_bytes, size_t bytes, struct am_data *landing,
                           am_done_fn * done, void **done_arg)
{
    const void *payload = am_recv_payload(recv);
    struct letter *letter;
    struct wire wire;

    if (info_bytes != sizeof(wire)) {
        return AM_ERR_INVALID;
    }
    memcpy(&wire, info, sizeof(wire));
    if (wire.count * sizeof(uint32_t) + wire.size != bytes) {
        return AM_ERR_INVALID;
    }
    letter = MPL_malloc(sizeof(*letter) + bytes, MPL_MEM_OTHER);
    if (letter == NULL) {
        return AM_ERR_MEMORY;
    }
    letter->source = source;
    letter->wire = wire;
    letter->value.count = wire.count;
    letter->value.size = wire.size;
    if (payload != NULL || bytes == 0) {
        memcpy(letter->value.words, payload, bytes);
        landed(letter, AM_OK);
        return AM_DONE;
    }
    *landing = am_data_contig(letter->value.words, bytes);
    *done = landed;
    *done_arg = letter;
    return AM_OK;
}

int MPIDI_AM_ft_open(void)
{
    am_status_t status = am_client_register(MPIDI_AM_global.ctx[0], AM_ORDERED, receive, NULL,
                                            &global.client);

    return status == AM_OK ? MPI_SUCCESS : MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
}

void MPIDI_AM_ft_close(void)
{
    for (int vci = 0; vci < MPIDI_AM_global.n_ctx; vci++) {
        MPIDI_AM_sinks_close(vci);
    }
    while (global.results != NULL) {
        MPIDI_AM_agree_forget(global.results->context_id);
    }
    while (global.stash != NULL) {
        struct letter *letter = global.stash;

        global.stash = letter->next;
        MPL_free(letter);
    }
    global.stash_count = 0;
}

/* ------------------------------------------------------------- calls */

static void letters_read(void)
{
    struct letter *letter = global.stash, *next;

    global.stash = NULL;
    global.stash_count = 0;
    for (; letter != NULL; letter = next) {
        next = letter->next;
        if (!deliver(letter)) {
            MPL_free(letter);
        }
    }
}

static struct agreement *agreement_new(MPIR_Comm * comm, const uint32_t * words, int count)
{
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of_comm(comm);
    struct agreement *agreement = MPL_calloc(1, sizeof(*agreement) + 3 * (size_t) comm->local_size,
                                             MPL_MEM_OTHER);

    MPIR_Assertp(agreement != NULL);
    agreement->given = (uint8_t *) (agreement + 1);
    agreement->agreed = agreement->given + comm->local_size;
    agreement->asked = agreement->agreed + comm->local_size;
    agreement->comm = comm;
    agreement->number = ft->agreements++;
    agreement->coordinator = agreement->offered_by = -1;
    agreement->mine = value_new((uint32_t) count, (uint32_t) comm->local_size);
    memcpy(agreement->mine->words, words, (size_t) count * sizeof(*words));
    for (int i = 0; i < comm->local_size; i++) {
        ranks_of(agreement->mine)[i] = (uint8_t)
            ((MPIDI_AM_member_is_dead(comm, i) ? RANK_FAILED : 0) |
             (ft->acked != NULL && ft->acked[i] ? RANK_ACKED : 0));
    }
    return agreement;
}

static void agreement_free(struct agreement *agreement)
{
    struct agreement **at = &global.active;

    MPIDI_AM_ft_lock();
    while (*at != agreement) {
        at = &(*at)->next;
    }
    *at = agreement->next;
    MPIDI_AM_ft_unlock();
    MPL_free(agreement->mine);
    MPL_free(agreement->taken);
    MPL_free(agreement);
}

/* Wait until it is through. */
static int attend(struct agreement *agreement)
{
    MPID_Progress_state state;
    int mpi_errno = MPI_SUCCESS;

    MPIDI_AM_FT_CALL_ENTER();
    agreement->next = global.active;
    global.active = agreement;
    letters_read();
    step(agreement);
    MPIDI_AM_FT_CALL_EXIT();
    MPID_Progress_start(&state);
    while (!agreement->done && mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPID_Progress_wait_once(&state);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    MPID_Progress_end(&state);
    return mpi_errno;
}

int MPIDI_AM_agree_words(MPIR_Comm * comm, uint32_t * words, int count, uint8_t ** failed_p,
                         bool * acked_p)
{
    struct agreement *agreement;
    int mpi_errno = MPI_SUCCESS;
    const uint8_t *ranks;

    *failed_p = NULL;
    MPIR_ERR_CHKANDJUMP(comm->comm_kind != MPIR_COMM_KIND__INTRACOMM, mpi_errno, MPI_ERR_COMM,
                        "**commnotintra");
    MPIDI_AM_dead_check();
    MPIDI_AM_FT_CALL_ENTER();
    agreement = agreement_new(comm, words, count);
    MPIDI_AM_FT_CALL_EXIT();
    mpi_errno = attend(agreement);
    if (mpi_errno == MPI_SUCCESS) {
        memcpy(words, agreement->taken->words, (size_t) count * sizeof(*words));
        ranks = ranks_of(agreement->taken);
        *failed_p = MPL_malloc((size_t) comm->local_size, MPL_MEM_OTHER);
        MPIR_Assertp(*failed_p != NULL);
        *acked_p = true;
        for (int i = 0; i < comm->local_size; i++) {
            (*failed_p)[i] = (ranks[i] & RANK_FAILED) != 0;
            *acked_p = *acked_p && ranks[i] != RANK_FAILED;
        }
    }
    agreement_free(agreement);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_AM_agree(MPIR_Comm * comm, int *flag)
{
    uint32_t word = (uint32_t) * flag;
    int mpi_errno = MPI_SUCCESS;
    uint8_t *failed;
    bool acked = true;

    mpi_errno = MPIDI_AM_agree_words(comm, &word, 1, &failed, &acked);
    MPIR_ERR_CHECK(mpi_errno);
    MPL_free(failed);
    *flag = (int) word;
    if (!acked) {
        MPIDI_AM_dead_check();
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**mpix_comm_agree");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#endif /* MPIDI_AM_FT */
