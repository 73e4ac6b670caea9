/*
 * Configuration: where a value comes from, every type at its extremes, the
 * sentences of errors, and printing back.  Misspelt names: base_config_name_test.
 */
#include "base/config.h"

#include "base/prng.h"
#include "support/cm.h"
#include "support/seed.h"

#include <stdlib.h>
#include <string.h>

struct values {
    size_t bytes;
    uint64_t count;
    int choice;
    int flag;
    char text[AM_CONFIG_TEXT_BYTES];
    char ratio[AM_CONFIG_TEXT_BYTES];
    char secret[AM_CONFIG_TEXT_BYTES];
};

static const struct am_config_row rows[] = {
        {.name = "AM_T_BYTES",
         .def = "8k",
         .type = AM_CONFIG_BYTES,
         .unit = "bytes",
         .offset = offsetof(struct values, bytes)},
        {.name = "AM_T_COUNT",
         .def = "100",
         .type = AM_CONFIG_COUNT,
         .offset = offsetof(struct values, count)},
        {.name = "AM_T_CHOICE",
         .def = "auto",
         .type = AM_CONFIG_CHOICE,
         .choices = "auto|spin|yield",
         .offset = offsetof(struct values, choice)},
        {.name = "AM_T_FLAG",
         .def = "no",
         .type = AM_CONFIG_BOOL,
         .offset = offsetof(struct values, flag)},
        {.name = "AM_T_TEXT",
         .def = "",
         .type = AM_CONFIG_TEXT,
         .offset = offsetof(struct values, text)},
        {.name = "AM_T_RATIO",
         .def = "0",
         .type = AM_CONFIG_TEXT,
         .offset = offsetof(struct values, ratio),
         .check = am_ratio_check},
        {.name = "AM_T_SECRET",
         .def = "",
         .type = AM_CONFIG_SECRET,
         .offset = offsetof(struct values, secret)},
};

enum {
    BYTES,
    COUNT,
    CHOICE,
    FLAG,
    TEXT,
    RATIO,
    SECRET,
    ROWS
};

static const struct am_config_table table = {rows, ROWS};

static struct values values;
static char error[512];

/* Load with one option; the others have their defaults. */
static am_status_t load(const char *name, const char *value)
{
    struct am_option option = {name, value};

    memset(&values, 0x5a, sizeof(values));
    error[0] = '\0';
    return am_config_load(&table, &values, &option, name != NULL ? 1 : 0, error,
                          sizeof(error));
}

static void assert_bad(int row, const char *value, const char *sentence)
{
    assert_int_equal(load(rows[row].name, value), AM_ERR_CONFIG);
    assert_string_equal(error, sentence);
}

static void test_sources(void **state)
{
    struct am_option options[] = {{"AM_T_COUNT", "1"}, {"AM_T_COUNT", "2"}};

    assert_int_equal(load(NULL, NULL), AM_OK);
    assert_int_equal(values.bytes, 8192);
    assert_int_equal(values.count, 100);
    assert_int_equal(values.choice, 0);
    assert_int_equal(values.flag, 0);
    assert_string_equal(values.text, "");
    setenv("AM_T_COUNT", "7", 1);
    assert_int_equal(load(NULL, NULL), AM_OK);
    assert_int_equal(values.count, 7);
    assert_int_equal(load("AM_T_COUNT", "9"), AM_OK); /* the program wins */
    assert_int_equal(values.count, 9);
    assert_int_equal(
            am_config_load(&table, &values, options, 2, error, sizeof(error)),
            AM_OK);
    assert_int_equal(values.count, 2); /* the last one */
    unsetenv("AM_T_COUNT");
    assert_null(am_config_getenv("AM_T_COUNT"));
    setenv("PMI_RANK", "3", 1);
    assert_string_equal(am_config_getenv("PMI_RANK"), "3");
    unsetenv("PMI_RANK");
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
            {"0", 0},
            {"0k", 0},
            {"0g", 0},
            {"00012", 12},
            {"1", 1},
            {"1k", 1024},
            {"1K", 1024},
            {"3m", 3 * 1048576},
            {"2G", UINT64_C(2) << 30},
            {"max", UINT64_MAX},
            {"MAX", UINT64_MAX},
            {"18446744073709551615", UINT64_MAX},
            {"18014398509481983k", UINT64_MAX - 1023},
            {"17179869183g", (UINT64_C(17179869183)) << 30},
    };

    static const char *const bad[] = {"",
                                      " ",
                                      "k",
                                      "-1",
                                      "+1",
                                      "1.5k",
                                      "0x10",
                                      "1kk",
                                      "1kb",
                                      "1t",
                                      " 1",
                                      "1 ",
                                      "1 k",
                                      "maxx",
                                      "ma",
                                      "max1",
                                      "18446744073709551616",
                                      "18014398509481984k",
                                      "17592186044416m",
                                      "17179869184g",
                                      "99999999999999999999999999",
                                      "1\n",
                                      "k1",
                                      "--1"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(load("AM_T_BYTES", good[i].text), AM_OK);
        assert_true(values.bytes == good[i].value);
        assert_int_equal(load("AM_T_COUNT", good[i].text), AM_OK);
        assert_true(values.count == good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t bytes = 77;

        assert_int_equal(load("AM_T_BYTES", bad[i]), AM_ERR_CONFIG);
        assert_int_equal(load("AM_T_COUNT", bad[i]), AM_ERR_CONFIG);
        assert_int_equal(am_config_parse_bytes(bad[i], &bytes), AM_ERR_CONFIG);
        assert_int_equal(bytes, 77); /* untouched */
    }
}

