/*
 * Machine files: numbers with units, and one clear sentence for each mistake.
 */
#include "support/cm.h"

#include "nicsim_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_units(void **state)
{
    uint64_t v;

    (void)state;
    assert_null(ns_unit_parse("1.5 us", NS_UNIT_TIME, &v));
    assert_int_equal(v, 1500000);
    assert_null(ns_unit_parse("40 MB/s", NS_UNIT_RATE, &v));
    assert_int_equal(v, 40000000);
    assert_null(ns_unit_parse("1.28 Gb/s", NS_UNIT_RATE, &v));
    assert_int_equal(v, 160000000);
    assert_null(ns_unit_parse("4KiB", NS_UNIT_BYTES, &v));
    assert_int_equal(v, 4096);
    assert_null(ns_unit_parse("66 MHz", NS_UNIT_FREQUENCY, &v));
    assert_int_equal(v, 15152);
    assert_non_null(ns_unit_parse("66", NS_UNIT_FREQUENCY, &v));
    assert_non_null(ns_unit_parse("us", NS_UNIT_TIME, &v));
    assert_non_null(ns_unit_parse("-1 us", NS_UNIT_TIME, &v));
    assert_non_null(ns_unit_parse("1.0.0 us", NS_UNIT_TIME, &v));
    assert_non_null(ns_unit_parse("1 MB/s", NS_UNIT_TIME, &v));
    assert_non_null(ns_unit_parse("0.0001 ns", NS_UNIT_TIME, &v));
    assert_null(ns_unit_parse("1/100", NS_UNIT_RATIO, &v));
    assert_int_equal(v, UINT64_C(1) << 32 | 100);
    assert_null(ns_unit_parse("0", NS_UNIT_RATIO, &v));
    assert_int_equal(v, 1);
    assert_non_null(ns_unit_parse("2", NS_UNIT_RATIO, &v));
    assert_non_null(ns_unit_parse("1/0", NS_UNIT_RATIO, &v));
    assert_non_null(ns_unit_parse("3/2", NS_UNIT_RATIO, &v));
    assert_non_null(ns_unit_parse("0.5", NS_UNIT_RATIO, &v));
    assert_non_null(ns_unit_parse("1/2 us", NS_UNIT_RATIO, &v));
    assert_non_null(ns_unit_parse("0 MHz", NS_UNIT_FREQUENCY, &v));
    assert_string_equal(ns_unit_parse("9999999999999999 us", NS_UNIT_TIME, &v),
                        "its number has more than 15 digits");
    assert_string_equal(
            ns_unit_parse("99999999999999999999 entries", NS_UNIT_COUNT, &v),
            "its number has more than 15 digits");
    assert_string_equal(ns_unit_parse("entries", NS_UNIT_COUNT, &v),
                        "it does not begin with a number");
}

static void test_builtin(void **state)
{
    char error[512] = "";
    uint32_t count = 0;

    (void)state;
    for (; ns_machine_name(count) != NULL; count++) {
        struct ns_machine *machine = ns_machine_load(
                ns_machine_name(count), NULL, 0, error, sizeof(error));

        assert_string_equal(error, "");
        assert_non_null(machine);
        assert_string_equal(machine->name, ns_machine_name(count));
        for (uint32_t i = 0; i < machine->setting_count; i++) {
            assert_true(strlen(machine->settings[i].source) > 3);
        }
        free(machine);
    }
    assert_true(count >= 2);
}

static void test_set(void **state)
{
    const char *good[] = {"host.pio=2 us", "nic.packet=100 cycles"};
    const char *bad[] = {"host.pio", "host.pi=1 us", "host.pio=1",
                         "host.pio=0 us", "nic.send_fifo=5 entries"};
    char error[512];
    struct ns_machine *machine =
            ns_machine_load("sp-thin", good, 2, error, sizeof(error));

    (void)state;
    assert_non_null(machine);
    assert_int_equal(machine->host.pio_ps, 2000000);
    assert_int_equal(machine->tb2.packet_cycles, 100);
    free(machine);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        error[0] = '\0';
        assert_null(
                ns_machine_load("sp-thin", &bad[i], 1, error, sizeof(error)));
        assert_string_not_equal(error, "");
    }
    (void)ns_machine_load("sp-thin", &bad[1], 1, error, sizeof(error));
    assert_string_equal(error, "--set: unknown key host.pi; the nearest that "
                               "this machine knows is host.pio");
}

/* sp-thin with one line changed, as a file. */
struct edit {
    const char *from, *to; /* `to` replaces what is from `from` to line end */
    const char *expected;  /* in the sentence */
};

