/*
 * The default context, of a process that no launcher has started: what a handler
 * may not ask of it.
 */
#include "support/cm.h"

#include <am.h>
#include <stdlib.h>

enum {
    H_MEET = AM_HANDLER_USER
};

static void on_meet(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    *(am_status_t *)am_token_arg(token) = am_barrier();
}

/* A handler that waited for the others would keep the answers from them that they
 * wait for. */
static void test_barrier_in_handler(void **state)
{
    am_status_t met = AM_DONE;

    unsetenv("PMI_FD");
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
    assert_int_equal(am_init(), AM_OK);
    assert_int_equal(am_handler_register(am_default(), H_MEET, on_meet, &met,
                                         "meet"),
                     AM_OK);
    assert_int_equal(am_request_1(0, H_MEET, 0), AM_OK);
    while (met == AM_DONE) {
        assert_true(am_poll() >= 0);
    }
    assert_int_equal(met, AM_ERR_HANDLER);
    assert_int_equal(am_barrier(), AM_OK);
    am_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_barrier_in_handler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
