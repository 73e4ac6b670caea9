/*
 * Pages of remote copies: virtual ones, which peers may write, and those that
 * are sent from.  Both are numbered as they are met, so that nothing depends on
 * where the memory of this process happens to lie.
 */
#ifndef AM_DEV_SNIC_SNIC_LANAI_PAGE_H
#define AM_DEV_SNIC_SNIC_LANAI_PAGE_H

#include "base/binalloc.h"

#include <stdint.h>

#define LANAI_PAGE_NONE UINT32_MAX

/* What a virtual page is: ordinary memory, or shared memory. */
struct lanai_page {
    uint8_t *memory; /* NULL: shared, if there is a `shared` */
    uint32_t shared; /* LANAI_PAGE_NONE: it is not ordinary either, but free */
    uint32_t generation; /* of its region */
};

struct lanai_pages {
    struct lanai_page *page; /* by number */
    uint32_t max;
    struct am_binalloc *numbers; /* a page is a byte there */
    uint32_t generation; /* of the newest region: a copy to one that is gone is
                          * known by it, until it has gone round */
};

/* AM_ERR_MEMORY. */
am_status_t lanai_pages_open(struct lanai_pages *pages);
void lanai_pages_close(struct lanai_pages *pages);
/* `count` pages one after the other for a region, whose generation is then
 * pages->generation; free ones still, at most 2^19 in all; the first number, or
 * LANAI_PAGE_NONE: no more, or no memory. */
uint32_t lanai_pages_get(struct lanai_pages *pages, size_t count);
/* They are free again; false when `first` begins none. */
bool lanai_pages_put(struct lanai_pages *pages, uint32_t first, size_t count);
/* NULL when no region of that generation has the page of that number. */
const struct lanai_page *lanai_page_at(const struct lanai_pages *pages,
                                       uint32_t number, uint32_t generation);

/* Pages that are sent from; the one known longest is forgotten for a new one.
 * Room for 16 times what a TLB has. */
#define LANAI_KNOWN_MAX 16384

struct lanai_known {
    uint8_t *page[LANAI_KNOWN_MAX];   /* by number */
    uint16_t at[2 * LANAI_KNOWN_MAX]; /* hash: 1 + number; 0: free */
    uint32_t next;                    /* number of the next new one */
};

/* The number of the page at `memory`, or LANAI_PAGE_NONE. */
uint32_t lanai_known_find(const struct lanai_known *known,
                          const uint8_t *memory);
/* Give it `known->next`, which must not be in use. */
uint32_t lanai_known_add(struct lanai_known *known, uint8_t *memory);
void lanai_known_skip(struct lanai_known *known);

#endif
