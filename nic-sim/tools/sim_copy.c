/*
 * LogP of one-word remote-memory copies (the LCI paper's I-rcpy): the word goes
 * into the other node's memory, where its host looks for it; no upcall.
 */
#include "tools/sim_run.h"

#include "dev/snic/snic.h"
#include "nicsim_lanai.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 100,
    WARMUP = 10, /* TLB misses are over then */
    BURST = 4,
    STREAM = 2000,
    QUIET_POLLS = 200
};

struct copy {
    struct raw raw;
    struct ns_sim_node *node;
    struct ns_port *port;
    uint32_t *word;         /* what is sent, in a page of its own */
    uint32_t flag;          /* shared memory that the peer copies to */
    struct am_dev_key peer; /* the peer's */
    uint32_t sent, seen;
    uint64_t quiet_ps; /* until all is over, where polls are too short for it */
};

bool figure_is_copy(const struct ns_sim_node *node)
{
    const struct ns_port *port = node->env->port;

    return strcmp(port->nic, "lanai") == 0 &&
           ((const struct ns_lanai_facts *)port->facts)->transfer ==
                   NS_LANAI_RCPY;
}

static int copy_open(struct copy *copy, struct ns_sim_node *node, char *error,
                     size_t error_bytes)
{
    struct am_dev_key mine, keys[2];

    *copy = (struct copy){.node = node, .port = node->env->port};
    copy->word = aligned_alloc(NS_LANAI_PAGE_BYTES, NS_LANAI_PAGE_BYTES);
    if (copy->word == NULL) {
        snprintf(error, error_bytes, "out of memory");
        return -1;
    }
    if (raw_open(&copy->raw, node, error, error_bytes) != 0) {
        return -1;
    }
    copy->flag = copy->port->ops->alloc(copy->port, NS_LANAI_PAGE_BYTES,
                                        NS_LANAI_PAGE_BYTES);
    if (copy->flag == NS_ADDRESS_NONE ||
        snic_lanai_expose(copy->raw.dev, copy->flag, NS_LANAI_PAGE_BYTES,
                          &mine) != AM_OK) {
        snprintf(error, error_bytes, "host.shared_memory is too small");
        return -1;
    }
    (void)ns_sim_allgather(node, &mine, keys, sizeof(mine));
    copy->peer = keys[1 - node->rank];
    return 0;
}

static void copy_close(struct copy *copy)
{
    ns_sim_barrier(copy->node);
    copy->raw.dev->ops->close(copy->raw.dev);
    free(copy->word);
}

static uint64_t copy_now(const struct copy *copy)
{
    return am_env_now(copy->node->env);
}

static void copy_poll(struct copy *copy)
{
    (void)copy->raw.dev->ops->poll(copy->raw.dev, 64);
}

/* Copy the next number to the peer. */
static void copy_send(struct copy *copy)
{
    struct iovec local = {copy->word, sizeof(*copy->word)};

    *copy->word = ++copy->sent;
    while (copy->raw.dev->ops->put(copy->raw.ep, &local, 1, &copy->peer, 0,
                                   NULL, NULL) == AM_ERR_AGAIN) {
        copy_poll(copy);
    }
}

/* Look whether something new is in memory. */
static bool copy_look(struct copy *copy)
{
    uint32_t seen;

    copy->port->ops->charge(copy->port, NS_WORK_NOTICE, 1);
    copy->port->ops->load(copy->port, copy->flag, &seen, sizeof(seen));
    if (seen == copy->seen) {
        return false;
    }
    copy->seen = seen;
    return true;
}

static void copy_wait(struct copy *copy, uint32_t wanted)
{
    while (copy->seen < wanted) {
        if (!copy_look(copy)) {
            am_env_relax(copy->node->env, UINT64_MAX);
        }
    }
}

static void copy_settle(struct copy *copy)
{
    for (int i = 0; i < QUIET_POLLS; i++) {
        copy_poll(copy);
    }
    ns_sim_work(copy->node, copy->quiet_ps);
}

