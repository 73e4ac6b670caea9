/*
 * The adapters that there are.
 */
#include "nic/nic.h"

#include <string.h>

const struct ns_nic_kind *const ns_nic_kinds[] = {&ns_tb2_kind, &ns_lanai_kind,
                                                  &ns_bgp_kind, &ns_wq_kind,
                                                  NULL};

const struct ns_nic_kind *ns_nic_kind_find(const char *name)
{
    for (uint32_t i = 0; ns_nic_kinds[i] != NULL; i++) {
        if (strcmp(ns_nic_kinds[i]->name, name) == 0) {
            return ns_nic_kinds[i];
        }
    }
    return NULL;
}
