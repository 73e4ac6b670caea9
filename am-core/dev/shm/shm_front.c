/*
 * How much of a large data ring is in use: its front.
 *
 * The sender goes back to the ring's start when it has filled the front, and the
 * front grows for three reasons.
 *
 * The receiver has not consumed what lies at the start: then the front doubles, so
 * that no message waits while the ring has room.  Where the ring's pages are made
 * already, that is at once.
 *
 * Or it pays to use more.  Where the cores share a cache, a line that the receiver's
 * own cache holds takes longer to write than one that has left for the shared one:
 * payloads of 2 to 4 KiB took 30 to 60 ns longer through fronts of 16 to 512 KiB than
 * through a ring of 2 MiB.  (Where the cores do not share one, payloads of 64 bytes to
 * 32 KiB took as long through 32 KiB as through any longer front.)
 *
 * Or they are a stream, and hardly one is answered: through 64 KiB packets of 1 KiB then
 * take 400 ns each, or 200 by chance, and always 200 through 256 KiB (Intel, Emerald Rapids,
 * where a line of the receiver's takes 80 to 130 ns).  So much is made already.
 *
 * But a page that is used for the first time costs both sides a fault: 0.5 us each on
 * a bare machine, 15 us each under a hypervisor that shadows page tables.  So the
 * sender measures what a page costs, and adds up what it has lost to the short front:
 * to lines in the receiver's cache, and to waiting for the receiver, which packets do
 * that find no room.  When that is as much as new pages cost, the front grows.  In the
 * end no more than twice the best is paid (the rule for a choice between renting and
 * buying).
 *
 * The same loads tell whether the receiver's lines come quickly, by which longer
 * payloads choose how they are copied (am_copy_to_far, am_copy_far); so does who receives
 * them (rx_look).
 */
#include "config.h"

#include "base/assert.h"
#include "base/copy.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"
#include "dev/shm/shm_wait.h"

/* What a packet gains whose lines have left the receiver's cache, or each page of a long
 * one, ... */
#define GAIN_PS UINT64_C(45000)
/* ... if its payload is longer than this. */
#define SHORT_BYTES 512
/* What a page costs is taken to be at least, and at most. */
#define PAGE_LEAST_PS UINT64_C(100000)
#define PAGE_MOST_PS  UINT64_C(16000000)
/* One in so many laps is timed, and counts as all of them; a power of two.  Of the
 * ring's own, which are long, each is. */
#define LAPS_TIMED ((uint64_t)16)
/* Packets are a stream when fewer than one in so many is answered. */
#define STREAM_PACKETS 8

/* What new pages cost the two sides, where one costs the sender so much. */
static uint64_t pages_ps(uint32_t bytes, uint64_t page_ps)
{
    page_ps = page_ps < PAGE_LEAST_PS  ? PAGE_LEAST_PS
              : page_ps > PAGE_MOST_PS ? PAGE_MOST_PS
                                       : page_ps;
    return bytes / SHM_PAGE * 2 * page_ps;
}

uint64_t shm_front_worth(uint32_t ring_bytes, uint64_t page_ps)
{
    return pages_ps(ring_bytes, page_ps) / GAIN_PS;
}

/* The front that packets which need so many bytes begin with: room for some of
 * them, so that one does not lie where the receiver has just read the last; and for
 * packets of more than a page what is made already, as each page gains.  (The first of
 * 8 KiB take a quarter longer, through lines that are in no cache, and a stream has half as
 * much bandwidth again.)  Not where the ranks share cores: all of the ring, and what is
 * copied, do not fit in the core's own cache.  (There half a round trip of 16, 32 and 64 KiB
 * takes 0.84, 0.74 and 0.61 times as long.) */
