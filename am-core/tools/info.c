/*
 * am_info: says what this build of libam is and how it is configured: version,
 * variables, devices, protocols; as text or as one JSON object.  Uses the
 * public interface, and the device table for -v.
 */
#include <config.h>

#include "base/config.h"
#include "dev/dev.h"

#include <am.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_USAGE = 2,
    DESCRIBE_BYTES = 64 * 1024
};

struct options {
    bool version, variables, devices, protocols, json, markdown;
};

static const char usage[] =
        "usage: am_info [-v] [-c] [-d] [-p] [--json | --markdown]\n"
        "  -v, --version     version and build (also when nothing is asked)\n"
        "  -c, --config      every variable: value, default, unit, meaning\n"
        "  -d, --devices     devices and what they cost\n"
        "  -p, --protocols   protocol by message size, with the reasons\n"
        "      --json        one JSON object instead of text\n"
        "      --markdown    -c as a table of defaults, as in README.md\n";

/* ---------------------------------------------------------------- version */

static const char *build_kind(void)
{
#ifdef AM_DEBUG
    return "debug";
#else
    return "release";
#endif
}

static const char *build_sim(void)
{
#ifdef AM_SIM
    return "yes";
#else
    return "no";
#endif
}

static void version_print(void)
{
    printf("libam %s\n", AM_VERSION_STRING);
    printf("build: %s, compiler %s\n", build_kind(), __VERSION__);
    printf("hooks for simulated hosts: %s\n", build_sim());
    printf("devices of this build:");
    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        printf(" %s", am_dev_table[i]->name);
    }
    printf("\naddress blob: %d bytes; words of a request: up to %d\n",
           AM_ADDRESS_BYTES, AM_WORDS_MAX);
}

static json_t *version_json(void)
{
    json_t *devices = json_array();

    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        json_array_append_new(devices, json_string(am_dev_table[i]->name));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:i}", "version",
                     AM_VERSION_STRING, "build", build_kind(), "compiler",
                     __VERSION__, "simulated_hosts", build_sim(), "devices",
                     devices, "address_bytes", AM_ADDRESS_BYTES, "words_max",
                     AM_WORDS_MAX);
}

/* -------------------------------------------------------------- variables */

typedef void (*variable_fn)(const struct am_variable_info *info, void *arg);

static void variables_each(struct am_ctx *ctx, variable_fn fn, void *arg)
{
    struct am_variable_info info;
    char text[AM_CONFIG_TEXT_BYTES];

    for (uint32_t i = 0;
         am_variable(ctx, i, &info, text, sizeof(text)) == AM_OK; i++) {
        fn(&info, arg);
    }
}

static void variable_print(const struct am_variable_info *info, void *arg)
{
    bool has_unit = info->unit != NULL && info->unit[0] != '\0';

    (void)arg;
    printf("%s=%s (default %s%s%s%s%s)\n    %s\n", info->name, info->value,
           info->def[0] == '\0' ? "empty" : info->def, has_unit ? ", " : "",
           has_unit ? info->unit : "", info->choices != NULL ? ", " : "",
           info->choices != NULL ? info->choices : "", info->help);
}

/* A cell of a Markdown table: "|" would end it. */
static void cell_print(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            putchar('\\');
        }
        putchar(*text);
    }
}

static void variable_markdown(const struct am_variable_info *info, void *arg)
{
    (void)arg;
    printf("| `%s` | ", info->name);
    if (info->def[0] != '\0') {
        printf("`");
        cell_print(info->def);
        printf("`");
    }
    printf(" | %s | ", info->unit == NULL ? "" : info->unit);
    cell_print(info->help);
    if (info->choices != NULL) {
        size_t length = strlen(info->help);
        bool sentence = length > 0 && info->help[length - 1] == '.';

        printf("%s `", sentence ? " Values:" : "; values:");
        cell_print(info->choices);
        printf("`");
    }
    printf(" |\n");
}

static void variable_json(const struct am_variable_info *info, void *arg)
{
    json_t *row =
            json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", info->name, "value",
                      info->value, "default", info->def, "unit",
                      info->unit == NULL ? "" : info->unit, "help", info->help);

    if (info->choices != NULL) {
        json_object_set_new(row, "choices", json_string(info->choices));
    }
    json_array_append_new(arg, row);
}

/* ---------------------------------------------------- devices, protocols */

