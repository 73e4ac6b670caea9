/*
 * Arithmetic that the algorithms share: pieces, blocks.
 */
#include "config.h"

#include "collectives/algo/algo.h"

uint32_t am_piece_count(size_t bytes, size_t chunk)
{
    size_t count = bytes == 0 ? 1 : (bytes - 1) / chunk + 1;

    return count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

size_t am_piece_bytes(size_t bytes, size_t chunk, uint32_t index)
{
    size_t at = chunk == SIZE_MAX ? 0 : chunk * index;

    return bytes - at < chunk ? bytes - at : chunk;
}

size_t am_chunk_of_units(const struct am_coll_build *b)
{
    if (b->chunk_bytes == SIZE_MAX) {
        return SIZE_MAX;
    }
    return b->chunk_bytes < b->unit ? b->unit
                                    : b->chunk_bytes - b->chunk_bytes % b->unit;
}

struct am_block am_block_at(const size_t *counts, const size_t *offsets,
                            size_t count, size_t unit, uint32_t index)
{
    struct am_block block = {count * unit * index, count * unit};

    if (counts != NULL) {
        block.bytes = counts[index] * unit;
        block.offset = 0;
        for (uint32_t i = 0; offsets == NULL && i < index; i++) {
            block.offset += counts[i] * unit;
        }
    }
    if (offsets != NULL) {
        block.offset = offsets[index] * unit;
    }
    return block;
}

struct am_block am_block_of(size_t bytes, size_t unit, uint32_t parts,
                            uint32_t index)
{
    size_t units = bytes / unit;
    size_t small = units / parts, large = units % parts;
    size_t first = small * index + (index < large ? index : large);

    return (struct am_block){first * unit, (small + (index < large)) * unit};
}
