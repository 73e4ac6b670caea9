# test/unit: the tests of msg
if HAVE_CMOCKA
msg_world = test/support/msg_world.c test/support/msg_world.h
msg_tests = test/unit/msg_match_test test/unit/msg_proto_test \
    test/unit/msg_order_test test/unit/msg_flow_test test/unit/msg_dead_test \
    test/unit/msg_choice_test test/unit/msg_forged_test \
    test/unit/msg_lost_test test/unit/msg_cancel_test \
    test/unit/msg_learn_test test/unit/msg_probe_test \
    test/unit/msg_credit_test test/unit/msg_dying_test \
    test/unit/msg_memory_test test/unit/msg_life_test \
    test/unit/msg_trial_test test/unit/msg_offer_test
check_PROGRAMS += $(msg_tests)
TESTS += $(msg_tests)
test_unit_msg_match_test_SOURCES = test/unit/msg_match_test.c
test_unit_msg_match_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_offer_test_SOURCES = test/unit/msg_offer_test.c \
    test/support/forged.c test/support/forged.h $(msg_world)
test_unit_msg_offer_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_trial_test_SOURCES = test/unit/msg_trial_test.c $(msg_world)
test_unit_msg_trial_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_proto_test_SOURCES = test/unit/msg_proto_test.c $(msg_world)
test_unit_msg_proto_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_order_test_SOURCES = test/unit/msg_order_test.c $(msg_world)
test_unit_msg_order_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_flow_test_SOURCES = test/unit/msg_flow_test.c $(msg_world)
test_unit_msg_flow_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_probe_test_SOURCES = test/unit/msg_probe_test.c $(msg_world)
test_unit_msg_probe_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_dead_test_SOURCES = test/unit/msg_dead_test.c $(msg_world)
test_unit_msg_dead_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_dying_test_SOURCES = test/unit/msg_dying_test.c $(msg_world)
test_unit_msg_dying_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_credit_test_SOURCES = test/unit/msg_credit_test.c $(msg_world)
test_unit_msg_credit_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_life_test_SOURCES = test/unit/msg_life_test.c $(msg_world)
test_unit_msg_life_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_memory_test_SOURCES = test/unit/msg_memory_test.c $(msg_world)
test_unit_msg_memory_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_memory_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc \
    -Wl,--wrap=aligned_alloc
test_unit_msg_lost_test_SOURCES = test/unit/msg_lost_test.c $(msg_world) \
    test/support/process.c test/support/process.h
test_unit_msg_lost_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_forged_test_SOURCES = test/unit/msg_forged_test.c $(msg_world)
test_unit_msg_forged_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_cancel_test_SOURCES = test/unit/msg_cancel_test.c $(msg_world)
test_unit_msg_cancel_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_learn_test_SOURCES = test/unit/msg_learn_test.c $(msg_world)
test_unit_msg_learn_test_CFLAGS = $(TEST_CFLAGS)
test_unit_msg_choice_test_SOURCES = test/unit/msg_choice_test.c $(msg_world)
test_unit_msg_choice_test_CFLAGS = $(TEST_CFLAGS)
endif
