/*
 * Virtual pages and the hash that finds them.
 */
#include "dev/snic/snic_lanai_page.h"

#include "nicsim_lanai.h"

#include <stdbool.h>
#include <stdlib.h>

#define PAGES_MAX (UINT32_C(1) << 19) /* virtual addresses have 31 bits */

uint32_t lanai_pages_new(struct lanai_pages *pages, size_t count)
{
    uint32_t first = pages->count;

    if (count > PAGES_MAX - first) {
        return UINT32_MAX;
    }
    if (first + count > pages->max) {
        uint32_t max = (uint32_t)(first + count) * 2;
        struct lanai_page *page =
                realloc(pages->page, max * sizeof(*pages->page));

        if (page == NULL) {
            return UINT32_MAX;
        }
        pages->page = page;
        pages->max = max;
    }
    pages->count += (uint32_t)count;
    return first;
}

static uint32_t hash_of(const struct lanai_pages *pages, const uint8_t *memory)
{
    uint64_t number = (uintptr_t)memory / NS_LANAI_PAGE_BYTES;

    return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
           (pages->known_max - 1);
}

static void known_add(struct lanai_pages *pages, uint32_t virtual)
{
    uint32_t at = hash_of(pages, pages->page[virtual].memory);

    while (pages->known[at] != 0) {
        at = (at + 1) & (pages->known_max - 1);
    }
    pages->known[at] = virtual + 1;
}

static bool known_grow(struct lanai_pages *pages)
{
    uint32_t *old = pages->known;
    uint32_t old_max = pages->known_max;

    pages->known_max = old_max == 0 ? 256 : 2 * old_max;
    pages->known = calloc(pages->known_max, sizeof(*pages->known));
    if (pages->known == NULL) {
        pages->known = old;
        pages->known_max = old_max;
        return false;
    }
    for (uint32_t i = 0; i < old_max; i++) {
        if (old[i] != 0) {
            known_add(pages, old[i] - 1);
        }
    }
    free(old);
    return true;
}

uint32_t lanai_page_number(struct lanai_pages *pages, uint8_t *memory)
{
    uint32_t virtual, at;

    if (pages->count * 2 >= pages->known_max && !known_grow(pages)) {
        return UINT32_MAX;
    }
    for (at = hash_of(pages, memory); pages->known[at] != 0;
         at = (at + 1) & (pages->known_max - 1)) {
        virtual = pages->known[at] - 1;
        if (pages->page[virtual].memory == memory) {
            return virtual;
        }
    }
    virtual = lanai_pages_new(pages, 1);
    if (virtual != UINT32_MAX) {
        pages->page[virtual] = (struct lanai_page){.memory = memory};
        pages->known[at] = virtual + 1;
    }
    return virtual;
}

void lanai_pages_fini(struct lanai_pages *pages)
{
    free(pages->page);
    free(pages->known);
}
