/*
 * Machine files: libconfig text to struct ns_machine by one table of rows.
 * Whatever is wrong is told in one sentence with file and line.
 */
#include "nicsim_machine.h"

#include <libconfig.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *nic; /* only for machines with this NIC; NULL: all */
    const char *key;
    ns_unit_t type;
    uint64_t min, max;
    size_t offset;
};

#define HOST(_name) offsetof(struct ns_machine, host._name)
#define BUS(_name)  offsetof(struct ns_machine, bus._name)
#define TB2(_name)  offsetof(struct ns_machine, tb2._name)
#define SP(_name)   offsetof(struct ns_machine, sp._name)
#define MS          UINT64_C(1000000000)
#define TB          UINT64_C(1000000000000)

static const struct row rows[] = {
        {NULL, "host.clock", NS_UNIT_FREQUENCY, 1, 1000000, HOST(clock_ps)},
        {NULL, "host.cache_line", NS_UNIT_BYTES, 16, 256, HOST(line_bytes)},
        {NULL, "host.memory_bus", NS_UNIT_RATE, 1000000, TB,
         HOST(memory_bytes_per_second)},
        {NULL, "host.copy", NS_UNIT_RATE, 1000000, TB,
         HOST(copy_bytes_per_second)},
        {NULL, "host.shared_memory", NS_UNIT_BYTES, 4096, UINT64_C(1) << 30,
         HOST(shared_bytes)},
        {NULL, "host.pio", NS_UNIT_TIME, 1, MS, HOST(pio_ps)},
        {NULL, "host.driver_send", NS_UNIT_TIME, 0, MS, HOST(send_ps)},
        {NULL, "host.driver_receive", NS_UNIT_TIME, 0, MS, HOST(receive_ps)},
        {NULL, "host.driver_poll", NS_UNIT_TIME, 1, MS, HOST(poll_ps)},
        {NULL, "host.am_send", NS_UNIT_TIME, 0, MS, HOST(am_send_ps)},
        {NULL, "host.am_word", NS_UNIT_TIME, 0, MS, HOST(am_word_ps)},
        {NULL, "host.am_dispatch", NS_UNIT_TIME, 0, MS, HOST(am_dispatch_ps)},
        {NULL, "host.am_match", NS_UNIT_TIME, 0, MS, HOST(am_match_ps)},
        {NULL, "host.am_alloc", NS_UNIT_TIME, 0, MS, HOST(am_alloc_ps)},
        {NULL, "host.am_poll", NS_UNIT_TIME, 0, MS, HOST(am_poll_ps)},
        {NULL, "bus.rate", NS_UNIT_RATE, 1000000, TB, BUS(bytes_per_second)},
        {NULL, "bus.arbitration", NS_UNIT_TIME, 0, MS, BUS(arbitration_ps)},
        {NULL, "bus.burst", NS_UNIT_BYTES, 4, 65536, BUS(burst_bytes)},
        {"tb2", "nic.clock", NS_UNIT_FREQUENCY, 1, 1000000, TB2(clock_ps)},
        {"tb2", "nic.packet", NS_UNIT_CYCLES, 1, 1000000, TB2(packet_cycles)},
        {"tb2", "nic.send_fifo", NS_UNIT_COUNT, 4, 4096, TB2(send_entries)},
        {"tb2", "nic.receive_fifo", NS_UNIT_COUNT, 2, 4096,
         TB2(receive_entries)},
        {"tb2", "nic.fifo", NS_UNIT_BYTES, 512, 1 << 20, TB2(fifo_bytes)},
        {"tb2", "nic.pop_batch", NS_UNIT_COUNT, 1, 64, TB2(pop_batch)},
        {"tb2", "nic.length_batch", NS_UNIT_COUNT, 1, 4, TB2(length_batch)},
        {"tb2", "net.link", NS_UNIT_RATE, 1000000, TB,
         SP(link_bytes_per_second)},
        {"tb2", "net.hop", NS_UNIT_TIME, 1, MS, SP(hop_ps)},
        {"tb2", "net.routes", NS_UNIT_COUNT, 1, 16, SP(routes)},
        {"tb2", "net.chip_ports", NS_UNIT_COUNT, 1, 64, SP(chip_ports)},
        {"tb2", "net.buffer", NS_UNIT_COUNT, 1, 1024, SP(buffer_packets)},
        {"tb2", "net.nodes", NS_UNIT_COUNT, 2, 65536, SP(nodes_max)},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

_Static_assert(ROW_COUNT <= NS_SETTINGS_MAX, "a place for each setting");

static const char *const groups[] = {"host", "bus", "nic", "net", NULL};
static const char *const texts[] = {"machine", "adapter", "network", NULL};
static const char *const kinds[] = {"fact", "derived", "calibrated", "assumed",
                                    NULL};

/* What loading one file needs. */
struct loader {
    struct ns_machine *machine;
    const char *file; /* as shown in messages */
    char *error;
    size_t error_bytes;
    bool seen[ROW_COUNT];
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

static bool row_applies(const struct loader *loader, const struct row *row)
{
    return row->nic == NULL || strcmp(row->nic, loader->machine->nic) == 0;
}

/* Index of the row, or ROW_COUNT and the nearest key. */
static size_t row_find(const struct loader *loader, const char *key,
                       const char **near_p)
{
    uint32_t best = UINT32_MAX;

    for (size_t i = 0; i < ROW_COUNT; i++) {
        uint32_t far;

        if (!row_applies(loader, &rows[i])) {
            continue;
        }
        if (strcmp(rows[i].key, key) == 0) {
            return i;
        }
        far = distance(key, rows[i].key);
        if (far < best) {
            best = far;
            *near_p = rows[i].key;
        }
    }
    return ROW_COUNT;
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

    if (index == ROW_COUNT) {
        return fail(loader, line,
                    "unknown key %s; the nearest that this machine knows is %s",
                    key, near);
    }
    wrong = ns_unit_parse(value, rows[index].type, &number);
    if (wrong != NULL) {
        return fail(loader, line, "%s is \"%s\": %s", key, value, wrong);
    }
    if (number < rows[index].min || number > rows[index].max) {
        return fail(loader, line, "%s is \"%s\": that is not possible here",
                    key, value);
    }
    memcpy((char *)loader->machine + rows[index].offset, &number,
           sizeof(number));
    setting = setting_slot(loader->machine, rows[index].key);
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
    if (strcmp(machine->nic, "tb2") != 0) {
        return fail(loader, 0, "adapter is \"%s\"; this version has tb2",
                    machine->nic);
    }
    if (strcmp(machine->network, "sp") != 0) {
        return fail(loader, 0, "network is \"%s\"; this version has sp",
                    machine->network);
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
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (row_applies(loader, &rows[i]) && !loader->seen[i]) {
            return fail(loader, 0, "%s is missing", rows[i].key);
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

/* What single rows cannot say. */
static int check_whole(struct loader *loader)
{
    const struct ns_machine *machine = loader->machine;

    loader->file = machine->name;
    if ((machine->host.line_bytes & (machine->host.line_bytes - 1)) != 0) {
        return fail(loader, 0, "host.cache_line must be a power of two");
    }
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
