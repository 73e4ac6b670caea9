# test/conform
noinst_HEADERS += test/conform/dev_conform.h test/conform/dev_world.h \
    test/support/pipe_dev.h

if HAVE_CMOCKA
check_PROGRAMS += test/conform/dev_conform
TESTS += test/conform/dev_conform
test_conform_dev_conform_SOURCES = test/conform/dev_conform.c \
    test/conform/dev_cases.c test/conform/dev_conform_mem.c test/conform/dev_world.c \
    test/support/pipe_dev.c test/support/dev_open.c
test_conform_dev_conform_CFLAGS = $(TEST_CFLAGS)
endif

# The window by exhaustive search.
check_PROGRAMS += test/model/chan_mc
TESTS += test/model/chan_mc
test_model_chan_mc_SOURCES = test/model/chan_mc.c \
    test/model/chan_model.c test/model/chan_model.h \
    test/model/explore.c test/model/explore.h
test_model_chan_mc_CFLAGS = $(AM_CFLAGS) -I$(top_srcdir)/test
test_model_chan_mc_LDADD = libamtest.la

# and of the lanes of shared memory
check_PROGRAMS += test/model/shm_mc
TESTS += test/model/shm_mc
test_model_shm_mc_SOURCES = test/model/shm_mc.c \
    test/model/explore.c test/model/explore.h
test_model_shm_mc_CFLAGS = $(AM_CFLAGS) -I$(top_srcdir)/test
test_model_shm_mc_LDADD = libamtest.la
