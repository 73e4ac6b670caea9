/*
 * The collective network and the global interrupt of Blue Gene/P: no DMA, the
 * core writes and reads packets word by word.
 *
 * A packet of mine leaves its port's buffer before its result comes, so as long
 * as fewer are without a result than the buffer holds, there is room.
 */
#include "dev/snic/snic_bgp.h"

_Static_assert((int)AM_DEV_COMBINE_CAST == NS_BGP_TREE_BROADCAST &&
                       (int)AM_DEV_COMBINE_ADD == NS_BGP_TREE_ADD &&
                       (int)AM_DEV_COMBINE_MAX == NS_BGP_TREE_MAX &&
                       (int)AM_DEV_COMBINE_MIN == NS_BGP_TREE_MIN &&
                       (int)AM_DEV_COMBINE_AND == NS_BGP_TREE_AND &&
                       (int)AM_DEV_COMBINE_OR == NS_BGP_TREE_OR &&
                       (int)AM_DEV_COMBINE_XOR == NS_BGP_TREE_XOR,
               "operations are numbered as the port's");

static struct bgp *port_of(struct snic_dev *snic)
{
    struct bgp *bgp = snic->nic == &snic_bgp ? snic->nic_data : NULL;

    return bgp == NULL || bgp->facts->tree_packets == 0 ? NULL : bgp;
}

am_status_t snic_bgp_combine(struct am_dev *dev, uint32_t op,
                             const uint32_t words[AM_DEV_NETWORK_WORDS])
{
    struct snic_dev *snic = snic_of(dev);
    struct bgp *bgp = port_of(snic);
    uint32_t root = op == NS_BGP_TREE_BROADCAST ? snic->port->node : 0;

    if (bgp == NULL) {
        return AM_ERR_UNSUPPORTED;
    }
    if (op > NS_BGP_TREE_XOR) {
        return AM_ERR_INVALID;
    }
    if (bgp->tree_sent - bgp->tree_mine >= bgp->facts->tree_packets) {
        return AM_ERR_AGAIN;
    }
    snic->port->ops->charge(snic->port, NS_WORK_PUT, 1);
    for (uint32_t i = 0; i < AM_DEV_NETWORK_WORDS; i++) {
        snic_bgp_write(snic, NS_BGP_TREE, 0, NS_BGP_TREE_DATA, words[i]);
    }
    snic_bgp_write(snic, NS_BGP_TREE, 0, NS_BGP_TREE_SEND,
                   NS_BGP_TREE_WORD(op, root));
    bgp->tree_sent++;
    return AM_OK;
}

am_status_t snic_bgp_combined(struct am_dev *dev, uint32_t *op_p,
                              uint32_t words[AM_DEV_NETWORK_WORDS])
{
    struct snic_dev *snic = snic_of(dev);
    struct bgp *bgp = port_of(snic);
    struct ns_port *port = snic->port;
    uint32_t word;

    if (bgp == NULL) {
        return AM_ERR_UNSUPPORTED;
    }
    if (bgp->status.collected == bgp->tree_taken) {
        port->ops->charge(port, NS_WORK_POLL, 1);
        snic_bgp_look(snic);
    }
    if (bgp->status.collected == bgp->tree_taken) {
        return AM_ERR_AGAIN;
    }
    word = port->ops->pio_load(
            port, NS_BGP_REG(0, NS_BGP_TREE, 0, NS_BGP_TREE_TAKE), 4);
    for (uint32_t i = 0; i < AM_DEV_NETWORK_WORDS; i++) {
        words[i] = port->ops->pio_load(
                port, NS_BGP_REG(0, NS_BGP_TREE, 0, NS_BGP_TREE_DATA), 4);
    }
    *op_p = word >> 24;
    bgp->tree_taken++;
    bgp->tree_mine += word >> 24 != NS_BGP_TREE_BROADCAST ||
                      (word & 0xffffff) == port->node;
    return AM_OK;
}

am_status_t snic_bgp_enter(struct am_dev *dev)
{
    struct snic_dev *snic = snic_of(dev);
    struct bgp *bgp = snic->nic == &snic_bgp ? snic->nic_data : NULL;

    if (bgp == NULL) {
        return AM_ERR_UNSUPPORTED;
    }
    if (bgp->status.barriers != bgp->barriers) {
        return AM_ERR_AGAIN;
    }
    bgp->barriers++;
    snic_bgp_write(snic, NS_BGP_GLOBAL, 0, NS_BGP_GLOBAL_ENTER, 0);
    return AM_OK;
}

bool snic_bgp_has_met(struct am_dev *dev)
{
    struct snic_dev *snic = snic_of(dev);
    const struct bgp *bgp = snic->nic_data;

    snic->port->ops->charge(snic->port, NS_WORK_POLL, 1);
    snic_bgp_look(snic);
    return bgp->status.barriers == bgp->barriers;
}
