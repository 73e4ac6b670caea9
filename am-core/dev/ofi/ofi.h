/*
 * The ofi device: packets by libfabric, through a provider that has reliable
 * datagram endpoints (FI_EP_RDM).  libfabric is loaded when the device opens, so
 * that libam runs where there is none.
 *
 *   send -> ofi_tx: a buffer      -> fi_inject, fi_send -> provider
 *   poll <- ofi_rx: checked, held <- fi_cq_read         <- provider
 *
 * Space.  A provider takes what it is given and delivers it in order, so this
 * device keeps the two classes apart.  Each end may send OFI_CREDITS requests
 * that the other has not taken; the packets of the other way say how many it
 * took.  A request that the layer above is not ready for waits here, without
 * being in the way of replies.  What the provider has no space for waits in its
 * buffer, in a queue of its peer.
 *
 * Trust.  A packet that does not carry this context's number, which stands in
 * its address, is dropped and counted; so is one of a connection that is not
 * known.  That keeps jobs apart.  It is no authentication: providers have none.
 *
 * Files: ofi_lib.c loads libfabric, ofi_choose.c (by ofi_nic.c where there are
 * several adapters) chooses a provider, which ofi_fabric.c opens,
 * ofi_init.c life and variables, ofi_ep.c peers, ofi_tx.c, ofi_rx.c, ofi_name.c
 * addresses of providers, ofi_cache.c and ofi_mem.c registered memory, ofi_rma.c
 * puts and gets, ofi_alive.c errors and silence, ofi_wait.c waiting.
 */
#ifndef AM_DEV_OFI_OFI_H
#define AM_DEV_OFI_OFI_H

#include "base/config.h"
#include "base/forked.h"
#include "base/list.h"
#include "dev/defaults.h"
#include "dev/ofi/ofi_cache.h"
#include "dev/ofi/ofi_wire.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sys/uio.h>

#define OFI_HDR_BYTES ((size_t)sizeof(struct ofi_hdr))
#define OFI_HDR_MAX   ((size_t)256) /* of the layer above */
#define OFI_CREDITS   128 /* requests to one peer that it has not taken */
#define OFI_TX_COUNT  256 /* buffers to send from, one packet each */
/* Buffers that requests leave free: for replies, and for what this device says
 * by itself. */
#define OFI_TX_REPLIES 32
#define OFI_RX_SLABS   8                 /* of many packets each */
#define OFI_RX_SLAB_BYTES ((size_t)1 << 18)
#define OFI_RX_SINGLE  256               /* or of one packet each */
#define OFI_CQ_ENTRIES 16                /* read by one call */
#define OFI_BUCKETS    1024              /* of the table of peers */
#define OFI_REGION_BUCKETS 256
#define OFI_RMAS_MAX       64                /* puts and gets in the provider */
#define OFI_IOV_MOST       4                 /* pieces of one */
#define OFI_SOCKETS_FLYING ((size_t)1 << 15) /* ofi_provider_limits */

extern const struct am_dev_ops am_ofi_ops;

typedef enum {
    OFI_READS_AUTO,
    OFI_READS_ON,
    OFI_READS_OFF
} ofi_reads_t;

struct ofi_config {
    char provider[AM_CONFIG_TEXT_BYTES];
    char domain[AM_CONFIG_TEXT_BYTES];
    size_t packet_bytes;
    int multi, writes;
    int reads; /* ofi_reads_t: AM_OFI_READS */
    uint64_t cache_count; /* registrations kept without use */
    uint64_t silence_s;   /* 0: any */
};

/* ---------------------------------------------------------------- ofi_lib.c */

/* What is called of libfabric by name; all else its headers do. */
struct ofi_lib {
    int (*getinfo)(uint32_t version, const char *node, const char *service,
                   uint64_t flags, const struct fi_info *hints,
                   struct fi_info **info);
    void (*freeinfo)(struct fi_info *info);
    struct fi_info *(*dupinfo)(const struct fi_info *info);
    int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
                  void *context);
    uint32_t (*version)(void);
    const char *(*strerror)(int error);
};

/* Load it, which stays for the process; AM_ERR_UNSUPPORTED with a sentence in
 * `error` that says what is missing. */
am_status_t ofi_lib_load(struct ofi_lib *lib, char *error, size_t error_bytes);

/* ------------------------------------------------------------- the structures */

