/*
 * Files of targets (nic-sim/machines/NAME.expect):
 *     figure = ["value unit", "percent", "source"];
 * in the group expect; `set = ["key=value"]` before it changes the machine.
 */
#include "tools/sim.h"

#include <ctype.h>
#include <errno.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

const struct figure *sim_figure_find(const char *name)
{
    for (const struct figure *f = figures; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}

/* One target; what is wrong with it, or NULL. */
static const char *target_read(const config_setting_t *item,
                               struct sim_target *target)
{
    const char *part[3];
    const char *wrong;
    char *end;

    target->figure = sim_figure_find(config_setting_name(item));
    if (target->figure == NULL) {
        return "there is no such figure (am_sim --list)";
    }
    if (!config_setting_is_array(item) || config_setting_length(item) != 3) {
        return "it must be [\"value unit\", \"percent\", \"source\"]";
    }
    for (int i = 0; i < 3; i++) {
        part[i] = config_setting_get_string_elem(item, i);
        if (part[i] == NULL) {
            return "its three parts must be texts";
        }
    }
    wrong = ns_unit_parse(part[0],
                          strcmp(target->figure->unit, "ps") == 0
                                  ? NS_UNIT_TIME
                                  : NS_UNIT_RATE,
                          &target->value);
    target->percent = strtoul(part[1], &end, 10);
    if (wrong == NULL && (!isdigit((unsigned char)*part[1]) || *end != '\0' ||
                          target->percent > 100)) {
        wrong = "its tolerance must be a percentage, 0 to 100";
    }
    if (wrong == NULL && target->value == 0) {
        wrong = "its target is 0, of which there is no percentage";
    }
    if (wrong == NULL && strlen(part[2]) < 3) {
        wrong = "it has no source";
    }
    snprintf(target->source, sizeof(target->source), "%s", part[2]);
    return wrong;
}

/* `set = ["key=value", ...];`, of a machine other than its file says. */
static int sets_read(const char *path, const config_t *config,
                     struct sim_targets *targets, char *error,
                     size_t error_bytes)
{
    const config_setting_t *list = config_lookup(config, "set");
    bool is_list = list == NULL || config_setting_is_aggregate(list);
    int count = list == NULL ? 0 : is_list ? config_setting_length(list) : 1;

    for (int i = 0; i < count; i++) {
        const char *text =
                is_list ? config_setting_get_string_elem(list, i) : NULL;

        if (text == NULL || i == SIM_TARGET_SETS_MAX) {
            snprintf(error, error_bytes,
                     "%s:%d: set must be up to %d texts \"key=value\"", path,
                     (int)config_setting_source_line(list),
                     SIM_TARGET_SETS_MAX);
            return -1;
        }
        snprintf(targets->set[targets->set_count++], NS_MACHINE_TEXT, "%s",
                 text);
    }
    return 0;
}

/* A misspelt key would leave its settings out. */
static int keys_check(const char *path, const config_t *config, char *error,
                      size_t error_bytes)
{
    const config_setting_t *root = config_root_setting(config);

    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *item =
                config_setting_get_elem(root, (unsigned)i);
        const char *name = config_setting_name(item);

        if (strcmp(name, "machine") != 0 && strcmp(name, "set") != 0 &&
            strcmp(name, "expect") != 0) {
            snprintf(error, error_bytes,
                     "%s:%d: unknown key %s; there are machine, set and the "
                     "group expect",
                     path, (int)config_setting_source_line(item), name);
            return -1;
        }
    }
    return 0;
}

static int targets_read(const char *path, const config_t *config,
                        struct sim_targets *targets, char *error,
                        size_t error_bytes)
{
    const config_setting_t *group = config_lookup(config, "expect");
    const char *machine;

    if (group == NULL || !config_setting_is_group(group) ||
        config_lookup_string(config, "machine", &machine) != CONFIG_TRUE) {
        snprintf(error, error_bytes,
                 "%s: machine = \"...\" or the group expect is missing", path);
        return -1;
    }
    if (config_setting_length(group) == 0) {
        snprintf(error, error_bytes, "%s:%d: the group expect is empty", path,
                 (int)config_setting_source_line(group));
        return -1;
    }
    snprintf(targets->machine, sizeof(targets->machine), "%s", machine);
    if (keys_check(path, config, error, error_bytes) != 0) {
        return -1;
    }
    if (sets_read(path, config, targets, error, error_bytes) != 0) {
        return -1;
    }
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *item =
                config_setting_get_elem(group, (unsigned)i);
        const char *wrong = targets->count == SIM_TARGETS_MAX
                                    ? "there are too many"
                                    : target_read(item, &targets->target[i]);

        if (wrong != NULL) {
            snprintf(error, error_bytes, "%s:%d: %s: %s", path,
                     (int)config_setting_source_line(item),
                     config_setting_name(item), wrong);
            return -1;
        }
        targets->count++;
    }
    return 0;
}

/* `text` NULL: the file of that path. */
static int targets_load(const char *path, const char *text,
                        struct sim_targets *targets, char *error,
                        size_t error_bytes)
{
    config_t config;
    int result;

    memset(targets, 0, sizeof(*targets));
    config_init(&config);
    errno = 0;
    result = text != NULL ? config_read_string(&config, text)
                          : config_read_file(&config, path);
    if (result == CONFIG_TRUE) {
        result = targets_read(path, &config, targets, error, error_bytes);
    } else if (config_error_type(&config) == CONFIG_ERR_FILE_IO) {
        snprintf(error, error_bytes, "%s: %s", path,
                 errno != 0 ? strerror(errno)
                            : "it is no file that can be read");
        result = -1;
    } else {
        snprintf(error, error_bytes, "%s:%d: %s", path,
                 config_error_line(&config), config_error_text(&config));
        result = -1;
    }
    config_destroy(&config);
    return result;
}

int sim_targets_load(const char *path, struct sim_targets *targets, char *error,
                     size_t error_bytes)
{
    return targets_load(path, NULL, targets, error, error_bytes);
}

int sim_targets_built_in(uint32_t index, struct sim_targets *targets,
                         char *error, size_t error_bytes)
{
    const char *text = ns_machine_targets(index);

    return text == NULL ? 1
                        : targets_load("built-in targets", text, targets, error,
                                       error_bytes);
}
