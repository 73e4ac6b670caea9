# test/net: devices that leave the process, over loopback and between network
# namespaces.
EXTRA_DIST += test/net/udp_suites.sh
if BUILD_UDP
if HAVE_CMOCKA
check_PROGRAMS += test/unit/udp_hostile_test
TESTS += test/unit/udp_hostile_test
test_unit_udp_hostile_test_SOURCES = test/unit/udp_hostile_test.c \
    test/support/dev_open.c
test_unit_udp_hostile_test_CFLAGS = $(TEST_CFLAGS)
test_unit_udp_hostile_test_LDADD = libamtest.la $(CMOCKA_LIBS)

TESTS += test/net/udp_suites.sh
endif
endif
