/*
 * What the members of an agreement send each other (am_agree.h): values, and the
 * messages that carry them, by a client of libam.  That a communicator is revoked
 * goes by the same client, so that it is in order with them.
 *
 * A message of an agreement that has not begun here is kept until it begins.
 */
#include <mpidimpl.h>
#include "am_agree.h"

#if MPIDI_AM_FT

#define STASH_MAX  4096         /* messages for agreements that have not begun here */

/* A message that is kept: it came too early, or is arriving. */
struct letter {
    struct letter *next;
    uint32_t source;
    struct MPIDI_AM_wire wire;
    struct MPIDI_AM_value value;
};

static struct {
    struct am_client *client;
    struct letter *stash;
    int stash_count;
} global;

/* ------------------------------------------------------------- values */

uint8_t *MPIDI_AM_value_ranks(const struct MPIDI_AM_value *value)
{
    return (uint8_t *) (uintptr_t) (value->words + value->count);
}

static size_t body_bytes(const struct MPIDI_AM_value *value)
{
    return value->count * sizeof(value->words[0]) + value->size;
}

struct MPIDI_AM_value *MPIDI_AM_value_new(uint32_t count, uint32_t size)
{
    struct MPIDI_AM_value *value =
        MPL_calloc(1, sizeof(*value) + count * sizeof(value->words[0]) + size, MPL_MEM_OTHER);

    MPIR_Assertp(value != NULL);
    value->count = count;
    value->size = size;
    return value;
}

struct MPIDI_AM_value *MPIDI_AM_value_copy(const struct MPIDI_AM_value *from)
{
    struct MPIDI_AM_value *value = MPIDI_AM_value_new(from->count, from->size);

    memcpy(value->words, from->words, body_bytes(from));
    return value;
}

void MPIDI_AM_value_join(struct MPIDI_AM_value *into, const struct MPIDI_AM_value *from)
{
    uint8_t *to = MPIDI_AM_value_ranks(into);
    const uint8_t *ranks = MPIDI_AM_value_ranks(from);

    for (uint32_t i = 0; i < into->count; i++) {
        into->words[i] &= from->words[i];
    }
    for (uint32_t i = 0; i < into->size; i++) {
        to[i] = (uint8_t) (((to[i] | ranks[i]) & MPIDI_AM_RANK_FAILED) |
                           (to[i] & ranks[i] & MPIDI_AM_RANK_ACKED));
    }
}

/* ------------------------------------------------------------- what is sent */

static void sent(void *arg, am_status_t status)
{
    MPL_free(arg);
}

void MPIDI_AM_agree_post(uint32_t peer, const struct MPIDI_AM_wire *wire,
                         const struct MPIDI_AM_value *value)
{
    struct MPIDI_AM_wire out = *wire;
    struct MPIDI_AM_value *copy = NULL;
    struct am_data data = am_data_contig(NULL, 0);

    if (value != NULL) {
        copy = MPIDI_AM_value_copy(value);
        out.count = copy->count;
        out.size = copy->size;
        data = am_data_contig(copy->words, body_bytes(copy));
    }
    if (am_send(global.client, peer, &out, sizeof(out), &data, sent, copy) != AM_OK) {
        MPL_free(copy);
    }
}

void MPIDI_AM_agree_say(struct MPIDI_AM_agreement *agreement, int rank, int type,
                        const struct MPIDI_AM_value *value, int offered_by)
{
    struct MPIDI_AM_wire wire = {
        .type = type,
        .context_id = agreement->comm->recvcontext_id,
        .rank = agreement->comm->rank,
        .offered_by = offered_by,
        .number = agreement->number,
    };

    MPIDI_AM_agree_post(MPIDI_AM_member_peer(agreement->comm, rank, 0), &wire, value);
}

void MPIDI_AM_agree_say_all(struct MPIDI_AM_agreement *agreement, int type,
                            const struct MPIDI_AM_value *value)
{
    for (int i = 0; i < agreement->comm->local_size; i++) {
        if (i != agreement->comm->rank && !MPIDI_AM_member_is_dead(agreement->comm, i)) {
            MPIDI_AM_agree_say(agreement, i, type, value, agreement->comm->rank);
        }
    }
}

void MPIDI_AM_revoke_send(MPIR_Comm * comm, int member, int context_id, int me)
{
    struct MPIDI_AM_wire wire = {.type = MPIDI_AM_REVOKE,.context_id = context_id,.rank = me };

    MPIDI_AM_agree_post(MPIDI_AM_member_peer(comm, member, 0), &wire, NULL);
}

/* ------------------------------------------------------------- what arrives */

/* True: the letter is kept.  The caller has the lock. */
static bool deliver(struct letter *letter)
{
    const struct MPIDI_AM_wire *wire = &letter->wire;

    if (wire->type == MPIDI_AM_REVOKE) {
        MPIDI_AM_revoke_message(wire->context_id, wire->rank, letter->source);
        return false;
    }
    if (MPIDI_AM_agree_message(letter->source, wire, &letter->value) ||
        global.stash_count == STASH_MAX) {
        return false;
    }
    letter->next = global.stash;
    global.stash = letter;
    global.stash_count++;
    return true;
}

void MPIDI_AM_agree_letters_read(void)
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
    struct MPIDI_AM_wire wire;

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
    MPIDI_AM_agree_forget_all();
    MPIDI_AM_revoke_forget_all();
    while (global.stash != NULL) {
        struct letter *letter = global.stash;

        global.stash = letter->next;
        MPL_free(letter);
    }
    global.stash_count = 0;
}

#endif /* MPIDI_AM_FT */
