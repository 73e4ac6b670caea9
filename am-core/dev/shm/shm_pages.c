/*
 * Pages of lanes that are made before a packet needs them: where a job has two to four
 * contexts on a node the slots and the start of the data ring for requests.  A page that
 * a packet is the first to use costs both sides a fault: 2.7 us of the sender's time
 * and 1.3 us of the receiver's on a virtual machine, and 15 us each under a hypervisor
 * that shadows page tables.  Of many contexts most never speak to each other: there
 * pages come when they are used.
 */
#include "config.h"

#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
/* since Linux 5.14; else an error, and no harm */
#define MADV_POPULATE_WRITE 23
#endif

/* In a segment of so many contexts each has its lanes with all others made. */
#define PAGES_RANKS_MOST 4

/* More of a large ring is made than its first part while that takes no longer for all
 * lanes of a context: a tenth of what a job takes to start. */
#define MORE_PS UINT64_C(4000000000)

/* Messages of up to so many bytes use what pages they need: one copy by the kernel
 * would cost more than the few that they begin with. */
#define PAGES_READY ((uint32_t)2 * SHM_PAGE)

/* Back to the begin of the first page; the length is to the last one's end. */
static size_t whole_pages(char **from_p, size_t bytes)
{
    size_t before = (uintptr_t)*from_p % SHM_PAGE;

    *from_p -= before;
    return (before + bytes + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;
}

bool shm_pages_make(char *from, size_t bytes)
{
    bytes = whole_pages(&from, bytes);
    return madvise(from, bytes, MADV_POPULATE_WRITE) == 0;
}

void shm_pages_write(char *from, size_t bytes)
{
    bytes = whole_pages(&from, bytes);
    for (size_t at = SHM_PAGE - 1; at < bytes; at += SHM_PAGE) {
        *(volatile char *)(from + at) = 0;
    }
}

/* Where a hypervisor shadows page tables, a page that the kernel has made takes a fault
 * of the hypervisor's all the same when it is first read: 6 us. */
static void pages_read(char *from, size_t bytes)
{
    bytes = whole_pages(&from, bytes);
    for (size_t at = SHM_PAGE - 1; at < bytes; at += SHM_PAGE) {
        (void)*(const volatile char *)(from + at);
    }
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Some pages of a lane, which are made here first, and then used once: by the sender as
 * it will write them (what the receiver writes is at the start of a lane's first page), and
 * by the receiver.  False: the kernel cannot. */
static bool pages_use(char *from, size_t bytes, bool sends)
{
    if (!shm_pages_make(from, bytes)) {
        return false;
    }
    if (sends) {
        shm_pages_write(from, bytes);
    } else {
        pages_read(from, bytes);
    }
    return true;
}

/* The data ring for requests of a lane from `begin` to `end`, and with its begin the
 * slots. */
static bool lane_make(struct shm_seg *seg, uint32_t to, uint32_t from,
                      uint32_t begin, uint32_t end)
{
    char *data =
            shm_seg_rings(seg, to, from) + seg->geometry.data[AM_DEV_REQUEST];
    bool sends = from == seg->self;

    return (begin > 0 || pages_use(shm_seg_lane(seg, to, from),
                                   seg->geometry.lane_bytes, sends)) &&
           pages_use(data + begin, end - begin, sends);
}

/* The same of the lanes with all others. */
static bool lanes_make(struct shm_seg *seg, uint32_t begin, uint32_t end)
{
    for (uint32_t i = 0; i < seg->header.count; i++) {
        /* first what I read, so that it is near to me */
        if (i != seg->self && (!lane_make(seg, seg->self, i, begin, end) ||
                               !lane_make(seg, i, seg->self, begin, end))) {
            return false;
        }
    }
    return true;
}

/* How much of a ring is made where so much of it has been, and a page of each takes so
 * long? */
static uint32_t made_most(uint32_t ring_bytes, uint32_t made, uint64_t page_ps)
{
    uint64_t most =
            page_ps == 0 ? ring_bytes : MORE_PS / (2 * page_ps) * SHM_PAGE;
    uint32_t bytes = made;

    while (bytes < ring_bytes && 2 * (uint64_t)bytes - made <= most) {
        bytes *= 2;
    }
    return bytes;
}

void shm_page_took(struct shm_dev *dev, uint64_t elapsed_ps, uint64_t pages)
{
    uint64_t page_ps = elapsed_ps / pages;

    if (dev->page_ps == 0 || page_ps < dev->page_ps) {
        dev->page_ps = page_ps;
        dev->pages.byte_fs = 2 * page_ps / SHM_PAGE * 1000;
    }
}

void shm_pages_more(struct shm_dev *dev, struct shm_tx *tx, uint32_t bytes)
{
    uint32_t pages = (bytes - tx->made + SHM_PAGE - 1) / SHM_PAGE;
    uint32_t made = smaller(tx->made + pages * SHM_PAGE, tx->ring_bytes);
    uint64_t start = am_env_now(dev->env);

    (void)shm_pages_make(tx->data + tx->made, made - tx->made);
    shm_pages_write(tx->data + tx->made, made - tx->made);
    shm_page_took(dev, am_env_now(dev->env) - start, pages);
    tx->made = made;
}

const struct am_dev_pages *shm_pages_of(const struct shm_seg *seg)
{
    uint32_t ring_bytes = seg->header.ring_bytes[AM_DEV_REQUEST];

    if (!shm_ring_is_small(ring_bytes) || ring_bytes < 2 * PAGES_READY) {
        return NULL;
    }
    seg->dev->pages.ready_bytes = PAGES_READY;
    seg->dev->pages.most_bytes = ring_bytes;
    return &seg->dev->pages;
}

/* Each finds by itself how much takes how long, and a sender that went on to what the receiver
 * has not made would pay for its faults.  So all make what the first to know has said. */
static uint32_t made_agree(struct shm_seg *seg, uint32_t made, uint32_t mine)
{
    uint32_t said = 0;

    if (atomic_compare_exchange_strong(&shm_seg_rank(seg, 0)->made_bytes, &said,
                                       mine)) {
        return mine;
    }
    return said < made || said > seg->header.ring_bytes[AM_DEV_REQUEST] ||
                           (said & (said - 1)) != 0
                   ? mine
                   : said;
}

void shm_seg_pages_make(struct shm_seg *seg)
{
    struct shm_dev *dev = seg->dev;
    uint32_t ring_bytes = seg->header.ring_bytes[AM_DEV_REQUEST];
    uint32_t made = smaller(ring_bytes, SHM_FRONT_MADE), most;
    uint64_t pages = (seg->geometry.lane_bytes + made) / SHM_PAGE;
    uint64_t start = am_env_now(dev->env);
    uint32_t others = seg->header.count - 1;

    if (others == 0 || others >= PAGES_RANKS_MOST ||
        !lanes_make(seg, 0, made)) {
        return;
    }
    shm_page_took(dev, am_env_now(dev->env) - start, 2 * others * pages);
    most = made_agree(seg, made,
                      made_most(ring_bytes, made, others * dev->page_ps));
    if (most > made && !shm_ring_is_small(ring_bytes) &&
        lanes_make(seg, made, most)) {
        made = most;
    }
    seg->front_bytes = smaller(ring_bytes, SHM_FRONT_FIRST);
    seg->made_bytes = made;
}
