/*
 * mpi_perf.c: the driver of the MPI micro-benchmarks.  It reads the command
 * line, finds how often a test must run to be timed well, takes the median of
 * some rounds, checks that every byte arrived as sent, and prints.
 *
 * Text is as users of the OSU programs know it: lines of a size and a value,
 * below a comment that names the unit.
 */
#include "mpi_perf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 101
#define SIZES_MAX  64
#define BYTES_MAX  (64 << 20)
#define REFUSED    2

extern char **environ;

struct options {
    const struct perf_test *test;
    int sizes[SIZES_MAX];
    int size_count;
    int rounds;
    double round_s; /* a round lasts about so long */
    bool json;
    bool check;
};

/* ---------------------------------------------------------------- endings */

__attribute__((format(printf, 2, 3))) static _Noreturn void
refuse(const struct perf *perf, const char *format, ...)
{
    if (perf->rank == 0) {
        va_list args;

        fputs("mpi_perf: ", stderr);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    exit(REFUSED);
}

static _Noreturn void usage(const struct perf *perf)
{
    if (perf->rank == 0) {
        printf("usage: mpi_perf TEST [options]\n"
               "  --sizes A,B,...  bytes, with k or m (default 1, 4, ... )\n"
               "  --rounds N       of which the median counts (default 5)\n"
               "  --time S         of a round, in seconds (default 0.05)\n"
               "  --compute US     overlap: time to compute (default: as long "
               "as the message takes)\n"
               "  --no-check       do not check the bytes that arrive\n"
               "  --json           one JSON object a line\n"
               "tests:\n");
        for (const struct perf_test *t = perf_tests; t->name != NULL; t++) {
            printf("  %-12s %s\n", t->name, t->what);
        }
    }
    MPI_Finalize();
    exit(0);
}

/* ----------------------------------------------------------- command line */

static double read_number(const struct perf *perf, const char *text, double low,
                          double high)
{
    char *end;
    double number = text == NULL ? 0 : strtod(text, &end);

    if (text == NULL || end == text || *end != '\0' ||
        !(number >= low && number <= high)) {
        refuse(perf, "'%s' is no number from %g to %g.",
               text == NULL ? "" : text, low, high);
    }
    return number;
}

static int read_size(const struct perf *perf, const char *text, size_t length)
{
    char copy[32] = "";
    char *end;
    long long size;

    if (length > 0 && length < sizeof(copy)) {
        memcpy(copy, text, length);
    }
    errno = 0;
    size = strtoll(copy, &end, 10);
    if (end != copy && (*end == 'k' || *end == 'm') && size < BYTES_MAX) {
        size *= *end == 'k' ? 1 << 10 : 1 << 20;
        end++;
    }
    if (end == copy || *end != '\0' || errno != 0 || size < 0 ||
        size > BYTES_MAX) {
        refuse(perf, "'%.*s' is no size from 0 to 64m.", (int)length, text);
    }
    return (int)size;
}

static void read_sizes(const struct perf *perf, const char *text,
                       struct options *options)
{
    options->size_count = 0;
    while (text != NULL) {
        size_t length = strcspn(text, ",");

        if (options->size_count == SIZES_MAX) {
            refuse(perf, "there are more than %d sizes.", SIZES_MAX);
        }
        options->sizes[options->size_count++] = read_size(perf, text, length);
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
}

static const struct perf_test *find_test(const struct perf *perf,
                                         const char *name)
{
    const struct perf_test *test = perf_tests;

    while (test->name != NULL && strcmp(test->name, name) != 0) {
        test++;
    }
    if (test->name == NULL) {
        refuse(perf, "there is no test '%s'; try --help.", name);
    }
    return test;
}

/* Reads one option; returns how many words it took. */
static int read_option(struct perf *perf, char **words, struct options *options)
{
    if (strcmp(words[0], "--json") == 0) {
        options->json = true;
    } else if (strcmp(words[0], "--no-check") == 0) {
        options->check = false;
    } else if (strcmp(words[0], "--sizes") == 0) {
        if (words[1] == NULL) {
            refuse(perf, "--sizes needs a list of sizes.");
        }
        read_sizes(perf, words[1], options);
        return 2;
    } else if (strcmp(words[0], "--rounds") == 0) {
        options->rounds = (int)read_number(perf, words[1], 1, ROUNDS_MAX);
        return 2;
    } else if (strcmp(words[0], "--time") == 0) {
        options->round_s = read_number(perf, words[1], 1e-4, 60);
        return 2;
    } else if (strcmp(words[0], "--compute") == 0) {
        perf->compute_s = read_number(perf, words[1], 0, 1e6) * 1e-6;
        return 2;
    } else if (strcmp(words[0], "-h") == 0 || strcmp(words[0], "--help") == 0) {
        usage(perf);
    } else if (words[0][0] == '-') {
        refuse(perf, "there is no option '%s'; try --help.", words[0]);
    } else if (options->test != NULL) {
        refuse(perf, "'%s' is a second test; one runs at a time.", words[0]);
    } else {
        options->test = find_test(perf, words[0]);
    }
    return 1;
}

static void read_options(struct perf *perf, char **words,
                         struct options *options)
{
    *options = (struct options){.rounds = 5, .round_s = 0.05, .check = true};
    while (*words != NULL) {
        words += read_option(perf, words, options);
    }
    if (options->test == NULL) {
        refuse(perf, "no test is given; try --help.");
    }
    if (perf->ranks < options->test->ranks_min) {
        refuse(perf, "%s needs at least %d ranks, not %d.", options->test->name,
               options->test->ranks_min, perf->ranks);
    }
    if (options->size_count == 0) {
        for (int size = 1; size <= options->test->bytes_max; size *= 4) {
            options->sizes[options->size_count++] = size;
        }
    }
}

/* --------------------------------------------------------------- computing */

static double steps(double x, long count)
{
    for (long i = 0; i < count; i++) {
        x = x * 0.999999 + 1e-7;
    }
    return x;
}

void perf_compute(const struct perf *perf, double seconds)
{
    volatile double result;

    result = steps(1.0, (long)(seconds * perf->spin_rate));
    (void)result;
}

/* Best of some tries: what takes longer was disturbed. */
static double measure_spin_rate(void)
{
    const long count = 200000;
    double best = 0;

    for (int i = 0; i < 10; i++) {
        volatile double result;
        double start = MPI_Wtime();
        double rate;

        result = steps(1.0, count);
        (void)result;
        rate = (double)count / (MPI_Wtime() - start + 1e-9);
        best = rate > best ? rate : best;
    }
    return best;
}

/* ---------------------------------------------------------------- checking */

/* What byte i of the message in a slot of a rank's send buffer holds. */
static char pattern(const struct perf *perf, int rank, int i)
{
    return (char)(rank * 101 + perf->bytes * 7 + i * 31 + i / 256);
}

static void fill(struct perf *perf)
{
    for (int slot = 0; slot < PERF_WINDOW; slot++) {
        char *message = perf->out + (size_t)slot * (size_t)perf->bytes;

        for (int i = 0; i < perf->bytes; i++) {
            message[i] = pattern(perf, perf->rank, i);
        }
    }
    memset(perf->in, 0x55, (size_t)PERF_WINDOW * (size_t)perf->bytes);
}

/* Runs once on fresh buffers and counts the bytes that are not as sent. */
static void check(struct perf *perf, const struct perf_test *test, int mode)
{
    int source[PERF_WINDOW] = {0};
    int slots;
    long long wrong = 0;
    long long all = 0;

    fill(perf);
    test->run(perf, mode, 1);
    slots = test->sources(perf, mode, source);
    for (int slot = 0; slot < slots; slot++) {
        const char *message = perf->in + (size_t)slot * (size_t)perf->bytes;

        for (int i = 0; i < perf->bytes; i++) {
            wrong += message[i] != pattern(perf, source[slot], i);
        }
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (all > 0) {
        refuse(perf, "%s with %d bytes: %lld bytes arrived wrong.", test->name,
               perf->bytes, all);
    }
}

/* --------------------------------------------------------------- measuring */

/* Seconds of the slowest rank, on all ranks. */
static double run(struct perf *perf, const struct perf_test *test, int mode,
                  int iterations)
{
    double mine = test->run(perf, mode, iterations);
    double slowest = 0;

    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* How many iterations last about a round. */
static int calibrate(struct perf *perf, const struct perf_test *test, int mode,
                     double round_s)
{
    int iterations = 1;

    for (;;) {
        double start = MPI_Wtime();
        double seconds;

        run(perf, test, mode, iterations);
        seconds = MPI_Wtime() - start;
        MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (seconds >= round_s / 4 || iterations >= 1 << 24) {
            double scaled = iterations * round_s / (seconds + 1e-9);

            return scaled < 1 ? 1 : scaled > 1 << 26 ? 1 << 26 : (int)scaled;
        }
        iterations *= 4;
    }
}

static int compare_double(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

/* ---------------------------------------------------------------- printing */

static void print_json_text(const char *text)
{
    putchar('"');
    for (; *text != '\0' && *text != '\n'; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        if ((unsigned char)*text >= ' ') {
            putchar(*text);
        }
    }
    putchar('"');
}

static void print_json_settings(void)
{
    const char *comma = "";

    for (char **entry = environ; *entry != NULL; entry++) {
        char name[64];
        size_t length = strcspn(*entry, "=");

        if (strncmp(*entry, "AM_", 3) != 0 || length >= sizeof(name)) {
            continue;
        }
        memcpy(name, *entry, length);
        name[length] = '\0';
        fputs(comma, stdout);
        print_json_text(name);
        fputs(": ", stdout);
        print_json_text(*entry + length + ((*entry)[length] == '='));
        comma = ", ";
    }
}

static void print_json(const struct perf *perf, const struct options *options,
                       const struct perf_variant *variant, const double *value)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(library, &length);
    printf("{\"test\": \"%s\", \"metric\": \"%s\", \"bytes\": %d, "
           "\"value\": %.9g, \"unit\": \"%s\", \"low\": %.9g, \"high\": %.9g, "
           "\"rounds\": %d, \"ranks\": %d, \"library\": ",
           options->test->name, variant->metric, perf->bytes,
           value[options->rounds / 2], variant->unit, value[0],
           value[options->rounds - 1], options->rounds, perf->ranks);
    print_json_text(library);
    fputs(", \"settings\": {", stdout);
    print_json_settings();
    fputs("}}\n", stdout);
}

/* Text has the units that OSU users know. */
static const char *text_unit(const char *unit)
{
    if (strcmp(unit, "ns") == 0) {
        return "us";
    }
    if (strcmp(unit, "B/s") == 0) {
        return "MB/s";
    }
    return unit;
}

static double text_value(const char *unit, double value)
{
    if (strcmp(unit, "ns") == 0) {
        return value * 1e-3;
    }
    if (strcmp(unit, "B/s") == 0) {
        return value * 1e-6;
    }
    return value;
}

static void print_title(const struct perf *perf, const struct options *options,
                        const struct perf_variant *variant)
{
    char title[96];

    snprintf(title, sizeof(title), "%s %s (%s)", options->test->name,
             variant->metric, text_unit(variant->unit));
    printf("# mpi_perf: %s, %d ranks\n# %-10s %28s\n", options->test->what,
           perf->ranks, "Size", title);
}

/* -------------------------------------------------------------------- main */

static void measure(struct perf *perf, const struct options *options,
                    const struct perf_variant *variant)
{
    double value[ROUNDS_MAX];
    int iterations;

    if (options->check) {
        check(perf, options->test, variant->mode);
    }
    iterations =
            calibrate(perf, options->test, variant->mode, options->round_s);
    for (int i = 0; i < options->rounds; i++) {
        double seconds = run(perf, options->test, variant->mode, iterations);

        value[i] =
                options->test->value(perf, variant->mode, seconds / iterations);
    }
    qsort(value, (size_t)options->rounds, sizeof(value[0]), compare_double);
    if (perf->rank != 0) {
        return;
    }
    if (options->json) {
        print_json(perf, options, variant, value);
    } else {
        printf("%-12d %28.3f\n", perf->bytes,
               text_value(variant->unit, value[options->rounds / 2]));
    }
    fflush(stdout);
}

static void open_buffers(struct perf *perf, const struct options *options)
{
    size_t largest = 1;

    for (int i = 0; i < options->size_count; i++) {
        size_t size = (size_t)options->sizes[i];

        largest = size > largest ? size : largest;
    }
    perf->out = malloc(largest * PERF_WINDOW);
    perf->in = malloc(largest * PERF_WINDOW);
    if (perf->out == NULL || perf->in == NULL) {
        fprintf(stderr, "mpi_perf: no memory for %zu bytes.\n",
                2 * largest * PERF_WINDOW);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    struct perf perf = {0};
    struct options options;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &perf.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &perf.ranks);
    read_options(&perf, argv + 1, &options);
    open_buffers(&perf, &options);
    perf.spin_rate = measure_spin_rate();
    for (int v = 0; v < PERF_VARIANTS; v++) {
        const struct perf_variant *variant = &options.test->variant[v];

        if (variant->metric == NULL) {
            break;
        }
        if (perf.rank == 0 && !options.json) {
            print_title(&perf, &options, variant);
        }
        for (int i = 0; i < options.size_count; i++) {
            perf.bytes = options.sizes[i];
            measure(&perf, &options, variant);
        }
    }
    free(perf.out);
    free(perf.in);
    MPI_Finalize();
    return 0;
}