static void test_thousandths(void **state)
{
    static const char *const good[] = {"0.001", ".25", "12.5", "1000.000"};
    static const uint64_t wanted[] = {1, 250, 12500, 1000000};
    static const char *const bad[] = {"",   "0.000", "1.2345",   "1e3",
                                      "-1", " 1",    "1000.001", "1.2.3"};
    uint64_t value = 0;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(am_config_parse_thousandths(good[i], 1000000, &value),
                         AM_OK);
        assert_int_equal(value, wanted[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(am_config_parse_thousandths(bad[i], 1000000, &value),
                         AM_ERR_CONFIG);
    }
}

static void test_choices_and_flags(void **state)
{
    static const char *const yes[] = {"1", "y", "yes", "on", "true", "YES"};
    static const char *const no[] = {"0", "n", "no", "off", "false", "False"};

    assert_int_equal(load("AM_T_CHOICE", "auto"), AM_OK);
    assert_int_equal(values.choice, 0);
    assert_int_equal(load("AM_T_CHOICE", "Spin"), AM_OK);
    assert_int_equal(values.choice, 1);
    assert_int_equal(load("AM_T_CHOICE", "yield"), AM_OK);
    assert_int_equal(values.choice, 2);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(load("AM_T_FLAG", yes[i]), AM_OK);
        assert_int_equal(values.flag, 1);
        assert_int_equal(load("AM_T_FLAG", no[i]), AM_OK);
        assert_int_equal(values.flag, 0);
    }
    assert_int_equal(load("AM_T_CHOICE", ""), AM_ERR_CONFIG);
    assert_int_equal(load("AM_T_CHOICE", "auto|spin"), AM_ERR_CONFIG);
    assert_int_equal(load("AM_T_CHOICE", "yiel"), AM_ERR_CONFIG);
    assert_int_equal(load("AM_T_CHOICE", "yields"), AM_ERR_CONFIG);
    assert_int_equal(load("AM_T_FLAG", "2"), AM_ERR_CONFIG);
    assert_int_equal(load("AM_T_FLAG", ""), AM_ERR_CONFIG);
}

static void test_text(void **state)
{
    char longest[AM_CONFIG_TEXT_BYTES + 1];

    memset(longest, 'x', sizeof(longest));
    longest[AM_CONFIG_TEXT_BYTES - 1] = '\0';
    assert_int_equal(load("AM_T_TEXT", longest), AM_OK);
    assert_string_equal(values.text, longest);
    longest[AM_CONFIG_TEXT_BYTES - 1] = 'x';
    longest[AM_CONFIG_TEXT_BYTES] = '\0';
    assert_int_equal(load("AM_T_TEXT", longest), AM_ERR_CONFIG);
    assert_non_null(strstr(error, "text of at most 255 bytes"));
    assert_non_null(strstr(error, "...\"")); /* shown cut */
    assert_true(strlen(error) < 140);
    assert_int_equal(load("AM_T_TEXT", ""), AM_OK);
    assert_string_equal(values.text, "");
}

static void test_sentences(void **state)
{
    assert_bad(BYTES, "lots of",
               "AM_T_BYTES is \"lots of\"; accepted: 0 to 18446744073709551615 "
               "bytes, with k, m or g, or max");
    assert_bad(COUNT, "-3",
               "AM_T_COUNT is \"-3\"; accepted: 0 to 18446744073709551615, "
               "with k, m or g, or max");
    assert_bad(CHOICE, "sleep\n\x1b[31m",
               "AM_T_CHOICE is \"sleep??[31m\"; accepted: auto, spin or yield");
    assert_bad(FLAG, "maybe",
               "AM_T_FLAG is \"maybe\"; accepted: 1, y, yes, on, true, 0, n, "
               "no, off or false");
    assert_bad(RATIO, "2",
               "AM_T_RATIO is \"2\"; accepted: a ratio from 0 to 1, such as "
               "0, 1/100 or 1");
    assert_bad(BYTES, "",
               "AM_T_BYTES is \"\"; accepted: 0 to 18446744073709551615 "
               "bytes, with k, m or g, or max");
}

