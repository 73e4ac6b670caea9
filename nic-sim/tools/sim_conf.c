/*
 * am_sim --print: a machine as the text of a machine file, with the settings
 * that its own file leaves to their defaults and those of --set.
 */
#include "tools/sim.h"

#include <string.h>

enum {
    INDENT = 4
};

static void text_print(const char *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        putchar(*text);
    }
    putchar('"');
}

/* What is no kind of a file's is assumed there, and says where it is from. */
static void setting_print(const struct ns_setting *setting, const char *name,
                          int depth)
{
    const char *kind = setting->kind, *source = setting->source;

    if (strcmp(kind, "default") == 0) {
        kind = "assumed";
        source = "the default: the file that was read does not give it";
    } else if (strcmp(kind, "set") == 0) {
        kind = "assumed";
        source = "from --set on the command line of am_sim";
    }
    printf("%*s%s = [", depth * INDENT, "", name);
    text_print(setting->value);
    printf(", \"%s\", ", kind);
    text_print(source);
    puts("];");
}

/* Is setting `index` the first of its group?  The group's key has `bytes`, its
 * last point among them. */
static bool group_begins(const struct ns_machine *machine, uint32_t index,
                         size_t bytes)
{
    for (uint32_t i = 0; i < index; i++) {
        if (strncmp(machine->settings[i].key, machine->settings[index].key,
                    bytes) == 0) {
            return false;
        }
    }
    return true;
}

/* The settings whose keys begin with the first `bytes` of `prefix`, groups in
 * groups as they come. */
static void group_print(const struct ns_machine *machine, const char *prefix,
                        size_t bytes, int depth)
{
    for (uint32_t i = 0; i < machine->setting_count; i++) {
        const struct ns_setting *setting = &machine->settings[i];
        const char *name = setting->key + bytes;
        const char *point;

        if (strncmp(setting->key, prefix, bytes) != 0) {
            continue;
        }
        point = strchr(name, '.');
        if (point == NULL) {
            setting_print(setting, name, depth);
        } else if (group_begins(machine, i,
                                (size_t)(point + 1 - setting->key))) {
            printf("%s%*s%.*s:\n%*s{\n", depth == 0 ? "\n" : "", depth * INDENT,
                   "", (int)(point - name), name, depth * INDENT, "");
            group_print(machine, setting->key,
                        (size_t)(point + 1 - setting->key), depth + 1);
            printf("%*s};\n", depth * INDENT, "");
        }
    }
}

void sim_machine_print(const struct ns_machine *machine)
{
    printf("# The machine %s, all settings, as am_sim --print tells them.\n\n",
           machine->name);
    fputs("machine = ", stdout);
    text_print(machine->name);
    printf(";\nadapter = \"%s\";\nnetwork = \"%s\";\n", machine->nic,
           machine->network);
    group_print(machine, "", 0, 0);
}