static uint64_t copy_os(struct copy *copy)
{
    uint64_t sum_ps = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t from_ps;

        copy_settle(copy);
        from_ps = copy_now(copy);
        for (int k = 0; k < BURST; k++) {
            copy_send(copy);
        }
        sum_ps += copy_now(copy) - from_ps;
    }
    return sum_ps / (ROUNDS * BURST);
}

static uint64_t copy_or(struct copy *copy, uint32_t round, uint64_t compute_ps)
{
    uint64_t sum_ps = 0;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint64_t from_ps;

        copy_settle(copy);
        copy_send(copy);
        ns_sim_work(copy->node, compute_ps);
        from_ps = copy_now(copy);
        copy_wait(copy, round + i + 1);
        sum_ps += copy_now(copy) - from_ps;
    }
    return sum_ps / ROUNDS;
}

static uint64_t copy_half(struct copy *copy, uint32_t round)
{
    uint64_t from_ps;

    copy_settle(copy);
    from_ps = copy_now(copy);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        copy_send(copy);
        copy_wait(copy, round + i + 1);
    }
    return (copy_now(copy) - from_ps) / (2 * ROUNDS);
}

static uint64_t copy_gap(struct copy *copy, uint32_t round)
{
    uint64_t from_ps;

    copy_settle(copy);
    from_ps = copy_now(copy);
    for (uint32_t i = 0; i < STREAM; i++) {
        copy_send(copy);
    }
    copy_wait(copy, round + 1);
    return (copy_now(copy) - from_ps) / STREAM;
}

/* Node 1's part: answer `count` copies one by one. */
static void copy_answer(struct copy *copy, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        copy_wait(copy, copy->seen + 1);
        copy_send(copy);
    }
}

/* Both TLBs know the pages after this: what has missed them needs polls. */
static void copy_warm(struct copy *copy)
{
    for (int i = 0; i < WARMUP; i++) {
        ns_sim_barrier(copy->node);
        copy_send(copy);
        for (int k = 0; k < QUIET_POLLS; k++) {
            copy_poll(copy);
        }
        (void)copy_look(copy);
    }
    while (copy->seen < WARMUP) {
        copy_poll(copy);
        (void)copy_look(copy);
    }
    ns_sim_barrier(copy->node);
}

/* How many copies more node 0 wants answers to, as it says. */
static uint32_t copy_more(struct copy *copy, uint32_t mine)
{
    uint32_t all[2];

    (void)ns_sim_allgather(copy->node, &mine, all, sizeof(mine));
    return all[0];
}

static void copy_measure(struct copy *copy, struct logp *logp)
{
    bool is_long;

    logp->or_ps = copy_or(copy, copy->seen, LOGP_COMPUTE_PS);
    logp->half_ps = copy_half(copy, copy->seen);
    is_long = 2 * logp->half_ps >= LOGP_COMPUTE_PS;
    if (copy_more(copy, is_long ? ROUNDS : 0) > 0) {
        copy->quiet_ps = 4 * logp->half_ps;
        logp->or_ps = copy_or(copy, copy->seen, 4 * logp->half_ps);
    }
    logp->os_ps = copy_os(copy);
    copy_settle(copy);
    ns_sim_barrier(copy->node);
    logp->g_ps = copy_gap(copy, copy->seen);
}

/* The other side of it. */
static void copy_serve(struct copy *copy)
{
    uint32_t more;

    copy_answer(copy, 2 * ROUNDS);
    more = copy_more(copy, 0);
    copy_answer(copy, more);
    ns_sim_barrier(copy->node);
    copy_wait(copy, copy->seen + 1); /* past what the barrier let come */
    copy_wait(copy, WARMUP + 2 * ROUNDS + more + ROUNDS * BURST + STREAM);
    copy_send(copy);
}

int copy_logp(struct ns_sim_node *node, struct logp *logp, char *error,
              size_t error_bytes)
{
    struct copy copy;

    if (copy_open(&copy, node, error, error_bytes) != 0) {
        return -1;
    }
    copy_warm(&copy);
    if (node->rank == 0) {
        copy_measure(&copy, logp);
    } else {
        copy_serve(&copy);
    }
    copy_close(&copy);
    return 0;
}
