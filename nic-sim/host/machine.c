/*
 * Machine files: libconfig text to struct ns_machine by one table of rows.
 * Whatever is wrong is told in one sentence with file and line.
 */
#include "host/copy.h"
#include "host/machine_load.h"

#include <errno.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[] = {"machine", "adapter", "network", NULL};
static const char *const kinds[] = {"fact", "derived", "calibrated", "assumed",
                                    NULL};

static bool name_in(const char *const *names, const char *name)
{
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

/* One `key = ["value", "kind", "source"];` */
static int load_setting(struct loader *loader, const char *group,
                        const config_setting_t *item)
{
    int line = (int)config_setting_source_line(item);
    const char *name = config_setting_name(item);
    const char *part[3];
    char key[96];

    snprintf(key, sizeof(key), "%s.%s", group, name);
    if (!config_setting_is_array(item) || config_setting_length(item) != 3) {
        return ns_load_fail(loader, line,
                            "%s must be [\"value unit\", \"kind\", \"source\"]",
                            key);
    }
    for (int i = 0; i < 3; i++) {
        part[i] = config_setting_get_string_elem(item, i);
        if (part[i] == NULL) {
            return ns_load_fail(loader, line,
                                "%s: its three parts must be texts", key);
        }
    }
    if (!name_in(kinds, part[1])) {
        return ns_load_fail(
                loader, line,
                "%s: its kind is \"%s\", and must be fact, derived, "
                "calibrated or assumed",
                key, part[1]);
    }
    if (strlen(part[2]) < 3) {
        return ns_load_fail(loader, line, "%s has no source", key);
    }
    return ns_load_setting(loader, line, key, part[0], part[1], part[2]);
}

static int load_group(struct loader *loader, const char *path,
                      const config_setting_t *group)
{
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *item =
                config_setting_get_elem(group, (unsigned)i);
        char inner[64];
        int status;

        if (config_setting_is_group(item)) {
            snprintf(inner, sizeof(inner), "%s.%s", path,
                     config_setting_name(item));
            status = load_group(loader, inner, item);
        } else {
            status = load_setting(loader, path, item);
        }
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* The line of a text at the top, which is there. */
static int text_line(const config_t *config, const char *key)
{
    return (int)config_setting_source_line(config_lookup(config, key));
}

static int load_text(struct loader *loader, const config_t *config,
                     const char *key, char *to, size_t bytes)
{
    const config_setting_t *item = config_lookup(config, key);
    const char *value = item == NULL ? NULL : config_setting_get_string(item);

    if (value == NULL) {
        return ns_load_fail(loader, 0, "%s = \"...\" is missing", key);
    }
    if (*value == '\0' || strlen(value) >= bytes) {
        return ns_load_fail(loader, text_line(config, key),
                            "%s is \"%s\", and must be a name of 1 to %zu "
                            "characters",
                            key, value, bytes - 1);
    }
    snprintf(to, bytes, "%s", value);
    return 0;
}

static int load_names(struct loader *loader, const config_t *config)
{
    struct ns_machine *machine = loader->machine;

    if (load_text(loader, config, "machine", machine->name,
                  sizeof(machine->name)) != 0 ||
        load_text(loader, config, "adapter", machine->nic,
                  sizeof(machine->nic)) != 0 ||
        load_text(loader, config, "network", machine->network,
                  sizeof(machine->network)) != 0) {
        return -1;
    }
    loader->kind = ns_nic_kind_find(machine->nic);
    if (loader->kind == NULL) {
        char names[64] = "";

        for (uint32_t i = 0; ns_nic_kinds[i] != NULL; i++) {
            strcat(names, i == 0 ? "" : ", ");
            strcat(names, ns_nic_kinds[i]->name);
        }
        return ns_load_fail(loader, text_line(config, "adapter"),
                            "adapter is \"%s\"; there are %s", machine->nic,
                            names);
    }
    machine->coherent = loader->kind->coherent;
    if (strcmp(machine->network, loader->kind->network) != 0) {
        return ns_load_fail(loader, text_line(config, "network"),
                            "network is \"%s\"; %s has %s", machine->network,
                            machine->nic, loader->kind->network);
    }
    return 0;
}

static int load_config(struct loader *loader, const config_t *config)
{
    const config_setting_t *root = config_root_setting(config);

    if (load_names(loader, config) != 0) {
        return -1;
    }
    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *item =
                config_setting_get_elem(root, (unsigned)i);
        const char *name = config_setting_name(item);

        if (config_setting_is_group(item)) {
            if (load_group(loader, name, item) != 0) {
                return -1;
            }
        } else if (!name_in(texts, name)) {
            return ns_load_fail(loader, (int)config_setting_source_line(item),
                                "unknown key %s; there are machine, adapter, "
                                "network and groups of settings",
                                name);
        }
    }
    return ns_load_defaults(loader);
}

/* What single rows cannot say.  The sentence begins with a setting, whose line
 * is shown, unless --set or a default gave it. */
static int check_whole(struct loader *loader, const char *name)
{
    const struct ns_machine *machine = loader->machine;
    const char *wrong;

    loader->file = name;
    if ((machine->host.line_bytes & (machine->host.line_bytes - 1)) != 0) {
        wrong = "host.cache_line must be a power of two";
        return ns_load_fail(loader, ns_load_line(loader, wrong), "%s", wrong);
    }
    wrong = ns_copy_check(&machine->host);
    if (wrong == NULL && loader->kind->check != NULL) {
        wrong = loader->kind->check(machine);
    }
    return wrong == NULL ? 0
                         : ns_load_fail(loader, ns_load_line(loader, wrong),
                                        "%s", wrong);
}

static int load_file(struct loader *loader, const char *name)
{
    const char *text = ns_machine_text(name);
    size_t length = strlen(name);
    config_t config;
    int status;

    if (strchr(name, '/') == NULL && text == NULL &&
        (length < 5 || strcmp(name + length - 5, ".conf") != 0)) {
        return ns_load_fail(loader, 0, "there is no such machine");
    }
    errno = 0;
    config_init(&config);
    status = text != NULL ? config_read_string(&config, text)
                          : config_read_file(&config, name);
    if (status != CONFIG_TRUE &&
        config_error_type(&config) == CONFIG_ERR_FILE_IO) {
        status = ns_load_fail(loader, 0, "%s",
                              errno != 0 ? strerror(errno)
                                         : "it is no file that can be read");
    } else if (status != CONFIG_TRUE) {
        status = ns_load_fail(loader, config_error_line(&config), "%s",
                              config_error_text(&config));
    } else {
        status = load_config(loader, &config);
    }
    config_destroy(&config);
    return status;
}

struct ns_machine *ns_machine_load(const char *name, const char *const *sets,
                                   uint32_t set_count, char *error,
                                   size_t error_bytes)
{
    struct loader loader = {
            .machine = calloc(1, sizeof(struct ns_machine)),
            .file = name,
            .error = error,
            .error_bytes = error_bytes,
    };

    if (loader.machine == NULL) {
        snprintf(error, error_bytes, "out of memory");
        return NULL;
    }
    if (load_file(&loader, name) != 0 ||
        ns_load_sets(&loader, sets, set_count) != 0 ||
        check_whole(&loader, name) != 0) {
        free(loader.machine);
        return NULL;
    }
    return loader.machine;
}
