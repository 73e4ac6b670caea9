/*
 * What the files of the device conformance suite share; *state of each test is
 * its struct world_case.
 */
#ifndef AM_TEST_CONFORM_DEV_CONFORM_H
#define AM_TEST_CONFORM_DEV_CONFORM_H

#include "conform/dev_world.h"

/* The other end of node 0: itself where there is no other. */
static inline uint32_t world_other(const struct world *world)
{
    return world->count - 1;
}

static inline const struct am_dev_attr *world_attr(const struct world *world)
{
    return &world->nodes[0].dev->attr;
}

/* dev_cases.c */
extern const struct world_case conform_cases[];
extern const size_t conform_case_count;

/* dev_conform_mem.c */
void test_put_get(void **state);
void test_regions(void **state);
void test_fetch_add(void **state);
void test_mapped(void **state);

#endif