static const struct edit edits[] = {
        {"pio = [", "pioo = [\"1 us\", \"fact\", \"none at all\"];",
         "unknown key host.pioo; the nearest that this machine knows is "
         "host.pio"},
        {"pio = [", "pio = [\"1\", \"fact\", \"none at all\"];",
         "host.pio is \"1\": it needs a unit: ps, ns, us or ms"},
        {"pio = [", "pio = [\"1 us\", \"fact\"];",
         "host.pio must be [\"value unit\", \"kind\", \"source\"]"},
        {"pio = [", "pio = [\"1 us\", \"fact\", \"\"];",
         "host.pio has no source"},
        {"pio = [", "pio = [\"1 us\", \"guess\", \"none at all\"];",
         "host.pio: its kind is \"guess\""},
        {"pio = [", "pio = 1;", "host.pio must be"},
        {"pio = [", "", "host.pio is missing"},
        {"pio = [", "pio = [\"0 us\", \"fact\", \"none at all\"];",
         "host.pio is \"0 us\": that is not possible here; it can be 1 ps to "
         "1 ms"},
        {"clock = [", "clock = [\"5000000 MHz\", \"fact\", \"none at all\"];",
         "it can be 1 MHz to 1000000 MHz"},
        {"adapter = ", "adapter = \"tb3\";",
         "adapter is \"tb3\"; there are tb2, lanai"},
        {"machine = ", "machine = \"\";",
         "machine is \"\", and must be a name of 1 to 31 characters"},
        {"machine = ", "machine = \"a-machine-whose-name-is-far-too-long\";",
         "must be a name of 1 to 31 characters"},
        {"network = ", "networks = \"sp\";", "network = \"...\" is missing"},
        {"bus:", "buss:", "unknown key buss.rate"},
        {"pio = [", "pio = [[;", "syntax error"},
        {"cache_line = [", "cache_line = [\"65 B\", \"fact\", \"not so\"];",
         "power of two"},
        {"copy = [",
         "copy = [\"1 MB/s\", \"fact\", \"none\"]; "
         "cache = [\"64 KiB\", \"fact\", \"none at all\"];",
         "host.cache and host.copy_cached go together"},
        {"copy = [",
         "copy = [\"1 MB/s\", \"fact\", \"none\"]; "
         "cache = [\"64 KiB\", \"fact\", \"none\"]; "
         "copy_cached = [\"2 MB/s\", \"fact\", \"none\"]; "
         "cache2 = [\"64 KiB\", \"fact\", \"none\"]; "
         "copy_cached2 = [\"2 MB/s\", \"fact\", \"none\"];",
         "host.cache2 must be larger than host.cache"},
};

static void edit_write(const char *path, const struct edit *edit)
{
    const char *text = ns_machine_text("sp-thin");
    const char *at = strstr(text, edit->from);
    FILE *file = fopen(path, "w");

    assert_non_null(at);
    assert_non_null(file);
    fwrite(text, 1, (size_t)(at - text), file);
    fputs(edit->to, file);
    fputs(strchr(at, '\n'), file);
    assert_int_equal(fclose(file), 0);
}

/* What only the whole machine tells has the line of its setting too. */
static void test_whole(void **state)
{
    static const struct edit wholes[] = {
            {"cache_line = [", "cache_line = [\"65 B\", \"fact\", \"not so\"];",
             "host.cache_line must be a power of two"},
            {"adapter = ", "adapter = \"tb3\";",
             "adapter is \"tb3\"; there are tb2, lanai, bgp, wq"},
            {"network = ", "network = \"torus\";",
             "network is \"torus\"; tb2 has sp"},
    };
    char path[] = "/tmp/sim_machine_testXXXXXX";
    char error[512], expected[512];
    const char *set = "host.cache_line=65 B";
    int fd = mkstemp(path);
    const char *text = ns_machine_text("sp-thin");

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
        int line = 1;

        edit_write(path, &wholes[i]);
        for (const char *at = strstr(text, wholes[i].from); at > text; at--) {
            line += at[-1] == '\n';
        }
        snprintf(expected, sizeof(expected), "%s:%d: %s", path, line,
                 wholes[i].expected);
        assert_null(ns_machine_load(path, NULL, 0, error, sizeof(error)));
        assert_string_equal(error, expected);
    }
    assert_null(ns_machine_load("sp-thin", &set, 1, error, sizeof(error)));
    assert_string_equal(error,
                        "sp-thin: host.cache_line must be a power of two");
    unlink(path);
}

static void test_mistakes(void **state)
{
    char path[] = "/tmp/sim_machine_testXXXXXX";
    char error[512];
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
        edit_write(path, &edits[i]);
        error[0] = '\0';
        assert_null(ns_machine_load(path, NULL, 0, error, sizeof(error)));
        if (strstr(error, edits[i].expected) == NULL) {
            print_error("mistake %zu: %s\n", i, error);
            fail();
        }
        assert_null(strchr(error, '\n'));
    }
    edit_write(path, &edits[0]);
    (void)ns_machine_load(path, NULL, 0, error, sizeof(error));
    assert_non_null(strstr(error, ":")); /* file:line: */
    assert_memory_equal(error, path, strlen(path));
    assert_true(atoi(error + strlen(path) + 1) > 10);
    unlink(path);
    assert_null(ns_machine_load(path, NULL, 0, error, sizeof(error)));
    assert_string_equal(error + strlen(path), ": No such file or directory");
    assert_null(ns_machine_load("/tmp/", NULL, 0, error, sizeof(error)));
    assert_string_equal(error, "/tmp/: it is no file that can be read");
    assert_null(ns_machine_load("sp-fat", NULL, 0, error, sizeof(error)));
    assert_string_equal(error, "sp-fat: there is no such machine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_units), cmocka_unit_test(test_builtin),
            cmocka_unit_test(test_set),   cmocka_unit_test(test_mistakes),
            cmocka_unit_test(test_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
