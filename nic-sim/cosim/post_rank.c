/*
 * The port of a rank's process: what needs no turn is done here at once, what
 * needs one and gives no answer waits in the list, the rest asks.
 */
#include "config.h"

#include "cosim/post.h"

#include "cosim/rank.h"
#include "host/copy.h"

#include <string.h>

static struct ns_rank *rank_of(struct ns_port *port)
{
    return am_container(am_container(port, struct ns_cpu, port), struct ns_rank,
                        cpu);
}

bool ns_posts_are_known(const struct ns_rank *rank)
{
    return rank->box->known_bytes == rank->box->post_bytes;
}

/* Where its computation is measured it must be told apart from the waiting, and
 * outside others wait for its next ask. */
static bool may_post(const struct ns_rank *rank)
{
    return rank->box->measured == 0 && !rank->outside && !rank->ended;
}

/* So many bytes have a place in the list.  If that took a turn, the engine has come
 * to local time, and what it foretells is new. */
static void room_make(struct ns_rank *rank, uint64_t bytes)
{
    if (rank->box->post_bytes + bytes > sizeof(rank->box->posts)) {
        ns_rank_room(rank);
    }
    if (rank->box->post_bytes == 0) {
        rank->posts_ps = rank->post_ps = rank->cpu.now_ps;
    }
}

/* The same for a post that the engine may do later; false: it must be done with a
 * turn. */
static bool room_is_made(struct ns_rank *rank, const struct ns_post *post)
{
    uint64_t bytes = ns_post_bytes(post);

    if (!may_post(rank) || bytes > sizeof(rank->box->posts)) {
        ns_rank_settle(rank);
        return false;
    }
    room_make(rank, bytes);
    return true;
}

/* Add to the list, where there is room. */
static void post_put(struct ns_rank *rank, struct ns_post *post,
                     const void *data)
{
    struct ns_box *box = rank->box;
    uint64_t bytes = ns_post_bytes(post);

    post->gap_ps = rank->cpu.now_ps - rank->post_ps;
    rank->post_ps = rank->cpu.now_ps;
    memcpy(box->posts + box->post_bytes, post, sizeof(*post));
    if (bytes > sizeof(*post)) {
        memcpy(box->posts + box->post_bytes + sizeof(*post), data, post->bytes);
    }
    box->post_bytes += (uint32_t)bytes;
}

/* The same of a post that is over at `end_ps`. */
static void post_put_known(struct ns_rank *rank, struct ns_post *post,
                           const void *data, uint64_t end_ps)
{
    post_put(rank, post, data);
    rank->box->known_bytes = rank->box->post_bytes;
    rank->cpu.now_ps = rank->post_ps = end_ps;
}

/* Add to the list; false: it must be done with a turn. */
static bool post_add(struct ns_rank *rank, struct ns_post *post,
                     const void *data)
{
    if (!room_is_made(rank, post)) {
        return false;
    }
    post_put(rank, post, data);
    return true;
}

bool ns_post_record(struct ns_rank *rank, uint32_t kind, uint64_t a, uint64_t b)
{
    struct ns_post post = {
            .kind = NS_POST_RECORD, .at = kind, .a = a, .b = b};
    bool known = ns_posts_are_known(rank);

    if (rank->box->post_bytes == 0 || rank->ended) {
        return false;
    }
    room_make(rank, sizeof(post));
    post_put(rank, &post, NULL);
    if (known) {
        rank->box->known_bytes = rank->box->post_bytes;
    }
    return true;
}

bool ns_post_sync(struct ns_rank *rank)
{
    struct ns_post post = {.kind = rank->looks ? NS_POST_LOOK : NS_POST_SYNC};

    if (!ns_rank_is_ahead(rank)) {
        return false;
    }
    room_make(rank, sizeof(post));
    if (!ns_rank_is_ahead(rank)) {
        return false;
    }
    post_put_known(rank, &post, NULL, rank->cpu.now_ps);
    ns_cpu_looked(&rank->cpu);
    ns_cpu_stolen(&rank->cpu);
    return true;
}

