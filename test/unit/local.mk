# test/unit

if HAVE_CMOCKA
check_PROGRAMS += test/unit/am_pmi_test
TESTS += test/unit/am_pmi_test
test_unit_am_pmi_test_SOURCES = test/unit/am_pmi_test.c
test_unit_am_pmi_test_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_unit_am_pmi_test_LDADD = libamtest.la $(CMOCKA_LIBS)
endif
