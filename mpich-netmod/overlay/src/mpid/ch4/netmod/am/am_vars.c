/*
 * libam's variables as MPI_T control variables, its counters as performance
 * variables.  libam's own table is the source of both: a control variable that
 * is set is passed to am_open as the option of that name and libam parses it;
 * the block below only makes the names known to MPI_T before MPI_Init, and a
 * test compares it with the table (am_info -c).
 *
 * Between the BEGIN and END marks the text comes from scripts/gen-cvars.
 */
#include <mpidimpl.h>
#include "am_impl.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories :
    - name : CH4_AM
      description : Variables of libam, the transport of the am netmod

cvars:
=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static const struct {
    const char *name;
    const char **value;
} variables[] = {
    /* BEGIN TABLE */
    /* END TABLE */
    {NULL, NULL}
};

int MPIDI_AM_options(struct am_option *options, int max)
{
    int n = 0;

    for (int i = 0; variables[i].name != NULL && n < max; i++) {
        if (*variables[i].value != NULL && (*variables[i].value)[0] != '\0') {
            options[n].name = variables[i].name;
            options[n].value = *variables[i].value;
            n++;
        }
    }
    return n;
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

void MPIDI_AM_summary(void)
{
    static const char *const parts[] = { "devices", "protocols" };
    const size_t bytes = 16384;
    char *text = MPL_malloc(bytes, MPL_MEM_OTHER);

    printf("==== am netmod ====\n");
    printf("libam %s, contexts %d\n", AM_VERSION_STRING, MPIDI_global.n_vcis);
    for (size_t i = 0; text != NULL && i < sizeof(parts) / sizeof(parts[0]); i++) {
        text[0] = '\0';
        am_describe(MPIDI_AM_global.ctx[0], parts[i], text, bytes);
        printf("%s\n", text);
    }
    printf("===================\n");
    MPL_free(text);
}