/* Nothing takes time from the host, or has anything to do with its memory,
 * before `end_ps`. */
static bool is_left_alone(const struct ns_rank *rank, uint64_t end_ps)
{
    return ns_rank_is_ahead(rank) && rank->cpu.stolen_ps == 0 &&
           end_ps <= rank->box->limit_ps && end_ps < rank->box->ahead.touch_ps;
}

bool ns_post_compute(struct ns_rank *rank, uint64_t ps)
{
    struct ns_post post = {.kind = NS_POST_COMPUTE, .a = ps};

    if (!may_post(rank) || ps > NS_POST_GAP_MOST_PS) {
        return false;
    }
    room_make(rank, sizeof(post));
    if (is_left_alone(rank, rank->cpu.now_ps + ps)) {
        ns_cpu_looked(&rank->cpu);
        rank->cpu.idle.news = true;
        post_put_known(rank, &post, NULL, rank->cpu.now_ps + ps);
    } else {
        post_put(rank, &post, NULL);
    }
    return true;
}

/* Local time is known, and no interrupt has still to be waited for. */
static bool time_is_known(const struct ns_rank *rank)
{
    return ns_posts_are_known(rank) && rank->cpu.stolen_ps == 0;
}

/* Add a known access. */
static void access_put(struct ns_rank *rank, struct ns_post *post,
                       const void *data, const struct ns_ahead *ahead,
                       uint64_t end_ps)
{
    post->a = end_ps;
    rank->box->ahead = *ahead;
    ns_cpu_looked(&rank->cpu);
    rank->cpu.idle.news = true;
    post_put_known(rank, post, data, end_ps);
}

/* Add `count` stores of `hold_ps` and a last one of `last_ps`, known or not. */
static bool stores_add(struct ns_rank *rank, struct ns_post *post,
                       const void *data, uint64_t count, uint64_t hold_ps,
                       uint64_t last_ps)
{
    struct ns_ahead ahead;
    uint64_t end_ps;

    if (!room_is_made(rank, post)) {
        return false;
    }
    ahead = rank->box->ahead;
    end_ps = time_is_known(rank)
                     ? ns_ahead_stores(&ahead, rank->cpu.now_ps, count, hold_ps,
                                       last_ps)
                     : 0;
    if (end_ps == 0 || end_ps > rank->box->limit_ps) {
        post_put(rank, post, data);
    } else {
        access_put(rank, post, data, &ahead, end_ps);
    }
    return true;
}

/* Add a load of a register whose value is known; false: it is not. */
static bool load_add(struct ns_rank *rank, uint32_t reg, uint32_t bytes,
                     uint32_t *value_p)
{
    const struct ns_access *steady = &rank->box->steady;
    struct ns_post post = {.kind = NS_POST_LOAD, .at = reg, .bytes = bytes};
    struct ns_ahead ahead;
    uint64_t end_ps;

    if (!may_post(rank) || !time_is_known(rank)) {
        return false;
    }
    room_make(rank, sizeof(post));
    if (!time_is_known(rank) || steady->reg != reg || steady->bytes != bytes) {
        return false;
    }
    ahead = rank->box->ahead;
    end_ps = ns_ahead_access(&ahead, rank->cpu.now_ps, rank->cpu.cost->pio_ps);
    if (end_ps == 0 || end_ps >= ahead.reg_ps ||
        end_ps > rank->box->limit_ps) {
        return false;
    }
    *value_p = post.value = steady->value;
    access_put(rank, &post, NULL, &ahead, end_ps);
    return true;
}

/* --------------------------------------------------------------------- port */

static void rank_release(struct ns_port *port)
{
    ns_rank_room(rank_of(port));
    ns_cpu_port_ops.release(port);
}

static void rank_load(struct ns_port *port, uint32_t address, void *to,
                      size_t bytes)
{
    struct ns_rank *rank = rank_of(port);

    if (ns_posts_are_known(rank)) {
        rank->looks = true;
        ns_cpu_port_ops.load(port, address, to, bytes);
        rank->looks = false;
    } else if (bytes > sizeof(rank->box->data)) {
        ns_rank_settle(rank);
        ns_cpu_port_ops.load(port, address, to, bytes);
    } else {
        ns_rank_load(rank, address, to, (uint32_t)bytes);
    }
}

