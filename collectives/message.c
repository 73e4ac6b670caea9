/*
 * The messages of steps: DATA, READY and RTS on their way out, puts, and what
 * happens when a message meets the step that waits for it.
 */
#include "config.h"

#include "collectives/coll.h"

#include <string.h>

/* aux is the hash of what members must agree on. */
void am_coll_step_words(const struct am_step *step, uint64_t *words)
{
    const struct am_coll_req *req = step->req;

    words[0] = (uint64_t)req->group->id << 32 | req->number;
    words[1] = (uint64_t)req->group->rank << 32 | step->tag;
}

static struct am_coll_peer *step_peer(const struct am_step *step)
{
    return am_coll_member_peer(step->req->group, step->member);
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

/* -------------------------------------------------------------------- puts */

static struct am_coll_xfer *xfer_new(struct am_step *step)
{
    struct am_coll_xfer *xfer = am_pool_get(&step->req->coll->xfers);

    if (xfer == NULL) {
        am_coll_req_fail(step->req, AM_ERR_MEMORY);
        return NULL;
    }
    memset(xfer, 0, sizeof(*xfer));
    xfer->step = step;
    step->xfer = xfer;
    return xfer;
}

static void xfer_end(struct am_step *step)
{
    am_pool_put(&step->req->coll->xfers, step->xfer);
    step->xfer = NULL;
}

static void put_done(void *arg, am_status_t status)
{
    struct am_coll_xfer *xfer = arg;
    struct am_step *step = xfer->step;
    struct am_coll_req *req = step->req;

    xfer_end(step);
    req->flying--;
    if (status != AM_OK) {
        am_coll_req_fail(req, status);
    } else {
        am_coll_step_end(step);
    }
}

/* One that fits a packet, and is not one: it has been counted as a single copy. */
static bool is_single(const struct am_coll_peer *cp, size_t bytes)
{
    return bytes <= cp->eager_max && bytes > am_peer_ready_bytes(cp->peer);
}

/* The receiver has said where: put it there, and PUT after it. */
static void put_start(struct am_step *step, const struct am_key *key)
{
    struct am_coll_req *req = step->req;
    struct am_data data = am_data_contig(step->from, step->length);
    struct am_coll_peer *cp = step_peer(step);
    struct am_coll_xfer *xfer = cp == NULL ? NULL : xfer_new(step);
    uint64_t words[2];

    if (xfer == NULL) {
        am_coll_req_fail(req, AM_ERR_MEMORY);
        return;
    }
    am_coll_step_words(step, words);
    req->flying++;
    req->coll->stats[AM_COLL_STAT_PUT]++;
    am_bulk_put(&xfer->bulk, cp->peer,
                &(struct am_transfer){.local = &data,
                                      .key = key,
                                      .bytes = step->length,
                                      .single = is_single(cp, step->length),
                                      .done = put_done,
                                      .arg = xfer,
                                      .handler = AM_COLL_H_PUT,
                                      .words = words,
                                      .word_count = 2});
}

/* Open the memory that a receive goes to, for its sender only. */
static struct am_coll_xfer *landing_open(struct am_step *step,
                                         struct am_coll_peer *cp)
{
    struct am_data data = am_data_contig(step->to, step->length);
    struct am_coll_xfer *xfer = xfer_new(step);

    if (xfer == NULL) {
        return NULL;
    }
    if (am_region_open(step->req->coll->ctx, &xfer->region, &data,
                       AM_DEV_CAP_PUT, cp->peer) != AM_OK) {
        xfer_end(step);
        am_coll_req_fail(step->req, AM_ERR_MEMORY);
        return NULL;
    }
    return xfer;
}

/* ------------------------------------------------------------ on their way */

/* READY: the memory is open, the sender may put.  Then it waits for the PUT. */
static am_status_t offer_landing(struct am_coll_peer *cp, struct am_step *step,
                                 struct am_op *op)
{
    struct am_coll_xfer *xfer = step->xfer;
    uint64_t words[7];
    struct am_key key;
    am_status_t status;

