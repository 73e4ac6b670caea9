# test: the same tests under sanitizers, each in a build folder of its own.
EXTRA_DIST += scripts/deps scripts/test .ci/run

SANITIZE_MAKE = \
    $(MKDIR_P) $(abs_top_srcdir)/build-$$kind && \
    cd $(abs_top_srcdir)/build-$$kind && \
    { test -f Makefile || $(abs_top_srcdir)/configure -q --disable-shared \
        $$options CFLAGS="-O1 -g"; } && \
    $(MAKE) -s -j$$(nproc) && \
    $(MAKE) -j$$(nproc) check tidy_checks=

.PHONY: check-asan check-tsan
check-asan:
	$(AM_V_at)kind=asan options="--enable-asan --enable-ubsan --enable-debug"; \
	export ASAN_OPTIONS=detect_leaks=1:abort_on_error=1; \
	$(SANITIZE_MAKE)

check-tsan:
	$(AM_V_at)kind=tsan options="--enable-tsan"; \
	export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1; \
	$(SANITIZE_MAKE)