/* It only fetches lines into the cache: as a load. */
static void rank_store(struct ns_port *port, uint32_t address, const void *from,
                       size_t bytes)
{
    struct ns_rank *rank = rank_of(port);
    struct ns_post post = {
            .kind = NS_POST_STORE, .at = address, .bytes = (uint32_t)bytes};
    bool direct;

    rank->looks = true;
    direct = ns_posts_are_known(rank) &&
             (ns_memory_store_misses(&rank->cpu.memory, address, bytes) == 0 ||
              ns_rank_is_ahead(rank));
    if (direct || !post_add(rank, &post, from)) {
        ns_cpu_port_ops.store(port, address, from, bytes);
    }
    rank->looks = false;
}

static void rank_flush(struct ns_port *port, uint32_t address, size_t bytes)
{
    struct ns_rank *rank = rank_of(port);
    struct ns_post post = {
            .kind = NS_POST_FLUSH, .at = address, .bytes = (uint32_t)bytes};

    if (ns_posts_are_known(rank) &&
        (ns_memory_dirty(&rank->cpu.memory, address, bytes) == 0 ||
         ns_rank_is_ahead(rank))) {
        ns_cpu_port_ops.flush(port, address, bytes);
    } else if (!post_add(rank, &post, NULL)) {
        ns_cpu_port_ops.flush(port, address, bytes);
    }
}

static uint32_t rank_pio_load(struct ns_port *port, uint32_t reg,
                              uint32_t bytes)
{
    struct ns_rank *rank = rank_of(port);
    uint32_t value;

    return load_add(rank, reg, bytes, &value)
                   ? value
                   : ns_cpu_port_ops.pio_load(port, reg, bytes);
}

static void rank_pio_store(struct ns_port *port, uint32_t reg, uint32_t value,
                           uint32_t bytes)
{
    struct ns_rank *rank = rank_of(port);
    struct ns_post post = {.kind = NS_POST_REGISTER,
                           .at = reg,
                           .bytes = bytes,
                           .value = value};

    if (!stores_add(rank, &post, NULL, 0, 0, rank->cpu.cost->pio_ps)) {
        ns_cpu_port_ops.pio_store(port, reg, value, bytes);
    }
}

static void rank_pio_write(struct ns_port *port, uint32_t reg, const void *from,
                           size_t bytes)
{
    struct ns_rank *rank = rank_of(port);
    const struct ns_host_settings *cost = rank->cpu.cost;
    struct ns_post post = {
            .kind = NS_POST_WRITE, .at = reg, .bytes = (uint32_t)bytes};
    uint64_t lines;

    NS_CHECK(bytes > 0);
    lines = (bytes - 1) / cost->line_bytes;
    if (!stores_add(rank, &post, from, lines,
                    ns_copy_ps(cost, NS_MEMORY_ADAPTER, cost->line_bytes),
                    ns_copy_ps(cost, NS_MEMORY_ADAPTER,
                               bytes - lines * cost->line_bytes))) {
        ns_cpu_port_ops.pio_write(port, reg, from, bytes);
    }
}

/* Transfers that earlier posts begin must not see this page. */
static uint32_t rank_pin(struct ns_port *port, void *page)
{
    ns_rank_room(rank_of(port));
    return ns_cpu_port_ops.pin(port, page);
}

static void rank_unpin(struct ns_port *port, uint32_t address)
{
    ns_rank_room(rank_of(port));
    ns_cpu_port_ops.unpin(port, address);
}

void ns_post_port(struct ns_port_ops *ops)
{
    *ops = ns_cpu_port_ops;
    ops->release = rank_release;
    ops->load = rank_load;
    ops->store = rank_store;
    ops->flush = rank_flush;
    ops->pio_load = rank_pio_load;
    ops->pio_store = rank_pio_store;
    ops->pio_write = rank_pio_write;
    ops->pin = rank_pin;
    ops->unpin = rank_unpin;
}
