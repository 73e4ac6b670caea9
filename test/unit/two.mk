# test/unit: the suites of am and msg with two devices in one context
if HAVE_CMOCKA
two_devs = test/support/two_devs.c test/support/two_devs.h \
    test/support/pipe_dev.c $(msg_world)
two_sources = test/support/two_main.c $(two_devs)
TWO_CFLAGS = $(TEST_CFLAGS) -Dmain=test_main
two_tests = test/unit/am_devices_test test/unit/am_devices_poll_test \
    test/unit/am_auto_test \
    test/unit/am_request_two \
    test/unit/am_region_two \
    test/unit/am_client_two \
    test/unit/am_client_order_two \
    test/unit/am_close_two \
    test/unit/am_post_two \
    test/unit/am_forged_random_two \
    test/unit/msg_proto_two \
    test/unit/msg_order_two \
    test/unit/msg_flow_two \
    test/unit/msg_probe_two \
    test/unit/msg_choice_two \
    test/unit/msg_cancel_two \
    test/unit/msg_ahead_test
check_PROGRAMS += $(two_tests)
TESTS += $(two_tests)
test_unit_am_auto_test_SOURCES = test/unit/am_auto_test.c \
    test/support/pipe_dev.c
test_unit_am_auto_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_devices_test_SOURCES = test/unit/am_devices_test.c $(two_devs)
test_unit_am_devices_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_devices_poll_test_SOURCES = test/unit/am_devices_poll_test.c \
    $(two_devs)
test_unit_am_devices_poll_test_CFLAGS = $(TEST_CFLAGS)
test_unit_am_request_two_SOURCES = test/unit/am_request_test.c $(two_sources)
test_unit_am_request_two_CFLAGS = $(TWO_CFLAGS)
test_unit_am_region_two_SOURCES = test/unit/am_region_test.c $(two_sources)
test_unit_am_region_two_CFLAGS = $(TWO_CFLAGS)
test_unit_am_client_two_SOURCES = test/unit/am_client_test.c \
    $(client_inbox) $(two_sources)
test_unit_am_client_order_two_SOURCES = test/unit/am_client_order_test.c \
    $(client_inbox) $(two_sources)
test_unit_am_client_order_two_CFLAGS = $(TWO_CFLAGS)
test_unit_am_client_two_CFLAGS = $(TWO_CFLAGS)
test_unit_am_close_two_SOURCES = test/unit/am_close_test.c $(two_sources)
test_unit_am_close_two_CFLAGS = $(TWO_CFLAGS)
test_unit_am_post_two_SOURCES = test/unit/am_post_test.c $(two_sources)
test_unit_am_post_two_CFLAGS = $(TWO_CFLAGS)
test_unit_am_forged_random_two_SOURCES = test/unit/am_forged_random_test.c \
    $(forged_storm) $(two_sources)
test_unit_am_forged_random_two_CFLAGS = $(TWO_CFLAGS)
test_unit_msg_proto_two_SOURCES = test/unit/msg_proto_test.c $(two_sources)
test_unit_msg_proto_two_CFLAGS = $(TWO_CFLAGS)
test_unit_msg_order_two_SOURCES = test/unit/msg_order_test.c $(two_sources)
test_unit_msg_order_two_CFLAGS = $(TWO_CFLAGS)
test_unit_msg_flow_two_SOURCES = test/unit/msg_flow_test.c $(two_sources)
test_unit_msg_flow_two_CFLAGS = $(TWO_CFLAGS)
test_unit_msg_probe_two_SOURCES = test/unit/msg_probe_test.c $(two_sources)
test_unit_msg_probe_two_CFLAGS = $(TWO_CFLAGS)
test_unit_msg_choice_two_SOURCES = test/unit/msg_choice_test.c $(two_sources)
test_unit_msg_choice_two_CFLAGS = $(TWO_CFLAGS)
test_unit_msg_cancel_two_SOURCES = test/unit/msg_cancel_test.c $(two_sources)
test_unit_msg_cancel_two_CFLAGS = $(TWO_CFLAGS)
test_unit_msg_ahead_test_SOURCES = test/unit/msg_ahead_test.c $(two_devs)
test_unit_msg_ahead_test_CFLAGS = $(TEST_CFLAGS)
endif

