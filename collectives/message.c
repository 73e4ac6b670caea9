/*
 * The messages of steps: DATA, READY, RTS and FIN on their way out, and what happens
 * when a message meets the step that waits for it.
 */
#include "config.h"

#include "base/copy.h"
#include "collectives/message.h"

#include <string.h>

/* aux is the hash of what members must agree on. */
void am_coll_step_words(const struct am_step *step, uint64_t *words)
{
    am_coll_head_write(step->req->group, step->req->number, step->tag, words);
}

static am_status_t send(struct am_coll_peer *cp, struct am_op *op,
                        uint32_t handler, uint32_t aux, const uint64_t *words,
                        uint32_t word_count, const void *data, size_t bytes)
{
    return op != NULL ? am_op_send(op, handler, aux, words, word_count, data,
                                   bytes)
                      : am_peer_send(cp->peer, handler, aux, words, word_count,
                                     data, bytes);
}

static void step_wait(struct am_step *step)
{
    am_list_push(am_coll_bucket(step->req, step->member, step->tag),
                 &step->link);
}

/* An RTS or a READY has left: the step waits for the answer. */
static void note_sent(struct am_coll_peer *cp, struct am_step *step)
{
    cp->notes += !step->is_answer;
    step->is_noted = !step->is_answer;
    step_wait(step);
}

/* May one more leave?  The receiver holds so many, unless it waits for this one; the step
 * waits until another of them is answered, out of the way of what else there is to say. */
static bool may_note(struct am_coll_peer *cp, struct am_step *step)
{
    if (step->is_answer || cp->notes < cp->coll->notes_max) {
        return true;
    }
    am_list_push(&cp->noting, &step->link);
    return false;
}

void am_coll_note_end(struct am_step *step)
{
    struct am_coll_peer *cp = step->is_noted ? am_coll_step_peer(step) : NULL;

    step->is_noted = false;
    if (cp == NULL) {
        return;
    }
    cp->notes--;
    while (cp->notes < cp->coll->notes_max && !cp->coll->is_closing &&
           !am_list_is_empty(&cp->noting)) {
        struct am_step *next =
                am_container(am_list_pop(&cp->noting), struct am_step, link);

        if (next->req->status == AM_OK) { /* else nothing begins any more */
            am_coll_step_tell(cp, next);
        }
    }
}

/* ------------------------------------------------------------ on their way */

/* With a key to the step's memory, which is open to the peer; then it waits for FIN. */
static am_status_t offer_memory(struct am_coll_peer *cp, struct am_step *step,
                                struct am_op *op, uint32_t handler)
{
    uint64_t words[AM_COLL_KEY_WORDS];
    am_status_t status;

    if (!may_note(cp, step) || !am_coll_xfer_open(step, cp)) {
        return AM_OK; /* it waits, or has failed */
    }
    am_coll_step_words(step, words);
    words[2] = step->length;
    am_coll_xfer_key(step, cp, words + 3);
    status = send(cp, op, handler, step->req->print, words, AM_COLL_KEY_WORDS,
                  NULL, 0);
    if (status == AM_OK) {
        note_sent(cp, step);
    }
    return status;
}

/* READY: the sender may put. */
static am_status_t offer_landing(struct am_coll_peer *cp, struct am_step *step,
                                 struct am_op *op)
{
    return offer_memory(cp, step, op, AM_COLL_H_READY);
}

/* FIN: the bytes are here. */
static am_status_t tell_fetched(struct am_coll_peer *cp, struct am_step *step,
                                struct am_op *op)
{
    uint64_t words[2];
    am_status_t status;

    am_coll_step_words(step, words);
    status = send(cp, op, AM_COLL_H_FIN, step->req->print, words, 2, NULL, 0);
    if (status == AM_OK) {
        am_coll_xfer_end(step);
        am_coll_step_end(step);
    }
    return status;
}

/* DATA; to spare pages an RTS with the key to my memory; without credit one with none,
 * which waits for the READY. */
static am_status_t offer_data(struct am_coll_peer *cp, struct am_step *step,
                              struct am_op *op)
{
    struct am_coll_req *req = step->req;
    uint64_t words[3];
    am_status_t status;

    if (step->xfer != NULL || am_coll_peer_spares(cp, step->length)) {
        return offer_memory(cp, step, op, AM_COLL_H_RTS);
    }
    am_coll_step_words(step, words);
    if (cp->credit > 0) {
        status = send(cp, op, AM_COLL_H_DATA, req->print, words, 2, step->from,
                      step->length);
        if (status == AM_OK) {
            cp->credit--;
            req->coll->stats[AM_COLL_STAT_DATA]++;
            am_coll_step_end(step);
        }
        return status;
    }
    if (!may_note(cp, step)) {
        return AM_OK;
    }
    words[2] = step->length;
    status = send(cp, op, AM_COLL_H_RTS, req->print, words, 3, NULL, 0);
    if (status == AM_OK) {
        req->coll->stats[AM_COLL_STAT_NO_CREDIT]++;
        note_sent(cp, step);
    }
    return status;
}

am_status_t am_coll_step_offer(struct am_coll_peer *cp, struct am_step *step,
                               struct am_op *op)
{
    am_status_t status = step->kind == AM_STEP_SEND ? offer_data(cp, step, op)
                         : step->xfer != NULL && step->xfer->is_fetched
                                 ? tell_fetched(cp, step, op)
                                 : offer_landing(cp, step, op);

    if (status != AM_OK && status != AM_ERR_AGAIN) {
        am_coll_req_fail(step->req, status);
    }
    return status;
}

