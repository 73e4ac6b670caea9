/*
 * The binned allocator.  Extents are kept as boundary tags in an array beside
 * the region, one entry a unit: the first and the last unit of an extent hold
 * its length and whether it is taken, so a free extent finds both neighbours
 * at once; the entries between are 0, so a wrong offset is recognised.
 *
 *   units   | 0        1   2       | 3             | 4        5       |
 *   tags    | F T 3    0   T 3     | F 1           | F T 2    T 2     |
 *             taken, 3 units         free, 1 unit    taken, 2 units
 *
 * Calls libc only, and only open and close allocate.
 */
#include "base/binalloc.h"

#include "base/assert.h"

#include <stdlib.h>

#define TAG_TAKEN  (UINT32_C(1) << 31)
#define TAG_FIRST  (UINT32_C(1) << 30)
#define TAG_LENGTH (TAG_FIRST - 1)
#define BIN_TAKEN  UINT32_MAX
#define BIN_NONE   (UINT32_MAX - 1)

AM_STATIC_ASSERT(AM_BINALLOC_UNITS_MAX - 1 == TAG_LENGTH,
                 "a length fits beside the flags");

struct am_binalloc {
    size_t align;
    uint32_t bin_units; /* length of a bin */
    uint32_t bin_count;
    uint32_t bin_fresh; /* bins from here on were never taken */
    uint32_t bin_free;  /* top of the stack of bins put back, or BIN_NONE */
    uint32_t *bins;     /* next on the stack, or BIN_TAKEN */
    uint32_t bins_taken;
    uint32_t unit_count; /* of the extents */
    uint32_t units_taken;
    uint32_t hint; /* an extent; no free one begins before it */
    uint32_t *tags;
    uint64_t steps;
};

/* Units that hold `bytes`; 0 bytes take one. */
static size_t units_of(const struct am_binalloc *alloc, size_t bytes)
{
    return bytes == 0 ? 1 : bytes / alloc->align + (bytes % alloc->align != 0);
}

static size_t bin_area_bytes(const struct am_binalloc *alloc)
{
    return (size_t)alloc->bin_count * alloc->bin_units * alloc->align;
}

/* ------------------------------------------------------------------- tags */

static uint32_t tag_length(uint32_t tag)
{
    return tag & TAG_LENGTH;
}

static bool tag_is_free(uint32_t tag)
{
    return (tag & TAG_TAKEN) == 0;
}

static void write_extent(struct am_binalloc *alloc, uint32_t first,
                         uint32_t length, uint32_t taken)
{
    alloc->tags[first + length - 1] = length | taken;
    alloc->tags[first] = length | taken | TAG_FIRST;
}

static void erase_extent(struct am_binalloc *alloc, uint32_t first)
{
    uint32_t length = tag_length(alloc->tags[first]);

    alloc->tags[first] = 0;
    alloc->tags[first + length - 1] = 0;
}

/* ------------------------------------------------------------- open, close */

/* Divide the region between bins and extents. */
static void lay_out(struct am_binalloc *alloc,
                    const struct am_binalloc_params *params)
{
    size_t units = params->region_bytes / alloc->align;

    if (units > TAG_LENGTH) {
        units = TAG_LENGTH;
    }
    if (params->bin_bytes != 0 && units_of(alloc, params->bin_bytes) <= units) {
        uint64_t fit;

        alloc->bin_units = (uint32_t)units_of(alloc, params->bin_bytes);
        fit = units / alloc->bin_units;
        alloc->bin_count =
                (uint32_t)(params->bin_count < fit ? params->bin_count : fit);
    }
    alloc->unit_count = (uint32_t)units - alloc->bin_count * alloc->bin_units;
    alloc->bin_free = BIN_NONE;
}

am_status_t am_binalloc_open(const struct am_binalloc_params *params,
                             struct am_binalloc **alloc_p)
{
    size_t align = params->align != 0 ? params->align : AM_BINALLOC_ALIGN;
    struct am_binalloc *alloc;