static const char *describe(struct am_ctx *ctx, const char *what, char *text)
{
    size_t length = am_describe(ctx, what, text, DESCRIBE_BYTES);

    if (length == 0 || text[0] == '\0') {
        snprintf(text, DESCRIBE_BYTES, "no %s in this build\n", what);
    }
    return text;
}

/* The lines of a description as a JSON array of strings. */
static json_t *describe_json(struct am_ctx *ctx, const char *what, char *text)
{
    json_t *lines = json_array();
    char *rest = NULL, *line;

    describe(ctx, what, text);
    for (line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        json_array_append_new(lines, json_string(line));
    }
    return lines;
}

/* ------------------------------------------------------------------- main */

static void print_text(const struct options *options, struct am_ctx *ctx,
                       char *text)
{
    if (options->version) {
        version_print();
    }
    if (options->variables && options->markdown) {
        printf("| variable | default | unit | meaning |\n|---|---|---|---|\n");
        variables_each(NULL, variable_markdown, NULL);
    } else if (options->variables) {
        variables_each(ctx, variable_print, NULL);
    }
    if (options->devices) {
        fputs(describe(ctx, "devices", text), stdout);
    }
    if (options->protocols) {
        fputs(describe(ctx, "protocols", text), stdout);
    }
}

static void print_json(const struct options *options, struct am_ctx *ctx,
                       char *text)
{
    json_t *root = json_object();

    if (options->version) {
        json_object_set_new(root, "version", version_json());
    }
    if (options->variables) {
        json_t *rows = json_array();

        variables_each(ctx, variable_json, rows);
        json_object_set_new(root, "variables", rows);
    }
    if (options->devices) {
        json_object_set_new(root, "devices",
                            describe_json(ctx, "devices", text));
    }
    if (options->protocols) {
        json_object_set_new(root, "protocols",
                            describe_json(ctx, "protocols", text));
    }
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(root);
}

/* In a cluster such as -vx getopt says only which letter it was. */
static void unknown_option(const char *word)
{
    if (optopt != 0 && strncmp(word, "--", 2) != 0) {
        fprintf(stderr, "am_info: unknown option -%c", optopt);
    } else {
        fprintf(stderr, "am_info: unknown option %s", word);
    }
    fputs("; am_info --help lists them\n", stderr);
}

/* True to go on; else *exit_p is what to exit with. */
static bool parse(int argc, char **argv, struct options *options, int *exit_p)
{
    static const struct option longs[] = {{"version", no_argument, NULL, 'v'},
                                          {"config", no_argument, NULL, 'c'},
                                          {"devices", no_argument, NULL, 'd'},
                                          {"protocols", no_argument, NULL, 'p'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"markdown", no_argument, NULL, 'm'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    opterr = 0;
    *exit_p = EXIT_USAGE;
    while ((c = getopt_long(argc, argv, "vcdph", longs, NULL)) != -1) {
        options->version |= c == 'v';
        options->variables |= c == 'c';
        options->devices |= c == 'd';
        options->protocols |= c == 'p';
        options->json |= c == 'j';
        options->markdown |= c == 'm';
        if (c == 'h') {
            fputs(usage, stdout);
            *exit_p = EXIT_SUCCESS;
            return false;
        }
        if (c == '?') {
            unknown_option(argv[optind - 1]);
            return false;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "am_info: unexpected argument %s; see am_info --help\n",
                argv[optind]);
        return false;
    }
    if (options->markdown && (!options->variables || options->json)) {
        fputs("am_info: --markdown goes with -c and without --json\n", stderr);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    char *text = NULL;
    bool needs_ctx;
    int exit_code;

    if (!parse(argc, argv, &options, &exit_code)) {
        return exit_code;
    }
    if (!options.variables && !options.devices && !options.protocols) {
        options.version = true;
    }
    needs_ctx = (options.variables && !options.markdown) || options.devices ||
                options.protocols;
    if (needs_ctx && am_init() != AM_OK) {
        fprintf(stderr, "am_info: %s\n", am_init_error());
        return EXIT_FAILURE;
    }
    text = malloc(DESCRIBE_BYTES);
    if (text == NULL) {
        fputs("am_info: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    /* Under mpiexec one rank speaks for all. */
    if (!needs_ctx || am_rank(am_default()) == 0) {
        if (options.json) {
            print_json(&options, am_default(), text);
        } else {
            print_text(&options, am_default(), text);
        }
    }
    free(text);
    am_fini();
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
