/*
 * Machine files: libconfig text to struct ns_machine by one table of rows.
 * Whatever is wrong is told in one sentence with file and line.
 */
#include "host/machine_rows.h"

#include <libconfig.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const groups[] = {"host", "bus", "nic", "net", NULL};
static const char *const texts[] = {"machine", "adapter", "network", NULL};
static const char *const kinds[] = {"fact", "derived", "calibrated", "assumed",
                                    NULL};

/* Adapters, each with its network; is their host's DMA coherent? */
static const struct {
    const char *nic, *network;
    bool coherent;
} pairs[] = {{"tb2", "sp", false}, {"lanai", "myrinet", true}};

/* What loading one file needs. */
struct loader {
    struct ns_machine *machine;
    const char *file; /* as shown in messages */
    char *error;
    size_t error_bytes;
    bool seen[NS_MACHINE_ROWS];
};

static int fail(struct loader *loader, int line, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static int fail(struct loader *loader, int line, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (line > 0) {
        snprintf(loader->error, loader->error_bytes, "%s:%d: %s", loader->file,
                 line, text);
    } else {
        snprintf(loader->error, loader->error_bytes, "%s: %s", loader->file,
                 text);
    }
    return -1;
}

static bool name_in(const char *const *names, const char *name)
{
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Edit distance of short names, for "did you mean". */
static uint32_t distance(const char *a, const char *b)
{
    uint32_t row[64];
    uint32_t n = (uint32_t)strlen(b);

    if (n >= 64) {
        return UINT32_MAX;
    }
    for (uint32_t j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (uint32_t i = 1; a[i - 1] != '\0'; i++) {
        uint32_t diagonal = row[0];

        row[0] = i;
        for (uint32_t j = 1; j <= n; j++) {
            uint32_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[n];
}

static bool row_applies(const struct loader *loader,
                        const struct ns_machine_row *row)
{
    return row->nic == NULL || strcmp(row->nic, loader->machine->nic) == 0;
}

/* Index of the row, or NS_MACHINE_ROWS and the nearest key. */
static size_t row_find(const struct loader *loader, const char *key,
                       const char **near_p)
{
    uint32_t best = UINT32_MAX;

    for (size_t i = 0; i < NS_MACHINE_ROWS; i++) {
        uint32_t far;

        if (!row_applies(loader, &ns_machine_rows[i])) {
            continue;
        }
        if (strcmp(ns_machine_rows[i].key, key) == 0) {
            return i;
        }
        far = distance(key, ns_machine_rows[i].key);
        if (far < best) {
            best = far;
            *near_p = ns_machine_rows[i].key;
        }
    }
    return NS_MACHINE_ROWS;
}

static struct ns_setting *setting_slot(struct ns_machine *machine,
                                       const char *key)
{
    for (uint32_t i = 0; i < machine->setting_count; i++) {
        if (strcmp(machine->settings[i].key, key) == 0) {
            return &machine->settings[i];
        }
    }
    machine->settings[machine->setting_count].key = key;
    return &machine->settings[machine->setting_count++];
}

static int setting_apply(struct loader *loader, int line, const char *key,
                         const char *value, const char *kind,
                         const char *source)
{
    const char *near = "";
    size_t index = row_find(loader, key, &near);
    struct ns_setting *setting;
    const char *wrong;
    uint64_t number;

    if (index == NS_MACHINE_ROWS) {
        return fail(loader, line,
                    "unknown key %s; the nearest that this machine knows is %s",
                    key, near);
    }
    wrong = ns_unit_parse(value, ns_machine_rows[index].type, &number);
    if (wrong != NULL) {
        return fail(loader, line, "%s is \"%s\": %s", key, value, wrong);
    }
    if (number < ns_machine_rows[index].min ||
        number > ns_machine_rows[index].max) {
        return fail(loader, line, "%s is \"%s\": that is not possible here",
                    key, value);
    }
    memcpy((char *)loader->machine + ns_machine_rows[index].offset, &number,
           sizeof(number));
    setting = setting_slot(loader->machine, ns_machine_rows[index].key);
    snprintf(setting->value, sizeof(setting->value), "%s", value);
    snprintf(setting->kind, sizeof(setting->kind), "%s", kind);
    snprintf(setting->source, sizeof(setting->source), "%s", source);
    loader->seen[index] = true;
    return 0;
}

/* One `key = ["value", "kind", "source"];` */
static int load_setting(struct loader *loader, const char *group,
                        const config_setting_t *item)
{
    int line = (int)config_setting_source_line(item);
    const char *name = config_setting_name(item);
    const char *part[3];
    char key[64];

    snprintf(key, sizeof(key), "%s.%s", group, name);
    if (!config_setting_is_array(item) || config_setting_length(item) != 3) {
        return fail(loader, line,
                    "%s must be [\"value unit\", \"kind\", \"source\"]", key);
    }
    for (int i = 0; i < 3; i++) {
        part[i] = config_setting_get_string_elem(item, i);
        if (part[i] == NULL) {
            return fail(loader, line, "%s: its three parts must be texts", key);
        }
    }
    if (!name_in(kinds, part[1])) {
        return fail(loader, line,
                    "%s: its kind is \"%s\", and must be fact, derived, "
                    "calibrated or assumed",
                    key, part[1]);
    }
    if (strlen(part[2]) < 3) {
        return fail(loader, line, "%s has no source", key);
    }
    return setting_apply(loader, line, key, part[0], part[1], part[2]);
}

static int load_group(struct loader *loader, const config_setting_t *group)
{
    for (int i = 0; i < config_setting_length(group); i++) {
        if (load_setting(loader, config_setting_name(group),
                         config_setting_get_elem(group, (unsigned)i)) != 0) {
            return -1;
        }
    }
    return 0;
}

static int load_text(struct loader *loader, const config_t *config,
                     const char *key, char *to, size_t bytes)
{
    const char *value;

    if (config_lookup_string(config, key, &value) != CONFIG_TRUE) {
        return fail(loader, 0, "%s = \"...\" is missing", key);
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
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (strcmp(machine->nic, pairs[i].nic) == 0) {
            machine->coherent = pairs[i].coherent;
            return strcmp(machine->network, pairs[i].network) == 0
                           ? 0
                           : fail(loader, 0, "network is \"%s\"; %s has %s",
                                  machine->network, machine->nic,
                                  pairs[i].network);
        }
    }
    return fail(loader, 0, "adapter is \"%s\"; this version has tb2 and lanai",
                machine->nic);
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

        if (config_setting_is_group(item) && name_in(groups, name)) {
            if (load_group(loader, item) != 0) {
                return -1;
            }
        } else if (!name_in(texts, name)) {
            return fail(loader, (int)config_setting_source_line(item),
                        "unknown key %s; there are machine, adapter, network "
                        "and the groups host, bus, nic, net",
                        name);
        }
    }
    for (size_t i = 0; i < NS_MACHINE_ROWS; i++) {
        if (row_applies(loader, &ns_machine_rows[i]) && !loader->seen[i]) {
            return fail(loader, 0, "%s is missing", ns_machine_rows[i].key);
        }
    }
    return 0;
}

static int apply_sets(struct loader *loader, const char *const *sets,
                      uint32_t set_count)
{
    loader->file = "--set";
    for (uint32_t i = 0; i < set_count; i++) {
        const char *equals = strchr(sets[i], '=');
        char key[64];

        if (equals == NULL || (size_t)(equals - sets[i]) >= sizeof(key)) {
            return fail(loader, 0, "%s is not key=value", sets[i]);
        }
        snprintf(key, sizeof(key), "%.*s", (int)(equals - sets[i]), sets[i]);
        if (setting_apply(loader, 0, key, equals + 1, "set", "command line") !=
            0) {
            return -1;
        }
    }
    return 0;
}

static int check_tb2(struct loader *loader)
{
    const struct ns_machine *machine = loader->machine;

    if (machine->tb2.send_entries % 4 != 0) {
        return fail(loader, 0, "nic.send_fifo must be a multiple of 4 entries");
    }
    if (machine->tb2.pop_batch > machine->tb2.receive_entries) {
        return fail(loader, 0, "nic.pop_batch is more than nic.receive_fifo");
    }
    if (4 % machine->tb2.length_batch != 0) {
        return fail(loader, 0, "nic.length_batch must be 1, 2 or 4 lengths");
    }
    return 0;
}

/* What single rows cannot say. */
static int check_whole(struct loader *loader)
{
    const struct ns_machine *machine = loader->machine;

    loader->file = machine->name;
    if ((machine->host.line_bytes & (machine->host.line_bytes - 1)) != 0) {
        return fail(loader, 0, "host.cache_line must be a power of two");
    }
    return strcmp(machine->nic, "tb2") == 0 ? check_tb2(loader) : 0;
}

static int load_file(struct loader *loader, const char *name)
{
    const char *text = ns_machine_text(name);
    size_t length = strlen(name);
    config_t config;
    int status;

    if (strchr(name, '/') == NULL && text == NULL &&
        (length < 5 || strcmp(name + length - 5, ".conf") != 0)) {
        return fail(loader, 0, "there is no such machine");
    }
    config_init(&config);
    status = text != NULL ? config_read_string(&config, text)
                          : config_read_file(&config, name);
    if (status != CONFIG_TRUE) {
        status = fail(loader, config_error_line(&config), "%s",
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
        apply_sets(&loader, sets, set_count) != 0 ||
        check_whole(&loader) != 0) {
        free(loader.machine);
        return NULL;
    }
    return loader.machine;
}