    if ((align & (align - 1)) != 0) {
        return AM_ERR_INVALID;
    }
    alloc = calloc(1, sizeof(*alloc));
    if (alloc == NULL) {
        return AM_ERR_MEMORY;
    }
    alloc->align = align;
    lay_out(alloc, params);
    /* One entry more than needed, so that none of the two is empty. */
    alloc->bins = calloc((size_t)alloc->bin_count + 1, sizeof(uint32_t));
    alloc->tags = calloc((size_t)alloc->unit_count + 1, sizeof(uint32_t));
    if (alloc->bins == NULL || alloc->tags == NULL) {
        am_binalloc_close(alloc);
        return AM_ERR_MEMORY;
    }
    if (alloc->unit_count > 0) {
        write_extent(alloc, 0, alloc->unit_count, 0);
    }
    *alloc_p = alloc;
    return AM_OK;
}

void am_binalloc_close(struct am_binalloc *alloc)
{
    if (alloc != NULL) {
        free(alloc->bins);
        free(alloc->tags);
        free(alloc);
    }
}

/* -------------------------------------------------------------------- bins */

/* Take a bin: one that was put back, else a fresh one.  False if none. */
static bool bin_get(struct am_binalloc *alloc, uint32_t *bin_p)
{
    alloc->steps++;
    if (alloc->bin_free != BIN_NONE) {
        *bin_p = alloc->bin_free;
        alloc->bin_free = alloc->bins[*bin_p];
    } else if (alloc->bin_fresh < alloc->bin_count) {
        *bin_p = alloc->bin_fresh++;
    } else {
        return false;
    }
    alloc->bins[*bin_p] = BIN_TAKEN;
    alloc->bins_taken++;
    return true;
}

static am_status_t bin_put(struct am_binalloc *alloc, size_t unit)
{
    size_t bin = unit / alloc->bin_units;

    if (unit % alloc->bin_units != 0 || alloc->bins[bin] != BIN_TAKEN) {
        return AM_ERR_INVALID;
    }
    alloc->bins[bin] = alloc->bin_free;
    alloc->bin_free = (uint32_t)bin;
    alloc->bins_taken--;
    return AM_OK;
}

/* ----------------------------------------------------------------- extents */

/* The first free extent of at least `units`; false if there is none. */
static bool extent_find(struct am_binalloc *alloc, uint32_t units,
                        uint32_t *first_p)
{
    bool seen_free = false;
    uint32_t at = alloc->hint;

    while (at < alloc->unit_count) {
        uint32_t tag = alloc->tags[at];

        alloc->steps++;
        if (tag_is_free(tag)) {
            if (!seen_free) {
                alloc->hint = at;
                seen_free = true;
            }
            if (tag_length(tag) >= units) {
                *first_p = at;
                return true;
            }
        }
        at += tag_length(tag);
    }
    return false;
}

static bool extent_get(struct am_binalloc *alloc, uint32_t units,
                       uint32_t *first_p)
{
    uint32_t first;
    uint32_t rest;

    if (units > alloc->unit_count - alloc->units_taken ||
        !extent_find(alloc, units, &first)) {
        return false;
    }
    rest = tag_length(alloc->tags[first]) - units;
    erase_extent(alloc, first);
    write_extent(alloc, first, units, TAG_TAKEN);
    if (rest > 0) {
        write_extent(alloc, first + units, rest, 0);
    }
    if (alloc->hint == first) {
        alloc->hint = first + units;
    }
    alloc->units_taken += units;
    *first_p = first;
    return true;
}

static am_status_t extent_put(struct am_binalloc *alloc, size_t unit)
{
    uint32_t first = (uint32_t)unit;
    uint32_t length;
    uint32_t end;

    if (unit >= alloc->unit_count || tag_is_free(alloc->tags[first]) ||
        (alloc->tags[first] & TAG_FIRST) == 0) {
        return AM_ERR_INVALID;
    }
    length = tag_length(alloc->tags[first]);
    alloc->units_taken -= length;
    end = first + length;
    erase_extent(alloc, first);
    if (end < alloc->unit_count && tag_is_free(alloc->tags[end])) {
        length += tag_length(alloc->tags[end]);
        erase_extent(alloc, end);
    }
    if (first > 0 && tag_is_free(alloc->tags[first - 1])) {
        uint32_t before = tag_length(alloc->tags[first - 1]);

        first -= before;
        length += before;
        erase_extent(alloc, first);
    }
    write_extent(alloc, first, length, 0);
    if (first < alloc->hint) {
        alloc->hint = first;
    }
    return AM_OK;
}