enum {
    OFI_KIND_TX,
    OFI_KIND_RX,
    OFI_KIND_RMA
};

/* What the provider gives back with a completion; the first is its own while it
 * has the buffer. */
struct ofi_context {
    struct fi_context2 provider;
    uint32_t kind;
};

/* One packet on its way out. */
struct ofi_tx {
    struct ofi_context context;
    struct am_list link;        /* of those free, or of its peer's queue */
    struct ofi_ep *ep;
    uint32_t bytes;
    bool told; /* a completion is wanted, however short it is */
    uint8_t *memory;
};

/* Memory that packets come into. */
struct ofi_rx {
    struct ofi_context context;
    struct ofi_rx *next_unposted;
    uint8_t *memory;
};

/* A put or get that the provider carries out. */
struct ofi_rma {
    struct ofi_context context;
    struct am_list link; /* of those free, or out */
    struct ofi_ep *ep;
    am_dev_done_fn done;
    void *arg;
    bool put;
    bool lost; /* ended above: only the provider still has it */
    uint32_t local_count;
    struct ofi_mr *local[OFI_IOV_MOST]; /* its pieces', where they need it */
};

/* A request that waits until the layer above is ready. */
struct ofi_held {
    struct am_list link;
    size_t hdr_bytes, data_bytes;
    uint64_t hdr[OFI_HDR_MAX / sizeof(uint64_t)];
    uint8_t data[];
};

struct ofi_ep {
    struct am_dev_ep base;
    struct ofi_ep *next; /* of its bucket */
    uint64_t nonce;      /* the peer's */
    fi_addr_t to;
    uint32_t conn;
    uint8_t flags;   /* of all its packets: OFI_FLAG_ANSWER or 0 */
    bool open;       /* the layer above has it */
    bool greets;     /* a HELLO goes before the next packet */
    bool used;       /* a packet went or came */
    bool heard;      /* since the last look */
    bool left;       /* it closed in order */
    bool dead;       /* it was told of, or is about to be */
    bool told;       /* its death was */
    bool gone;       /* let go of and not in the table: freed when unused */
    uint32_t rank;   /* UINT32_MAX: not of the job */
    uint32_t credit; /* requests that may still be sent */
    uint32_t owed;   /* requests taken that the peer does not know of */
    uint32_t flying; /* buffers that the provider has */
    size_t flying_bytes; /* in them */
    uint32_t rmas;       /* puts and gets that the provider has */
    struct am_list queue; /* of struct ofi_tx: no space in the provider */
    struct am_list held;  /* of struct ofi_held */
    uint32_t held_count;
    struct am_list link;  /* of all */
    struct am_list stuck_link, held_link, owing_link, doomed_link;
    /* cold */
    int error; /* why it is dead, FI_E... */
    int probe_fd;
    uint64_t heard_ps, pinged_ps, probe_ps, probe_wait_ps, told_ps;
    bool pinged; /* and not heard of since */
    uint8_t name_bytes;
    _Alignas(8) uint8_t name[OFI_NAME_MAX];
};

struct ofi_dev {
    struct am_dev base;
    struct fid_ep *ep;
    struct fid_cq *cq;
    bool forked;  /* in the child of a fork: nothing is touched */
    bool closing; /* nothing is taken in any more */
    bool sleeps;  /* AM_WAIT=sleep */
    int wait_fd;  /* readable when completions may have come; -1: none */
    bool multi;   /* receive buffers take many packets each */
    uint64_t *stats;
    uint64_t nonce;
    size_t inject_bytes; /* largest packet that the provider copies at once */
    size_t flying_bytes_max; /* to one peer; one packet may always fly */
    /* Buffers to send from.  Packets that were injected since the last poll
     * count as if they had kept theirs: a sender that never polls ends. */
    struct am_list tx_free;
    uint32_t tx_free_count, tx_spent;
    uint32_t tx_lost; /* that the provider has of peers told dead */
    void *tx_desc, *rx_desc; /* of FI_MR_LOCAL */
    struct am_list stuck, held, owing, doomed; /* endpoints */
    struct ofi_rx *unposted;
    struct am_list rmas, rmas_free;
    uint32_t rma_count; /* without those lost */
    struct ofi_cache cache;
    struct ofi_mr *regions[OFI_REGION_BUCKETS]; /* of the cache, by key */
    struct ofi_ep *buckets[OFI_BUCKETS];

