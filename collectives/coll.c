/*
 * The collectives module in a context: opening, peers, closing, description.
 */
#include "config.h"

#include "base/barrier.h"
#include "collectives/message.h"

#include "collectives/module.h"

#include <stdlib.h>
#include <string.h>

enum {
    POOL_SLAB = 16
};

const struct am_stat_row am_coll_stat_rows[AM_COLL_STAT_COUNT] = {
        [AM_COLL_STAT_STARTED] = {"coll_started", "operations",
                                  "collectives started"},
        [AM_COLL_STAT_SHARED] = {"coll_shared", "operations",
                                 "of these, through memory that all members "
                                 "see"},
        [AM_COLL_STAT_ONCE] = {"coll_at_once", "operations",
                               "of these, done at once, without a request"},
        [AM_COLL_STAT_READS] = {"coll_reads", "operations",
                                "reads of other members' own memory"},
        [AM_COLL_STAT_NETWORK] = {"coll_network", "operations",
                                  "collectives done by the network itself"},
        [AM_COLL_STAT_DATA] = {"coll_tx_data", "messages",
                               "messages of collectives sent in one packet"},
        [AM_COLL_STAT_CAST] = {"coll_tx_cast", "messages",
                               "messages that the network copied to all "
                               "others"},
        [AM_COLL_STAT_PUT] = {"coll_tx_put", "messages",
                              "messages of collectives put where the receiver "
                              "said"},
        [AM_COLL_STAT_GET] = {"coll_rx_get", "messages",
                              "messages of collectives fetched from where the "
                              "sender said"},
        [AM_COLL_STAT_NO_CREDIT] = {"coll_tx_no_credit", "messages",
                                    "messages that waited to be asked for, for "
                                    "want of credit"},
        [AM_COLL_STAT_HELD] = {"coll_held", "messages",
                               "messages that came before their step"},
        [AM_COLL_STAT_HELD_NOW] = {"coll_held_now", "messages",
                                   "such messages that are held now"},
        [AM_COLL_STAT_HELD_PEAK] = {"coll_held_peak", "messages",
                                    "most of them at one time"},
        [AM_COLL_STAT_CREDITS] = {"coll_tx_credit", "messages",
                                  "messages sent only to give credit back"},
        [AM_COLL_STAT_NUDGES] = {"coll_tx_nudge", "messages",
                                 "messages sent only to say: look into the "
                                 "memory of the group"},
        [AM_COLL_STAT_COPY_BYTES] = {"coll_copy_bytes", "bytes",
                                     "copied and reduced by collectives"},
        [AM_COLL_STAT_RX_BAD] = {"coll_rx_bad", "messages",
                                 "dropped: for no collective, or not of a "
                                 "member"},
        [AM_COLL_STAT_RX_BAD_CREDIT] = {"coll_rx_bad_credit", "messages",
                                        "dropped: more than the window allows, "
                                        "or too long"},
};

/* Longest DATA that can come: one packet, however large AM_COLL_EAGER_MAX is. */
static size_t data_bytes_max(struct am_ctx *ctx, size_t eager_max)
{
    const struct am_dev *dev;
    size_t most = 0;

    for (uint32_t i = 0; (dev = am_ctx_device(ctx, i)) != NULL; i++) {
        size_t bytes = am_dev_payload_max(dev, AM_COLL_DATA_WORDS);

        most = bytes > most ? bytes : most;
    }
    return eager_max < most ? eager_max : most;
}