/* A short error buffer is cut, not overrun; a missing one is legal. */
static void test_short_error(void **state)
{
    struct am_option option = {"AM_T_BYTES", "x"};
    char small[8] = "1234567";

    assert_int_equal(am_config_load(&table, &values, &option, 1, small, 5),
                     AM_ERR_CONFIG);
    assert_string_equal(small, "AM_T");
    assert_int_equal(small[5], '6');
    assert_int_equal(am_config_load(&table, &values, &option, 1, NULL, 0),
                     AM_ERR_CONFIG);
}

static void test_print(void **state)
{
    static const struct {
        int row;
        const char *value, *printed;
    } cases[] = {
            {BYTES, "0", "0"},      {BYTES, "1000", "1000"},
            {BYTES, "1024", "1k"},  {BYTES, "1536k", "1536k"},
            {BYTES, "2048m", "2g"}, {BYTES, "4096g", "4096g"},
            {BYTES, "max", "max"},  {COUNT, "1m", "1m"},
            {COUNT, "max", "max"},  {CHOICE, "YIELD", "yield"},
            {FLAG, "on", "yes"},    {FLAG, "0", "no"},
            {TEXT, "a b", "a b"},   {RATIO, "1/3", "1/3"},
    };

    char text[64];
    char again[64];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct am_config_row *row = &rows[cases[i].row];

        assert_int_equal(load(row->name, cases[i].value), AM_OK);
        am_config_print(row, &values, text, sizeof(text));
        assert_string_equal(text, cases[i].printed);
        /* what is printed is accepted, and means the same */
        assert_int_equal(load(row->name, text), AM_OK);
        am_config_print(row, &values, again, sizeof(again));
        assert_string_equal(again, text);
    }
}

/* A secret is read, and printed is only whether there is one; nor is one shown that is
 * not good. */
static void test_secret(void **state)
{
    char longest[AM_CONFIG_TEXT_BYTES + 1];
    char text[64];

    assert_int_equal(load("AM_T_SECRET", "0123abcd"), AM_OK);
    assert_string_equal(values.secret, "0123abcd");
    am_config_print(&rows[SECRET], &values, text, sizeof(text));
    assert_string_equal(text, "(set)");
    assert_int_equal(load("AM_T_SECRET", ""), AM_OK);
    am_config_print(&rows[SECRET], &values, text, sizeof(text));
    assert_string_equal(text, "");
    memset(longest, '7', sizeof(longest));
    longest[AM_CONFIG_TEXT_BYTES] = '\0';
    assert_bad(SECRET, longest,
               "AM_T_SECRET is \"(hidden)\"; accepted: text of at most 255 "
               "bytes");
}

static void test_random_round_trip(void **state)
{
    struct am_prng prng = test_prng("base_config_test");
    char text[64];

    for (int i = 0; i < 20000; i++) {
        uint64_t value = am_prng_next(&prng) >> am_prng_below(&prng, 64);

        if (am_prng_below(&prng, 2) == 0) {
            value <<= am_prng_below(&prng, 40);
        }
        values.count = value;
        am_config_print(&rows[COUNT], &values, text, sizeof(text));
        assert_int_equal(load("AM_T_COUNT", text), AM_OK);
        assert_true(values.count == value);
    }
}

/* Bytes of any kind as a value: an answer, and never a broken sentence. */
static void test_random_bytes(void **state)
{
    struct am_prng prng = test_prng("base_config_test");
    char text[300];

    for (int i = 0; i < 20000; i++) {
        size_t length = am_prng_below(&prng, sizeof(text));
        int row = (int)am_prng_below(&prng, ROWS);

        for (size_t j = 0; j < length; j++) {
            static const char likely[] = "0123456789kmgmax|/-";

            text[j] = am_prng_below(&prng, 2) == 0
                              ? likely[am_prng_below(&prng, sizeof(likely) - 1)]
                              : (char)am_prng_between(&prng, 1, 255);
        }
        text[length] = '\0';
        if (load(rows[row].name, text) != AM_OK) {
            assert_memory_equal(error, rows[row].name, strlen(rows[row].name));
            assert_non_null(strstr(error, "; accepted: "));
            for (const char *at = error; *at != '\0'; at++) {
                assert_in_range(*at, 0x20, 0x7e);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sources),
            cmocka_unit_test(test_numbers),
            cmocka_unit_test(test_thousandths),
            cmocka_unit_test(test_choices_and_flags),
            cmocka_unit_test(test_text),
            cmocka_unit_test(test_sentences),
            cmocka_unit_test(test_short_error),
            cmocka_unit_test(test_print),
            cmocka_unit_test(test_secret),
            cmocka_unit_test(test_random_round_trip),
            cmocka_unit_test(test_random_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
