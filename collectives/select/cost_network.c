/*
 * The formulas of cost.h for what the network itself does.
 */
#include "config.h"

#include "collectives/select/cost.h"

static uint64_t pieces(size_t bytes, size_t piece)
{
    return am_piece_count(bytes, piece);
}

uint64_t am_cost_network_meet(const struct am_coll_cost *c)
{
    return c->numbers->network.meet_ps;
}

uint64_t am_cost_network_combine(const struct am_coll_cost *c)
{
    const struct am_dev_network *network = &c->numbers->network;
    size_t packet = AM_DEV_NETWORK_WORDS * sizeof(uint32_t);

    return network->combine_ps +
           (pieces(c->bytes, packet) - 1) * network->combine_gap_ps;
}

uint64_t am_cost_network_cast(const struct am_coll_cost *c)
{
    const struct am_dev_network *network = &c->numbers->network;
    size_t piece = c->bytes < c->numbers->eager_max ? c->bytes
                                                    : c->numbers->eager_max;
    struct am_linfn one = {network->multicast_ps,
                           network->multicast_per_byte_fs};
    struct am_linfn next = {network->multicast_gap_ps,
                            c->numbers->perf.gap_byte_fs};

    return am_cost_line_ps(&one, piece) +
           (pieces(c->bytes, c->numbers->eager_max) - 1) *
                   am_cost_line_ps(&next, piece);
}
