/*
 * Profiles from and to text.
 */
#include "config.h"

#include "dev/profile.h"

#include "base/file.h"

#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond a millisecond a number is a mistake. */
#define PROFILE_PS_MAX UINT64_C(1000000000)
/* One of four distances has 2 KiB; this is no profile. */
#define PROFILE_BYTES_MAX ((size_t)256 * 1024)

struct number {
    const char *name;
    size_t offset; /* in struct am_profile_row */
    bool needed;
};

#define ROW(_field) offsetof(struct am_profile_row, _field)

static const struct number constants[] = {{"send_ps", ROW(send_ps), true},
                                          {"recv_ps", ROW(recv_ps), true},
                                          {"wire_ps", ROW(wire_ps), true},
                                          {"gap_ps", ROW(gap_ps), true},
                                          {"single_ps", ROW(single_ps), false}};
static const char *const ways_names[AM_WAYS_COUNT] = {"one_way", "both_ways"};
static const char *const copy_names[AM_COPY_COUNT] = {
        "copy_in_fs", "copy_out_fs", "single_fs"};

static const char *const flow_names[AM_FLOW_COUNT] = {"answered", "in_a_row",
                                                      "both_ways"};
static const char *const by_names[AM_BY_COUNT] = {"unknown", "stream",
                                                  "single"};

enum {
    CONSTANTS = sizeof(constants) / sizeof(constants[0])
};

static uint64_t *number_at(const struct am_profile_row *row, size_t offset)
{
    return (uint64_t *)(void *)((char *)(uintptr_t)row + offset);
}

/* ---------------------------------------------------------------- reading */

struct reader {
    const char *path;
    char *error;
    size_t error_bytes;
};

static am_status_t refuse(const struct reader *reader,
                          const config_setting_t *at, const char *what)
{
    snprintf(reader->error, reader->error_bytes,
             "AM_PROFILE: %s, line %u: %s; am_tune writes a new one",
             reader->path, at == NULL ? 1 : config_setting_source_line(at),
             what);
    return AM_ERR_CONFIG;
}

/* A number between 1 and `most`, or 0 when it is not there and need not be. */
static am_status_t number_read(const struct reader *reader,
                               config_setting_t *group, const char *name,
                               bool needed, uint64_t most, uint64_t *to)
{
    config_setting_t *at = config_setting_get_member(group, name);
    int type = at == NULL ? CONFIG_TYPE_NONE : config_setting_type(at);
    long long value;
    char what[128];

    *to = 0;
    if (at == NULL && !needed) {
        return AM_OK;
    }
    value = type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64
                    ? config_setting_get_int64(at)
                    : 0;
    if (value < 1 || (uint64_t)value > most) {
        snprintf(what, sizeof(what), "%s must be a number from 1 to %llu", name,
                 (unsigned long long)most);
        return refuse(reader, at == NULL ? group : at, what);
    }
    *to = (uint64_t)value;
    return AM_OK;
}

static am_status_t text_read(const struct reader *reader,
                             config_setting_t *group, const char *name,
                             char to[AM_PROFILE_TEXT])
{
    const char *text;
    char what[128];

    if (config_setting_lookup_string(group, name, &text) != CONFIG_TRUE ||
        strlen(text) >= AM_PROFILE_TEXT) {
        snprintf(what, sizeof(what), "%s must be a text of less than %d bytes",
                 name, AM_PROFILE_TEXT);
        return refuse(reader, group, what);
    }
    strcpy(to, text);
    return AM_OK;
}

static am_status_t ways_read(const struct reader *reader,
                             config_setting_t *group,
                             uint64_t byte_fs[AM_COPY_COUNT])
{
    am_status_t status = AM_OK;

    for (int i = 0; i < AM_COPY_COUNT && status == AM_OK; i++) {
        status = number_read(reader, group, copy_names[i], i != AM_COPY_SINGLE,
                             AM_METER_BYTE_FS_MAX, &byte_fs[i]);
    }
    return status;
}

/* Text i of a list as an am_by_t, or AM_BY_COUNT. */
static int by_read(const config_setting_t *list, int i)
{
    const char *text = config_setting_get_string_elem(list, i);
    int by = 0;

    while (by < AM_BY_COUNT &&
           (text == NULL || strcmp(text, by_names[by]) != 0)) {
        by++;
    }
    return by;
}

