/*
 * What only some of the simulated NICs have: fetch-and-add, put, get,
 * multicast.
 */
#include "dev/snic/snic.h"

/* Not a capability: it reaches the NIC's variable, and no memory. */
am_status_t snic_fetch_add(struct am_dev_ep *base, const struct am_dev_key *key,
                           size_t offset, uint64_t value, uint64_t *old_p,
                           am_dev_done_fn done, void *arg)
{
    struct snic_dev *snic = snic_of(base->dev);

    if (snic->nic->fetch_add == NULL || key->w[0] != SNIC_KEY_VARIABLE ||
        offset != 0) {
        return AM_ERR_UNSUPPORTED;
    }
    return snic->nic->fetch_add(snic, snic_ep_of(base)->node, value, old_p,
                                done, arg);
}

uint64_t snic_key_check(const struct am_dev_key *key)
{
    uint64_t mix = key->w[0] ^ (key->w[1] << 32 | key->w[1] >> 32);

    return ((mix ^ mix >> 29) * UINT64_C(0x9e3779b97f4a7c15)) >>
           (64 - AM_DEV_KEY_BITS);
}

bool snic_key_reaches(const struct am_dev_key *key, size_t offset,
                      uint64_t bytes)
{
    return key->w[2] == snic_key_check(key) && offset <= key->w[1] &&
           bytes <= key->w[1] - offset;
}

am_status_t snic_register(struct am_dev *dev, void *base, size_t bytes,
                          uint32_t rights, struct am_dev_key *key)
{
    struct snic_dev *snic = snic_of(dev);

    return snic->nic->mem_register == NULL
                   ? AM_ERR_UNSUPPORTED
                   : snic->nic->mem_register(snic, base, bytes, key);
}

am_status_t snic_put(struct am_dev_ep *base, const struct iovec *local,
                     uint32_t count, const struct am_dev_key *key,
                     size_t offset, am_dev_done_fn done, void *arg)
{
    struct snic_dev *snic = snic_of(base->dev);

    return snic->nic->put == NULL
                   ? AM_ERR_UNSUPPORTED
                   : snic->nic->put(snic, snic_ep_of(base)->node, local, count,
                                    key, offset, done, arg);
}

void snic_deregister(struct am_dev *dev, const struct am_dev_key *key)
{
    struct snic_dev *snic = snic_of(dev);

    if (snic->nic->mem_deregister != NULL) {
        snic->nic->mem_deregister(snic, key);
    }
}

am_status_t snic_get(struct am_dev_ep *base, const struct iovec *local,
                     uint32_t count, const struct am_dev_key *key,
                     size_t offset, am_dev_done_fn done, void *arg)
{
    struct snic_dev *snic = snic_of(base->dev);

    return snic->nic->get == NULL
                   ? AM_ERR_UNSUPPORTED
                   : snic->nic->get(snic, snic_ep_of(base)->node, local, count,
                                    key, offset, done, arg);
}

static am_status_t snic_multicast(struct am_dev *dev, const void *hdr,
                                  size_t hdr_bytes, const void *data,
                                  size_t data_bytes)
{
    struct snic_dev *snic = snic_of(dev);
    const struct snic_info info = {.node = snic->port->node,
                                   .class = SNIC_CLASS_MULTICAST,
                                   .hdr_bytes = (uint32_t)hdr_bytes,
                                   .data_bytes = (uint32_t)data_bytes};

    if (snic->nic->multicasts == NULL || !snic->nic->multicasts(snic)) {
        return AM_ERR_UNSUPPORTED;
    }
    if (hdr_bytes > snic->base.attr.hdr_bytes_max ||
        data_bytes > snic->base.attr.packet_bytes_max - hdr_bytes) {
        return AM_ERR_INVALID;
    }
    if (!snic->nic->room(snic, SNIC_REPLY_SPARE)) {
        snic->stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    snic_packet_send(snic, &info, hdr, data, NULL, NULL);
    snic->stats[AM_DEV_STAT_TX_PACKETS]++;
    snic->stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    return AM_OK;
}

const struct am_dev_network_ops snic_network_ops = {
        .combine = snic_bgp_combine,
        .combined = snic_bgp_combined,
        .enter = snic_bgp_enter,
        .has_met = snic_bgp_has_met,
        .multicast = snic_multicast,
};