    /* cold */
    struct am_env *env;
    struct am_log *log;
    struct ofi_config config;
    struct ofi_lib lib;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_mr *tx_mr, *rx_mr;
    struct ofi_tx *tx;
    struct ofi_rx *rx;
    uint8_t *tx_memory, *rx_memory;
    uint32_t rx_count;
    size_t rx_bytes; /* of each */
    struct am_list eps;
    uint32_t rank, gone_count;
    uint32_t conn_count;
    uint64_t check_ps;
    struct ofi_address me;
    struct ofi_address *job;
    uint32_t job_size;
    char text[256]; /* base.error */
    struct am_fork_watch fork_watch;
};

static inline struct ofi_dev *ofi_dev_of(struct am_dev *dev)
{
    return am_container(dev, struct ofi_dev, base);
}

static inline struct ofi_ep *ofi_ep_of(struct am_dev_ep *ep)
{
    return am_container(ep, struct ofi_ep, base);
}

static inline size_t ofi_address_bytes(const struct ofi_address *address)
{
    return OFI_ADDRESS_HEAD + address->name_bytes;
}

/* ------------------------------------------------------------- ofi_choose.c */

/* Can `spec` stand in AM_OFI_PROVIDER? */
bool ofi_provider_is_sound(const char *spec);
/* Choose dev->info by dev->config; AM_ERR_UNSUPPORTED or AM_ERR_CONFIG with a
 * sentence in `error`. */
am_status_t ofi_provider_choose(struct ofi_dev *dev, char *error,
                                size_t error_bytes);
/* How much the chosen provider is given at once: inject_bytes, flying_bytes_max. */
void ofi_provider_limits(struct ofi_dev *dev);
/* Does it stay on its host?  Then it is the provider shm, whose addresses are text:
 * OFI_SHM_PREFIX, the number of the process, more. */
#define OFI_SHM_PREFIX "fi_shm://"
bool ofi_provider_is_local(const char *provider);
/* Are gets to go by reads of the chosen provider?  With AM_OFI_READS=auto they are if
 * it is not shm, which does not check the keys of memory. */
bool ofi_reads_are_wanted(const struct ofi_dev *dev);

/* ------------------------------------------------------------- ofi_fabric.c */

/* Open the endpoint with all that it needs, and dev->me.name. */
am_status_t ofi_fabric_open(struct ofi_dev *dev, char *error,
                            size_t error_bytes);
void ofi_fabric_close(struct ofi_dev *dev);

/* --------------------------------------------------------------- ofi_name.c */

/* Of a provider's address: as text, such as "10.0.0.1 port 4000". */
const char *ofi_name_text(const struct ofi_dev *dev, const uint8_t *name,
                          size_t name_bytes, char *text, size_t bytes);
/* Is it one that only this host knows? */
bool ofi_name_is_loopback(uint32_t format, const void *name);
/* Is who had that address surely gone?  *fd_p is -1, or what the question left
 * open, to be asked again; the caller closes it in the end. */
bool ofi_name_is_gone(const struct ofi_dev *dev, const uint8_t *name,
                      size_t name_bytes, int *fd_p);

/* ----------------------------------------------------------------- ofi_ep.c */

struct ofi_ep *ofi_ep_find(struct ofi_dev *dev, uint64_t nonce, uint32_t conn,
                           uint8_t flags);
/* A packet of nobody who has an endpoint: it is of a rank of the job, or a
 * HELLO with `data`.  The new endpoint, not accepted yet; or NULL, counted. */
struct ofi_ep *ofi_ep_stranger(struct ofi_dev *dev, const struct ofi_hdr *hdr,
                               const uint8_t *data, size_t bytes);
/* Ask the layer above whether it wants the peer; false: no. */
bool ofi_ep_accept(struct ofi_dev *dev, struct ofi_ep *ep);
/* Free those that were let go of and that the provider has nothing of. */
void ofi_eps_reap(struct ofi_dev *dev);
void ofi_eps_free(struct ofi_dev *dev);
bool ofi_reachable(struct am_dev *dev, const void *part, size_t bytes);
am_status_t ofi_connect_all(struct am_dev *dev, const void *const *parts,
                            const size_t *part_bytes, uint32_t count);
am_status_t ofi_connect(struct am_dev *dev, const void *part, size_t bytes,
                        uint32_t rank, void *user, struct am_dev_ep **ep_p);
