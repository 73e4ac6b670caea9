/*
 * The settings of a machine file: one row each.
 */
#ifndef NS_HOST_MACHINE_ROWS_H
#define NS_HOST_MACHINE_ROWS_H

#include "nicsim_machine.h"

struct ns_machine_row {
    const char *nic; /* only for machines with this NIC; NULL: all */
    const char *key;
    ns_unit_t type;
    uint64_t min, max;
    size_t offset;
};

#define NS_MACHINE_ROWS 47

extern const struct ns_machine_row ns_machine_rows[NS_MACHINE_ROWS];

#endif
