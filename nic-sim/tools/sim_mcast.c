/*
 * Multicast from node 0 to all others along trees: by the NIs or by the hosts
 * (dev/snic), and, where the hosts are what makes packets reliable, by handlers
 * that send on.  Virtual time is one for all nodes, so the latency is that of
 * the last node.  And the fetch-and-add of hosts behind a channel.
 */
#include "tools/sim_run.h"

#include "base/config.h"
#include "chan/chan.h"
#include "dev/snic/snic.h"
#include "dev/snic/snic_lanai.h"
#include "dev/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 10,
    H_MCAST = H_GOT + 1
};

struct mcast {
    struct run run; /* its handlers, when hosts send on */
    struct am_dev *dev;
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint64_t got;
    uint32_t child_count, children[NS_LANAI_CHILDREN_MAX];
};

/* --------------------------------------------------- by NIs or their drivers */

static void on_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t data_bytes)
{
    (void)class;
    (void)hdr;
    (void)hdr_bytes;
    (void)data;
    (void)data_bytes;
    ((struct mcast *)user)->got++;
}

static void *on_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    (void)ep;
    (void)rank;
    return arg;
}

bool host_is_reliable(const struct ns_sim_node *node)
{
    const struct ns_port *port = node->env->port;
    const struct ns_lanai_facts *facts = port->facts;

    return facts->reliability == NS_LANAI_HOST;
}

static int device_open(struct mcast *mcast, struct ns_sim_node *node,
                       char *error, size_t error_bytes)
{
    const struct am_dev_params params = {
            .env = node->env,
            .rank = node->rank,
            .size = node->size,
            .up = {.arg = mcast, .packet = on_packet, .accept = on_accept},
            .stats = mcast->stats,
            .error = error,
            .error_bytes = error_bytes,
    };

    return am_dev_snic_ops.open(&params, &mcast->dev) == AM_OK ? 0 : -1;
}

/* ----------------------------------------------------------------- by handlers */

static void hand_on(struct mcast *mcast, void *data, size_t bytes)
{
    for (uint32_t i = 0; i < mcast->child_count; i++) {
        (void)am_ctx_request(mcast->run.ctx, mcast->children[i], H_MCAST, NULL,
                             0, data, bytes);
    }
}

static void on_mcast(struct am_token *token, const uint64_t *words,
                     uint32_t word_count, void *data, size_t bytes)
{
    struct mcast *mcast = am_token_arg(token);

    (void)words;
    (void)word_count;
    mcast->got++;
    hand_on(mcast, data, bytes);
}

/* ------------------------------------------------------------------ one of both */

static int mcast_open(struct mcast *mcast, struct ns_sim_node *node,
                      char *error, size_t error_bytes)
{
    const struct ns_lanai_facts *facts =
            ((struct ns_port *)node->env->port)->facts;

    *mcast = (struct mcast){.run = {.node = node}};
    mcast->child_count =
            lanai_children(facts, node->size, 0, node->rank, mcast->children);
    if (!host_is_reliable(node)) {
        return device_open(mcast, node, error, error_bytes);
    }
    if (run_open(&mcast->run, node, error, error_bytes) != 0) {
        return -1;
    }
    am_handler_register(mcast->run.ctx, H_MCAST, on_mcast, mcast, "mcast");
    return 0;
}

static void mcast_close(struct mcast *mcast)
{
    if (mcast->dev == NULL) {
        run_close(&mcast->run);
    } else {
        ns_sim_barrier(mcast->run.node);
        mcast->dev->ops->close(mcast->dev);
    }
}

static void mcast_poll(struct mcast *mcast)
{
    if (mcast->dev == NULL) {
        (void)am_ctx_poll_wait(mcast->run.ctx);
    } else if (mcast->dev->ops->poll(mcast->dev, 64) == 0) {
        mcast->dev->ops->wait(mcast->dev, 1, AM_DEV_REST_LONG);
    }
}

static void poll_of(void *arg)
{
    mcast_poll(arg);
}

static size_t mcast_bytes_max(struct mcast *mcast)
{
    return mcast->dev == NULL
                   ? am_payload_max(mcast->run.ctx, 1)
                   : mcast->dev->attr.packet_bytes_max - sizeof(uint64_t);
}

static void mcast_packet(struct mcast *mcast, void *data, size_t bytes)
{
    const uint64_t hdr = 0;

    if (mcast->dev == NULL) {
        hand_on(mcast, data, bytes);
        return;
    }
    while (snic_network_ops.multicast(mcast->dev, &hdr, sizeof(hdr), data, bytes) ==
           AM_ERR_AGAIN) {
        mcast_poll(mcast);
    }
}

/* `bytes` in packets from node 0; the time until the last node has the last. */
static uint64_t mcast_once(struct mcast *mcast, void *data, size_t bytes)
{
    struct ns_sim_node *node = mcast->run.node;
    size_t max = mcast_bytes_max(mcast);
    uint64_t packets = bytes == 0 ? 1 : (bytes + max - 1) / max;
    uint64_t wanted = mcast->got + packets;
    uint64_t *all = calloc(node->size, sizeof(*all));
    uint64_t from_ps, end_ps, last_ps = 0;

    ns_sim_meet(node, poll_of, mcast);
    from_ps = am_env_now(node->env);
    for (size_t at = 0; node->rank == 0 && packets > 0; packets--) {
        size_t left = bytes - at < max ? bytes - at : max;

        mcast_packet(mcast, (char *)data + at, left);
        at += left;
    }
    while (node->rank != 0 && mcast->got < wanted) {
        mcast_poll(mcast);
    }
    end_ps = am_env_now(node->env);
    ns_sim_meet(node, poll_of, mcast);
    (void)ns_sim_allgather(node, &end_ps, all, sizeof(end_ps));
    for (uint32_t i = 0; all != NULL && i < node->size; i++) {
        last_ps = all[i] > last_ps ? all[i] : last_ps;
    }
    free(all);
    return last_ps - from_ps;
}

