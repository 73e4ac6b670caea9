/*
 * Configuration: a variable is one row of its module's table.  Values are
 * taken from the program's options, then the environment, then the default
 * text, and parsed into a struct of the module.  The only getenv is config.c.
 */
#ifndef AM_BASE_CONFIG_H
#define AM_BASE_CONFIG_H

#include <am_types.h>

typedef enum {
    AM_CONFIG_BYTES,  /* size_t; k, m, g suffixes (1024); "max" = SIZE_MAX */
    AM_CONFIG_COUNT,  /* uint64_t; the same suffixes (1000-free), "max" */
    AM_CONFIG_CHOICE, /* int: index in `choices` ("auto|spin|yield") */
    AM_CONFIG_BOOL,   /* int: 0/1, y/n, yes/no, on/off, true/false */
    AM_CONFIG_TEXT,   /* char[AM_CONFIG_TEXT_BYTES] */
    AM_CONFIG_SECRET, /* the same; am_config_print says only that it is set */
} am_config_type_t;

#define AM_CONFIG_TEXT_BYTES 256
/* The largest factor of AM_SIM_COMPUTE=measured:F. */
#define AM_SIM_FACTOR_MAX 1000000

struct am_config_row {
    const char *name; /* "AM_EAGER_MAX" */
    const char *def;  /* default as text */
    am_config_type_t type;
    const char *unit;    /* "bytes", "polls", "" */
    const char *help;    /* one sentence */
    size_t offset;       /* of the value in the module's struct */
    const char *choices; /* AM_CONFIG_CHOICE: "a|b|c"; else NULL */
    /* Optional check of the parsed text beyond its type: AM_OK, or
     * AM_ERR_CONFIG with what is accepted written to `accepted`. */
    am_status_t (*check)(const char *text, char *accepted, size_t bytes);
};

struct am_config_table {
    const struct am_config_row *rows;
    uint32_t row_count;
};

/*
 * Fill `values` from the table.  On a bad value returns AM_ERR_CONFIG and
 * writes one sentence naming the variable, its value and what is accepted.
 */
am_status_t am_config_load(const struct am_config_table *table, void *values,
                           const struct am_option *options,
                           uint32_t option_count, char *error,
                           size_t error_bytes);

/*
 * For each AM_* name in the environment and each option that no table knows,
 * call `warn` with one sentence that gives the nearest known name.
 */
void am_config_check_names(const struct am_config_table *const *tables,
                           uint32_t table_count,
                           const struct am_option *options,
                           uint32_t option_count,
                           void (*warn)(void *arg, const char *text),
                           void *arg);

/* The value of a row as text, such as am_info prints ("8k", "auto", "(set)" for
 * a secret). */
void am_config_print(const struct am_config_row *row, const void *values,
                     char *text, size_t text_bytes);

/* Parse "16k", "1m", "max" or a plain number.  AM_ERR_CONFIG if it is not. */
am_status_t am_config_parse_bytes(const char *text, size_t *bytes_p);

/* Parse "12.5", with up to three places, as thousandths: 1 to `max`.  AM_ERR_CONFIG if
 * it is no such number. */
am_status_t am_config_parse_thousandths(const char *text, uint64_t max,
                                        uint64_t *value_p);

/* A variable that is not ours (PMI_FD, PMI_RANK...); NULL when not set. */
const char *am_config_getenv(const char *name);
/* Give such a variable, if it is not set, a value for a library that reads it when it
 * is loaded.  Not beside a getenv of another thread. */
void am_config_setenv(const char *name, const char *value);

#endif
