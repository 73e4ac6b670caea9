/*
 * The partners of cube.h.
 */
#include "collectives/topo/cube.h"

uint32_t am_cube_rounds(uint32_t size)
{
    uint32_t rounds = 0;

    while (rounds < 32 && (uint64_t)1 << rounds < size) {
        rounds++;
    }
    return rounds;
}

uint32_t am_cube_floor(uint32_t size)
{
    uint32_t power = 1;

    while (power <= size / 2) {
        power *= 2;
    }
    return power;
}

uint32_t am_cube_number(uint32_t rank, uint32_t size)
{
    uint32_t spares = size - am_cube_floor(size);

    if (rank / 2 >= spares) {
        return rank - spares;
    }
    return rank % 2 == 0 ? rank / 2 : AM_TOPO_NONE;
}

uint32_t am_cube_rank(uint32_t number, uint32_t size)
{
    uint32_t spares = size - am_cube_floor(size);

    return number < spares ? 2 * number : number + spares;
}

uint32_t am_cube_spare(uint32_t rank, uint32_t size)
{
    return rank / 2 < size - am_cube_floor(size) ? rank ^ 1u : AM_TOPO_NONE;
}
