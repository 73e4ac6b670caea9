/*
 * The registers of the DMA, the collective network and the global interrupt.
 */
#include "nic/bgp/bgp.h"

#include <stdlib.h>

struct where {
    struct ns_bgp_group *group;
    uint32_t block, index, reg;
};

static struct where where_of(struct ns_bgp_process *process, uint32_t reg)
{
    uint32_t group = reg >> 20;

    NS_CHECK(group < process->groups);
    return (struct where){&process->node->group[process->group + group],
                          reg >> 16 & 0xf, reg >> 4 & 0xfff, reg & 0xf};
}

static void injection_store(struct ns_bgp_group *group, uint32_t index,
                            uint32_t reg, uint32_t value)
{
    struct ns_bgp_fifo *fifo = &group->injection[index];
    struct ns_bgp_node *node = group->process->node;

    NS_CHECK(index < NS_BGP_INJECTION_FIFOS);
    switch (reg) {
    case NS_BGP_FIFO_START:
        fifo->start = value;
        fifo->head = 0;
        fifo->tail = 0;
        break;
    case NS_BGP_FIFO_SIZE:
        fifo->size = value;
        break;
    case NS_BGP_FIFO_SIZE_MAX:
        fifo->size_max = value;
        break;
    default:
        NS_CHECK(reg == NS_BGP_FIFO_TAIL && fifo->size > 0 &&
                 value - fifo->head <= fifo->size);
        fifo->tail = value;
        group->sets->active |= fifo->tail != fifo->head ? 1u << index : 0;
        ns_mark(node->component.engine, NS_STAGE_BELL,
                ns_engine_now(node->component.engine));
        ns_bgp_inject_start(node);
        break;
    }
}

static void reception_store(struct ns_bgp_group *group, uint32_t index,
                            uint32_t reg, uint32_t value)
{
    struct ns_bgp_reception *fifo = &group->reception[index];

    NS_CHECK(index < NS_BGP_RECEPTION_FIFOS);
    switch (reg) {
    case NS_BGP_FIFO_START:
        fifo->start = value;
        fifo->head = 0;
        fifo->tail = 0;
        break;
    case NS_BGP_FIFO_SIZE:
        NS_CHECK(value % NS_BGP_GRANULE == 0);
        fifo->bytes = value;
        break;
    default:
        NS_CHECK(reg == NS_BGP_FIFO_HEAD &&
                 value - fifo->head <= fifo->tail - fifo->head);
        fifo->head = value;
        ns_bgp_receive_retry(group->process->node);
        break;
    }
}

static void counter_store(struct ns_bgp_group *group, uint32_t index,
                          uint32_t reg, uint32_t value)
{
    struct ns_bgp_counter *counter = &group->in[index];

    NS_CHECK(index < NS_BGP_COUNTERS);
    switch (reg) {
    case NS_BGP_COUNTER_LOW:
        counter->base = (counter->base >> 32 << 32) | value;
        break;
    case NS_BGP_COUNTER_HIGH:
        counter->base = (uint64_t)value << 32 | (uint32_t)counter->base;
        break;
    case NS_BGP_COUNTER_LIMIT:
        counter->limit = value;
        break;
    default:
        counter->value = value;
        group->status.hits &= ~(UINT64_C(1) << index);
        group->status.faults &= ~(UINT64_C(1) << index);
        ns_bgp_status_write(group);
        break;
    }
}

/* Forget what has not been sent; a packet in the engine's hands still goes. */
static void injection_drop(struct ns_bgp_group *group, struct ns_bgp_fifo *fifo)
{
    struct ns_bgp_node *node = group->process->node;

    if (node->inject.busy && node->injecting == fifo) {
        fifo->tail = fifo->head + 1;
        fifo->present.bytes =
                fifo->sent_bytes + fifo->packet->bytes - NS_BGP_HEADER_BYTES;
        return;
    }
    if (fifo->packet != NULL) {
        ns_torus_packet_put(node->net->torus, fifo->packet);
        fifo->packet = NULL;
    }
    fifo->head = fifo->tail;
    group->sets->active &= ~(1u << (fifo - group->injection));
    group->sets->begun &= ~(1u << (fifo - group->injection));
}

static void group_store(struct ns_bgp_group *group, uint32_t reg,
                        uint32_t value)
{
    if (reg == NS_BGP_GROUP_STATUS) {
        group->status = (struct ns_bgp_status){0};
        group->status_address = value;
        group->open = true;
        return;
    }
    NS_CHECK(reg == NS_BGP_GROUP_CLOSE);
    group->open = false;
    if (group == &group->process->node->group[group->process->group]) {
        group->process->range_count = 0;
    }
    for (uint32_t i = 0; i < NS_BGP_INJECTION_FIFOS; i++) {
        injection_drop(group, &group->injection[i]);
    }
    for (uint32_t i = 0; i < NS_BGP_COUNTERS; i++) {
        group->in[i] = (struct ns_bgp_counter){0};
    }
    ns_bgp_receive_retry(group->process->node);
}

/* ---------------------------------------------------------- reachable memory */

