/*
 * Allreduce of 32-bit words over Blue Gene/P's collective network in quad mode, as
 * DCMF has it (Kumar et al. 2008): the processes of a node reduce to their first one, piece by
 * piece; that one sends each piece into the network, takes its sum, and broadcasts
 * it in the node.  The pieces follow one another, as a pipeline.
 */
#include "tools/sim_coll_net.h"

#include "am/ctx.h"
#include "dev/snic/snic.h"
#include "dev/wrap.h"
#include "nicsim_bgp.h"

#include <stdlib.h>

enum {
    WORD = sizeof(uint32_t),
    PACKET = AM_DEV_NETWORK_WORDS * WORD
};

struct piece {
    struct network *network;
    size_t at, bytes;
    bool is_reduced;
};

struct network {
    struct coll_node *node;
    struct am_dev *dev;
    struct piece *pieces;
    uint32_t count;
    uint32_t sends, takes; /* pieces that the network has, and has given back */
    size_t sent, taken;    /* bytes of these two */
    uint32_t cast;         /* pieces whose sum is here */
    am_status_t status;
};

/* The driver under the context's device. */
static struct am_dev *driver_of(struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        struct am_dev *dev = ctx->devs[i];

        if (dev->bottom == &am_dev_snic_ops) {
            while (dev->ops != &am_dev_snic_ops) {
                dev = am_wrap_of(dev)->lower;
            }
            return dev;
        }
    }
    return NULL;
}

static void on_cast(void *arg, am_status_t status)
{
    struct network *network = arg;

    network->cast++;
    network->status = status == AM_OK ? network->status : status;
}

static void on_reduced(void *arg, am_status_t status)
{
    struct piece *piece = arg;

    piece->is_reduced = true;
    piece->network->status = status == AM_OK ? piece->network->status : status;
}

static void start(struct network *network, const struct am_coll_call *call,
                  am_done_fn done, void *arg)
{
    am_status_t status = am_coll_start(network->node->local, call, done, arg);

    if (status == AM_DONE) {
        done(arg, AM_OK);
    } else if (status != AM_OK) {
        network->status = status;
    }
}

static void reduce_start(struct network *network, struct piece *piece)
{
    const struct coll_node *node = network->node;
    struct am_coll_call call = {.kind = AM_COLL_REDUCE,
                                .send = (char *)node->send + piece->at,
                                .recv = (char *)node->recv + piece->at,
                                .count = piece->bytes / WORD};

    (void)am_coll_operator_get(AM_COLL_SUM, AM_COLL_UINT32, &call.op);
    start(network, &call, on_reduced, piece);
}

static void cast_start(struct network *network, const struct piece *piece)
{
    const struct am_coll_call call = {
            .kind = AM_COLL_BCAST,
            .recv = (char *)network->node->recv + piece->at,
            .count = piece->bytes};

    start(network, &call, on_cast, network);
}

static size_t packet_bytes(const struct piece *piece, size_t at)
{
    return piece->bytes - at < PACKET ? piece->bytes - at : PACKET;
}

/* Send one packet of what the node has reduced, if there is room. */
static bool packet_send(struct network *network)
{
    struct piece *piece = &network->pieces[network->sends];
    uint32_t words[AM_DEV_NETWORK_WORDS] = {0};
    size_t bytes;

    if (network->sends == network->count || !piece->is_reduced) {
        return false;
    }
    bytes = packet_bytes(piece, network->sent);
    memcpy(words, (char *)network->node->recv + piece->at + network->sent,
           bytes);
    if (snic_network_ops.combine(network->dev, NS_BGP_TREE_ADD, words) != AM_OK) {
        return false;
    }
    network->sent += bytes;
    if (network->sent == piece->bytes) {
        network->sent = 0;
        network->sends++;
    }
    return true;
}

static bool packet_take(struct network *network)
{
    struct piece *piece = &network->pieces[network->takes];
    uint32_t words[AM_DEV_NETWORK_WORDS], op;
    size_t bytes;

    if (network->takes == network->count ||
        snic_network_ops.combined(network->dev, &op, words) != AM_OK) {
        return false;
    }
    bytes = packet_bytes(piece, network->taken);
    memcpy((char *)network->node->recv + piece->at + network->taken, words,
           bytes);
    network->taken += bytes;
    if (network->taken == piece->bytes) {
        network->taken = 0;
        network->takes++;
        cast_start(network, piece);
    }
    return true;
}

static void pieces_set(struct network *network)
{
    const struct coll_test *test = network->node->test;

    for (uint32_t i = 0; i < network->count; i++) {
        size_t at = i * test->piece;

        network->pieces[i] = (struct piece){
                .network = network,
                .at = at,
                .bytes = test->bytes - at < test->piece ? test->bytes - at
                                                        : test->piece};
    }
}

static void network_run(struct network *network)
{
    struct coll_node *node = network->node;
    bool has_port = node->run.node->rank % node->test->local == 0;

    for (uint32_t i = 0; i < network->count; i++) {
        reduce_start(network, &network->pieces[i]);
    }
    for (uint32_t i = 0; i < network->count && !has_port; i++) {
        cast_start(network, &network->pieces[i]);
    }
    while (network->cast < network->count && network->status == AM_OK) {
        bool moved = am_ctx_poll(node->run.ctx) != 0;

        if (has_port) {
            moved = packet_send(network) || moved;
            moved = packet_take(network) || moved;
        }
        if (!moved) {
            am_env_relax(node->run.node->env, UINT64_MAX);
        }
    }
}

am_status_t coll_network(struct coll_node *node)
{
    const struct coll_test *test = node->test;
    uint32_t size = node->run.node->size, last = (uint32_t)(test->bytes / WORD);
    struct network network = {
            .node = node,
            .dev = driver_of(node->run.ctx),
            .count = (uint32_t)((test->bytes - 1) / test->piece + 1)};
    uint32_t *send = node->send, *recv = node->recv;

    network.pieces = calloc(network.count, sizeof(*network.pieces));
    if (network.pieces == NULL || network.dev == NULL) {
        free(network.pieces);
        return network.dev == NULL ? AM_ERR_UNSUPPORTED : AM_ERR_MEMORY;
    }
    send[0] = send[last - 1] = node->run.node->rank + 1;
    pieces_set(&network);
    network_run(&network);
    free(network.pieces);
    if (network.status == AM_OK && (recv[0] != size * (size + 1) / 2 ||
                                    recv[last - 1] != recv[0])) {
        return AM_ERR_INVALID;
    }
    return network.status;
}