/* ---------------------------------------------------------------- the whole */

size_t am_binalloc_bytes_max(const struct am_binalloc *alloc)
{
    uint32_t units = alloc->unit_count;

    if (alloc->bin_count > 0 && alloc->bin_units > units) {
        units = alloc->bin_units;
    }
    return (size_t)units * alloc->align;
}

am_status_t am_binalloc_get(struct am_binalloc *alloc, size_t bytes,
                            size_t *offset_p)
{
    size_t units = units_of(alloc, bytes);
    uint32_t found;

    if (units > alloc->unit_count &&
        (alloc->bin_count == 0 || units > alloc->bin_units)) {
        return AM_ERR_INVALID;
    }
    if (units <= alloc->bin_units && bin_get(alloc, &found)) {
        *offset_p = (size_t)found * alloc->bin_units * alloc->align;
        return AM_OK;
    }
    if (extent_get(alloc, (uint32_t)units, &found)) {
        *offset_p = bin_area_bytes(alloc) + (size_t)found * alloc->align;
        return AM_OK;
    }
    return AM_ERR_AGAIN;
}

am_status_t am_binalloc_put(struct am_binalloc *alloc, size_t offset)
{
    size_t bin_bytes = bin_area_bytes(alloc);

    if (offset % alloc->align != 0) {
        return AM_ERR_INVALID;
    }
    return offset < bin_bytes
                   ? bin_put(alloc, offset / alloc->align)
                   : extent_put(alloc, (offset - bin_bytes) / alloc->align);
}

size_t am_binalloc_used_bytes(const struct am_binalloc *alloc)
{
    size_t units =
            (size_t)alloc->bins_taken * alloc->bin_units + alloc->units_taken;

    return units * alloc->align;
}

uint64_t am_binalloc_take_steps(struct am_binalloc *alloc)
{
    uint64_t steps = alloc->steps;

    alloc->steps = 0;
    return steps;
}

/* -------------------------------------------------------------- validation */

static bool bins_are_valid(const struct am_binalloc *alloc)
{
    uint32_t taken = 0;
    uint32_t free_count = 0;

    for (uint32_t i = 0; i < alloc->bin_fresh; i++) {
        taken += alloc->bins[i] == BIN_TAKEN;
    }
    for (uint32_t at = alloc->bin_free; at != BIN_NONE; at = alloc->bins[at]) {
        if (at >= alloc->bin_fresh || ++free_count > alloc->bin_fresh) {
            return false;
        }
    }
    return alloc->bin_fresh <= alloc->bin_count && taken == alloc->bins_taken &&
           taken + free_count == alloc->bin_fresh;
}

/* Are the tags of the extent at `first` as they must be? */
static bool extent_is_valid(const struct am_binalloc *alloc, uint32_t first)
{
    uint32_t tag = alloc->tags[first];
    uint32_t length = tag_length(tag);

    if ((tag & TAG_FIRST) == 0 || length == 0 ||
        length > alloc->unit_count - first) {
        return false;
    }
    for (uint32_t i = first + 1; i + 1 < first + length; i++) {
        if (alloc->tags[i] != 0) {
            return false;
        }
    }
    return length == 1 || alloc->tags[first + length - 1] == (tag & ~TAG_FIRST);
}

bool am_binalloc_is_valid(const struct am_binalloc *alloc)
{
    bool left_free = false;
    bool hint_seen = alloc->hint == alloc->unit_count;
    uint32_t taken = 0;
    uint32_t at = 0;

    while (at < alloc->unit_count) {
        bool is_free = tag_is_free(alloc->tags[at]);

        if (!extent_is_valid(alloc, at) || (is_free && left_free) ||
            (is_free && at < alloc->hint)) {
            return false;
        }
        hint_seen = hint_seen || at == alloc->hint;
        taken += is_free ? 0 : tag_length(alloc->tags[at]);
        left_free = is_free;
        at += tag_length(alloc->tags[at]);
    }
    return hint_seen && taken == alloc->units_taken && bins_are_valid(alloc);
}