# the same with udp in the place of the pipe
if HAVE_CMOCKA
if BUILD_UDP
check_PROGRAMS += test/unit/am_wait_two_test
TESTS += test/unit/am_wait_two_test
test_unit_am_wait_two_test_SOURCES = test/unit/am_wait_two_test.c \
    test/support/silent.c test/support/silent.h \
    test/support/process.c test/support/process.h $(two_devs)
test_unit_am_wait_two_test_CFLAGS = $(TEST_CFLAGS) -DTWO_UDP
two_udp_tests = test/net/am_client_two \
    test/net/am_client_order_two \
    test/net/am_post_two \
    test/net/am_forged_random_two \
    test/net/msg_proto_two \
    test/net/msg_order_two
check_PROGRAMS += $(two_udp_tests)
TESTS += test/net/two_suites.sh
test_net_am_client_two_SOURCES = test/unit/am_client_test.c \
    $(client_inbox) $(two_sources)
test_net_am_client_order_two_SOURCES = test/unit/am_client_order_test.c \
    $(client_inbox) $(two_sources)
test_net_am_client_order_two_CFLAGS = $(TWO_CFLAGS) -DTWO_UDP
test_net_am_client_two_CFLAGS = $(TWO_CFLAGS) -DTWO_UDP
test_net_am_post_two_SOURCES = test/unit/am_post_test.c $(two_sources)
test_net_am_post_two_CFLAGS = $(TWO_CFLAGS) -DTWO_UDP
test_net_am_forged_random_two_SOURCES = test/unit/am_forged_random_test.c \
    $(forged_storm) $(two_sources)
test_net_am_forged_random_two_CFLAGS = $(TWO_CFLAGS) -DTWO_UDP
test_net_msg_proto_two_SOURCES = test/unit/msg_proto_test.c $(two_sources)
test_net_msg_proto_two_CFLAGS = $(TWO_CFLAGS) -DTWO_UDP
test_net_msg_order_two_SOURCES = test/unit/msg_order_test.c $(two_sources)
test_net_msg_order_two_CFLAGS = $(TWO_CFLAGS) -DTWO_UDP
endif
endif
EXTRA_DIST += test/net/two_suites.sh

# and with ofi
if HAVE_CMOCKA
if BUILD_OFI
two_ofi_tests = test/net/am_client_two_ofi \
    test/net/am_client_order_two_ofi \
    test/net/am_post_two_ofi \
    test/net/am_forged_random_two_ofi \
    test/net/msg_proto_two_ofi \
    test/net/msg_order_two_ofi
check_PROGRAMS += $(two_ofi_tests)
TESTS += test/net/two_ofi_suites.sh
test_net_am_client_two_ofi_SOURCES = test/unit/am_client_test.c \
    $(client_inbox) $(two_sources)
test_net_am_client_order_two_ofi_SOURCES = test/unit/am_client_order_test.c \
    $(client_inbox) $(two_sources)
test_net_am_client_order_two_ofi_CFLAGS = $(TWO_CFLAGS) -DTWO_OFI
test_net_am_client_two_ofi_CFLAGS = $(TWO_CFLAGS) -DTWO_OFI
test_net_am_post_two_ofi_SOURCES = test/unit/am_post_test.c $(two_sources)
test_net_am_post_two_ofi_CFLAGS = $(TWO_CFLAGS) -DTWO_OFI
test_net_am_forged_random_two_ofi_SOURCES = test/unit/am_forged_random_test.c \
    $(forged_storm) $(two_sources)
test_net_am_forged_random_two_ofi_CFLAGS = $(TWO_CFLAGS) -DTWO_OFI
test_net_msg_proto_two_ofi_SOURCES = test/unit/msg_proto_test.c $(two_sources)
test_net_msg_proto_two_ofi_CFLAGS = $(TWO_CFLAGS) -DTWO_OFI
test_net_msg_order_two_ofi_SOURCES = test/unit/msg_order_test.c $(two_sources)
test_net_msg_order_two_ofi_CFLAGS = $(TWO_CFLAGS) -DTWO_OFI
endif
endif
EXTRA_DIST += test/net/two_ofi_suites.sh
