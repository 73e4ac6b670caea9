/*
 * The settings of a machine file: one row each.  Those of every machine are in
 * machine_rows.c, those of an adapter and its network in nic/<kind>.
 */
#ifndef NS_HOST_MACHINE_ROWS_H
#define NS_HOST_MACHINE_ROWS_H

#include "nicsim_machine.h"

struct ns_machine_row {
    const char *key; /* "group.name" or "group.group.name" */
    ns_unit_t type;
    uint64_t min, max;
    size_t offset; /* in struct ns_machine: a uint64_t; NAME: a char[32] */
    const char *fallback;     /* when the file has none; NULL: it must have */
    const char *const *words; /* NS_UNIT_WORD: what it may be, NULL at the end;
                                 the value is the index */
};

/* A number that a file must have; one with a default; a word with a default. */
#define NS_ROW(_key, _type, _min, _max, _offset) \
    NS_ROW_OR(_key, _type, _min, _max, _offset, NULL)
#define NS_ROW_OR(_key, _type, _min, _max, _offset, _fallback)      \
    {                                                               \
        _key, NS_UNIT_##_type, _min, _max, _offset, _fallback, NULL \
    }
#define NS_ROW_WORD(_key, _words, _offset, _fallback)        \
    {                                                        \
        _key, NS_UNIT_WORD, 0, 0, _offset, _fallback, _words \
    }

#define NS_ROW_MS UINT64_C(1000000000)    /* in ps */
#define NS_ROW_TB UINT64_C(1000000000000) /* in bytes a second */

extern const struct ns_machine_row ns_machine_rows[];
extern const uint32_t ns_machine_row_count;

/* The value as text with a unit, for messages. */
void ns_unit_text(uint64_t value, ns_unit_t type, char *text, size_t bytes);

#endif