static uint32_t front_first(const struct shm_dev *dev, const struct shm_tx *tx,
                            uint64_t need)
{
    uint32_t bytes = SHM_FRONT_LEAST;

    if (need > SHM_PAGE + SHM_GAP_BYTES && tx->made > SHM_FRONT_FIRST &&
        !dev->crowded) {
        return tx->made;
    }
    while (bytes < SHM_FRONT_FIRST && bytes < 4 * need) {
        bytes *= 2;
    }
    return bytes;
}

/* The front ends at `bytes` from now on; have its new pages made at once. */
static void front_set(struct shm_tx *tx, uint32_t bytes)
{
    if (bytes > tx->made) {
        (void)shm_pages_make(tx->data + tx->made, bytes - tx->made);
        tx->made = bytes;
    }
    tx->front_bytes = bytes;
}

/* The ring's first payload, where its pages were not made before: the first of them,
 * and what one costs. */
static void front_open(struct shm_dev *dev, struct shm_tx *tx, uint32_t bytes)
{
    uint64_t start = am_env_now(dev->env);

    AM_ASSERT(tx->data_tail == 0);
    front_set(tx, bytes);
    shm_pages_write(tx->data, bytes);
    /* with the page in which a large ring's last lines lie */
    shm_page_took(dev, am_env_now(dev->env) - start, bytes / SHM_PAGE + 1);
}

/* A packet that needs less has its lines fetched; a longer one comes late if the answer
 * to the packet before it has to wait for so many lines. */
#define FETCH_LESS_THAN ((uint64_t)2 << 10)

void shm_front_fetch(struct shm_tx *tx, uint32_t at, uint64_t need)
{
    uint64_t end = at + need;

    if (end > tx->front_bytes) {
        end = tx->front_bytes;
    }
    if (need < FETCH_LESS_THAN) {
        uint64_t from = at > tx->fetched ? at : tx->fetched;

        for (; from < end; from += SHM_LINE) {
            __builtin_prefetch(tx->data + from, 1);
        }
    }
    if (end > tx->fetched) {
        tx->fetched = (uint32_t)end;
    }
}

static uint64_t lost_ps(const struct shm_tx *tx)
{
    return (uint64_t)tx->lost_ns * 1000;
}