    if (xfer == NULL) {
        xfer = landing_open(step, cp);
    }
    if (xfer == NULL) {
        return AM_OK; /* failed */
    }
    am_coll_step_words(step, words);
    am_region_key_for(&xfer->region, cp->peer, &key);
    words[2] = step->length;
    memcpy(words + 3, &key, sizeof(key));
    status = send(cp, op, AM_COLL_H_READY, step->req->print, words, 7, NULL, 0);
    if (status == AM_OK) {
        step_wait(step);
    }
    return status;
}

/* DATA, or without credit, or to spare pages, RTS: then it waits for the READY. */
static am_status_t offer_data(struct am_coll_peer *cp, struct am_step *step,
                              struct am_op *op)
{
    struct am_coll_req *req = step->req;
    uint64_t words[3];
    am_status_t status;

    am_coll_step_words(step, words);
    if (cp->credit > 0 && !am_coll_peer_spares(cp, step->length)) {
        status = send(cp, op, AM_COLL_H_DATA, req->print, words, 2, step->from,
                      step->length);
        if (status == AM_OK) {
            cp->credit--;
            req->coll->stats[AM_COLL_STAT_DATA]++;
            am_coll_step_end(step);
        }
        return status;
    }
    words[2] = step->length;
    status = send(cp, op, AM_COLL_H_RTS, req->print, words, 3, NULL, 0);
    if (status == AM_OK) {
        req->coll->stats[AM_COLL_STAT_NO_CREDIT] += cp->credit == 0;
        step_wait(step);
    }
    return status;
}

am_status_t am_coll_step_offer(struct am_coll_peer *cp, struct am_step *step,
                               struct am_op *op)
{
    am_status_t status = step->kind == AM_STEP_SEND
                                 ? offer_data(cp, step, op)
                                 : offer_landing(cp, step, op);

    if (status != AM_OK && status != AM_ERR_AGAIN) {
        am_coll_req_fail(step->req, status);
    }
    return status;
}

/* Now, if nothing waits before it, or in its turn. */
static void step_offer(struct am_coll_peer *cp, struct am_step *step)
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
    struct am_coll_peer *cp = step_peer(&step);
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
        memcpy(step->to, data, bytes);
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
        if (length_agrees(step, what->bytes)) {
            step_offer(what->from, step); /* READY */
        }
        break;
    case AM_COLL_H_READY:
        if (length_agrees(step, what->bytes)) {
            put_start(step, &what->key);
        }
        break;
    default: /* AM_COLL_H_PUT */
        am_region_close(&step->xfer->region);
        xfer_end(step);
        am_coll_step_end(step);
    }
}

/* Which message a step on a bucket waits for. */
static bool step_wants(const struct am_step *step, uint32_t handler)
{
    if (step->kind == AM_STEP_SEND) {
        return handler == AM_COLL_H_READY;
    }
    return step->xfer != NULL ? handler == AM_COLL_H_PUT : fits_recv(handler);
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
        step_offer(step_peer(step), step); /* READY */
    } else {
        step_wait(step);
    }
}

void am_coll_send_begin(struct am_step *step)
{
    struct am_coll_peer *cp = step_peer(step);

    am_list_init(&step->link);
    if (cp == NULL) {
        am_coll_req_fail(step->req, AM_ERR_PEER);
    } else if (step->length <= cp->eager_max) {
        step_offer(cp, step);
    } else {
        step_begin(step, fits_send, true);
    }
}

void am_coll_recv_begin(struct am_step *step)
{
    struct am_coll_peer *cp = step_peer(step);

    am_list_init(&step->link);
    if (cp == NULL) {
        am_coll_req_fail(step->req, AM_ERR_PEER);
    } else {
        step_begin(step, fits_recv, step->length > cp->eager_max);
    }
}

void am_coll_step_stop(struct am_step *step, bool at_close)
{
    if (step->req == NULL) { /* not begun */
        return;
    }
    if (step->kind <= AM_STEP_CAST) {
        am_list_remove(&step->link);
    }
    if (step->xfer == NULL) {
        return;
    }
    if (step->kind == AM_STEP_RECV) {
        am_region_close(&step->xfer->region);
        xfer_end(step);
    } else if (at_close) {
        am_bulk_cancel(&step->xfer->bulk);
        xfer_end(step);
    }
}
