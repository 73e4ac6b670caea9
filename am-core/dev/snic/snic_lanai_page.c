/*
 * Virtual pages, by an allocator of numbers; pages that are sent from, by a
 * hash.
 */
#include "dev/snic/snic_lanai_page.h"

#include "nicsim_lanai.h"

#include <stdlib.h>

#define PAGES_MAX       ((size_t)1 << NS_LANAI_PAGE_BITS)
#define GENERATIONS_MAX (UINT32_C(1) << NS_LANAI_GENERATION_BITS)
#define HASH_MAX        (2 * LANAI_KNOWN_MAX)

/* ------------------------------------------------------------ virtual pages */

am_status_t lanai_pages_open(struct lanai_pages *pages)
{
    const struct am_binalloc_params params = {.region_bytes = PAGES_MAX,
                                              .align = 1};

    *pages = (struct lanai_pages){0};
    return am_binalloc_open(&params, &pages->numbers);
}

void lanai_pages_close(struct lanai_pages *pages)
{
    if (pages->numbers != NULL) {
        am_binalloc_close(pages->numbers);
    }
    free(pages->page);
}

/* Room for pages up to `count`. */
static bool pages_grow(struct lanai_pages *pages, size_t count)
{
    size_t max = 2 * count < PAGES_MAX ? 2 * count : PAGES_MAX;
    struct lanai_page *page;

    if (count <= pages->max) {
        return true;
    }
    page = realloc(pages->page, max * sizeof(*page));
    if (page == NULL) {
        return false;
    }
    for (size_t i = pages->max; i < max; i++) {
        page[i] = (struct lanai_page){.shared = LANAI_PAGE_NONE};
    }
    pages->page = page;
    pages->max = (uint32_t)max;
    return true;
}

uint32_t lanai_pages_get(struct lanai_pages *pages, size_t count)
{
    size_t first;

    if (am_binalloc_get(pages->numbers, count, &first) != AM_OK) {
        return LANAI_PAGE_NONE;
    }
    if (!pages_grow(pages, first + count)) {
        (void)am_binalloc_put(pages->numbers, first);
        return LANAI_PAGE_NONE;
    }
    pages->generation = (pages->generation + 1) % GENERATIONS_MAX;
    return (uint32_t)first;
}

bool lanai_pages_put(struct lanai_pages *pages, uint32_t first, size_t count)
{
    if (am_binalloc_put(pages->numbers, first) != AM_OK) {
        return false;
    }
    for (size_t i = first; i < first + count; i++) {
        pages->page[i] = (struct lanai_page){.shared = LANAI_PAGE_NONE};
    }
    return true;
}

const struct lanai_page *lanai_page_at(const struct lanai_pages *pages,
                                       uint32_t number, uint32_t generation)
{
    const struct lanai_page *page =
            number < pages->max ? &pages->page[number] : NULL;

    return page == NULL || page->generation != generation ||
                           (page->memory == NULL &&
                            page->shared == LANAI_PAGE_NONE)
                   ? NULL
                   : page;
}

/* --------------------------------------------------- pages that are sent from */

static uint32_t hash_of(const uint8_t *memory)
{
    uint64_t number = (uintptr_t)memory / NS_LANAI_PAGE_BYTES;

    return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) % HASH_MAX;
}

/* Where the page is, or where it would be. */
static uint32_t place_of(const struct lanai_known *known, const uint8_t *memory)
{
    uint32_t at = hash_of(memory);

    while (known->at[at] != 0 && known->page[known->at[at] - 1] != memory) {
        at = (at + 1) % HASH_MAX;
    }
    return at;
}

uint32_t lanai_known_find(const struct lanai_known *known,
                          const uint8_t *memory)
{
    return (uint32_t)known->at[place_of(known, memory)] - 1;
}

/* Those behind it that may not stay behind a free place move up. */
static void forget(struct lanai_known *known, const uint8_t *memory)
{
    uint32_t hole = place_of(known, memory);
    uint32_t at = hole;

    while (known->at[at = (at + 1) % HASH_MAX] != 0) {
        uint32_t home = hash_of(known->page[known->at[at] - 1]);

        if ((at + HASH_MAX - home) % HASH_MAX >=
            (at + HASH_MAX - hole) % HASH_MAX) {
            known->at[hole] = known->at[at];
            hole = at;
        }
    }
    known->at[hole] = 0;
}

uint32_t lanai_known_add(struct lanai_known *known, uint8_t *memory)
{
    uint32_t number = known->next;

    if (known->page[number] != NULL) {
        forget(known, known->page[number]);
    }
    known->page[number] = memory;
    known->at[place_of(known, memory)] = (uint16_t)(number + 1);
    lanai_known_skip(known);
    return number;
}

void lanai_known_skip(struct lanai_known *known)
{
    known->next = (known->next + 1) % LANAI_KNOWN_MAX;
}