static void lost_add(struct shm_tx *tx, uint64_t ps)
{
    uint64_t ns = tx->lost_ns + ps / 1000;

    tx->lost_ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* Is the lap that ends with a packet that needs so much timed?  Its number is in the
 * tail, which each takes to the next multiple of the ring's size. */
static bool lap_is_timed(const struct shm_dev *dev, const struct shm_tx *tx,
                         uint64_t need)
{
    uint64_t laps = tx->front_bytes < tx->ring_bytes ? LAPS_TIMED : 1;

    return (tx->data_tail & (laps - 1) * tx->ring_bytes) == 0 &&
           !dev->crowded && need > SHORT_BYTES + SHM_GAP_BYTES;
}

/* How far is the receiver?  Where it says what it has consumed is a line that it writes
 * all the time. */
static void near_learn(const struct shm_dev *dev, struct shm_ep *ep,
                       const struct shm_tx *tx)
{
    ep->ep.near =
            am_copy_is_near(dev->env, &tx->shared->data_bytes, dev->near_ps);
    shm_costs_seen(&ep->ep, ep->ep.near);
}

/* Packets that have come from this peer, in 16 bits. */
static uint16_t heard(const struct shm_ep *ep)
{
    uint32_t sum = 0;

    for (int i = 0; i < 2; i++) {
        const struct shm_rx *rx = &ep->rx[i];

        sum += rx->lap * (rx->mask + 1) + (uint32_t)(rx->next - rx->slots);
    }
    return (uint16_t)sum;
}

/* A lap of so many packets is over.  Where hardly any has come meanwhile they are a stream,
 * which wants more than a short front whatever the cores are: pages that are made cost
 * nothing. */
static void front_stream(const struct shm_ep *ep, struct shm_tx *tx,
                         uint64_t packets)
{
    uint16_t now = heard(ep), came = (uint16_t)(now - tx->heard);
    uint32_t most = tx->made < SHM_FRONT_MADE ? tx->made : SHM_FRONT_MADE;

    tx->heard = now;
    if (came < packets / STREAM_PACKETS && 2 * tx->front_bytes <= most) {
        front_set(tx, 2 * tx->front_bytes);
    }
}

/* A lap that is timed is over, of so many packets, or pages of long ones: grow if that is
 * worth it by now. */
static void front_lap(const struct shm_ep *ep, struct shm_tx *tx,
                      uint64_t packets)
{
    const struct shm_dev *dev = shm_dev_of(ep->ep.dev);

    if (ep->ep.near) {
        lost_add(tx, LAPS_TIMED * packets * GAIN_PS);
    }
    if (tx->lost_ns > 0 &&
        lost_ps(tx) / GAIN_PS >=
                shm_front_worth(tx->ring_bytes - tx->made, dev->page_ps)) {
        front_set(tx, 2 * tx->front_bytes);
    }
}

/* Until the receiver has made room for so much it takes its copy of as much, or where
 * the two share a core a turn. */
static uint64_t wait_ps(struct shm_dev *dev, const struct am_dev_perf *perf,
                        uint64_t need)
{
    return shm_is_crowded(dev) ? perf->turn_ps
                               : perf->recv_overhead.fixed_ps +
                                         perf->recv_overhead.per_byte_fs *
                                                 need / 1000;
}

/* The receiver has not consumed what lies at the start, and the front is to grow to
 * `bytes`: shall the packet wait for the receiver instead?  What that consumes last it
 * may not tell: then the packet must find room without it. */
static bool front_waits(struct shm_dev *dev, struct shm_tx *tx, uint32_t at,
                        uint64_t need, uint32_t bytes)
{
    uint32_t tail = (uint32_t)(tx->data_tail / SHM_LINE);

    if (bytes <= tx->made || at < need + SHM_FRONT_LEAST / 2) {
        return false;
    }
    if (tx->waited_at != tail) {
        lost_add(tx, wait_ps(dev, &dev->base.attr.perf, need));
    }
    tx->waited_at = tail;
    return lost_ps(tx) < pages_ps(bytes - tx->made, dev->page_ps);
}

uint64_t shm_front_leave(struct shm_ep *ep, struct shm_tx *tx, uint32_t at,
                         uint64_t need)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);
    uint64_t skip = tx->ring_bytes - at;
    uint32_t bytes = front_first(dev, tx, need);
    bool timed = lap_is_timed(dev, tx, need);

    if (tx->front_bytes == 0) {
        front_open(dev, tx, bytes);
        return 0;
    }
    if (at + need > tx->ring_bytes || (at == 0 && need <= tx->front_bytes)) {
        if (timed && tx->data_tail > 0) { /* a lap of the ring is over */
            near_learn(dev, ep, tx);
        }
        return at == 0 ? 0 : skip;
    }
    if (tx->front_bytes < bytes) {
        front_set(tx, bytes);
        if (at + need <= bytes) {
            return 0;
        }
    }
    if (!timed && need >= SHM_PAGE) { /* so much costs more than to look */
        shm_costs_refresh(ep, tx);
    } else {
        if (timed) {
            near_learn(dev, ep, tx);
        }
        (void)shm_tx_refresh(tx);
    }
    if (tx->data_tail + skip + need > tx->data_limit) {
        bytes = tx->front_bytes;
        while (bytes < at + need) {
            bytes *= 2;
        }
        if (tx == &ep->tx[AM_DEV_REQUEST] &&
            front_waits(dev, tx, at, need, bytes)) {
            return 2 * (uint64_t)tx->ring_bytes; /* there is no such room */
        }
        front_set(tx, bytes);
        return 0;
    }
    if (need > SHM_GAP_BYTES) {
        front_stream(ep, tx, at / need);
    }
    if (timed) {
        front_lap(ep, tx, at / (need < SHM_PAGE ? need : SHM_PAGE));
    }
    return skip;
}
