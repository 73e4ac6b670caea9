/*
 * The port of a rank's process: what needs no turn is done here at once, what
 * needs one and gives no answer waits in the list, the rest asks.
 */
#include "config.h"

#include "cosim/post.h"

#include "cosim/rank.h"

#include <string.h>

static struct ns_rank *rank_of(struct ns_port *port)
{
    return am_container(am_container(port, struct ns_cpu, port), struct ns_rank,
                        cpu);
}

static bool is_empty(const struct ns_rank *rank)
{
    return rank->box->post_bytes == 0;
}

/* Where its computation is measured it must be told apart from the waiting, and
 * outside others wait for its next ask. */
static bool may_post(const struct ns_rank *rank)
{
    return rank->box->measured == 0 && !rank->outside && !rank->ended;
}

/* Add to the list; false: it must be done with a turn, and the list is empty. */
static bool post_add(struct ns_rank *rank, struct ns_post *post,
                     const void *data)
{
    struct ns_box *box = rank->box;
    uint64_t bytes = ns_post_bytes(post);

    if (!may_post(rank) || bytes > sizeof(box->posts)) {
        ns_rank_settle(rank);
        return false;
    }
    if (box->post_bytes + bytes > sizeof(box->posts)) {
        ns_rank_settle(rank);
    }
    if (is_empty(rank)) {
        rank->posts_ps = rank->post_ps = rank->cpu.now_ps;
    }
    post->gap_ps = rank->cpu.now_ps - rank->post_ps;
    rank->post_ps = rank->cpu.now_ps;
    memcpy(box->posts + box->post_bytes, post, sizeof(*post));
    if (bytes > sizeof(*post)) {
        memcpy(box->posts + box->post_bytes + sizeof(*post), data, post->bytes);
    }
    box->post_bytes += (uint32_t)bytes;
    return true;
}

bool ns_post_record(struct ns_rank *rank, uint32_t kind, uint64_t a, uint64_t b)
{
    struct ns_post post = {
            .kind = NS_POST_RECORD, .at = kind, .a = a, .b = b};

    return !is_empty(rank) && post_add(rank, &post, NULL);
}

/* --------------------------------------------------------------------- port */

static void rank_release(struct ns_port *port)
{
    ns_rank_settle(rank_of(port));
    ns_cpu_port_ops.release(port);
}

static void rank_load(struct ns_port *port, uint32_t address, void *to,
                      size_t bytes)
{
    struct ns_rank *rank = rank_of(port);

    if (is_empty(rank)) {
        ns_cpu_port_ops.load(port, address, to, bytes);
    } else if (bytes > sizeof(rank->box->data)) {
        ns_rank_settle(rank);
        ns_cpu_port_ops.load(port, address, to, bytes);
    } else {
        ns_rank_load(rank, address, to, (uint32_t)bytes);
    }
}

static void rank_store(struct ns_port *port, uint32_t address, const void *from,
                       size_t bytes)
{
    struct ns_rank *rank = rank_of(port);
    struct ns_post post = {
            .kind = NS_POST_STORE, .at = address, .bytes = (uint32_t)bytes};

    if (is_empty(rank) &&
        (ns_memory_store_misses(&rank->cpu.memory, address, bytes) == 0 ||
         ns_rank_is_next(rank))) {
        ns_cpu_port_ops.store(port, address, from, bytes);
    } else if (!post_add(rank, &post, from)) {
        ns_cpu_port_ops.store(port, address, from, bytes);
    }
}

static void rank_flush(struct ns_port *port, uint32_t address, size_t bytes)
{
    struct ns_rank *rank = rank_of(port);
    struct ns_post post = {
            .kind = NS_POST_FLUSH, .at = address, .bytes = (uint32_t)bytes};

    if (is_empty(rank) &&
        (ns_memory_dirty(&rank->cpu.memory, address, bytes) == 0 ||
         ns_rank_is_next(rank))) {
        ns_cpu_port_ops.flush(port, address, bytes);
    } else if (!post_add(rank, &post, NULL)) {
        ns_cpu_port_ops.flush(port, address, bytes);
    }
}

static void rank_pio_store(struct ns_port *port, uint32_t reg, uint32_t value,
                           uint32_t bytes)
{
    struct ns_post post = {.kind = NS_POST_REGISTER,
                           .at = reg,
                           .bytes = bytes,
                           .value = value};

    if (!post_add(rank_of(port), &post, NULL)) {
        ns_cpu_port_ops.pio_store(port, reg, value, bytes);
    }
}

static void rank_pio_write(struct ns_port *port, uint32_t reg, const void *from,
                           size_t bytes)
{
    struct ns_post post = {
            .kind = NS_POST_WRITE, .at = reg, .bytes = (uint32_t)bytes};

    NS_CHECK(bytes > 0);
    if (!post_add(rank_of(port), &post, from)) {
        ns_cpu_port_ops.pio_write(port, reg, from, bytes);
    }
}

/* Transfers that earlier posts begin must not see this page. */
static uint32_t rank_pin(struct ns_port *port, void *page)
{
    ns_rank_settle(rank_of(port));
    return ns_cpu_port_ops.pin(port, page);
}

static void rank_unpin(struct ns_port *port, uint32_t address)
{
    ns_rank_settle(rank_of(port));
    ns_cpu_port_ops.unpin(port, address);
}

void ns_post_port(struct ns_port_ops *ops)
{
    *ops = ns_cpu_port_ops;
    ops->release = rank_release;
    ops->load = rank_load;
    ops->store = rank_store;
    ops->flush = rank_flush;
    ops->pio_store = rank_pio_store;
    ops->pio_write = rank_pio_write;
    ops->pin = rank_pin;
    ops->unpin = rank_unpin;
}
