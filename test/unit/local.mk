# test/unit

if HAVE_CMOCKA
# What a program is linked with that says nothing else: tests.
LDADD = libamtest.la $(CMOCKA_LIBS)
check_PROGRAMS += test/unit/am_pmi_test test/unit/am_pmi_open_test
TESTS += test/unit/am_pmi_test test/unit/am_pmi_open_test
test_unit_am_pmi_test_SOURCES = test/unit/am_pmi_test.c
test_unit_am_pmi_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_am_pmi_open_test_SOURCES = test/unit/am_pmi_open_test.c
test_unit_am_pmi_open_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) \
    -I$(top_srcdir)/test
endif

TEST_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -I$(top_srcdir)/test
noinst_HEADERS += test/support/clock.h test/support/cm.h test/support/pagemap.h \
    test/support/meter.h test/support/seed.h

if HAVE_CMOCKA
base_tests = test/unit/base_barrier_test \
    test/unit/base_binalloc_test \
    test/unit/base_config_test \
    test/unit/base_config_name_test \
    test/unit/base_copy_test \
    test/unit/base_env_test \
    test/unit/base_log_test \
    test/unit/base_pool_test \
    test/unit/base_crc32c_test test/unit/base_prng_test \
    test/unit/base_ring_test \
    test/unit/base_seqwin_test \
    test/unit/base_trace_test \
    test/unit/base_twheel_test
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)
test_unit_base_barrier_test_SOURCES = test/unit/base_barrier_test.c
test_unit_base_barrier_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_binalloc_test_SOURCES = test/unit/base_binalloc_test.c
test_unit_base_binalloc_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_config_test_SOURCES = test/unit/base_config_test.c
test_unit_base_config_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_config_name_test_SOURCES = test/unit/base_config_name_test.c
test_unit_base_config_name_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_copy_test_SOURCES = test/unit/base_copy_test.c
test_unit_base_copy_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_env_test_SOURCES = test/unit/base_env_test.c
test_unit_base_env_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_log_test_SOURCES = test/unit/base_log_test.c
test_unit_base_log_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_pool_test_SOURCES = test/unit/base_pool_test.c
test_unit_base_pool_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_crc32c_test_SOURCES = test/unit/base_crc32c_test.c
test_unit_base_crc32c_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_prng_test_SOURCES = test/unit/base_prng_test.c
test_unit_base_prng_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_ring_test_SOURCES = test/unit/base_ring_test.c
test_unit_base_ring_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_seqwin_test_SOURCES = test/unit/base_seqwin_test.c
test_unit_base_seqwin_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_trace_test_SOURCES = test/unit/base_trace_test.c
test_unit_base_trace_test_CFLAGS = $(TEST_CFLAGS)
test_unit_base_twheel_test_SOURCES = test/unit/base_twheel_test.c
test_unit_base_twheel_test_CFLAGS = $(TEST_CFLAGS)
endif

# chan, fault
noinst_HEADERS += test/support/dev_open.h test/support/window_pair.h
if HAVE_CMOCKA
chan_tests = test/unit/chan_stack_test \
    test/unit/chan_window_cut_test \
    test/unit/chan_window_loss_test \
    test/unit/chan_window_peer_test \
    test/unit/chan_window_random_test \
    test/unit/chan_window_rate_test \
    test/unit/chan_window_rtt_test \
    test/unit/chan_window_early_test \
    test/unit/chan_window_sack_test \
    test/unit/chan_window_sack_forged_test \
    test/unit/chan_window_test \
    test/unit/dev_fault_test \
    test/unit/dev_meter_test test/unit/dev_profile_test \
    test/unit/meter_shared_test \
    test/unit/shm_near_test
check_PROGRAMS += $(chan_tests)
TESTS += $(chan_tests)
test_unit_chan_stack_test_SOURCES = test/unit/chan_stack_test.c \
    test/conform/dev_world.c test/support/pipe_dev.c test/support/dev_open.c
test_unit_chan_stack_test_CFLAGS = $(TEST_CFLAGS)
test_unit_dev_fault_test_SOURCES = test/unit/dev_fault_test.c \
    test/support/pipe_dev.c test/support/dev_open.c
test_unit_dev_fault_test_CFLAGS = $(TEST_CFLAGS)
test_unit_dev_meter_test_SOURCES = test/unit/dev_meter_test.c
test_unit_dev_meter_test_CFLAGS = $(TEST_CFLAGS)
test_unit_meter_shared_test_SOURCES = test/unit/meter_shared_test.c
test_unit_meter_shared_test_CFLAGS = $(TEST_CFLAGS)
test_unit_dev_profile_test_SOURCES = test/unit/dev_profile_test.c
test_unit_dev_profile_test_CFLAGS = $(TEST_CFLAGS)
test_unit_shm_near_test_SOURCES = test/unit/shm_near_test.c
test_unit_shm_near_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_test_SOURCES = test/unit/chan_window_test.c \
    test/support/window_pair.c
test_unit_chan_window_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_cut_test_SOURCES = test/unit/chan_window_cut_test.c \
    test/support/window_pair.c
test_unit_chan_window_cut_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_loss_test_SOURCES = test/unit/chan_window_loss_test.c \
    test/support/window_pair.c
test_unit_chan_window_loss_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_peer_test_SOURCES = test/unit/chan_window_peer_test.c \
    test/support/window_pair.c
test_unit_chan_window_peer_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_rate_test_SOURCES = test/unit/chan_window_rate_test.c \
    test/support/window_pair.c
test_unit_chan_window_rate_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_rtt_test_SOURCES = test/unit/chan_window_rtt_test.c \
    test/support/window_pair.c
test_unit_chan_window_rtt_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_early_test_SOURCES = test/unit/chan_window_early_test.c \
    test/support/window_pair.c
test_unit_chan_window_early_test_CFLAGS = $(TEST_CFLAGS)
window_sack = test/support/window_sack.c test/support/window_sack.h \
    test/support/window_pair.c
test_unit_chan_window_sack_test_SOURCES = test/unit/chan_window_sack_test.c \
    $(window_sack)
test_unit_chan_window_sack_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_sack_forged_test_SOURCES = \
    test/unit/chan_window_sack_forged_test.c $(window_sack)
test_unit_chan_window_sack_forged_test_CFLAGS = $(TEST_CFLAGS)
test_unit_chan_window_random_test_SOURCES = \
    test/unit/chan_window_random_test.c test/support/window_pair.c
test_unit_chan_window_random_test_CFLAGS = $(TEST_CFLAGS)
endif

include test/unit/msg.mk
include test/unit/am.mk
include test/unit/two.mk
include test/unit/coll.mk
