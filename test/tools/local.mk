# test/tools: am_info and am_perf as a user sees them, ranks in trouble
check_PROGRAMS += test/tools/deny test/tools/rank
test_tools_deny_SOURCES = test/tools/deny.c
test_tools_deny_LDADD =
test_tools_rank_SOURCES = test/tools/rank.c
test_tools_rank_LDADD = libam.la
test_tools_rank_LDFLAGS = $(AM_LDFLAGS) -static

tools_tests = \
    test/tools/compare_test.py \
    test/tools/info_test.py \
    test/tools/man_test.py \
    test/tools/perf_test.py \
    test/tools/rank_test.py \
    test/tools/static_test.sh \
    test/tools/tune_test.py
dist_check_SCRIPTS += $(tools_tests)
EXTRA_DIST += test/tools/job.py test/tools/static.c
TESTS += $(tools_tests)

if HAVE_CMOCKA
check_PROGRAMS += test/unit/tools_perf_test test/unit/tools_tune_test
TESTS += test/unit/tools_perf_test test/unit/tools_tune_test
test_unit_tools_tune_test_SOURCES = test/unit/tools_tune_test.c \
    am-core/tools/tune.h am-core/tools/tune_pair.c \
    am-core/tools/tune_ratio.c am-core/tools/perf_pin.c
test_unit_tools_tune_test_CFLAGS = $(TEST_CFLAGS)
test_unit_tools_perf_test_SOURCES = test/unit/tools_perf_test.c \
    am-core/tools/perf_payload.c \
    am-core/tools/perf_pin.c \
    am-core/tools/perf_sizes.c \
    am-core/tools/perf_time.c \
    am-core/tools/perf_util.c
test_unit_tools_perf_test_CFLAGS = $(TEST_CFLAGS)
endif
