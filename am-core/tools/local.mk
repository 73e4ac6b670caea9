# am-core/tools: linked with the static library, because the clock and the
# parser of the inside are used, and so that what is measured is one binary.
bin_PROGRAMS += am_info am_perf am_tune
am_info_SOURCES = am-core/tools/info.c am-core/tools/info.h \
    am-core/tools/info_json.c
am_info_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
am_info_LDADD = libam.la $(JANSSON_LIBS)
am_info_LDFLAGS = $(AM_LDFLAGS) -static

am_perf_SOURCES = \
    am-core/tools/perf.h \
    am-core/tools/perf_bw.c \
    am-core/tools/perf_coll.c \
    am-core/tools/perf_collective.c \
    am-core/tools/perf_exchange.c \
    am-core/tools/perf_fadd.c \
    am-core/tools/perf_flow.c am-core/tools/perf_flow.h \
    am-core/tools/perf_lat.c \
    am-core/tools/perf_incast.c \
    am-core/tools/perf_launch.c \
    am-core/tools/perf_limits.c \
    am-core/tools/perf_logp.c \
    am-core/tools/perf_main.c \
    am-core/tools/perf_match.c \
    am-core/tools/perf_mcast.c \
    am-core/tools/perf_options.c \
    am-core/tools/perf_overlap.c \
    am-core/tools/perf_payload.c \
    am-core/tools/perf_pin.c \
    am-core/tools/perf_probe.h \
    am-core/tools/perf_probe_copy.c \
    am-core/tools/perf_probe_net.c \
    am-core/tools/perf_probe_turn.c \
    am-core/tools/perf_report.c \
    am-core/tools/perf_ring.c \
    am-core/tools/perf_rtt.c \
    am-core/tools/perf_sizes.c \
    am-core/tools/perf_tests.c \
    am-core/tools/perf_time.c \
    am-core/tools/perf_util.c
am_perf_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
if !BUILD_SIM
am_perf_LDADD = libam.la $(JANSSON_LIBS)
endif
am_perf_LDFLAGS = $(AM_LDFLAGS) -static

am_tune_SOURCES = am-core/tools/perf.h am-core/tools/perf_pin.c \
    am-core/tools/perf_sizes.c am-core/tools/tune.c am-core/tools/tune.h \
    am-core/tools/tune_check.c am-core/tools/tune_faster.c \
    am-core/tools/tune_measure.c \
    am-core/tools/tune_pair.c am-core/tools/tune_ratio.c
am_tune_CFLAGS = $(AM_CFLAGS)
am_tune_LDADD = libam.la
am_tune_LDFLAGS = $(AM_LDFLAGS) -static
