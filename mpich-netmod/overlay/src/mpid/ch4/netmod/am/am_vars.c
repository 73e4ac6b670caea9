/*
 * libam's variables as MPI_T control variables, its counters as performance
 * variables.  libam's own table is the source of both: a control variable that
 * is set is passed to am_open as the option of that name and libam parses it.
 * Their list is am_cvars.c.
 */
#include <mpidimpl.h>
#include "am_impl.h"

/*
 * MPI_T's text of a control variable, which programs read and write; empty at
 * first.  For strings MPICH keeps it apart from the variable, which has the
 * value from the environment.
 */
char *MPIDI_AM_cvar_text(const char *cvar_name, int *bytes_max)
{
    name2index_hash_t *entry;
    cvar_table_entry_t *cvar;

    HASH_FIND_STR(cvar_hash, cvar_name, entry);
    if (entry == NULL) {
        return NULL;
    }
    cvar = (cvar_table_entry_t *) utarray_eltptr(cvar_table, entry->idx);
    *bytes_max = cvar->count;
    return cvar->addr;
}

/* Of a variable of libam, by its own name. */
static char *mpit_text(const char *name, int *bytes_max)
{
    char cvar_name[128];

    snprintf(cvar_name, sizeof(cvar_name), "MPIR_CVAR_CH4_%s", name);
    return MPIDI_AM_cvar_text(cvar_name, bytes_max);
}

/* What is set: by the program through MPI_T, else by the environment. */
int MPIDI_AM_options(struct am_option *options, int max)
{
    int n = 0, bytes_max;

    for (MPIDI_AM_cvar_t * cvar = MPIDI_AM_cvars; cvar->name != NULL && n < max; cvar++) {
        const char *value = mpit_text(cvar->name, &bytes_max);

        if (value == NULL || value[0] == '\0' ||
            (cvar->shown != NULL && strcmp(value, cvar->shown) == 0)) {
            value = *cvar->value;
        }
        if (value != NULL && value[0] != '\0') {
            options[n].name = cvar->name;
            options[n].value = value;
            n++;
        }
    }
    return MPIDI_AM_algorithm_options(options, n, max);
}

double MPIDI_AM_connect_timeout(void)
{
    struct am_option options[MPIDI_AM_OPTIONS_MAX];
    int n = MPIDI_AM_options(options, MPIDI_AM_OPTIONS_MAX);

    return (double) am_connect_timeout_ms(options, (uint32_t) n);
}

size_t MPIDI_AM_variable_bytes(const char *name)
{
    struct am_variable_info info;
    char text[1024];
    char *end;

    for (uint32_t i = 0;
         am_variable(MPIDI_AM_global.ctx[0], i, &info, text, sizeof(text)) == AM_OK; i++) {
        if (strcmp(info.name, name) == 0) {
            size_t bytes = strtoull(text, &end, 10);

            return end == text ? SIZE_MAX :     /* "max" */
                *end == 'k' ? bytes << 10 : *end == 'm' ? bytes << 20 :
                *end == 'g' ? bytes << 30 : bytes;
        }
    }
    return 0;
}

static void variable_show(const struct am_variable_info *info)
{
    int bytes_max;
    char *text = mpit_text(info->name, &bytes_max);

    for (MPIDI_AM_cvar_t * cvar = MPIDI_AM_cvars; cvar->name != NULL && text != NULL; cvar++) {
        if (strcmp(cvar->name, info->name) == 0) {
            MPL_strncpy(text, info->value, (size_t) bytes_max);
            cvar->shown = MPL_strdup(text);
        }
    }
}

/* From now on MPI_T tells the values that are in force. */
void MPIDI_AM_variables_show(void)
{
    struct am_variable_info info;
    char value[1024];

    for (uint32_t i = 0;
         am_variable(MPIDI_AM_global.ctx[0], i, &info, value, sizeof(value)) == AM_OK; i++) {
        variable_show(&info);
    }
}

/* Another MPI_Init looks at the environment again. */
void MPIDI_AM_variables_hide(void)
{
    for (MPIDI_AM_cvar_t * cvar = MPIDI_AM_cvars; cvar->name != NULL; cvar++) {
        int bytes_max;
        char *text = mpit_text(cvar->name, &bytes_max);

        if (text != NULL && cvar->shown != NULL && strcmp(text, cvar->shown) == 0) {
            text[0] = '\0';
        }
        MPL_free(cvar->shown);
        cvar->shown = NULL;
    }
}

static void counter_get(void *addr, void *obj_handle, int count, void *buf)
{
    unsigned long long sum = 0;
    struct am_counter_info info;

    for (int i = 0; i < MPIDI_AM_global.n_ctx; i++) {
        if (am_counter(MPIDI_AM_global.ctx[i], (uint32_t) (uintptr_t) addr, &info) == AM_OK) {
            sum += info.value;
        }
    }
    *(unsigned long long *) buf = sum;
}

void MPIDI_AM_counters_register(void)
{
    struct am_counter_info info;

    for (uint32_t i = 0; am_counter(MPIDI_AM_global.ctx[0], i, &info) == AM_OK; i++) {
        /* the name must stay valid for MPI_T's hash: libam's is static */
        MPIR_T_PVAR_REGISTER_impl(MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, info.name,
                                  (void *) (uintptr_t) i, 1, MPI_T_ENUM_NULL,
                                  MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT,
                                  MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS,
                                  counter_get, NULL, "CH4_AM", info.help);
    }
}

/* What decides the protocol of a message. */
static void thresholds_print(void)
{
    static const char *const names[] = { "AM_PROTO", "AM_EAGER_MAX", "AM_BUFFERED_MAX",
        "AM_PREFIX_MAX", "AM_PREFIX_BYTES", "AM_RNDV", "AM_BUFFERING", "AM_UNEXP_MAX"
    };
    struct am_variable_info info;
    char value[1024];

    for (uint32_t i = 0;
         am_variable(MPIDI_AM_global.ctx[0], i, &info, value, sizeof(value)) == AM_OK; i++) {
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
            if (strcmp(info.name, names[n]) == 0) {
                printf("%s %s\n", info.name, info.value);
            }
        }
    }
}

void MPIDI_AM_summary(void)
{
    static const char *const parts[] = { "devices", "protocols" };
    const size_t bytes = 16384;
    char *text = MPL_malloc(bytes, MPL_MEM_OTHER);

    printf("==== am netmod ====\n");
    printf("libam %s, contexts %d\n", am_version(), MPIDI_AM_VCIS);
    thresholds_print();
    for (size_t i = 0; text != NULL && i < sizeof(parts) / sizeof(parts[0]); i++) {
        text[0] = '\0';
        am_describe(MPIDI_AM_global.ctx[0], parts[i], text, bytes);
        printf("%s\n", text);
    }
    printf("===================\n");
    MPL_free(text);
}
