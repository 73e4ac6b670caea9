/*
 * The device of a simulated NIC: am-core's side of nic-sim.  It opens only in
 * a program whose environment is a simulated host (am_env.port).  What is
 * common to all NICs is snic_dev.c; each NIC's FIFOs, doorbells and
 * descriptors are one file with a struct snic_nic.
 *
 *   send -> nic->room? -> nic->transmit -> doorbell
 *   poll -> nic->begin -> nic->receive -> [held requests] -> up.packet
 *
 * The NIC may drop packets (its input FIFO overflows), so the device is not
 * RELIABLE, and the window of am-core/chan goes on top.
 */
#ifndef AM_DEV_SNIC_SNIC_H
#define AM_DEV_SNIC_SNIC_H

#include "base/list.h"
#include "dev/dev.h"
#include "nicsim_port.h"

#define SNIC_PACKET_BYTES 4096 /* largest of all NICs */
#define SNIC_HEAD_BYTES   64   /* largest header of a NIC's own */
#define SNIC_HDR_BYTES    136  /* a bare am header with all its words */
/*
 * Requests that wait for `ready`, of one endpoint at most.  A NIC that loses
 * packets loses more of them.  On one that does not, a sender has so many
 * credits for requests that the receiver has not delivered; they come back with
 * packets, or with one of their own for half of them.  So requests that wait
 * never keep a reply from being taken.
 */
#define SNIC_HELD_MAX 64
/* Packets that requests leave free, so that replies always find room. */
#define SNIC_REPLY_SPARE  16
#define SNIC_CLASS_CREDIT AM_DEV_CLASS_COUNT /* a packet of credits only */
/* From a multicast's root: delivered at once, as a reply is. */
#define SNIC_CLASS_MULTICAST (AM_DEV_CLASS_COUNT + 1)

extern const struct am_dev_ops am_dev_snic_ops;

/* What every NIC's packet says of itself, wherever its header keeps it. */
struct snic_info {
    uint32_t node; /* the peer */
    uint32_t class;
    uint32_t hdr_bytes, data_bytes;
    uint32_t credits; /* for requests, that go with it */
};

/* A packet to send: header and data as they will be in memory, and before them
 * room for the NIC's own header, so that one store writes all. */
struct snic_tx {
    struct snic_info info;
    uint8_t *body; /* 8-byte aligned */
    uint64_t image[(SNIC_HEAD_BYTES + SNIC_PACKET_BYTES) / 8];
};

/* A packet that came, in the driver's own memory. */
struct snic_rx {
    struct snic_info info;
    const uint8_t *hdr; /* 8-byte aligned */
    uint8_t *data;
    uint64_t buffer[SNIC_PACKET_BYTES / 8];
};

struct snic_dev;

struct snic_nic {
    const char *name;
    /* Set up the NIC; fill dev->base.attr; dev->nic_data is its own. */
    am_status_t (*open)(struct snic_dev *snic);
    void (*close)(struct snic_dev *snic);
    /* Is there room for one more packet and then `spare` others? */
    bool (*room)(struct snic_dev *snic, uint32_t spare);
    /* There is room: send one packet. */
    void (*transmit)(struct snic_dev *snic, struct snic_tx *tx);
    /* A poll begins: ring what has not been rung. */
    void (*begin)(struct snic_dev *snic);
    /* Take the next packet that came; false if there is none.  Its fields are
     * in range (bad ones are counted and dropped). */
    bool (*receive)(struct snic_dev *snic, struct snic_rx *rx);
    /* On the NIC's own variable; NULL: it has none. */
    am_status_t (*fetch_add)(struct snic_dev *snic, uint32_t node,
                             uint64_t value, uint64_t *old_p,
                             am_dev_done_fn done, void *arg);
    /* Do multicasts (SNIC_CLASS_MULTICAST) work?  NULL: no. */
    bool (*multicasts)(struct snic_dev *snic);
    /* As the device's; NULL: it has none. */
    am_status_t (*mem_register)(struct snic_dev *snic, void *base, size_t bytes,
                                struct am_dev_key *key);
    void (*mem_deregister)(struct snic_dev *snic, const struct am_dev_key *key);
    am_status_t (*put)(struct snic_dev *snic, uint32_t node,
                       const struct iovec *local, uint32_t count,
                       const struct am_dev_key *key, size_t offset,
                       am_dev_done_fn done, void *arg);
    am_status_t (*get)(struct snic_dev *snic, uint32_t node,
                       const struct iovec *local, uint32_t count,
                       const struct am_dev_key *key, size_t offset,
                       am_dev_done_fn done, void *arg);
    /* After begin: call the done functions that are due; how many were. */
    uint32_t (*complete)(struct snic_dev *snic);
};

/*
 * Let peers put into [address, address + bytes) of shared memory, whole pages.
 * AM_ERR_UNSUPPORTED on a NIC without remote copies.
 */
am_status_t snic_lanai_expose(struct am_dev *dev, uint32_t address,
                              size_t bytes, struct am_dev_key *key);

