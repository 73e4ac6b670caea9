# test/net: devices that leave the process, over loopback and between network
# namespaces.
EXTRA_DIST += test/net/udp_suites.sh test/net/ofi_suites.sh \
    test/net/spaces.sh \
    test/net/spaces_test.sh test/net/mpi_spaces.sh
dev_pair = test/support/dev_pair.c test/support/dev_pair.h \
    test/support/dev_open.c
# what sockets alone reach, to compare with
check_PROGRAMS += test/net/raw
test_net_raw_SOURCES = test/net/raw.c
if BUILD_UDP
check_PROGRAMS += test/net/storm
test_net_storm_SOURCES = test/net/storm.c
test_net_storm_CFLAGS = $(AM_CFLAGS)
test_net_storm_LDADD = libam.la
TESTS += test/net/spaces_test.sh

if HAVE_CMOCKA
check_PROGRAMS += test/unit/udp_hostile_test
TESTS += test/unit/udp_hostile_test
test_unit_udp_hostile_test_SOURCES = test/unit/udp_hostile_test.c \
    test/support/dev_open.c
test_unit_udp_hostile_test_CFLAGS = $(TEST_CFLAGS)

check_PROGRAMS += test/unit/udp_dead_test
TESTS += test/unit/udp_dead_test
test_unit_udp_dead_test_SOURCES = test/unit/udp_dead_test.c $(dev_pair)
test_unit_udp_dead_test_CFLAGS = $(TEST_CFLAGS)

check_PROGRAMS += test/unit/udp_direct_test
TESTS += test/unit/udp_direct_test
test_unit_udp_direct_test_SOURCES = test/unit/udp_direct_test.c \
    test/support/udp_star.c test/support/udp_star.h \
    test/support/dev_open.c
test_unit_udp_direct_test_CFLAGS = $(TEST_CFLAGS)

check_PROGRAMS += test/unit/udp_many_test
TESTS += test/unit/udp_many_test
test_unit_udp_many_test_SOURCES = test/unit/udp_many_test.c \
    test/support/process.c test/support/process.h
test_unit_udp_many_test_CFLAGS = $(TEST_CFLAGS)

TESTS += test/net/udp_suites.sh
endif
endif
if BUILD_OFI
if HAVE_CMOCKA
ofi_tests = test/unit/ofi_dead_test test/unit/ofi_hostile_test \
    test/unit/ofi_wait_test test/unit/ofi_cache_test test/unit/ofi_mem_test \
    test/unit/ofi_open_test test/unit/ofi_nic_test test/unit/ofi_left_test \
    test/unit/ofi_silent_test
check_PROGRAMS += $(ofi_tests)
TESTS += $(ofi_tests) test/net/ofi_suites.sh
test_unit_ofi_dead_test_SOURCES = test/unit/ofi_dead_test.c \
    test/support/process.c test/support/process.h $(msg_world)
test_unit_ofi_dead_test_CFLAGS = $(TEST_CFLAGS)
test_unit_ofi_hostile_test_SOURCES = test/unit/ofi_hostile_test.c $(dev_pair)
test_unit_ofi_hostile_test_CFLAGS = $(TEST_CFLAGS)
test_unit_ofi_wait_test_SOURCES = test/unit/ofi_wait_test.c $(dev_pair)
test_unit_ofi_wait_test_CFLAGS = $(TEST_CFLAGS)
test_unit_ofi_open_test_SOURCES = test/unit/ofi_open_test.c $(dev_pair)
test_unit_ofi_open_test_CFLAGS = $(TEST_CFLAGS)
test_unit_ofi_left_test_SOURCES = test/unit/ofi_left_test.c $(dev_pair)
test_unit_ofi_left_test_CFLAGS = $(TEST_CFLAGS)
test_unit_ofi_silent_test_SOURCES = test/unit/ofi_silent_test.c $(dev_pair)
test_unit_ofi_silent_test_CFLAGS = $(TEST_CFLAGS)
test_unit_ofi_cache_test_SOURCES = test/unit/ofi_cache_test.c
test_unit_ofi_cache_test_CFLAGS = $(TEST_CFLAGS)
test_unit_ofi_nic_test_SOURCES = test/unit/ofi_nic_test.c
test_unit_ofi_nic_test_CFLAGS = $(TEST_CFLAGS)
test_unit_ofi_mem_test_SOURCES = test/unit/ofi_mem_test.c $(dev_pair)
test_unit_ofi_mem_test_CFLAGS = $(TEST_CFLAGS)
endif
endif