static am_status_t coll_open(struct am_ctx *ctx, uint32_t slot,
                             const void *values, uint64_t *stats)
{
    struct am_coll *coll =
            slot == AM_COLL_SLOT ? calloc(1, sizeof(*coll)) : NULL;

    if (coll == NULL) {
        return slot == AM_COLL_SLOT ? AM_ERR_MEMORY : AM_ERR_INVALID;
    }
    coll->ctx = ctx;
    coll->env = am_ctx_env(ctx);
    coll->stats = stats;
    coll->config = values;
    coll->can_fence = am_barrier_open();
    coll->notes_max = AM_COLL_NOTES_MAX;
    coll->window = coll->config->window < 1 << 16
                           ? (uint32_t)coll->config->window
                           : 1u << 16;
    am_list_init(&coll->due);
    am_list_init(&coll->idle);
    am_list_init(&coll->strangers);
    am_list_init(&coll->peers);
    am_list_init(&coll->looking);
    am_list_init(&coll->combining);
    am_list_init(&coll->casting);
    am_list_init(&coll->left);
    for (uint32_t i = 0; i < AM_COLL_GROUP_BUCKETS; i++) {
        am_list_init(&coll->groups[i]);
    }
    am_pool_init(&coll->small, sizeof(struct am_coll_held), 0, POOL_SLAB,
                 UINT64_MAX);
    am_pool_init(&coll->large,
                 sizeof(struct am_coll_held) +
                         data_bytes_max(ctx, coll->config->eager_max),
                 0, POOL_SLAB, UINT64_MAX);
    am_pool_init(&coll->xfers, sizeof(struct am_coll_xfer), 0, POOL_SLAB,
                 UINT64_MAX);
    am_module_set_data(ctx, slot, coll);
    am_coll_rx_register(coll);
    return AM_OK;
}

static void coll_close(struct am_ctx *ctx, uint32_t slot)
{
    struct am_coll *coll = am_module_data(ctx, slot);
    struct am_list *at;

    coll->is_closing = true;
    am_coll_groups_free(coll);
    if (!coll->forked) {
        am_shared_reap(coll, true);
    }
    am_coll_held_drop(coll, &coll->strangers, NULL);
    am_coll_peers_free(coll);
    while ((at = am_list_pop(&coll->idle)) != NULL) {
        struct am_coll_req *req = am_container(at, struct am_coll_req, link);

        am_sched_fini(&req->sched);
        free(req);
    }
    am_pool_fini(&coll->small);
    am_pool_fini(&coll->large);
    am_pool_fini(&coll->xfers);
    free(coll);
}

static int coll_poll(struct am_ctx *ctx, uint32_t slot)
{
    struct am_coll *coll = am_module_data(ctx, slot);

    am_shared_poll(coll);
    am_net_run(coll);
    return am_coll_run_due(coll);
}

static void coll_peer_dead(struct am_ctx *ctx, struct am_peer *peer)
{
    am_coll_groups_dead(am_coll_of(ctx), peer->index);
}

static bool coll_peer_idle(struct am_ctx *ctx, struct am_peer *peer)
{
    return !am_coll_groups_have(am_coll_of(ctx), peer->index);
}

static void coll_peer_close(struct am_ctx *ctx, struct am_peer *peer)
{
    am_coll_peer_free(peer);
}

static void coll_forked(struct am_ctx *ctx, uint32_t slot)
{
    struct am_coll *coll = am_module_data(ctx, slot);

    coll->forked = coll->is_closing = true;
    coll->refuses = AM_ERR_FORKED;
}

/* "collectives": for a group of all ranks. */
static size_t coll_describe(struct am_ctx *ctx, const char *what, char *text,
                            size_t bytes)
{
    struct am_coll *coll = am_coll_of(ctx);
    struct am_coll_numbers numbers;

    if (strcmp(what, "collectives") != 0 ||
        !am_coll_numbers_of(ctx, (am_rank(ctx) + 1) % am_size(ctx),
                            coll->config, &numbers)) {
        return 0;
    }
    if (coll->config->shared && (numbers.caps & AM_DEV_CAP_MAPPED) != 0 &&
        am_size(ctx) <= AM_SHARED_MEMBERS_MAX) {
        numbers.shared.slot_bytes = AM_SHARED_SLOT_BYTES;
    }
    am_net_numbers(ctx, &numbers);
    return am_coll_describe(coll->config, &numbers, am_size(ctx), text, bytes);
}

const struct am_module am_coll_module = {
        .name = "coll",
        .config = &am_coll_config_table,
        .config_bytes = sizeof(struct am_coll_config),
        .stats = am_coll_stat_rows,
        .stat_count = AM_COLL_STAT_COUNT,
        .open = coll_open,
        .close = coll_close,
        .poll = coll_poll,
        .peer_dead = coll_peer_dead,
        .peer_idle = coll_peer_idle,
        .peer_close = coll_peer_close,
        .forked = coll_forked,
        .describe = coll_describe,
};
