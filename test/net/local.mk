# test/net: devices that leave the process, over loopback and between network
# namespaces.
EXTRA_DIST += test/net/udp_suites.sh test/net/spaces.sh \
    test/net/spaces_test.sh
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
test_unit_udp_hostile_test_LDADD = libamtest.la $(CMOCKA_LIBS)

check_PROGRAMS += test/unit/udp_dead_test
TESTS += test/unit/udp_dead_test
test_unit_udp_dead_test_SOURCES = test/unit/udp_dead_test.c \
    test/support/dev_open.c
test_unit_udp_dead_test_CFLAGS = $(TEST_CFLAGS)
test_unit_udp_dead_test_LDADD = libamtest.la $(CMOCKA_LIBS)

TESTS += test/net/udp_suites.sh
endif
endif
