/*
 * am_info: says what this build of libam is and how it is configured: version,
 * variables, devices, protocols; as text or, in info_json.c, as one JSON
 * object.
 */
#include <config.h>

#include "tools/info.h"

#include "base/config.h"
#include "base/file.h"
#include "dev/dev.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_USAGE = 2,
    DESCRIBE_BYTES = 64 * 1024
};

static const char usage[] =
        "usage: am_info [-v] [-c] [-d] [-p] [--coll] [--json | --markdown]\n"
        "  -v, --version     version and build (also when nothing is asked)\n"
        "  -c, --config      every variable: value, default, unit, meaning\n"
        "  -d, --devices     devices and what they cost\n"
        "  -p, --protocols   protocol by message size, with the reasons\n"
        "      --coll        algorithms of collectives by size, with the reasons,\n"
        "                    for all ranks of this job\n"
        "      --json        one JSON object instead of text\n"
        "      --markdown    -c as a table of defaults, as in\n"
        "                    docs/variables.md\n"
        "  -h, --help        this\n";

/* ---------------------------------------------------------------- version */

const char *info_build_kind(void)
{
#ifdef AM_DEBUG
    return "debug";
#else
    return "release";
#endif
}

const char *info_build_sim(void)
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
    printf("build: %s, compiler %s\n", info_build_kind(), __VERSION__);
    printf("hooks for simulated hosts: %s\n", info_build_sim());
    printf("devices of this build:");
    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        printf(" %s", am_dev_table[i]->name);
    }
    printf("\naddress blob: %d bytes; words of a request: up to %d\n",
           AM_ADDRESS_BYTES, AM_WORDS_MAX);
}

/* -------------------------------------------------------------- variables */

void info_variables_each(struct am_ctx *ctx, info_variable_fn fn, void *arg)
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

/* ---------------------------------------------------- devices, protocols */

static const char *describe(struct am_ctx *ctx, const char *what, char *text)
{
    size_t length = am_describe(ctx, what, text, DESCRIBE_BYTES);

    if (length == 0 || text[0] == '\0') {
        snprintf(text, DESCRIBE_BYTES, "no %s in this build\n", what);
    }
    return text;
}

/* ------------------------------------------------------------------- main */

static void print_text(const struct info_options *options, struct am_ctx *ctx,
                       char *text)
{
    if (options->version) {
        version_print();
    }
    if (options->variables && options->markdown) {
        printf("| variable | default | unit | meaning |\n|---|---|---|---|\n");
        info_variables_each(NULL, variable_markdown, NULL);
    } else if (options->variables) {
        info_variables_each(ctx, variable_print, NULL);
    }
    if (options->devices) {
        fputs(describe(ctx, "devices", text), stdout);
    }
    if (options->protocols) {
        fputs(describe(ctx, "protocols", text), stdout);
    }
    if (options->collectives) {
        fputs(describe(ctx, "collectives", text), stdout);
    }
}

/* What was printed is where it belongs, or it is said that it is not. */
static int printed(void)
{
    int error = am_file_flush(stdout);

    if (error == 0) {
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "am_info: cannot write what was asked for: %s\n",
            strerror(error));
    return EXIT_FAILURE;
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
static bool parse(int argc, char **argv, struct info_options *options,
                  int *exit_p)
{
    static const struct option longs[] = {{"version", no_argument, NULL, 'v'},
                                          {"config", no_argument, NULL, 'c'},
                                          {"devices", no_argument, NULL, 'd'},
                                          {"protocols", no_argument, NULL, 'p'},
                                          {"coll", no_argument, NULL, 'o'},
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
        options->collectives |= c == 'o';
        options->json |= c == 'j';
        options->markdown |= c == 'm';
        if (c == 'h') {
            fputs(usage, stdout);
            *exit_p = printed();
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
    if (options->collectives && options->json) {
        fputs("am_info: --coll is not part of --json\n", stderr);
        return false;
    }
    if (options->markdown && (!options->variables || options->json)) {
        fputs("am_info: --markdown goes with -c and without --json\n", stderr);
        return false;
    }
    return true;
}

/* Two contexts of one job in this process, so that there is a peer on this
 * node to describe.  0, or -1 after saying why not. */
static int open_pair(struct am_ctx *pair[2])
{
    char error[256] = "out of memory", blobs[2 * AM_ADDRESS_BYTES];
    struct am_params params = {
            .size = 2, .error = error, .error_bytes = sizeof(error)};

    for (uint32_t i = 0; i < 2; i++) {
        params.rank = i;
        if (am_open(&params, &pair[i]) != AM_OK) {
            pair[i] = NULL;
            fprintf(stderr, "am_info: %s\n", error);
            return -1;
        }
        am_address(pair[i], blobs + (size_t)i * AM_ADDRESS_BYTES);
    }
    for (int i = 0; i < 2; i++) {
        am_connect_all(pair[i], blobs);
    }
    return 0;
}

/* Under mpiexec the context is the job's, and rank 0 speaks for all. */
static int open_ctx(struct am_ctx *pair[2], struct am_ctx **ctx_p)
{
    if (am_config_getenv("PMI_SIZE") == NULL) {
        *ctx_p = NULL;
        if (open_pair(pair) == 0) {
            *ctx_p = pair[0];
        }
    } else {
        if (am_init() != AM_OK) {
            fprintf(stderr, "am_info: %s\n", am_init_error());
        }
        *ctx_p = am_default();
    }
    return *ctx_p == NULL ? -1 : 0;
}

static void close_ctx(struct am_ctx *pair[2])
{
    am_fini();
    for (int i = 0; i < 2; i++) {
        if (pair[i] != NULL) {
            am_close(pair[i]);
        }
    }
}

static int print(const struct info_options *options, struct am_ctx *ctx)
{
    char *text = malloc(DESCRIBE_BYTES);

    if (text == NULL) {
        fputs("am_info: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    if (ctx == NULL || am_rank(ctx) == 0) {
        if (options->json) {
            info_json_print(options, ctx, text, DESCRIBE_BYTES);
        } else {
            print_text(options, ctx, text);
        }
    }
    free(text);
    return printed();
}

int main(int argc, char **argv)
{
    struct info_options options = {0};
    struct am_ctx *pair[2] = {NULL, NULL}, *ctx = NULL;
    int exit_code;

    if (!parse(argc, argv, &options, &exit_code)) {
        return exit_code;
    }
    if (!options.variables && !options.devices && !options.protocols &&
        !options.collectives) {
        options.version = true;
    }
    if ((options.variables && !options.markdown) || options.devices ||
        options.protocols || options.collectives) {
        if (open_ctx(pair, &ctx) != 0) {
            return EXIT_FAILURE;
        }
    }
    exit_code = print(&options, ctx);
    close_ctx(pair);
    return exit_code;
}