void ofi_disconnect(struct am_dev_ep *ep);

/* ----------------------------------------------------------------- ofi_tx.c */

am_status_t ofi_send(struct am_dev_ep *ep, uint32_t class, const void *hdr,
                     size_t hdr_bytes, const void *data, size_t data_bytes);
am_status_t ofi_send_fill(struct am_dev_ep *ep, uint32_t class, const void *hdr,
                          size_t hdr_bytes, am_dev_fill_fn fill, void *arg,
                          size_t data_bytes);
bool ofi_reply_ready(struct am_dev_ep *ep);
bool ofi_drained(struct am_dev *dev);
/* A packet without anything for the layer above; false: no buffer. */
bool ofi_tx_control(struct ofi_ep *ep, uint8_t flag);
/* The provider is done with the buffer. */
void ofi_tx_done(struct ofi_dev *dev, struct ofi_tx *tx);
/* Offer the provider what it had no space for. */
void ofi_tx_queued(struct ofi_dev *dev);
/* Tell peers what was taken from them, where it is time. */
void ofi_tx_owed(struct ofi_dev *dev);
/* Nothing that waits for this peer will go. */
void ofi_tx_forget(struct ofi_dev *dev, struct ofi_ep *ep);

/* ----------------------------------------------------------------- ofi_rx.c */

/* Give the provider what it may receive into. */
am_status_t ofi_rx_post_all(struct ofi_dev *dev);
int ofi_poll(struct am_dev *dev, uint32_t packets_max);
void ofi_rx_forget(struct ofi_ep *ep);

/* ---------------------------------------------------------------- ofi_mem.c */

/* By dev->config. */
void ofi_mem_init(struct ofi_dev *dev);
/* All that is registered, before the endpoint is closed. */
void ofi_mem_close(struct ofi_dev *dev);
am_status_t ofi_mem_register(struct am_dev *dev, void *base, size_t bytes,
                             uint32_t rights, struct am_dev_key *key);
void ofi_mem_deregister(struct am_dev *dev, const struct am_dev_key *key);
void ofi_mem_withdraw(struct am_dev *dev, const struct am_dev_key *key,
                      am_status_t why);
/* Can a key be this device's, and are those bytes inside? */
bool ofi_key_is_sound(const struct am_dev_key *key, size_t offset,
                      size_t bytes);
bool ofi_key_allows(const struct am_dev_key *key, bool put);
/* Register the pieces of a transfer, if the provider wants that, and say what it
 * knows them by; false: it cannot, and nothing is registered. */
bool ofi_local_take(struct ofi_dev *dev, struct ofi_rma *rma,
                    const struct iovec *pieces, uint32_t count, void **descs);
void ofi_local_give(struct ofi_dev *dev, struct ofi_rma *rma);

/* ---------------------------------------------------------------- ofi_rma.c */

am_status_t ofi_put(struct am_dev_ep *ep, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg);
am_status_t ofi_get(struct am_dev_ep *ep, const struct iovec *local,
                    uint32_t count, const struct am_dev_key *key, size_t offset,
                    am_dev_done_fn done, void *arg);
/* The provider has ended it, by error FI_E... or 0. */
void ofi_rma_done(struct ofi_dev *dev, struct ofi_rma *rma, int error);
/* End what the provider has not given back of peers that were told dead before
 * `before_ps`. */
void ofi_rmas_lose(struct ofi_dev *dev, uint64_t before_ps);
/* After the endpoint is closed. */
void ofi_rmas_free(struct ofi_dev *dev);

/* -------------------------------------------------------------- ofi_alive.c */

/* The completion queue has an error: read it. */
void ofi_error_read(struct ofi_dev *dev);
/* The peer is gone, by error FI_E...; it is told of by the next poll. */
void ofi_ep_doom(struct ofi_dev *dev, struct ofi_ep *ep, int error);
void ofi_doomed_tell(struct ofi_dev *dev);
void ofi_check(struct am_dev *dev);

/* --------------------------------------------------------------- ofi_wait.c */

/* Open dev->cq, with dev->wait_fd where the provider has it; 0 or -FI_E... */
int ofi_cq_open(struct ofi_dev *dev);
am_status_t ofi_watch(struct am_dev *dev, int epoll);
am_status_t ofi_arm(struct am_dev *dev, uint64_t *most_ns);
bool ofi_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest);

#endif
