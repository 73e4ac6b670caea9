# test: the same tests under sanitizers, each in a build folder of its own.
EXTRA_DIST += scripts/deps scripts/test scripts/main .ci/run

SANITIZE_MAKE = \
    $(MKDIR_P) $(abs_top_srcdir)/build-$$kind && \
    cd $(abs_top_srcdir)/build-$$kind && \
    { test -f Makefile || $(abs_top_srcdir)/configure -q --disable-shared \
        $$options CFLAGS="-O1 -g"; } && \
    $(MAKE) -s -j$$(nproc) && \
    $(MAKE) -j$$(nproc) check tidy_checks= $${tests:+"$$tests"}

# Where threads or shared memory are; the rest has neither.
tsan_tests = $(base_tests) $(am_tests) test/unit/msg_flow_test test/unit/msg_probe_test \
    test/unit/msg_dead_test test/unit/sim_kernel_test test/unit/sim_host_test

.PHONY: check-asan check-tsan
check-asan:
	$(AM_V_at)tests=; kind=asan options="--enable-asan --enable-ubsan --enable-debug"; \
	export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1; \
	$(SANITIZE_MAKE)

check-tsan:
	$(AM_V_at)kind=tsan options="--enable-tsan"; tests='TESTS=$(tsan_tests)'; \
	export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1; \
	$(SANITIZE_MAKE)
