/*
 * The virtual pages of remote copies.  They are numbered as they are met, so
 * that nothing depends on where the memory of this process happens to lie.
 */
#ifndef AM_DEV_SNIC_SNIC_LANAI_PAGE_H
#define AM_DEV_SNIC_SNIC_LANAI_PAGE_H

#include <stddef.h>
#include <stdint.h>

/* What a virtual page is: ordinary memory, or shared memory. */
struct lanai_page {
    uint8_t *memory; /* NULL: shared */
    uint32_t shared;
};

struct lanai_pages {
    struct lanai_page *page; /* by number */
    uint32_t count, max;
    uint32_t *known; /* hash of ordinary pages: 1 + number; 0: free */
    uint32_t known_max;
};

/* `count` new pages one after the other, at most 2^19 in all; the first number,
 * or UINT32_MAX: no more, or no memory. */
uint32_t lanai_pages_new(struct lanai_pages *pages, size_t count);
/* The number of the page of ordinary memory that begins at `memory`, a new one
 * when it is met for the first time; UINT32_MAX as above. */
uint32_t lanai_page_number(struct lanai_pages *pages, uint8_t *memory);
void lanai_pages_fini(struct lanai_pages *pages);

#endif