/* What went faster, for each flow a list; it need not be there. */
static am_status_t faster_read(const struct reader *reader,
                               config_setting_t *group,
                               struct am_profile_row *row)
{
    config_setting_t *faster = config_setting_get_member(group, "faster");
    char what[128];

    row->compared = faster != NULL;
    for (int flow = 0; row->compared && flow < AM_FLOW_COUNT; flow++) {
        config_setting_t *list =
                config_setting_is_group(faster)
                        ? config_setting_get_member(faster, flow_names[flow])
                        : NULL;
        int count = list == NULL ? 0 : config_setting_length(list);

        for (int i = 0; i < count && i < AM_FASTER_SIZES; i++) {
            row->faster.by[flow][i] = (uint8_t)by_read(list, i);
            count = row->faster.by[flow][i] == AM_BY_COUNT ? 0 : count;
        }
        if (count != AM_FASTER_SIZES) {
            snprintf(what, sizeof(what),
                     "faster.%s must be %d of \"stream\", \"single\" and "
                     "\"unknown\"",
                     flow_names[flow], AM_FASTER_SIZES);
            return refuse(reader, list == NULL ? faster : list, what);
        }
    }
    return AM_OK;
}

static am_status_t row_read(const struct reader *reader,
                            config_setting_t *group, struct am_profile *profile)
{
    char name[AM_PROFILE_TEXT];
    am_status_t status = text_read(reader, group, "distance", name);
    struct am_profile_row *row = NULL;

    for (int i = 0; i < AM_DISTANCE_COUNT && status == AM_OK; i++) {
        if (strcmp(name, am_distance_name((am_distance_t)i)) == 0) {
            row = &profile->shm[i];
        }
    }
    if (status == AM_OK && (row == NULL || row->given)) {
        return refuse(reader, group,
                      "distance must be core, cache, node or far, and each "
                      "may come once");
    }
    if (status == AM_OK) {
        row->given = true;
        status = text_read(reader, group, "cores", row->cores);
    }
    for (int i = 0; i < CONSTANTS && status == AM_OK; i++) {
        status = number_read(reader, group, constants[i].name,
                             constants[i].needed, PROFILE_PS_MAX,
                             number_at(row, constants[i].offset));
    }
    for (int i = 0; i < AM_WAYS_COUNT && status == AM_OK; i++) {
        config_setting_t *ways =
                config_setting_get_member(group, ways_names[i]);

        status = ways == NULL || !config_setting_is_group(ways)
                         ? refuse(reader, group,
                                  "one_way and both_ways must be there")
                         : ways_read(reader, ways, row->byte_fs[i]);
    }
    return status == AM_OK ? faster_read(reader, group, row) : status;
}

static am_status_t root_read(const struct reader *reader,
                             config_setting_t *root, struct am_profile *profile)
{
    config_setting_t *rows = config_setting_get_member(root, "shm");
    uint64_t version;
    am_status_t status = number_read(reader, root, "version", true,
                                     AM_PROFILE_VERSION, &version);

    status = status != AM_OK ? status
                             : number_read(reader, root, "cpus", true, 1 << 20,
                                           &profile->cpus);
    status = status != AM_OK
                     ? status
                     : text_read(reader, root, "measured", profile->measured);
    status = status != AM_OK ? status
                             : text_read(reader, root, "host", profile->host);
    status = status != AM_OK
                     ? status
                     : text_read(reader, root, "processor", profile->processor);
    if (status == AM_OK && (rows == NULL || !config_setting_is_list(rows))) {
        status = refuse(reader, root, "shm must be a list in parentheses");
    }
    for (int i = 0; status == AM_OK && i < config_setting_length(rows); i++) {
        config_setting_t *row = config_setting_get_elem(rows, (unsigned)i);

        status = config_setting_is_group(row)
                         ? row_read(reader, row, profile)
                         : refuse(reader, row, "shm is a list of groups");
    }
    return status;
}