int mcast_run(struct ns_sim_node *node, uint64_t *value_p, size_t bytes,
              char *error, size_t error_bytes)
{
    void *data = calloc(1, bytes + 1);
    struct mcast mcast;
    uint64_t sum_ps = 0;

    if (data == NULL || mcast_open(&mcast, node, error, error_bytes) != 0) {
        free(data);
        return -1;
    }
    (void)mcast_once(&mcast, data, bytes);
    for (int i = 0; i < ROUNDS; i++) {
        sum_ps += mcast_once(&mcast, data, bytes);
    }
    if (node->rank == 0) {
        *value_p = sum_ps / ROUNDS;
    }
    mcast_close(&mcast);
    free(data);
    return 0;
}

int figure_mcast(struct ns_sim_node *node, uint64_t *value_p, char *error,
                 size_t error_bytes)
{
    return mcast_run(node, value_p, sizeof(uint64_t), error, error_bytes);
}

/* ------------------------------------------ fetch-and-add behind the channel */

struct counter {
    struct am_dev *dev;
    struct am_dev_ep *ep;
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint64_t variable, done, old;
};

/*
 * A request adds its word to the variable; the reply brings the old value.
 * The word goes with the descriptor, as it does where the NI does the work
 * (an assumption: the paper does not tell); the reply is a packet like others.
 */
static void on_count(void *user, uint32_t class, const void *hdr,
                     size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct counter *counter = user;
    uint64_t word;

    (void)hdr_bytes;
    (void)data;
    (void)data_bytes;
    memcpy(&word, hdr, sizeof(word));
    if (class == AM_DEV_REPLY) {
        counter->old = word;
        counter->done++;
        return;
    }
    (void)counter->dev->ops->send(counter->ep, AM_DEV_REPLY, &counter->variable,
                                  sizeof(word), NULL, 0);
    counter->variable += word;
}

static int counter_open(struct counter *counter, struct ns_sim_node *node,
                        char *error, size_t error_bytes)
{
    const struct am_dev_params params = {
            .env = node->env,
            .rank = node->rank,
            .size = node->size,
            .nonce = node->rank + 1,
            .up = {.packet = on_count},
            .stats = counter->stats,
            .error = error,
            .error_bytes = error_bytes,
    };
    struct am_chan_values values;
    uint64_t mine[4], all[8];
    size_t bytes;

    if (am_config_load(&am_chan_config, &values, NULL, 0, error, error_bytes) !=
                AM_OK ||
        am_dev_stack_open(&am_dev_snic_ops, &params, &values, &counter->dev) !=
                AM_OK) {
        return -1;
    }
    bytes = counter->dev->ops->address(counter->dev, mine, sizeof(mine));
    (void)ns_sim_allgather(node, mine, all, sizeof(mine));
    return counter->dev->ops->connect(counter->dev, &all[4 * (1 - node->rank)],
                                      bytes, 1 - node->rank, counter,
                                      &counter->ep) == AM_OK
                   ? 0
                   : -1;
}

static void counter_poll(void *arg)
{
    struct counter *counter = arg;

    if (counter->dev->ops->poll(counter->dev, 64) == 0) {
        counter->dev->ops->wait(counter->dev, 1, AM_DEV_REST_LONG);
    }
}

static void counter_add(struct counter *counter, uint64_t value)
{
    struct am_dev *nic = counter->dev;
    am_status_t status;

    while (nic->ops != &am_dev_snic_ops) {
        nic = am_wrap_of(nic)->lower;
    }
    do {
        snic_lanai_write(nic, true);
        status = counter->dev->ops->send(counter->ep, AM_DEV_REQUEST, &value,
                                         sizeof(value), NULL, 0);
        snic_lanai_write(nic, false);
        if (status == AM_ERR_AGAIN) {
            counter_poll(counter);
        }
    } while (status == AM_ERR_AGAIN);
}

int host_fetch_add(struct ns_sim_node *node, uint64_t *value_p, char *error,
                   size_t error_bytes)
{
    struct counter counter = {.done = 0};
    uint64_t from_ps = 0;
    int result = 0;

    if (counter_open(&counter, node, error, error_bytes) != 0) {
        return -1;
    }
    for (uint64_t i = 0; i <= 10 * ROUNDS && node->rank == 0; i++) {
        from_ps = i == 1 ? am_env_now(node->env) : from_ps;
        counter_add(&counter, 1);
        while (counter.done <= i) {
            counter_poll(&counter);
        }
        if (counter.old != i) {
            snprintf(error, error_bytes, "fetch-and-add gave %lu, not %lu",
                     (unsigned long)counter.old, (unsigned long)i);
            result = -1;
        }
    }
    if (node->rank == 0) {
        *value_p = (am_env_now(node->env) - from_ps) / (10 * ROUNDS);
    }
    ns_sim_meet(node, counter_poll, &counter);
    counter.dev->ops->close(counter.dev);
    return result;
}