void am_coll_step_tell(struct am_coll_peer *cp, struct am_step *step)
{
    if (!am_list_is_empty(&cp->waiting) ||
        am_coll_step_offer(cp, step, NULL) == AM_ERR_AGAIN) {
        am_list_push(&cp->waiting, &step->link);
        am_coll_peer_queue(cp);
    }
}

void am_coll_req_tell(struct am_coll_req *req, uint32_t member)
{
    struct am_step step = {.req = req, .member = member};
    struct am_coll_peer *cp = am_coll_step_peer(&step);
    uint64_t words[3] = {0};

    am_coll_step_words(&step, words);
    if (cp != NULL) { /* an RTS that it looks at because of the hash alone */
        (void)send(cp, NULL, AM_COLL_H_RTS, req->print, words, 3, NULL, 0);
    }
}

/* ---------------------------------------------------------------- meetings */

/* A message that came before its step, off the list; NULL: none. */
static struct am_coll_held *held_take(const struct am_step *step,
                                      bool (*fits)(uint32_t handler))
{
    struct am_list *list = &step->req->held;

    for (struct am_list *at = list->next; at != list; at = at->next) {
        struct am_coll_held *held = am_container(at, struct am_coll_held, link);

        if (held->member == step->member && held->tag == step->tag &&
            fits(held->handler)) {
            am_list_remove(at);
            return held;
        }
    }
    return NULL;
}

static bool fits_send(uint32_t handler)
{
    return handler == AM_COLL_H_READY;
}

static bool fits_recv(uint32_t handler)
{
    return handler == AM_COLL_H_DATA || handler == AM_COLL_H_RTS;
}

/* The two sides must mean the same length. */
static bool length_agrees(struct am_step *step, size_t bytes)
{
    if (bytes == step->length) {
        return true;
    }
    am_log(am_ctx_log(step->req->coll->ctx), AM_LOG_ERROR,
           "collective %u of group %u: %zu bytes from member %u where %zu are "
           "expected",
           step->req->number, step->req->group->id, bytes, step->member,
           step->length);
    am_coll_req_fail(step->req, AM_ERR_TRUNCATE);
    return false;
}

static void data_take(struct am_step *step, const void *data, size_t bytes)
{
    struct am_coll *coll = step->req->coll;

    if (!length_agrees(step, bytes)) {
        return;
    }
    if (bytes > 0) {
        am_copy(step->to, data, bytes);
        am_env_charge(coll->env, AM_COST_COPY, bytes);
        coll->stats[AM_COLL_STAT_COPY_BYTES] += bytes;
    }
    am_coll_step_end(step);
}

/* The step, which is on no list, meets its message. */
static void step_meet(struct am_step *step, const struct am_coll_held *what,
                      const void *data)
{
    switch (what->handler) {
    case AM_COLL_H_DATA:
        data_take(step, data, what->bytes);
        break;
    case AM_COLL_H_RTS:
        if (!length_agrees(step, what->bytes)) {
            break;
        }
        if (what->has_key) {
            am_coll_get_start(step, &what->key);
        } else {
            step->is_answer = true;
            am_coll_step_tell(what->from, step); /* READY */
        }
        break;
    case AM_COLL_H_READY:
        if (length_agrees(step, what->bytes)) {
            am_coll_put_start(step, &what->key);
        }
        break;
    default: /* AM_COLL_H_FIN */
        am_coll_xfer_close(step);
        am_coll_step_end(step);
    }
}

/* Which message a step on a bucket waits for. */
static bool step_wants(const struct am_step *step, uint32_t handler)
{
    return step->xfer != NULL           ? handler == AM_COLL_H_FIN
           : step->kind == AM_STEP_SEND ? fits_send(handler)
                                        : fits_recv(handler);
}

bool am_coll_step_deliver(struct am_coll_req *req,
                          const struct am_coll_held *what, const void *data)
{
    struct am_list *bucket = am_coll_bucket(req, what->member, what->tag);

    for (struct am_list *at = bucket->next; at != bucket; at = at->next) {
        struct am_step *step = am_container(at, struct am_step, link);

        if (step->member == what->member && step->tag == what->tag &&
            step_wants(step, what->handler)) {
            am_list_remove(at);
            am_coll_note_end(step);
            step_meet(step, what, data);
            return true;
        }
    }
    return false;
}

static void step_begin(struct am_step *step, bool (*fits)(uint32_t handler),
                       bool is_large)
{
    struct am_coll *coll = step->req->coll;
    struct am_coll_held *held = held_take(step, fits);

    if (held != NULL) {
        step_meet(step, held, held->data);
        am_coll_held_free(coll, held);
    } else if (is_large && step->kind == AM_STEP_RECV) {
        am_coll_step_tell(am_coll_step_peer(step), step); /* READY */
    } else {
        step_wait(step);
    }
}

void am_coll_send_begin(struct am_step *step)
{
    struct am_coll_peer *cp = am_coll_step_peer(step);

    am_list_init(&step->link);
    if (cp == NULL) {
        am_coll_req_fail(step->req, AM_ERR_PEER);
    } else if (step->length <= cp->eager_max) {
        am_coll_step_tell(cp, step);
    } else {
        step_begin(step, fits_send, true);
    }
}

void am_coll_recv_begin(struct am_step *step)
{
    struct am_coll_peer *cp = am_coll_step_peer(step);

    am_list_init(&step->link);
    if (cp == NULL) {
        am_coll_req_fail(step->req, AM_ERR_PEER);
    } else {
        step_begin(step, fits_recv, step->length > cp->eager_max);
    }
}
