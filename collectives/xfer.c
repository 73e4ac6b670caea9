/*
 * Transfers of steps: memory that is open to a peer, puts into such memory, and gets
 * from it.
 */
#include "config.h"

#include "collectives/message.h"

#include <string.h>

/* NULL: no memory. */
static struct am_coll_xfer *xfer_new(struct am_step *step)
{
    struct am_coll_xfer *xfer = am_pool_get(&step->req->coll->xfers);

    if (xfer != NULL) {
        memset(xfer, 0, sizeof(*xfer));
        xfer->step = step;
        step->xfer = xfer;
    }
    return xfer;
}

void am_coll_xfer_end(struct am_step *step)
{
    am_pool_put(&step->req->coll->xfers, step->xfer);
    step->xfer = NULL;
}

/* ------------------------------------------------------------------- memory */

bool am_coll_xfer_open(struct am_step *step, struct am_coll_peer *cp)
{
    bool is_sender = step->kind == AM_STEP_SEND;
    struct am_data data =
            am_data_contig(is_sender ? (void *)(uintptr_t)step->from : step->to,
                           step->length);
    struct am_coll_xfer *xfer;

    if (step->xfer != NULL) {
        return true;
    }
    xfer = xfer_new(step);
    if (xfer != NULL &&
        am_region_open(step->req->coll->ctx, &xfer->region, &data,
                       is_sender ? AM_DEV_CAP_GET : AM_DEV_CAP_PUT,
                       cp->peer) == AM_OK) {
        xfer->is_open = true;
        return true;
    }
    if (xfer != NULL) {
        am_coll_xfer_end(step);
    }
    am_coll_req_fail(step->req, AM_ERR_MEMORY);
    return false;
}

void am_coll_xfer_key(const struct am_step *step, const struct am_coll_peer *cp,
                      uint64_t *words)
{
    struct am_key key;

    am_region_key_for(&step->xfer->region, cp->peer, &key);
    memcpy(words, &key, sizeof(key));
}

void am_coll_xfer_close(struct am_step *step)
{
    am_region_close(&step->xfer->region);
    am_coll_xfer_end(step);
}

/* ------------------------------------------------------------ puts and gets */

/* One that begins now, and is counted; NULL: the collective has failed. */
static struct am_coll_xfer *
flight_begin(struct am_step *step, const struct am_coll_peer *cp, uint32_t stat)
{
    struct am_coll_req *req = step->req;
    struct am_coll_xfer *xfer = cp == NULL ? NULL : xfer_new(step);

    if (xfer == NULL) {
        am_coll_req_fail(req, AM_ERR_MEMORY);
        return NULL;
    }
    req->flying++;
    req->coll->stats[stat]++;
    return xfer;
}

static void flight_done(void *arg, am_status_t status)
{
    struct am_coll_xfer *xfer = arg;
    struct am_step *step = xfer->step;
    struct am_coll_req *req = step->req;

    am_coll_xfer_end(step);
    req->flying--;
    if (status != AM_OK) {
        am_coll_req_fail(req, status);
    } else {
        am_coll_step_end(step);
    }
}

void am_coll_put_start(struct am_step *step, const struct am_key *key)
{
    struct am_data data = am_data_contig(step->from, step->length);
    struct am_coll_peer *cp = am_coll_step_peer(step);
    struct am_coll_xfer *xfer = flight_begin(step, cp, AM_COLL_STAT_PUT);
    uint64_t words[2];

    if (xfer == NULL) {
        return;
    }
    am_coll_step_words(step, words);
    am_bulk_put(&xfer->bulk, cp->peer,
                &(struct am_transfer){.local = &data,
                                      .key = key,
                                      .bytes = step->length,
                                      .done = flight_done,
                                      .arg = xfer,
                                      .handler = AM_COLL_H_FIN,
                                      .words = words,
                                      .word_count = 2});
}

/* The bytes are here; who has them waits for FIN, unless the collective has failed. */
static void get_done(void *arg, am_status_t status)
{
    struct am_coll_xfer *xfer = arg;
    struct am_step *step = xfer->step;
    struct am_coll_req *req = step->req;

    if (status == AM_OK && req->status == AM_OK) {
        req->flying--;
        xfer->is_fetched = true;
        am_coll_step_tell(am_coll_step_peer(step), step);
    } else {
        flight_done(arg, status);
    }
}

void am_coll_get_start(struct am_step *step, const struct am_key *key)
{
    struct am_data data = am_data_contig(step->to, step->length);
    struct am_coll_peer *cp = am_coll_step_peer(step);
    struct am_coll_xfer *xfer = flight_begin(step, cp, AM_COLL_STAT_GET);

    if (xfer == NULL) {
        return;
    }
    am_bulk_get(&xfer->bulk, cp->peer,
                &(struct am_transfer){.local = &data,
                                      .key = key,
                                      .bytes = step->length,
                                      .by = AM_BY_SINGLE,
                                      .done = get_done,
                                      .arg = xfer});
}

void am_coll_step_stop(struct am_step *step, bool at_close)
{
    if (step->req == NULL) { /* not begun */
        return;
    }
    if (step->kind <= AM_STEP_CAST) {
        am_list_remove(&step->link);
        am_coll_note_end(step);
    }
    if (step->xfer == NULL) {
        return;
    }
    if (step->xfer->is_open) { /* and the peer may have the key */
        am_region_withdraw(&step->xfer->region, step->req->status);
        am_coll_xfer_end(step);
    } else if (step->xfer->is_fetched) {
        am_coll_xfer_end(step);
    } else if (at_close) {
        am_bulk_cancel(&step->xfer->bulk);
        am_coll_xfer_end(step);
    }
}