am_status_t am_profile_read(const char *path, struct am_profile *profile,
                            char *error, size_t error_bytes)
{
    const struct reader reader = {path, error, error_bytes};
    /* libconfig is not to read it: it ends the process when the system cannot */
    char *text = am_file_read(path, PROFILE_BYTES_MAX);
    am_status_t status;
    config_t config;

    if (text == NULL) {
        return AM_ERR_SYSTEM;
    }
    memset(profile, 0, sizeof(*profile));
    config_init(&config);
    if (config_read_string(&config, text) == CONFIG_TRUE) {
        status = root_read(&reader, config_root_setting(&config), profile);
    } else {
        snprintf(error, error_bytes,
                 "AM_PROFILE: %s, line %d: %s; am_tune writes a new one", path,
                 config_error_line(&config), config_error_text(&config));
        status = AM_ERR_CONFIG;
    }
    config_destroy(&config);
    free(text);
    return status;
}

/* ---------------------------------------------------------------- writing */

static void faster_write(config_setting_t *group,
                         const struct am_faster *faster)
{
    config_setting_t *to =
            config_setting_add(group, "faster", CONFIG_TYPE_GROUP);

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        config_setting_t *list =
                config_setting_add(to, flow_names[flow], CONFIG_TYPE_ARRAY);

        for (int i = 0; i < AM_FASTER_SIZES; i++) {
            config_setting_set_string(
                    config_setting_add(list, NULL, CONFIG_TYPE_STRING),
                    by_names[faster->by[flow][i]]);
        }
    }
}

static void row_write(config_setting_t *list, am_distance_t distance,
                      const struct am_profile_row *row)
{
    config_setting_t *group = config_setting_add(list, NULL, CONFIG_TYPE_GROUP);

    config_setting_set_string(
            config_setting_add(group, "distance", CONFIG_TYPE_STRING),
            am_distance_name(distance));
    config_setting_set_string(
            config_setting_add(group, "cores", CONFIG_TYPE_STRING), row->cores);
    for (int i = 0; i < CONSTANTS; i++) {
        uint64_t value = *number_at(row, constants[i].offset);

        if (value != 0) {
            config_setting_set_int64(config_setting_add(group,
                                                        constants[i].name,
                                                        CONFIG_TYPE_INT64),
                                     (long long)value);
        }
    }
    for (int ways = 0; ways < AM_WAYS_COUNT; ways++) {
        config_setting_t *at =
                config_setting_add(group, ways_names[ways], CONFIG_TYPE_GROUP);

        for (int i = 0; i < AM_COPY_COUNT; i++) {
            if (row->byte_fs[ways][i] != 0) {
                config_setting_set_int64(config_setting_add(at, copy_names[i],
                                                            CONFIG_TYPE_INT64),
                                         (long long)row->byte_fs[ways][i]);
            }
        }
    }
    if (row->compared) {
        faster_write(group, &row->faster);
    }
}

static void profile_print(FILE *file, const void *arg)
{
    const struct am_profile *profile = arg;
    const char *texts[][2] = {{"measured", profile->measured},
                              {"host", profile->host},
                              {"processor", profile->processor}};
    config_setting_t *root, *list;
    config_t config;

    config_init(&config);
    root = config_root_setting(&config);
    config_setting_set_int(config_setting_add(root, "version", CONFIG_TYPE_INT),
                           AM_PROFILE_VERSION);
    for (int i = 0; i < 3; i++) {
        config_setting_set_string(
                config_setting_add(root, texts[i][0], CONFIG_TYPE_STRING),
                texts[i][1]);
    }
    config_setting_set_int64(
            config_setting_add(root, "cpus", CONFIG_TYPE_INT64),
            (long long)profile->cpus);
    list = config_setting_add(root, "shm", CONFIG_TYPE_LIST);
    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        if (profile->shm[i].given) {
            row_write(list, (am_distance_t)i, &profile->shm[i]);
        }
    }
    fputs("# What libam costs on this machine, by am_tune; AM_PROFILE names "
          "it.\n",
          file);
    config_write(&config, file);
    config_destroy(&config);
}

bool am_profile_write(const char *path, const struct am_profile *profile)
{
    return am_file_replace(path, profile_print, profile);
}