/*
 * On a LANai: while `on`, the host itself writes what it sends into NI memory,
 * with the descriptor, as it does with a fetch-and-add's operand.
 */
void snic_lanai_write(struct am_dev *dev, bool on);

/* What the networks do themselves: Blue Gene/P's collective network and global
 * interrupt, where in dual and quad mode a node's first process has the port; and
 * LCI's multicast along a tree that the NIs or the hosts on the way forward it in,
 * AM_ERR_UNSUPPORTED where neither can. */
extern const struct am_dev_network_ops snic_network_ops;

/* The ops of snic_bgp_tree.c; as dev/network.h says, but for AM_ERR_UNSUPPORTED of a
 * context without a port. */
am_status_t snic_bgp_combine(struct am_dev *dev, uint32_t op,
                             const uint32_t words[AM_DEV_NETWORK_WORDS]);
am_status_t snic_bgp_combined(struct am_dev *dev, uint32_t *op_p,
                              uint32_t words[AM_DEV_NETWORK_WORDS]);
am_status_t snic_bgp_enter(struct am_dev *dev);
bool snic_bgp_has_met(struct am_dev *dev);

/* The key of the variable in each NIC that fetch_add works on. */
#define SNIC_KEY_VARIABLE UINT64_C(0x6e69637661720001)

extern const struct snic_nic snic_tb2;
extern const struct snic_nic snic_lanai;
extern const struct snic_nic snic_bgp;
extern const struct snic_nic snic_wq;

struct snic_ep {
    struct am_dev_ep base;
    uint32_t node;
    uint32_t held_count;
    uint32_t requests_out; /* sent, and no credit back */
    uint32_t owed;         /* requests delivered, and not told */
};

struct snic_dev {
    struct am_dev base;
    struct ns_port *port;
    const struct snic_nic *nic;
    void *nic_data;
    struct am_env *env;
    uint64_t *stats;
    uint64_t nonce;
    struct snic_ep **eps; /* by node; NULL until there is one */
    uint32_t *ranks;      /* by node: of the job, or UINT32_MAX */
    struct snic_rx *held; /* ring, in order of arrival */
    uint32_t held_head, held_count, held_max;
    uint32_t owing; /* endpoints that are owed half of their credits */
};

static inline struct snic_dev *snic_of(struct am_dev *dev)
{
    return am_container(dev, struct snic_dev, base);
}

/* A key's third word tells it from other numbers; does it reach so far? */
uint64_t snic_key_check(const struct am_dev_key *key);
bool snic_key_reaches(const struct am_dev_key *key, size_t offset,
                      uint64_t bytes);

/*
 * A packet's header is in `info` (peer input: wrong fields are counted, and
 * false returned) and its body at `address` of shared memory: load it into
 * `rx` and charge the work of taking a packet.
 */
bool snic_take(struct snic_dev *snic, const struct snic_info *info,
               uint32_t address, struct snic_rx *rx);

static inline struct snic_ep *snic_ep_of(struct am_dev_ep *ep)
{
    return am_container(ep, struct snic_ep, base);
}

/* Header and data one after the other, and to the NIC; there is room. */
void snic_packet_send(struct snic_dev *snic, const struct snic_info *info,
                      const void *hdr, const void *data, am_dev_fill_fn fill,
                      void *arg);

/* The ops of snic_extra.c; as dev.h says. */
am_status_t snic_fetch_add(struct am_dev_ep *base, const struct am_dev_key *key,
                           size_t offset, uint64_t value, uint64_t *old_p,
                           am_dev_done_fn done, void *arg);
am_status_t snic_register(struct am_dev *dev, void *base, size_t bytes,
                          uint32_t rights, struct am_dev_key *key);
void snic_deregister(struct am_dev *dev, const struct am_dev_key *key);
am_status_t snic_get(struct am_dev_ep *base, const struct iovec *local,
                     uint32_t count, const struct am_dev_key *key,
                     size_t offset, am_dev_done_fn done, void *arg);
am_status_t snic_put(struct am_dev_ep *base, const struct iovec *local,
                     uint32_t count, const struct am_dev_key *key,
                     size_t offset, am_dev_done_fn done, void *arg);

/* The ops of snic_init.c; as dev.h says. */
am_status_t snic_open(const struct am_dev_params *params,
                      struct am_dev **dev_p);
void snic_close(struct am_dev *dev);
size_t snic_address(struct am_dev *dev, void *to, size_t bytes_max);
bool snic_reachable(struct am_dev *dev, const void *address, size_t bytes);
am_status_t snic_connect_all(struct am_dev *dev, const void *const *parts,
                             const size_t *part_bytes, uint32_t count);
am_status_t snic_connect(struct am_dev *dev, const void *address, size_t bytes,
                         uint32_t rank, void *user, struct am_dev_ep **ep_p);
void snic_disconnect(struct am_dev_ep *ep);
/* An endpoint of `node`, which has none; NULL when out of memory. */
struct snic_ep *snic_ep_new(struct snic_dev *snic, uint32_t node, void *user);

#endif
