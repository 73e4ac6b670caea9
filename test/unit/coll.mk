# test/unit: the tests of collectives
if HAVE_CMOCKA
coll_trial = test/support/coll_trial.c test/support/coll_trial.h $(msg_world)
coll_tests = test/unit/coll_algorithm_test test/unit/coll_flow_test \
    test/unit/coll_follow_test \
    test/unit/coll_nodes_test test/unit/coll_once_test test/unit/coll_turns_test \
    test/unit/coll_numbers_test test/unit/coll_reads_test \
    test/unit/coll_select_test \
    test/unit/coll_shared_test test/unit/coll_threads_test \
    test/unit/shm_spare_test \
    test/unit/coll_topo_test test/unit/coll_vector_test \
    test/unit/coll_wrong_test
check_PROGRAMS += $(coll_tests)
TESTS += $(coll_tests)
test_unit_coll_algorithm_test_SOURCES = test/unit/coll_algorithm_test.c \
    $(coll_trial)
test_unit_coll_algorithm_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_flow_test_SOURCES = test/unit/coll_flow_test.c $(coll_trial)
test_unit_coll_flow_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_follow_test_SOURCES = test/unit/coll_follow_test.c \
    $(coll_trial)
test_unit_coll_follow_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_nodes_test_SOURCES = test/unit/coll_nodes_test.c \
    $(coll_trial)
test_unit_coll_nodes_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_numbers_test_SOURCES = test/unit/coll_numbers_test.c \
    $(coll_trial)
test_unit_coll_numbers_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_once_test_SOURCES = test/unit/coll_once_test.c $(coll_trial)
test_unit_coll_once_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_turns_test_SOURCES = test/unit/coll_turns_test.c $(coll_trial)
test_unit_coll_turns_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_reads_test_SOURCES = test/unit/coll_reads_test.c \
    $(coll_trial)
test_unit_coll_reads_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_spare_test_SOURCES = test/unit/shm_spare_test.c $(coll_trial)
test_unit_shm_spare_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_select_test_SOURCES = test/unit/coll_select_test.c
test_unit_coll_select_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_shared_test_SOURCES = test/unit/coll_shared_test.c \
    $(coll_trial)
test_unit_coll_shared_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_threads_test_SOURCES = test/unit/coll_threads_test.c \
    $(coll_trial)
test_unit_coll_threads_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_topo_test_SOURCES = test/unit/coll_topo_test.c
test_unit_coll_topo_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_vector_test_SOURCES = test/unit/coll_vector_test.c \
    $(coll_trial)
test_unit_coll_vector_test_CFLAGS = $(TEST_CFLAGS)
test_unit_coll_wrong_test_SOURCES = test/unit/coll_wrong_test.c $(coll_trial)
test_unit_coll_wrong_test_CFLAGS = $(TEST_CFLAGS)
endif