static void range_add(struct ns_bgp_process *process, struct ns_bgp_range range)
{
    if (process->range_count == process->range_max) {
        uint32_t max = 2 * process->range_max + 16;
        struct ns_bgp_range *ranges =
                realloc(process->ranges, max * sizeof(*ranges));

        NS_CHECK(ranges != NULL);
        process->ranges = ranges;
        process->range_max = max;
    }
    process->ranges[process->range_count++] = range;
}

static void range_remove(struct ns_bgp_process *process,
                         struct ns_bgp_range range)
{
    for (uint32_t i = process->range_count; i-- > 0;) {
        if (process->ranges[i].base == range.base &&
            process->ranges[i].bytes == range.bytes) {
            process->ranges[i] = process->ranges[--process->range_count];
            return;
        }
    }
    NS_CHECK(false);
}

static void memory_store(struct ns_bgp_process *process, uint32_t reg,
                         uint32_t value)
{
    const uint32_t *w = process->memory_words;
    struct ns_bgp_range range;

    if (reg < NS_BGP_MEMORY_ADD) {
        process->memory_words[reg] = value;
        return;
    }
    range.base = (uint64_t)w[1] << 32 | w[0];
    range.bytes = (uint64_t)w[3] << 32 | w[2];
    if (reg == NS_BGP_MEMORY_ADD) {
        range_add(process, range);
    } else {
        range_remove(process, range);
    }
}

/* ------------------------------------------------------- collective network */

static void tree_store(struct ns_bgp_process *process, uint32_t reg,
                       uint32_t value)
{
    if (reg == NS_BGP_TREE_DATA) {
        NS_CHECK(process->tree_out_words < NS_BGP_TREE_BYTES / 4);
        process->tree_out.data[process->tree_out_words++] = value;
        return;
    }
    NS_CHECK(reg == NS_BGP_TREE_SEND &&
             process->tree_out_words == NS_BGP_TREE_BYTES / 4);
    process->tree_out.word = value;
    process->tree_out_words = 0;
    NS_CHECK(ns_tree_send(process->node->net->tree, process->node->index,
                          &process->tree_out));
}

/* Take the packet at the port, or the next word of the one that was taken. */
static uint32_t tree_load(struct ns_bgp_process *process, uint32_t reg)
{
    uint32_t word;

    if (reg == NS_BGP_TREE_TAKE) {
        NS_CHECK(process->tree_in_words == 0 &&
                 ns_tree_take(process->node->net->tree, process->node->index,
                              &process->tree_in));
        return process->tree_in.word;
    }
    word = process->tree_in.data[process->tree_in_words];
    process->tree_in_words =
            (process->tree_in_words + 1) % (NS_BGP_TREE_BYTES / 4);
    return word;
}

/* -------------------------------------------------------------- the two ways */

static void bgp_reg_store(void *nic, uint32_t reg, uint32_t value,
                          uint32_t bytes)
{
    struct ns_bgp_process *process = nic;
    struct where where = where_of(process, reg);

    (void)bytes;
    switch (where.block) {
    case NS_BGP_INJECTION:
        injection_store(where.group, where.index, where.reg, value);
        break;
    case NS_BGP_RECEPTION:
        reception_store(where.group, where.index, where.reg, value);
        break;
    case NS_BGP_COUNT_IN:
        counter_store(where.group, where.index, where.reg, value);
        break;
    case NS_BGP_COUNT_OUT:
        where.group->out[where.index % NS_BGP_COUNTERS] = value;
        break;
    case NS_BGP_GROUP:
        group_store(where.group, where.reg, value);
        break;
    case NS_BGP_TREE:
        tree_store(process, where.reg, value);
        break;
    case NS_BGP_GLOBAL:
        ns_tree_enter(process->node->net->tree);
        break;
    default:
        NS_CHECK(where.block == NS_BGP_MEMORY);
        memory_store(process, where.reg, value);
        break;
    }
}

static uint32_t bgp_reg_load(void *nic, uint32_t reg, uint32_t bytes)
{
    struct ns_bgp_process *process = nic;
    struct where where = where_of(process, reg);

    (void)bytes;
    switch (where.block) {
    case NS_BGP_COUNT_OUT:
        return where.group->out[where.index % NS_BGP_COUNTERS];
    case NS_BGP_COUNT_IN:
        return where.group->in[where.index % NS_BGP_COUNTERS].value;
    case NS_BGP_TREE:
        return tree_load(process, where.reg);
    default:
        NS_CHECK(where.block == NS_BGP_GROUP && where.reg == NS_BGP_GROUP_BUSY);
        return where.group->sets->active != 0;
    }
}

static bool bgp_reg_is_address(uint32_t reg)
{
    uint32_t block = reg >> 16 & 0xf, which = reg & 0xf;

    return (block == NS_BGP_COUNT_IN && which <= NS_BGP_COUNTER_HIGH) ||
           (block == NS_BGP_MEMORY && which < NS_BGP_MEMORY_BYTES);
}

const struct ns_nic_ops ns_bgp_nic_ops = {
        .reg_is_address = bgp_reg_is_address,
        .reg_load = bgp_reg_load,
        .reg_store = bgp_reg_store,
};
