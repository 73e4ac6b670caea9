/*
 * What loading one machine file needs, for the loader's two files.
 */
#ifndef NS_HOST_MACHINE_LOAD_H
#define NS_HOST_MACHINE_LOAD_H

#include "host/machine_rows.h"
#include "nic/nic.h"

struct loader {
    struct ns_machine *machine;
    const struct ns_nic_kind *kind;
    const char *file; /* as shown in messages */
    char *error;
    size_t error_bytes;
    bool seen[NS_SETTINGS_MAX];
    int line[NS_SETTINGS_MAX]; /* of the file; 0: not given there */
};

/* Write the sentence, with file and, if > 0, line.  Returns -1. */
int ns_load_fail(struct loader *loader, int line, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* The line of the setting that `sentence` begins with; 0 if there is none. */
int ns_load_line(const struct loader *loader, const char *sentence);
/* Check and take one setting. */
int ns_load_setting(struct loader *loader, int line, const char *key,
                    const char *value, const char *kind, const char *source);
/* What the file left out, by its default, or a sentence. */
int ns_load_defaults(struct loader *loader);
/* "key=value" of the command line. */
int ns_load_sets(struct loader *loader, const char *const *sets,
                 uint32_t set_count);

#endif
