/*
 * The engine's side of a rank's list: each post is done by the host's own port,
 * and so takes the time that it takes in a fiber; and of its records.
 */
#include "config.h"

#include "cosim/post.h"

#include "sim.h"

#include <string.h>

/* The post at `at` of the list, which need not be aligned for the compiler. */
static struct ns_post post_at(const struct ns_box *box, uint64_t at)
{
    struct ns_post post;

    memcpy(&post, box->posts + at, sizeof(post));
    return post;
}

static bool post_is_sane(const struct ns_post *post,
                         const struct ns_memory *memory)
{
    if (post->gap_ps > NS_POST_GAP_MOST_PS) {
        return false;
    }
    switch ((ns_post_kind_t)post->kind) {
    case NS_POST_SYNC:
    case NS_POST_LOOK:
        return true;
    case NS_POST_COMPUTE:
        return post->a <= NS_POST_GAP_MOST_PS;
    case NS_POST_STORE:
    case NS_POST_FLUSH:
        return ns_memory_holds(memory, post->at, post->bytes);
    case NS_POST_LOAD:
    case NS_POST_REGISTER:
        return true; /* as of an ask */
    case NS_POST_WRITE:
        return post->bytes > 0;
    case NS_POST_RECORD:
        return post->at < NS_BOX_KINDS;
    case NS_POST_COUNT:
        break;
    }
    return false;
}

bool ns_posts_are_sane(const struct ns_box *box, const struct ns_memory *memory)
{
    uint64_t left = box->post_bytes;

    if (left > sizeof(box->posts) || box->tail_ps > NS_POST_GAP_MOST_PS) {
        return false;
    }
    while (left > 0) {
        struct ns_post post;

        if (left < sizeof(post)) {
            return false;
        }
        post = post_at(box, box->post_bytes - left);
        if (!post_is_sane(&post, memory) || ns_post_bytes(&post) > left) {
            return false;
        }
        left -= ns_post_bytes(&post);
    }
    return true;
}

static void slice_in(struct ns_node *node, uint64_t time_ps, uint64_t name_at,
                     uint64_t length, bool begins)
{
    char name[NS_SLICE_NAME_BYTES] = "";

    if (length < sizeof(name) &&
        ns_memory_own_read(&node->host.cpu.memory, name_at, name, length)) {
        ns_slice(&node->host.component, time_ps, name, begins);
    }
}

void ns_seat_record(struct ns_node *node, uint32_t kind, uint64_t time_ps,
                    uint64_t a, uint64_t b)
{
    if (kind < NS_BOX_STAGE) {
        ns_trace_at(&node->host.component, time_ps, (ns_trace_t)kind, a, b);
    } else if (kind < NS_BOX_BEGIN) {
        ns_mark(node->view.sim->engine, kind - NS_BOX_STAGE, time_ps);
    } else {
        slice_in(node, time_ps, a, b, kind == NS_BOX_BEGIN);
    }
}

static void post_do(const struct ns_post *post, const uint8_t *data,
                    struct ns_host *host)
{
    struct ns_cpu *cpu = &host->cpu;
    struct ns_port *port = &cpu->port;

    switch ((ns_post_kind_t)post->kind) {
    case NS_POST_SYNC:
    case NS_POST_LOOK:
        ns_host_sync(host);
        break;
    case NS_POST_COMPUTE:
        host->interrupt = NULL;
        ns_host_compute(host, post->a);
        break;
    case NS_POST_STORE:
        port->ops->store(port, post->at, data, post->bytes);
        break;
    case NS_POST_FLUSH:
        port->ops->flush(port, post->at, post->bytes);
        break;
    case NS_POST_LOAD:
        (void)port->ops->pio_load(port, post->at, post->bytes);
        break;
    case NS_POST_REGISTER:
        port->ops->pio_store(port, post->at, post->value, post->bytes);
        break;
    case NS_POST_WRITE:
        port->ops->pio_write(port, post->at, data, post->bytes);
        break;
    case NS_POST_RECORD:
        ns_seat_record(am_container(host, struct ns_node, host), post->at,
                       cpu->now_ps, post->a, post->b);
        break;
    case NS_POST_COUNT:
        break;
    }
}

/* Is a known post what was foretold: had the adapter left memory alone when the
 * rank touched it, and did the access take that long? */
static bool known_holds(const struct ns_post *post, const struct ns_host *host,
                        uint64_t touches, uint64_t changes)
{
    switch ((ns_post_kind_t)post->kind) {
    case NS_POST_SYNC:
        return host->cpu.memory.touches == touches;
    case NS_POST_LOOK:
        return host->cpu.memory.changes == changes;
    case NS_POST_LOAD:
        return post->a == host->cpu.now_ps && post->value == host->access.value;
    case NS_POST_REGISTER:
    case NS_POST_WRITE:
        return post->a == host->cpu.now_ps;
    default:
        return true;
    }
}

bool ns_posts_do(const struct ns_box *box, struct ns_host *host)
{
    uint64_t touches = host->cpu.memory.touches;
    uint64_t changes = host->cpu.memory.changes;

    if (box->known_bytes > 0) {
        host->cpu.idle = (struct ns_idle){0}; /* it does not wait meanwhile */
    }
    for (uint64_t at = 0; at < box->post_bytes;) {
        const struct ns_post post = post_at(box, at);

        if (at == box->known_bytes) {
            host->cpu.idle = box->idle;
        }
        host->cpu.now_ps += post.gap_ps;
        post_do(&post, box->posts + at + sizeof(post), host);
        if (at < box->known_bytes && !known_holds(&post, host, touches, changes)) {
            return false;
        }
        at += ns_post_bytes(&post);
    }
    if (box->known_bytes == box->post_bytes) {
        host->cpu.idle = box->idle;
    }
    if (box->post_bytes > 0) {
        host->cpu.now_ps += box->tail_ps;
    }
    return true;
}
